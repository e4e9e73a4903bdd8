"""A transport that lets no write through once the leadership may be over.

Each write asks the fence when it is made, and again when its connection is there, right before it
is sent (`Request.permit`). Reading is always allowed.

What is turned away certainly had no effect. What passed may reach the server later, by the time
that the network takes, or because the process is stopped in exactly that moment: preconditions on
versions are what holds then.
"""

from contextlib import AbstractAsyncContextManager

from msgspec.structs import replace

from plimsoll.runtime.leading.fence import Fence
from plimsoll.wire.errors import FencedError
from plimsoll.wire.transport import Request, Response, StreamedResponse, Transport


def check_fence(fence: Fence, operation: str) -> None:
    """Raises FencedError if this process may not be the leader any more."""
    if not fence.passes():
        raise FencedError(operation=operation)


class FencedTransport:
    """Implements Transport."""

    def __init__(self, inner: Transport, fence: Fence) -> None:
        self._inner = inner
        self._fence = fence

    async def request(self, request: Request) -> Response:
        if request.is_read:
            return await self._inner.request(request)

        def permit() -> None:
            check_fence(self._fence, f"{request.method} {request.path}")

        permit()
        return await self._inner.request(replace(request, permit=permit))

    def stream(self, request: Request) -> AbstractAsyncContextManager[StreamedResponse]:
        """Streams are watches, which only read."""
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()
