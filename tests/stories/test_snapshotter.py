"""Snapshots are taken of claims, kept, restored from, and deleted in whatever order."""

import itertools
from datetime import timedelta
from typing import Any

import pytest
from grpc import StatusCode

from plimsoll.api.registry import Document
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.crashes import CrashScenario, assert_same_end
from plimsoll.simulator.stories.csi_plugin import DRIVER, GIB, Plugin, PluginDisk, with_plugin
from plimsoll.simulator.stories.objects import claim
from plimsoll.wire.csi.gen import csi_pb2 as csi
from tests.stories.test_attach_detach import a_bound_claim

API = {"apiVersion": "snapshot.storage.k8s.io/v1"}
HANDLE = "handle-volume-1"
PREFIX = "snapshot.storage.kubernetes.io"
AS_SOURCE = f"{PREFIX}/pvc-as-source-protection"
LONG = timedelta(minutes=10)


def a_plugin(**facts: Any) -> Plugin:
    return Plugin(disks={HANDLE: PluginDisk()}, **facts)


def a_class(name: str = "snap", policy: str = "Delete", **more: Any) -> Document:
    metadata = {"name": name, "annotations": more.pop("annotations", {})}
    return (
        API
        | {"kind": "VolumeSnapshotClass", "metadata": metadata}
        | {"driver": DRIVER, "deletionPolicy": policy}
        | more
    )


def a_snapshot(name: str = "first", class_name: str | None = "snap", content: str = "") -> Document:
    source = {"volumeSnapshotContentName": content} if content else None
    spec: Document = {"source": source or {"persistentVolumeClaimName": "data"}}
    if class_name is not None:
        spec["volumeSnapshotClassName"] = class_name
    metadata = {"name": name, "namespace": "default"}
    return API | {"kind": "VolumeSnapshot", "metadata": metadata, "spec": spec}


def a_content(name: str = "old", snapshot: str = "first", policy: str = "Delete") -> Document:
    spec = {
        "driver": DRIVER,
        "deletionPolicy": policy,
        "source": {"snapshotHandle": "id-of-old"},
        "volumeSnapshotRef": {"name": snapshot, "namespace": "default"},
    }
    return API | {"kind": "VolumeSnapshotContent", "metadata": {"name": name}, "spec": spec}


async def status(cluster: StoryCluster, name: str = "first") -> Document:
    found: Document = (await cluster.get("VolumeSnapshot", name)).get("status", {})
    return found


async def finalizers(cluster: StoryCluster, kind: str, name: str) -> list[str]:
    found: list[str] = (await cluster.get(kind, name))["metadata"].get("finalizers", [])
    return sorted(each.rpartition("/")[2] for each in found)


async def nothing_is_left(cluster: StoryCluster, plugin: Plugin) -> None:
    assert await cluster.all("VolumeSnapshot") == []
    assert await cluster.all("VolumeSnapshotContent") == []
    assert plugin.snapshots == {}


async def test_a_snapshot_is_taken_of_a_claim() -> None:
    plugin = a_plugin()
    async with a_cluster(more=with_plugin(plugin, "snapshotter")) as cluster:
        await a_bound_claim(cluster, volumeMode="Filesystem")
        await cluster.create(a_class(), a_snapshot())
        await cluster.settle()
        snapshot = await cluster.get("VolumeSnapshot", "first")
        uid = snapshot["metadata"]["uid"]
        assert snapshot["status"] == {
            "boundVolumeSnapshotContentName": f"snapcontent-{uid}",
            "creationTime": "2023-11-14T22:13:20Z",
            "readyToUse": True,
            "restoreSize": "1Gi",
        }
        content = await cluster.get("VolumeSnapshotContent", f"snapcontent-{uid}")
        assert content["spec"]["source"] == {"volumeHandle": HANDLE}
        assert content["spec"]["sourceVolumeMode"] == "Filesystem"
        assert content["spec"]["volumeSnapshotRef"]["uid"] == uid
        assert content["status"] == {
            "snapshotHandle": f"id-of-snapshot-{uid}",
            "creationTime": 1_700_000_000_000_000_000,
            "readyToUse": True,
            "restoreSize": GIB,
        }
        assert "annotations" not in content["metadata"]
        assert await finalizers(cluster, "VolumeSnapshot", "first") == [
            "volumesnapshot-as-source-protection",
            "volumesnapshot-bound-protection",
        ]
        assert await finalizers(cluster, "VolumeSnapshotContent", f"snapcontent-{uid}") == [
            "volumesnapshotcontent-bound-protection"
        ]
        assert await finalizers(cluster, "PersistentVolumeClaim", "data") == ["pvc-protection"]
        assert await cluster.events("first") == [
            (
                "CreatingSnapshot",
                "Waiting for a snapshot default/first to be created by the CSI driver.",
            ),
            (
                "SnapshotCreated",
                "Snapshot default/first was successfully created by the CSI driver.",
            ),
            ("SnapshotReady", "Snapshot default/first is ready to use."),
        ]
        await cluster.wait(LONG)
        assert len(plugin.calls("CreateSnapshot")) == 1


