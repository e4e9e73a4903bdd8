"""Nothing that a process does after the cut has an effect, and nothing reaches it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from plimsoll.runtime.clock import settle
from plimsoll.simulator.engine.severed import Lifeline, SeverableTransport
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.transport import Request, Response, StreamedResponse

WRITE = Request(method="POST", path="/x")
WATCH = Request(method="GET", path="/x", query=(("watch", "true"),))


class SlowServer:
    """Carries out a request when it arrives; answers when the test says so."""

    def __init__(self) -> None:
        self.effects: list[Request] = []
        self.may_answer = asyncio.Event()
        self.fails = False
        self.lines: asyncio.Queue[bytes] = asyncio.Queue()
        self.open_streams = 0

    async def request(self, request: Request) -> Response:
        self.effects.append(request)
        await self.may_answer.wait()
        if self.fails:
            raise KubeError(Failure.UNKNOWN_OUTCOME, "broken")
        return Response(status=201)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[StreamedResponse]:
        self.effects.append(request)
        self.open_streams += 1
        try:
            yield StreamedResponse(status=200, lines=self._lines())
        finally:
            self.open_streams -= 1

    async def _lines(self) -> AsyncIterator[bytes]:
        while True:
            yield await self.lines.get()

    async def close(self) -> None:
        pass


@pytest.fixture
def server() -> SlowServer:
    return SlowServer()


@pytest.fixture
def lifeline() -> Lifeline:
    return Lifeline()


@pytest.fixture
def transport(server: SlowServer, lifeline: Lifeline) -> SeverableTransport:
    return SeverableTransport(server, lifeline)


async def ended(task: "asyncio.Future[Any]") -> bool:
    await settle()
    return task.done()


async def test_before_the_cut_everything_passes(
    server: SlowServer, transport: SeverableTransport
) -> None:
    server.may_answer.set()
    assert (await transport.request(WRITE)).status == 201
    server.lines.put_nowait(b"one")
    async with transport.stream(WATCH) as response:
        assert await anext(response.lines) == b"one"
    assert server.open_streams == 0


async def test_a_request_after_the_cut_is_never_forwarded_and_never_returns(
    server: SlowServer, transport: SeverableTransport, lifeline: Lifeline
) -> None:
    server.may_answer.set()
    lifeline.cut()
    task = asyncio.ensure_future(transport.request(WRITE))
    assert not await ended(task)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert server.effects == []


@pytest.mark.parametrize("fails", [False, True], ids=["answer", "error"])
async def test_the_answer_to_a_request_under_way_is_not_delivered(
    server: SlowServer, transport: SeverableTransport, lifeline: Lifeline, *, fails: bool
) -> None:
    server.fails = fails
    task = asyncio.ensure_future(transport.request(WRITE))
    await settle()
    lifeline.cut()
    server.may_answer.set()
    assert not await ended(task)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_stream_falls_silent_without_an_error(
    server: SlowServer, transport: SeverableTransport, lifeline: Lifeline
) -> None:
    seen: list[bytes] = []

    async def watch() -> None:
        async with transport.stream(WATCH) as response:
            async for line in response.lines:
                seen.append(line)  # noqa: PERF401 - what arrived so far must be visible

    task = asyncio.ensure_future(watch())
    server.lines.put_nowait(b"one")
    await settle()
    lifeline.cut()
    server.lines.put_nowait(b"two")
    assert not await ended(task)
    assert seen == [b"one"]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert server.open_streams == 0


async def test_clean_up_code_of_a_dead_process_has_no_effect_and_does_not_block(
    server: SlowServer, transport: SeverableTransport, lifeline: Lifeline
) -> None:
    async def process() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await transport.request(WRITE)  # "release the lock, close the watches"

    task = asyncio.ensure_future(process())
    await settle()
    lifeline.cut()
    task.cancel()
    assert await ended(task)
    assert server.effects == []


async def test_one_cut_severs_all_transports_of_a_process_and_no_other(
    server: SlowServer, lifeline: Lifeline
) -> None:
    server.may_answer.set()
    first, second = SeverableTransport(server, lifeline), SeverableTransport(server, lifeline)
    other = SeverableTransport(server, Lifeline())
    lifeline.cut()
    tasks = [asyncio.ensure_future(t.request(WRITE)) for t in (first, second)]
    assert not await ended(tasks[0])
    assert not await ended(tasks[1])
    assert (await other.request(WRITE)).status == 201
    for task in tasks:
        task.cancel()
