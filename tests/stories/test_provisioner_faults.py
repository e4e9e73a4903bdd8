"""What goes wrong around a provisioner: servers refuse, roles are narrow, secrets stay secret."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import msgspec
import pytest

from plimsoll.api.registry import Document
from plimsoll.processes.driver.backends.pools.faults import Fail, FaultyCall
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.objects import claim
from plimsoll.simulator.stories.refusing_transport import asked, open_to_all, role
from plimsoll.simulator.stories.schedulers import SELECTED_NODE, volume_of
from plimsoll.simulator.stories.sidecars import (
    PLAIN,
    StoryStorage,
    a_class,
    a_provisioner,
    a_secret,
    a_storage,
    add_storage_nodes,
    is_announcement,
    published,
    zonal_pools,
)
from plimsoll.wire.transport import Request

LOOPS = ("binding", "claim-protection", "volume-protection")
PUBLISHING = msgspec.structs.replace(PLAIN, enable_capacity=True)
ROLE = {
    "secrets": "get list",
    "persistentvolumes": "get list watch create patch delete",
    "persistentvolumeclaims": "get list watch update",
    "storageclasses": "get list watch",
    "events": "list watch create update patch",
    "volumesnapshots": "get list watch update",
    "volumesnapshotcontents": "get list",
    "csinodes": "get list watch",
    "nodes": "get list watch",
    "volumeattachments": "get list watch",
    "leases": "get watch list delete update create",
    "csistoragecapacities": "get list watch create update patch delete",
    "pods": "get",
    "replicasets": "get",
}
"""What csi-provisioner's manifests grant."""


@asynccontextmanager
async def a_world() -> AsyncIterator[tuple[StoryCluster, StoryStorage]]:
    async with (
        a_cluster(*LOOPS) as cluster,
        a_storage(cluster.clock, zonal_pools("10Gi", "10Gi")) as storage,
    ):
        await add_storage_nodes(cluster, {"node-a": {"zone": "a"}, "node-b": {"zone": "b"}})
        yield cluster, storage


def stores_volume(request: Request) -> bool:
    return asked(request) == ("create", "persistentvolumes")


@pytest.mark.parametrize("status", [403, 422, 500, 503])
async def test_a_volume_that_cannot_be_stored_is_stored_later(status: int) -> None:
    async with (
        a_world() as (cluster, storage),
        a_provisioner(
            cluster, storage, rule=lambda request: status if stores_volume(request) else 0
        ) as provisioner,
    ):
        await cluster.create(a_class(waits=False), claim())
        await cluster.wait(timedelta(seconds=20))
        assert len(storage.names) == 1
        assert await cluster.names("PersistentVolume") == []
        assert any(
            reason == "ProvisioningFailed" and "storing it failed" in message
            for reason, message in await cluster.events("data")
        )
        provisioner.transport.rule = open_to_all
        await cluster.wait(timedelta(minutes=1))
        assert storage.names == [await volume_of(cluster, "data")]
        assert storage.count("CreateVolume") == 1


async def test_a_claim_deleted_before_its_volume_is_stored_leaves_nothing() -> None:
    async with (
        a_world() as (cluster, storage),
        a_provisioner(
            cluster, storage, rule=lambda request: 500 if stores_volume(request) else 0
        ) as provisioner,
    ):
        await cluster.create(a_class(waits=False), claim())
        await cluster.wait(timedelta(seconds=5))
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.wait(timedelta(seconds=5))
        provisioner.transport.rule = open_to_all
        await cluster.wait(timedelta(minutes=5))
        assert storage.names == []
        assert await cluster.names("PersistentVolume") == []


async def test_the_role_of_csi_provisioners_manifests_is_enough() -> None:
    """It may not patch claims, snapshots and leases, only replace them."""
    async with (
        a_world() as (cluster, storage),
        a_provisioner(cluster, storage, PUBLISHING, rule=role(ROLE)) as provisioner,
    ):
        storage.set_faults(Fail(call=FaultyCall.CREATE, code="RESOURCE_EXHAUSTED"))
        waiting = claim("moves", class_name="late", annotations={SELECTED_NODE: "node-a"})
        await cluster.create(a_class("late"), waiting)
        await cluster.settle()
        moved = await cluster.get("PersistentVolumeClaim", "moves")
        assert SELECTED_NODE not in moved["metadata"]["annotations"]
        await cluster.create(a_class(waits=False), claim())
        await cluster.settle()
        source = {"kind": "PersistentVolumeClaim", "name": "data"}
        copy = claim("copy")
        copy["spec"]["dataSource"] = source
        await cluster.create(copy)
        await cluster.settle()
        assert sorted(storage.names) == sorted(
            [await volume_of(cluster, "data"), await volume_of(cluster, "copy")]
        )
        for name in ("copy", "data"):
            await cluster.delete("PersistentVolumeClaim", name)
        await cluster.wait(timedelta(minutes=3))
        assert storage.names == []
        assert await cluster.names("PersistentVolumeClaim") == ["moves"]
        assert len(await published(cluster)) == 2
        leases = [each for each in await cluster.all("Lease") if not is_announcement(each)]
        assert len(leases) == 1
        # Only watching contents of snapshots would need more; they are listed instead.
        assert set(provisioner.transport.turned_away) <= {("watch", "volumesnapshotcontents")}


SECRET = "open sesame"  # noqa: S105 - to be looked for
WITH_SECRET = {
    "csi.storage.k8s.io/provisioner-secret-name": "access",
    "csi.storage.k8s.io/provisioner-secret-namespace": "default",
}


