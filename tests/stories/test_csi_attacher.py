"""Attachments are carried out by the driver, and end when the driver has ended them."""

from datetime import timedelta
from typing import Any

from grpc import StatusCode

from plimsoll.api.registry import Document
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.crashes import CrashScenario, assert_same_end
from plimsoll.simulator.stories.csi_plugin import DRIVER, Plugin, PluginDisk, with_plugin
from plimsoll.simulator.stories.objects import pod, uses
from plimsoll.wire.csi.gen import csi_pb2 as csi
from tests.stories.test_attach_detach import UNIQUE, a_bound_claim, attached_to, report_use

FINALIZER = "external-attacher/disk-example-com"
HANDLE = "handle-volume-1"


def a_plugin(**facts: Any) -> Plugin:
    return Plugin(disks={HANDLE: PluginDisk()}, **facts)


async def two_nodes(cluster: StoryCluster) -> None:
    for name in ("node-1", "node-2"):
        await cluster.add_node(name)
        driver = {"name": DRIVER, "nodeID": f"id-{name}", "topologyKeys": None}
        await cluster.create(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "CSINode",
                "metadata": {"name": name},
                "spec": {"drivers": [driver]},
            }
        )


async def attachment(cluster: StoryCluster) -> Document:
    (found,) = await cluster.all("VolumeAttachment")
    return found


async def a_used_volume(cluster: StoryCluster, **spec: Any) -> None:
    await two_nodes(cluster)
    await a_bound_claim(cluster)
    if spec:
        await cluster.patch("PersistentVolume", "volume-1", {"spec": spec})
    await cluster.create(pod("a", volumes=[uses("data")], node="node-1"))


async def test_a_volume_is_published_for_a_pod_and_unpublished_after_it() -> None:
    plugin = a_plugin()
    async with a_cluster("attach-detach", more=with_plugin(plugin, "csi-attacher")) as cluster:
        await a_used_volume(cluster)
        await cluster.settle()
        found = await attachment(cluster)
        assert found["status"] == {"attached": True, "attachmentMetadata": {"lun": "7"}}
        assert found["metadata"]["finalizers"] == [FINALIZER]
        volume = await cluster.get("PersistentVolume", "volume-1")
        assert FINALIZER in volume["metadata"]["finalizers"]
        assert plugin.disks[HANDLE].nodes == {"id-node-1"}
        assert await attached_to(cluster, "node-1") == [UNIQUE]

        await report_use(cluster, "node-1", UNIQUE)
        await cluster.delete("Pod", "a", grace=0)
        await cluster.wait(timedelta(minutes=1))
        assert plugin.disks[HANDLE].nodes == {"id-node-1"}
        await report_use(cluster, "node-1")
        await cluster.settle()
        assert plugin.disks[HANDLE].nodes == set()
        assert await cluster.all("VolumeAttachment") == []


async def test_the_volume_moves_to_another_node_only_when_it_has_left_the_first() -> None:
    plugin = a_plugin()
    plugin.fail("ControllerUnpublishVolume", StatusCode.INTERNAL, times=3)
    async with a_cluster("attach-detach", more=with_plugin(plugin, "csi-attacher")) as cluster:
        await a_used_volume(cluster)
        await cluster.settle()
        await cluster.delete("Pod", "a", grace=0)
        await cluster.create(pod("b", volumes=[uses("data")], node="node-2"))
        await cluster.wait(timedelta(minutes=1))
        assert plugin.disks[HANDLE].nodes == {"id-node-2"}
        assert (await attachment(cluster))["spec"]["nodeName"] == "node-2"


