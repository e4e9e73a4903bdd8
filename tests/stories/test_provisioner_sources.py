"""Volumes made from other volumes and from snapshots, and the marks that protect these."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import msgspec
import pytest

from plimsoll.api.registry import Document
from plimsoll.decide.provisioning.intents import read_intent
from plimsoll.processes.driver.backends.pools.faults import Fail, FaultyCall, Hang
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.objects import claim
from plimsoll.simulator.stories.refusing_transport import asked, open_to_all
from plimsoll.simulator.stories.schedulers import volume_of
from plimsoll.simulator.stories.sidecars import (
    DRIVER,
    PLAIN,
    RunningProvisioner,
    StoryStorage,
    a_class,
    a_provisioner,
    a_storage,
    add_storage_nodes,
    published,
    zonal_pools,
)
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.transport import Request

LOOPS = ("binding", "claim-protection", "volume-protection")
CLONED = "provisioner.storage.kubernetes.io/cloning-protection"
RESTORED = "provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection"
SNAPSHOT_API = "snapshot.storage.k8s.io"
TOO_SMALL = "new PVC request must be greater than or equal in size"


@asynccontextmanager
async def a_world() -> AsyncIterator[tuple[StoryCluster, StoryStorage]]:
    """With a claim `data` that is bound."""
    async with (
        a_cluster(*LOOPS) as cluster,
        a_storage(cluster.clock, zonal_pools("10Gi")) as storage,
    ):
        await add_storage_nodes(cluster, {"node-a": {"zone": "a"}})
        await cluster.create(a_class(waits=False, allowVolumeExpansion=True), claim())
        async with a_provisioner(cluster, storage):
            await cluster.settle()
        assert await volume_of(cluster, "data")
        yield cluster, storage


def made_from(kind: str, name: str) -> Document:
    copy = claim("copy")
    group = SNAPSHOT_API if kind == "VolumeSnapshot" else None
    copy["spec"]["dataSource"] = {"kind": kind, "name": name} | (
        {"apiGroup": group} if group else {}
    )
    return copy


async def finalizers(cluster: StoryCluster, kind: str, name: str) -> list[str]:
    found: list[str] = (await cluster.get(kind, name))["metadata"].get("finalizers", [])
    return found


async def test_a_clone_is_made_of_the_volume_behind_the_other_claim() -> None:
    async with a_world() as (cluster, storage), a_provisioner(cluster, storage, seed=2):
        source = await cluster.get("PersistentVolume", await volume_of(cluster, "data"))
        await cluster.create(made_from("PersistentVolumeClaim", "data"))
        await cluster.settle()
        assert await volume_of(cluster, "copy")
        asked = storage.created[-1].volume_content_source.volume.volume_id
        assert asked == source["spec"]["csi"]["volumeHandle"]
        assert CLONED in await finalizers(cluster, "PersistentVolumeClaim", "data")


async def test_a_source_outlives_its_deletion_while_it_is_cloned() -> None:
    async with a_world() as (cluster, storage), a_provisioner(cluster, storage, seed=2):
        storage.set_faults(Hang(call=FaultyCall.CREATE, seconds=60))
        await cluster.create(made_from("PersistentVolumeClaim", "data"))
        await cluster.settle()
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.wait(timedelta(seconds=30))
        assert CLONED in await finalizers(cluster, "PersistentVolumeClaim", "data")
        await cluster.wait(timedelta(minutes=5))
        assert storage.names == [await volume_of(cluster, "copy")]
        assert await cluster.find("PersistentVolumeClaim", "data") is None


async def killed_while_it_clones(cluster: StoryCluster, storage: StoryStorage) -> None:
    """The driver has made the clone; the provisioner never gets to know."""
    first = RunningProvisioner(cluster, storage, seed=2)
    storage.on_effect = lambda _: first.cut_off()
    await first.start()
    await cluster.create(made_from("PersistentVolumeClaim", "data"))
    await cluster.settle()
    await first.kill()
    storage.on_effect = lambda _: None
    assert len(storage.ids) == 2


async def grow_source(cluster: StoryCluster) -> None:
    size = {"spec": {"resources": {"requests": {"storage": "3Gi"}}}}
    await cluster.patch("PersistentVolumeClaim", "data", size)


async def test_a_clone_that_was_begun_is_finished_though_its_source_has_grown_since() -> None:
    async with a_world() as (cluster, storage):
        await killed_while_it_clones(cluster, storage)
        made = storage.ids
        await grow_source(cluster)
        async with a_provisioner(cluster, storage, seed=3):
            await cluster.wait(timedelta(minutes=3))
            clone = await cluster.get("PersistentVolume", await volume_of(cluster, "copy"))
            assert clone["spec"]["csi"]["volumeHandle"] in made
            assert storage.ids == made


async def test_a_clone_that_was_not_made_and_is_refused_now_is_not_asked_for_again() -> None:
    async with a_world() as (cluster, storage), a_provisioner(cluster, storage, seed=2):
        storage.set_faults(Fail(call=FaultyCall.CREATE, code="UNAVAILABLE"))
        before = storage.count("CreateVolume")
        await cluster.create(made_from("PersistentVolumeClaim", "data"))
        await cluster.wait(timedelta(milliseconds=100))
        await grow_source(cluster)
        storage.set_faults(Fail(call=FaultyCall.CREATE, code="OUT_OF_RANGE"))
        await cluster.wait(timedelta(minutes=3))
        assert storage.count("CreateVolume") == before + 2
        assert [read for each in await cluster.all("Lease") if (read := read_intent(each))] == []
        assert TOO_SMALL in " ".join(text for _, text in await cluster.events("copy"))


async def test_a_clone_of_a_source_that_has_grown_is_refused_before_the_driver_is_asked() -> None:
    async with a_world() as (cluster, storage), a_provisioner(cluster, storage, seed=2):
        await grow_source(cluster)
        before = storage.count("CreateVolume")
        await cluster.create(made_from("PersistentVolumeClaim", "data"))
        await cluster.settle()
        assert storage.count("CreateVolume") == before
        assert TOO_SMALL in " ".join(text for _, text in await cluster.events("copy"))


async def a_snapshot(cluster: StoryCluster, storage: StoryStorage) -> None:
    """`backup` of `data`, with its content, as a snapshot controller makes them."""
    volume = await cluster.get("PersistentVolume", await volume_of(cluster, "data"))
    handle = volume["spec"]["csi"]["volumeHandle"]
    request = csi.CreateSnapshotRequest(source_volume_id=handle, name="backup")
    taken = (await storage.client.call(methods.CREATE_SNAPSHOT, request)).snapshot
    api = f"{SNAPSHOT_API}/v1"
    await cluster.create(
        {
            "apiVersion": api,
            "kind": "VolumeSnapshot",
            "metadata": {"name": "backup", "namespace": "default"},
            "spec": {"source": {"persistentVolumeClaimName": "data"}},
        }
    )
    uid = (await cluster.get("VolumeSnapshot", "backup"))["metadata"]["uid"]
    await cluster.create(
        {
            "apiVersion": api,
            "kind": "VolumeSnapshotContent",
            "metadata": {"name": "content"},
            "spec": {
                "driver": DRIVER,
                "deletionPolicy": "Delete",
                "source": {"volumeHandle": handle},
                "volumeSnapshotRef": {"namespace": "default", "name": "backup", "uid": uid},
            },
        }
    )
    told = {
        "readyToUse": True,
        "restoreSize": taken.size_bytes,
        "snapshotHandle": taken.snapshot_id,
    }
    await cluster.patch("VolumeSnapshotContent", "content", {"status": told}, subresource="status")
    status = {"readyToUse": True, "restoreSize": "1Gi", "boundVolumeSnapshotContentName": "content"}
    await cluster.patch("VolumeSnapshot", "backup", {"status": status}, subresource="status")


async def test_a_volume_is_made_from_a_snapshot_which_is_released_afterwards() -> None:
    async with a_world() as (cluster, storage), a_provisioner(cluster, storage, seed=2):
        await a_snapshot(cluster, storage)
        storage.set_faults(Fail(call=FaultyCall.CREATE))
        await cluster.create(made_from("VolumeSnapshot", "backup"))
        await cluster.settle(timedelta(milliseconds=200))
        assert RESTORED in await finalizers(cluster, "VolumeSnapshot", "backup")
        await cluster.wait(timedelta(seconds=30))
        assert await volume_of(cluster, "copy")
        assert storage.created[-1].volume_content_source.HasField("snapshot")
        assert await finalizers(cluster, "VolumeSnapshot", "backup") == []


async def test_cut_off_after_any_write_the_volume_of_a_snapshot_that_is_deleted_is_recorded() -> (
    None
):
    for number in range(1, 20):
        async with a_world() as (cluster, storage):
            await a_snapshot(cluster, storage)
            known = set(storage.ids)
            first = RunningProvisioner(cluster, storage, seed=2, cut_after=number)
            await first.start()
            await cluster.create(made_from("VolumeSnapshot", "backup"))
            await cluster.wait(timedelta(seconds=20))
            was_cut, was_made = first.is_cut_off, set(storage.ids) > known
            await first.kill()
            await cluster.delete("VolumeSnapshot", "backup")
            async with a_provisioner(cluster, storage, seed=3):
                await cluster.wait(timedelta(minutes=5))
                if was_made:
                    assert await volume_of(cluster, "copy"), f"cut off after write {number}"
                recorded = await cluster.all("PersistentVolume")
                handles = {each["spec"]["csi"]["volumeHandle"] for each in recorded}
                assert handles == set(storage.ids), f"cut off after write {number}"
        if not was_cut:
            assert number > 4, "the mark, the intent, the volume and events are writes"
            return
    pytest.fail("it never came to an end of its writes")


def stores_volume(request: Request) -> bool:
    return asked(request) == ("create", "persistentvolumes")


async def test_a_snapshot_that_is_deleted_while_its_volume_cannot_be_recorded_goes_afterwards() -> (
    None
):
    def refuse(request: Request) -> int:
        return 500 if stores_volume(request) else 0

    settings = msgspec.structs.replace(PLAIN, snapshot_orphan_sweep_interval=timedelta())
    async with (
        a_world() as (cluster, storage),
        a_provisioner(cluster, storage, settings, seed=2, rule=refuse) as provisioner,
    ):
        await a_snapshot(cluster, storage)
        await cluster.create(made_from("VolumeSnapshot", "backup"))
        await cluster.wait(timedelta(seconds=10))
        await cluster.delete("VolumeSnapshot", "backup")
        assert await finalizers(cluster, "VolumeSnapshot", "backup") == [RESTORED]
        provisioner.transport.rule = open_to_all
        await cluster.wait(timedelta(minutes=1))
        assert await volume_of(cluster, "copy")
        assert await cluster.find("VolumeSnapshot", "backup") is None


async def test_a_snapshot_that_does_not_exist_is_reported_and_waited_for() -> None:
    async with a_world() as (cluster, storage), a_provisioner(cluster, storage, seed=2):
        asked = storage.count("CreateVolume")
        await cluster.create(made_from("VolumeSnapshot", "backup"))
        await cluster.wait(timedelta(seconds=10))
        assert any(
            reason == "ProvisioningFailed" and "backup" in message
            for reason, message in await cluster.events("copy")
        )
        assert storage.count("CreateVolume") == asked
        await a_snapshot(cluster, storage)
        await cluster.wait(timedelta(minutes=1))
        assert await volume_of(cluster, "copy")


async def test_a_mark_that_was_left_on_a_snapshot_is_swept() -> None:
    async with a_world() as (cluster, storage):
        await a_snapshot(cluster, storage)
        marked = {"metadata": {"finalizers": [RESTORED, "example.com/other"]}}
        await cluster.patch("VolumeSnapshot", "backup", marked)
        async with a_provisioner(cluster, storage, seed=2):
            await cluster.wait(PLAIN.snapshot_orphan_sweep_interval + timedelta(seconds=5))
        assert await finalizers(cluster, "VolumeSnapshot", "backup") == ["example.com/other"]


async def test_a_snapshot_takes_capacity_at_once() -> None:
    settings = msgspec.structs.replace(
        PLAIN,
        enable_capacity=True,
        capacity_for_immediate_binding=True,
        capacity_poll_interval=timedelta(hours=1),
    )
    async with a_world() as (cluster, storage), a_provisioner(cluster, storage, settings, seed=2):
        await cluster.settle()
        assert await published(cluster) == {("fast", "a"): "9Gi"}
        await a_snapshot(cluster, storage)
        await cluster.settle()
        assert await published(cluster) == {("fast", "a"): "8Gi"}


async def test_bound_claims_cost_no_reading_of_their_sources() -> None:
    async with a_world() as (cluster, storage):
        async with a_provisioner(cluster, storage, seed=2):
            await a_snapshot(cluster, storage)
            await cluster.create(made_from("VolumeSnapshot", "backup"))
            await cluster.settle()
            assert await volume_of(cluster, "copy")
        async with a_provisioner(cluster, storage, seed=3) as provisioner:
            await cluster.settle()
            assert ("get", "volumesnapshots") not in provisioner.transport.passed
