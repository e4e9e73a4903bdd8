"""The classes, claims and volumes of the dynamic provisioning design, with provisioners inside and
outside of the controller.

The documents are the design's, as far as servers of today take them: classes are in
`storage.k8s.io/v1`, their names have no capital letters, values of labels no spaces, and what is
created has no version yet. There is no cloud here, so `kubernetes.io/aws-ebs` is exchanged for a
provisioner that is there, and the values of its parameters for those that it knows.

Not here: the alpha annotation `volume.alpha.kubernetes.io/storage-class`, which Kubernetes itself
does not read any more. The rollback design and the Ceph design have no objects to try.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import yaml

from plimsoll.api.registry import Document
from plimsoll.processes.controller.in_process.provisioners.simulated_cloud import SimulatedCloud
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.objects import claim, volume
from plimsoll.simulator.stories.provisioners import ZONAL, binding, zonal
from plimsoll.simulator.stories.schedulers import a_claim, volume_of
from plimsoll.simulator.stories.sidecars import (
    DRIVER,
    StoryStorage,
    a_provisioner,
    a_storage,
    add_storage_nodes,
    pool,
)

AWS_CLASSES = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: aws-fast
provisioner: kubernetes.io/aws-ebs
parameters:
   zone: us-east-1b
   type: ssd
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: aws-slow
provisioner: kubernetes.io/aws-ebs
parameters:
   zone: us-east-1b
   type: spinning
"""
FOO_CLASS = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: my-class
provisioner: foo.org/foo-volume
"""
FOO_CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  annotations:
    volume.beta.kubernetes.io/storage-class: my-class
  name: fooclaim
  namespace: default
spec:
  accessModes:
  - ReadWriteOnce
  resources:
    requests:
      storage: 4Gi
"""
FOO_VOLUME = """
apiVersion: v1
kind: PersistentVolume
metadata:
  annotations:
    pv.kubernetes.io/provisioned-by: foo.org/foo-volume
    volume.beta.kubernetes.io/storage-class: my-class
    foo.org/provisioner: "any other annotations as needed"
  labels:
      foo.org/my-label: "any-labels-as-needed"
  generateName: "foo-volume-"
spec:
  accessModes:
  - ReadWriteOnce
  awsElasticBlockStore:
    fsType: ext4
    volumeID: aws://us-east-1d/vol-de401a79
  capacity:
    storage: 4Gi
  claimRef:
    apiVersion: v1
    kind: PersistentVolumeClaim
    name: fooclaim
    namespace: default
  persistentVolumeReclaimPolicy: Delete
"""
PROVISIONER = "volume.beta.kubernetes.io/storage-provisioner"
SELECTOR = {
    "matchExpressions": [{"key": "region", "operator": "NotIn", "values": ["east", "west"]}]
}


def aws_classes(provisioner: str, *, slow: str) -> list[Document]:
    """For a provisioner that is there, which calls the slow disks like this."""
    classes: list[Document] = list(yaml.safe_load_all(AWS_CLASSES))
    classes[1]["parameters"]["type"] = slow
    return [each | {"provisioner": provisioner} for each in classes]


def of_the_driver(class_: Document) -> Document:
    """Our CSI driver calls the type a kind, and has zones in topologies only."""
    allowed = {"key": f"topology.{DRIVER}/zone", "values": [class_["parameters"]["zone"]]}
    return class_ | {
        "parameters": {"kind": class_["parameters"]["type"]},
        "allowedTopologies": [{"matchLabelExpressions": [allowed]}],
    }


# Two classes with distinct quality


async def test_a_provisioner_inside_makes_each_disk_as_the_parameters_of_its_class_say() -> None:
    cloud = SimulatedCloud()
    async with a_cluster(more=binding(zonal(cloud))) as cluster:
        for zone in ("us-east-1a", "us-east-1b"):
            await cluster.add_node(zone, **{"topology_kubernetes_io/zone": zone})
        await cluster.create(*aws_classes(ZONAL, slow="standard"))
        await cluster.create(claim("quick", class_name="aws-fast"))
        await cluster.create(claim("cheap", class_name="aws-slow"))
        await cluster.settle()
        disks = {disk.name: (disk.type, disk.zones) for disk in cloud.disks}
        assert disks == {
            await volume_of(cluster, "quick"): ("ssd", ("us-east-1b",)),
            await volume_of(cluster, "cheap"): ("standard", ("us-east-1b",)),
        }
        made = await cluster.get("PersistentVolume", await volume_of(cluster, "quick"))
        assert made["spec"]["storageClassName"] == "aws-fast"


async def test_a_value_that_the_provisioner_does_not_know_is_told_and_nothing_is_made() -> None:
    cloud = SimulatedCloud()
    async with a_cluster(more=binding(zonal(cloud))) as cluster:
        await cluster.create(*aws_classes(ZONAL, slow="spinning"))
        await cluster.create(claim(class_name="aws-slow"))
        await cluster.settle()
        [(reason, message)] = await cluster.events("data")
        assert reason == "ProvisioningFailed"
        assert 'parameter type: "spinning" is not one of standard, ssd' in message
        assert cloud.disks == []


