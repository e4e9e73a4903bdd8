"""No volume is lost sight of: what a provisioner was about to have made is stored first.

A provisioner ends while its driver makes a volume, and the claim is deleted before another one
runs. csi-provisioner never asks for such a claim again, and the volume stays for ever.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import msgspec
import pytest

from plimsoll.decide.capacity.names import leader_lease_name
from plimsoll.decide.provisioning.intents import read_intent
from plimsoll.processes.driver.backends.pools.faults import Fail, FaultyCall, Hang, When
from plimsoll.processes.provisioner.settings import ProvisionerFlags
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.objects import claim, volume
from plimsoll.simulator.stories.refusing_transport import forbidden
from plimsoll.simulator.stories.schedulers import volume_of
from plimsoll.simulator.stories.sidecars import (
    DRIVER,
    NAMESPACE,
    PLAIN,
    RunningProvisioner,
    StoryStorage,
    a_class,
    a_provisioner,
    a_secret,
    a_storage,
    add_storage_nodes,
    zonal_pools,
)
from plimsoll.wire.csi import methods

LOOPS = ("binding", "claim-protection", "volume-protection")
BEGUN, ENOUGH = timedelta(seconds=2), timedelta(minutes=3)
ELECTED = msgspec.structs.replace(PLAIN, leader_election=True, leader_election_namespace=NAMESPACE)
SECRET = "open sesame"  # noqa: S105 - to be looked for
SECRET_OF_CLASS = {
    "csi.storage.k8s.io/provisioner-secret-name": "access",
    "csi.storage.k8s.io/provisioner-secret-namespace": "default",
}


@dataclass
class Scene:
    cluster: StoryCluster
    storage: StoryStorage

    async def intents(self) -> list[str]:
        """The states of those that are stored."""
        read = [read_intent(lease) for lease in await self.cluster.all("Lease")]
        return [intent.state for intent in read if intent is not None]

    async def wants_nothing(self) -> bool:
        """No volume is left, nowhere, and nothing is to be settled."""
        left = await self.cluster.names("PersistentVolume")
        return not (left or self.storage.ids or await self.intents())


@asynccontextmanager
async def a_scene() -> AsyncIterator[Scene]:
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(a_cluster(*LOOPS))
        storage = await stack.enter_async_context(a_storage(cluster.clock, zonal_pools("10Gi")))
        await add_storage_nodes(cluster, {"node-a": {"zone": "a"}})
        fast = a_class(waits=False, parameters=SECRET_OF_CLASS)
        await cluster.create(a_secret(password=SECRET), fast)
        yield Scene(cluster, storage)


async def killed_while_it_is_made(scene: Scene, settings: ProvisionerFlags = PLAIN) -> None:
    """The driver has made the volume; the provisioner never gets to know."""
    first = RunningProvisioner(scene.cluster, scene.storage, settings)
    scene.storage.on_effect = lambda _: first.cut_off()
    await first.start()
    await scene.cluster.create(claim())
    await scene.cluster.wait(ENOUGH)
    await first.kill()
    scene.storage.on_effect = lambda _: None
    assert len(scene.storage.ids) == 1
    assert await scene.intents() == ["Calling"]


async def test_a_volume_whose_claim_is_deleted_while_no_provisioner_runs_is_given_back() -> None:
    async with a_scene() as scene:
        await killed_while_it_is_made(scene)
        await scene.cluster.delete("PersistentVolumeClaim", "data")
        async with a_provisioner(scene.cluster, scene.storage, seed=2):
            await scene.cluster.wait(ENOUGH)
            assert await scene.wants_nothing()


async def test_a_claim_that_is_still_there_gets_the_volume_that_was_made_for_it() -> None:
    async with a_scene() as scene:
        await killed_while_it_is_made(scene)
        made = scene.storage.ids
        async with a_provisioner(scene.cluster, scene.storage, seed=2):
            await scene.cluster.wait(ENOUGH)
            (stored,) = await scene.cluster.all("PersistentVolume")
            assert [stored["spec"]["csi"]["volumeHandle"]] == made == scene.storage.ids
            assert await scene.intents() == []


async def test_the_class_may_be_gone_as_well() -> None:
    async with a_scene() as scene:
        await killed_while_it_is_made(scene)
        await scene.cluster.delete("PersistentVolumeClaim", "data")
        await scene.cluster.delete("StorageClass", "fast")
        async with a_provisioner(scene.cluster, scene.storage, seed=2):
            await scene.cluster.wait(ENOUGH)
            assert await scene.wants_nothing()


async def test_cut_off_after_any_write_a_deleted_claim_leaves_nothing() -> None:
    for number in range(1, 30):
        async with a_scene() as scene:
            first = RunningProvisioner(scene.cluster, scene.storage, cut_after=number)
            await first.start()
            await scene.cluster.create(claim())
            await scene.cluster.wait(BEGUN)
            await scene.cluster.delete("PersistentVolumeClaim", "data")
            await scene.cluster.wait(ENOUGH)
            was_cut = first.is_cut_off
            await first.kill()
            async with a_provisioner(scene.cluster, scene.storage, seed=2):
                await scene.cluster.wait(ENOUGH)
                assert await scene.wants_nothing(), f"cut off after write {number}"
        if not was_cut:
            assert number > 4, "the intent, the volume and the events are writes"
            return
    pytest.fail("it never came to an end of its writes")


async def test_a_new_leader_waits_until_calls_of_the_old_one_have_ended() -> None:
    async with a_scene() as scene:
        await killed_while_it_is_made(scene)
        await scene.cluster.delete("PersistentVolumeClaim", "data")
        asked = scene.storage.count("CreateVolume")
        async with a_provisioner(scene.cluster, scene.storage, seed=2):
            await scene.cluster.wait(PLAIN.timeout - timedelta(seconds=1))
            assert scene.storage.count("CreateVolume") == asked
            await scene.cluster.wait(ENOUGH)
            assert await scene.wants_nothing()


async def test_a_volume_that_another_program_has_recorded_is_kept() -> None:
    async with a_scene() as scene:
        await killed_while_it_is_made(scene)
        (made,) = scene.storage.driver.ledger.volumes.all()
        source = {"csi": {"driver": scene.storage.settings.driver_name, "volumeHandle": made.id}}
        retained = source | {"persistentVolumeReclaimPolicy": "Retain", "hostPath": None}
        await scene.cluster.create(volume("by-another-name", spec=retained))
        await scene.cluster.delete("PersistentVolumeClaim", "data")
        async with a_provisioner(scene.cluster, scene.storage, seed=2):
            await scene.cluster.wait(ENOUGH)
            assert scene.storage.ids == [made.id]
            assert await scene.intents() == []


FOREIGN = frozenset({methods.DELETE_NEVER_PUBLISHED.name})
"""What drivers of other vendors do not know."""


async def test_a_driver_that_cannot_tell_what_was_used_deletes_what_a_copy_of_ours_left() -> None:
    async with a_scene() as scene:
        scene.storage.unknown_calls = FOREIGN
        await killed_while_it_is_made(scene, ELECTED)
        await scene.cluster.delete("PersistentVolumeClaim", "data")
        async with a_provisioner(scene.cluster, scene.storage, ELECTED, seed=2):
            await scene.cluster.wait(ENOUGH)
            assert await scene.wants_nothing()


@pytest.mark.parametrize("settings", [PLAIN, ELECTED], ids=["no-election", "another-program-led"])
async def test_a_volume_that_may_have_been_used_meanwhile_is_kept_and_told_of(
    settings: ProvisionerFlags,
) -> None:
    async with a_scene() as scene:
        scene.storage.unknown_calls = FOREIGN
        await killed_while_it_is_made(scene, settings)
        made = scene.storage.ids
        if settings.leader_election:
            await csi_provisioner_leads_for_a_while(scene.cluster)
        await scene.cluster.delete("PersistentVolumeClaim", "data")
        async with a_provisioner(scene.cluster, scene.storage, settings, seed=2):
            await scene.cluster.wait(ENOUGH)
            assert scene.storage.ids == made
            assert await scene.intents() == ["Suspect"]
            told = [message for _, message in await scene.cluster.events("data")]
            assert any("is kept all the same" in message for message in told)


MADE_AND_STUCK = Hang(call=FaultyCall.CREATE, when=When.AFTER, times=10_000)


@pytest.mark.parametrize("settings", [PLAIN, ELECTED], ids=["no-election", "election"])
async def test_without_an_election_a_provisioner_may_not_know_what_became_of_its_own_volume(
    settings: ProvisionerFlags,
) -> None:
    """It may have stood still while another program recorded the volume, a pod wrote to it, and
    claim and PersistentVolume were deleted again. A lease shows that this cannot be."""
    async with a_scene() as scene:
        scene.storage.unknown_calls = FOREIGN
        async with a_provisioner(scene.cluster, scene.storage, settings):
            made = await its_claim_is_deleted_before_the_driver_answers(scene)
            if settings.leader_election:
                assert await scene.wants_nothing()
                return
            assert (scene.storage.ids, await scene.intents()) == (made, ["Suspect"])
            told = [message for _, message in await scene.cluster.events("data")]
            assert any("no leader is elected, and its claim is gone" in each for each in told)


async def its_claim_is_deleted_before_the_driver_answers(scene: Scene) -> list[str]:
    """What the driver had made by then."""
    scene.storage.set_faults(MADE_AND_STUCK)
    await scene.cluster.create(claim())
    await scene.cluster.wait(ENOUGH)
    made = scene.storage.ids
    assert (len(made), await scene.intents()) == (1, ["Calling"])
    await scene.cluster.delete("PersistentVolumeClaim", "data")
    await scene.cluster.wait(BEGUN)
    scene.storage.set_faults()
    await scene.cluster.wait(timedelta(minutes=10))
    return made


async def test_a_leader_that_did_not_live_to_settle_leaves_the_doubt_to_the_next() -> None:
    async with a_scene() as scene:
        scene.storage.unknown_calls = FOREIGN
        await killed_while_it_is_made(scene, ELECTED)
        made = scene.storage.ids
        await csi_provisioner_leads_for_a_while(scene.cluster)
        await scene.cluster.delete("PersistentVolumeClaim", "data")
        second = RunningProvisioner(scene.cluster, scene.storage, ELECTED, seed=2)
        await second.start()
        for _ in range(60):
            if not second.begun:
                await scene.cluster.wait(timedelta(seconds=1))
        assert second.begun, "it leads"
        await second.kill()
        assert await scene.intents() == ["Calling"]
        async with a_provisioner(scene.cluster, scene.storage, ELECTED, seed=3):
            await scene.cluster.wait(ENOUGH)
            assert scene.storage.ids == made
            assert await scene.intents() == ["Suspect"]


async def csi_provisioner_leads_for_a_while(cluster: StoryCluster) -> None:
    lease = await cluster.get("Lease", leader_lease_name(DRIVER), NAMESPACE)
    transitions = lease["spec"]["leaseTransitions"] + 1
    spec = {"holderIdentity": "csi-provisioner", "leaseTransitions": transitions}
    await cluster.patch("Lease", leader_lease_name(DRIVER), {"spec": spec}, namespace=NAMESPACE)


async def test_the_secret_of_the_class_is_in_no_intent() -> None:
    async with a_scene() as scene:
        await killed_while_it_is_made(scene)
        assert SECRET not in str(await scene.cluster.all("Lease"))


async def test_where_leases_are_forbidden_volumes_are_made_without_intents() -> None:
    async with (
        a_scene() as scene,
        a_provisioner(scene.cluster, scene.storage, rule=forbidden("leases")),
    ):
        await scene.cluster.create(claim())
        await scene.cluster.wait(ENOUGH)
        assert await volume_of(scene.cluster, "data") in scene.storage.names
        assert await scene.intents() == []


async def test_a_volume_costs_two_writes_more_and_leaves_no_lease() -> None:
    async with a_scene() as scene, a_provisioner(scene.cluster, scene.storage) as running:
        await scene.cluster.create(claim())
        await scene.cluster.wait(ENOUGH)
        verbs = [verb for verb, what in running.transport.passed if what == "leases"]
        written = [verb for verb in verbs if verb != "list"]
        assert written == ["create", "create", "delete"], "one says that holds are respected"
        assert verbs.count("list") <= 2, "at the start, and every two minutes"
        assert await scene.intents() == []


async def test_a_failure_after_the_effect_leaves_nothing_when_the_claim_goes() -> None:
    async with a_scene() as scene, a_provisioner(scene.cluster, scene.storage):
        scene.storage.set_faults(
            Fail(call=FaultyCall.CREATE, code="INTERNAL", when=When.AFTER, times=1),
            Hang(call=FaultyCall.CREATE, seconds=5),
        )
        await scene.cluster.create(claim())
        await scene.cluster.wait(BEGUN)
        await scene.cluster.delete("PersistentVolumeClaim", "data")
        await scene.cluster.wait(ENOUGH)
        assert await scene.wants_nothing()
