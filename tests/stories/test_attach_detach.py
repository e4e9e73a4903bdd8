"""Volumes follow their pods from node to node, and never leave a node that uses them."""

from datetime import timedelta
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.crashes import CrashScenario, assert_same_end
from plimsoll.simulator.stories.objects import claim, pod, uses, volume

LOOP = "attach-detach"
UNIQUE = "kubernetes.io/csi/disk.example.com^handle-volume-1"


async def a_bound_claim(
    cluster: StoryCluster,
    modes: tuple[str, ...] = ("ReadWriteOnce",),
    *,
    affinity: Document | None = None,
    **spec: Any,
) -> None:
    await cluster.create(claim(volume="volume-1"))
    found = await cluster.get("PersistentVolumeClaim", "data")
    reference = {
        "kind": "PersistentVolumeClaim",
        "namespace": "default",
        "name": "data",
        "uid": found["metadata"]["uid"],
    }
    whole = {"accessModes": list(modes)} | spec
    await cluster.create(volume(claim_ref=reference, affinity=affinity, spec=whole))
    for kind, name in (("PersistentVolumeClaim", "data"), ("PersistentVolume", "volume-1")):
        await cluster.patch(kind, name, {"status": {"phase": "Bound"}}, subresource="status")


async def attachments(cluster: StoryCluster) -> dict[str, bool]:
    """By node, whether the attacher has carried it out."""
    found = await cluster.all("VolumeAttachment")
    return {a["spec"]["nodeName"]: a["status"]["attached"] for a in found}


async def carry_out(cluster: StoryCluster) -> None:
    """What an attacher does."""
    for found in await cluster.all("VolumeAttachment"):
        name = found["metadata"]["name"]
        patch = {"status": {"attached": True}}
        await cluster.patch("VolumeAttachment", name, patch, subresource="status")
    await cluster.settle()


async def report_use(cluster: StoryCluster, node: str, *devices: str) -> None:
    patch = {"status": {"volumesInUse": list(devices) or None}}
    await cluster.patch("Node", node, patch, subresource="status")


async def attached_to(cluster: StoryCluster, node: str) -> list[str]:
    found = await cluster.get("Node", node)
    return [v["name"] for v in found["status"].get("volumesAttached", ())]


async def two_nodes(cluster: StoryCluster) -> None:
    await cluster.add_node("node-1")
    await cluster.add_node("node-2")


async def test_a_volume_is_attached_for_a_pod_and_detached_after_it() -> None:
    async with a_cluster(LOOP) as cluster:
        await two_nodes(cluster)
        await a_bound_claim(cluster)
        await cluster.create(pod(volumes=[uses("data")]))
        await cluster.settle()
        assert await attachments(cluster) == {}
        await cluster.bind("web", "node-1")
        await cluster.settle()
        assert await attachments(cluster) == {"node-1": False}
        assert await attached_to(cluster, "node-1") == []

        await carry_out(cluster)
        assert await attached_to(cluster, "node-1") == [UNIQUE]
        assert await cluster.events("web") == [
            ("SuccessfulAttachVolume", 'AttachVolume.Attach succeeded for volume "volume-1" ')
        ]

        await report_use(cluster, "node-1", UNIQUE)
        await cluster.delete("Pod", "web", grace=0)
        await cluster.wait(timedelta(minutes=10))
        assert await attachments(cluster) == {"node-1": True}
        await report_use(cluster, "node-1")
        await cluster.settle()
        assert await attachments(cluster) == {}
        assert await attached_to(cluster, "node-1") == []


