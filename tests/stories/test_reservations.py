"""Room is reserved for what was decided, as long as no report counts it in, and no longer."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import msgspec
import pytest

from plimsoll.api.registry import Document
from plimsoll.decide.provisioning.holds import HOLD
from plimsoll.decide.provisioning.intents import (
    Intent,
    IntentState,
    StoredIntent,
    lease_document,
    read_intent,
)
from plimsoll.decide.scheduling.reservations.deadlines import UNBEGUN, UNDECIDED, UNORDERED
from plimsoll.decide.scheduling.reservations.users import MOST_PER_POD
from plimsoll.decide.scheduling.rules.volume_binding.charges import RESERVATIONS
from plimsoll.processes.driver.backends.pools.faults import FaultyCall, Hang
from plimsoll.processes.scheduler.settings import SchedulerSettings
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.objects import namespace, volume
from plimsoll.simulator.stories.refusing_transport import forbidden, open_to_all
from plimsoll.simulator.stories.schedulers import (
    HOSTNAME,
    SELECTED_NODE,
    RunningScheduler,
    a_claim,
    a_delayed_class,
    a_pod,
    add_node,
    node_of,
    nodes_of,
    scheduled_condition,
)
from plimsoll.simulator.stories.sidecars import (
    DRIVER,
    NAMESPACE,
    PLAIN,
    RunningProvisioner,
    StoryStorage,
    a_class,
    a_csi_driver,
    a_storage,
    add_storage_nodes,
    zonal_pools,
)

LOOPS = ("binding", "claim-protection", "volume-protection")
PUBLISHING = msgspec.structs.replace(PLAIN, enable_capacity=True)
SETTINGS = SchedulerSettings(record_namespaces=NAMESPACE)
MOMENT, A_WHILE = timedelta(seconds=5), timedelta(minutes=2)
NOWHERE = {"nodeSelector": {"no": "node"}}


@dataclass
class Scene:
    cluster: StoryCluster
    scheduler: RunningScheduler
    lives: int = 1

    async def restart(self) -> None:
        """Another life of the scheduler; the one before is killed."""
        await self.scheduler.kill()
        self.lives += 1
        self.scheduler = RunningScheduler(self.cluster, SETTINGS, seed=self.lives)
        await self.scheduler.start()

    async def start(self, name: str, *sizes: str, class_name: str = "fast", **spec: object) -> None:
        """A pod with claims of these sizes, called like it."""
        claims = [f"{name}-{number}" for number in range(len(sizes))]
        for claim, size in zip(claims, sizes, strict=True):
            await self.cluster.create(a_claim(claim, size=size, class_name=class_name))
        await self.cluster.create(a_pod(name, claims=claims, **spec))

    async def selected(self, claim: str) -> str:
        found = await self.cluster.get("PersistentVolumeClaim", claim)
        node: str = (found["metadata"].get("annotations") or {}).get(SELECTED_NODE, "")
        return node

    async def why(self, pod: str) -> str:
        _, _, message = await scheduled_condition(self.cluster, pod)
        return message

    def tried_in_vain(self) -> float:
        """How often, by the scheduler, so far."""
        labels = 'profile="plimsoll",result="unschedulable"'
        return self.scheduler.sample(f"scheduler_schedule_attempts_total{{{labels}")

    async def placed(self) -> set[str]:
        return {name for name, node in (await nodes_of(self.cluster)).items() if node}


@asynccontextmanager
async def a_scene(cluster: StoryCluster) -> AsyncIterator[Scene]:
    scheduler = RunningScheduler(cluster, SETTINGS)
    await scheduler.start()
    scene = Scene(cluster, scheduler)
    try:
        yield scene
        scene.scheduler.check()
    finally:
        await scene.scheduler.kill()


# Publishers without tokens

THEIRS = "disk.example.com"


@asynccontextmanager
async def their_world(mode: str) -> AsyncIterator[Scene]:
    """The test plays csi-provisioner, for a node with 10Gi."""
    told = {RESERVATIONS: mode} if mode else {}
    async with a_cluster(*LOOPS) as cluster:
        await add_node(cluster, "node-a")
        await cluster.create(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "CSIDriver",
                "metadata": {"name": THEIRS, "annotations": told},
                "spec": {"storageCapacity": True, "attachRequired": False},
            },
            a_delayed_class("theirs", THEIRS),
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "CSIStorageCapacity",
                "metadata": {"name": "csisc-1", "namespace": "default"},
                "nodeTopology": {"matchLabels": {HOSTNAME: "node-a"}},
                "storageClassName": "theirs",
                "capacity": "10Gi",
            },
        )
        async with a_scene(cluster) as scene:
            await scene.start("first", "6Gi", class_name="theirs")
            await cluster.settle()
            await scene.start("second", "5Gi", class_name="theirs")
            await cluster.wait(MOMENT)
            yield scene


async def record(cluster: StoryCluster, claim: str) -> None:
    """As csi-provisioner does when its driver has made the volume."""
    found = await cluster.get("PersistentVolumeClaim", claim)
    reference = {
        "kind": "PersistentVolumeClaim",
        "namespace": "default",
        "name": claim,
        "uid": found["metadata"]["uid"],
    }
    size = found["spec"]["resources"]["requests"]["storage"]
    spec = {"capacity": {"storage": size}, "storageClassName": "theirs"}
    await cluster.create(volume(f"pvc-{claim}", claim_ref=reference, spec=spec))


async def report(cluster: StoryCluster, capacity: str) -> None:
    await cluster.patch("CSIStorageCapacity", "csisc-1", {"capacity": capacity})


async def test_a_driver_that_declares_nothing_is_asked_for_what_it_reports() -> None:
    async with their_world("") as scene:
        assert await scene.selected("second-0") == "node-a"


async def test_after_two_changes_a_publisher_without_tokens_has_reported() -> None:
    async with their_world("linear") as scene:
        assert "CapacityReserved" in await scene.why("second")
        await record(scene.cluster, "first-0")
        await scene.cluster.wait(MOMENT)
        assert await node_of(scene.cluster, "first") == "node-a"
        assert await scene.selected("second-0") == ""
        # Another volume went. The driver may have been asked before the first one was made.
        await report(scene.cluster, "10752Mi")
        await scene.cluster.wait(MOMENT)
        assert await scene.selected("second-0") == ""
        await report(scene.cluster, "5Gi")
        await scene.cluster.wait(A_WHILE)
        assert await scene.selected("second-0") == "node-a"


async def test_after_two_polls_a_publisher_without_tokens_has_reported() -> None:
    async with their_world("linear") as scene:
        await record(scene.cluster, "first-0")
        await report(scene.cluster, "5Gi")
        await scene.cluster.wait(MOMENT)
        assert "CapacityReserved" in await scene.why("second")
        # Nothing else happens: time alone wakes the pod.
        await scene.cluster.wait(UNORDERED)
        assert await scene.selected("second-0") == "node-a"


async def test_a_pod_that_needs_another_driver_is_not_tried_when_a_reservation_has_ended() -> None:
    async with their_world("linear") as scene:
        await scene.cluster.create(a_delayed_class("full", "full.example.com"))
        driver = {"metadata": {"name": "full.example.com"}, "spec": {"storageCapacity": True}}
        kind = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver"}
        await scene.cluster.create({**kind, **driver})
        await scene.start("elsewhere", "5Gi", class_name="full")
        await record(scene.cluster, "first-0")
        await report(scene.cluster, "5Gi")
        await scene.cluster.wait(MOMENT)
        before = scene.tried_in_vain()
        await scene.cluster.wait(UNORDERED)
        assert await scene.selected("second-0") == "node-a"
        assert "NoCapacityPublished" in await scene.why("elsewhere")
        assert scene.tried_in_vain() == before


async def test_a_driver_may_be_asked_for_one_volume_at_a_time() -> None:
    async with their_world("single-slot") as scene:
        await scene.start("third", "1Gi", class_name="theirs")
        await scene.cluster.wait(MOMENT)
        assert await scene.selected("third-0") == ""
        await record(scene.cluster, "first-0")
        await scene.cluster.wait(UNORDERED + MOMENT)
        assert [await scene.selected(f"{name}-0") for name in ("second", "third")].count("") == 1


# Tokens


@asynccontextmanager
async def our_world(
    *sizes: str,
) -> AsyncIterator[tuple[Scene, StoryStorage, RunningProvisioner]]:
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(a_cluster(*LOOPS))
        storage = await stack.enter_async_context(a_storage(cluster.clock, zonal_pools(*sizes)))
        await add_storage_nodes(cluster)
        await cluster.create(a_csi_driver(), a_class("fast"))
        provisioner = RunningProvisioner(cluster, storage, PUBLISHING)
        await provisioner.start()
        stack.push_async_callback(provisioner.kill)
        await cluster.settle()
        yield await stack.enter_async_context(a_scene(cluster)), storage, provisioner
        provisioner.check()


def refused(provisioner: RunningProvisioner) -> float:
    """How often the driver was asked for more than it had."""
    labels = f'driver_name="{DRIVER}",grpc_status_code="ResourceExhausted"'
    return provisioner.sample(f"csi_sidecar_operations_seconds_count{{{labels}")


async def intents(cluster: StoryCluster) -> list[IntentState]:
    """The states of those that are open."""
    read = [read_intent(lease) for lease in await cluster.all("Lease")]
    return sorted(each.state for each in read if each is not None and each.state.is_open)


@pytest.mark.parametrize("restarts", [False, True], ids=["one-scheduler", "restarted"])
async def test_a_volume_that_is_held_back_is_charged_until_it_is_reported(
    *, restarts: bool
) -> None:
    """One volume of the pod is made at once and recorded a minute and a half later, when the other
    is made. Reports count it in all the while."""
    async with our_world("10Gi") as (scene, storage, provisioner):
        storage.set_faults(Hang(call=FaultyCall.CREATE, times=1, seconds=90))
        await scene.start("web", "3Gi", "3Gi")
        await scene.cluster.wait(MOMENT)
        assert await intents(scene.cluster) == [IntentState.CALLING, IntentState.MADE]
        if restarts:
            await scene.restart()
        for number in range(3):
            await scene.start(f"small-{number}", "2Gi")
            await scene.cluster.wait(timedelta(seconds=40))
        await scene.cluster.wait(2 * A_WHILE)
        assert len(await scene.placed()) == 3
        assert "web" in await scene.placed()
        # Filled to the last byte, and never asked for more.
        assert len(storage.names) == 4
        assert refused(provisioner) == 0

        # Nothing stays charged: what is given back can be had at once.
        (waiting,) = {"small-0", "small-1", "small-2"} - await scene.placed()
        gone = min({"small-0", "small-1", "small-2"} - {waiting})
        await scene.cluster.delete("Pod", gone, grace=0)
        await scene.cluster.delete("PersistentVolumeClaim", f"{gone}-0")
        await scene.cluster.wait(timedelta(seconds=30))
        assert await node_of(scene.cluster, waiting) == "node-a"
        assert refused(provisioner) == 0


async def test_a_restart_forgets_neither_what_is_being_made_nor_what_is_not_reported() -> None:
    async with our_world("10Gi") as (scene, storage, provisioner):
        provisioner.transport.rule = forbidden("csistoragecapacities")
        await scene.start("recorded", "3Gi")
        await scene.cluster.wait(MOMENT)
        assert await node_of(scene.cluster, "recorded") == "node-a"
        storage.set_faults(Hang(call=FaultyCall.CREATE, times=1, seconds=60))
        await scene.start("begun", "3Gi")
        await scene.cluster.wait(MOMENT)
        await scene.restart()
        await scene.start("late", "5Gi")
        await scene.cluster.wait(MOMENT)
        assert "CapacityReserved" in await scene.why("late")
        await scene.start("fits", "4Gi")
        await scene.cluster.wait(A_WHILE)
        provisioner.transport.rule = open_to_all
        await scene.cluster.wait(A_WHILE)
        assert await scene.placed() == {"recorded", "begun", "fits"}
        assert refused(provisioner) == 0


# Attempts that were given up, and pods that are gone


async def move_away(scene: Scene, *claims: str) -> None:
    """Take the selected node off, and let no pod go to node-a any more."""
    await scene.cluster.patch("Node", "node-a", {"spec": {"unschedulable": True}})
    for claim in claims:
        told = {"metadata": {"annotations": {SELECTED_NODE: None}}}
        await scene.cluster.patch("PersistentVolumeClaim", claim, told)


@pytest.mark.parametrize("restarts", [False, True], ids=["one-scheduler", "restarted"])
async def test_what_is_decided_anew_is_charged_while_the_first_calls_are_under_way(
    *, restarts: bool
) -> None:
    """Two volumes are being made for node-a, and neither is wanted there any more. There is room
    for one of them on node-b."""
    async with our_world("20Gi", "10Gi") as (scene, storage, provisioner):
        await scene.cluster.patch("Node", "node-b", {"spec": {"unschedulable": True}})
        storage.set_faults(Hang(call=FaultyCall.CREATE, pool="pool-a", times=2, seconds=60))
        await scene.start("first", "6Gi")
        await scene.start("second", "6Gi")
        await scene.cluster.wait(MOMENT)
        assert await intents(scene.cluster) == [IntentState.CALLING, IntentState.CALLING]

        await scene.cluster.patch("Node", "node-b", {"spec": {"unschedulable": False}})
        await move_away(scene, "first-0", "second-0")
        if restarts:
            await scene.restart()
        await scene.cluster.wait(MOMENT)
        nodes = [await scene.selected("first-0"), await scene.selected("second-0")]
        assert sorted(nodes) == ["", "node-b"]
        await scene.cluster.wait(2 * A_WHILE)
        assert len(await scene.placed()) == 1
        assert len(storage.names) == 1, "what was made for node-a is given back"
        assert refused(provisioner) == 0


async def store_intent(cluster: StoryCluster, state: IntentState) -> Intent:
    """Of a claim that is gone."""
    claim = a_claim("gone", size="4Gi", class_name="theirs")
    intent = Intent(
        driver=THEIRS,
        claim=claim | {"metadata": {"namespace": "default", "name": "gone", "uid": "gone"}},
        volume_name="pvc-gone",
        selected_node="node-a",
        state=state,
    )
    lease = lease_document(StoredIntent(intent=intent), NAMESPACE)
    await cluster.create(namespace(NAMESPACE), lease)
    await cluster.settle()
    return intent


async def test_a_pod_wakes_when_an_attempt_that_was_given_up_is_settled() -> None:
    """What is published stays the same: the driver had never made the volume."""
    async with their_world("linear") as scene:
        cluster = scene.cluster
        intent = await store_intent(cluster, IntentState.UNDOING)
        await scene.start("third", "4Gi", class_name="theirs")
        await cluster.wait(MOMENT)
        assert "CapacityReserved" in await scene.why("third")
        await cluster.delete("Lease", intent.name, namespace=NAMESPACE)
        await cluster.wait(MOMENT)
        assert await scene.selected("third-0") == "node-a"
        assert await scene.selected("second-0") == ""


@pytest.mark.parametrize("state", [IntentState.SUSPECT, IntentState.STUCK])
async def test_a_pod_wakes_when_reports_count_in_what_is_left_to_an_administrator(
    state: IntentState,
) -> None:
    """What is published stays the same: it was counted in all the while."""
    async with their_world("linear") as scene:
        await store_intent(scene.cluster, state)
        await scene.start("third", "4Gi", class_name="theirs")
        await scene.cluster.wait(MOMENT)
        assert "CapacityReserved" in await scene.why("third")
        await scene.cluster.wait(UNORDERED)
        assert await scene.selected("third-0") == "node-a"


async def test_a_node_that_was_selected_for_a_pod_that_is_gone_is_still_charged() -> None:
    """The provisioner is about to act upon the claim, which stays."""
    async with our_world("10Gi") as (scene, storage, provisioner):
        await provisioner.kill()
        await scene.start("first", "6Gi")
        await scene.cluster.settle()
        assert await scene.selected("first-0") == "node-a"
        await scene.cluster.delete("Pod", "first", grace=0)
        await scene.start("second", "5Gi")
        await scene.cluster.wait(MOMENT)
        assert await scene.selected("second-0") == ""
        assert "CapacityReserved" in await scene.why("second")
        later = RunningProvisioner(scene.cluster, storage, PUBLISHING, seed=2)
        await later.start()
        await scene.cluster.wait(A_WHILE)
        assert len(storage.names) == 1
        assert await scene.selected("second-0") == ""
        assert refused(later) == 0
        await later.kill()


# Deadlines, and what tenants can write


def forged(claim: Document) -> Document:
    """With what schedulers write, so that no provisioner begins: a hold that says `undo`."""
    annotations = {SELECTED_NODE: "node-a", HOLD: "no-pod/0/undo"}
    return claim | {"metadata": claim["metadata"] | {"annotations": annotations}}


async def test_a_choice_of_another_scheduler_that_nothing_comes_of_is_not_kept_for_ever() -> None:
    async with our_world("10Gi") as (scene, _, _):
        await scene.cluster.create(forged(a_claim("theirs", size="6Gi", class_name="fast")))
        await scene.cluster.create(a_pod("theirs", claims=["theirs"], schedulerName="other"))
        await scene.cluster.settle()
        await scene.start("web", "5Gi")
        await scene.cluster.wait(UNBEGUN - timedelta(minutes=1))
        assert "CapacityReserved" in await scene.why("web")
        await scene.cluster.wait(timedelta(minutes=2))
        assert await node_of(scene.cluster, "web") == "node-a"


async def start_copy(scene: Scene, name: str, size: str) -> None:
    """A pod with a copy of a claim that is gone: the provisioner refuses before it asks the
    driver, and leaves the node."""
    copy = a_claim(name, size=size, class_name="fast")
    source = {"kind": "PersistentVolumeClaim", "name": "gone"}
    await scene.cluster.create(copy | {"spec": copy["spec"] | {"dataSource": source}})
    await scene.cluster.create(a_pod(name, claims=[name]))


async def test_pods_whose_volumes_never_come_do_not_keep_a_pool_by_turns() -> None:
    async with our_world("10Gi") as (scene, _, provisioner):
        await start_copy(scene, "first", "6Gi")
        await scene.cluster.wait(UNBEGUN / 2)
        await start_copy(scene, "second", "4Gi")
        await scene.cluster.wait(MOMENT)
        await scene.start("web", "7Gi")
        await scene.cluster.wait(MOMENT)
        assert "CapacityReserved" in await scene.why("web")
        # The first has its next turn before the time of the second has ended.
        await scene.cluster.wait(UNBEGUN)
        assert await scene.selected("first") == "node-a"
        await scene.cluster.wait(A_WHILE)
        assert await node_of(scene.cluster, "web") == "node-a"
        assert refused(provisioner) == 0


async def test_claims_that_no_live_pod_uses_block_nothing() -> None:
    async with our_world("10Gi") as (scene, storage, _):
        for number in range(20):
            claim = a_claim(f"bare-{number}", size="10Gi", class_name="fast")
            await scene.cluster.create(forged(claim))
        await scene.cluster.create(
            a_pod("done", claims=["bare-0"], **NOWHERE) | {"status": {"phase": "Succeeded"}}
        )
        await scene.cluster.patch(
            "Pod", "done", {"status": {"phase": "Succeeded"}}, subresource="status"
        )
        await scene.start("web", "10Gi")
        await scene.cluster.wait(MOMENT)
        assert await node_of(scene.cluster, "web") == "node-a"
        assert storage.count("CreateVolume") == 1


async def test_a_pod_with_a_thousand_claims_blocks_what_a_large_pod_may_need() -> None:
    room = MOST_PER_POD + 60
    async with our_world(f"{room}Gi") as (scene, _, _):
        names = [f"many-{number}" for number in range(1000)]
        for name in names:
            await scene.cluster.create(forged(a_claim(name, class_name="fast")))
        # Of another scheduler: ours would find out at once that it can run nowhere.
        await scene.cluster.create(a_pod("many", claims=names, schedulerName="other"))
        await scene.cluster.settle()
        await scene.start("web", "60Gi")
        await scene.cluster.wait(MOMENT)
        assert await node_of(scene.cluster, "web") == "node-a"


async def test_pods_that_can_never_run_block_nothing_for_long() -> None:
    async with our_world("100Gi") as (scene, _, _):
        for number in range(200):
            claim = forged(a_claim(f"never-{number}", class_name="fast"))
            pod = a_pod(f"never-{number}", claims=[f"never-{number}"], **NOWHERE)
            await scene.cluster.create(claim, pod)
        await scene.cluster.settle()
        await scene.start("web", "60Gi")
        await scene.cluster.wait(UNDECIDED + MOMENT)
        assert await node_of(scene.cluster, "web") == "node-a"
