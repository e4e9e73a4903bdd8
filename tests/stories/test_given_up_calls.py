"""A driver that does not answer for one attempt does not keep the next attempt of a pod waiting.

The call of the attempt that was given up is settled beside it: once the driver answers, its volume
is deleted. No volume that is recorded is ever deleted for that.
"""

from datetime import timedelta

import msgspec
import pytest

from plimsoll.decide.provisioning.intents import Intent
from plimsoll.processes.driver.backends.pools.faults import Fail, FaultyCall, Hang, When
from plimsoll.simulator.stories.schedulers import node_of, volume_of
from plimsoll.simulator.stories.sidecars import ZONE, RunningProvisioner, a_provisioner
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.gen import csi_pb2 as csi
from tests.stories import test_groups as groups
from tests.stories.test_groups import FREE, OTHER, SETTINGS
from tests.stories.test_holds import ENOUGH, STRICT, Scene, a_scene

STUCK = Hang(call=FaultyCall.CREATE, pool="pool-a", when=When.BEFORE, times=10_000)
MADE_AND_STUCK = Hang(call=FaultyCall.CREATE, pool="pool-a", when=When.AFTER, times=10_000)
NO_DELETION = Hang(call=FaultyCall.DELETE, when=When.BEFORE, times=10_000)
NAME_TAKEN = Fail(
    call=FaultyCall.CREATE, pool="pool-a", when=When.BEFORE, code="ALREADY_EXISTS", times=10_000
)
UNDER_WAY = msgspec.structs.replace(NAME_TAKEN, code="ABORTED")
FAILED_DELETION = Fail(call=FaultyCall.DELETE, when=When.BEFORE, code="INTERNAL", times=10_000)


def by_number(intents: list[Intent]) -> list[tuple[int, str]]:
    return sorted((intent.number, intent.state.value) for intent in intents)


async def give_up(scene: Scene) -> None:
    """The driver hangs for node-a; the scheduler goes on with node-b."""
    await scene.annotate(node="node-a", hold="pod/0/make")
    await scene.annotate(hold="pod/0/undo")
    await scene.annotate(node="node-b", hold="pod/1/make")


async def test_a_pod_gets_its_volumes_elsewhere_while_a_driver_hangs_for_the_first_node() -> None:
    stuck = Hang(call=FaultyCall.CREATE, pool="node-a", when=When.BEFORE, times=10_000)
    async with groups.a_scene(second=(FREE, FREE)) as scene:
        scene.storages[OTHER].set_faults(stuck)
        await scene.schedule()
        await groups.two_claims(scene)
        await scene.cluster.wait(SETTINGS.bind_timeout + timedelta(minutes=1))
        assert await node_of(scene.cluster, "web") == "node-b"
        scene.storages[OTHER].set_faults()
        await scene.cluster.wait(timedelta(minutes=6))
        assert scene.zones(OTHER) == ["node-b"], "what was made late is given back"
        assert await scene.is_tidy()


@pytest.mark.parametrize("fault", [STUCK, MADE_AND_STUCK], ids=["not-made", "made-unanswered"])
async def test_the_next_attempt_is_made_under_another_name(fault: Hang) -> None:
    async with a_scene() as scene, a_provisioner(scene.cluster, scene.storage, STRICT):
        scene.storage.set_faults(fault)
        await give_up(scene)
        assert by_number(await scene.intents()) == [(0, "Undoing"), (1, "Made")]
        await scene.annotate(hold=None)
        name = await volume_of(scene.cluster, "data")
        assert name
        scene.storage.set_faults()
        await scene.cluster.wait(timedelta(minutes=6))
        assert scene.storage.names == [f"{name}-1"], "the volume of the first attempt is deleted"
        assert await scene.intents() == []


async def test_a_deletion_that_hangs_does_not_keep_the_next_attempt_waiting() -> None:
    async with a_scene() as scene, a_provisioner(scene.cluster, scene.storage, STRICT):
        scene.storage.set_faults(NO_DELETION)
        await give_up(scene)
        assert by_number(await scene.intents()) == [(0, "Undoing"), (1, "Made")]
        scene.storage.set_faults()
        await scene.cluster.wait(timedelta(minutes=6))
        assert by_number(await scene.intents()) == [(1, "Made")]
        assert len(scene.storage.ids) == 1