async def test_a_claim_is_kept_while_a_snapshot_of_it_is_being_taken() -> None:
    plugin = a_plugin(slow_snapshots=12)
    async with a_cluster(more=with_plugin(plugin, "snapshotter")) as cluster:
        await a_bound_claim(cluster)
        await cluster.create(a_class(), a_snapshot())
        await cluster.settle()
        assert (await status(cluster))["readyToUse"] is False
        assert "creationTime" in await status(cluster)
        await cluster.delete("PersistentVolumeClaim", "data")
        kept = await finalizers(cluster, "PersistentVolumeClaim", "data")
        assert kept == ["pvc-as-source-protection", "pvc-protection"]
        await cluster.wait(LONG)
        assert (await status(cluster))["readyToUse"] is True
        assert await finalizers(cluster, "PersistentVolumeClaim", "data") == ["pvc-protection"]


async def test_a_snapshot_without_a_class_gets_the_default_one_of_its_driver() -> None:
    plugin = a_plugin()
    default = {f"{PREFIX}/is-default-class": "true"}
    async with a_cluster(more=with_plugin(plugin, "snapshotter")) as cluster:
        await a_bound_claim(cluster)
        await cluster.create(
            a_class("other", annotations=default, driver="other.example.com"),
            a_snapshot(class_name=None),
        )
        await cluster.settle()
        error = (await status(cluster))["error"]["message"]
        assert error == (
            "Failed to set default snapshot class with error cannot find default snapshot class"
        )
        await cluster.create(a_class("mine", annotations=default))
        await cluster.settle()
        snapshot = await cluster.get("VolumeSnapshot", "first")
        assert snapshot["spec"]["volumeSnapshotClassName"] == "mine"
        assert snapshot["status"]["readyToUse"] is True
        assert "error" not in snapshot["status"]


async def test_two_default_classes_are_one_too_many() -> None:
    default = {f"{PREFIX}/is-default-class": "true"}
    async with a_cluster(more=with_plugin(a_plugin(), "snapshotter")) as cluster:
        await a_bound_claim(cluster)
        await cluster.create(
            a_class("a", annotations=default),
            a_class("b", annotations=default),
            a_snapshot(class_name=None),
        )
        await cluster.settle()
        why = "2 default snapshot classes were found"
        message = f"Failed to set default snapshot class with error {why}"
        assert await cluster.events("first") == [("SetDefaultSnapshotClassFailed", message)]


async def test_a_snapshot_waits_for_its_class_and_for_its_claim() -> None:
    plugin = a_plugin()
    async with a_cluster(more=with_plugin(plugin, "snapshotter")) as cluster:
        await cluster.create(a_snapshot())
        await cluster.settle()
        assert (await status(cluster))["error"]["message"] == (
            "Failed to get snapshot class with error "
            'volumesnapshotclass.snapshot.storage.k8s.io "snap" not found'
        )
        await cluster.create(a_class())
        await cluster.settle()
        assert (await status(cluster))["error"]["message"] == (
            'Failed to create snapshot content with error persistentvolumeclaim "data" not found'
        )
        await a_bound_claim(cluster)
        await cluster.settle()
        assert (await status(cluster))["readyToUse"] is True
        assert "error" not in await status(cluster)


