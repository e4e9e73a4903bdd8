"""A node goes while its own provisioner makes a volume on it: the claim is not stuck with it."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta

import msgspec

from plimsoll.decide.provisioning.intents import read_intent
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.objects import claim
from plimsoll.simulator.stories.schedulers import SELECTED_NODE
from plimsoll.simulator.stories.sidecars import (
    PLAIN,
    Nodes,
    RunningProvisioner,
    StoryStorage,
    a_class,
    a_provisioner,
    a_storage,
    add_storage_nodes,
    pool,
)

HOSTS: Nodes = {f"node-{number}": {"host": f"node-{number}"} for number in range(2)}
ON_NODE_0 = msgspec.structs.replace(PLAIN, node_deployment=True, node_name="node-0")
BEGUN, ENOUGH = timedelta(seconds=2), timedelta(minutes=3)


@asynccontextmanager
async def a_volume_half_made_on_node_0() -> AsyncIterator[tuple[StoryCluster, StoryStorage]]:
    """The provisioner of that node has ended, and the claim waits for it."""
    pools = [pool(f"disk-{n}", "5Gi", topology={"host": f"node-{n}"}) for n in range(2)]
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(a_cluster("orphaned-intents", "claim-protection"))
        storage = await stack.enter_async_context(a_storage(cluster.clock, pools, HOSTS))
        await add_storage_nodes(cluster, HOSTS)
        provisioner = RunningProvisioner(cluster, storage, ON_NODE_0)
        storage.on_effect = lambda _: provisioner.cut_off()
        await provisioner.start()
        annotations = {
            SELECTED_NODE: "node-0",
            "volume.kubernetes.io/storage-provisioner": storage.settings.driver_name,
        }
        await cluster.create(a_class(), claim(annotations=annotations))
        await cluster.wait(BEGUN)
        await provisioner.kill()
        storage.on_effect = lambda _: None
        assert await states(cluster) == ["Calling"]
        yield cluster, storage


async def states(cluster: StoryCluster) -> list[str]:
    read = [read_intent(lease) for lease in await cluster.all("Lease")]
    return [intent.state for intent in read if intent is not None]


async def selected_node(cluster: StoryCluster) -> str | None:
    found = await cluster.get("PersistentVolumeClaim", "data")
    node: str | None = found["metadata"]["annotations"].get(SELECTED_NODE)
    return node


async def orphans_told(cluster: StoryCluster) -> list[str]:
    return [said for reason, said in await cluster.events("data") if reason == "IntentOrphaned"]


async def test_a_claim_is_freed_and_told_when_the_node_of_its_provisioner_goes() -> None:
    async with a_volume_half_made_on_node_0() as (cluster, _):
        await cluster.wait(ENOUGH)
        assert (await selected_node(cluster), await orphans_told(cluster)) == ("node-0", [])
        await cluster.delete("Node", "node-0")
        await cluster.wait(BEGUN)
        assert await selected_node(cluster) is None
        (told,) = await orphans_told(cluster)
        assert "Node node-0 is gone" in told
        assert await states(cluster) == ["Calling"], "only its provisioner writes an intent"
        metrics = cluster.controllers[0].tools.metrics.registry
        assert metrics.get_sample_value("plimsoll_controller_intents_orphaned") == 1


async def test_a_node_that_comes_back_settles_what_it_began() -> None:
    async with a_volume_half_made_on_node_0() as (cluster, storage):
        await cluster.delete("Node", "node-0")
        await cluster.wait(BEGUN)
        await add_storage_nodes(cluster, {"node-0": HOSTS["node-0"]})
        async with a_provisioner(cluster, storage, ON_NODE_0, seed=2):
            await cluster.wait(ENOUGH)
            assert (storage.ids, await states(cluster)) == ([], ["Undone"])
            await cluster.delete("PersistentVolumeClaim", "data")
            await cluster.wait(ENOUGH)
            assert await states(cluster) == []
        metrics = cluster.controllers[0].tools.metrics.registry
        assert metrics.get_sample_value("plimsoll_controller_intents_orphaned") == 0