async def test_the_number_of_the_newest_attempt_is_kept_while_the_claim_waits() -> None:
    async with a_scene() as scene, a_provisioner(scene.cluster, scene.storage, STRICT):
        scene.storage.set_faults(MADE_AND_STUCK)
        await scene.annotate(node="node-a", hold="pod/0/make")
        await scene.annotate(hold="pod/0/undo")
        assert by_number(await scene.intents()) == [(0, "Undoing")]
        scene.storage.set_faults()
        await scene.cluster.wait(timedelta(minutes=6))
        assert by_number(await scene.intents()) == [(0, "Undone")]
        assert scene.storage.ids == []
        await scene.cluster.delete("PersistentVolumeClaim", "data")
        await scene.cluster.wait(ENOUGH)
        assert await scene.intents() == []


async def test_the_next_provisioner_settles_both_attempts() -> None:
    async with a_scene() as scene:
        async with a_provisioner(scene.cluster, scene.storage, STRICT):
            scene.storage.set_faults(MADE_AND_STUCK)
            await give_up(scene)
        scene.storage.set_faults()
        async with a_provisioner(scene.cluster, scene.storage, STRICT, seed=2):
            await scene.cluster.wait(ENOUGH)
            assert by_number(await scene.intents()) == [(1, "Made")]
            await scene.annotate(hold=None)
            name = await volume_of(scene.cluster, "data")
            assert scene.storage.names == [f"{name}-1"]
            assert await scene.intents() == []


@pytest.mark.parametrize("fault", [None, MADE_AND_STUCK], ids=["made", "made-unanswered"])
async def test_what_was_given_up_is_still_deleted_by_a_provisioner_that_finds_the_next_recorded(
    fault: Hang | None,
) -> None:
    """The volume that is recorded has the name that the first one was asked for under."""
    async with a_scene() as scene:
        async with a_provisioner(scene.cluster, scene.storage, STRICT):
            scene.storage.set_faults(*(() if fault is None else (fault,)))
            await scene.annotate(node="node-a", hold="pod/0/make")
            scene.storage.set_faults(*(() if fault is None else (fault,)), FAILED_DELETION)
            await scene.annotate(hold="pod/0/undo")
            await scene.annotate(node="node-b", hold="pod/1/make")
            scene.storage.set_faults(FAILED_DELETION)
            await scene.cluster.wait(timedelta(minutes=6))
            await scene.annotate(hold=None)
            name = await volume_of(scene.cluster, "data")
            assert by_number(await scene.intents()) == [(0, "Undoing")]
            assert len(scene.storage.ids) == 2
        scene.storage.set_faults()
        async with a_provisioner(scene.cluster, scene.storage, STRICT, seed=2):
            await scene.cluster.wait(ENOUGH)
            assert scene.storage.names == [f"{name}-1"]
            assert await scene.intents() == []


async def test_a_foreign_drivers_volume_is_kept_after_a_restart_without_an_election() -> None:
    """csi-provisioner may have recorded it meanwhile, and a pod have written to it."""
    async with a_scene() as scene:
        scene.storage.unknown_calls = frozenset({methods.DELETE_NEVER_PUBLISHED.name})
        async with a_provisioner(scene.cluster, scene.storage, STRICT):
            scene.storage.set_faults(MADE_AND_STUCK)
            await give_up(scene)
        scene.storage.set_faults()
        async with a_provisioner(scene.cluster, scene.storage, STRICT, seed=2):
            await scene.annotate(hold=None)
            await scene.cluster.wait(timedelta(minutes=6))
            assert by_number(await scene.intents()) == [(0, "Suspect")]
            assert len(scene.storage.ids) == 2
            assert await volume_of(scene.cluster, "data")