@asynccontextmanager
async def an_external_world() -> AsyncIterator[tuple[StoryCluster, StoryStorage]]:
    """A CSI driver with fast and slow pools in two zones, and its provisioner."""
    zones = {zone: {"zone": zone} for zone in ("us-east-1a", "us-east-1b")}
    pools = [
        pool(f"{kind}-{zone}", "10Gi", kind=kind, topology={"zone": zone})
        for zone in zones
        for kind in ("ssd", "spinning")
    ]
    async with (
        a_cluster("binding", "claim-protection") as cluster,
        a_storage(cluster.clock, pools, zones) as storage,
        a_provisioner(cluster, storage),
    ):
        await add_storage_nodes(cluster, zones)
        yield cluster, storage


async def test_a_provisioner_outside_makes_each_disk_as_the_parameters_of_its_class_say() -> None:
    async with an_external_world() as (cluster, storage):
        await cluster.create(*map(of_the_driver, aws_classes(DRIVER, slow="spinning")))
        await cluster.create(claim("quick", class_name="aws-fast"))
        await cluster.create(claim("cheap", class_name="aws-slow"))
        await cluster.settle()
        assert storage.pools_used == [("spinning-us-east-1b",), ("ssd-us-east-1b",)]
        made = await cluster.get("PersistentVolume", await volume_of(cluster, "cheap"))
        assert made["spec"]["storageClassName"] == "aws-slow"
        assert made["metadata"]["annotations"]["pv.kubernetes.io/provisioned-by"] == DRIVER


async def test_the_classes_as_they_are_wait_for_the_csi_driver_that_took_over_their_disks() -> None:
    async with a_cluster("binding") as cluster:
        await cluster.create(*yaml.safe_load_all(AWS_CLASSES))
        await cluster.create(claim(class_name="aws-fast"))
        await cluster.settle()
        waiting = await cluster.get("PersistentVolumeClaim", "data")
        assert waiting["metadata"]["annotations"][PROVISIONER] == "ebs.csi.aws.com"
        [(reason, message)] = await cluster.events("data")
        assert reason == "ExternalProvisioning"
        assert "'ebs.csi.aws.com'" in message


@pytest.mark.parametrize("prefix", ["storageclass.beta", "storageclass"])
async def test_a_claim_that_names_no_class_gets_the_default_and_one_that_wants_none_does_not(
    prefix: str,
) -> None:
    default = {"metadata": {"annotations": {f"{prefix}.kubernetes.io/is-default-class": "true"}}}
    silent = claim("silent")
    del silent["spec"]["storageClassName"]
    cloud = SimulatedCloud()
    async with a_cluster(more=binding(zonal(cloud))) as cluster:
        await cluster.add_node("node-1", **{"topology_kubernetes_io/zone": "us-east-1b"})
        await cluster.create(*aws_classes(ZONAL, slow="standard"))
        await cluster.patch("StorageClass", "aws-slow", default)
        await cluster.create(silent, claim("static", class_name=""))
        await cluster.settle()
        assert [disk.name for disk in cloud.disks] == [await volume_of(cluster, "silent")]
        assert await volume_of(cluster, "static") == ""


# Selectors


def choosy() -> Document:
    wanted = claim(class_name="aws-fast")
    wanted["spec"]["selector"] = SELECTOR
    return wanted


def in_region(name: str) -> Document:
    return volume(name, spec={"storageClassName": "aws-fast"}, labels={"region": name})


async def test_a_selector_finds_a_volume_that_is_there_and_provisions_none_inside() -> None:
    cloud = SimulatedCloud()
    async with a_cluster(more=binding(zonal(cloud))) as cluster:
        await cluster.create(*aws_classes(ZONAL, slow="standard"))
        await cluster.create(in_region("east"), choosy())
        await cluster.settle()
        assert any("selector" in message for _, message in await cluster.events("data"))
        await cluster.create(in_region("north"))
        await cluster.settle()
        assert await volume_of(cluster, "data") == "north"
        assert cloud.disks == []


async def test_a_selector_finds_a_volume_that_is_there_and_provisions_none_outside() -> None:
    async with an_external_world() as (cluster, storage):
        await cluster.create(*map(of_the_driver, aws_classes(DRIVER, slow="spinning")))
        await cluster.create(in_region("east"), choosy())
        await cluster.settle()
        assert any("Selector" in message for _, message in await cluster.events("data"))
        await cluster.create(in_region("north"))
        await cluster.settle()
        assert await volume_of(cluster, "data") == "north"
        assert storage.count("CreateVolume") == 0


# A provisioner outside: the test plays foo.org/foo-volume


async def foo_volume(cluster: StoryCluster) -> Document:
    """What the provisioner creates for the claim."""
    made: Document = yaml.safe_load(FOO_VOLUME)
    found = await cluster.get("PersistentVolumeClaim", "fooclaim")
    keys = ("resourceVersion", "uid")
    made["spec"]["claimRef"] |= {key: found["metadata"][key] for key in keys}
    return made


