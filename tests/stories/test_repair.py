"""Repairs happen only if they were asked for, and slowly."""

from datetime import timedelta
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.decide.repair.repairs import RepairRule
from plimsoll.processes.controller.storage.repair import Repairs, RepairSettings
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.simulator.stories.cluster import Make, StoryCluster, a_cluster
from plimsoll.simulator.stories.crashes import CrashScenario, assert_same_end
from plimsoll.simulator.stories.objects import claim, config_map, pod, uses, volume
from tests.stories.test_attach_detach import a_bound_claim

SELECTED = "volume.kubernetes.io/selected-node"
LATE = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "fast"},
    "provisioner": "disk.example.com",
    "volumeBindingMode": "WaitForFirstConsumer",
}


def repair(*rules: RepairRule, **settings: Any) -> dict[str, Make]:
    def make(tools: Tools) -> Loop:
        return Repairs(tools, RepairSettings(rules=frozenset(rules), **settings))

    return {"repair": make}


def pinned_to(node: str) -> Document:
    term = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}}


async def selected_nodes(cluster: StoryCluster) -> dict[str, str | None]:
    found = await cluster.all("PersistentVolumeClaim")
    return {
        c["metadata"]["name"]: c["metadata"].get("annotations", {}).get(SELECTED) for c in found
    }


async def a_bound_pair(cluster: StoryCluster, node: str, policy: str = "Delete") -> None:
    affinity = pinned_to(node)
    await a_bound_claim(cluster, affinity=affinity, persistentVolumeReclaimPolicy=policy)


async def test_without_being_asked_for_nothing_is_repaired() -> None:
    async with a_cluster("repair") as cluster:
        await cluster.create(claim(annotations={SELECTED: "gone"}))
        await cluster.create(volume("lost", affinity=pinned_to("gone")))
        await cluster.wait(timedelta(hours=3))
        assert cluster.controllers[0].writes == 0


async def test_a_selected_node_that_is_gone_is_taken_off_the_claim() -> None:
    async with a_cluster(more=repair(RepairRule.SELECTED_NODE)) as cluster:
        await cluster.add_node("node-1")
        await cluster.create(claim("a", annotations={SELECTED: "gone"}))
        await cluster.create(claim("b", annotations={SELECTED: "node-1"}))
        await cluster.wait(timedelta(seconds=50))
        assert (await selected_nodes(cluster))["a"] == "gone"
        await cluster.wait(timedelta(seconds=30))
        assert await selected_nodes(cluster) == {"a": None, "b": "node-1"}
        ((reason, message),) = await cluster.events("a")
        assert reason == "RepairedSelectedNode"
        assert message == (
            "The selected node gone is gone, so it is taken off the claim and the scheduler "
            "chooses another."
        )


async def test_a_dry_run_tells_once_and_changes_nothing() -> None:
    async with a_cluster(more=repair(RepairRule.SELECTED_NODE, dry_run=True)) as cluster:
        await cluster.create(claim(annotations={SELECTED: "gone"}))
        await cluster.wait(timedelta(minutes=10))
        assert await selected_nodes(cluster) == {"data": "gone"}
        assert [reason for reason, _ in await cluster.events("data")] == ["RepairRehearsed"]
        assert cluster.controllers[0].writes == 1


async def test_a_dry_run_tells_again_before_its_events_are_gone() -> None:
    async with a_cluster(more=repair(RepairRule.SELECTED_NODE, dry_run=True)) as cluster:
        await cluster.create(claim(annotations={SELECTED: "gone"}))
        await cluster.wait(timedelta(minutes=35))
        assert cluster.controllers[0].writes == 2


async def test_repairs_are_made_a_few_at_a_time() -> None:
    async with a_cluster(more=repair(RepairRule.SELECTED_NODE, per_minute=2)) as cluster:
        await cluster.create(*(claim(f"c{n}", annotations={SELECTED: "gone"}) for n in range(5)))

        async def left() -> int:
            return list((await selected_nodes(cluster)).values()).count("gone")

        await cluster.wait(timedelta(seconds=75))
        assert await left() == 3
        await cluster.wait(timedelta(seconds=60))
        assert await left() == 1
        await cluster.wait(timedelta(seconds=60))
        assert await left() == 0


