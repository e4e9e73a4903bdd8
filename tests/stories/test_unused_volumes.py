"""A volume that no pod has used is taken back where only it keeps a pod from running.

Zone a has room for one of the two claims of a pod, and has a volume for it; zone b has room for
both. Capacity is not tracked: the scheduler learns of it when the provisioner refuses.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from plimsoll.api.registry import Document
from plimsoll.decide.rollback.mode import RollbackMode
from plimsoll.decide.rollback.records import read_rollback
from plimsoll.processes.controller.csi.csi_loop import CsiSettings
from plimsoll.processes.controller.csi.drivers import DriverSources
from plimsoll.processes.controller.rollback.loop import Rollbacks, RollbackSettings
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.simulator.stories.cluster import Controller, Make, StoryCluster, Through, a_cluster
from plimsoll.simulator.stories.objects import pod, uses
from plimsoll.simulator.stories.refusing_transport import InterruptedTransport, asked
from plimsoll.simulator.stories.schedulers import (
    SELECTED_NODE,
    a_claim,
    a_pod,
    a_scheduler,
    node_of,
    nodes_of,
    volume_of,
)
from plimsoll.simulator.stories.sidecars import (
    DRIVER,
    PLAIN,
    StoryStorage,
    a_class,
    a_csi_driver,
    a_provisioner,
    a_storage,
    add_storage_nodes,
    zonal_pools,
)
from plimsoll.simulator.stories.story_process import StoryCsiLink
from plimsoll.simulator.stories.workload_objects import LABELS, stateful_set
from plimsoll.wire.csi import methods
from plimsoll.wire.transport import Request, Response, StreamedResponse, Transport

LOOPS = ("binding", "claim-protection", "volume-protection", "statefulset", "garbage-collector")
STRICT = msgspec.structs.replace(PLAIN, strict_topology=True)
TWO_ZONES = {"node-a": {"zone": "a"}, "node-b": {"zone": "b"}}
ENOUGH = timedelta(minutes=3)
CONSENT = {"annotations": {"plimsoll.dev/rollback": "unused-volumes"}}
FOREIGN = frozenset({methods.DELETE_NEVER_PUBLISHED.name, methods.GET_VOLUME_USE.name})
"""What drivers of other vendors do not know."""
RETAINED_BY, FINALIZER = "plimsoll.dev/retained-by", "plimsoll.dev/rollback"
CLAIM, VOLUME = "PersistentVolumeClaim", "PersistentVolume"


@dataclass
class Scene:
    cluster: StoryCluster
    storage: StoryStorage

    async def take_back(self, **life: Any) -> Controller:
        """Start a controller that takes volumes back; settings, and how long it lives."""
        kept = {key: life.pop(key) for key in ("cut_after", "through", "rule") if key in life}
        return await self.cluster.start(more=rollback(self.storage, **life), **kept)

    async def records(self) -> list[str]:
        """The states of those that are stored."""
        read = [read_rollback(lease) for lease in await self.cluster.all("Lease")]
        return [record.state for record in read if record is not None]

    async def reasons(self) -> set[str]:
        """Of all events about rollbacks."""
        found = {event["reason"] for event in await self.cluster.all("Event")}
        return {reason for reason in found if reason.startswith("Roll")}

    async def volumes(self) -> list[Document]:
        return await self.cluster.all(VOLUME)

    async def is_nothing_leaked(self) -> bool:
        """Every volume of the driver is recorded, and the other way round."""
        handles = [volume["spec"]["csi"]["volumeHandle"] for volume in await self.volumes()]
        return sorted(handles) == self.storage.ids

    async def is_untouched(self) -> bool:
        """No volume and no claim shows that a rollback was begun."""
        marks = [each["metadata"].get("annotations", {}) for each in await self.volumes()]
        marks += [each["metadata"].get("annotations", {}) for each in await self.cluster.all(CLAIM)]
        held = [FINALIZER in v["metadata"].get("finalizers", []) for v in await self.volumes()]
        named = [RETAINED_BY in mark or "plimsoll.dev/rolling-back" in mark for mark in marks]
        return not any(held + named)

    async def use(self, claim: str) -> None:
        """A pod that was put on node-a by hand mounts the volume, writes, and is done."""
        name = (await self.cluster.get(CLAIM, claim))["spec"]["volumeName"]
        await self.cluster.create(pod("writer", volumes=[uses(claim)], node="node-a"))
        handle = (await self.cluster.get(VOLUME, name))["spec"]["csi"]["volumeHandle"]
        await self.storage.driver.record_first_publish(handle)
        await self.cluster.mark_finished("writer")
        await self.cluster.delete("Pod", "writer", grace=0)


def rollback(storage: StoryStorage, **settings: Any) -> dict[str, Make]:
    def make(tools: Tools) -> Loop:
        link = StoryCsiLink(storage.transport("node-a"))
        sources = DriverSources(transports={DRIVER: link})
        wanted = RollbackSettings(**({"mode": RollbackMode.ON} | settings))
        return Rollbacks(tools, CsiSettings(sources=sources), wanted)

    return {"rollback": make}


@asynccontextmanager
async def a_scene(*, is_foreign: bool = False, **class_: Any) -> AsyncIterator[Scene]:
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(a_cluster(*LOOPS))
        pools = zonal_pools("10Gi", "20Gi")
        storage = await stack.enter_async_context(a_storage(cluster.clock, pools, TWO_ZONES))
        storage.unknown_calls = FOREIGN if is_foreign else frozenset()
        await add_storage_nodes(cluster, TWO_ZONES)
        room = {"cpu": "1", "memory": "1Gi", "pods": "110"}
        status = {"status": {"capacity": room, "allocatable": room}}
        await cluster.patch("Node", "node-b", status, subresource="status")
        metadata = {"name": "fast"} | CONSENT
        consenting = a_class(**({"metadata": metadata} | class_))
        await cluster.create(a_csi_driver(storage_capacity=False), consenting)
        await stack.enter_async_context(a_provisioner(cluster, storage, STRICT))
        await stack.enter_async_context(a_scheduler(cluster))
        yield Scene(cluster, storage)


async def make_in_zone_a(scene: Scene, claim: str) -> None:
    """A scheduler of another kind has selected node-a, and then no more was heard of it."""
    document = a_claim(claim, class_name="fast", size="6Gi")
    document["metadata"]["annotations"] = {SELECTED_NODE: "node-a"}
    await scene.cluster.create(document)
    await scene.cluster.settle()


async def a_bare_pod(scene: Scene) -> None:
    await make_in_zone_a(scene, "first")
    await scene.cluster.create(a_claim("second", class_name="fast", size="6Gi"))
    await scene.cluster.create(a_pod(claims=["first", "second"], requests={"cpu": "500m"}))


async def a_set(scene: Scene) -> None:
    template = a_pod(requests={"cpu": "500m"})["spec"]
    document = stateful_set(
        claims=("first", "second"),
        replicas=1,
        template={"metadata": {"labels": dict(LABELS)}, "spec": template},
    )
    for each in document["spec"]["volumeClaimTemplates"]:
        each["spec"]["resources"] = {"requests": {"storage": "6Gi"}}
    await make_in_zone_a(scene, "first-web-0")
    await scene.cluster.create(document)


Workload = Callable[[Scene], Awaitable[None]]
WORKLOADS = pytest.mark.parametrize("workload", [a_bare_pod, a_set])


def interrupted(verb: str, resource: str, happens: Callable[[], Awaitable[None]]) -> Through:
    def through(inner: Transport) -> Transport:
        return InterruptedTransport(inner, verb, resource, happens)

    return through


async def bound_claim(scene: Scene) -> str:
    """The one that got a volume where its sibling does not fit."""
    claims = await scene.cluster.all(CLAIM)
    (name,) = [c["metadata"]["name"] for c in claims if c["status"].get("phase") == "Bound"]
    return str(name)


# What comes of it


@WORKLOADS
async def test_a_pod_moves_to_where_all_its_claims_fit(workload: Workload) -> None:
    async with a_scene() as scene:
        await workload(scene)
        await scene.cluster.wait(ENOUGH)
        assert list((await nodes_of(scene.cluster)).values()) == [""]
        await scene.take_back()
        await scene.cluster.wait(ENOUGH)
        assert list((await nodes_of(scene.cluster)).values()) == ["node-b"]
        assert scene.storage.pools_used == [("pool-b",), ("pool-b",)]
        assert await scene.is_nothing_leaked()
        assert await scene.is_untouched()
        assert await scene.records() == []
        assert await scene.reasons() == {"RollbackBegun", "RolledBack"}


async def test_the_new_claim_says_what_was_taken_back_and_why() -> None:
    async with a_scene() as scene:
        await a_bare_pod(scene)
        await scene.cluster.wait(ENOUGH)
        name = await bound_claim(scene)
        before = await scene.cluster.get(CLAIM, name)
        await scene.take_back()
        await scene.cluster.wait(ENOUGH)
        after = await scene.cluster.get(CLAIM, name)
        assert after["metadata"]["uid"] != before["metadata"]["uid"]
        audit = json.loads(after["metadata"]["annotations"]["plimsoll.dev/rolled-back"])
        assert audit["volume"] == before["spec"]["volumeName"]
        assert (audit["times"], audit["proof"]) == (1, "NeverPublished")
        assert "node-a" in audit["why"]
        told = [message for reason, message in await scene.cluster.events(name)]
        assert any("which no pod has used, was taken back" in message for message in told)


async def test_a_foreign_driver_s_volume_is_taken_back_if_it_was_watched_since_it_was_made() -> (
    None
):
    async with a_scene(is_foreign=True) as scene:
        await scene.take_back()
        await a_set(scene)
        await scene.cluster.wait(ENOUGH)
        assert await nodes_of(scene.cluster) == {"web-0": "node-b"}
        assert scene.storage.pools_used == [("pool-b",), ("pool-b",)]
        assert await scene.is_nothing_leaked()
        assert await scene.records() == []


async def test_a_foreign_driver_s_volume_is_taken_back_although_its_mark_was_refused_at_first() -> (
    None
):
    is_shut = True
    async with a_scene(is_foreign=True) as scene:
        await scene.take_back(
            rule=lambda request: (
                403 if is_shut and asked(request) == ("patch", "persistentvolumes") else 0
            )
        )
        await a_set(scene)
        await scene.cluster.wait(ENOUGH)
        assert await nodes_of(scene.cluster) == {"web-0": ""}
        is_shut = False
        await scene.cluster.wait(timedelta(minutes=20))
        assert await nodes_of(scene.cluster) == {"web-0": "node-b"}
        assert await scene.is_nothing_leaked()


# After a node has rejected the pod


async def a_rejected_pod(scene: Scene) -> None:
    """The pod of a set gets node-a, for its volume. Another pod was put there by hand meanwhile, so
    that the node rejects it; its set replaces it."""
    template = {"metadata": {"labels": dict(LABELS)}, "spec": a_pod(requests={"cpu": "1"})["spec"]}
    await make_in_zone_a(scene, "data-web-0")
    await scene.cluster.create(stateful_set(claims=("data",), replicas=1, template=template))
    await scene.cluster.wait(timedelta(seconds=30))
    assert await nodes_of(scene.cluster) == {"web-0": "node-a"}
    await scene.cluster.create(a_pod("by-hand", requests={"cpu": "4"}, nodeName="node-a"))
    rejected = {"phase": "Failed", "reason": "OutOfcpu"}
    await scene.cluster.patch("Pod", "web-0", {"status": rejected}, subresource="status")
    await scene.cluster.wait(ENOUGH)


async def test_a_pod_that_its_node_rejects_goes_back_to_scheduling_and_moves_with_its_claim() -> (
    None
):
    async with a_scene() as scene:
        await a_rejected_pod(scene)
        assert await nodes_of(scene.cluster) == {"by-hand": "node-a", "web-0": ""}
        await scene.take_back()
        await scene.cluster.wait(ENOUGH)
        assert await nodes_of(scene.cluster) == {"by-hand": "node-a", "web-0": "node-b"}
        assert scene.storage.pools_used == [("pool-b",)]
        assert await scene.is_nothing_leaked()
        assert await scene.records() == []


async def test_a_foreign_driver_s_volume_stays_if_a_pod_was_on_its_node_and_was_rejected() -> None:
    """The node may have mounted it before it rejected the pod: no other program can know."""
    async with a_scene(is_foreign=True) as scene:
        await scene.take_back()
        await a_rejected_pod(scene)
        await scene.cluster.wait(ENOUGH)
        assert await nodes_of(scene.cluster) == {"by-hand": "node-a", "web-0": ""}
        assert scene.storage.pools_used == [("pool-a",)]
        assert await scene.is_untouched()


# What is left alone


async def test_a_dry_run_tells_what_would_be_done_and_why_and_changes_nothing() -> None:
    async with a_scene() as scene:
        await a_set(scene)
        await scene.cluster.wait(ENOUGH)
        name = await bound_claim(scene)
        volume = (await scene.cluster.get(CLAIM, name))["spec"]["volumeName"]
        before = scene.storage.ids
        running = await scene.take_back(mode=RollbackMode.DRY_RUN)
        await scene.cluster.wait(ENOUGH)
        told = dict(await scene.cluster.events("web-0"))["RollbackRehearsed"]
        steps = (
            f"volume {volume} is retained",
            "pod web-0 is deleted, which its owner replaces",
            f"claim {name} is deleted",
            f"volume {volume} is deleted (its driver has never published it",
            f"claim {name} is created again by its controller",
        )
        places = [told.index(step) for step in steps]
        assert places == sorted(places)
        assert "It could on node node-b" in told
        assert "RollbackRehearsed" in dict(await scene.cluster.events(name))
        assert running.writes == 2, "an event for the pod and one for the claim"
        assert (scene.storage.ids, await scene.records()) == (before, [])


async def test_without_the_consent_of_the_class_nothing_is_touched() -> None:
    async with a_scene(metadata={"name": "fast"}) as scene:
        await a_set(scene)
        running = await scene.take_back()
        await scene.cluster.wait(ENOUGH)
        assert running.writes == 0
        assert await nodes_of(scene.cluster) == {"web-0": ""}


@pytest.mark.parametrize("is_foreign", [False, True], ids=["ours", "foreign"])
async def test_a_volume_that_was_used_is_not_touched(*, is_foreign: bool) -> None:
    async with a_scene(is_foreign=is_foreign) as scene:
        await scene.take_back(after=timedelta(minutes=3))
        await a_set(scene)
        await scene.cluster.wait(timedelta(minutes=1))
        name, before = await bound_claim(scene), scene.storage.ids
        await scene.use(name)
        await scene.cluster.wait(ENOUGH)
        assert scene.storage.ids == before
        assert await bound_claim(scene) == name
        assert await scene.is_untouched()
        assert await scene.reasons() == set()


async def test_a_mark_that_a_user_sets_on_a_used_volume_costs_nothing() -> None:
    async with a_scene(is_foreign=True) as scene:
        await scene.take_back(after=timedelta(minutes=3))
        await a_set(scene)
        await scene.cluster.wait(timedelta(minutes=1))
        name, before = await bound_claim(scene), scene.storage.ids
        (volume,) = await scene.volumes()
        mark = {"plimsoll.dev/unused": volume["metadata"]["annotations"]["plimsoll.dev/unused"]}
        await scene.use(name)
        await scene.cluster.settle()
        assert "plimsoll.dev/unused" not in (await scene.volumes())[0]["metadata"]["annotations"]
        patch = {"metadata": {"annotations": mark}}
        await scene.cluster.patch(VOLUME, volume["metadata"]["name"], patch)
        await scene.cluster.wait(ENOUGH)
        assert scene.storage.ids == before
        assert await scene.is_untouched()


async def a_writer_by_another_name(scene: Scene, name: str) -> None:
    """An administrator has made a second object for the volume of a claim, for another claim."""
    bound = (await scene.cluster.get(CLAIM, name))["spec"]["volumeName"]
    spec = (await scene.cluster.get(VOLUME, bound))["spec"]
    shared = {key: spec[key] for key in ("csi", "capacity", "accessModes", "nodeAffinity")}
    kept = {"persistentVolumeReclaimPolicy": "Retain", "storageClassName": ""}
    twin = {"apiVersion": "v1", "kind": VOLUME, "metadata": {"name": "twin"}, "spec": shared | kept}
    claim = a_claim("twin", size="6Gi", class_name="")
    claim["spec"]["volumeName"] = "twin"
    await scene.cluster.create(twin, claim)
    await scene.cluster.wait(timedelta(seconds=20))
    await scene.cluster.create(pod("writer", volumes=[uses("twin")], node="node-a"))


@pytest.mark.parametrize("goes", [False, True], ids=["stays", "goes"])
async def test_a_volume_that_was_used_by_way_of_another_object_is_not_touched(
    *, goes: bool
) -> None:
    async with a_scene(is_foreign=True) as scene:
        await scene.take_back(after=timedelta(minutes=3))
        await a_set(scene)
        await scene.cluster.wait(timedelta(minutes=1))
        name, before = await bound_claim(scene), scene.storage.ids
        await a_writer_by_another_name(scene, name)
        if goes:
            await scene.cluster.delete("Pod", "writer", grace=0)
            for kind in (CLAIM, VOLUME):
                await scene.cluster.delete(kind, "twin")
        await scene.cluster.wait(2 * ENOUGH)
        assert scene.storage.ids == before
        assert await scene.is_untouched()


async def test_a_volume_that_was_used_before_its_node_was_moved_is_not_touched() -> None:
    """The class allows it only later: no mark was there that the use could have ended."""
    async with a_scene(is_foreign=True, metadata={"name": "fast"}) as scene:
        await scene.take_back()
        await a_set(scene)
        await scene.cluster.wait(timedelta(minutes=1))
        name, before = await bound_claim(scene), scene.storage.ids
        await scene.use(name)
        moved = {"metadata": {"labels": {f"topology.{DRIVER}/zone": "c"}}}
        await scene.cluster.patch("Node", "node-a", moved)
        await scene.cluster.patch("StorageClass", "fast", {"metadata": CONSENT})
        await scene.cluster.create(pod("elsewhere", volumes=[uses(name)], node="node-b"))
        await scene.cluster.settle()
        await scene.cluster.delete("Pod", "elsewhere", grace=0)
        await scene.cluster.wait(2 * ENOUGH)
        assert scene.storage.ids == before
        assert await scene.is_untouched()


async def test_a_used_volume_whose_object_is_made_again_is_not_touched() -> None:
    """An administrator restores the object while its claim is there: no watch has seen the use."""
    async with a_scene(is_foreign=True) as scene:
        await a_set(scene)
        await scene.cluster.wait(timedelta(minutes=1))
        name, before = await bound_claim(scene), scene.storage.ids
        await scene.use(name)
        (volume,) = await scene.volumes()
        await delete_object(scene, volume["metadata"]["name"])
        assert await scene.volumes() == []
        await scene.take_back()
        await scene.cluster.settle()
        kept = {field: volume["metadata"][field] for field in ("name", "annotations")}
        again = {"apiVersion": "v1", "kind": VOLUME, "metadata": kept, "spec": volume["spec"]}
        await scene.cluster.create(again)
        await scene.cluster.wait(4 * ENOUGH)
        assert await bound_claim(scene) == name
        assert scene.storage.ids == before
        assert await scene.is_untouched()


async def delete_object(scene: Scene, volume: str) -> None:
    """By the hand of an administrator; its data stays."""
    spec = {"persistentVolumeReclaimPolicy": "Retain"}
    await scene.cluster.patch(VOLUME, volume, {"spec": spec, "metadata": {"finalizers": None}})
    await scene.cluster.delete(VOLUME, volume)
    if await scene.cluster.find(VOLUME, volume) is not None:
        await scene.cluster.patch(VOLUME, volume, {"metadata": {"finalizers": None}})
    await scene.cluster.settle()


async def test_a_bare_pod_with_a_foreign_driver_is_left_alone() -> None:
    async with a_scene(is_foreign=True) as scene:
        await scene.take_back()
        await a_bare_pod(scene)
        await scene.cluster.wait(ENOUGH)
        assert await nodes_of(scene.cluster) == {"web": ""}
        assert await scene.is_untouched()


# The scenarios that the order answers


@pytest.mark.parametrize("is_foreign", [False, True], ids=["ours", "foreign"])
async def test_a_pod_that_mounts_after_the_last_look_and_completes_loses_nothing(
    *, is_foreign: bool
) -> None:
    async with a_scene(is_foreign=is_foreign) as scene:
        names: list[str] = []

        async def mounts() -> None:
            names.append(await bound_claim(scene))
            await scene.use(names[0])

        await scene.take_back(through=interrupted("delete", "persistentvolumeclaims", mounts))
        await a_set(scene)
        await scene.cluster.wait(ENOUGH)
        assert len(names) == 1
        used = [v for v in scene.storage.driver.ledger.volumes.all() if v.first_published_at]
        assert len(used) == 1
        (kept,) = [v for v in await scene.volumes() if RETAINED_BY in v["metadata"]["annotations"]]
        assert kept["spec"]["csi"]["volumeHandle"] == used[0].id
        assert kept["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
        assert "RollbackKeptVolume" in await scene.reasons()
        assert await scene.is_nothing_leaked()
        assert await scene.records() == ["Kept"]


class OnceTheClaimIsGone:
    """Implements Transport. Something happens right before the first look at pods after that."""

    def __init__(
        self, inner: Transport, scene: Scene, happens: Callable[[], Awaitable[None]]
    ) -> None:
        self._inner = inner
        self._scene = scene
        self._happens: Callable[[], Awaitable[None]] | None = happens

    async def request(self, request: Request) -> Response:
        happens = self._happens
        is_look = happens is not None and asked(request) == ("list", "pods")
        if is_look and happens and await self._scene.cluster.find(CLAIM, "first") is None:
            self._happens = None
            await happens()
        return await self._inner.request(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[StreamedResponse]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


async def test_a_volume_that_gets_its_claim_back_is_not_deleted_before_it_is_bound() -> None:
    """The claim is gone when a pod is found that may have used the volume, and nothing binds claims
    for a while. The volume is released all that time, and its provisioner runs."""
    async with a_scene() as scene:
        await a_bare_pod(scene)
        await scene.cluster.wait(ENOUGH)
        before = scene.storage.ids

        async def comes_and_stays() -> None:
            await scene.cluster.wait(timedelta(seconds=2))
            assert [v["status"]["phase"] for v in await scene.volumes()] == ["Released"]
            await scene.cluster.create(pod("writer", volumes=[uses("first")], node="node-a"))
            await scene.cluster.controllers[0].kill()

        await scene.take_back(
            through=lambda inner: OnceTheClaimIsGone(inner, scene, comes_and_stays)
        )
        await scene.cluster.wait(2 * ENOUGH)
        assert await scene.cluster.find("Pod", "writer"), "the moment came"
        assert scene.storage.ids == before
        await scene.cluster.start(*LOOPS)
        await scene.cluster.wait(ENOUGH)
        assert scene.storage.ids == before
        assert await volume_of(scene.cluster, "first")
        assert await scene.is_untouched()
        assert await scene.records() == []
        assert await scene.reasons() == {"RollbackBegun", "RollbackPutBack"}


@WORKLOADS
async def test_a_pod_that_another_scheduler_has_bound_keeps_its_volumes(workload: Workload) -> None:
    """Its own scheduler may have been told so, by a conflict, and still think that it waits."""
    async with a_scene() as scene:
        await workload(scene)
        await scene.cluster.wait(ENOUGH)
        before = scene.storage.ids
        (name,) = await nodes_of(scene.cluster)

        async def binds() -> None:
            await scene.cluster.bind(name, "node-a")

        # Right before the volume is changed: the record was stored by then.
        await scene.take_back(through=interrupted("patch", "persistentvolumes", binds))
        await scene.cluster.wait(ENOUGH)
        assert scene.storage.ids == before
        assert await node_of(scene.cluster, name) == "node-a"
        assert await scene.is_untouched()
        assert await scene.records() == []
        assert await scene.reasons() == {"RollbackBegun", "RollbackPutBack"}
        assert [v["spec"]["persistentVolumeReclaimPolicy"] for v in await scene.volumes()] == [
            "Delete"
        ]


async def test_a_pod_that_is_bound_in_the_moment_of_its_deletion_is_not_deleted() -> None:
    async with a_scene() as scene:
        await a_set(scene)
        await scene.cluster.wait(ENOUGH)
        before = (await scene.cluster.get("Pod", "web-0"))["metadata"]["uid"]

        async def binds() -> None:
            await scene.cluster.bind("web-0", "node-a")

        await scene.take_back(through=interrupted("delete", "pods", binds))
        await scene.cluster.wait(ENOUGH)
        assert (await scene.cluster.get("Pod", "web-0"))["metadata"]["uid"] == before
        assert await scene.is_untouched()
        assert "RollbackPutBack" in await scene.reasons()


async def test_the_mark_of_a_controller_that_is_gone_proves_nothing() -> None:
    async with a_scene(is_foreign=True) as scene:
        watching = await scene.take_back(after=timedelta(hours=1))
        await a_set(scene)
        await scene.cluster.wait(ENOUGH)
        before = scene.storage.ids
        await watching.kill()
        scene.cluster.controllers.remove(watching)
        await scene.use(await bound_claim(scene))
        await scene.take_back()
        await scene.cluster.wait(ENOUGH)
        (volume,) = await scene.volumes()
        assert "plimsoll.dev/unused" not in volume["metadata"]["annotations"]
        assert scene.storage.ids == before
        assert await scene.is_untouched()


async def test_a_user_who_sets_retain_meanwhile_keeps_the_volume() -> None:
    async with a_scene() as scene:
        await a_set(scene)
        await scene.cluster.wait(ENOUGH)
        (volume,) = await scene.volumes()
        name = volume["metadata"]["name"]

        async def retains() -> None:
            policy = {"persistentVolumeReclaimPolicy": "Retain"}
            await scene.cluster.patch(VOLUME, name, {"spec": policy})

        await scene.take_back(through=interrupted("patch", "persistentvolumes", retains))
        await scene.cluster.wait(ENOUGH)
        (after,) = await scene.volumes()
        assert after["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
        assert await scene.is_untouched()
        assert scene.storage.ids == [after["spec"]["csi"]["volumeHandle"]]


async def test_a_volume_that_an_administrator_takes_over_is_not_put_back() -> None:
    async with a_scene() as scene:
        await a_set(scene)
        await scene.cluster.wait(ENOUGH)
        (volume,) = await scene.volumes()
        name = volume["metadata"]["name"]

        async def takes_over() -> None:
            patch = {"metadata": {"annotations": {RETAINED_BY: "me"}}}
            await scene.cluster.patch(VOLUME, name, patch)

        await scene.take_back(through=interrupted("delete", "pods", takes_over))
        await scene.cluster.wait(ENOUGH)
        after = await scene.cluster.get(VOLUME, name)
        assert after["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
        assert after["metadata"]["annotations"][RETAINED_BY] == "me"
        assert FINALIZER not in after["metadata"].get("finalizers", [])
        assert scene.storage.ids == [after["spec"]["csi"]["volumeHandle"]]


@pytest.mark.parametrize("times", [-1, -(10**30), 10**30])
async def test_a_forged_account_of_earlier_rollbacks_ends_no_loop(times: int) -> None:
    """The claim is a tenant's, and so are its annotations."""
    async with a_scene() as scene:
        await a_bare_pod(scene)
        told = {"volume": "", "times": times, "begunAt": "", "why": "", "proof": "NeverPublished"}
        patch = {"metadata": {"annotations": {"plimsoll.dev/rolled-back": json.dumps(told)}}}
        await scene.cluster.patch(CLAIM, "first", patch)
        await scene.cluster.wait(ENOUGH)
        await scene.take_back()
        await scene.cluster.wait(ENOUGH)
        assert list((await nodes_of(scene.cluster)).values()) == ["node-b"]
        assert await scene.is_nothing_leaked()


async def test_a_claim_that_a_tenant_does_not_let_go_is_looked_at_ever_more_seldom() -> None:
    async with a_scene() as scene:
        await a_bare_pod(scene)
        await scene.cluster.wait(ENOUGH)
        name = await bound_claim(scene)
        kept = {"metadata": {"finalizers": ["kubernetes.io/pvc-protection", "example.com/mine"]}}
        await scene.cluster.patch(CLAIM, name, kept)
        controller = await scene.take_back()
        await scene.cluster.wait(timedelta(minutes=30))
        assert await scene.records() == ["Releasing"]
        before = controller.passed.count(("list", "pods"))
        await scene.cluster.wait(timedelta(hours=1))
        assert controller.passed.count(("list", "pods")) - before < 25
        await scene.cluster.patch(CLAIM, name, {"metadata": {"finalizers": None}})
        await scene.cluster.wait(timedelta(minutes=6))
        assert await node_of(scene.cluster, "web") == "node-b"
        assert await scene.is_nothing_leaked()
        assert await scene.records() == []