@pytest.mark.parametrize("restarts", [False, True], ids=["same-process", "next-process"])
@pytest.mark.parametrize("hold", [None, "pod/1/make"], ids=["plain", "held"])
async def test_a_claim_gets_another_volume_than_the_one_that_is_kept_for_an_administrator(
    *, restarts: bool, hold: str | None
) -> None:
    """It was made for a node that is not selected any more, and another program may have led."""
    async with a_scene() as scene:
        scene.storage.unknown_calls = frozenset({methods.DELETE_NEVER_PUBLISHED.name})
        first = RunningProvisioner(scene.cluster, scene.storage, STRICT)
        scene.storage.on_effect = lambda _: first.cut_off()
        await first.start()
        await scene.annotate(node="node-a", hold=None if hold is None else "pod/0/make")
        await first.kill()
        scene.storage.on_effect = lambda _: None
        (kept,) = scene.storage.ids
        await scene.annotate(node="node-b", hold=hold)
        async with a_provisioner(scene.cluster, scene.storage, STRICT, seed=2):
            await scene.cluster.wait(timedelta(seconds=15) if restarts else ENOUGH)
        async with a_provisioner(scene.cluster, scene.storage, STRICT, seed=3):
            await scene.annotate(hold=None)
            name = await volume_of(scene.cluster, "data")
            assert f"{name}-1" in scene.storage.names
            assert kept in scene.storage.ids
            assert by_number(await scene.intents()) == [(0, "Suspect")]


@pytest.mark.parametrize("restarts", [False, True], ids=["same-process", "next-process"])
async def test_what_was_given_up_and_is_stuck_is_asked_for_until_the_name_is_free(
    *, restarts: bool
) -> None:
    async with a_scene() as scene:
        async with a_provisioner(scene.cluster, scene.storage, STRICT):
            scene.storage.set_faults(msgspec.structs.replace(NAME_TAKEN, code="UNAVAILABLE"))
            await give_up(scene)
            scene.storage.set_faults(NAME_TAKEN)
            await scene.cluster.wait(timedelta(minutes=6))
            assert by_number(await scene.intents()) == [(0, "Stuck"), (1, "Made")]
            if not restarts:
                scene.storage.set_faults()
                await scene.cluster.wait(timedelta(minutes=6))
        scene.storage.set_faults()
        async with a_provisioner(scene.cluster, scene.storage, STRICT, seed=2):
            await scene.cluster.wait(timedelta(minutes=6))
            assert by_number(await scene.intents()) == [(1, "Made")]
            assert scene.storage.pools_used == [("pool-b",)]


async def make_elsewhere(scene: Scene) -> str:
    """csi-provisioner has asked for the volume on node-b before ours was asked for node-a, and has
    ended since. Returns the name of the volume."""
    request = csi.CreateVolumeRequest()
    request.CopyFrom(scene.storage.created[0])
    for place in (
        *request.accessibility_requirements.requisite,
        *request.accessibility_requirements.preferred,
    ):
        place.segments[ZONE] = "b"
    await scene.storage.client.call(methods.CREATE_VOLUME, request)
    assert scene.storage.pools_used == [("pool-b",)]
    return request.name


async def test_what_another_program_had_made_elsewhere_is_found_and_given_back() -> None:
    async with a_scene() as scene, a_provisioner(scene.cluster, scene.storage, STRICT):
        scene.storage.set_faults(UNDER_WAY)
        await scene.annotate(node="node-a", hold="pod/0/make")
        name = await make_elsewhere(scene)
        await scene.annotate(hold="pod/0/undo")
        await scene.annotate(node="node-a", hold="pod/1/make")
        scene.storage.set_faults()
        await scene.cluster.wait(timedelta(minutes=6))
        assert by_number(await scene.intents()) == [(1, "Made")]
        assert scene.storage.names == [f"{name}-1"]
        assert scene.storage.pools_used == [("pool-a",)]


