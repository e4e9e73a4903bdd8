"""Claims that ask for more get it, on the driver's side and on the node's, or learn why not."""

from datetime import timedelta
from typing import Any

from grpc import StatusCode

from plimsoll.api.registry import Document
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.crashes import CrashScenario, assert_same_end
from plimsoll.simulator.stories.csi_plugin import DRIVER, GIB, Plugin, PluginDisk, with_plugin
from plimsoll.simulator.stories.objects import pod, uses
from tests.stories.test_attach_detach import a_bound_claim

HANDLE = "handle-volume-1"


def a_plugin(**facts: Any) -> Plugin:
    return Plugin(disks={HANDLE: PluginDisk()}, **facts)


async def a_claim_to_grow(cluster: StoryCluster, **spec: Any) -> None:
    await cluster.create(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "fast"},
            "provisioner": DRIVER,
            "allowVolumeExpansion": True,
        }
    )
    await a_bound_claim(cluster, **spec)
    status = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
    await cluster.patch("PersistentVolumeClaim", "data", {"status": status}, subresource="status")


async def ask_for(cluster: StoryCluster, size: str) -> None:
    patch = {"spec": {"resources": {"requests": {"storage": size}}}}
    await cluster.patch("PersistentVolumeClaim", "data", patch)


async def status(cluster: StoryCluster) -> Document:
    found: Document = (await cluster.get("PersistentVolumeClaim", "data"))["status"]
    return found


async def conditions(cluster: StoryCluster) -> list[str]:
    return [condition["type"] for condition in (await status(cluster)).get("conditions", ())]


async def volume_size(cluster: StoryCluster) -> str:
    found = await cluster.get("PersistentVolume", "volume-1")
    return str(found["spec"]["capacity"]["storage"])


async def grow_on_node(cluster: StoryCluster) -> None:
    """What a node does that has the volume."""
    patch = {
        "capacity": {"storage": await volume_size(cluster)},
        "conditions": None,
        "allocatedResourceStatuses": {"storage": None},
    }
    await cluster.patch("PersistentVolumeClaim", "data", {"status": patch}, subresource="status")


async def test_a_claim_grows_while_no_pod_uses_it() -> None:
    plugin = a_plugin()
    async with a_cluster(more=with_plugin(plugin, "resizer")) as cluster:
        await a_claim_to_grow(cluster)
        await cluster.settle()
        assert plugin.calls("ControllerExpandVolume") == []
        await ask_for(cluster, "3Gi")
        await cluster.settle()
        assert plugin.disks[HANDLE].size_bytes == 3 * GIB
        assert await volume_size(cluster) == "3Gi"
        found = await status(cluster)
        assert found["capacity"] == {"storage": "3Gi"}
        assert found["allocatedResources"] == {"storage": "3Gi"}
        assert "allocatedResourceStatuses" not in found
        assert "conditions" not in found
        assert await cluster.events("data") == [
            ("Resizing", "External resizer is resizing volume volume-1"),
            ("VolumeResizeSuccessful", "Resize volume succeeded"),
        ]
        assert plugin.effects == {"expanded": 1}


async def test_a_claim_in_use_waits_for_its_node_to_grow_the_file_system() -> None:
    plugin = a_plugin(node_grows=True)
    async with a_cluster(more=with_plugin(plugin, "resizer")) as cluster:
        await a_claim_to_grow(cluster)
        await cluster.create(pod("a", volumes=[uses("data")], node="node-1"))
        await ask_for(cluster, "3Gi")
        await cluster.settle()
        assert await volume_size(cluster) == "3Gi"
        found = await status(cluster)
        assert found["capacity"] == {"storage": "1Gi"}
        assert found["allocatedResourceStatuses"] == {"storage": "NodeResizePending"}
        assert await conditions(cluster) == ["Resizing", "FileSystemResizePending"]
        assert (await cluster.events("data"))[-1][0] == "FileSystemResizeRequired"
        asked = len(plugin.calls("ControllerExpandVolume"))
        await cluster.wait(timedelta(minutes=30))
        assert len(plugin.calls("ControllerExpandVolume")) == asked == 1

        await grow_on_node(cluster)
        await cluster.settle()
        assert (await status(cluster))["capacity"] == {"storage": "3Gi"}
        await ask_for(cluster, "4Gi")
        await cluster.settle()
        assert await volume_size(cluster) == "4Gi"