async def foo_volumes(cluster: StoryCluster) -> dict[str, str]:
    """Their phases."""
    found = await cluster.all("PersistentVolume")
    return {
        each["metadata"]["name"]: each["status"]["phase"]
        for each in found
        if each["metadata"]["name"].startswith("foo-volume-")
    }


async def test_a_claim_of_another_provisioner_names_it_and_takes_the_volume_that_it_makes() -> None:
    async with a_cluster("binding", "claim-protection") as cluster:
        await cluster.create(yaml.safe_load(FOO_CLASS), yaml.safe_load(FOO_CLAIM))
        await cluster.settle()
        waiting = await cluster.get("PersistentVolumeClaim", "fooclaim")
        assert waiting["metadata"]["annotations"][PROVISIONER] == "foo.org/foo-volume"
        assert waiting["status"]["phase"] == "Pending"

        await cluster.create(await foo_volume(cluster))
        await cluster.settle()
        assert {await volume_of(cluster, "fooclaim"): "Bound"} == await foo_volumes(cluster)

        await cluster.delete("PersistentVolumeClaim", "fooclaim")
        await cluster.settle()
        assert list((await foo_volumes(cluster)).values()) == ["Released"], "its maker deletes it"


async def test_claim_and_volume_of_a_class_that_does_not_exist_are_bound_as_well() -> None:
    """With the design's name for it, which no StorageClass can have today."""
    annotation = {"volume.beta.kubernetes.io/storage-class": "myClass"}
    async with a_cluster("binding") as cluster:
        wanted = yaml.safe_load(FOO_CLAIM)
        wanted["metadata"]["annotations"] = annotation | {PROVISIONER: "foo.org/foo-volume"}
        await cluster.create(wanted)
        made = await foo_volume(cluster)
        made["metadata"]["annotations"] |= annotation
        await cluster.create(made)
        await cluster.settle()
        assert {await volume_of(cluster, "fooclaim"): "Bound"} == await foo_volumes(cluster)


async def test_the_older_annotation_is_the_class_of_a_volume_too() -> None:
    annotated = yaml.safe_load(FOO_VOLUME)
    del annotated["spec"]["claimRef"]
    without_class = volume("smaller", spec={"storageClassName": "", "capacity": {"storage": "4Gi"}})
    annotated["spec"]["capacity"]["storage"] = "5Gi"
    async with a_cluster("binding") as cluster:
        await cluster.create(without_class, annotated, yaml.safe_load(FOO_CLAIM))
        await cluster.settle()
        assert {await volume_of(cluster, "fooclaim"): "Bound"} == await foo_volumes(cluster)


@pytest.mark.parametrize("meanwhile", ["bound", "deleted", "deleted-and-made-anew"])
async def test_a_volume_that_comes_too_late_for_its_claim_is_released(meanwhile: str) -> None:
    async with a_cluster("binding", "claim-protection") as cluster:
        await cluster.create(yaml.safe_load(FOO_CLASS), yaml.safe_load(FOO_CLAIM))
        await cluster.settle()
        late = await foo_volume(cluster)
        if meanwhile == "bound":
            by_hand = {"storageClassName": "my-class", "capacity": {"storage": "4Gi"}}
            await cluster.create(volume("by-hand", spec=by_hand))
        else:
            await cluster.delete("PersistentVolumeClaim", "fooclaim")
        await cluster.settle()
        if meanwhile == "deleted-and-made-anew":
            await cluster.create(yaml.safe_load(FOO_CLAIM))
        await cluster.create(late)
        await cluster.settle()
        assert list((await foo_volumes(cluster)).values()) == ["Released"]
        if meanwhile == "bound":
            assert await volume_of(cluster, "fooclaim") == "by-hand"


# What the controller prefers


async def test_of_the_volumes_of_its_class_a_claim_takes_the_smallest_that_is_large_enough() -> (
    None
):
    cloud = SimulatedCloud()

    def sized(name: str, size: str, class_name: str) -> Document:
        return volume(name, spec={"storageClassName": class_name, "capacity": {"storage": size}})

    async with a_cluster(more=binding(zonal(cloud))) as cluster:
        await cluster.create(*aws_classes(ZONAL, slow="standard"))
        await cluster.create(
            sized("too-small", "3Gi", "aws-fast"),
            sized("smallest", "5Gi", "aws-fast"),
            sized("larger", "6Gi", "aws-fast"),
            sized("other-class", "4Gi", "aws-slow"),
            sized("no-class", "4Gi", ""),
            a_claim("of-a-class", size="4Gi", class_name="aws-fast"),
            a_claim("of-no-class", size="4Gi", class_name=""),
        )
        await cluster.settle()
        assert await volume_of(cluster, "of-a-class") == "smallest"
        assert await volume_of(cluster, "of-no-class") == "no-class"
        assert cloud.disks == []
