"""Several provisioners of one driver: one for each node, or copies of which one leads."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta

import msgspec
import pytest

from plimsoll.decide.repair.repairs import RepairRule
from plimsoll.enact.leading import LeadershipLostError
from plimsoll.processes.controller.storage.repair import Repairs, RepairSettings
from plimsoll.processes.provisioner.settings import ProvisionerFlags
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.objects import claim
from plimsoll.simulator.stories.schedulers import (
    SELECTED_NODE,
    a_claim,
    a_pod,
    a_scheduler,
    node_of,
    volume_of,
)
from plimsoll.simulator.stories.sidecars import (
    PLAIN,
    Nodes,
    RunningProvisioner,
    StoryStorage,
    a_class,
    a_csi_driver,
    a_provisioner,
    a_storage,
    add_storage_nodes,
    is_announcement,
    pool,
    published,
    zonal_pools,
)

LOOPS = ("binding", "claim-protection", "volume-protection")
HOSTS: Nodes = {f"node-{number}": {"host": f"node-{number}"} for number in range(3)}


def on_node(node: str, **fields: object) -> ProvisionerFlags:
    changed = {"node_deployment": True, "node_name": node, "enable_capacity": True, **fields}
    return msgspec.structs.replace(PLAIN, **changed)


@asynccontextmanager
async def on_each_node(
    *sizes: str, **fields: object
) -> AsyncIterator[tuple[StoryCluster, StoryStorage, dict[str, RunningProvisioner]]]:
    pools = [
        pool(f"disk-{number}", size, topology={"host": f"node-{number}"})
        for number, size in enumerate(sizes)
    ]
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(a_cluster(*LOOPS))
        storage = await stack.enter_async_context(a_storage(cluster.clock, pools, HOSTS))
        await add_storage_nodes(cluster, HOSTS)
        await cluster.create(a_csi_driver())
        running = {
            node: await stack.enter_async_context(
                a_provisioner(cluster, storage, on_node(node, **fields), seed=number)
            )
            for number, node in enumerate(HOSTS, start=1)
        }
        yield cluster, storage, running


async def test_each_node_serves_the_claims_that_were_put_on_it() -> None:
    async with on_each_node("5Gi", "5Gi", "5Gi") as (cluster, storage, _):
        await cluster.create(a_class())
        for node in HOSTS:
            await cluster.create(claim(f"data-{node}", annotations={SELECTED_NODE: node}))
        await cluster.settle()
        assert storage.count("CreateVolume") == 3
        assert storage.pools_used == [("disk-0",), ("disk-1",), ("disk-2",)]
        for node in HOSTS:
            await cluster.delete("PersistentVolumeClaim", f"data-{node}")
        await cluster.wait(timedelta(minutes=2))
        assert storage.names == []
        assert storage.count("DeleteVolume") == 3


async def test_a_pod_goes_where_a_nodes_own_provisioner_says_there_is_capacity() -> None:
    async with on_each_node("1Gi", "8Gi", "2Gi") as (cluster, _, _), a_scheduler(cluster):
        await cluster.create(a_class())
        await cluster.settle()
        assert await published(cluster) == {
            ("fast", "node-0"): "1Gi",
            ("fast", "node-1"): "8Gi",
            ("fast", "node-2"): "2Gi",
        }
        await cluster.create(a_claim(class_name="fast", size="5Gi"), a_pod(claims=["data"]))
        await cluster.settle()
        assert await node_of(cluster, "web") == "node-1"
        assert await volume_of(cluster, "data")
        assert (await published(cluster))["fast", "node-1"] == "3Gi"


async def test_each_publisher_has_its_own_objects_and_its_own_lease() -> None:
    async with on_each_node("1Gi", "1Gi", "1Gi") as (cluster, _, _):
        await cluster.create(a_class())
        await cluster.settle()
        publishers = {
            each["metadata"]["labels"]["csi.storage.k8s.io/managed-by"]
            for each in await cluster.all("CSIStorageCapacity")
        }
        assert publishers == {f"external-provisioner-{node}" for node in HOSTS}
        leases = [each for each in await cluster.all("Lease") if not is_announcement(each)]
        assert publishers == {
            each["metadata"]["labels"]["csi.storage.k8s.io/managed-by"] for each in leases
        }


async def test_a_claim_that_waits_for_no_pod_is_taken_by_exactly_one_node() -> None:
    async with on_each_node("1Gi", "8Gi", "8Gi") as (cluster, storage, _):
        large = a_claim("large", class_name="now", size="5Gi")
        await cluster.create(a_class("now", waits=False), large)
        await cluster.wait(timedelta(minutes=2))
        assert await volume_of(cluster, "large") == storage.names[0]
        assert storage.count("CreateVolume") == 1
        taken = await cluster.get("PersistentVolumeClaim", "large")
        assert taken["metadata"]["annotations"][SELECTED_NODE] in ("node-1", "node-2")


async def test_a_claim_that_no_node_has_capacity_for_is_served_when_one_has() -> None:
    async with on_each_node("5Gi", "1Gi", "1Gi") as (cluster, storage, _):
        first = a_claim("first", class_name="now", size="5Gi")
        await cluster.create(a_class("now", waits=False), first)
        await cluster.wait(timedelta(minutes=2))
        await cluster.create(a_claim("second", class_name="now", size="4Gi"))
        await cluster.wait(timedelta(minutes=3))
        assert await volume_of(cluster, "second") == ""
        await cluster.delete("PersistentVolumeClaim", "first")
        await cluster.wait(timedelta(minutes=5))
        assert storage.names == [await volume_of(cluster, "second")]


async def test_a_claim_put_on_a_node_does_not_wait_behind_those_that_nodes_compete_for() -> None:
    async with on_each_node("9Gi", "9Gi", "9Gi", worker_threads=1) as (cluster, storage, _):
        await cluster.create(a_class("now", waits=False), a_class())
        for number in range(3):
            await cluster.create(claim(f"now-{number}", class_name="now"))
        await cluster.settle(timedelta(milliseconds=100))
        await cluster.create(claim("placed", annotations={SELECTED_NODE: "node-1"}))
        await cluster.settle(timedelta(milliseconds=500))
        assert await volume_of(cluster, "placed")
        await cluster.wait(timedelta(minutes=3))
        assert len(storage.names) == 4
        assert storage.count("CreateVolume") == 4


LEADING = msgspec.structs.replace(PLAIN, leader_election=True, leader_election_namespace="storage")


async def test_of_two_copies_one_works_and_the_other_follows() -> None:
    async with (
        a_cluster(*LOOPS) as cluster,
        a_storage(cluster.clock, zonal_pools("10Gi")) as storage,
    ):
        await add_storage_nodes(cluster, {"node-a": {"zone": "a"}})
        await cluster.create(a_class(waits=False), claim("first"))
        async with (
            a_provisioner(cluster, storage, LEADING, seed=1) as leader,
            a_provisioner(cluster, storage, LEADING, seed=2) as other,
        ):
            await cluster.settle()
            assert (leader.begun, other.begun) == (["pools.test"], [])
            leases = [each for each in await cluster.all("Lease") if not is_announcement(each)]
            assert [each["metadata"]["name"] for each in leases] == ["pools-test"]
            assert await volume_of(cluster, "first")
            await leader.kill()
            await cluster.create(claim("second"))
            await cluster.wait(timedelta(minutes=1))
            assert other.begun == ["pools.test"]
            assert await volume_of(cluster, "second")
            assert storage.count("CreateVolume") == 2


async def test_a_leader_that_loses_its_lease_ends() -> None:
    async with (
        a_cluster(*LOOPS) as cluster,
        a_storage(cluster.clock, zonal_pools("10Gi")) as storage,
    ):
        await add_storage_nodes(cluster, {"node-a": {"zone": "a"}})
        provisioner = RunningProvisioner(cluster, storage, LEADING)
        await provisioner.start()
        await cluster.settle()
        provisioner.transport.rule = lambda request: 500 if "leases" in request.path else 0
        await cluster.wait(timedelta(minutes=1))
        assert provisioner.has_ended
        with pytest.raises(LeadershipLostError):
            provisioner.check()


async def test_what_a_node_that_is_gone_had_published_is_deleted_by_repair() -> None:
    async with on_each_node("1Gi", "1Gi", "1Gi") as (cluster, _, running):
        rules = RepairSettings(rules=frozenset({RepairRule.ORPHANED_CAPACITY}))
        await cluster.start(more={"repair": lambda tools: Repairs(tools, rules)})
        await cluster.create(a_class())
        await cluster.settle()
        await running["node-1"].kill()
        for kind in ("Node", "CSINode"):
            await cluster.delete(kind, "node-1")
        await cluster.wait(timedelta(minutes=5))
        assert len(await published(cluster)) == 3
        await cluster.wait(timedelta(minutes=15))
        assert {where for _, where in await published(cluster)} == {"node-0", "node-2"}
