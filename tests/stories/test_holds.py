"""A claim that is held: its volume is made, and recorded only when the scheduler says so."""

import string
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from random import Random

import msgspec
import pytest

from plimsoll.api.registry import Document
from plimsoll.decide.provisioning.holds import HOLD
from plimsoll.decide.provisioning.intents import Intent, read_intent
from plimsoll.processes.driver.backends.pools.faults import Fail, FaultyCall, When
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.objects import claim
from plimsoll.simulator.stories.schedulers import SELECTED_NODE, volume_of
from plimsoll.simulator.stories.sidecars import (
    PLAIN,
    RunningProvisioner,
    StoryStorage,
    a_class,
    a_provisioner,
    a_storage,
    add_storage_nodes,
    zonal_pools,
)

LOOPS = ("binding", "claim-protection", "volume-protection")
ENOUGH = timedelta(minutes=3)
STRICT = msgspec.structs.replace(PLAIN, strict_topology=True)
NEVER_ANSWERED = Fail(call=FaultyCall.CREATE, when=When.AFTER, code="UNAVAILABLE", times=0)
NEVER_REACHED = Fail(call=FaultyCall.CREATE, when=When.BEFORE, code="UNAVAILABLE", times=0)
REFUSED = Fail(call=FaultyCall.CREATE, when=When.BEFORE, code="RESOURCE_EXHAUSTED", times=0)
NODES = {"node-a": {"zone": "a"}, "node-b": {"zone": "b"}}


@dataclass
class Scene:
    cluster: StoryCluster
    storage: StoryStorage

    async def intents(self) -> list[Intent]:
        read = [read_intent(lease) for lease in await self.cluster.all("Lease")]
        return [intent for intent in read if intent is not None]

    async def annotate(self, **annotations: str | None) -> None:
        await self.write(**annotations)
        await self.cluster.wait(ENOUGH)

    async def write(self, **annotations: str | None) -> None:
        names = {"node": SELECTED_NODE, "hold": HOLD}
        change = {names[name]: value for name, value in annotations.items()}
        patch: Document = {"metadata": {"annotations": change}}
        await self.cluster.patch("PersistentVolumeClaim", "data", patch)
        await self.cluster.settle()

    async def state(self) -> str:
        """Of the one intent; empty: there is none."""
        found = await self.intents()
        assert len(found) <= 1
        return found[0].state if found else ""


@asynccontextmanager
async def a_scene(*sizes: str, latency: str = "") -> AsyncIterator[Scene]:
    """`latency` is how long the driver takes for each call."""
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(a_cluster(*LOOPS))
        pools = zonal_pools(*(sizes or ("10Gi", "10Gi")))
        if latency:
            pools = [{**each, "latency": latency} for each in pools]
        storage = await stack.enter_async_context(a_storage(cluster.clock, pools))
        await add_storage_nodes(cluster, NODES)
        await cluster.create(a_class(), claim())
        yield Scene(cluster, storage)


async def test_a_volume_that_is_held_back_is_made_and_not_recorded() -> None:
    async with a_scene() as scene, a_provisioner(scene.cluster, scene.storage):
        await scene.annotate(node="node-a", hold="pod/0/make")
        assert len(scene.storage.ids) == 1
        assert await scene.cluster.names("PersistentVolume") == []
        [intent] = await scene.intents()
        assert (intent.state, intent.hold) == ("Made", "pod/0")
        assert intent.made is not None
        assert intent.made.volume_id == scene.storage.ids[0]
        await scene.annotate(hold=None)
        assert await volume_of(scene.cluster, "data")
        assert await scene.state() == ""
        assert scene.storage.count("CreateVolume") == 1, "what was answered is recorded"


async def test_a_refusal_that_comes_late_is_no_answer_for_the_next_attempt() -> None:
    """The driver refuses node-a when the scheduler has long gone on with node-b."""
    patient = msgspec.structs.replace(STRICT, timeout=timedelta(minutes=1))
    async with (
        a_scene(latency="15s") as scene,
        a_provisioner(scene.cluster, scene.storage, patient),
    ):
        refuses = msgspec.structs.replace(REFUSED, pool="pool-a")
        scene.storage.set_faults(refuses)
        await scene.write(node="node-a", hold="pod/0/make")
        await scene.write(hold="pod/0/undo")
        await scene.write(node=None, hold=None)
        await scene.annotate(node="node-b", hold="pod/1/make")
        [intent] = await scene.intents()
        assert (intent.state, intent.hold, intent.selected_node) == ("Made", "pod/1", "node-b")
        assert scene.storage.pools_used == [("pool-b",)]


