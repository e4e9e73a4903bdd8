"""Volumes and classes that name zones as Kubernetes did before 1.17, on nodes of ours.

The examples of the volume topology design: its keys, with the field names of today's API (`name`,
`pdName`, `volumeBindingMode`), the access modes that a volume needs, and a provisioner of ours
where the design has a cloud. Its class for racks is in `test_rack_class_example`.
"""

import pytest
import yaml

from plimsoll.api.registry import Document
from plimsoll.decide.node.node_object import Machine, new_node
from plimsoll.processes.controller.in_process.provisioners.simulated_cloud import SimulatedCloud
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.objects import claim
from plimsoll.simulator.stories.provisioners import ZONAL, binding, zonal
from plimsoll.simulator.stories.schedulers import a_claim, a_pod, a_scheduler, node_of, volume_of

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
OLD = "failure-domain.beta.kubernetes.io"
NODES = {
    "node-1": {ZONE: "us-central1-a", REGION: "us-central1", "foo.io/rack": "rack1"},
    "node-2": {ZONE: "us-central1-b", REGION: "us-central1", "foo.io/rack": "rack1"},
    "node-3": {ZONE: "us-central1-c", REGION: "us-central1", "foo.io/rack": "rack1"},
}

MY_CLASS = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: my-class
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
"""
VOLUME = """
apiVersion: v1
kind: PersistentVolume
metadata:
  name: volume-1
spec:
  capacity:
    storage: 100Gi
  accessModes:
  - ReadWriteOnce
  storageClassName: my-class
"""
LOCAL_DISK = """
local:
  path: /mnt/disks/ssd1
"""
CLOUD_DISK = """
gcePersistentDisk:
  pdName: my-disk
  fsType: ext4
"""
RACK_STORAGE = """
csi:
  driver: my-rack-storage-driver
  volumeHandle: my-vol
  volumeAttributes:
    foo: bar
"""
LOCAL_VOLUME = """
- key: kubernetes.io/hostname
  operator: In
  values:
  - node-1
"""
ZONAL_VOLUME = """
- key: failure-domain.beta.kubernetes.io/zone
  operator: In
  values:
  - us-central1-b
"""
MULTI_ZONAL_VOLUME = """
- key: failure-domain.beta.kubernetes.io/zone
  operator: In
  values:
  - us-central1-b
  - us-central1-c
"""
MULTI_LABEL_VOLUME = """
- key: failure-domain.beta.kubernetes.io/zone
  operator: In
  values:
  - us-central1-a
- key: foo.io/rack
  operator: In
  values:
  - rack1
"""
ALL_ZONES = ("us-central1-a", "us-central1-b", "us-central1-c")
STANDARD = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: standard
provisioner: plimsoll.dev/zonal-disk
volumeBindingMode: WaitForFirstConsumer
parameters:
  type: standard
"""
MY_CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: my-pvc
  namespace: default
spec:
  storageClassName: standard
  accessModes:
  - ReadWriteOnce
  resources:
    requests:
      storage: 100Gi
"""
MY_POD = """
apiVersion: v1
kind: Pod
metadata:
  name: my-pod
  namespace: default
spec:
  schedulerName: plimsoll
  containers:
  - name: main
    image: web
  volumes:
  - name: my-vol
    persistentVolumeClaim:
      claimName: my-pvc
"""
OLD_VOLUME = """
apiVersion: v1
kind: PersistentVolume
metadata:
  name: old-volume
  labels:
    failure-domain.beta.kubernetes.io/zone: us-central1-b
    failure-domain.beta.kubernetes.io/region: us-central1
spec:
  capacity:
    storage: 100Gi
  accessModes:
  - ReadWriteOnce
  storageClassName: my-class
  gcePersistentDisk:
    pdName: my-disk
    fsType: ext4
