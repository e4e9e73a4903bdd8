"""The rules that every provisioner outside of the controller has to keep, one by one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from plimsoll.api.registry import Document
from plimsoll.processes.driver.backends.pools.faults import Fail, FaultyCall, Hang
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.objects import claim, volume
from plimsoll.simulator.stories.schedulers import volume_of
from plimsoll.simulator.stories.sidecars import (
    DRIVER,
    ZONE,
    StoryStorage,
    a_class,
    a_provisioner,
    a_storage,
    add_storage_nodes,
    zonal_pools,
)

PROVISIONER = "volume.kubernetes.io/storage-provisioner"
FINALIZER = "external-provisioner.volume.kubernetes.io/finalizer"
LOOPS = ("binding", "claim-protection", "volume-protection")


@asynccontextmanager
async def a_world(*loops: str) -> AsyncIterator[tuple[StoryCluster, StoryStorage]]:
    """Without a provisioner: the story starts it."""
    async with (
        a_cluster(*(loops or LOOPS)) as cluster,
        a_storage(cluster.clock, zonal_pools("10Gi")) as storage,
    ):
        await add_storage_nodes(cluster, {"node-a": {"zone": "a"}})
        yield cluster, storage


def now_class(**fields: Any) -> Document:
    return a_class(waits=False, **fields)


async def failures(cluster: StoryCluster) -> list[str]:
    events = await cluster.events("data")
    return [message for reason, message in events if reason == "ProvisioningFailed"]


async def test_a_claim_gets_a_volume_that_says_who_made_it() -> None:
    async with a_world() as (cluster, storage), a_provisioner(cluster, storage):
        await cluster.create(now_class(mountOptions=["noatime"]), claim())
        await cluster.settle()
        made = await cluster.get("PersistentVolume", await volume_of(cluster, "data"))
        annotations = made["metadata"]["annotations"]
        assert annotations["pv.kubernetes.io/provisioned-by"] == DRIVER
        assert FINALIZER in made["metadata"]["finalizers"]
        assert made["spec"]["csi"]["driver"] == DRIVER
        assert made["spec"]["mountOptions"] == ["noatime"]
        assert made["spec"]["capacity"] == {"storage": "1Gi"}
        assert made["spec"]["persistentVolumeReclaimPolicy"] == "Delete"


async def test_claims_of_others_are_ignored() -> None:
    async with a_world() as (cluster, storage), a_provisioner(cluster, storage) as provisioner:
        await cluster.create(now_class(provisioner="other.example.com"), claim())
        await cluster.wait(timedelta(minutes=1))
        assert storage.count("CreateVolume") == 0
        assert provisioner.writes == 1, "that it respects holds"


async def test_bound_claims_are_ignored() -> None:
    async with a_world() as (cluster, storage):
        static = volume("by-hand", spec={"persistentVolumeReclaimPolicy": "Retain"})
        mine = claim(annotations={PROVISIONER: DRIVER})
        await cluster.create(static, mine)
        await cluster.settle()
        assert await volume_of(cluster, "data") == "by-hand"
        await cluster.create(now_class())
        async with a_provisioner(cluster, storage):
            await cluster.wait(timedelta(minutes=1))
        assert storage.count("CreateVolume") == 0


async def test_a_missing_class_is_reported_and_the_claim_served_when_it_comes() -> None:
    async with a_world("volume-protection") as (cluster, storage):
        await cluster.create(claim(annotations={PROVISIONER: DRIVER}))
        async with a_provisioner(cluster, storage):
            await cluster.wait(timedelta(seconds=10))
            assert await failures(cluster) == ['storageClass "fast" not found']
            await cluster.create(now_class())
            await cluster.settle()
            assert len(storage.names) == 1
            assert await cluster.names("PersistentVolume") == storage.names


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        pytest.param({"colour": "red"}, "unknown colour", id="unknown-to-the-driver"),
        pytest.param(
            {"csi.storage.k8s.io/colour": "red"}, "csi.storage.k8s.io/colour", id="unknown-to-us"
        ),
    ],
)
async def test_unknown_parameters_are_refused_without_provisioning(
    parameters: dict[str, str], why: str
) -> None:
    async with a_world() as (cluster, storage), a_provisioner(cluster, storage):
        await cluster.create(now_class(parameters=parameters), claim())
        await cluster.wait(timedelta(minutes=1))
        assert any(why in message for message in await failures(cluster))
        assert storage.names == []
        assert await cluster.names("PersistentVolume") == []


async def test_a_selector_is_refused_without_provisioning() -> None:
    async with a_world() as (cluster, storage), a_provisioner(cluster, storage):
        choosy = claim()
        choosy["spec"]["selector"] = {"matchLabels": {"speed": "high"}}
        await cluster.create(now_class(), choosy)
        await cluster.wait(timedelta(minutes=1))
        assert await failures(cluster) == ["claim Selector is not supported"]
        assert storage.count("CreateVolume") == 0


async def test_a_claim_that_takes_another_volume_meanwhile_leaves_no_asset_behind() -> None:
    async with a_world() as (cluster, storage), a_provisioner(cluster, storage):
        storage.set_faults(Hang(call=FaultyCall.CREATE, seconds=30))
        await cluster.create(now_class(), claim())
        await cluster.settle()
        assert storage.count("CreateVolume") == 1
        reference = {"namespace": "default", "name": "data"}
        retained = {"persistentVolumeReclaimPolicy": "Retain"}
        await cluster.create(volume("by-hand", claim_ref=reference, spec=retained))
        await cluster.wait(timedelta(minutes=3))
        assert await volume_of(cluster, "data") == "by-hand"
        assert storage.names == []
        assert storage.deletions >= 1
        assert await cluster.names("PersistentVolume") == ["by-hand"]


async def test_a_claim_deleted_while_its_volume_is_made_leaves_nothing() -> None:
    async with a_world() as (cluster, storage), a_provisioner(cluster, storage):
        storage.set_faults(Hang(call=FaultyCall.CREATE, seconds=45))
        await cluster.create(now_class(), claim())
        await cluster.wait(timedelta(seconds=15))
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.settle()
        assert await cluster.find("PersistentVolumeClaim", "data") is None
        await cluster.wait(timedelta(minutes=5))
        assert storage.names == []
        assert await cluster.names("PersistentVolume") == []
        asked = storage.count("CreateVolume")
        await cluster.wait(timedelta(minutes=20))
        assert storage.count("CreateVolume") == asked


async def test_a_namesake_is_served_while_the_first_claim_is_finished() -> None:
    async with a_world() as (cluster, storage), a_provisioner(cluster, storage):
        storage.set_faults(Hang(call=FaultyCall.CREATE, seconds=45))
        await cluster.create(now_class(), claim())
        await cluster.wait(timedelta(seconds=15))
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.settle()
        await cluster.create(claim())
        await cluster.wait(timedelta(minutes=5))
        assert storage.names == [await volume_of(cluster, "data")]


async def released(cluster: StoryCluster, storage: StoryStorage, **fields: Any) -> str:
    """A volume whose claim is gone; its name."""
    await cluster.create(now_class(**fields), claim())
    async with a_provisioner(cluster, storage):
        await cluster.settle()
        name = await volume_of(cluster, "data")
    await cluster.delete("PersistentVolumeClaim", "data")
    await cluster.settle()
    left = await cluster.get("PersistentVolume", name)
    assert left["status"]["phase"] == "Released"
    return name


async def test_the_asset_goes_first_then_the_volume() -> None:
    async with a_world() as (cluster, storage):
        name = await released(cluster, storage)
        storage.set_faults(Fail(call=FaultyCall.DELETE, message="disk on fire", times=3))
        async with a_provisioner(cluster, storage):
            await cluster.settle()
            left = await cluster.get("PersistentVolume", name)
            assert "deletionTimestamp" not in left["metadata"]
            assert FINALIZER in left["metadata"]["finalizers"]
            [(reason, message)] = await cluster.events(name)
            assert reason == "VolumeFailedDelete"
            assert "disk on fire" in message
            await cluster.wait(timedelta(minutes=1))
            assert storage.names == []
            assert await cluster.names("PersistentVolume") == []


async def test_what_is_to_be_kept_is_kept() -> None:
    async with a_world() as (cluster, storage):
        name = await released(cluster, storage, reclaimPolicy="Retain")
        async with a_provisioner(cluster, storage):
            await cluster.wait(timedelta(minutes=1))
        assert storage.names == [name]
        assert storage.deletions == 0
        left = await cluster.get("PersistentVolume", name)
        assert FINALIZER not in left["metadata"].get("finalizers", [])


async def test_a_policy_changed_at_the_last_moment_counts() -> None:
    async with a_world() as (cluster, storage):
        name = await released(cluster, storage)
        storage.set_faults(Fail(call=FaultyCall.DELETE, times=2))
        async with a_provisioner(cluster, storage):
            await cluster.settle(timedelta(milliseconds=100))
            policy = {"spec": {"persistentVolumeReclaimPolicy": "Retain"}}
            await cluster.patch("PersistentVolume", name, policy)
            await cluster.wait(timedelta(minutes=5))
        assert storage.names == [name]


async def test_volumes_of_others_are_not_deleted() -> None:
    async with a_world() as (cluster, storage):
        name = await released(cluster, storage)
        maker = {"metadata": {"annotations": {"pv.kubernetes.io/provisioned-by": "other.test"}}}
        await cluster.patch("PersistentVolume", name, maker)
        async with a_provisioner(cluster, storage):
            await cluster.wait(timedelta(minutes=1))
        assert storage.names == [name]


async def test_a_volume_that_is_still_attached_is_not_deleted() -> None:
    async with a_world() as (cluster, storage):
        name = await released(cluster, storage)
        await cluster.create(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "VolumeAttachment",
                "metadata": {"name": "attached"},
                "spec": {
                    "attacher": DRIVER,
                    "nodeName": "node-a",
                    "source": {"persistentVolumeName": name},
                },
            }
        )
        async with a_provisioner(cluster, storage):
            await cluster.wait(timedelta(seconds=20))
            assert storage.names == [name]
            assert any("still attached" in message for _, message in await cluster.events(name))
            await cluster.delete("VolumeAttachment", "attached")
            await cluster.wait(timedelta(minutes=2))
            assert storage.names == []


async def test_a_volume_in_two_zones_does_not_leave_the_one_that_its_class_allows() -> None:
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]}]
    zones = {"node-a": {"zone": "a"}, "node-b": {"zone": "b"}}
    async with (
        a_cluster(*LOOPS) as cluster,
        a_storage(cluster.clock, zonal_pools("10Gi", "10Gi"), zones) as storage,
        a_provisioner(cluster, storage) as provisioner,
    ):
        await add_storage_nodes(cluster, zones)
        both = now_class(parameters={"domains": "2"}, allowedTopologies=allowed)
        await cluster.create(both, claim())
        await cluster.wait(timedelta(minutes=4))
        assert storage.names == []
        assert await cluster.names("PersistentVolume") == []
        assert storage.count("CreateVolume") == 1
        refusals = 'plimsoll_provisioner_refusals_total{problem="OutsideAllowedTopologies"'
        assert provisioner.sample(refusals) == 1
        [told] = await failures(cluster)
        assert f"accessible from [{ZONE}=a] [{ZONE}=b]" in told
        assert f"admit only [{ZONE} in (a)]" in told
        await cluster.wait(timedelta(minutes=2))
        assert storage.count("CreateVolume") == 2, "another look may end otherwise"
        assert storage.names == []
