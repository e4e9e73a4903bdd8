from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest

from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.processes.controller.cluster.discovery import discover
from plimsoll.runtime.clock import SteppedClock
from plimsoll.simulator.stories.cluster import a_cluster
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.transport import Request, Response, StreamedResponse, Transport
from tests.wire.scripted import ScriptedTransport, answer

pytestmark = pytest.mark.virtual_time


class CountingTransport:
    """Counts, and may be like an older server, with a document for each version only."""

    def __init__(self, inner: Transport, *, aggregates: bool) -> None:
        self._inner = inner
        self._aggregates = aggregates
        self.count = 0

    async def request(self, request: Request) -> Response:
        self.count += 1
        if not self._aggregates:
            request = Request(method="GET", path=request.path)
        return await self._inner.request(request)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[StreamedResponse]:
        async with self._inner.stream(request) as streamed:
            yield streamed

    async def close(self) -> None:
        await self._inner.close()


async def test_two_requests_tell_what_otherwise_takes_one_for_each_version() -> None:
    async with a_cluster() as cluster:

        def ask(*, aggregates: bool) -> tuple[CountingTransport, KubeClient]:
            transport = CountingTransport(InProcessTransport(cluster.server), aggregates=aggregates)
            return transport, KubeClient(transport, clock=cluster.clock, chance=Random(1))

        few, new = ask(aggregates=True)
        many, old = ask(aggregates=False)
        assert await discover(new) == await discover(old)
        assert few.count == 2 < many.count


async def test_a_version_whose_server_cannot_be_asked_is_a_failure() -> None:
    versions = [{"version": "v1", "freshness": "Stale"}]
    groups = [{"metadata": {"name": "metrics.example.com"}, "versions": versions}]
    transport = ScriptedTransport(
        answer(body={"kind": "APIGroupDiscoveryList"}),
        answer(body={"kind": "APIGroupDiscoveryList", "items": groups}),
    )
    found = await discover(KubeClient(transport, clock=SteppedClock(), chance=Random(1)))
    assert found.failures == ("metrics.example.com/v1: the server could not ask for it",)
    assert found.resources == ()
