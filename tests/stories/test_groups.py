"""A pod with several claims gets all of its volumes on one node, or none stays there.

The story of the seed: a pod with two claims of two drivers; the node that is chosen has room for
the first only. kube-scheduler leaves the pod stuck there for ever. Topology is strict and capacity
is not tracked: only the drivers know.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import product
from pathlib import Path

import msgspec
import pytest

from plimsoll.api.registry import Document
from plimsoll.decide.provisioning.holds import HOLD
from plimsoll.decide.provisioning.intents import read_intent
from plimsoll.decide.scheduling.binding.groups import (
    EndedAttempt,
    Group,
    GroupState,
    read_group,
)
from plimsoll.decide.scheduling.policy import Policy
from plimsoll.processes.driver.backends.pools.faults import Fail, FaultyCall, Hang, When
from plimsoll.processes.driver.settings import BackendSettings, Mounts, NodeSettings
from plimsoll.processes.provisioner.settings import ProvisionerFlags
from plimsoll.processes.scheduler.settings import SchedulerSettings
from plimsoll.runtime.ids import seeded_ids
from plimsoll.simulator.stories.cluster import StoryCluster, Through, a_cluster
from plimsoll.simulator.stories.objects import namespace
from plimsoll.simulator.stories.refusing_transport import InterruptedTransport
from plimsoll.simulator.stories.schedulers import (
    SELECTED_NODE,
    RunningScheduler,
    a_claim,
    a_delayed_class,
    a_local_volume,
    a_pod,
    add_node,
    node_of,
    scheduled_condition,
    volume_of,
)
from plimsoll.simulator.stories.sidecars import (
    DRIVER,
    NAMESPACE,
    PLAIN,
    RunningProvisioner,
    StoryStorage,
    pool,
    storage_of,
)
from plimsoll.wire.transport import Transport

OTHER = "disks.test"
LOOPS = ("binding", "claim-protection", "volume-protection")
STRICT = msgspec.structs.replace(PLAIN, strict_topology=True)
ON_EACH_NODE = tuple(
    msgspec.structs.replace(STRICT, node_deployment=True, node_name=node)
    for node in ("node-a", "node-b")
)
"""Provisioners that serve one node each."""
SETTINGS = SchedulerSettings(record_namespaces=NAMESPACE, bind_timeout=timedelta(minutes=2))
BEGUN, ENOUGH = timedelta(seconds=2), timedelta(minutes=3)
NODES = ("node-a", "node-b")
FULL, FREE = "1Mi", "10Gi"


@dataclass
class Scene:
    cluster: StoryCluster
    storages: dict[str, StoryStorage]
    provisioners: list[RunningProvisioner]
    scheduler: RunningScheduler | None = None
    lives: int = 0

    async def schedule(
        self,
        settings: SchedulerSettings = SETTINGS,
        *,
        cut_after: int | None = None,
        through: Through = lambda transport: transport,
    ) -> RunningScheduler:
        """Another life of the scheduler; the one before is dead."""
        if self.scheduler is not None:
            await self.scheduler.kill()
        self.lives += 1
        self.scheduler = RunningScheduler(
            self.cluster, settings, seed=self.lives, cut_after=cut_after, through=through
        )
        await self.scheduler.start()
        return self.scheduler

    async def groups(self) -> list[Group]:
        read = [read_group(lease) for lease in await self.cluster.all("Lease")]
        return [group for group in read if group is not None]

    async def attempts(self) -> int:
        """How many have begun for the only pod."""
        return max((group.attempt + 1 for group in await self.groups()), default=0)

    async def open_intents(self) -> list[str]:
        read = [read_intent(lease) for lease in await self.cluster.all("Lease")]
        return [each.state for each in read if each is not None and each.state.is_open]

    async def annotations(self, claim: str) -> Document:
        found = await self.cluster.get("PersistentVolumeClaim", claim)
        annotations: Document = found["metadata"].get("annotations") or {}
        return annotations

    def zones(self, driver: str) -> list[str]:
        """Where its volumes are."""
        return [pools[0] for pools in self.storages[driver].pools_used]

    async def is_tidy(self) -> bool:
        """Nothing is left to be settled, and every volume is recorded."""
        made = sum(len(storage.ids) for storage in self.storages.values())
        volumes = await self.cluster.all("PersistentVolume")
        recorded = [each for each in volumes if each["metadata"]["name"].startswith("pvc-")]
        return made == len(recorded) and not await self.groups() and not await self.open_intents()


def keys_of(driver: str, node: str) -> dict[str, str]:
    return {f"topology.{driver}/zone": node.removeprefix("node-")}


def pools_of(sizes: Sequence[str]) -> list[Document]:
    return [
        pool(node, size, topology={"zone": node.removeprefix("node-")})
        for node, size in zip(NODES, sizes, strict=True)
    ]


async def a_driver(
    cluster: StoryCluster, stack: AsyncExitStack, driver: str, sizes: Sequence[str]
) -> StoryStorage:
    settings = BackendSettings(
        driver_name=driver,
        data_dir=Path("/nonexistent"),
        nodes=tuple(NodeSettings(id=node, topology=keys_of(driver, node)) for node in NODES),
        options={"pools": pools_of(sizes)},
        clock=cluster.clock,
        ids=seeded_ids(7),
        mounts=Mounts.NONE,
    )
    return await stack.enter_async_context(storage_of(settings, cluster.clock))


def driver_object(driver: str) -> Document:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": driver},
        "spec": {"storageCapacity": False, "attachRequired": False},
    }


async def add_nodes(cluster: StoryCluster, drivers: Sequence[str]) -> None:
    """The first node has more room for pods: it is always scored highest."""
    for node, cpu in zip(NODES, ("8", "2"), strict=True):
        labels = {name: value for each in drivers for name, value in keys_of(each, node).items()}
        await add_node(cluster, node, labels=labels, cpu=cpu, memory=f"{cpu}Gi")
        entries = [
            {"name": each, "nodeID": node, "topologyKeys": [*keys_of(each, node)]}
            for each in drivers
        ]
        await cluster.create(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "CSINode",
                "metadata": {"name": node},
                "spec": {"drivers": entries},
            }
        )


@asynccontextmanager
async def a_scene(
    *more_loops: str, provisioners: Sequence[ProvisionerFlags] = (STRICT,), **sizes: Sequence[str]
) -> AsyncIterator[Scene]:
    """Two drivers with a pool on each node, and with these provisioners; `first` and `second` are
    the sizes of the pools."""
    rooms = {DRIVER: sizes.get("first", (FREE, FREE)), OTHER: sizes.get("second", (FULL, FREE))}
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(a_cluster(*LOOPS, *more_loops))
        await cluster.create(namespace(NAMESPACE))
        storages = {
            driver: await a_driver(cluster, stack, driver, room) for driver, room in rooms.items()
        }
        await add_nodes(cluster, [*rooms])
        for name, driver in (("first", DRIVER), ("second", OTHER)):
            await cluster.create(driver_object(driver), a_delayed_class(name, driver))
        scene = Scene(cluster, storages, [])
        for seed, (storage, flags) in enumerate(product(storages.values(), provisioners), 1):
            scene.provisioners.append(RunningProvisioner(cluster, storage, flags, seed=seed))
            await scene.provisioners[-1].start()
        try:
            yield scene
            for process in (*scene.provisioners, scene.scheduler):
                if process is not None:
                    process.check()
        finally:
            for process in (*scene.provisioners, scene.scheduler):
                if process is not None:
                    await process.kill()


def claims() -> list[Document]:
    return [a_claim(name, class_name=name) for name in ("first", "second")]


async def two_claims(scene: Scene) -> None:
    await scene.cluster.create(*claims(), a_pod(claims=("first", "second")))


async def test_a_pod_whose_second_claim_is_refused_ends_up_elsewhere_with_both() -> None:
    async with a_scene() as scene:
        await scene.schedule()
        await two_claims(scene)
        await scene.cluster.wait(ENOUGH)
        assert await node_of(scene.cluster, "web") == "node-b"
        assert scene.zones(DRIVER) == ["node-b"], "nothing is left on the other node"
        assert scene.zones(OTHER) == ["node-b"]
        assert await volume_of(scene.cluster, "first")
        assert await volume_of(scene.cluster, "second")
        assert await scene.is_tidy()


async def test_a_pod_that_is_changed_when_it_is_to_get_its_node_is_decided_about_again() -> None:
    """Making volumes takes time: the binding names the version of the pod that was seen."""
    async with a_scene(second=(FREE, FREE)) as scene:
        bindings: list[InterruptedTransport] = []

        async def change() -> None:
            labels = {"metadata": {"labels": {"changed": "yes"}}}
            await scene.cluster.patch("Pod", "web", labels)

        def through(inner: Transport) -> Transport:
            bindings.append(InterruptedTransport(inner, "create", "pods", change))
            return bindings[-1]

        await scene.schedule(through=through)
        await two_claims(scene)
        await scene.cluster.wait(timedelta(milliseconds=500))
        assert any(each.was_interrupted for each in bindings)
        assert await node_of(scene.cluster, "web") == ""
        await scene.cluster.wait(ENOUGH)
        assert await node_of(scene.cluster, "web")
        assert await scene.is_tidy()


async def test_the_record_tells_which_claim_ended_the_attempt_before() -> None:
    async with a_scene() as scene:
        await scene.schedule()
        await two_claims(scene)
        ended: list[EndedAttempt] = []
        while not await node_of(scene.cluster, "web"):
            ended += [group.ended for group in await scene.groups() if group.ended is not None]
            await scene.cluster.wait(timedelta(milliseconds=100))
        assert {(each.attempt, each.node, each.claim) for each in ended} == {
            (0, "node-a", "second")
        }
        assert all("ResourceExhausted" in each.why for each in ended)


async def test_by_the_compatible_policy_it_stays_stuck_on_the_first_node() -> None:
    """What kube-scheduler does."""
    async with a_scene() as scene:
        compatible = msgspec.structs.replace(SETTINGS, policy=Policy.COMPATIBLE)
        await scene.schedule(compatible)
        await two_claims(scene)
        await scene.cluster.wait(timedelta(minutes=10))
        assert await node_of(scene.cluster, "web") == ""
        assert scene.zones(DRIVER) == ["node-a"]


async def test_no_volume_is_recorded_before_all_are_there() -> None:
    async with a_scene(second=(FREE, FREE)) as scene:
        slow = Hang(call=FaultyCall.CREATE, when=When.BEFORE)
        scene.storages[OTHER].set_faults(slow)
        await scene.schedule()
        await two_claims(scene)
        await scene.cluster.wait(timedelta(seconds=30))
        assert len(scene.storages[DRIVER].ids) == 1
        assert await scene.cluster.names("PersistentVolume") == []
        [group] = await scene.groups()
        assert (group.state, group.node, len(group.claims)) == ("Preparing", "node-a", 2)
        scene.storages[OTHER].set_faults()
        await scene.cluster.wait(ENOUGH)
        assert await node_of(scene.cluster, "web") == "node-a"
        assert await scene.is_tidy()


async def test_time_that_is_up_gives_everything_back() -> None:
    async with a_scene(second=(FREE, FREE)) as scene:
        scene.storages[OTHER].set_faults(Hang(call=FaultyCall.CREATE, when=When.BEFORE))
        await scene.schedule()
        await two_claims(scene)
        await scene.cluster.wait(SETTINGS.bind_timeout + timedelta(seconds=5))
        assert scene.storages[DRIVER].count("CreateVolume") == 1
        assert scene.storages[DRIVER].ids == []
        scene.storages[OTHER].set_faults()
        await scene.cluster.wait(ENOUGH)
        assert await node_of(scene.cluster, "web")
        assert await scene.is_tidy()


async def test_a_group_whose_node_is_cordoned_before_the_next_scheduler_runs_is_given_back() -> (
    None
):
    async with a_scene(second=(FREE, FREE)) as scene:
        scene.storages[OTHER].set_faults(Hang(call=FaultyCall.CREATE, when=When.BEFORE))
        await scene.schedule()
        await two_claims(scene)
        await scene.cluster.wait(timedelta(seconds=20))
        await scene.cluster.patch("Node", "node-a", {"spec": {"unschedulable": True}})
        await scene.schedule()
        scene.storages[OTHER].set_faults()
        await scene.cluster.wait(SETTINGS.bind_timeout + ENOUGH)
        assert await node_of(scene.cluster, "web") == "node-b"
        assert scene.zones(DRIVER) == scene.zones(OTHER) == ["node-b"]
        assert await scene.is_tidy()


async def test_a_group_whose_node_is_deleted_while_no_provisioner_runs_moves_to_another() -> None:
    async with a_scene(second=(FREE, FREE)) as scene:
        scene.storages[OTHER].set_faults(Hang(call=FaultyCall.CREATE, when=When.BEFORE))
        await scene.schedule()
        await two_claims(scene)
        await scene.cluster.wait(timedelta(seconds=20))
        for provisioner in scene.provisioners:
            await provisioner.kill()
        for kind in ("Node", "CSINode"):
            await scene.cluster.delete(kind, "node-a")
        scene.storages[OTHER].set_faults()
        await scene.cluster.wait(timedelta(seconds=20))
        scene.provisioners = [
            RunningProvisioner(scene.cluster, storage, STRICT, seed=number + 5)
            for number, storage in enumerate(scene.storages.values())
        ]
        for provisioner in scene.provisioners:
            await provisioner.start()
        await scene.cluster.wait(ENOUGH)
        assert await node_of(scene.cluster, "web") == "node-b"
        assert scene.zones(DRIVER) == scene.zones(OTHER) == ["node-b"]
        assert await scene.is_tidy()


NO_ROOM = Fail(call=FaultyCall.CREATE, code="RESOURCE_EXHAUSTED", times=10_000)


async def test_where_no_node_has_room_volumes_are_made_and_given_back_ever_more_seldom() -> None:
    async with a_scene(second=(FULL, FULL)) as scene:
        await scene.schedule()
        await two_claims(scene)
        await scene.cluster.wait(timedelta(minutes=10))
        in_ten_minutes = scene.storages[DRIVER].count("CreateVolume")
        assert 4 <= in_ten_minutes <= 12
        await scene.cluster.wait(timedelta(minutes=20))
        later = scene.storages[DRIVER].count("CreateVolume") - in_ten_minutes
        assert 3 <= later <= 6
        _, why, told = await scheduled_condition(scene.cluster, "web")
        assert why in ("Unschedulable", "SchedulerError")
        assert f"{OTHER} refused node" in told
        assert await scene.open_intents() == []


async def test_an_attempt_that_is_given_up_counts_once_for_the_claim_that_was_refused() -> None:
    """Node and hold are taken off both claims; only one of them was refused."""
    async with a_scene(first=(FULL, FULL), second=(FREE, FREE)) as scene:
        await scene.schedule()
        await two_claims(scene)
        await scene.cluster.wait(timedelta(seconds=8))
        assert await scene.attempts() == 2, "one on each node"
        _, _, told = await scheduled_condition(scene.cluster, "web")
        assert "the next attempt is 10s after the last" in told
        assert f'PVC "first": {DRIVER} refused node' in told


async def test_a_change_of_a_node_ends_the_pause() -> None:
    async with a_scene(second=(FREE, FREE)) as scene:
        scene.storages[OTHER].set_faults(NO_ROOM)
        await scene.schedule()
        await two_claims(scene)
        await scene.cluster.wait(timedelta(minutes=20))
        scene.storages[OTHER].set_faults()
        await scene.cluster.wait(timedelta(seconds=5))
        assert await node_of(scene.cluster, "web") == ""
        _, why, told = await scheduled_condition(scene.cluster, "web")
        assert why == "Unschedulable"
        assert told.startswith("every node that will do was refused, and nothing has changed since")
        await scene.cluster.patch("Node", "node-b", {"metadata": {"labels": {"disk": "new"}}})
        await scene.cluster.wait(timedelta(seconds=20))
        assert await node_of(scene.cluster, "web") == "node-b"
        assert await scene.is_tidy()


async def test_room_that_no_change_tells_of_is_found_after_some_minutes() -> None:
    async with a_scene(second=(FREE, FREE)) as scene:
        scene.storages[OTHER].set_faults(NO_ROOM)
        await scene.schedule()
        await two_claims(scene)
        await scene.cluster.wait(timedelta(minutes=20))
        scene.storages[OTHER].set_faults()
        await scene.cluster.wait(timedelta(minutes=6))
        assert await node_of(scene.cluster, "web")
        assert await scene.is_tidy()


async def test_volumes_past_the_commit_point_are_recorded_also_if_the_pod_cannot_run_any_more() -> (
    None
):
    """The scheduler ends between the commit point and the last hold; the next one finds no node."""
    stopped = 0
    for cut_after in range(3, 9):
        async with a_scene(second=(FREE, FREE)) as scene:
            await scene.schedule(cut_after=cut_after)
            await two_claims(scene)
            await scene.cluster.wait(timedelta(seconds=30))
            found = await scene.groups()
            if not found or found[0].state is not GroupState.PUBLISHING:
                continue
            stopped += 1
            await scene.cluster.patch("Node", "node-a", {"spec": {"unschedulable": True}})
            await scene.schedule()
            await scene.cluster.wait(ENOUGH)
            for claim in ("first", "second"):
                assert HOLD not in await scene.annotations(claim)
                assert await volume_of(scene.cluster, claim)
    assert stopped >= 2, "before the first hold goes, and before the second"


async def bind_while_held(scene: Scene) -> None:
    """While no scheduler runs an administrator gives the first claim another volume."""
    scene.storages[OTHER].set_faults(Hang(call=FaultyCall.CREATE, when=When.BEFORE))
    scheduler = await scene.schedule()
    await scene.cluster.wait(timedelta(seconds=20))
    await scheduler.kill()
    disk = a_local_volume("node-a", "disk")
    given = {"namespace": "default", "name": "first"}
    disk["spec"] |= {"storageClassName": "first", "claimRef": given}
    await scene.cluster.create(disk)
    await scene.cluster.wait(timedelta(seconds=20))
    assert await volume_of(scene.cluster, "first") == "disk"
    assert HOLD in await scene.annotations("first")


async def test_a_held_claim_that_is_bound_by_another_hand_loses_its_hold() -> None:
    async with a_scene(second=(FREE, FREE)) as scene:
        await two_claims(scene)
        await bind_while_held(scene)
        scene.storages[OTHER].set_faults()
        await scene.schedule()
        await scene.cluster.wait(ENOUGH)
        assert await node_of(scene.cluster, "web") == "node-a"
        assert HOLD not in await scene.annotations("first")
        assert await scene.is_tidy()


async def test_a_hold_on_a_bound_claim_goes_although_the_others_are_refused() -> None:
    """The next attempt is without that claim; the pod never gets a node."""
    async with a_scene(second=(FREE, FREE)) as scene:
        await scene.cluster.create(*claims(), a_claim("third", class_name="second"))
        await scene.cluster.create(a_pod(claims=("first", "second", "third")))
        await bind_while_held(scene)
        scene.storages[OTHER].set_faults(NO_ROOM)
        await scene.schedule()
        await scene.cluster.wait(ENOUGH)
        assert await node_of(scene.cluster, "web") == ""
        assert await scene.attempts() > 1
        assert HOLD not in await scene.annotations("first")


async def test_a_pod_that_goes_away_before_all_are_there_leaves_nothing() -> None:
    async with a_scene(second=(FREE, FREE)) as scene:
        scene.storages[OTHER].set_faults(Hang(call=FaultyCall.CREATE, when=When.BEFORE))
        await scene.schedule()
        await two_claims(scene)
        await scene.cluster.wait(timedelta(seconds=20))
        await scene.cluster.delete("Pod", "web")
        await scene.cluster.wait(ENOUGH)
        scene.storages[OTHER].set_faults()
        await scene.cluster.wait(ENOUGH)
        assert [scene.zones(driver) for driver in (DRIVER, OTHER)] == [[], []]
        for name in ("first", "second"):
            left = await scene.annotations(name)
            assert HOLD not in left
            assert SELECTED_NODE not in left
        assert await scene.is_tidy()


async def test_a_claim_that_goes_away_takes_the_other_volume_with_it() -> None:
    async with a_scene(second=(FREE, FREE)) as scene:
        scene.storages[OTHER].set_faults(Hang(call=FaultyCall.CREATE, when=When.BEFORE))
        await scene.schedule()
        # Without its protection it goes at once.
        await two_claims(scene)
        await scene.cluster.wait(timedelta(seconds=20))
        await scene.cluster.patch(
            "PersistentVolumeClaim", "second", {"metadata": {"finalizers": None}}
        )
        await scene.cluster.delete("PersistentVolumeClaim", "second")
        await scene.cluster.wait(timedelta(minutes=1))
        scene.storages[OTHER].set_faults()
        await scene.cluster.wait(ENOUGH)
        assert [scene.zones(driver) for driver in (DRIVER, OTHER)] == [[], []]
        assert HOLD not in await scene.annotations("first")


async def test_volumes_that_exist_are_bound_after_those_that_are_made() -> None:
    async with a_scene() as scene:
        await scene.cluster.create(
            a_delayed_class("local"),
            *(a_local_volume(node) for node in NODES),
            a_claim("old"),
            *claims(),
            a_pod(claims=("old", "first", "second")),
        )
        await scene.schedule()
        await scene.cluster.wait(ENOUGH)
        assert await node_of(scene.cluster, "web") == "node-b"
        assert await volume_of(scene.cluster, "old") == "disk-node-b"
        kept = await scene.cluster.get("PersistentVolume", "disk-node-a")
        assert "claimRef" not in kept["spec"], "it was never touched"
        assert await scene.is_tidy()


async def test_a_provisioner_that_does_not_hold_back_is_asked_after_the_others() -> None:
    """Its volume cannot be given back: it is made when the other one is certain."""
    async with a_scene(first=(FULL, FREE), second=(FREE, FREE)) as scene:
        for lease in await scene.cluster.all("Lease"):
            if (lease["metadata"].get("annotations") or {}).get("plimsoll.dev/driver") == OTHER:
                await scene.cluster.delete("Lease", lease["metadata"]["name"], namespace=NAMESPACE)
        await scene.schedule()
        await two_claims(scene)
        await scene.cluster.wait(ENOUGH)
        assert await node_of(scene.cluster, "web") == "node-b"
        assert scene.storages[OTHER].count("CreateVolume") == 1, "not on the node that was refused"
        assert await scene.is_tidy()


async def test_a_pod_that_shares_a_claim_waits_for_the_group_of_the_other() -> None:
    async with a_scene(second=(FREE, FREE)) as scene:
        scene.storages[OTHER].set_faults(Hang(call=FaultyCall.CREATE, when=When.BEFORE))
        await scene.schedule()
        await two_claims(scene)
        await scene.cluster.wait(timedelta(seconds=20))
        await scene.cluster.create(a_pod("second", claims=("first",)))
        await scene.cluster.wait(timedelta(seconds=20))
        status, _, message = await scheduled_condition(scene.cluster, "second")
        assert status == "False"
        assert "SelectedElsewhere" in message
        scene.storages[OTHER].set_faults()
        await scene.cluster.wait(ENOUGH)
        assert await node_of(scene.cluster, "web") == "node-a"
        assert await node_of(scene.cluster, "second") == "node-a"
        assert await scene.is_tidy()


async def test_a_pod_with_one_claim_needs_no_group() -> None:
    async with a_scene() as scene:
        running = await scene.schedule()
        await scene.cluster.create(claims()[0], a_pod(claims=("first",)))
        await scene.cluster.wait(ENOUGH)
        assert await node_of(scene.cluster, "web") == "node-a"
        assert await scene.groups() == []
        assert HOLD not in await scene.annotations("first")
        del running


@pytest.mark.parametrize("second", [(FULL, FREE), (FREE, FREE)])
async def test_a_scheduler_cut_off_after_any_write_leaves_nothing_undone(
    second: tuple[str, str],
) -> None:
    for number in range(1, 60):
        async with a_scene(second=second) as scene:
            first = await scene.schedule(cut_after=number)
            await two_claims(scene)
            await scene.cluster.wait(ENOUGH)
            was_cut = first.is_cut_off
            await scene.schedule()
            await scene.cluster.wait(timedelta(minutes=5))
            told = f"cut off after write {number}"
            assert await node_of(scene.cluster, "web") in NODES, told
            assert len(scene.zones(DRIVER)) == len(scene.zones(OTHER)) == 1, told
            assert await scene.is_tidy(), told
        if not was_cut:
            assert number > 6, "group, holds, publishing and binding are writes"
            return
    pytest.fail("it never came to an end of its writes")


async def test_a_hold_that_a_tenant_forged_does_not_keep_a_volume_back() -> None:
    async with a_scene() as scene:
        forged = claims()[0]
        forged["metadata"]["annotations"] = {HOLD: "nobody/7/make"}
        await scene.schedule()
        await scene.cluster.create(forged, a_pod(claims=("first",)))
        await scene.cluster.wait(ENOUGH)
        assert await node_of(scene.cluster, "web") == "node-a"


async def test_a_failure_that_passes_is_no_refusal() -> None:
    async with a_scene(second=(FREE, FREE)) as scene:
        unavailable = Fail(call=FaultyCall.CREATE, when=When.BEFORE, code="UNAVAILABLE", times=3)
        scene.storages[OTHER].set_faults(unavailable)
        await scene.schedule()
        await two_claims(scene)
        await scene.cluster.wait(ENOUGH)
        assert await node_of(scene.cluster, "web") == "node-a"
        assert await scene.is_tidy()


@pytest.mark.parametrize("number", ["9" * 4300, "9" * 18])
async def test_a_forged_hold_with_a_huge_number_keeps_no_pod_from_being_scheduled(
    number: str,
) -> None:
    """A tenant may write any hold on claims of their own, also one that names their pod."""
    async with a_scene(second=(FREE, FREE)) as scene:
        await scene.cluster.create(a_pod("forger", claims=("first", "second")))
        uid = (await scene.cluster.get("Pod", "forger"))["metadata"]["uid"]
        for document in claims():
            document["metadata"]["annotations"] = {HOLD: f"{uid}/{number}/make"}
            await scene.cluster.create(document)
        await scene.schedule()
        await scene.cluster.wait(ENOUGH)
        assert await node_of(scene.cluster, "forger")
        assert await scene.is_tidy()
