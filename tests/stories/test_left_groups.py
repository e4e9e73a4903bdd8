"""Groups whose pods are gone, or are on their nodes: what was committed to is finished, and no
record stays."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.provisioning.holds import HOLD, HoldAction
from plimsoll.decide.scheduling.binding.groups import (
    Group,
    GroupedClaim,
    GroupState,
    StoredGroup,
    lease_document,
)
from plimsoll.decide.scheduling.policy import Policy
from plimsoll.simulator.stories.schedulers import a_pod, node_of, volume_of
from plimsoll.simulator.stories.sidecars import DRIVER, RunningProvisioner
from tests.stories.test_groups import (
    BEGUN,
    ENOUGH,
    FREE,
    NODES,
    OTHER,
    SETTINGS,
    STRICT,
    Scene,
    a_scene,
    two_claims,
)

SWEPT = timedelta(minutes=5)


async def stop_provisioners(scene: Scene) -> None:
    for each in scene.provisioners:
        await each.kill()
    scene.provisioners.clear()


async def start_provisioners(scene: Scene) -> None:
    for number, storage in enumerate(scene.storages.values()):
        started = RunningProvisioner(scene.cluster, storage, STRICT, seed=number + 11)
        scene.provisioners.append(started)
        await started.start()


async def cut_off_at_the_commit_point(scene: Scene) -> None:
    """The group is published; the holds are still on the claims."""
    writes = 0
    while [group.state for group in await scene.groups()] != [GroupState.PUBLISHING]:
        writes += 1
        await scene.schedule(cut_after=writes)
        if writes == 1:
            await two_claims(scene)
        await scene.cluster.wait(BEGUN)
    for name in ("first", "second"):
        assert HOLD in await scene.annotations(name)
    if scene.scheduler is not None:
        await scene.scheduler.kill()
        scene.scheduler = None


@pytest.mark.parametrize("comes_again", [True, False], ids=["made-anew", "gone"])
async def test_the_volumes_of_a_pod_are_recorded_although_it_went_after_the_commit_point(
    *, comes_again: bool
) -> None:
    async with a_scene(second=(FREE, FREE)) as scene:
        await cut_off_at_the_commit_point(scene)
        made = {driver: storage.ids for driver, storage in scene.storages.items()}
        assert all(len(ids) == 1 for ids in made.values())
        await stop_provisioners(scene)
        await scene.cluster.delete("Pod", "web", grace=0)
        if comes_again:
            await scene.cluster.create(a_pod(claims=("first", "second")))
        await scene.schedule()
        await scene.cluster.wait(timedelta(minutes=1))
        await start_provisioners(scene)
        await scene.cluster.wait(ENOUGH)
        assert {driver: storage.ids for driver, storage in scene.storages.items()} == made
        assert [scene.storages[driver].count("CreateVolume") for driver in (DRIVER, OTHER)] == [
            1,
            1,
        ]
        assert await volume_of(scene.cluster, "first")
        assert await volume_of(scene.cluster, "second")
        if comes_again:
            assert await node_of(scene.cluster, "web") == "node-a"
        assert await scene.is_tidy()


LONG_AGO, IN_FUTURE = datetime(2020, 1, 1, tzinfo=UTC), datetime(2060, 1, 1, tzinfo=UTC)


async def a_group(
    scene: Scene,
    pod_uid: str,
    state: GroupState,
    *,
    attempt: int = 0,
    deadline: datetime = LONG_AGO,
) -> Group:
    """Of a pod that has both claims, as far as there are any."""
    claims = [
        GroupedClaim(name, found["metadata"]["uid"])
        for name in ("first", "second")
        if (found := await scene.cluster.find("PersistentVolumeClaim", name)) is not None
    ]
    return Group(
        namespace="default",
        pod="web",
        pod_uid=pod_uid,
        node="node-b",
        attempt=attempt,
        deadline=deadline,
        claims=tuple(claims),
        state=state,
    )


async def store(scene: Scene, group: Group) -> None:
    """Over what is there, as a scheduler would that has just read it."""
    document = lease_document(StoredGroup(group=group), "kube-system")
    if await scene.cluster.find("Lease", group.name, "kube-system") is None:
        await scene.cluster.create(document)
    else:
        told = {"metadata": {"annotations": document["metadata"]["annotations"]}}
        await scene.cluster.patch("Lease", group.name, told, namespace="kube-system")


async def a_late_group(
    scene: Scene, pod_uid: str, state: GroupState, deadline: datetime = LONG_AGO
) -> None:
    """Written by a scheduler that stood still between the look at its lease and the sending."""
    await store(scene, await a_group(scene, pod_uid, state, deadline=deadline))


@pytest.mark.parametrize("state", [GroupState.PREPARING, GroupState.PUBLISHING])
async def test_a_group_that_was_stored_after_its_pod_got_its_node_goes(state: GroupState) -> None:
    async with a_scene(second=(FREE, FREE)) as scene:
        await scene.schedule()
        await two_claims(scene)
        await scene.cluster.wait(ENOUGH)
        assert await node_of(scene.cluster, "web") == "node-a"
        pod = await scene.cluster.get("Pod", "web")
        made = scene.storages[DRIVER].ids
        await a_late_group(scene, pod["metadata"]["uid"], state)
        await scene.cluster.wait(SWEPT)
        assert scene.storages[DRIVER].ids == made
        assert await scene.is_tidy()


async def test_a_group_that_was_stored_after_its_pod_had_gone_goes() -> None:
    async with a_scene() as scene:
        await scene.schedule()
        await a_late_group(scene, "of-a-pod-that-is-gone", GroupState.PREPARING)
        await scene.cluster.wait(SWEPT)
        assert await scene.is_tidy()


async def test_a_group_of_a_pod_that_waits_is_left_to_its_binding() -> None:
    async with a_scene() as scene:
        await scene.schedule()
        await scene.cluster.create(a_pod(claims=("first", "second")))
        pod = await scene.cluster.get("Pod", "web")
        await a_late_group(scene, pod["metadata"]["uid"], GroupState.PREPARING, IN_FUTURE)
        await scene.cluster.wait(SWEPT)
        assert [group.state for group in await scene.groups()] == [GroupState.PREPARING]


@pytest.mark.parametrize("is_known", [True, False], ids=["known-before", "new"])
async def test_volumes_that_another_scheduler_had_made_for_a_pod_that_waits_are_given_back(
    *, is_known: bool
) -> None:
    """It ran without an election, and ended before all volumes were there."""
    async with a_scene(second=(FREE, FREE)) as scene:
        for node in NODES:
            await scene.cluster.patch("Node", node, {"spec": {"unschedulable": True}})
        await two_claims(scene)
        uid = (await scene.cluster.get("Pod", "web"))["metadata"]["uid"]
        if is_known:
            await store(scene, await a_group(scene, uid, GroupState.UNDONE))
        await scene.schedule()
        await scene.cluster.wait(BEGUN)
        deadline = scene.cluster.clock.now() + SETTINGS.bind_timeout
        left = await a_group(scene, uid, GroupState.PREPARING, attempt=1, deadline=deadline)
        await store(scene, left)
        wanted = {SELECTED_NODE: left.node, HOLD: str(left.hold(HoldAction.MAKE))}
        for held in left.claims:
            patch = {"metadata": {"annotations": wanted}}
            await scene.cluster.patch("PersistentVolumeClaim", held.name, patch)
        await scene.cluster.wait(BEGUN)
        assert [len(storage.ids) for storage in scene.storages.values()] == [1, 1]
        await scene.cluster.wait(SETTINGS.bind_timeout + SWEPT)
        assert [len(storage.ids) for storage in scene.storages.values()] == [0, 0]
        for held in left.claims:
            assert not {SELECTED_NODE, HOLD} & {*await scene.annotations(held.name)}
        assert [group.state for group in await scene.groups()] == [GroupState.UNDONE]


async def test_a_scheduler_that_holds_nothing_back_finishes_the_groups_of_the_one_before() -> None:
    compatible = msgspec.structs.replace(SETTINGS, policy=Policy.COMPATIBLE)
    was_cut, number = True, 0
    while was_cut:
        number += 1
        async with a_scene(second=(FREE, FREE)) as scene:
            first = await scene.schedule(cut_after=number)
            await two_claims(scene)
            await scene.cluster.wait(BEGUN)
            was_cut = first.is_cut_off
            await scene.schedule(compatible)
            await scene.cluster.wait(timedelta(minutes=5))
            told = f"cut off after write {number}"
            assert await node_of(scene.cluster, "web"), told
            assert len(scene.zones(DRIVER)) == len(scene.zones(OTHER)) == 1, told
            assert await scene.is_tidy(), told
    assert number > 5
