"""A transport that keeps to a rate: so many requests per second, and a few at once."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta

from plimsoll.runtime.clock import Clock
from plimsoll.wire.transport import Request, Response, StreamedResponse, Transport


class LimitedTransport:
    """Implements Transport. Requests wait for their turn, first come, first served.

    `per_second` 0 means without a limit.
    """

    def __init__(self, inner: Transport, clock: Clock, *, per_second: float, burst: int) -> None:
        self._inner = inner
        self._clock = clock
        self._interval = 1 / per_second if per_second > 0 else 0.0
        self._burst = max(burst, 1)
        self._next = clock.monotonic() - self._interval * self._burst
        """When the bucket was, or will be, empty up to: the turn of the next request."""

    async def request(self, request: Request) -> Response:
        await self._turn()
        return await self._inner.request(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[StreamedResponse]:
        return self._stream(request)

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncIterator[StreamedResponse]:
        await self._turn()
        async with self._inner.stream(request) as answer:
            yield answer

    async def close(self) -> None:
        await self._inner.close()

    async def _turn(self) -> None:
        now = self._clock.monotonic()
        # What was not used for a while is worth `burst` requests at once, not more.
        self._next = max(self._next, now - self._interval * self._burst) + self._interval
        if self._next > now:
            await self._clock.sleep(timedelta(seconds=self._next - now))