async def test_an_undone_volume_is_deleted_and_not_made_again_before_the_next_attempt() -> None:
    async with a_scene() as scene, a_provisioner(scene.cluster, scene.storage):
        await scene.annotate(node="node-a", hold="pod/0/make")
        await scene.annotate(hold="pod/0/undo")
        assert scene.storage.ids == []
        assert await scene.state() == "Undone"
        await scene.annotate(node=None, hold=None)
        assert scene.storage.count("CreateVolume") == 1
        await scene.annotate(node="node-b", hold="pod/1/make")
        [intent] = await scene.intents()
        assert (intent.state, intent.hold, intent.number) == ("Made", "pod/1", 1)
        assert scene.storage.names == [f"{intent.volume_name}-1"]
        await scene.annotate(hold=None)
        assert await volume_of(scene.cluster, "data") == intent.volume_name
        assert await scene.state() == ""


async def test_a_volume_that_is_undone_before_its_answer_came_leaves_its_name_used() -> None:
    """A deletion of it may arrive late, and must not meet the next volume."""
    async with a_scene() as scene, a_provisioner(scene.cluster, scene.storage):
        scene.storage.set_faults(NEVER_ANSWERED)
        await scene.annotate(node="node-a", hold="pod/0/make")
        assert await scene.state() == "Calling"
        await scene.annotate(hold="pod/0/undo")
        scene.storage.set_faults()
        await scene.cluster.wait(ENOUGH)
        assert (scene.storage.ids, await scene.state()) == ([], "Undone")
        await scene.annotate(node="node-b", hold="pod/1/make")
        [intent] = await scene.intents()
        assert (intent.state, intent.number) == ("Made", 1)
        assert scene.storage.names == [f"{intent.volume_name}-1"]


async def test_a_later_attempt_that_was_refused_in_the_end_does_not_free_the_first_name() -> None:
    async with a_scene() as scene, a_provisioner(scene.cluster, scene.storage):
        await scene.annotate(node="node-a", hold="pod/0/make")
        await scene.annotate(hold="pod/0/undo")
        scene.storage.set_faults(NEVER_REACHED)
        await scene.annotate(node="node-b", hold="pod/1/make")
        assert await scene.state() == "Calling"
        await scene.annotate(hold="pod/1/undo")
        scene.storage.set_faults(REFUSED)
        await scene.cluster.wait(ENOUGH)
        assert (scene.storage.ids, await scene.state()) == ([], "Undone")
        scene.storage.set_faults()
        await scene.annotate(node="node-a", hold="pod/2/make")
        [intent] = await scene.intents()
        assert scene.storage.names == [f"{intent.volume_name}-2"]


async def test_a_refused_claim_keeps_its_node_until_the_scheduler_takes_it_off() -> None:
    async with (
        a_scene("100Mi", "10Gi") as scene,
        a_provisioner(scene.cluster, scene.storage, STRICT),
    ):
        await scene.annotate(node="node-a", hold="pod/0/make")
        [intent] = await scene.intents()
        assert (intent.state, intent.hold) == ("Refused", "pod/0")
        assert "ResourceExhausted" in intent.refusal
        asked = scene.storage.count("CreateVolume")
        found = await scene.cluster.get("PersistentVolumeClaim", "data")
        assert found["metadata"]["annotations"][SELECTED_NODE] == "node-a"
        await scene.cluster.wait(ENOUGH)
        assert scene.storage.count("CreateVolume") == asked, "it was answered"
        await scene.annotate(node="node-b", hold="pod/1/make")
        assert await scene.state() == "Made"


async def test_what_is_refused_before_the_driver_is_asked_is_told_as_well() -> None:
    async with a_scene() as scene, a_provisioner(scene.cluster, scene.storage):
        unknown = {"csi.storage.k8s.io/no-such-thing": "1"}
        annotations = {SELECTED_NODE: "node-a", HOLD: "pod/0/make"}
        odd = claim("odd", class_name="odd", annotations=annotations)
        await scene.cluster.create(a_class("odd", parameters=unknown), odd)
        await scene.cluster.wait(ENOUGH)
        assert scene.storage.count("CreateVolume") == 0
        assert await scene.state() == "Refused"


