"""Another node is selected while the driver makes the volume: the volume is for the new node.

Volumes must be where the selected node is (strict topology). The provisioner is also cut off after
each of its writes, and after each effect of its calls before it has the answer.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import msgspec
import pytest

from plimsoll.processes.driver.backends.pools.faults import FaultyCall, Hang
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.objects import claim
from plimsoll.simulator.stories.refusing_transport import asked, open_to_all
from plimsoll.simulator.stories.schedulers import (
    SELECTED_NODE,
    a_pod,
    a_scheduler,
    node_of,
    volume_of,
)
from plimsoll.simulator.stories.sidecars import (
    PLAIN,
    RunningProvisioner,
    StoryStorage,
    a_class,
    a_storage,
    add_storage_nodes,
    told_zones,
    zonal_pools,
)
from plimsoll.wire.transport import Request

STRICT = msgspec.structs.replace(PLAIN, strict_topology=True)
LOOPS = ("binding", "claim-protection", "volume-protection")
NODES = {"node-a": {"zone": "a"}, "node-b": {"zone": "b"}}
BEGUN, ENOUGH = timedelta(seconds=2), timedelta(minutes=3)


@dataclass(frozen=True, kw_only=True)
class Cut:
    """After how many writes, or effects of calls, the first provisioner is cut off."""

    writes: int | None = None
    effects: int | None = None


@dataclass
class Life:
    cluster: StoryCluster
    storage: StoryStorage
    cut: Cut
    current: RunningProvisioner
    effects: int = 0

    def on_effect(self, _call: str) -> None:
        self.effects += 1
        if self.effects == self.cut.effects:
            self.current.cut_off()

    async def select(self, node: str | None) -> None:
        selected = {"metadata": {"annotations": {SELECTED_NODE: node}}}
        await self.cluster.patch("PersistentVolumeClaim", "data", selected)

    async def goes_on(self) -> None:
        """Another provisioner is started if the first was cut off."""
        await self.cluster.wait(ENOUGH)
        if self.current.is_cut_off:
            await self.current.kill()
            self.current = RunningProvisioner(self.cluster, self.storage, STRICT, seed=2)
            await self.current.start()
            await self.cluster.wait(ENOUGH)
        self.current.check()


@asynccontextmanager
async def a_claim_being_provisioned(
    seconds: float = 5, cut: Cut | None = None
) -> AsyncIterator[Life]:
    """For node-a, by a driver that takes so long for its first volume."""
    cut = cut or Cut()
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(a_cluster(*LOOPS))
        pools = zonal_pools("10Gi", "10Gi")
        storage = await stack.enter_async_context(a_storage(cluster.clock, pools))
        await add_storage_nodes(cluster, NODES)
        first = RunningProvisioner(cluster, storage, STRICT, cut_after=cut.writes)
        life = Life(cluster, storage, cut, first)
        storage.on_effect = life.on_effect
        storage.set_faults(Hang(call=FaultyCall.CREATE, seconds=seconds))
        await first.start()
        annotations = {SELECTED_NODE: "node-a"}
        await cluster.create(a_class(), claim(class_name="fast", annotations=annotations))
        await cluster.wait(BEGUN)
        try:
            yield life
        finally:
            await life.current.kill()


async def is_in_zone_b_alone(life: Life) -> bool:
    volume = await volume_of(life.cluster, "data")
    (stored,) = await life.cluster.all("PersistentVolume")
    assert stored["metadata"]["name"] == volume
    assert life.storage.ids == [stored["spec"]["csi"]["volumeHandle"]], "neither lost nor leaked"
    return await told_zones(life.cluster, volume) == ["b"]


@pytest.mark.parametrize("seconds", [5, 25], ids=["answered-at-once", "asked-again"])
async def test_the_volume_is_made_for_the_node_that_is_selected_when_the_answer_comes(
    seconds: float,
) -> None:
    async with a_claim_being_provisioned(seconds) as life:
        await life.select("node-b")
        await life.goes_on()

        assert await is_in_zone_b_alone(life)
        assert life.storage.deletions == 1
        told = [reason for reason, _ in await life.cluster.events("data")]
        assert told.count("SelectedNodeChanged") == 1


async def test_a_node_that_is_selected_again_keeps_its_volume() -> None:
    async with a_claim_being_provisioned() as life:
        await life.select("node-b")
        await life.select("node-a")
        await life.goes_on()

        assert await told_zones(life.cluster, await volume_of(life.cluster, "data")) == ["a"]
        assert life.storage.deletions == 0


async def test_without_a_selected_node_the_claim_waits_and_the_scheduler_is_free() -> None:
    async with a_claim_being_provisioned() as life:
        await life.select(None)
        await life.goes_on()
        assert life.storage.names == []

        async with a_scheduler(life.cluster):
            on_b = {"kubernetes.io/hostname": "node-b"}
            await life.cluster.create(a_pod(claims=["data"], nodeSelector=on_b))
            await life.cluster.wait(ENOUGH)
            assert await node_of(life.cluster, "web") == "node-b"
            assert await is_in_zone_b_alone(life)


@pytest.mark.parametrize("then", ["deleted", "moved"])
async def test_a_volume_is_not_forgotten_while_the_server_cannot_tell_what_is_recorded(
    then: str,
) -> None:
    async with a_claim_being_provisioned() as life:
        if then == "deleted":
            await life.cluster.delete("PersistentVolumeClaim", "data")
        else:
            await life.select("node-b")
        life.current.transport.rule = no_lists
        await life.cluster.wait(timedelta(seconds=30))
        assert life.storage.deletions == 0
        assert len(life.storage.names) == 1

        life.current.transport.rule = open_to_all
        await life.goes_on()
        if then == "deleted":
            assert life.storage.names == []
        else:
            assert await is_in_zone_b_alone(life)


def no_lists(request: Request) -> int:
    return 503 if asked(request) == ("list", "persistentvolumes") else 0


async def test_cut_off_after_any_write_the_volume_is_for_the_new_node() -> None:
    async with a_claim_being_provisioned() as life:
        await life.select("node-b")
        await life.goes_on()
        writes = life.current.writes
    for number in range(1, writes + 1):
        async with a_claim_being_provisioned(cut=Cut(writes=number)) as life:
            await life.select("node-b")
            await life.goes_on()
            assert await is_in_zone_b_alone(life), f"cut off after write {number} of {writes}"


@pytest.mark.parametrize("number", [1, 2, 3], ids=["made", "deleted", "made-again"])
async def test_cut_off_after_any_effect_of_a_call_the_volume_is_for_the_new_node(
    number: int,
) -> None:
    async with a_claim_being_provisioned(cut=Cut(effects=number)) as life:
        await life.select("node-b")
        await life.goes_on()
        assert await is_in_zone_b_alone(life)
        assert life.effects >= number