async def test_what_another_program_had_made_elsewhere_goes_with_its_claim() -> None:
    async with a_scene() as scene, a_provisioner(scene.cluster, scene.storage, STRICT):
        scene.storage.set_faults(UNDER_WAY)
        await scene.annotate(node="node-a")
        await make_elsewhere(scene)
        await scene.cluster.delete("PersistentVolumeClaim", "data")
        scene.storage.set_faults()
        await scene.cluster.wait(timedelta(minutes=6))
        assert await scene.intents() == []
        assert scene.storage.names == []


async def test_what_another_program_had_made_elsewhere_is_kept_if_a_pod_may_have_used_it() -> None:
    """It may have led since, and the driver cannot tell."""
    async with a_scene() as scene:
        scene.storage.unknown_calls = frozenset({methods.DELETE_NEVER_PUBLISHED.name})
        async with a_provisioner(scene.cluster, scene.storage, STRICT):
            scene.storage.set_faults(UNDER_WAY)
            await scene.annotate(node="node-a", hold="pod/0/make")
            await make_elsewhere(scene)
        kept = scene.storage.ids
        scene.storage.set_faults()
        async with a_provisioner(scene.cluster, scene.storage, STRICT, seed=2):
            await scene.annotate(hold="pod/0/undo")
            await scene.cluster.wait(timedelta(minutes=6))
            assert by_number(await scene.intents()) == [(0, "Suspect")]
            assert scene.storage.ids == kept


async def test_a_search_that_is_refused_does_not_end_what_is_stuck() -> None:
    """The driver has said that there is a volume; that it cannot be asked for without a place says
    nothing of that."""
    async with a_scene() as scene, a_provisioner(scene.cluster, scene.storage, STRICT):
        scene.storage.set_faults(UNDER_WAY)
        await scene.annotate(node="node-a", hold="pod/0/make")
        await make_elsewhere(scene)
        scene.storage.needs_place = True
        await scene.annotate(hold="pod/0/undo")
        scene.storage.set_faults()
        await scene.cluster.wait(timedelta(minutes=6))
        assert by_number(await scene.intents()) == [(0, "Stuck")]
        assert len(scene.storage.ids) == 1


async def test_a_refused_search_for_a_wanted_volume_loses_sight_of_no_other() -> None:
    async with a_scene() as scene, a_provisioner(scene.cluster, scene.storage, STRICT):
        scene.storage.set_faults(UNDER_WAY)
        await scene.annotate(node="node-a")
        await make_elsewhere(scene)
        scene.storage.needs_place = True
        scene.storage.set_faults()
        await scene.cluster.wait(timedelta(minutes=6))
        events = await scene.cluster.events("data")
        assert any("AlreadyExists" in message for _, message in events)
        assert not any("no topology is required" in message for _, message in events)
        assert len(await scene.intents()) == 1
        scene.storage.needs_place = False
        await scene.cluster.wait(timedelta(minutes=6))
        assert scene.storage.pools_used == [("pool-a",)]
        assert await volume_of(scene.cluster, "data")


async def test_cut_off_after_any_write_one_volume_is_left_and_no_name_used_twice() -> None:
    for number in range(1, 40):
        async with a_scene() as scene:
            first = RunningProvisioner(scene.cluster, scene.storage, STRICT, cut_after=number)
            await first.start()
            scene.storage.set_faults(MADE_AND_STUCK)
            await give_up(scene)
            scene.storage.set_faults()
            await scene.cluster.wait(timedelta(minutes=6))
            was_cut = first.is_cut_off
            await first.kill()
            async with a_provisioner(scene.cluster, scene.storage, STRICT, seed=2):
                await scene.cluster.wait(ENOUGH)
                await scene.annotate(hold=None)
                await scene.cluster.wait(ENOUGH)
                assert await volume_of(scene.cluster, "data"), f"cut off after write {number}"
                assert len(scene.storage.ids) == 1, f"cut off after write {number}"
                assert scene.storage.pools_used == [("pool-b",)], f"cut off after write {number}"
                assert await scene.intents() == [], f"cut off after write {number}"
        if not was_cut:
            assert number > 5, "both intents, each twice, and events are writes"
            return
    pytest.fail("it never came to an end of its writes")
