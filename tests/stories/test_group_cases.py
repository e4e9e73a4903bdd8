"""Special cases of pods whose volumes are made together: claims that come with the pod, that are
made anew, or that another scheduler sends elsewhere; provisioners that serve one node each; and a
name that the driver uses for something else."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from plimsoll.api.registry import Document
from plimsoll.decide.provisioning.holds import HOLD
from plimsoll.decide.provisioning.intents import StoredIntent, lease_document, read_intent
from plimsoll.processes.driver.backends.pools.faults import FaultyCall, Hang, When
from plimsoll.simulator.stories.schedulers import (
    SELECTED_NODE,
    a_claim,
    a_pod,
    node_of,
    volume_of,
)
from plimsoll.simulator.stories.sidecars import DRIVER, NAMESPACE, a_provisioner
from tests.stories import test_intents as intents
from tests.stories.test_groups import (
    ENOUGH,
    FREE,
    FULL,
    NO_ROOM,
    NODES,
    ON_EACH_NODE,
    OTHER,
    a_scene,
    claims,
    two_claims,
)

HANGING = Hang(call=FaultyCall.CREATE, when=When.BEFORE)
NAMES = ("first", "second")
LOOPS = ("ephemeral-volume", "garbage-collector")
SOON = timedelta(seconds=20)


def a_pod_with_its_own_claims() -> Document:
    pod = a_pod()
    templates = [(claim["metadata"]["name"], claim["spec"]) for claim in claims()]
    pod["spec"]["volumes"] = [
        {"name": name, "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}
        for name, spec in templates
    ]
    return pod


async def test_a_pod_gets_its_ephemeral_volumes_on_one_node() -> None:
    async with a_scene(*LOOPS, second=(FULL, FREE)) as scene:
        await scene.schedule()
        await scene.cluster.create(a_pod_with_its_own_claims())
        await scene.cluster.wait(ENOUGH)
        assert await node_of(scene.cluster, "web") == "node-b"
        assert [scene.zones(driver) for driver in (DRIVER, OTHER)] == [["node-b"], ["node-b"]]
        assert await scene.is_tidy()


async def test_a_pod_that_goes_takes_its_ephemeral_volumes_with_it() -> None:
    async with a_scene(*LOOPS, second=(FREE, FREE)) as scene:
        scene.storages[OTHER].set_faults(HANGING)
        await scene.schedule()
        await scene.cluster.create(a_pod_with_its_own_claims())
        await scene.cluster.wait(SOON)
        assert len(scene.storages[DRIVER].ids) == 1, "it is made, and held back"
        await scene.cluster.delete("Pod", "web")
        await scene.cluster.wait(ENOUGH)
        scene.storages[OTHER].set_faults()
        await scene.cluster.wait(ENOUGH)
        assert [storage.ids for storage in scene.storages.values()] == [[], []]
        assert await scene.cluster.names("PersistentVolumeClaim") == []
        assert await scene.is_tidy()


async def test_a_claim_that_is_made_anew_gets_a_volume_of_its_own() -> None:
    async with a_scene(second=(FREE, FREE)) as scene:
        scene.storages[OTHER].set_faults(HANGING)
        await scene.schedule()
        await two_claims(scene)
        await scene.cluster.wait(SOON)
        (of_the_old_one,) = scene.storages[DRIVER].ids
        unprotected = {"metadata": {"finalizers": None}}
        await scene.cluster.patch("PersistentVolumeClaim", "first", unprotected)
        await scene.cluster.delete("PersistentVolumeClaim", "first")
        await scene.cluster.create(a_claim("first", class_name="first"))
        scene.storages[OTHER].set_faults()
        await scene.cluster.wait(ENOUGH)
        node = await node_of(scene.cluster, "web")
        assert node
        assert [scene.zones(driver) for driver in (DRIVER, OTHER)] == [[node], [node]]
        assert of_the_old_one not in scene.storages[DRIVER].ids
        assert await scene.is_tidy()


@pytest.mark.parametrize("takes_hold_off", [True, False], ids=["hold-off", "hold-left"])
async def test_a_claim_that_another_scheduler_sends_elsewhere_does_not_split_the_pod(
    *, takes_hold_off: bool
) -> None:
    async with a_scene(second=(FREE, FREE)) as scene:
        scene.storages[OTHER].set_faults(HANGING)
        await scene.schedule()
        await two_claims(scene)
        await scene.cluster.wait(SOON)
        assert (await scene.annotations("second"))[SELECTED_NODE] == "node-a"
        elsewhere: Document = {SELECTED_NODE: "node-b"}
        if takes_hold_off:
            elsewhere[HOLD] = None
        moved = {"metadata": {"annotations": elsewhere}}
        await scene.cluster.patch("PersistentVolumeClaim", "second", moved)
        scene.storages[OTHER].set_faults()
        await scene.cluster.wait(2 * ENOUGH)
        node = await node_of(scene.cluster, "web")
        assert node
        assert [scene.zones(driver) for driver in (DRIVER, OTHER)] == [[node], [node]]
        for name in NAMES:
            assert await volume_of(scene.cluster, name)
            assert HOLD not in await scene.annotations(name)
        assert await scene.is_tidy()


async def told(scene: intents.Scene) -> list[str]:
    return [message for _, message in await scene.cluster.events("data")]


async def ask_for_more(scene: intents.Scene) -> None:
    """What the intent asks for is not what the driver has under this name."""
    for lease in await scene.cluster.all("Lease"):
        if (intent := read_intent(lease)) is not None:
            request = {**intent.request, "capacityRange": {"requiredBytes": str(2**32)}}
            changed = replace(intent, request=request)
            document = lease_document(StoredIntent(intent=changed, lease=lease), NAMESPACE)
            annotations = {"annotations": document["metadata"]["annotations"]}
            await scene.cluster.patch(
                "Lease", intent.name, {"metadata": annotations}, namespace=NAMESPACE
            )


async def test_what_the_provisioner_of_one_node_has_noted_is_no_answer_for_another_node() -> None:
    """It keeps the number of a volume that was given back, and each has numbers of its own."""
    async with a_scene(provisioners=ON_EACH_NODE, second=(FULL, FREE)) as scene:
        await scene.schedule()
        await two_claims(scene)
        await scene.cluster.wait(SOON)
        assert await node_of(scene.cluster, "web") == "node-b"
        await scene.cluster.wait(ENOUGH)
        assert [scene.zones(driver) for driver in (DRIVER, OTHER)] == [["node-b"], ["node-b"]]
        assert await scene.is_tidy()


async def test_attempts_on_many_nodes_in_turn_are_told_apart_by_their_holds() -> None:
    async with a_scene(provisioners=ON_EACH_NODE, second=(FREE, FREE)) as scene:
        scene.storages[OTHER].set_faults(NO_ROOM)
        await scene.schedule()
        await two_claims(scene)
        await scene.cluster.wait(timedelta(minutes=20))
        assert await scene.attempts() > len(NODES)
        scene.storages[OTHER].set_faults()
        await scene.cluster.wait(timedelta(minutes=6))
        assert await node_of(scene.cluster, "web")
        assert await scene.is_tidy()


async def test_a_name_that_the_driver_has_given_to_something_else_is_left_to_a_person() -> None:
    async with intents.a_scene() as scene:
        await intents.killed_while_it_is_made(scene)
        made = scene.storage.ids
        await ask_for_more(scene)
        await scene.cluster.delete("PersistentVolumeClaim", "data")
        async with a_provisioner(scene.cluster, scene.storage, seed=2):
            await scene.cluster.wait(ENOUGH)
            assert (scene.storage.ids, await scene.intents()) == (made, ["Stuck"])
            told = [message for _, message in await scene.cluster.events("data")]
            assert any("delete it by hand, then lease" in each for each in told)
        async with a_provisioner(scene.cluster, scene.storage, seed=3):
            await scene.cluster.wait(ENOUGH)
            assert (scene.storage.ids, await scene.intents()) == (made, ["Stuck"])
            (lease,) = [each for each in await scene.cluster.all("Lease") if read_intent(each)]
            await scene.cluster.delete("Lease", lease["metadata"]["name"], NAMESPACE)
            asked = scene.storage.count("CreateVolume")
            await scene.cluster.wait(5 * ENOUGH)
            assert await scene.intents() == []
            assert scene.storage.count("CreateVolume") == asked, "deleting the lease ends it"
