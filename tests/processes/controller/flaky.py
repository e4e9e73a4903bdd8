"""A controller on the embedded server, over a line that fails as it is told to."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from random import Random

from plimsoll.apiserver.admission.chain import FINISHED_BY_CONTROLLERS
from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.apiserver.main import ServerOptions, limits_for, make_server, running
from plimsoll.apiserver.storage.store import MemoryStore
from plimsoll.reconcile.running import LoopEnvironment, Make, RunningLoops
from plimsoll.runtime.clock import SteppedClock
from plimsoll.runtime.ids import seeded_ids
from plimsoll.simulator.stories.cluster import StoryCluster
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.transport import Request, Response, StreamedResponse, Transport

LOST = Response(status=500, body=b"the answer was lost")


class FlakyTransport:
    """`fails` says whether a request does, `arrives` whether the server carries it out all the
    same."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.fails: Callable[[Request], bool] = lambda _: False
        self.arrives = False
        self.requests: list[str] = []

    async def request(self, request: Request) -> Response:
        self.requests.append(f"{request.method} {request.path}")
        if not self.fails(request):
            return await self._inner.request(request)
        if self.arrives:
            await self._inner.request(request)
        return LOST

    def stream(self, request: Request) -> AbstractAsyncContextManager[StreamedResponse]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


@asynccontextmanager
async def a_flaky_cluster(
    loops: dict[str, Make],
) -> AsyncIterator[tuple[StoryCluster, FlakyTransport, RunningLoops]]:
    clock = SteppedClock()
    limits = limits_for(timedelta(hours=12))
    server = make_server(
        MemoryStore(),
        clock,
        seeded_ids(0),
        limits,
        options=ServerOptions(disabled_plugins=FINISHED_BY_CONTROLLERS),
    )
    async with running(server):
        line = FlakyTransport(InProcessTransport(server))
        client = KubeClient(line, clock=clock, chance=Random(1))
        setting = LoopEnvironment(
            client=client, component="plimsoll-controller", ids=seeded_ids(1), chance=Random(1)
        )
        loops_ = RunningLoops(loops, setting)
        task = asyncio.ensure_future(loops_.run())
        try:
            yield StoryCluster(server, clock), line, loops_
        finally:
            task.cancel()
            ending = asyncio.gather(task, return_exceptions=True)
            await clock.run(timedelta(seconds=10))
            await ending


def creates_volume(request: Request) -> bool:
    return request.method == "POST" and request.path.endswith("/persistentvolumes")