async def test_a_pod_put_on_a_node_directly_gets_its_volume_there() -> None:
    async with a_cluster(more=repair(RepairRule.DIRECT_NODE)) as cluster:
        await cluster.add_node("node-1")
        await cluster.create(LATE, claim("a"), claim("b"))
        await cluster.create(pod("a", volumes=[uses("a")], node="node-1"))
        await cluster.create(pod("b", volumes=[uses("b")]))
        await cluster.wait(timedelta(seconds=15))
        assert await selected_nodes(cluster) == {"a": "node-1", "b": None}


async def test_a_volume_of_a_node_gone_for_long_is_given_up_with_its_claim() -> None:
    rules = repair(RepairRule.LOST_NODE_VOLUMES)
    async with a_cluster("claim-protection", "volume-protection", "binding", more=rules) as cluster:
        await cluster.add_node("node-1", **{"kubernetes_io/hostname": "node-1"})
        await a_bound_pair(cluster, "node-1")
        await cluster.wait(timedelta(hours=2))
        await cluster.delete("Node", "node-1")
        await cluster.wait(timedelta(minutes=59))
        assert await cluster.find("PersistentVolume", "volume-1") is not None
        await cluster.wait(timedelta(minutes=3))
        assert await cluster.find("PersistentVolumeClaim", "data") is None
        assert await cluster.find("PersistentVolume", "volume-1") is None


async def test_a_volume_to_be_retained_or_in_use_is_never_given_up() -> None:
    rules = repair(RepairRule.LOST_NODE_VOLUMES)
    for policy, node in (("Retain", ""), ("Delete", "node-2")):
        async with a_cluster(more=rules) as cluster:
            await cluster.add_node("node-2")
            await a_bound_pair(cluster, "gone", policy)
            await cluster.create(pod(volumes=[uses("data")], node=node))
            await cluster.wait(timedelta(hours=5))
            assert cluster.controllers[0].writes == 0


async def test_capacity_whose_publisher_is_gone_is_deleted() -> None:
    async with a_cluster(more=repair(RepairRule.ORPHANED_CAPACITY)) as cluster:
        await cluster.create(LATE, config_map("publisher"))
        owner = await cluster.get("ConfigMap", "publisher")
        reference = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "publisher",
            "uid": owner["metadata"]["uid"],
        }

        def capacity(name: str, references: list[Document]) -> Document:
            return {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "CSIStorageCapacity",
                "metadata": {
                    "name": name,
                    "namespace": "default",
                    "labels": {"csi.storage.k8s.io/managed-by": "external-provisioner"},
                    "ownerReferences": references,
                },
                "storageClassName": "fast",
                "nodeTopology": {"matchLabels": {"rack": "1"}},
            }

        await cluster.create(capacity("owned", [reference]), capacity("free", []))
        await cluster.wait(timedelta(minutes=1))
        assert await cluster.names("CSIStorageCapacity") == ["free", "owned"]
        await cluster.delete("ConfigMap", "publisher")
        await cluster.wait(timedelta(minutes=1))
        assert await cluster.names("CSIStorageCapacity") == ["free"]


async def test_a_controller_cut_off_between_claim_and_volume_finishes_later() -> None:
    async def arrange(cluster: StoryCluster) -> None:
        await a_bound_pair(cluster, "gone")

    async def look(cluster: StoryCluster) -> tuple[list[str], list[str]]:
        volumes = await cluster.names("PersistentVolume")
        return await cluster.names("PersistentVolumeClaim"), volumes

    scenario = CrashScenario(
        loops=("claim-protection", "volume-protection", "binding"),
        arrange=arrange,
        look=look,
        takes=timedelta(hours=2),
        more=repair(RepairRule.LOST_NODE_VOLUMES),
    )
    assert await assert_same_end(scenario) == ([], [])