async def test_a_failure_is_shown_and_overcome() -> None:
    plugin = a_plugin()
    plugin.fail("CreateSnapshot", StatusCode.INTERNAL, "busy", times=7)
    async with a_cluster(more=with_plugin(plugin, "snapshotter")) as cluster:
        await a_bound_claim(cluster)
        await cluster.create(a_class(), a_snapshot())
        await cluster.settle(timedelta(milliseconds=200))
        message = (
            f"Failed to create snapshot: failed to take snapshot of the volume {HANDLE}: "
            '"rpc error: code = Internal desc = busy"'
        )
        assert (await status(cluster))["error"]["message"] == message
        assert (await status(cluster))["readyToUse"] is False
        await cluster.wait(LONG)
        assert (await status(cluster))["readyToUse"] is True
        assert "error" not in await status(cluster)
        assert len(plugin.calls("CreateSnapshot")) == 8


async def test_a_driver_that_failed_is_not_asked_again_at_once() -> None:
    plugin = a_plugin()
    plugin.fail("CreateSnapshot", StatusCode.INTERNAL, times=1000)
    async with a_cluster(more=with_plugin(plugin, "snapshotter")) as cluster:
        await a_bound_claim(cluster)
        await cluster.create(a_class(), a_snapshot())
        await cluster.settle(timedelta(milliseconds=400))
        assert len(plugin.calls("CreateSnapshot")) == 1
        await cluster.wait(timedelta(seconds=1))
        assert len(plugin.calls("CreateSnapshot")) == 2
        # Between one and two seconds, between two and four, and so on: 31 at most for five more.
        await cluster.wait(timedelta(seconds=31))
        assert 5 <= len(plugin.calls("CreateSnapshot")) <= 7


async def test_a_snapshot_that_cannot_be_taken_is_deleted_without_waiting_for_a_retry() -> None:
    plugin = a_plugin()
    plugin.fail("CreateSnapshot", StatusCode.INTERNAL, times=1000)
    async with a_cluster(more=with_plugin(plugin, "snapshotter")) as cluster:
        await a_bound_claim(cluster)
        await cluster.create(a_class(), a_snapshot())
        await cluster.wait(LONG)
        await cluster.delete("VolumeSnapshot", "first")
        await cluster.settle()
        await nothing_is_left(cluster, plugin)


async def test_retries_become_rare() -> None:
    plugin = a_plugin()
    plugin.fail("CreateSnapshot", StatusCode.INTERNAL, times=1000)
    async with a_cluster(more=with_plugin(plugin, "snapshotter")) as cluster:
        await a_bound_claim(cluster)
        await cluster.create(a_class(), a_snapshot())
        await cluster.wait(timedelta(hours=1))
        assert len(plugin.calls("CreateSnapshot")) < 60


async def test_a_snapshot_is_deleted_with_what_the_driver_keeps() -> None:
    plugin = a_plugin()
    async with a_cluster(more=with_plugin(plugin, "snapshotter")) as cluster:
        await a_bound_claim(cluster)
        await cluster.create(a_class(), a_snapshot())
        await cluster.settle()
        plugin.fail("DeleteSnapshot", StatusCode.UNAVAILABLE, times=3)
        await cluster.delete("VolumeSnapshot", "first")
        await cluster.wait(LONG)
        await nothing_is_left(cluster, plugin)


async def test_a_retained_snapshot_outlives_its_object() -> None:
    plugin = a_plugin()
    async with a_cluster(more=with_plugin(plugin, "snapshotter")) as cluster:
        await a_bound_claim(cluster)
        await cluster.create(a_class(policy="Retain"), a_snapshot())
        await cluster.settle()
        await cluster.delete("VolumeSnapshot", "first")
        await cluster.wait(LONG)
        assert await cluster.all("VolumeSnapshot") == []
        (content,) = await cluster.all("VolumeSnapshotContent")
        assert len(plugin.snapshots) == 1
        await cluster.delete("VolumeSnapshotContent", content["metadata"]["name"])
        await cluster.wait(LONG)
        assert await cluster.all("VolumeSnapshotContent") == []
        assert len(plugin.snapshots) == 1