async def test_another_size_is_asked_for_only_when_the_node_is_done_with_the_first() -> None:
    plugin = a_plugin(node_grows=True)
    async with a_cluster(more=with_plugin(plugin, "resizer")) as cluster:
        await a_claim_to_grow(cluster)
        await ask_for(cluster, "3Gi")
        await cluster.settle()
        await ask_for(cluster, "5Gi")
        await cluster.wait(timedelta(minutes=5))
        assert plugin.disks[HANDLE].size_bytes == 3 * GIB
        await grow_on_node(cluster)
        await cluster.settle()
        assert plugin.disks[HANDLE].size_bytes == 5 * GIB


async def test_a_user_may_ask_for_less_when_a_size_cannot_be_had() -> None:
    plugin = a_plugin(limit_bytes=10 * GIB)
    async with a_cluster(more=with_plugin(plugin, "resizer")) as cluster:
        await a_claim_to_grow(cluster)
        await ask_for(cluster, "20Gi")
        await cluster.settle()
        found = await status(cluster)
        assert found["allocatedResourceStatuses"] == {"storage": "ControllerResizeInfeasible"}
        assert found["allocatedResources"] == {"storage": "20Gi"}
        assert await conditions(cluster) == ["Resizing", "ControllerResizeError"]
        said = "rpc error: code = OutOfRange desc = larger than any disk"
        assert found["conditions"][1]["message"] == f"failed to expand pvc with {said}"
        assert (await cluster.events("data"))[-1] == (
            "VolumeResizeFailed",
            f'resize volume "volume-1" by resizer "{DRIVER}" failed: {said}',
        )
        await cluster.wait(timedelta(hours=1))
        assert len(plugin.calls("ControllerExpandVolume")) <= 14

        await ask_for(cluster, "5Gi")
        await cluster.settle()
        assert (await status(cluster))["capacity"] == {"storage": "5Gi"}
        assert await conditions(cluster) == []
        assert await volume_size(cluster) == "5Gi"


async def test_while_the_driver_may_be_at_work_no_other_size_is_asked_for() -> None:
    plugin = a_plugin()
    plugin.fail("ControllerExpandVolume", StatusCode.DEADLINE_EXCEEDED, times=8)
    async with a_cluster(more=with_plugin(plugin, "resizer")) as cluster:
        await a_claim_to_grow(cluster)
        await ask_for(cluster, "20Gi")
        await cluster.settle()
        await ask_for(cluster, "5Gi")
        await cluster.wait(timedelta(minutes=2))
        assert plugin.disks[HANDLE].size_bytes == 20 * GIB
        assert await volume_size(cluster) == "20Gi"
        assert (await status(cluster))["capacity"] == {"storage": "20Gi"}


async def test_a_driver_that_grows_only_unused_volumes_is_asked_when_the_pod_is_gone() -> None:
    plugin = a_plugin()
    plugin.fail("ControllerExpandVolume", StatusCode.FAILED_PRECONDITION, "in use")
    async with a_cluster(more=with_plugin(plugin, "resizer")) as cluster:
        await a_claim_to_grow(cluster)
        await cluster.create(pod("a", volumes=[uses("data")], node="node-1"))
        await ask_for(cluster, "3Gi")
        await cluster.wait(timedelta(minutes=10))
        assert len(plugin.calls("ControllerExpandVolume")) == 1
        message = (
            f"Unable to expand default/data because CSI driver {DRIVER} only supports offline "
            "expansion and volume is currently in-use"
        )
        assert ("VolumeResizeFailed", message) in await cluster.events("data")
        await cluster.delete("Pod", "a", grace=0)
        await cluster.settle()
        assert plugin.disks[HANDLE].size_bytes == 3 * GIB


async def test_a_driver_that_grows_volumes_on_nodes_alone_is_not_asked() -> None:
    plugin = a_plugin(capabilities=(), has_node_service=True)
    async with a_cluster(more=with_plugin(plugin, "resizer")) as cluster:
        await a_claim_to_grow(cluster)
        await ask_for(cluster, "3Gi")
        await cluster.settle()
        assert await volume_size(cluster) == "3Gi"
        found = await status(cluster)
        assert found["allocatedResourceStatuses"] == {"storage": "NodeResizePending"}


