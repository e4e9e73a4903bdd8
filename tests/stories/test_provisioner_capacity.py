"""Room is published, and what is published is kept true."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from plimsoll.api.registry import Document
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.objects import claim
from plimsoll.simulator.stories.refusing_transport import Rule, forbidden, missing, open_to_all
from plimsoll.simulator.stories.schedulers import (
    SELECTED_NODE,
    a_claim,
    a_pod,
    a_scheduler,
    node_of,
    volume_of,
)
from plimsoll.simulator.stories.sidecars import (
    DRIVER,
    HOST,
    NAMESPACE,
    PLAIN,
    POD,
    ZONE,
    ZONES,
    StoryStorage,
    a_class,
    a_csi_driver,
    a_provisioner,
    a_storage,
    add_storage_nodes,
    is_announcement,
    published,
    register_driver,
    unregister_driver,
    zonal_pools,
)
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.transport import Request

LOOPS = ("binding", "claim-protection", "volume-protection")
PUBLISHING = msgspec.structs.replace(PLAIN, enable_capacity=True)
POLL, GRACE = PUBLISHING.capacity_poll_interval, PUBLISHING.capacity_deletion_delay
GIB = 2**30
READING = ("get", "list", "watch")


@asynccontextmanager
async def a_world(*sizes: str) -> AsyncIterator[tuple[StoryCluster, StoryStorage]]:
    async with (
        a_cluster(*LOOPS) as cluster,
        a_storage(cluster.clock, zonal_pools(*(sizes or ("5Gi", "6Gi", "7Gi")))) as storage,
    ):
        await add_storage_nodes(cluster)
        yield cluster, storage


def capacity_object(name: str = "by-hand", **labels: str) -> Document:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "storageClassName": "fast",
        "nodeTopology": {"matchLabels": {HOST: "elsewhere"}},
        "capacity": "1Ti",
    }


OURS = {
    "csi.storage.k8s.io/drivername": DRIVER,
    "csi.storage.k8s.io/managed-by": "external-provisioner",
}


async def test_each_segment_and_class_has_an_object_with_its_capacity() -> None:
    async with a_world() as (cluster, storage), a_provisioner(cluster, storage, PUBLISHING):
        await cluster.create(a_class(), a_class("other", provisioner="other.test"))
        await cluster.create(a_class("now", waits=False))
        await cluster.settle()
        assert await published(cluster) == {
            ("fast", "a"): "5Gi",
            ("fast", "b"): "6Gi",
            ("fast", "c"): "7Gi",
        }
        [first, *_] = await cluster.all("CSIStorageCapacity")
        assert first["metadata"]["labels"] == OURS
        assert first["metadata"]["namespace"] == NAMESPACE
        assert first["maximumVolumeSize"] == first["capacity"]


async def test_what_changes_the_capacity_is_seen_at_once() -> None:
    async with a_world() as (cluster, storage), a_provisioner(cluster, storage, PUBLISHING):
        await cluster.create(a_class(), claim(annotations={SELECTED_NODE: "node-b"}))
        await cluster.settle()
        assert (await published(cluster))["fast", "b"] == "5Gi"
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.settle()
        assert (await published(cluster))["fast", "b"] == "6Gi"


async def test_a_volume_that_grows_takes_capacity_at_once() -> None:
    async with a_world() as (cluster, storage), a_provisioner(cluster, storage, PUBLISHING):
        await cluster.create(a_class(), claim(annotations={SELECTED_NODE: "node-b"}))
        await cluster.settle()
        [volume] = storage.driver.ledger.volumes.all()
        request = csi.ControllerExpandVolumeRequest(
            volume_id=volume.id, capacity_range=csi.CapacityRange(required_bytes=3 * GIB)
        )
        await storage.client.call(methods.CONTROLLER_EXPAND_VOLUME, request)
        await cluster.settle()
        assert (await published(cluster))["fast", "b"] == "5Gi"
        larger = {"spec": {"capacity": {"storage": "3Gi"}}}
        await cluster.patch("PersistentVolume", volume.name, larger)
        await cluster.settle()
        assert (await published(cluster))["fast", "b"] == "3Gi"


async def test_a_snapshot_gives_its_capacity_back_at_once_though_its_volume_is_gone() -> None:
    async with a_world() as (cluster, storage), a_provisioner(cluster, storage, PUBLISHING):
        await cluster.create(a_class(), claim(annotations={SELECTED_NODE: "node-b"}))
        await cluster.settle()
        [volume] = storage.driver.ledger.volumes.all()
        request = csi.CreateSnapshotRequest(source_volume_id=volume.id, name="backup")
        taken = (await storage.client.call(methods.CREATE_SNAPSHOT, request)).snapshot
        await cluster.create(content_of(taken))
        await cluster.settle()
        assert (await published(cluster))["fast", "b"] == "4Gi"
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.settle()
        assert (await published(cluster))["fast", "b"] == "5Gi"
        deletion = csi.DeleteSnapshotRequest(snapshot_id=taken.snapshot_id)
        await storage.client.call(methods.DELETE_SNAPSHOT, deletion)
        await cluster.delete("VolumeSnapshotContent", "content")
        await cluster.settle()
        assert (await published(cluster))["fast", "b"] == "6Gi"


def content_of(taken: csi.Snapshot) -> Document:
    return {
        "apiVersion": "snapshot.storage.k8s.io/v1",
        "kind": "VolumeSnapshotContent",
        "metadata": {"name": "content"},
        "spec": {
            "driver": DRIVER,
            "deletionPolicy": "Delete",
            "source": {"volumeHandle": taken.source_volume_id},
            "volumeSnapshotRef": {"namespace": "default", "name": "backup"},
        },
    }


async def test_what_no_event_told_is_found_by_the_next_poll() -> None:
    async with a_world() as (cluster, storage), a_provisioner(cluster, storage, PUBLISHING):
        await cluster.create(a_class())
        await cluster.settle()
        await storage.client.call(methods.CREATE_VOLUME, a_foreign_volume("a"))
        await cluster.settle()
        assert (await published(cluster))["fast", "a"] == "5Gi"
        await cluster.wait(POLL)
        assert (await published(cluster))["fast", "a"] == "4Gi"


def a_foreign_volume(zone: str) -> csi.CreateVolumeRequest:
    mode = csi.VolumeCapability.AccessMode.SINGLE_NODE_WRITER
    return csi.CreateVolumeRequest(
        name="foreign",
        capacity_range=csi.CapacityRange(required_bytes=GIB),
        volume_capabilities=[
            csi.VolumeCapability(
                mount=csi.VolumeCapability.MountVolume(),
                access_mode=csi.VolumeCapability.AccessMode(mode=mode),
            )
        ],
        accessibility_requirements=csi.TopologyRequirement(
            requisite=[csi.Topology(segments={ZONE: zone})]
        ),
    )


async def test_without_changes_only_the_lease_is_written() -> None:
    async with (
        a_world() as (cluster, storage),
        a_provisioner(cluster, storage, PUBLISHING) as provisioner,
    ):
        await cluster.create(a_class())
        await cluster.wait(POLL)
        provisioner.transport.passed.clear()
        await cluster.wait(10 * POLL)
        writes = [each for each in provisioner.transport.passed if each[0] not in READING]
        assert writes == [("update", "leases")] * 10


async def test_the_lease_tells_when_everything_was_last_looked_at() -> None:
    async with a_world() as (cluster, storage), a_provisioner(cluster, storage, PUBLISHING):
        await cluster.create(a_class())
        await cluster.wait(3 * POLL)
        [lease] = [each for each in await cluster.all("Lease") if not is_announcement(each)]
        assert lease["metadata"]["labels"] == OURS | {"plimsoll.dev/lease": "capacity"}
        assert lease["spec"]["holderIdentity"] == POD
        assert lease["spec"]["leaseDurationSeconds"] == 180
        now = cluster.clock.now()
        looked_at = datetime.fromisoformat(lease["spec"]["renewTime"])
        assert timedelta() <= now - looked_at <= POLL


async def test_objects_go_with_their_class() -> None:
    async with a_world() as (cluster, storage), a_provisioner(cluster, storage, PUBLISHING):
        await cluster.create(a_class(), a_class("slow"))
        await cluster.settle()
        await cluster.delete("StorageClass", "slow")
        await cluster.settle()
        assert {name for name, _ in await published(cluster)} == {"fast"}


async def test_objects_of_a_driver_that_restarts_stay() -> None:
    async with a_world() as (cluster, storage), a_provisioner(cluster, storage, PUBLISHING):
        await cluster.create(a_class())
        await cluster.settle()
        before = await cluster.names("CSIStorageCapacity")
        await unregister_driver(cluster, "node-b")
        await cluster.wait(GRACE / 2)
        await register_driver(cluster, "node-b", ZONES["node-b"])
        await cluster.wait(2 * GRACE)
        assert await cluster.names("CSIStorageCapacity") == before


async def test_objects_of_a_driver_that_left_a_node_go_after_a_while() -> None:
    async with a_world() as (cluster, storage), a_provisioner(cluster, storage, PUBLISHING):
        await cluster.create(a_class())
        await cluster.settle()
        await unregister_driver(cluster, "node-b")
        await cluster.wait(GRACE + timedelta(seconds=5))
        assert {where for _, where in await published(cluster)} == {"a", "c"}


async def test_a_provisioner_that_starts_anew_takes_over_what_is_there() -> None:
    async with a_world() as (cluster, storage):
        await cluster.create(a_class())
        async with a_provisioner(cluster, storage, PUBLISHING, seed=1):
            await cluster.settle()
        before = await cluster.names("CSIStorageCapacity")
        async with a_provisioner(cluster, storage, PUBLISHING, seed=2) as second:
            await cluster.wait(2 * POLL)
            assert await cluster.names("CSIStorageCapacity") == before
            assert {each for each in second.transport.passed if each[0] == "create"} <= {
                ("create", "leases")
            }


async def test_objects_made_by_hand_survive() -> None:
    async with a_world() as (cluster, storage), a_provisioner(cluster, storage, PUBLISHING):
        await cluster.create(
            a_class(),
            capacity_object("without-labels"),
            capacity_object(
                "of-another-publisher", **(OURS | {"csi.storage.k8s.io/managed-by": "me"})
            ),
        )
        await cluster.wait(2 * POLL)
        assert {"without-labels", "of-another-publisher"} <= set(
            await cluster.names("CSIStorageCapacity")
        )


async def test_what_others_change_or_delete_is_put_right() -> None:
    async with a_world() as (cluster, storage), a_provisioner(cluster, storage, PUBLISHING):
        await cluster.create(a_class(), capacity_object("stray", **OURS))
        await cluster.wait(GRACE + POLL)
        before = await published(cluster)
        assert ("fast", "elsewhere") not in before
        changed, deleted, *_ = await cluster.names("CSIStorageCapacity")
        where = {"namespace": NAMESPACE}
        await cluster.patch("CSIStorageCapacity", changed, {"capacity": "1Ki"}, **where)
        await cluster.delete("CSIStorageCapacity", deleted, NAMESPACE)
        await cluster.settle()
        assert await published(cluster) == before


async def test_the_owner_is_the_controller_of_the_pod() -> None:
    settings = msgspec.structs.replace(PUBLISHING, capacity_ownerref_level=1)
    controller = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "name": "provisioner",
        "uid": "11111111-1111-4111-8111-111111111111",
        "controller": True,
    }
    async with a_world() as (cluster, storage):
        await cluster.create(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": POD, "namespace": NAMESPACE, "ownerReferences": [controller]},
                "spec": {"containers": [{"name": "provisioner", "image": "plimsoll"}]},
            },
            a_class(),
        )
        async with a_provisioner(cluster, storage, settings):
            await cluster.settle()
        for each in await cluster.all("CSIStorageCapacity"):
            assert each["metadata"]["ownerReferences"] == [controller]


def writes_of(resource: str, status: int) -> Rule:
    def rule(request: Request) -> int:
        return status if not request.is_read and resource in request.path else 0

    return rule


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(forbidden("csistoragecapacities"), id="forbidden"),
        pytest.param(missing("csistoragecapacities"), id="missing"),
        pytest.param(writes_of("csistoragecapacities", 403), id="writing-forbidden"),
        pytest.param(writes_of("csistoragecapacities", 503), id="writing-fails"),
    ],
)
async def test_where_capacity_cannot_be_published_volumes_are_made_all_the_same(
    rule: Rule,
) -> None:
    async with (
        a_world() as (cluster, storage),
        a_provisioner(cluster, storage, PUBLISHING, rule=rule) as provisioner,
    ):
        await cluster.create(a_class(), claim(annotations={SELECTED_NODE: "node-b"}))
        await cluster.settle()
        assert await volume_of(cluster, "data")
        await cluster.wait(timedelta(minutes=30))
        before = len(provisioner.transport.turned_away)
        await cluster.wait(timedelta(minutes=10))
        # A few a minute, whatever the number of segments and classes.
        assert len(provisioner.transport.turned_away) - before <= 50
        provisioner.transport.rule = open_to_all
        await cluster.wait(timedelta(minutes=2))
        assert (await published(cluster))["fast", "b"] == "5Gi"
        assert len(await published(cluster)) == 3


async def test_where_leases_are_forbidden_numbers_are_published_all_the_same() -> None:
    async with (
        a_world() as (cluster, storage),
        a_provisioner(cluster, storage, PUBLISHING, rule=forbidden("leases")) as provisioner,
    ):
        await cluster.create(a_class())
        await cluster.wait(10 * POLL)
        assert len(await published(cluster)) == 3
        assert len(provisioner.transport.turned_away) <= 12


async def test_pods_wake_when_capacity_does_not_count_any_more() -> None:
    async with (
        a_world() as (cluster, storage),
        a_provisioner(cluster, storage, PUBLISHING),
        a_scheduler(cluster),
    ):
        await cluster.create(a_csi_driver(), a_class())
        await cluster.settle()
        # The driver says that there is no room, though there is.
        await cluster.create(a_claim(class_name="fast", size="50Gi"), a_pod(claims=["data"]))
        await cluster.settle()
        assert await node_of(cluster, "web") == ""
        assert storage.count("CreateVolume") == 0
        await cluster.patch("CSIDriver", DRIVER, {"spec": {"storageCapacity": False}})
        await cluster.wait(timedelta(seconds=15))
        assert storage.count("CreateVolume") > 0
        await cluster.patch("CSIDriver", DRIVER, {"spec": {"storageCapacity": True}})
        await cluster.wait(timedelta(seconds=30))
        asked = storage.count("CreateVolume")
        await cluster.wait(timedelta(minutes=2))
        assert storage.count("CreateVolume") == asked
        assert await node_of(cluster, "web") == ""


TABLE = """
- name: large
  labels: {node.kubernetes.io/instance-type: large}
  capacity:
    fast: {available: 500Gi, maximumVolumeSize: 400Gi}
    unknown: {available: 1Gi}