async def test_a_second_node_gets_the_volume_when_the_first_has_let_go() -> None:
    async with a_cluster(LOOP) as cluster:
        await two_nodes(cluster)
        await a_bound_claim(cluster)
        await cluster.create(pod("a", volumes=[uses("data")], node="node-1"))
        await cluster.settle()
        await carry_out(cluster)
        await report_use(cluster, "node-1", UNIQUE)
        await cluster.create(pod("b", volumes=[uses("data")], node="node-2"))
        await cluster.wait(timedelta(minutes=2))
        assert await attachments(cluster) == {"node-1": True}
        assert await cluster.events("b") == [
            (
                "FailedAttachVolume",
                'Multi-Attach error for volume "volume-1" Volume is already used by pod(s) a',
            )
        ]

        await cluster.delete("Pod", "a", grace=0)
        await report_use(cluster, "node-1")
        await cluster.settle()
        assert await attachments(cluster) == {"node-2": False}


async def test_a_shared_volume_is_attached_to_both() -> None:
    async with a_cluster(LOOP) as cluster:
        await two_nodes(cluster)
        await a_bound_claim(cluster, ("ReadWriteMany",))
        await cluster.create(pod("a", volumes=[uses("data")], node="node-1"))
        await cluster.create(pod("b", volumes=[uses("data")], node="node-2"))
        await cluster.settle()
        assert await attachments(cluster) == {"node-1": False, "node-2": False}


async def test_a_broken_node_loses_the_volume_after_six_minutes() -> None:
    async with a_cluster(LOOP) as cluster:
        await two_nodes(cluster)
        await a_bound_claim(cluster)
        await cluster.create(pod("a", volumes=[uses("data")], node="node-1"))
        await cluster.settle()
        await carry_out(cluster)
        await report_use(cluster, "node-1", UNIQUE)
        unknown = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
        await cluster.patch(
            "Node", "node-1", {"status": {"conditions": [unknown]}}, subresource="status"
        )
        await cluster.delete("Pod", "a", grace=0)
        await cluster.wait(timedelta(minutes=5, seconds=50))
        assert await attachments(cluster) == {"node-1": True}
        await cluster.wait(timedelta(seconds=15))
        assert await attachments(cluster) == {}


async def test_a_driver_that_needs_no_attaching_gets_none() -> None:
    driver = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": "disk.example.com"},
        "spec": {"attachRequired": False},
    }
    async with a_cluster(LOOP) as cluster:
        await cluster.add_node("node-1")
        await cluster.create(driver)
        await a_bound_claim(cluster)
        await cluster.create(pod("a", volumes=[uses("data")], node="node-1"))
        await cluster.settle()
        assert await attachments(cluster) == {}


async def test_an_attachment_outlives_a_restart_and_the_volume_object() -> None:
    async with a_cluster(LOOP) as cluster:
        await cluster.add_node("node-1")
        await a_bound_claim(cluster)
        await cluster.create(pod("a", volumes=[uses("data")], node="node-1"))
        await cluster.settle()
        await carry_out(cluster)
        await cluster.kill_controllers()
        await cluster.delete("Pod", "a", grace=0)
        await cluster.patch("PersistentVolume", "volume-1", {"metadata": {"finalizers": None}})
        await cluster.delete("PersistentVolume", "volume-1")
        await cluster.start(LOOP)
        await cluster.settle()
        assert await attachments(cluster) == {}
        assert await attached_to(cluster, "node-1") == []


async def test_a_controller_cut_off_at_any_write_comes_to_the_same_end() -> None:
    async def arrange(cluster: StoryCluster) -> None:
        await two_nodes(cluster)
        await a_bound_claim(cluster)
        await cluster.create(pod("a", volumes=[uses("data")], node="node-1"))
        await cluster.start(LOOP)
        await cluster.settle()
        await carry_out(cluster)
        await cluster.kill_controllers()
        await cluster.delete("Pod", "a", grace=0)
        await cluster.create(pod("b", volumes=[uses("data")], node="node-2"))

    async def look(cluster: StoryCluster) -> tuple[Any, ...]:
        found: list[Document] = await cluster.all("Node")
        return await attachments(cluster), [n["status"].get("volumesAttached") for n in found]

    end = await assert_same_end(CrashScenario(loops=(LOOP,), arrange=arrange, look=look))
    assert end == ({"node-2": False}, [None, None])