async def test_the_expansion_secret_reaches_the_driver_alone() -> None:
    plugin = a_plugin()
    word = "correct-horse"
    plugin.fail("ControllerExpandVolume", StatusCode.INTERNAL, f"{word} is wrong", times=3)
    reference = {"name": "keys", "namespace": "default"}
    source = {"driver": DRIVER, "volumeHandle": HANDLE, "controllerExpandSecretRef": reference}
    async with a_cluster(more=with_plugin(plugin, "resizer")) as cluster:
        await cluster.create(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": reference,
                "stringData": {"password": word},
            }
        )
        await a_claim_to_grow(cluster, csi=source)
        await ask_for(cluster, "3Gi")
        await cluster.settle()
        assert plugin.disks[HANDLE].size_bytes == 3 * GIB
        shown = [await cluster.all(kind) for kind in ("PersistentVolumeClaim", "Event")]
        assert word not in str(shown)
        assert "*** is wrong" in str(shown)


# Attributes


async def an_attributes_class(cluster: StoryCluster, name: str, **parameters: str) -> None:
    await cluster.create(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "VolumeAttributesClass",
            "metadata": {"name": name},
            "driverName": DRIVER,
            "parameters": parameters,
        }
    )


async def name_class(cluster: StoryCluster, name: str) -> None:
    patch = {"spec": {"volumeAttributesClassName": name}}
    await cluster.patch("PersistentVolumeClaim", "data", patch)


async def test_a_volume_gets_the_attributes_of_the_class_that_its_claim_names() -> None:
    plugin = a_plugin()
    async with a_cluster(more=with_plugin(plugin, "resizer")) as cluster:
        await a_claim_to_grow(cluster)
        await name_class(cluster, "gold")
        await cluster.settle()
        assert (await status(cluster))["modifyVolumeStatus"]["status"] == "Pending"
        assert await cluster.events("data") == [("VolumeModifyFailed", "VAC gold does not exist.")]
        await an_attributes_class(cluster, "gold", iops="9000")
        await cluster.settle()
        assert plugin.disks[HANDLE].attributes == {"iops": "9000"}
        found = await status(cluster)
        assert found["currentVolumeAttributesClassName"] == "gold"
        assert "modifyVolumeStatus" not in found
        assert await conditions(cluster) == []
        volume = await cluster.get("PersistentVolume", "volume-1")
        assert volume["spec"]["volumeAttributesClassName"] == "gold"
        assert [reason for reason, _ in await cluster.events("data")][1:] == [
            "VolumeModify",
            "VolumeModifySuccessful",
        ]


async def test_attributes_that_cannot_be_had_are_left_for_another_class() -> None:
    plugin = a_plugin()
    plugin.fail("ControllerModifyVolume", StatusCode.INVALID_ARGUMENT, "too fast")
    async with a_cluster(more=with_plugin(plugin, "resizer")) as cluster:
        await a_claim_to_grow(cluster)
        await an_attributes_class(cluster, "gold", iops="9000")
        await an_attributes_class(cluster, "silver", iops="100")
        await name_class(cluster, "gold")
        await cluster.settle()
        assert (await status(cluster))["modifyVolumeStatus"] == {
            "status": "Infeasible",
            "targetVolumeAttributesClassName": "gold",
        }
        assert "ModifyVolumeError" in await conditions(cluster)
        await name_class(cluster, "silver")
        await cluster.settle()
        assert plugin.disks[HANDLE].attributes == {"iops": "100"}
        assert (await status(cluster))["currentVolumeAttributesClassName"] == "silver"
        assert await conditions(cluster) == []


async def test_a_controller_cut_off_at_any_write_comes_to_the_same_end() -> None:
    plugins: list[Plugin] = []

    async def arrange(cluster: StoryCluster) -> None:
        plugins.append(a_plugin(node_grows=True))
        scenario.more.update(with_plugin(plugins[-1], "resizer"))  # type: ignore[attr-defined]  # a dict
        await a_claim_to_grow(cluster)
        await an_attributes_class(cluster, "gold", iops="9000")
        await ask_for(cluster, "3Gi")
        await name_class(cluster, "gold")

    async def look(cluster: StoryCluster) -> Any:
        found = await status(cluster)
        found["conditions"] = await conditions(cluster)
        return found, await volume_size(cluster), plugins[-1].disks, plugins[-1].effects

    scenario = CrashScenario(loops=(), arrange=arrange, look=look, more={})
    end = await assert_same_end(scenario)
    assert end[0]["allocatedResourceStatuses"] == {"storage": "NodeResizePending"}
    assert end[0]["currentVolumeAttributesClassName"] == "gold"
    assert end[3] == {"expanded": 1, "modified": 1}
