"""Volumes are made for claims by provisioners inside the controller."""

from datetime import timedelta
from pathlib import Path

import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.processes.controller.in_process.provisioners.protocol import ProvisionerError, Trouble
from plimsoll.processes.controller.in_process.provisioners.simulated_cloud import SimulatedCloud
from plimsoll.processes.controller.in_process.provisioners.zones import REGION, ZONE
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.objects import claim
from plimsoll.simulator.stories.provisioners import (
    HOST_PATH,
    MOODY,
    ZONAL,
    Moody,
    a_class,
    binding,
    host_path,
    names,
    zonal,
    zones,
)

SELECTED_NODE = "volume.kubernetes.io/selected-node"
GUARD = "plimsoll.dev/provisioning"
GIB = 1 << 30


def for_node(name: str) -> Document:
    """A claim that the scheduler has put on a node."""
    return claim(annotations={SELECTED_NODE: name})


async def add_zonal_node(cluster: StoryCluster, name: str, zone: str) -> None:
    labels = {ZONE: zone, REGION: zone.rpartition("-")[0], "kubernetes.io/hostname": name}
    await cluster.create(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
    )


async def bound_volume(cluster: StoryCluster) -> Document:
    """The volume of the claim `data`, bound in both directions."""
    bound = await cluster.get("PersistentVolumeClaim", "data")
    assert bound["status"]["phase"] == "Bound"
    found = await cluster.get("PersistentVolume", bound["spec"]["volumeName"])
    assert found["status"]["phase"] == "Bound"
    assert found["spec"]["claimRef"]["uid"] == bound["metadata"]["uid"]
    return found


async def test_a_volume_is_made_bound_and_remembers_its_maker() -> None:
    cloud = SimulatedCloud()
    async with a_cluster(more=binding(zonal(cloud))) as cluster:
        await add_zonal_node(cluster, "node-a", "europe-a")
        await cluster.create(a_class(ZONAL, parameters={"type": "ssd"}), claim())
        await cluster.settle()
        made = await bound_volume(cluster)
        waiting = await cluster.get("PersistentVolumeClaim", "data")
        assert made["metadata"]["name"] == f"pvc-{waiting['metadata']['uid']}"
        assert names(cloud) == [made["metadata"]["name"]]
        assert made["metadata"]["annotations"]["pv.kubernetes.io/provisioned-by"] == ZONAL
        assert "kubernetes.io/pv-controller" in made["metadata"]["finalizers"]
        assert made["spec"]["storageClassName"] == "fast"
        assert made["spec"]["capacity"] == {"storage": "1Gi"}
        assert GUARD not in waiting["metadata"]["finalizers"]
        assert (
            "ProvisioningSucceeded",
            f"Successfully provisioned volume {names(cloud)[0]} using {ZONAL}",
        ) in await cluster.events("data")


async def test_a_disk_is_made_in_the_zone_of_the_selected_node() -> None:
    cloud = SimulatedCloud()
    async with a_cluster(more=binding(zonal(cloud))) as cluster:
        for zone in "abc":
            await add_zonal_node(cluster, f"node-{zone}", f"europe-{zone}")
        await cluster.create(a_class(ZONAL, waits=True), for_node("node-b"))
        await cluster.settle()
        made = await bound_volume(cluster)
        assert zones(cloud) == [("europe-b",)]
        assert made["metadata"]["labels"] == {ZONE: "europe-b", REGION: "europe"}
        term = made["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
        assert term == [
            {
                "matchExpressions": [
                    {"key": ZONE, "operator": "In", "values": ["europe-b"]},
                    {"key": REGION, "operator": "In", "values": ["europe"]},
                ]
            }
        ]


async def test_a_replicated_disk_is_in_the_nodes_zone_and_another_allowed_one() -> None:
    cloud = SimulatedCloud()
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": ["europe-a", "europe-c"]}]}]
    replicated = a_class(
        ZONAL, waits=True, parameters={"replication": "two-zones"}, allowedTopologies=allowed
    )
    async with a_cluster(more=binding(zonal(cloud))) as cluster:
        for zone in "abc":
            await add_zonal_node(cluster, f"node-{zone}", f"europe-{zone}")
        await cluster.create(replicated, for_node("node-c"))
        await cluster.settle()
        made = await bound_volume(cluster)
        assert zones(cloud) == [("europe-c", "europe-a")]
        assert made["metadata"]["labels"][ZONE] == "europe-a__europe-c"


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        pytest.param({"parameters": {"colour": "red"}}, "unknown parameters: colour", id="unknown"),
        pytest.param({"parameters": {"type": "tape"}}, '"tape" is not one of', id="bad-value"),
        pytest.param(
            {
                "parameters": {"zone": "europe-a"},
                "allowedTopologies": [
                    {"matchLabelExpressions": [{"key": ZONE, "values": ["europe-a"]}]}
                ],
            },
            "parameter zone and allowedTopologies exclude each other",
            id="zones-twice",
        ),
        pytest.param(
            {"parameters": {"replication": "two-zones", "zones": "europe-a"}},
            "needs 2 zones, the class allows europe-a",
            id="too-few-zones",
        ),
    ],
)
async def test_what_is_not_understood_is_refused_and_nothing_is_made(
    fields: Document, why: str
) -> None:
    cloud = SimulatedCloud()
    async with a_cluster(more=binding(zonal(cloud))) as cluster:
        await add_zonal_node(cluster, "node-a", "europe-a")
        await cluster.create(a_class(ZONAL, **fields), claim())
        await cluster.settle()
        [(reason, message)] = await cluster.events("data")
        assert reason == "ProvisioningFailed"
        assert why in message
        assert cloud.disks == []
        assert await cluster.names("PersistentVolume") == []