async def everything(cluster: StoryCluster) -> str:
    kinds = ("Event", "PersistentVolume", "PersistentVolumeClaim", "Lease", "StorageClass")
    found: list[Document] = []
    for kind in kinds:
        found += await cluster.all(kind)
    return str(found)


async def test_secrets_are_given_to_the_driver_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    async with a_world() as (cluster, storage), a_provisioner(cluster, storage):
        storage.set_faults(Fail(call=FaultyCall.CREATE, message=f"wrong password {SECRET}"))
        await cluster.create(
            a_secret(password=SECRET), a_class(waits=False, parameters=WITH_SECRET), claim()
        )
        await cluster.wait(timedelta(seconds=30))
        made = await cluster.get("PersistentVolume", await volume_of(cluster, "data"))
        assert [dict(call.secrets) for call in storage.created] == [{"password": SECRET}] * 2
        prefix = "volume.kubernetes.io/provisioner-deletion-secret"
        annotations = made["metadata"]["annotations"]
        assert annotations[f"{prefix}-name"] == "access"
        assert any("wrong password" in message for _, message in await cluster.events("data"))
        assert SECRET not in await everything(cluster)
        logged = [record.__dict__ for record in caplog.records]
        assert SECRET not in str([r for r in logged if "driver" not in r["name"]])


async def test_a_missing_secret_is_reported_and_waited_for() -> None:
    async with a_world() as (cluster, storage), a_provisioner(cluster, storage):
        await cluster.create(a_class(waits=False, parameters=WITH_SECRET), claim())
        await cluster.wait(timedelta(seconds=10))
        assert storage.count("CreateVolume") == 0
        assert any(
            "error getting secret access in namespace default" in message
            for _, message in await cluster.events("data")
        )
        await cluster.create(a_secret(password=SECRET))
        await cluster.wait(timedelta(minutes=1))
        assert await volume_of(cluster, "data")


async def test_what_the_driver_calls_senseless_is_put_off_until_the_class_is_another() -> None:
    async with a_world() as (cluster, storage), a_provisioner(cluster, storage):
        await cluster.create(a_class(waits=False, parameters={"colour": "red"}), claim())
        await cluster.wait(timedelta(minutes=4))
        assert storage.count("CreateVolume") == 1
        await cluster.delete("StorageClass", "fast")
        await cluster.create(a_class(waits=False))
        await cluster.settle()
        assert await volume_of(cluster, "data")


class OneList:
    """A rule: claims are listed once, and what becomes of them is not told."""

    def __init__(self) -> None:
        self.listed = 0

    def __call__(self, request: Request) -> int:
        if asked(request) == ("watch", "persistentvolumeclaims"):
            return 503
        if asked(request) != ("list", "persistentvolumeclaims"):
            return 0
        self.listed += 1
        return 503 if self.listed > 1 else 0


async def test_a_claim_whose_end_is_not_seen_yet_gets_no_second_volume() -> None:
    """The provisioner has seen the claim when it was new, and its volume go away."""
    async with a_world() as (cluster, storage):
        await cluster.create(a_class(waits=False), claim())
        await cluster.settle()
        async with a_provisioner(cluster, storage, rule=OneList()):
            await cluster.settle()
            assert await volume_of(cluster, "data")
            await cluster.delete("PersistentVolumeClaim", "data")
            await cluster.wait(timedelta(minutes=1))
            assert await cluster.all("PersistentVolume") == []
            assert storage.names == []
            assert storage.count("CreateVolume") == 1


class KeptIntents:
    """A rule: intents are not deleted while it is shut; volumes that are stored are counted."""

    def __init__(self) -> None:
        self.is_shut = True
        self.stored = 0

    def __call__(self, request: Request) -> int:
        self.stored += stores_volume(request)
        return 503 if self.is_shut and asked(request) == ("delete", "leases") else 0


async def test_a_volume_is_not_stored_again_when_it_is_gone_before_its_intent() -> None:
    rule = KeptIntents()
    async with a_world() as (cluster, storage), a_provisioner(cluster, storage, rule=rule):
        await cluster.create(a_class(waits=False), claim())
        await cluster.wait(timedelta(seconds=40))
        assert await volume_of(cluster, "data")
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.wait(timedelta(seconds=40))
        assert await cluster.all("PersistentVolume") == []
        rule.is_shut = False
        await cluster.wait(timedelta(minutes=3))
        assert rule.stored == 1
        assert await cluster.all("PersistentVolume") == []
        assert storage.names == []
        assert storage.count("CreateVolume") == 1


async def test_a_volume_that_is_held_by_its_finalizer_is_deleted_ever_more_seldom() -> None:
    """Roles of old manifests do not grant `patch`: the object stays when its volume is gone."""
    narrow = role(ROLE | {"persistentvolumes": "get list watch create delete"})
    async with a_world() as (cluster, storage), a_provisioner(cluster, storage) as provisioner:
        await cluster.create(a_class(waits=False), claim())
        await cluster.wait(timedelta(seconds=40))
        provisioner.transport.rule = narrow
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.wait(timedelta(minutes=30))
        assert storage.names == []
        assert len(await cluster.all("PersistentVolume")) == 1
        assert 10 < storage.count("DeleteVolume") < 25
        provisioner.transport.rule = open_to_all
        await cluster.wait(timedelta(minutes=5))
        assert await cluster.all("PersistentVolume") == []