async def test_a_snapshot_that_is_being_restored_from_waits() -> None:
    plugin = a_plugin()
    async with a_cluster(more=with_plugin(plugin, "snapshotter")) as cluster:
        await a_bound_claim(cluster)
        await cluster.create(a_class(), a_snapshot())
        await cluster.settle()
        restored = claim("copy")
        restored["spec"]["dataSource"] = {
            "apiGroup": "snapshot.storage.k8s.io",
            "kind": "VolumeSnapshot",
            "name": "first",
        }
        await cluster.create(restored)
        await cluster.delete("VolumeSnapshot", "first")
        await cluster.wait(LONG)
        assert len(plugin.snapshots) == 1
        assert (await cluster.events("first"))[-1] == (
            "SnapshotDeletePending",
            "Snapshot is being used to restore a PVC",
        )
        await cluster.patch(
            "PersistentVolumeClaim", "copy", {"status": {"phase": "Bound"}}, subresource="status"
        )
        await cluster.settle()
        await nothing_is_left(cluster, plugin)


async def test_what_the_driver_may_still_be_making_is_not_lost() -> None:
    """Deleted while it is unknown whether the driver has taken it."""
    plugin = a_plugin()
    plugin.fail("CreateSnapshot", StatusCode.DEADLINE_EXCEEDED, times=100)
    async with a_cluster(more=with_plugin(plugin, "snapshotter")) as cluster:
        await a_bound_claim(cluster)
        await cluster.create(a_class(), a_snapshot())
        await cluster.settle()
        await cluster.delete("VolumeSnapshot", "first")
        await cluster.settle()
        (content,) = await cluster.all("VolumeSnapshotContent")
        annotations = content["metadata"]["annotations"]
        assert annotations[f"{PREFIX}/volumesnapshot-being-created"] == "yes"
        plugin.failures.clear()
        await cluster.wait(LONG)
        await nothing_is_left(cluster, plugin)
        assert plugin.effects == {"taken": 1, "deleted": 1}


async def test_a_content_that_was_prepared_is_bound_and_looked_up() -> None:
    plugin = a_plugin()
    plugin.snapshots["old"] = csi.Snapshot(
        snapshot_id="id-of-old", size_bytes=2 * GIB, ready_to_use=True
    )
    async with a_cluster(more=with_plugin(plugin, "snapshotter")) as cluster:
        await cluster.create(a_snapshot(class_name=None, content="old"))
        await cluster.settle()
        assert (await status(cluster))["error"]["message"] == "VolumeSnapshotContent is missing"
        await cluster.create(a_content())
        await cluster.settle()
        found = await status(cluster)
        assert found["boundVolumeSnapshotContentName"] == "old"
        assert (found["readyToUse"], found["restoreSize"]) == (True, "2Gi")
        assert "error" not in found
        snapshot = await cluster.get("VolumeSnapshot", "first")
        content = await cluster.get("VolumeSnapshotContent", "old")
        assert content["spec"]["volumeSnapshotRef"]["uid"] == snapshot["metadata"]["uid"]
        await cluster.delete("VolumeSnapshot", "first")
        await cluster.settle()
        await nothing_is_left(cluster, plugin)


async def test_a_prepared_content_without_a_snapshot_behind_it_says_so() -> None:
    async with a_cluster(more=with_plugin(a_plugin(), "snapshotter")) as cluster:
        await cluster.create(a_content(), a_snapshot(class_name=None, content="old"))
        await cluster.settle()
        assert (await status(cluster))["error"]["message"] == (
            "Failed to check and update snapshot content: failed to list snapshot for content "
            'old: "can not find snapshot for snapshotID id-of-old"'
        )