async def test_a_selector_is_refused_and_nothing_is_made() -> None:
    cloud, choosy = SimulatedCloud(), claim()
    choosy["spec"]["selector"] = {"matchLabels": {"region": "north"}}
    async with a_cluster(more=binding(zonal(cloud))) as cluster:
        await cluster.create(a_class(ZONAL), choosy)
        await cluster.settle()
        [(_, message)] = await cluster.events("data")
        assert "claim.spec.selector is not supported" in message
        assert cloud.disks == []


async def test_a_full_zone_makes_the_scheduler_choose_again() -> None:
    cloud = SimulatedCloud(zone_bytes=GIB // 2)
    async with a_cluster(more=binding(zonal(cloud))) as cluster:
        await add_zonal_node(cluster, "node-a", "europe-a")
        await cluster.create(a_class(ZONAL, waits=True), for_node("node-a"))
        await cluster.settle()
        found = await cluster.get("PersistentVolumeClaim", "data")
        assert SELECTED_NODE not in found["metadata"]["annotations"]
        assert GUARD not in found["metadata"]["finalizers"]
        events = await cluster.events("data")
        assert any(
            reason == "ProvisioningFailed" and "zone europe-a has" in message
            for reason, message in events
        )


async def test_a_passing_failure_is_tried_again_on_the_same_node() -> None:
    moody = Moody(moods=[ProvisionerError(Trouble.TRY_AGAIN, "the store is busy")] * 3)
    async with a_cluster(more=binding(moody)) as cluster:
        await cluster.add_node("node-1")
        await cluster.create(a_class(MOODY, waits=True), for_node("node-1"))
        await cluster.wait(timedelta(seconds=1))
        found = await cluster.get("PersistentVolumeClaim", "data")
        assert found["metadata"]["annotations"][SELECTED_NODE] == "node-1"
        await cluster.wait(timedelta(seconds=30))
        await bound_volume(cluster)
        assert moody.made == 1


async def test_what_may_have_been_made_is_deleted_when_the_claim_is() -> None:
    moody = Moody(moods=[ProvisionerError(Trouble.TRY_AGAIN, "no answer")] * 50)
    async with a_cluster("claim-protection", more=binding(moody)) as cluster:
        await cluster.create(a_class(MOODY), claim())
        await cluster.settle()
        uid = (await cluster.get("PersistentVolumeClaim", "data"))["metadata"]["uid"]
        moody.assets.add(f"pvc-{uid}")  # the call that got no answer had arrived
        moody.deletion_moods = [ProvisionerError(Trouble.TRY_AGAIN, "no answer")]
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.settle()
        await cluster.wait(timedelta(seconds=30))
        assert await cluster.find("PersistentVolumeClaim", "data") is None
        assert moody.assets == set()
        assert "ProvisioningCleanupFailed" in {r for r, _ in await cluster.events("data")}


async def test_a_volume_that_cannot_be_stored_is_deleted_again() -> None:
    moody = Moody(labels={"not a label": "x"})
    async with a_cluster(more=binding(moody)) as cluster:
        await cluster.create(a_class(MOODY), claim())
        await cluster.wait(timedelta(milliseconds=400))
        [(reason, message)] = await cluster.events("data")
        assert reason == "ProvisioningFailed"
        assert message.endswith("Deleting the volume.")
        assert (moody.made, moody.deleted, moody.assets) == (1, 1, set())
        found = await cluster.get("PersistentVolumeClaim", "data")
        assert GUARD not in found["metadata"]["finalizers"]


async def test_what_cannot_be_cleaned_up_is_reported_and_not_forgotten() -> None:
    broken = ProvisionerError(Trouble.TRY_AGAIN, "the store is on fire")
    moody = Moody(labels={"not a label": "x"}, deletion_moods=[broken] * 5)
    async with a_cluster("claim-protection", more=binding(moody)) as cluster:
        await cluster.create(a_class(MOODY), claim())
        await cluster.wait(timedelta(seconds=41))
        message = dict(await cluster.events("data"))["ProvisioningCleanupFailed"]
        assert "the store is on fire" in message
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.wait(timedelta(seconds=30))
        assert moody.assets == set()
        assert await cluster.find("PersistentVolumeClaim", "data") is None


async def test_mount_options_are_refused_by_provisioners_that_do_not_take_them() -> None:
    moody = Moody()
    async with a_cluster(more=binding(moody)) as cluster:
        await cluster.create(a_class(MOODY, mountOptions=["ro"]), claim())
        await cluster.settle()
        [(_, message)] = await cluster.events("data")
        assert "Mount options are not supported by the provisioner" in message
        assert moody.made == 0


async def test_secrets_are_read_by_reference_and_copied_nowhere() -> None:
    moody = Moody(secret_key=ObjectKey("kube-system", "store"))
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "store", "namespace": "kube-system"},
        "stringData": {"password": "open sesame"},
    }
    async with a_cluster(more=binding(moody)) as cluster:
        await cluster.create(a_class(MOODY, parameters={"secret": "kube-system/store"}), claim())
        await cluster.settle()
        assert any(
            "secret kube-system/store does not exist" in message
            for _, message in await cluster.events("data")
        )
        await cluster.create(secret)
        await cluster.wait(timedelta(seconds=30))
        made = await bound_volume(cluster)
        events = await cluster.all("Event")
        assert "sesame" not in f"{made}{events}"
        assert "kube-system/store" not in str(made)


