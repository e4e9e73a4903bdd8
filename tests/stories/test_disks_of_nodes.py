"""Provisioners that serve one node each, each with a driver and disks of its own.

All of them ask under the same name, and get different volumes: that one of them is recorded says
nothing of the others.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from plimsoll.decide.provisioning.holds import HOLD
from plimsoll.decide.provisioning.intents import read_intent
from plimsoll.processes.driver.backends.pools.faults import Fail, FaultyCall, When
from plimsoll.processes.driver.settings import BackendSettings, Mounts, NodeSettings
from plimsoll.runtime.ids import seeded_ids
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.objects import claim
from plimsoll.simulator.stories.schedulers import SELECTED_NODE, volume_of
from plimsoll.simulator.stories.sidecars import (
    DRIVER,
    PLAIN,
    Nodes,
    RunningProvisioner,
    StoryStorage,
    a_class,
    a_provisioner,
    add_storage_nodes,
    full,
    pool,
    storage_of,
)

LOOPS = ("binding", "claim-protection", "volume-protection")
NODES: Nodes = {f"node-{number}": {"host": f"node-{number}"} for number in range(2)}
FLAGS = {
    node: msgspec.structs.replace(PLAIN, node_deployment=True, node_name=node) for node in NODES
}
ENOUGH = timedelta(minutes=3)
NO_DELETION = Fail(call=FaultyCall.DELETE, when=When.BEFORE, times=0)


@dataclass
class Scene:
    cluster: StoryCluster
    disks: Mapping[str, StoryStorage]
    """By node."""

    async def annotate(self, node: str, hold: str | None = None) -> None:
        annotations = {"metadata": {"annotations": {SELECTED_NODE: node, HOLD: hold}}}
        await self.cluster.patch("PersistentVolumeClaim", "data", annotations)
        await self.cluster.wait(ENOUGH)

    async def intents(self) -> list[tuple[str, str]]:
        """The node and the state of each."""
        read = [read_intent(lease) for lease in await self.cluster.all("Lease")]
        return sorted((each.node, each.state.value) for each in read if each is not None)

    async def recorded(self) -> list[str]:
        volumes = await self.cluster.all("PersistentVolume")
        return [volume["spec"]["csi"]["volumeHandle"] for volume in volumes]


@asynccontextmanager
async def a_scene() -> AsyncIterator[Scene]:
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(a_cluster(*LOOPS))
        disks: dict[str, StoryStorage] = {}
        for number, (node, where) in enumerate(NODES.items()):
            settings = BackendSettings(
                driver_name=DRIVER,
                data_dir=Path("/nonexistent"),
                nodes=(NodeSettings(id=node, topology=full(where)),),
                options={"pools": [pool("disk", "5Gi", topology=where)]},
                clock=cluster.clock,
                ids=seeded_ids(number),
                mounts=Mounts.NONE,
            )
            disks[node] = await stack.enter_async_context(storage_of(settings, cluster.clock))
        await add_storage_nodes(cluster, NODES)
        await cluster.create(a_class(), claim())
        yield Scene(cluster, disks)


async def begin_on_node_0(scene: Scene, state: str) -> None:
    """Its provisioner ends when a volume is there for an attempt that comes to nothing."""
    disk = scene.disks["node-0"]
    provisioner = RunningProvisioner(scene.cluster, disk, FLAGS["node-0"])
    if state == "Calling":
        disk.on_effect = lambda _: provisioner.cut_off()
    await provisioner.start()
    await scene.annotate("node-0", "pod/0/make")
    if state == "Undoing":
        disk.set_faults(NO_DELETION)
        await scene.annotate("node-0", "pod/0/undo")
        disk.set_faults()
    await provisioner.kill()
    disk.on_effect = lambda _: None
    assert await scene.intents() == [("node-0", state)]


@pytest.mark.parametrize("state", ["Calling", "Made", "Undoing"])
@pytest.mark.parametrize("hold", [None, "pod/1/make"], ids=["plain", "held"])
async def test_a_node_that_comes_back_deletes_what_another_node_has_served_meanwhile(
    state: str, hold: str | None
) -> None:
    async with a_scene() as scene:
        await begin_on_node_0(scene, state)
        here, there = scene.disks["node-1"], scene.disks["node-0"]
        async with a_provisioner(scene.cluster, here, FLAGS["node-1"], seed=2):
            await scene.annotate("node-1", hold)
            await scene.annotate("node-1")
            assert await volume_of(scene.cluster, "data")
            assert (len(there.ids), await scene.recorded()) == (1, here.ids)
            async with a_provisioner(scene.cluster, there, FLAGS["node-0"], seed=3):
                await scene.cluster.wait(ENOUGH)
                assert there.ids == []
                assert await scene.intents() == []
                assert await scene.recorded() == here.ids
                assert len(here.ids) == 1


async def test_cut_off_after_any_write_a_recorded_volume_is_known_again() -> None:
    for number in range(1, 20):
        async with a_scene() as scene:
            disk = scene.disks["node-0"]
            first = RunningProvisioner(scene.cluster, disk, FLAGS["node-0"], cut_after=number)
            await first.start()
            await scene.annotate("node-0")
            was_cut = first.is_cut_off
            await first.kill()
            async with a_provisioner(scene.cluster, disk, FLAGS["node-0"], seed=2):
                await scene.cluster.wait(ENOUGH)
                assert await volume_of(scene.cluster, "data"), f"cut off after write {number}"
                assert await scene.recorded() == disk.ids, f"cut off after write {number}"
                assert len(disk.ids) == 1, f"cut off after write {number}"
                assert await scene.intents() == [], f"cut off after write {number}"
        if not was_cut:
            assert number > 3, "the intent, the volume and an event are writes"
            return
    pytest.fail("it never came to an end of its writes")
