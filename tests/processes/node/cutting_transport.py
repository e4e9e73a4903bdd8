"""How a node process dies in a test with real time: it is cut off in the middle of its writes."""

from contextlib import AbstractAsyncContextManager

from plimsoll.simulator.engine.severed import Lifeline
from plimsoll.wire.transport import Request, Response, StreamedResponse, Transport


class CuttingTransport:
    """Cuts the lifeline right after the server has carried out the n-th write."""

    def __init__(self, inner: Transport, lifeline: Lifeline, *, after_writes: int | None) -> None:
        self._inner = inner
        self._lifeline = lifeline
        self._limit = after_writes
        self.writes = 0

    async def request(self, request: Request) -> Response:
        if request.is_read:
            return await self._inner.request(request)
        self.writes += 1
        if self._limit is not None and self.writes >= self._limit:
            # Whatever else is asked for at this moment does not reach the server any more.
            self._lifeline.cut()
        return await self._inner.request(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[StreamedResponse]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()