async def test_a_failure_is_shown_and_overcome() -> None:
    plugin = a_plugin()
    plugin.fail("ControllerPublishVolume", StatusCode.RESOURCE_EXHAUSTED, "too many", times=7)
    async with a_cluster("attach-detach", more=with_plugin(plugin, "csi-attacher")) as cluster:
        await a_used_volume(cluster)
        await cluster.settle(timedelta(milliseconds=100))
        error = (await attachment(cluster))["status"]["attachError"]
        assert error["message"] == "rpc error: code = ResourceExhausted desc = too many"
        assert error["errorCode"] == 8
        await cluster.wait(timedelta(minutes=1))
        assert (await attachment(cluster))["status"]["attached"] is True
        assert "attachError" not in (await attachment(cluster))["status"]
        assert len(plugin.calls("ControllerPublishVolume")) == 8
        reasons = [reason for reason, _ in await cluster.events("a")]
        assert reasons == ["FailedAttachVolume", "SuccessfulAttachVolume"]


async def test_retries_become_rare() -> None:
    plugin = a_plugin()
    plugin.fail("ControllerPublishVolume", StatusCode.INTERNAL, times=1000)
    async with a_cluster("attach-detach", more=with_plugin(plugin, "csi-attacher")) as cluster:
        await a_used_volume(cluster)
        await cluster.wait(timedelta(hours=1))
        assert len(plugin.calls("ControllerPublishVolume")) < 60


async def test_without_the_drivers_name_for_the_node_nothing_is_published() -> None:
    plugin = a_plugin()
    async with a_cluster("attach-detach", more=with_plugin(plugin, "csi-attacher")) as cluster:
        await cluster.add_node("node-1")
        await a_bound_claim(cluster)
        await cluster.create(pod("a", volumes=[uses("data")], node="node-1"))
        await cluster.settle()
        error = (await attachment(cluster))["status"]["attachError"]
        assert error["message"] == 'csinode.storage.k8s.io "node-1" not found'
        assert plugin.calls("ControllerPublishVolume") == []


async def test_a_node_that_is_gone_is_remembered_for_the_detachment() -> None:
    plugin = a_plugin()
    async with a_cluster("attach-detach", more=with_plugin(plugin, "csi-attacher")) as cluster:
        await a_used_volume(cluster)
        await cluster.settle()
        await cluster.delete("CSINode", "node-1")
        await cluster.delete("Pod", "a", grace=0)
        await cluster.settle()
        assert plugin.disks[HANDLE].nodes == set()


async def test_a_driver_that_does_not_publish_has_its_attachments_at_once() -> None:
    plugin = a_plugin(capabilities=("EXPAND_VOLUME",))
    async with a_cluster("attach-detach", more=with_plugin(plugin, "csi-attacher")) as cluster:
        await a_used_volume(cluster)
        await cluster.settle()
        found = await attachment(cluster)
        assert found["status"] == {"attached": True}
        assert "finalizers" not in found["metadata"]
        await cluster.delete("Pod", "a", grace=0)
        await cluster.settle()
        assert await cluster.all("VolumeAttachment") == []


async def test_attachments_wait_for_a_driver_and_survive_its_restart() -> None:
    plugin = a_plugin(is_there=False)
    async with a_cluster("attach-detach", more=with_plugin(plugin, "csi-attacher")) as cluster:
        await a_used_volume(cluster)
        await cluster.wait(timedelta(minutes=1))
        assert (await attachment(cluster))["status"] == {"attached": False}
        plugin.is_there = True
        await cluster.settle()
        assert (await attachment(cluster))["status"]["attached"] is True
        plugin.is_there = False
        await cluster.wait(timedelta(minutes=1))
        await cluster.delete("Pod", "a", grace=0)
        await cluster.wait(timedelta(minutes=1))
        assert plugin.disks[HANDLE].nodes == {"id-node-1"}
        plugin.is_there = True
        await cluster.settle(timedelta(seconds=15))
        assert plugin.disks[HANDLE].nodes == set()
        assert await cluster.all("VolumeAttachment") == []


