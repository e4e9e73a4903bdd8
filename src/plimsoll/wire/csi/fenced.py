"""A transport to a driver that makes no more changes once the leadership may be over.

Each call that may change something asks the fence when it is made, and again when its connection is
there, right before it is sent. It names the epoch of this leader: a driver of Plimsoll refuses the
call if it knows a newer one. For the caller both are the same: nothing was done, and this process
leads no longer. Calls that only read are always allowed.
"""

from datetime import timedelta

from plimsoll.runtime.leading.fence import Fence
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.epochs import epoch_metadata
from plimsoll.wire.csi.errors import DriverError, DriverFailure
from plimsoll.wire.csi.transport import CsiTransport, Metadata, Permit, permit_always
from plimsoll.wire.errors import FencedError
from plimsoll.wire.fenced import check_fence

HARMLESS_CALLS = frozenset(
    method.name
    for method in (
        methods.PROBE,
        methods.GET_PLUGIN_INFO,
        methods.GET_PLUGIN_CAPABILITIES,
        methods.CONTROLLER_GET_CAPABILITIES,
        methods.NODE_GET_CAPABILITIES,
        methods.NODE_GET_INFO,
        methods.GET_CAPACITY,
        methods.LIST_VOLUMES,
        methods.LIST_SNAPSHOTS,
        methods.GET_SNAPSHOT,
        methods.CONTROLLER_GET_VOLUME,
        methods.LIST_POOLS,
        methods.GET_VOLUME_USE,
        methods.GET_DOMAIN,
        methods.LIST_DOMAINS,
    )
)
"""Calls that only read; every other one may change something."""


class FencedCsi:
    """Implements CsiTransport."""

    def __init__(self, inner: CsiTransport, fence: Fence) -> None:
        self._inner = inner
        self._fence = fence

    async def call(
        self, method: str, request: bytes, *, within: timedelta, permit: Permit = permit_always
    ) -> bytes:
        if method in HARMLESS_CALLS:
            return await self._inner.call(method, request, within=within, permit=permit)

        def permitted() -> Metadata:
            check_fence(self._fence, method)
            return {**permit(), **epoch_metadata(self._fence.epoch)}

        check_fence(self._fence, method)
        try:
            return await self._inner.call(method, request, within=within, permit=permitted)
        except DriverError as error:
            if error.failure is not DriverFailure.SUPERSEDED:
                raise
            # The driver knows better than our own clock.
            self._fence.refuse()
            raise FencedError(operation=method, message=error.detail) from error

    async def close(self) -> None:
        await self._inner.close()
