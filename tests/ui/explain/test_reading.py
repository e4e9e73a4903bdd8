"""What a user may not read is remarked, and nothing is concluded from it."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from random import Random

import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.decide.scheduling.reasons import SeenObject
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.schedulers import a_claim
from plimsoll.ui.explain.reading import (
    NO_AGES,
    ClusterReading,
    look_closer,
    read_ages,
    read_cluster,
)
from plimsoll.wire.errors import KubeError
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.transport import Request, Response, StreamedResponse, Transport
from tests.wire.scripted import refusal

pytestmark = pytest.mark.virtual_time


class ForbiddingTransport:
    """Some resources may not be read."""

    def __init__(self, inner: Transport, *plurals: str) -> None:
        self._inner = inner
        self._plurals = plurals

    async def request(self, request: Request) -> Response:
        if set(request.path.split("/")) & set(self._plurals):
            return refusal(403, "Forbidden", f"{request.path} is forbidden")
        return await self._inner.request(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[StreamedResponse]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


@asynccontextmanager
async def a_reader(*forbidden: str) -> AsyncIterator[tuple[StoryCluster, KubeClient]]:
    async with a_cluster() as cluster:
        transport = ForbiddingTransport(InProcessTransport(cluster.server), *forbidden)
        yield cluster, KubeClient(transport, clock=cluster.clock, chance=Random(1))


async def read(client: KubeClient) -> ClusterReading:
    reading = await read_cluster(client, "default")
    return await look_closer(client, reading, [ObjectKey("default", "data")])


async def test_events_and_leases_that_may_not_be_listed_are_remarked() -> None:
    async with a_reader("events", "leases") as (_, client):
        reading = await read(client)
    assert (reading.evidence.events, reading.evidence.leases) == (None, None)
    assert reading.evidence.capacity is None
    assert reading.remarks == (
        "events may not be listed: nothing is concluded from them",
        "leases may not be listed: nothing is concluded from them",
    )


async def test_snapshots_that_may_not_be_read_are_remarked_where_a_claim_names_one() -> None:
    source = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "x"}
    async with a_reader("volumesnapshots") as (cluster, client):
        assert (await read(client)).remarks == ()
        claim = a_claim()
        claim["spec"]["dataSource"] = source
        await cluster.create(claim)
        reading = await read(client)
    assert reading.evidence.snapshots is None
    assert reading.remarks == ("snapshots may not be read: nothing is concluded from them",)


async def test_without_the_objects_that_decisions_look_at_there_is_no_answer() -> None:
    async with a_reader("persistentvolumes") as (_, client):
        with pytest.raises(KubeError, match="forbidden"):
            await read(client)


async def test_an_object_that_may_not_be_read_has_no_age() -> None:
    seen = SeenObject("Event", ObjectKey("default", "secret"))
    async with a_reader("events") as (_, client):
        assert await read_ages(client, [seen]) == {seen: NO_AGES}