def directories(root: Path) -> list[str]:
    return [str(path) for path in root.iterdir() if path.is_dir()]


async def test_a_host_path_volume_is_a_directory_for_the_selected_node(tmp_path: Path) -> None:
    async with a_cluster(more=binding(host_path(tmp_path / "volumes"))) as cluster:
        await cluster.create(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": "node-1", "labels": {"kubernetes.io/hostname": "host-1"}},
            },
            a_class(HOST_PATH, waits=True),
            for_node("node-1"),
        )
        await cluster.settle()
        made = await bound_volume(cluster)
        assert directories(tmp_path / "volumes") == [made["spec"]["hostPath"]["path"]]
        [term] = made["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
        [expression] = term["matchExpressions"]
        assert expression == {
            "key": "kubernetes.io/hostname",
            "operator": "In",
            "values": ["host-1"],
        }


async def test_a_claim_that_finds_a_volume_meanwhile_leaves_nothing_behind() -> None:
    moody = Moody(moods=[ProvisionerError(Trouble.TRY_AGAIN, "no answer")] * 50)
    async with a_cluster(more=binding(moody)) as cluster:
        await cluster.create(a_class(MOODY), claim())
        await cluster.settle()
        uid = (await cluster.get("PersistentVolumeClaim", "data"))["metadata"]["uid"]
        moody.assets.add(f"pvc-{uid}")  # the call that got no answer had arrived
        by_hand = {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": "by-hand"},
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "fast",
                "persistentVolumeReclaimPolicy": "Retain",
                "claimRef": {"namespace": "default", "name": "data"},
                "nfs": {"server": "store", "path": "/by-hand"},
            },
        }
        await cluster.create(by_hand)
        await cluster.wait(timedelta(minutes=3))
        assert (await bound_volume(cluster))["metadata"]["name"] == "by-hand"
        assert moody.assets == set()
