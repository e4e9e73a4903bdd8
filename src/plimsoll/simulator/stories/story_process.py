"""A process in a story: it can be cut off between any two of its steps, by hand or after a write.

There is no latency between the processes of a story. The receiver of a request owns the work that
it was asked for: it goes on when the sender is cut off. The sender never learns the answer.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, TypeVar

from msgspec.structs import replace

from plimsoll.simulator.cluster.api_host import permit_now
from plimsoll.simulator.engine.loop import OWNER, unowned_context
from plimsoll.simulator.engine.process import SimulatedProcess
from plimsoll.simulator.stories.story_clock import virtual_loop
from plimsoll.wire.csi.transport import CsiTransport, Permit, permit_always
from plimsoll.wire.transport import Request, Response, StreamedResponse, Transport

T = TypeVar("T")


class StoryProcess(SimulatedProcess):
    def __init__(self, name: str) -> None:
        super().__init__(virtual_loop(), name)
        self.was_cut = False
        """Stays true while the tasks are ended: what their clean-up code sends arrives nowhere."""

    def cut(self) -> None:
        self.was_cut = True
        super().cut()

    async def reach_out(self) -> None:
        """Before anything leaves the process: never returns once it was cut off.

        The step in which a process is cut off ends here.
        """
        if not self.was_cut:
            return
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError
        await asyncio.get_running_loop().create_future()


async def reach_out() -> None:
    """The same for the process that runs now; a story itself is never cut off."""
    owner = OWNER.get()
    if isinstance(owner, StoryProcess):
        await owner.reach_out()


async def at_once(function: Callable[[], T], /) -> T:
    """Blocking code without threads; a process that was cut off calls nothing."""
    await reach_out()
    done = function()
    await reach_out()
    return done


def _handed_over(work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
    """The receiver's from now on."""
    return asyncio.get_running_loop().create_task(work, context=unowned_context())


class StoryLife:
    """One life of a process, which may be cut off."""

    _process: "StoryProcess"
    _link: "StoryLink"

    @property
    def writes(self) -> int:
        """How many writes it has made so far, events included."""
        return self._link.writes

    @property
    def is_cut_off(self) -> bool:
        return self._process.was_cut

    def cut_off(self) -> None:
        """From now on it does nothing any more; it is not told."""
        self._process.cut()


class StoryLink:
    """The way of one process to the server. Implements Transport."""

    def __init__(
        self, process: StoryProcess, inner: Transport, *, cut_after: int | None = None
    ) -> None:
        """`cut_after`: the server still carries out the write of this number; nothing later that
        the process does has an effect."""
        self._process = process
        self._inner = inner
        self._cut_after = cut_after
        self.writes = 0

    async def request(self, request: Request) -> Response:
        await self._process.reach_out()
        permit_now(request)
        sent = replace(request, permit=None)
        answer = asyncio.shield(_handed_over(self._inner.request(sent)))
        if not request.is_read:
            self._count()
        return await answer

    def _count(self) -> None:
        self.writes += 1
        if self.writes == self._cut_after:
            self._process.cut()

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[StreamedResponse]:
        await self._process.reach_out()
        async with self._inner.stream(request) as response:
            yield response

    async def close(self) -> None:
        await self._inner.close()


class StoryCsiLink:
    """The way of whichever process calls to a driver. Implements CsiTransport."""

    def __init__(self, inner: CsiTransport) -> None:
        self._inner = inner

    async def call(
        self, method: str, request: bytes, *, within: timedelta, permit: Permit = permit_always
    ) -> bytes:
        await reach_out()
        metadata = permit()
        sent = self._inner.call(method, request, within=within, permit=lambda: metadata)
        work = _handed_over(sent)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            work.cancel()  # as a driver is told that its caller went away
            raise

    async def close(self) -> None:
        await self._inner.close()
