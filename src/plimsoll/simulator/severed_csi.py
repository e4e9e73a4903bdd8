"""A process cut off from its driver, by the same lifeline that ties it to the API server."""

from datetime import timedelta

from plimsoll.simulator.severed import Lifeline
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.csi.transport import CsiTransport, Permit, permit_always


class SeverableCsi:
    """Any transport, as long as the lifeline holds: then no call is forwarded, no answer returned.

    A call that was forwarded before the cut may still be carried out by the driver.
    """

    def __init__(self, inner: CsiTransport, lifeline: Lifeline) -> None:
        self._inner = inner
        self._lifeline = lifeline

    async def call(
        self, method: str, request: bytes, *, within: timedelta, permit: Permit = permit_always
    ) -> bytes:
        await self._lifeline.pass_through()
        try:
            answer = await self._inner.call(method, request, within=within, permit=permit)
        except DriverError:
            await self._lifeline.pass_through()
            raise
        await self._lifeline.pass_through()
        return answer

    async def close(self) -> None:
        """Local: the other side does not notice."""
        await self._inner.close()