async def test_a_content_of_another_snapshot_is_not_taken() -> None:
    async with a_cluster(more=with_plugin(a_plugin(), "snapshotter")) as cluster:
        await cluster.create(
            a_content(snapshot="second"), a_snapshot(class_name=None, content="old")
        )
        await cluster.settle()
        assert await cluster.events("first") == [
            (
                "SnapshotContentMisbound",
                "VolumeSnapshotContent [old] is bound to a different snapshot",
            )
        ]


async def test_an_unbound_prepared_content_can_be_deleted_without_its_data() -> None:
    plugin = a_plugin()
    plugin.snapshots["old"] = csi.Snapshot(snapshot_id="id-of-old", ready_to_use=True)
    async with a_cluster(more=with_plugin(plugin, "snapshotter")) as cluster:
        await cluster.create(a_content())
        await cluster.settle()
        await cluster.delete("VolumeSnapshotContent", "old")
        await cluster.settle()
        assert await cluster.all("VolumeSnapshotContent") == []
        assert list(plugin.snapshots) == ["old"]


async def test_a_driver_that_takes_no_snapshots_is_not_asked() -> None:
    plugin = a_plugin(capabilities=("EXPAND_VOLUME",))
    async with a_cluster(more=with_plugin(plugin, "snapshotter")) as cluster:
        await a_bound_claim(cluster)
        await cluster.create(a_class(), a_snapshot())
        await cluster.wait(LONG)
        assert plugin.calls("CreateSnapshot") == []
        assert (await status(cluster))["readyToUse"] is False


async def test_secrets_and_metadata_reach_the_driver_and_no_object() -> None:
    plugin = a_plugin()
    word = "correct-horse"
    plugin.fail("CreateSnapshot", StatusCode.INTERNAL, f"{word} is wrong", times=3)
    parameters = {
        "tier": "cold",
        "csi.storage.k8s.io/snapshotter-secret-name": "keys-${volumesnapshot.name}",
        "csi.storage.k8s.io/snapshotter-secret-namespace": "${volumesnapshot.namespace}",
    }
    more = with_plugin(plugin, "snapshotter", tells_metadata=True)
    async with a_cluster(more=more) as cluster:
        await cluster.create(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": "keys-first", "namespace": "default"},
                "stringData": {"password": word},
            }
        )
        await a_bound_claim(cluster)
        await cluster.create(a_class(parameters=parameters), a_snapshot())
        await cluster.wait(LONG)
        (content,) = await cluster.all("VolumeSnapshotContent")
        call = plugin.calls("CreateSnapshot")[-1]
        assert isinstance(call, csi.CreateSnapshotRequest)
        assert dict(call.secrets) == {"password": word}
        assert dict(call.parameters) == {
            "tier": "cold",
            "csi.storage.k8s.io/volumesnapshot/name": "first",
            "csi.storage.k8s.io/volumesnapshot/namespace": "default",
            "csi.storage.k8s.io/volumesnapshotcontent/name": content["metadata"]["name"],
        }
        kinds = ("VolumeSnapshot", "VolumeSnapshotContent", "Event")
        shown = [await cluster.all(kind) for kind in kinds]
        assert word not in str(shown)
        assert "*** is wrong" in str(shown)
        await cluster.delete("VolumeSnapshot", "first")
        await cluster.settle()
        deletion = plugin.calls("DeleteSnapshot")[-1]
        assert isinstance(deletion, csi.DeleteSnapshotRequest)
        assert dict(deletion.secrets) == {"password": word}


ENDINGS = (
    "VolumeSnapshot",
    "VolumeSnapshotContent",
    "PersistentVolumeClaim",
    "VolumeSnapshotClass",
)


