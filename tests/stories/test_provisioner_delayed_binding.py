"""Claims that wait for a pod: the scheduler selects a node, the provisioner has a volume made."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta

import msgspec
import pytest

from plimsoll.api.registry import Document
from plimsoll.processes.provisioner.settings import ProvisionerFlags
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.schedulers import (
    SELECTED_NODE,
    a_claim,
    a_pod,
    a_scheduler,
    add_node,
    node_of,
    scheduled_condition,
    volume_of,
)
from plimsoll.simulator.stories.sidecars import (
    PLAIN,
    ZONE,
    ZONES,
    Nodes,
    StoryStorage,
    a_class,
    a_csi_driver,
    a_provisioner,
    a_storage,
    add_storage_nodes,
    full,
    pool,
    published,
    register_driver,
    told_zones,
    unregister_driver,
    zonal_pools,
)

LOOPS = ("binding", "claim-protection", "volume-protection", "ephemeral-volume")
STRICT = msgspec.structs.replace(PLAIN, strict_topology=True)
PUBLISHING = msgspec.structs.replace(PLAIN, enable_capacity=True)


@asynccontextmanager
async def a_world(
    pools: list[Document], nodes: Nodes = ZONES, settings: ProvisionerFlags = PLAIN
) -> AsyncIterator[tuple[StoryCluster, StoryStorage]]:
    """Controller, scheduler, provisioner and driver."""
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(a_cluster(*LOOPS))
        storage = await stack.enter_async_context(a_storage(cluster.clock, pools, nodes))
        await add_storage_nodes(cluster, nodes)
        await cluster.create(a_csi_driver(storage_capacity=settings.enable_capacity))
        await stack.enter_async_context(a_provisioner(cluster, storage, settings))
        await stack.enter_async_context(a_scheduler(cluster))
        yield cluster, storage


async def test_a_volume_is_made_where_the_pod_is_to_run() -> None:
    async with a_world(zonal_pools("10Gi", "10Gi", "10Gi")) as (cluster, storage):
        await cluster.create(a_class(), a_claim(class_name="fast"))
        await cluster.settle()
        assert storage.names == []
        await cluster.create(a_pod(claims=["data"]))
        await cluster.settle()
        node = await node_of(cluster, "web")
        volume = await volume_of(cluster, "data")
        assert storage.names == [volume]
        zone = node.removeprefix("node-")
        assert await told_zones(cluster, volume) == [zone]
        assert storage.pools_used == [(f"pool-{zone}",)]
        assert {
            (
                "Provisioning",
                'External provisioner is provisioning volume for claim "default/data"',
            ),
            ("ProvisioningSucceeded", f"Successfully provisioned volume {volume}"),
        } <= set(await cluster.events("data"))


async def test_without_strict_topology_the_driver_picks_a_zone_and_the_pod_follows() -> None:
    """No capacity is published: only the driver knows. It may leave the selected node's zone."""
    async with a_world(zonal_pools("1Mi", "1Mi", "10Gi")) as (cluster, storage):
        await cluster.create(
            a_class(), a_claim(class_name="fast", size="5Gi"), a_pod(claims=["data"])
        )
        await cluster.wait(timedelta(minutes=10))
        assert await node_of(cluster, "web") == "node-c"
        assert await told_zones(cluster, await volume_of(cluster, "data")) == ["c"]
        assert len(storage.names) == 1


@pytest.mark.parametrize(
    ("labels", "is_registered", "why"),
    [
        pytest.param({"zone": "a"}, False, "no topology key found", id="driver-not-registered"),
        pytest.param({}, True, "does not match topology keys", id="label-missing"),
    ],
)
async def test_a_node_that_the_driver_cannot_serve_is_taken_off_the_claim(
    labels: dict[str, str], why: str, *, is_registered: bool
) -> None:
    """And the next one that is selected is judged by its own labels."""
    async with a_cluster("binding") as cluster, a_storage(cluster.clock, zonal_pools("9Gi")) as s:
        await add_storage_nodes(cluster, {"node-a": {"zone": "a"}})
        await add_node(cluster, "node-x", labels=full(labels))
        await register_driver(cluster, "node-x", {"zone": "x"})
        if not is_registered:
            await unregister_driver(cluster, "node-x")
        claim = a_claim(class_name="fast")
        claim["metadata"]["annotations"] = {SELECTED_NODE: "node-x"}
        await cluster.create(a_class(), claim)
        async with a_provisioner(cluster, s, STRICT):
            await cluster.settle()
            found = await cluster.get("PersistentVolumeClaim", "data")
            assert SELECTED_NODE not in found["metadata"]["annotations"]
            told = await cluster.events("data")
            assert any(reason == "ProvisioningFailed" and why in text for reason, text in told)
            assert s.count("CreateVolume") == 0
            selected = {"metadata": {"annotations": {SELECTED_NODE: "node-a"}}}
            await cluster.patch("PersistentVolumeClaim", "data", selected)
            await cluster.settle()
            assert await told_zones(cluster, await volume_of(cluster, "data")) == ["a"]


