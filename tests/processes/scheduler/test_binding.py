"""Bindings that do not go as planned."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from datetime import timedelta

import pytest
from msgspec import structs

from plimsoll.decide.scheduling.rules.volume_binding.charges import RESERVATIONS
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.refusing_transport import InterruptedTransport
from plimsoll.simulator.stories.schedulers import (
    HOSTNAME,
    a_claim,
    a_delayed_class,
    a_local_volume,
    a_pod,
    a_scheduler,
    add_node,
    node_of,
    scheduled_condition,
    volume_of,
)
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.transport import Request, Response, StreamedResponse, Transport

pytestmark = pytest.mark.virtual_time

Meddle = Callable[[Request], Failure | None]


class Meddling:
    """Fails the requests that it is told to, before or after the server has carried them out."""

    def __init__(self, inner: Transport, meddle: Meddle, *, after: bool = False) -> None:
        self._inner = inner
        self._meddle = meddle
        self._after = after

    async def request(self, request: Request) -> Response:
        failure = self._meddle(request)
        if failure is None:
            return await self._inner.request(request)
        if self._after:
            await self._inner.request(request)
        raise KubeError(failure, "the line broke", operation=request.path)

    def stream(self, request: Request) -> AbstractAsyncContextManager[StreamedResponse]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


class Behind:
    """The watch of a resource shows nothing while it is held; requests for it are counted."""

    def __init__(self, inner: Transport, resource: str = "persistentvolumes") -> None:
        self._inner = inner
        self._resource = resource
        self._shows = asyncio.Event()
        self._shows.set()
        self.writes: list[Request] = []
        self.reads: list[Request] = []

    def hold(self) -> None:
        self._shows.clear()

    def let_go(self) -> None:
        self._shows.set()

    async def request(self, request: Request) -> Response:
        if f"/{self._resource}/" in request.path:
            (self.writes if request.method == "PATCH" else self.reads).append(request)
        return await self._inner.request(request)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[StreamedResponse]:
        async with self._inner.stream(request) as opened:
            if request.path.endswith(f"/{self._resource}"):
                async with aclosing(self._shown(opened.lines)) as lines:
                    yield structs.replace(opened, lines=lines)
            else:
                yield opened

    async def _shown(self, lines: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        async for line in lines:
            await self._shows.wait()
            yield line

    async def close(self) -> None:
        await self._inner.close()


def once(ending: str, failure: Failure) -> Meddle:
    """The first write to a path that ends like this."""
    left = [failure]

    def meddle(request: Request) -> Failure | None:
        is_meant = not request.is_read and request.path.endswith(ending)
        return left.pop() if is_meant and left else None

    return meddle


async def a_pod_for_a_disk(cluster: StoryCluster) -> None:
    await add_node(cluster, "node-a")
    await cluster.create(a_delayed_class(), a_local_volume("node-a"))
    await cluster.settle()
    await cluster.create(a_claim(), a_pod(claims=["data"]))


@pytest.mark.parametrize("failure", [Failure.UNKNOWN_OUTCOME, Failure.TIMEOUT])
async def test_a_pod_that_was_bound_without_an_answer_is_not_tried_again(
    failure: Failure,
) -> None:
    async with a_cluster("binding") as cluster:
        meddle = once("/binding", failure)
        async with a_scheduler(
            cluster, through=lambda inner: Meddling(inner, meddle, after=True)
        ) as running:
            await a_pod_for_a_disk(cluster)
            await cluster.settle()
            assert await node_of(cluster, "web") == "node-a"
            assert (
                running.sample(
                    'scheduler_schedule_attempts_total{profile="plimsoll",result="error"}'
                )
                == 0
            )


@pytest.mark.parametrize("ending", ["/binding", "/disk-node-a"])
@pytest.mark.parametrize("failure", [Failure.UNKNOWN_OUTCOME, Failure.UNAVAILABLE])
@pytest.mark.parametrize("after", [True, False], ids=["done-all-the-same", "not-done"])
async def test_whatever_line_breaks_the_pod_gets_its_node_and_its_volume_in_the_end(
    ending: str, failure: Failure, *, after: bool
) -> None:
    async with a_cluster("binding") as cluster:
        meddle = once(ending, failure)
        async with a_scheduler(cluster, through=lambda inner: Meddling(inner, meddle, after=after)):
            await a_pod_for_a_disk(cluster)
            await cluster.settle(timedelta(seconds=30))
            assert await node_of(cluster, "web") == "node-a"
            assert await volume_of(cluster, "data") == "disk-node-a"


async def test_a_write_that_was_overtaken_is_tried_again_without_a_word() -> None:
    async with a_cluster("binding") as cluster:
        meddle = once("/disk-node-a", Failure.CONFLICT)
        async with a_scheduler(cluster, through=lambda inner: Meddling(inner, meddle)):
            await a_pod_for_a_disk(cluster)
            await cluster.settle(timedelta(milliseconds=1))
            assert await scheduled_condition(cluster, "web") == ("", "", "")
            await cluster.settle(timedelta(seconds=10))
            assert await node_of(cluster, "web") == "node-a"
            assert [reason for reason, _ in await cluster.events("web")] == ["Scheduled"]


async def test_a_write_that_is_overtaken_again_and_again_is_told_with_its_code() -> None:
    async with a_cluster("binding") as cluster:

        def always(request: Request) -> Failure | None:
            is_write = request.method == "PATCH" and request.path.endswith("/disk-node-a")
            return Failure.CONFLICT if is_write else None

        async with a_scheduler(cluster, through=lambda inner: Meddling(inner, always)):
            await a_pod_for_a_disk(cluster)
            await cluster.settle(timedelta(seconds=30))
            assert await scheduled_condition(cluster, "web") == ("", "", "")
            await cluster.settle(timedelta(minutes=3))
            status, reason, message = await scheduled_condition(cluster, "web")
            assert (status, reason) == ("False", "SchedulerError")
            assert message.startswith("binding volumes: ")
            assert message.endswith("[ChangedMeanwhile]")


async def test_what_a_failed_binding_gives_back_goes_to_the_next_pod() -> None:
    """The first pod cannot be bound; the second waits for its disk and its room."""
    async with a_cluster("binding") as cluster:

        def refuse_first(request: Request) -> Failure | None:
            return Failure.FORBIDDEN if request.path.endswith("/pods/web/binding") else None

        async with a_scheduler(cluster, through=lambda inner: Meddling(inner, refuse_first)):
            await add_node(cluster, "node-a", cpu="1")
            await cluster.create(a_pod("web", requests={"cpu": "1"}))
            await cluster.create(a_pod("next", requests={"cpu": "1"}))
            await cluster.settle()
            assert await node_of(cluster, "next") == "node-a"
            assert await node_of(cluster, "web") == ""


async def test_a_volume_that_was_written_is_not_given_away_before_the_watch_shows_it() -> None:
    """The binding is given up after its write; that write stays."""
    lines: list[Behind] = []

    def through(inner: Transport) -> Transport:
        lines.append(Behind(inner))
        return lines[0]

    async with a_cluster("binding") as cluster, a_scheduler(cluster, through=through):
        await add_node(cluster, "node-a")
        await cluster.create(a_delayed_class(), a_local_volume("node-a"))
        await cluster.settle()
        lines[0].hold()
        await cluster.create(a_claim(), a_pod(claims=["data"]))
        await cluster.settle()
        await cluster.delete("Pod", "web")
        await cluster.create(a_claim("other"), a_pod("next", claims=["other"]))
        await cluster.settle(timedelta(seconds=10))

        assert len(lines[0].writes) == 1


async def a_disk_with_10_gib(cluster: StoryCluster) -> None:
    """On node-a. No provisioner runs."""
    driver = "disk.example.com"
    await add_node(cluster, "node-a")
    await cluster.create(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIDriver",
            "metadata": {"name": driver, "annotations": {RESERVATIONS: "linear"}},
            "spec": {"storageCapacity": True, "attachRequired": False},
        },
        a_delayed_class("disks", driver),
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIStorageCapacity",
            "metadata": {"name": "csisc-1", "namespace": "default"},
            "nodeTopology": {"matchLabels": {HOSTNAME: "node-a"}},
            "storageClassName": "disks",
            "capacity": "10Gi",
        },
    )


@pytest.mark.parametrize("alone", [True, False], ids=["one-claim", "the-first-of-two"])
async def test_room_is_not_given_away_if_the_pod_goes_before_the_watch_shows_the_selected_node(
    *, alone: bool
) -> None:
    """A provisioner may act upon the claim, which stays."""
    lines: list[Behind] = []

    def through(inner: Transport) -> Transport:
        lines.append(Behind(inner, "persistentvolumeclaims"))
        return lines[0]

    async with a_cluster() as cluster, a_scheduler(cluster, through=through):
        await a_disk_with_10_gib(cluster)
        sizes = {"data": "4Gi"} if alone else {"data": "4Gi", "large": "5Gi"}
        for name, size in (sizes | {"other": "7Gi"}).items():
            await cluster.create(a_claim(name, size=size, class_name="disks"))
        await cluster.settle()
        lines[0].hold()
        await cluster.create(a_pod(claims=sizes))
        await cluster.settle()
        assert len(lines[0].writes) == 1
        await cluster.delete("Pod", "web", grace=0)
        await cluster.create(a_pod("next", claims=["other"]))
        await cluster.settle()
        _, _, unseen = await scheduled_condition(cluster, "next")
        assert "CapacityReserved" in unseen
        lines[0].let_go()
        await cluster.settle(timedelta(seconds=10))
        _, _, seen = await scheduled_condition(cluster, "next")
        assert "CapacityReserved" in seen
        assert len(lines[0].writes) == 1


async def test_a_pod_whose_claim_is_deleted_while_its_volume_is_bound_gets_no_node() -> None:
    """No node starts a pod with such a claim, and a pod on a node keeps its claim from going."""
    async with a_cluster("binding") as cluster:

        async def delete_claim() -> None:
            kept = {"metadata": {"finalizers": ["example.com/kept"]}}
            await cluster.patch("PersistentVolumeClaim", "data", kept)
            await cluster.delete("PersistentVolumeClaim", "data")

        def interrupted(inner: Transport) -> Transport:
            return InterruptedTransport(inner, "patch", "persistentvolumes", delete_claim)

        async with a_scheduler(cluster, through=interrupted):
            await a_pod_for_a_disk(cluster)
            await cluster.settle(timedelta(seconds=30))
            assert await volume_of(cluster, "data") == "disk-node-a"
            assert not await node_of(cluster, "web")
            _, _, message = await scheduled_condition(cluster, "web")
            assert 'persistentvolumeclaim "data" is being deleted' in message


@asynccontextmanager
async def a_bound_claim_behind() -> AsyncIterator[tuple[StoryCluster, Behind]]:
    """A pod that runs has the claim; from now on the scheduler sees nothing of claims."""
    lines: list[Behind] = []

    def through(inner: Transport) -> Transport:
        lines.append(Behind(inner, "persistentvolumeclaims"))
        return lines[0]

    async with a_cluster("binding") as cluster, a_scheduler(cluster, through=through):
        await a_pod_for_a_disk(cluster)
        await cluster.settle(timedelta(seconds=10))
        assert await node_of(cluster, "web") == "node-a"
        lines[0].hold()
        yield cluster, lines[0]


async def test_a_pod_gets_no_node_if_its_claim_was_deleted_and_the_watch_is_behind() -> None:
    """A StatefulSet that is deleted with its claims and made anew at once is such a case."""
    async with a_bound_claim_behind() as (cluster, behind):
        kept = {"metadata": {"finalizers": ["example.com/kept"]}}
        await cluster.patch("PersistentVolumeClaim", "data", kept)
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.create(a_pod("next", claims=["data"]))
        await cluster.settle(timedelta(seconds=30))
        assert not await node_of(cluster, "next")
        _, _, message = await scheduled_condition(cluster, "next")
        assert 'persistentvolumeclaim "data" is being deleted' in message
        behind.let_go()


async def test_a_pod_gets_no_node_by_the_volume_of_a_claim_that_was_made_anew() -> None:
    async with a_bound_claim_behind() as (cluster, behind):
        await cluster.patch("PersistentVolumeClaim", "data", {"metadata": {"finalizers": None}})
        await cluster.delete("PersistentVolumeClaim", "data")
        await add_node(cluster, "node-b")
        await cluster.create(a_local_volume("node-b"), a_claim(), a_pod("next", claims=["data"]))
        await cluster.settle(timedelta(seconds=30))
        assert not await node_of(cluster, "next")
        behind.let_go()
        await cluster.settle(timedelta(seconds=30))
        assert await node_of(cluster, "next") == "node-b"
        assert await volume_of(cluster, "data") == "disk-node-b"


async def test_claims_that_are_bound_for_the_pod_are_not_read_again() -> None:
    async with a_bound_claim_behind() as (cluster, behind):
        assert behind.reads == []
        await cluster.create(a_pod("next", claims=["data"]))
        await cluster.settle(timedelta(seconds=10))
        assert await node_of(cluster, "next") == "node-a"
        assert len(behind.reads) == 1
