"""How a crash is simulated where time is real: a client is cut off from its server.

In the event loop of the simulator a whole process is cut off instead, see `process`.

Cancelling a task runs its clean-up code, which a killed process never does, and so hides bugs.
Instead every transport of a process hangs on one Lifeline. When it is cut, nothing the process
does has an effect any more and nothing new reaches it: requests are not forwarded, answers to
those under way are not delivered, streams fall silent. The process gets no error, it hangs. After
that its tasks may be cancelled; the requests of their clean-up stay without effect as well.

A request that was forwarded before the cut may still be carried out by the server, as in a real
crash.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

from msgspec.structs import replace

from plimsoll.wire.errors import KubeError
from plimsoll.wire.transport import Request, Response, StreamedResponse, Transport


class Lifeline:
    """What ties one process to the world; one for all its transports, cut once and for good."""

    def __init__(self) -> None:
        self._is_cut = False

    @property
    def is_cut(self) -> bool:
        return self._is_cut

    def cut(self) -> None:
        self._is_cut = True

    async def pass_through(self) -> None:
        """Returns at once while the lifeline holds; never returns once it is cut."""
        if not self._is_cut:
            return
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            # Clean-up code of a task that is being cancelled already: hanging "until cancelled"
            # is over before it begins, and the task must be able to end.
            raise asyncio.CancelledError
        await asyncio.Event().wait()


class SeverableTransport:
    """Any transport, as long as the lifeline holds."""

    def __init__(self, inner: Transport, lifeline: Lifeline) -> None:
        self._inner = inner
        self._lifeline = lifeline

    async def request(self, request: Request) -> Response:
        await self._lifeline.pass_through()
        try:
            response = await self._inner.request(request)
        except KubeError:
            await self._lifeline.pass_through()
            raise
        await self._lifeline.pass_through()
        return response

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[StreamedResponse]:
        await self._lifeline.pass_through()
        try:
            async with self._inner.stream(request) as response:
                await self._lifeline.pass_through()
                async with aclosing(self._lines(response.lines)) as lines:
                    yield replace(response, lines=lines)
        except KubeError:
            await self._lifeline.pass_through()
            raise

    async def _lines(self, lines: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        async for line in lines:
            await self._lifeline.pass_through()
            yield line
        await self._lifeline.pass_through()

    async def close(self) -> None:
        """Local: the other side does not notice."""
        await self._inner.close()