async def test_a_volume_that_is_deleted_is_kept_until_it_is_attached_nowhere() -> None:
    plugin = a_plugin()
    plugin.fail("ControllerUnpublishVolume", StatusCode.INTERNAL, times=10)
    async with a_cluster("attach-detach", more=with_plugin(plugin, "csi-attacher")) as cluster:
        await a_used_volume(cluster)
        await cluster.settle()
        await cluster.delete("PersistentVolume", "volume-1")
        await cluster.delete("Pod", "a", grace=0)
        await cluster.settle()
        volume = await cluster.get("PersistentVolume", "volume-1")
        assert FINALIZER in volume["metadata"]["finalizers"]
        await cluster.wait(timedelta(minutes=5))
        volume = await cluster.get("PersistentVolume", "volume-1")
        assert volume["metadata"]["finalizers"] == ["kubernetes.io/pv-protection"]


async def test_the_driver_alone_gets_the_secret() -> None:
    plugin = a_plugin()
    word = "correct-horse"
    plugin.fail("ControllerPublishVolume", StatusCode.INTERNAL, f"{word} is wrong", times=7)
    secret = {"apiVersion": "v1", "kind": "Secret", "stringData": {"password": word}}
    async with a_cluster("attach-detach", more=with_plugin(plugin, "csi-attacher")) as cluster:
        await cluster.create(secret | {"metadata": {"name": "keys", "namespace": "default"}})
        reference = {"name": "keys", "namespace": "default"}
        source = {"driver": DRIVER, "volumeHandle": HANDLE, "controllerPublishSecretRef": reference}
        await two_nodes(cluster)
        await a_bound_claim(cluster, csi=source)
        await cluster.create(pod("a", volumes=[uses("data")], node="node-1"))
        await cluster.wait(timedelta(minutes=1))
        for call in plugin.calls("ControllerPublishVolume"):
            assert isinstance(call, csi.ControllerPublishVolumeRequest)
            assert dict(call.secrets) == {"password": word}
        everything = [await cluster.all(k) for k in ("VolumeAttachment", "Event", "Node", "Pod")]
        assert word not in str(everything)
        assert "desc = *** is wrong" in str(await cluster.all("Event"))


async def test_a_missing_secret_is_named_and_waited_for() -> None:
    plugin = a_plugin()
    async with a_cluster("attach-detach", more=with_plugin(plugin, "csi-attacher")) as cluster:
        reference = {"name": "keys", "namespace": "default"}
        source = {"driver": DRIVER, "volumeHandle": HANDLE, "controllerPublishSecretRef": reference}
        await two_nodes(cluster)
        await a_bound_claim(cluster, csi=source)
        await cluster.create(pod("a", volumes=[uses("data")], node="node-1"))
        await cluster.settle()
        error = (await attachment(cluster))["status"]["attachError"]
        assert error["message"] == "secret default/keys does not exist"
        metadata = {"name": "keys", "namespace": "default"}
        await cluster.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})
        await cluster.wait(timedelta(minutes=1))
        assert (await attachment(cluster))["status"]["attached"] is True


async def test_a_controller_cut_off_at_any_write_comes_to_the_same_end() -> None:
    """The pod has moved from one node to the other: detach there, attach here."""
    plugins: list[Plugin] = []

    async def arrange(cluster: StoryCluster) -> None:
        plugin = a_plugin()
        plugins.append(plugin)
        scenario.more.update(with_plugin(plugin, "csi-attacher"))  # type: ignore[attr-defined]  # a dict
        await a_used_volume(cluster)
        await cluster.start("attach-detach", more=scenario.more)
        await cluster.settle()
        await cluster.kill_controllers()
        await cluster.delete("Pod", "a", grace=0)
        await cluster.create(pod("b", volumes=[uses("data")], node="node-2"))

    async def look(cluster: StoryCluster) -> Any:
        found = await attachment(cluster)
        status = [n["status"].get("volumesAttached") for n in await cluster.all("Node")]
        facts = (found["spec"]["nodeName"], found["status"], found["metadata"]["finalizers"])
        return facts, status, plugins[-1].disks[HANDLE].nodes, plugins[-1].effects

    scenario = CrashScenario(loops=("attach-detach",), arrange=arrange, look=look, more={})
    end = await assert_same_end(scenario)
    assert end[0][0] == "node-2"
    assert end[2] == {"id-node-2"}
    assert end[3] == {"published": 2, "unpublished": 1}
