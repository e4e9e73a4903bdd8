"""A volume that was asked for under a number is told from others by its handle.

csi-provisioner, in the place of ours for a while, records a volume of its own under the name that
ours would have had. Ours is deleted then, if nothing speaks against it; and a volume that is kept
in doubt does not keep its claim waiting.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from plimsoll.decide.provisioning.settings import ProvisionerMode
from plimsoll.processes.driver.backends.pools.faults import Hang
from plimsoll.simulator.stories.objects import volume
from plimsoll.simulator.stories.refusing_transport import asked, open_to_all
from plimsoll.simulator.stories.schedulers import volume_of
from plimsoll.simulator.stories.sidecars import DRIVER, NAMESPACE, RunningProvisioner, a_provisioner
from plimsoll.wire.transport import Request
from tests.stories.test_given_up_calls import MADE_AND_STUCK, by_number
from tests.stories.test_holds import ENOUGH, STRICT, Scene, a_scene
from tests.stories.test_intents import FOREIGN


async def make_numbered(scene: Scene, *faults: Hang) -> None:
    """The first attempt is undone; the second one is made under number 1."""
    await scene.annotate(node="node-b", hold="pod/0/make")
    await scene.annotate(hold="pod/0/undo")
    scene.storage.set_faults(*faults)
    await scene.annotate(node="node-a", hold="pod/1/make")


@asynccontextmanager
async def a_downgrade(*faults: Hang, foreign: bool = False) -> AsyncIterator[Scene]:
    """A volume is held back under a number; csi-provisioner has recorded another one since."""
    async with a_scene() as scene:
        scene.storage.unknown_calls = FOREIGN if foreign else frozenset()
        async with a_provisioner(scene.cluster, scene.storage, STRICT):
            await make_numbered(scene, *faults)
        scene.storage.set_faults()
        stock = ProvisionerMode.COMPATIBLE
        async with a_provisioner(scene.cluster, scene.storage, STRICT, seed=2, mode=stock):
            await scene.annotate(hold=None)
        assert len(scene.storage.ids) == 2
        yield scene


@pytest.mark.parametrize("faults", [(), (MADE_AND_STUCK,)], ids=["told", "not-told"])
async def test_a_numbered_volume_goes_where_csi_provisioner_has_recorded_another(
    faults: tuple[Hang, ...],
) -> None:
    async with a_downgrade(*faults) as scene:
        name = await volume_of(scene.cluster, "data")
        async with a_provisioner(scene.cluster, scene.storage, STRICT, seed=3):
            await scene.cluster.wait(ENOUGH)
            assert scene.storage.names == [name], "the one that is recorded"
            assert await scene.intents() == []


@pytest.mark.parametrize("faults", [(), (MADE_AND_STUCK,)], ids=["told", "not-told"])
async def test_a_numbered_volume_of_a_foreign_driver_is_kept_and_told_of(
    faults: tuple[Hang, ...],
) -> None:
    async with (
        a_downgrade(*faults, foreign=True) as scene,
        a_provisioner(scene.cluster, scene.storage, STRICT, seed=3),
    ):
        await scene.cluster.wait(ENOUGH)
        assert len(scene.storage.ids) == 2
        assert by_number(await scene.intents()) == [(1, "Suspect")]
        told = [message for _, message in await scene.cluster.events("data")]
        assert any("is kept all the same" in message for message in told)


@pytest.mark.parametrize("faults", [(), (MADE_AND_STUCK,)], ids=["told", "not-told"])
async def test_a_numbered_volume_that_any_other_object_names_is_kept(
    faults: tuple[Hang, ...],
) -> None:
    """An administrator has recorded it by hand."""
    async with a_downgrade(*faults) as scene:
        name, made = await volume_of(scene.cluster, "data"), scene.storage.ids
        [numbered] = [
            each for each in scene.storage.driver.ledger.volumes.all() if each.name != name
        ]
        csi = {"driver": DRIVER, "volumeHandle": numbered.id}
        spec = {"csi": csi, "persistentVolumeReclaimPolicy": "Retain", "hostPath": None}
        await scene.cluster.create(volume("by-hand", spec=spec))
        async with a_provisioner(scene.cluster, scene.storage, STRICT, seed=3):
            await scene.cluster.wait(ENOUGH)
            assert scene.storage.ids == made
            assert await scene.intents() == []


def no_new_volumes(request: Request) -> int:
    return 503 if asked(request) == ("create", "persistentvolumes") else 0


async def test_what_was_recorded_under_the_name_right_before_ours_counts() -> None:
    """The watch has not told of it when ours is stored."""
    async with (
        a_scene() as scene,
        a_provisioner(scene.cluster, scene.storage, STRICT) as ours,
    ):
        await make_numbered(scene)
        ours.transport.rule = no_new_volumes
        await scene.annotate(hold=None)
        found = await scene.cluster.get("PersistentVolumeClaim", "data")
        uid, reference = found["metadata"]["uid"], {"namespace": "default", "name": "data"}
        other = {"csi": {"driver": DRIVER, "volumeHandle": "of-another-program"}}
        await scene.cluster.create(
            volume(f"pvc-{uid}", claim_ref=reference | {"uid": uid}, spec=other)
        )
        ours.transport.rule = open_to_all
        await scene.cluster.wait(ENOUGH)
        assert await volume_of(scene.cluster, "data") == f"pvc-{uid}"
        assert scene.storage.ids == [], "what nothing records is given back"
        assert await scene.intents() == []


async def test_cut_off_after_any_write_a_numbered_volume_is_recorded_once_and_kept() -> None:
    for number in range(1, 40):
        async with a_scene() as scene:
            async with a_provisioner(scene.cluster, scene.storage, STRICT):
                await make_numbered(scene)
            made = scene.storage.ids
            second = RunningProvisioner(
                scene.cluster, scene.storage, STRICT, seed=2, cut_after=number
            )
            await second.start()
            await scene.annotate(hold=None)
            was_cut = second.is_cut_off
            await second.kill()
            async with a_provisioner(scene.cluster, scene.storage, STRICT, seed=3):
                await scene.cluster.wait(ENOUGH)
                told = f"cut off after write {number}"
                assert await volume_of(scene.cluster, "data"), told
                assert scene.storage.ids == made, told
                assert await scene.intents() == [], told
        if not was_cut:
            assert number > 1
            return
    pytest.fail("it never came to an end of its writes")


async def test_the_claim_of_a_volume_that_is_kept_in_doubt_gets_another_one() -> None:
    async with a_scene() as scene:
        scene.storage.unknown_calls = FOREIGN
        async with a_provisioner(scene.cluster, scene.storage, STRICT):
            await scene.annotate(node="node-a", hold="pod/0/make")
        kept = scene.storage.ids
        async with a_provisioner(scene.cluster, scene.storage, STRICT, seed=2):
            await scene.annotate(node="node-b", hold="pod/1/make")
            assert by_number(await scene.intents()) == [(0, "Suspect"), (1, "Made")]
            await scene.annotate(hold=None)
            assert await volume_of(scene.cluster, "data")
            assert by_number(await scene.intents()) == [(0, "Suspect")]
            assert len(scene.storage.ids) == 2
            assert set(kept) < set(scene.storage.ids)


async def test_a_volume_that_its_claim_has_never_had_is_deleted_without_an_election_too() -> None:
    async with a_scene() as scene:
        scene.storage.unknown_calls = FOREIGN
        async with a_provisioner(scene.cluster, scene.storage, STRICT):
            await scene.annotate(node="node-a", hold="pod/0/make")
            assert len(scene.storage.ids) == 1
            await scene.annotate(hold="pod/0/undo")
            assert (scene.storage.ids, by_number(await scene.intents())) == ([], [(0, "Undone")])


async def test_a_claim_without_a_hold_gets_another_volume_than_the_one_in_doubt() -> None:
    async with a_scene() as scene:
        scene.storage.unknown_calls = FOREIGN
        async with a_provisioner(scene.cluster, scene.storage, STRICT):
            scene.storage.set_faults(MADE_AND_STUCK)
            await scene.annotate(node="node-a")
        scene.storage.set_faults()
        await scene.annotate(node="node-b")
        async with a_provisioner(scene.cluster, scene.storage, STRICT, seed=2):
            await scene.cluster.wait(ENOUGH)
            assert by_number(await scene.intents()) == [(0, "Suspect")]
            name = await volume_of(scene.cluster, "data")
            assert sorted(scene.storage.names) == [name, f"{name}-1"]
            [stored] = await scene.cluster.all("PersistentVolume")
            assert stored["spec"]["csi"]["volumeHandle"] in scene.storage.ids


async def test_the_next_provisioner_leaves_the_volume_in_doubt_and_its_number_alone() -> None:
    async with a_scene() as scene:
        scene.storage.unknown_calls = FOREIGN
        async with a_provisioner(scene.cluster, scene.storage, STRICT):
            await scene.annotate(node="node-a", hold="pod/0/make")
        async with a_provisioner(scene.cluster, scene.storage, STRICT, seed=2):
            await scene.annotate(hold="pod/0/undo")
            await scene.annotate(node=None, hold=None)
            assert by_number(await scene.intents()) == [(0, "Suspect")]
        async with a_provisioner(scene.cluster, scene.storage, STRICT, seed=3):
            await scene.annotate(node="node-b", hold="pod/1/make")
            assert by_number(await scene.intents()) == [(0, "Suspect"), (1, "Made")]


async def test_deleting_the_lease_of_a_volume_in_doubt_ends_it() -> None:
    async with a_scene() as scene:
        scene.storage.unknown_calls = FOREIGN
        async with a_provisioner(scene.cluster, scene.storage, STRICT):
            await scene.annotate(node="node-a", hold="pod/0/make")
        async with a_provisioner(scene.cluster, scene.storage, STRICT, seed=2) as ours:
            await scene.annotate(node="node-b", hold="pod/1/make")
            assert intents_open(ours) == 2
            [suspect] = [each for each in await scene.intents() if each.number == 0]
            await scene.cluster.delete("Lease", suspect.name, NAMESPACE)
            await scene.cluster.wait(timedelta(minutes=5))
            assert by_number(await scene.intents()) == [(1, "Made")]
            assert intents_open(ours) == 1


def intents_open(ours: RunningProvisioner) -> float | None:
    return ours.metrics.registry.get_sample_value("plimsoll_provisioner_intents_open")