@pytest.mark.parametrize("order", list(itertools.permutations(ENDINGS)), ids="-".join)
async def test_in_whatever_order_things_are_deleted_nothing_is_left(order: tuple[str, ...]) -> None:
    plugin = a_plugin()
    async with a_cluster("claim-protection", more=with_plugin(plugin, "snapshotter")) as cluster:
        await a_bound_claim(cluster)
        await cluster.create(a_class(), a_snapshot())
        await cluster.settle()
        (content,) = await cluster.names("VolumeSnapshotContent")
        names = dict(zip(ENDINGS, ("first", content, "data", "snap"), strict=True))
        for kind in order:
            if await cluster.find(kind, names[kind]) is not None:
                await cluster.delete(kind, names[kind])
            await cluster.settle()
        await cluster.wait(LONG)
        await nothing_is_left(cluster, plugin)
        assert await cluster.all("PersistentVolumeClaim") == []
        assert plugin.effects == {"taken": 1, "deleted": 1}


async def looked_at(cluster: StoryCluster, plugin: Plugin) -> Any:
    snapshots = [
        (s.get("status", {}).get("readyToUse"), sorted(s["metadata"]["finalizers"]))
        for s in await cluster.all("VolumeSnapshot")
    ]
    contents = [
        (c["status"]["readyToUse"], c["metadata"].get("annotations"), c["metadata"]["finalizers"])
        for c in await cluster.all("VolumeSnapshotContent")
    ]
    held = await finalizers(cluster, "PersistentVolumeClaim", "data")
    return snapshots, contents, held, len(plugin.snapshots), plugin.effects


async def test_cut_off_at_any_write_a_snapshot_is_taken_all_the_same() -> None:
    plugins: list[Plugin] = []

    async def arrange(cluster: StoryCluster) -> None:
        plugins.append(a_plugin(slow_snapshots=3))
        scenario.more.update(with_plugin(plugins[-1], "snapshotter"))  # type: ignore[attr-defined]  # a dict
        await a_bound_claim(cluster)
        default = {f"{PREFIX}/is-default-class": "true"}
        await cluster.create(a_class(annotations=default), a_snapshot(class_name=None))

    async def look(cluster: StoryCluster) -> Any:
        return await looked_at(cluster, plugins[-1])

    scenario = CrashScenario(loops=(), arrange=arrange, look=look, more={})
    end = await assert_same_end(scenario)
    assert end[0][0][0] is True
    assert end[2:] == (["pvc-protection"], 1, {"taken": 1})


async def test_cut_off_at_any_write_a_snapshot_is_deleted_all_the_same() -> None:
    plugins: list[Plugin] = []

    async def arrange(cluster: StoryCluster) -> None:
        plugins.append(a_plugin())
        scenario.more.update(with_plugin(plugins[-1], "snapshotter"))  # type: ignore[attr-defined]  # a dict
        await a_bound_claim(cluster)
        await cluster.create(a_class(), a_snapshot())
        await cluster.start(more=scenario.more)
        await cluster.settle()
        await cluster.kill_controllers()
        await cluster.delete("VolumeSnapshot", "first")

    async def look(cluster: StoryCluster) -> Any:
        return await looked_at(cluster, plugins[-1])

    scenario = CrashScenario(loops=(), arrange=arrange, look=look, more={})
    end = await assert_same_end(scenario)
    assert end == ([], [], ["pvc-protection"], 0, {"taken": 1, "deleted": 1})


@pytest.mark.parametrize("effects", [1, 2], ids=["taken", "deleted"])
async def test_cut_off_right_after_the_driver_has_acted_nothing_is_leaked(effects: int) -> None:
    plugin = a_plugin()
    async with a_cluster() as cluster:

        def cut() -> None:
            if plugin.effects.total() == effects:
                cluster.controllers[0].cut_off()

        plugin.on_effect = cut
        await a_bound_claim(cluster)
        await cluster.create(a_class(), a_snapshot())
        first = await cluster.start(more=with_plugin(plugin, "snapshotter"))
        await cluster.settle()
        await cluster.delete("VolumeSnapshot", "first")
        await cluster.wait(LONG)
        assert first.is_cut_off
        await cluster.kill_controllers()
        plugin.on_effect = lambda: None
        await cluster.start(more=with_plugin(plugin, "snapshotter"))
        await cluster.wait(LONG)
        await nothing_is_left(cluster, plugin)
        assert await finalizers(cluster, "PersistentVolumeClaim", "data") == ["pvc-protection"]
