"""The selected node is deleted while its volume is made: the volume is not left there, and the
scheduler chooses again.

The driver reaches its storage by the network, so that any of its provisioners can delete what was
made for a node that is gone. csi-provisioner forgets such a volume.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import msgspec
import pytest

from plimsoll.decide.provisioning.holds import HOLD
from plimsoll.decide.provisioning.intents import Intent, read_intent
from plimsoll.processes.driver.backends.pools.faults import FaultyCall, Hang
from plimsoll.processes.scheduler.settings import SchedulerSettings
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.objects import claim, volume
from plimsoll.simulator.stories.schedulers import (
    SELECTED_NODE,
    a_pod,
    a_scheduler,
    node_of,
    volume_of,
)
from plimsoll.simulator.stories.sidecars import (
    DRIVER,
    NAMESPACE,
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
BEGUN, ENOUGH = timedelta(seconds=2), timedelta(minutes=3)
STRICT = msgspec.structs.replace(PLAIN, strict_topology=True)
NODES = {"node-a": {"zone": "a"}, "node-b": {"zone": "b"}, "node-c": {"zone": "a"}}
HELD = "pod/0/make"


@dataclass
class Scene:
    cluster: StoryCluster
    storage: StoryStorage

    async def intents(self) -> list[Intent]:
        read = [read_intent(lease) for lease in await self.cluster.all("Lease")]
        return [intent for intent in read if intent is not None]

    async def states(self) -> list[str]:
        return [intent.state for intent in await self.intents()]

    async def annotation(self, name: str) -> str | None:
        found = await self.cluster.get("PersistentVolumeClaim", "data")
        value: str | None = (found["metadata"].get("annotations") or {}).get(name)
        return value

    async def annotate(self, **annotations: str | None) -> None:
        names = {"node": SELECTED_NODE, "hold": HOLD}
        change = {names[name]: value for name, value in annotations.items()}
        await self.cluster.patch(
            "PersistentVolumeClaim", "data", {"metadata": {"annotations": change}}
        )

    async def lose(self, node: str) -> None:
        await self.cluster.delete("Node", node)
        await self.cluster.delete("CSINode", node)

    async def killed_while_it_is_made(self, **annotations: str) -> None:
        """The driver has made the volume for node-a; the provisioner never gets to know."""
        first = RunningProvisioner(self.cluster, self.storage, STRICT)
        self.storage.on_effect = lambda _: first.cut_off()
        await first.start()
        await self.annotate(node="node-a", **annotations)
        await self.cluster.wait(ENOUGH)
        await first.kill()
        self.storage.on_effect = lambda _: None
        assert len(self.storage.ids) == 1
        assert await self.states() == ["Calling"]


@asynccontextmanager
async def a_scene() -> AsyncIterator[Scene]:
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(a_cluster(*LOOPS))
        pools = zonal_pools("10Gi", "10Gi")
        storage = await stack.enter_async_context(a_storage(cluster.clock, pools, NODES))
        await add_storage_nodes(cluster, NODES)
        await cluster.create(a_class(), claim())
        yield Scene(cluster, storage)


async def test_the_next_provisioner_gives_back_the_volume_and_clears_the_node() -> None:
    async with a_scene() as scene:
        await scene.killed_while_it_is_made()
        await scene.lose("node-a")
        async with a_provisioner(scene.cluster, scene.storage, STRICT, seed=2):
            await scene.cluster.wait(ENOUGH)
            assert scene.storage.ids == []
            assert await scene.annotation(SELECTED_NODE) is None
            assert await scene.states() == ["Undone"], "the next volume gets another name"


async def test_a_pod_gets_its_volume_on_another_node() -> None:
    async with a_scene() as scene:
        await scene.killed_while_it_is_made()
        await scene.lose("node-a")
        await scene.lose("node-c")
        await scene.cluster.create(a_pod(claims=("data",)))
        settings = SchedulerSettings(record_namespaces=NAMESPACE)
        async with (
            a_scheduler(scene.cluster, settings),
            a_provisioner(scene.cluster, scene.storage, STRICT, seed=2),
        ):
            await scene.cluster.wait(ENOUGH)
            assert await node_of(scene.cluster, "web") == "node-b"
            assert scene.storage.pools_used == [("pool-b",)]
            assert await scene.states() == []


async def test_a_volume_that_the_node_selected_next_reaches_is_kept() -> None:
    async with a_scene() as scene:
        await scene.killed_while_it_is_made()
        made = scene.storage.ids
        await scene.lose("node-a")
        await scene.annotate(node="node-c")
        async with a_provisioner(scene.cluster, scene.storage, STRICT, seed=2):
            await scene.cluster.wait(ENOUGH)
            assert scene.storage.ids == made
            assert await volume_of(scene.cluster, "data")
            assert await scene.states() == []


async def test_a_volume_out_of_reach_of_the_node_selected_next_is_made_anew_there() -> None:
    async with a_scene() as scene:
        await scene.killed_while_it_is_made()
        await scene.lose("node-a")
        await scene.annotate(node="node-b")
        async with a_provisioner(scene.cluster, scene.storage, STRICT, seed=2):
            await scene.cluster.wait(ENOUGH)
            assert scene.storage.pools_used == [("pool-b",)]
            [name] = scene.storage.names
            assert name.endswith("-1"), "the name of the volume that was deleted is not used again"
            assert await volume_of(scene.cluster, "data")


async def test_a_node_may_go_while_its_csi_node_stays() -> None:
    async with a_scene() as scene:
        await scene.killed_while_it_is_made()
        await scene.cluster.delete("Node", "node-a")
        async with a_provisioner(scene.cluster, scene.storage, STRICT, seed=2):
            await scene.cluster.wait(ENOUGH)
            assert scene.storage.ids == []
            assert await scene.annotation(SELECTED_NODE) is None


async def test_a_node_that_goes_while_the_driver_works_gets_no_volume() -> None:
    async with a_scene() as scene, a_provisioner(scene.cluster, scene.storage, STRICT):
        scene.storage.set_faults(Hang(call=FaultyCall.CREATE))
        await scene.annotate(node="node-a")
        await scene.cluster.wait(BEGUN)
        await scene.lose("node-a")
        scene.storage.set_faults()
        await scene.cluster.wait(ENOUGH)
        assert scene.storage.ids == []
        assert await scene.annotation(SELECTED_NODE) is None
        assert await scene.cluster.names("PersistentVolume") == []


async def test_while_the_claim_is_held_the_provisioner_tells_and_does_not_clear() -> None:
    async with a_scene() as scene:
        await scene.killed_while_it_is_made(hold=HELD)
        await scene.lose("node-a")
        async with a_provisioner(scene.cluster, scene.storage, STRICT, seed=2):
            await scene.cluster.wait(ENOUGH)
            assert scene.storage.ids == []
            assert await scene.annotation(SELECTED_NODE) == "node-a"
            assert await scene.annotation(HOLD) == HELD
            [intent] = await scene.intents()
            assert (intent.state, intent.hold) == ("Refused", "pod/0")
            await scene.annotate(node="node-b", hold="pod/1/make")
            await scene.cluster.wait(ENOUGH)
            [intent] = await scene.intents()
            assert (intent.state, intent.hold) == ("Made", "pod/1")
            assert scene.storage.pools_used == [("pool-b",)]


async def test_a_held_volume_is_given_back_when_the_scheduler_has_cleared_the_gone_node() -> None:
    async with a_scene() as scene:
        await scene.killed_while_it_is_made(hold=HELD)
        await scene.lose("node-a")
        await scene.annotate(node=None, hold=None)
        async with a_provisioner(scene.cluster, scene.storage, STRICT, seed=2):
            await scene.cluster.wait(ENOUGH)
            assert scene.storage.ids == []
            assert await scene.states() == ["Undone"]


@pytest.mark.parametrize("state", ["made", "undoing"])
async def test_the_next_attempt_of_a_group_never_gets_a_name_again(state: str) -> None:
    """The next provisioner finds a call of the attempt before: its volume is deleted."""
    async with a_scene() as scene:
        await scene.killed_while_it_is_made(hold=HELD)
        if state == "undoing":
            await scene.lose("node-a")
        await scene.annotate(node="node-b", hold="pod/1/make")
        async with a_provisioner(scene.cluster, scene.storage, STRICT, seed=2):
            await scene.cluster.wait(ENOUGH)
            [intent] = await scene.intents()
            assert (intent.state, intent.hold) == ("Made", "pod/1")
            assert scene.storage.names == [f"{intent.volume_name}-1"]


async def test_a_volume_that_is_recorded_stays() -> None:
    """An administrator has recorded it while no provisioner ran."""
    async with a_scene() as scene:
        await scene.killed_while_it_is_made()
        await scene.lose("node-a")
        made = scene.storage.ids
        source = {"csi": {"driver": DRIVER, "volumeHandle": made[0]}}
        await scene.cluster.create(volume("by-hand", spec=source))
        async with a_provisioner(scene.cluster, scene.storage, STRICT, seed=2):
            await scene.cluster.wait(ENOUGH)
            assert scene.storage.ids == made
            assert await scene.states() == []


async def test_cut_off_after_any_write_the_provisioner_after_it_goes_on() -> None:
    for number in range(1, 30):
        async with a_scene() as scene:
            await scene.killed_while_it_is_made()
            await scene.lose("node-a")
            second = RunningProvisioner(
                scene.cluster, scene.storage, STRICT, seed=2, cut_after=number
            )
            await second.start()
            await scene.cluster.wait(ENOUGH)
            was_cut = second.is_cut_off
            await second.kill()
            async with a_provisioner(scene.cluster, scene.storage, STRICT, seed=3):
                await scene.cluster.wait(ENOUGH)
                assert scene.storage.ids == [], f"cut off after write {number}"
                assert await scene.annotation(SELECTED_NODE) is None
                await scene.annotate(node="node-b")
                await scene.cluster.wait(ENOUGH)
                assert await volume_of(scene.cluster, "data")
                assert scene.storage.pools_used == [("pool-b",)]
        if not was_cut:
            assert number > 3, "the intent twice, the node and the events are writes"
            return
    pytest.fail("it never came to an end of its writes")