"""


def a_zonal_class(name: str, *zones: str, **parameters: str) -> Document:
    """As in the design, but for the provisioner: there is no cloud here."""
    label = {"key": "failure-domain.beta.kubernetes.io/zone", "values": list(zones)}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": ZONAL,
        "parameters": {"type": "standard"} | parameters,
        "allowedTopologies": [{"matchLabelExpressions": [label]}],
    }


def allowed_zones(class_: Document) -> set[str]:
    [term] = class_["allowedTopologies"]
    [label] = term["matchLabelExpressions"]
    return set(label["values"])


async def add_nodes(cluster: StoryCluster) -> None:
    """As `plimsoll node --labels topology.kubernetes.io/zone=…` makes them."""
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    status = {"capacity": room, "allocatable": room, "conditions": [ready]}
    for name, labels in NODES.items():
        await cluster.create(new_node(Machine(name=name, labels=labels)))
        await cluster.patch("Node", name, {"status": status}, subresource="status")


@pytest.mark.parametrize(
    ("source", "expressions", "nodes"),
    [
        pytest.param(LOCAL_DISK, LOCAL_VOLUME, {"node-1"}, id="local"),
        pytest.param(CLOUD_DISK, ZONAL_VOLUME, {"node-2"}, id="zonal"),
        pytest.param(CLOUD_DISK, MULTI_ZONAL_VOLUME, {"node-2", "node-3"}, id="multi-zonal"),
        pytest.param(RACK_STORAGE, ZONAL_VOLUME, {"node-2"}, id="zonal-csi"),
        pytest.param(RACK_STORAGE, MULTI_LABEL_VOLUME, {"node-1"}, id="multi-label"),
    ],
)
async def test_a_pod_runs_where_its_volume_can_be_reached(
    source: str, expressions: str, nodes: set[str]
) -> None:
    volume = yaml.safe_load(VOLUME)
    volume["spec"] |= yaml.safe_load(source)
    terms = [{"matchExpressions": yaml.safe_load(expressions)}]
    volume["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    async with a_cluster("binding") as cluster, a_scheduler(cluster):
        await add_nodes(cluster)
        await cluster.create(yaml.safe_load(MY_CLASS), volume)
        await cluster.create(a_claim(class_name="my-class", size="100Gi"), a_pod(claims=["data"]))
        await cluster.settle()
        assert await volume_of(cluster, "data") == "volume-1"
        assert await node_of(cluster, "web") in nodes


@pytest.mark.parametrize("waits", [False, True], ids=["at-once", "delayed"])
@pytest.mark.parametrize(
    ("class_", "zones"),
    [
        pytest.param(a_zonal_class("zonal-class", "us-central1-a", "us-central1-b"), 1, id="zonal"),
        pytest.param(
            a_zonal_class(
                "multi-zonal-class", "us-central1-a", "us-central1-b", replication="two-zones"
            ),
            2,
            id="multi-zonal",
        ),
        pytest.param(
            a_zonal_class("multi-zonal-class", *ALL_ZONES, replication="two-zones"),
            2,
            id="multi-zonal-two-of-three",
        ),
    ],
)
async def test_a_class_keeps_its_volumes_in_the_zones_that_it_allows(
    class_: Document, zones: int, *, waits: bool
) -> None:
    mode = "WaitForFirstConsumer" if waits else "Immediate"
    cloud = SimulatedCloud()
    async with a_cluster(more=binding(zonal(cloud))) as cluster, a_scheduler(cluster):
        await add_nodes(cluster)
        await cluster.create(class_ | {"volumeBindingMode": mode})
        await cluster.create(claim(class_name=class_["metadata"]["name"]), a_pod(claims=["data"]))
        await cluster.settle()
        made = await cluster.get("PersistentVolume", await volume_of(cluster, "data"))
        places = made["metadata"]["labels"][ZONE].split("__")
        assert len(places) == zones
        assert set(places) <= allowed_zones(class_)
        assert NODES[await node_of(cluster, "web")][ZONE] in places


async def test_a_volume_in_two_zones_fails_where_one_is_allowed() -> None:
    class_ = a_zonal_class("multi-zonal-class", "us-central1-a", replication="two-zones")
    async with a_cluster(more=binding(zonal(SimulatedCloud()))) as cluster:
        await add_nodes(cluster)
        await cluster.create(
            class_ | {"volumeBindingMode": "Immediate"}, claim(class_name="multi-zonal-class")
        )
        await cluster.settle()
        assert await cluster.names("PersistentVolume") == []
        told = await cluster.events("data")
        assert any("needs 2 zones, the class allows us-central1-a" in text for _, text in told)


@pytest.mark.parametrize("node", NODES)
async def test_a_claim_waits_for_its_pod_and_gets_a_volume_in_the_zone_of_its_node(
    node: str,
) -> None:
    async with a_cluster(more=binding(zonal(SimulatedCloud()))) as cluster, a_scheduler(cluster):
        await add_nodes(cluster)
        await cluster.create(yaml.safe_load(STANDARD), yaml.safe_load(MY_CLAIM))
        await cluster.settle()
        assert await cluster.names("PersistentVolume") == []
        assert [reason for reason, _ in await cluster.events("my-pvc")] == ["WaitForFirstConsumer"]
        for other in NODES.keys() - {node}:
            await cluster.patch("Node", other, {"spec": {"unschedulable": True}})
        await cluster.create(yaml.safe_load(MY_POD))
        await cluster.settle()
        assert await node_of(cluster, "my-pod") == node
        made = await cluster.get("PersistentVolume", await volume_of(cluster, "my-pvc"))
        [term] = made["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
        place = {each["key"]: each["values"] for each in term["matchExpressions"]}
        assert place[ZONE] == [NODES[node][ZONE]]


@pytest.mark.parametrize(
    ("label", "zones"),
    [
        pytest.param("us-central1-b", ["us-central1-b"], id="zonal"),
        pytest.param(
            "us-central1-b__us-central1-c", ["us-central1-b", "us-central1-c"], id="multi-zonal"
        ),
    ],
)
async def test_a_volume_with_zone_labels_only_gets_an_affinity_and_its_pod_runs_in_its_zone(
    label: str, zones: list[str]
) -> None:
    volume = yaml.safe_load(OLD_VOLUME)
    volume["metadata"]["labels"][f"{OLD}/zone"] = label
    async with a_cluster("binding", "zonal-upgrade") as cluster, a_scheduler(cluster):
        await add_nodes(cluster)
        await cluster.create(yaml.safe_load(MY_CLASS), volume)
        await cluster.settle()
        upgraded = await cluster.get("PersistentVolume", "old-volume")
        [term] = upgraded["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
        assert term["matchExpressions"] == [
            {"key": f"{OLD}/zone", "operator": "In", "values": zones},
            {"key": f"{OLD}/region", "operator": "In", "values": ["us-central1"]},
        ]
        assert upgraded["metadata"]["labels"] == volume["metadata"]["labels"]
        await cluster.create(a_claim(class_name="my-class", size="100Gi"), a_pod(claims=["data"]))
        await cluster.settle()
        assert NODES[await node_of(cluster, "web")][ZONE] in zones