async def test_the_provisioner_takes_the_selected_node_off_when_the_driver_has_no_capacity() -> (
    None
):
    """No scheduler runs: what it does next is told in `test_refused_nodes`."""
    async with a_cluster("binding") as cluster, a_storage(cluster.clock, zonal_pools("1Gi")) as s:
        await add_storage_nodes(cluster, {"node-a": {"zone": "a"}})
        claim = a_claim(class_name="fast", size="5Gi")
        claim["metadata"]["annotations"] = {SELECTED_NODE: "node-a"}
        await cluster.create(a_class(), claim)
        async with a_provisioner(cluster, s):
            await cluster.settle()
        found = await cluster.get("PersistentVolumeClaim", "data")
        assert SELECTED_NODE not in found["metadata"]["annotations"]
        assert any(
            reason == "ProvisioningFailed" and "code = ResourceExhausted" in message
            for reason, message in await cluster.events("data")
        )
        assert s.names == []


async def test_a_volume_in_two_zones_has_the_selected_one_and_another_allowed_one() -> None:
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": ["b", "c"]}]}]
    replicated = a_class(parameters={"domains": "2"}, allowedTopologies=allowed)
    async with a_world(zonal_pools("10Gi", "10Gi", "10Gi")) as (cluster, storage):
        await cluster.create(replicated, a_claim(class_name="fast"), a_pod(claims=["data"]))
        await cluster.settle()
        assert await node_of(cluster, "web") in ("node-b", "node-c")
        assert await told_zones(cluster, await volume_of(cluster, "data")) == ["b", "c"]
        assert storage.pools_used == [("pool-b", "pool-c")]


RACKS: Nodes = {
    f"node-{zone}{rack}": {"zone": zone, "rack": rack} for zone in "ab" for rack in "12"
}
RACK = ZONE.replace("zone", "rack")


async def test_a_class_of_several_labels_means_their_combinations() -> None:
    """Rack 2 of zone a and rack 1 of zone b, and not the other two."""
    allowed = [
        {
            "matchLabelExpressions": [
                {"key": ZONE, "values": [zone]},
                {"key": RACK, "values": [rack]},
            ]
        }
        for zone, rack in (("a", "2"), ("b", "1"))
    ]
    pools = [
        pool(f"pool-{zone}{rack}", "2Gi", topology={"zone": zone, "rack": rack})
        for zone in "ab"
        for rack in "12"
    ]
    async with a_world(pools, RACKS, PUBLISHING) as (cluster, storage):
        await cluster.create(a_class(allowedTopologies=allowed))
        await cluster.settle()
        for number in range(2):
            name = f"data-{number}"
            await cluster.create(
                a_claim(name, class_name="fast", size="2Gi"), a_pod(f"web-{number}", claims=[name])
            )
        await cluster.wait(timedelta(minutes=2))
        nodes = {await node_of(cluster, f"web-{number}") for number in range(2)}
        assert nodes == {"node-a2", "node-b1"}
        assert storage.pools_used == [("pool-a2",), ("pool-b1",)]


async def test_a_raw_block_claim_that_is_too_large_is_told_the_sizes() -> None:
    async with a_world(zonal_pools("10Gi", "20Gi"), settings=PUBLISHING) as (cluster, storage):
        await cluster.create(a_class())
        await cluster.settle()
        claim = a_claim(class_name="fast", size="50Gi")
        claim["spec"]["volumeMode"] = "Block"
        await cluster.create(claim, a_pod(claims=["data"]))
        await cluster.settle()
        assert await node_of(cluster, "web") == ""
        status, _, message = await scheduled_condition(cluster, "web")
        assert status == "False"
        assert "50Gi" in message
        assert "20Gi" in message
        assert storage.count("CreateVolume") == 0


HOSTS: Nodes = {f"node-{number}": {"host": f"node-{number}"} for number in range(2)}


def memory_pools(*sizes: str) -> list[Document]:
    return [
        pool(f"memory-{number}", size, kind="memory", topology={"host": f"node-{number}"})
        for number, size in enumerate(sizes)
    ]


def with_memory(name: str, size: str) -> Document:
    """A pod with a volume of its own."""
    template = {
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "memory",
            "resources": {"requests": {"storage": size}},
        }
    }
    volumes = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]
    return a_pod(name, volumes=volumes)


async def test_memory_for_a_pod_is_taken_where_it_is_left_and_given_back() -> None:
    settings = PUBLISHING
    async with a_world(memory_pools("1Gi", "4Gi"), HOSTS, settings) as (cluster, storage):
        await cluster.create(a_class("memory", parameters={"kind": "memory"}))
        await cluster.settle()
        await cluster.create(with_memory("first", "3Gi"))
        await cluster.settle()
        assert await node_of(cluster, "first") == "node-1"
        assert (await published(cluster))["memory", "node-1"] == "1Gi"
        await cluster.create(with_memory("second", "2Gi"))
        await cluster.settle()
        assert await node_of(cluster, "second") == ""
        await cluster.delete("Pod", "first", grace=0)
        await cluster.delete("PersistentVolumeClaim", "first-scratch")
        await cluster.wait(timedelta(minutes=1))
        assert await node_of(cluster, "second") == "node-1"
        assert len(storage.names) == 1
        assert (await published(cluster))["memory", "node-1"] == "2Gi"
