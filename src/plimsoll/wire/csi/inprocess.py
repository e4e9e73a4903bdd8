"""Calls to a driver in the same event loop: a table of handlers, bytes in and bytes out.

A handler refuses with CsiStatusError, as over gRPC it would end with that status. Anything else it
raises is a bug, and is not turned into an answer. Like a gRPC server, the transport cancels a
handler whose deadline has passed or whose caller went away.
"""

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta

from grpc import StatusCode

from plimsoll.runtime.clock import Clock
from plimsoll.wire.csi.errors import CsiStatusError, driver_error, unreachable
from plimsoll.wire.csi.transport import Metadata, Permit, permit_always

Handler = Callable[[bytes, Metadata], Awaitable[bytes]]
"""Gets the request, and the metadata that came with it."""


class InProcessCsi:
    """Implements CsiTransport. `handlers` by the full name of the method."""

    def __init__(self, handlers: Mapping[str, Handler], clock: Clock) -> None:
        self._handlers = dict(handlers)
        self._clock = clock
        self._is_closed = False

    async def call(
        self, method: str, request: bytes, *, within: timedelta, permit: Permit = permit_always
    ) -> bytes:
        if self._is_closed:
            raise unreachable(method, "this transport is closed")
        handler = self._handlers.get(method)
        if handler is None:
            raise driver_error(StatusCode.UNIMPLEMENTED, method=method, detail="unknown method")
        metadata = dict(permit())
        try:
            async with self._clock.timeout(within):
                return bytes(await handler(bytes(request), metadata))
        except CsiStatusError as refusal:
            code, told, more = refusal.code, refusal.detail, refusal.metadata
            raise driver_error(code, method=method, detail=told, metadata=more) from refusal
        except TimeoutError as error:
            late = StatusCode.DEADLINE_EXCEEDED
            raise driver_error(late, method=method, detail="no answer in time") from error

    async def close(self) -> None:
        self._is_closed = True