"""
TEMPLATE = "cluster-autoscaler.kubernetes.io/template-node"


async def templates(cluster: StoryCluster) -> list[tuple[dict[str, str], str]]:
    return [
        (each["nodeTopology"]["matchLabels"], each["capacity"])
        for each in await cluster.all("CSIStorageCapacity")
        if TEMPLATE in each["nodeTopology"]["matchLabels"]
    ]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({}, id="central"),
        pytest.param({"node_deployment": True, "node_name": "node-a"}, id="on-a-node"),
    ],
)
async def test_nodes_that_do_not_exist_yet_have_the_capacity_of_their_type(
    tmp_path: Path, change: dict[str, object]
) -> None:
    table = tmp_path / "types.yaml"
    table.write_text(TABLE)
    settings = msgspec.structs.replace(PUBLISHING, capacity_node_types=str(table), **change)
    labels = {TEMPLATE: "true", "node.kubernetes.io/instance-type": "large"}
    async with a_world() as (cluster, storage):
        await cluster.create(a_class())
        async with a_provisioner(cluster, storage, settings) as provisioner:
            await cluster.wait(GRACE + 2 * POLL)
            assert await templates(cluster) == [(labels, "500Gi")]
            provisioner.transport.passed.clear()
            await cluster.wait(2 * POLL)
            writes = {each for each in provisioner.transport.passed if each[0] not in READING}
            assert writes == {("update", "leases")}
        table.write_text(TABLE.replace("500Gi", "600Gi"))
        async with a_provisioner(cluster, storage, settings, seed=2):
            await cluster.settle()
            assert await templates(cluster) == [(labels, "600Gi")]
            await cluster.delete("StorageClass", "fast")
            await cluster.settle()
            assert await templates(cluster) == []


async def test_classes_with_equal_parameters_share_one_question_for_each_segment() -> None:
    async with a_world() as (cluster, storage):
        await cluster.create(
            a_class("one", parameters={"domains": "1"}),
            a_class("two", parameters={"domains": "1"}),
            a_class("plain"),
        )
        async with a_provisioner(cluster, storage, PUBLISHING) as provisioner:
            await cluster.settle()
            assert storage.count("GetCapacity") == 2 * len(ZONES)
            written = 'plimsoll_provisioner_capacity_reports_total{outcome="Written"}'
            assert provisioner.sample(written) == 3 * len(ZONES)
            numbers = await published(cluster)
            assert {name for name, _ in numbers} == {"one", "two", "plain"}
            for zone in "abc":
                assert numbers["one", zone] == numbers["two", zone]
            storage.calls.clear()
            await cluster.wait(POLL)
            assert storage.count("GetCapacity") == 2 * len(ZONES)