async def test_another_attempt_does_not_get_the_volume_of_an_earlier_one() -> None:
    async with a_scene() as scene, a_provisioner(scene.cluster, scene.storage):
        await scene.annotate(node="node-a", hold="pod/0/make")
        before = scene.storage.ids
        await scene.annotate(node="node-b", hold="pod/1/make")
        [intent] = await scene.intents()
        assert (intent.state, intent.hold, intent.selected_node) == ("Made", "pod/1", "node-b")
        assert len(scene.storage.ids) == 1
        assert scene.storage.ids != before


async def test_a_volume_that_is_held_back_goes_with_its_claim() -> None:
    async with a_scene() as scene, a_provisioner(scene.cluster, scene.storage):
        await scene.annotate(node="node-a", hold="pod/0/make")
        await scene.cluster.delete("PersistentVolumeClaim", "data")
        await scene.cluster.wait(ENOUGH)
        assert scene.storage.ids == []
        assert await scene.state() == ""


async def test_the_next_provisioner_goes_on_holding_back() -> None:
    async with a_scene() as scene:
        async with a_provisioner(scene.cluster, scene.storage):
            await scene.annotate(node="node-a", hold="pod/0/make")
            made = scene.storage.ids
        async with a_provisioner(scene.cluster, scene.storage, seed=2):
            await scene.cluster.wait(ENOUGH)
            assert await scene.state() == "Made"
            assert await scene.cluster.names("PersistentVolume") == []
            await scene.annotate(hold=None)
            assert await volume_of(scene.cluster, "data")
            assert scene.storage.ids == made
            assert await scene.state() == ""


@pytest.mark.parametrize("end", ["published", "undone"])
async def test_cut_off_after_any_write_nothing_is_made_twice_or_left(end: str) -> None:
    for number in range(1, 40):
        async with a_scene() as scene:
            first = RunningProvisioner(scene.cluster, scene.storage, cut_after=number)
            await first.start()
            await scene.annotate(node="node-a", hold="pod/0/make")
            await scene.annotate(hold=None if end == "published" else "pod/0/undo")
            was_cut = first.is_cut_off
            await first.kill()
            async with a_provisioner(scene.cluster, scene.storage, seed=2):
                await scene.cluster.wait(ENOUGH)
                left, told = len(scene.storage.ids), f"cut off after write {number}"
                if end == "published":
                    assert await volume_of(scene.cluster, "data"), told
                    assert (left, await scene.state()) == (1, ""), told
                else:
                    assert left == 0, told
                    assert await scene.state() in ("", "Undone"), told
        if not was_cut:
            assert number > 4
            return
    pytest.fail("it never came to an end of its writes")


@pytest.mark.parametrize("size", ["10Gi", "100Mi"], ids=["made", "refused"])
async def test_cut_off_after_any_write_the_next_attempt_gets_its_volume(size: str) -> None:
    for number in range(1, 40):
        async with a_scene(size, "10Gi") as scene:
            first = RunningProvisioner(scene.cluster, scene.storage, STRICT, cut_after=number)
            await first.start()
            await scene.annotate(node="node-a", hold="pod/0/make")
            was_cut, was_made = first.is_cut_off, bool(scene.storage.ids)
            await first.kill()
            await scene.annotate(node="node-b", hold="pod/1/make")
            async with a_provisioner(scene.cluster, scene.storage, STRICT, seed=2):
                await scene.cluster.wait(ENOUGH)
                told = f"cut off after write {number}"
                assert await scene.state() == "Made", told
                [intent] = await scene.intents()
                assert (intent.hold, intent.selected_node) == ("pod/1", "node-b"), told
                assert len(scene.storage.ids) == 1, told
                assert not was_made or intent.number == 1, told
        if not was_cut:
            assert number > 2
            return
    pytest.fail("it never came to an end of its writes")


async def test_annotations_that_fill_a_claim_keep_no_volume_from_being_made() -> None:
    """An intent has the claim in one annotation, which can be no larger than all of the claim's."""
    async with a_scene() as scene, a_provisioner(scene.cluster, scene.storage):
        noise = Random(1).choices(string.printable.strip(), k=250 * 1024)
        patch: Document = {"metadata": {"annotations": {"example.com/noise": "".join(noise)}}}
        await scene.cluster.patch("PersistentVolumeClaim", "data", patch)
        await scene.annotate(node="node-a")
        assert await volume_of(scene.cluster, "data")
