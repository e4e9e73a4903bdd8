"""The capacity objects of the storage capacity design, and where pods go because of them.

The documents are the design's, with the fields of today's API: capacity objects have no `spec` and
live in a namespace, `nodeTopology` is a label selector, and the driver is that of the class, so
that `driverName` is gone. The drivers are its CSIDriver objects, which tell `storageCapacity`.

Not here: `CSIDriver.status` and the kind CSIStoragePool, the alternatives that the design rejected.
That the numbers are published by provisioners is in `test_provisioner_capacity`.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
import yaml

from plimsoll.api.registry import Document
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.schedulers import (
    SELECTED_NODE,
    a_claim,
    a_delayed_class,
    a_pod,
    a_scheduler,
    add_node,
    scheduled_condition,
)

HOSTPATH, LVM, NETWORK = "hostpath.csi.k8s.io", "lvm", "pd.csi.storage.gke.io"
REGION = "topology.kubernetes.io/region"
DRIVERS = """
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata:
  name: hostpath.csi.k8s.io
spec:
  attachRequired: true
  podInfoOnMount: true
  volumeLifecycleModes:
  - Persistent
  - Ephemeral
  storageCapacity: true
---
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata:
  name: lvm
spec:
  attachRequired: true
  podInfoOnMount: false
  volumeLifecycleModes:
  - Persistent
  storageCapacity: true
---
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata:
  name: pd.csi.storage.gke.io
spec:
  attachRequired: true
  podInfoOnMount: false
  volumeLifecycleModes:
  - Persistent
  storageCapacity: true
"""
LOCAL_STORAGE = """
apiVersion: storage.k8s.io/v1
kind: CSIStorageCapacity
metadata:
  name: sp-ab96d356-0d31-11ea-ade1-8b7e883d1af1
  namespace: default
storageClassName: some-storage-class
capacity: 256G
nodeTopology:
  matchExpressions:
  - key: kubernetes.io/hostname
    operator: In
    values:
    - node-1
---
apiVersion: storage.k8s.io/v1
kind: CSIStorageCapacity
metadata:
  name: sp-c3723f32-0d32-11ea-a14f-fbaf155dff50
  namespace: default
storageClassName: some-storage-class
capacity: 512G
nodeTopology:
  matchExpressions:
  - key: kubernetes.io/hostname
    operator: In
    values:
    - node-2
"""
STRIPED_AND_MIRRORED = """
apiVersion: storage.k8s.io/v1
kind: CSIStorageCapacity
metadata:
  name: sp-9c17f6fc-6ada-488f-9d44-c5d63ecdf7a9
  namespace: default
storageClassName: striped
capacity: 256G
nodeTopology:
  matchExpressions:
  - key: kubernetes.io/hostname
    operator: In
    values:
    - node-1
---
apiVersion: storage.k8s.io/v1
kind: CSIStorageCapacity
metadata:
  name: sp-f0e03868-954d-11ea-9d78-9f197c0aea6f
  namespace: default
storageClassName: mirrored
capacity: 128G
nodeTopology:
  matchExpressions:
  - key: kubernetes.io/hostname
    operator: In
    values:
    - node-1
"""
NETWORK_ATTACHED = """
apiVersion: storage.k8s.io/v1
kind: CSIStorageCapacity
metadata:
  name: sp-b0963bb5-37cf-415d-9fb1-667499172320
  namespace: default
storageClassName: some-storage-class
capacity: 128G
nodeTopology:
  matchExpressions:
  - key: topology.kubernetes.io/region
    operator: In
    values:
    - us-east-1
---
apiVersion: storage.k8s.io/v1
kind: CSIStorageCapacity
metadata:
  name: sp-64103396-0d32-11ea-945c-e3ede5f0f3ae
  namespace: default
storageClassName: some-storage-class
capacity: 256G
nodeTopology:
  matchExpressions:
  - key: topology.kubernetes.io/region
    operator: In
    values:
    - us-west-1
"""
NODES = {"node-1": "us-east-1", "node-2": "us-west-1", "node-3": "us-west-1"}
NOT_ENOUGH = "node(s) did not have enough free storage"


def documents(text: str) -> list[Document]:
    return list(yaml.safe_load_all(text))


@asynccontextmanager
async def a_world(capacities: str, driver: str, *classes: str) -> AsyncIterator[StoryCluster]:
    """Provisioning hands the claim over to the driver's provisioner, which is not here."""
    async with a_cluster("binding") as cluster, a_scheduler(cluster):
        for name, region in NODES.items():
            await add_node(cluster, name, labels={REGION: region})
            entry = {"name": driver, "nodeID": name, "topologyKeys": ["kubernetes.io/hostname"]}
            await cluster.create(
                {
                    "apiVersion": "storage.k8s.io/v1",
                    "kind": "CSINode",
                    "metadata": {"name": name},
                    "spec": {"drivers": [entry]},
                }
            )
        for class_ in classes:
            await cluster.create(a_delayed_class(class_, driver))
        await cluster.create(*documents(DRIVERS), *documents(capacities))
        yield cluster


async def selected_node(cluster: StoryCluster, class_name: str, size: str) -> str:
    """Which node the scheduler chooses for a pod with such a claim; empty if none."""
    await cluster.create(a_claim(class_name=class_name, size=size), a_pod(claims=["data"]))
    await cluster.settle()
    found = await cluster.get("PersistentVolumeClaim", "data")
    node: str = found["metadata"].get("annotations", {}).get(SELECTED_NODE, "")
    return node


SOME = "some-storage-class"


@pytest.mark.parametrize(
    ("capacities", "driver", "class_", "size", "nodes"),
    [
        pytest.param(
            LOCAL_STORAGE, HOSTPATH, SOME, "256G", {"node-1", "node-2"}, id="local-either-node"
        ),
        pytest.param(LOCAL_STORAGE, HOSTPATH, SOME, "257G", {"node-2"}, id="local-larger-node"),
        pytest.param(LOCAL_STORAGE, HOSTPATH, SOME, "513G", {""}, id="local-too-large"),
        pytest.param(STRIPED_AND_MIRRORED, LVM, "striped", "200G", {"node-1"}, id="striped"),
        pytest.param(STRIPED_AND_MIRRORED, LVM, "mirrored", "100G", {"node-1"}, id="mirrored"),
        pytest.param(STRIPED_AND_MIRRORED, LVM, "mirrored", "200G", {""}, id="mirrored-too-large"),
        pytest.param(
            NETWORK_ATTACHED, NETWORK, SOME, "128G", set(NODES), id="network-either-region"
        ),
        pytest.param(
            NETWORK_ATTACHED, NETWORK, SOME, "200G", {"node-2", "node-3"}, id="network-one-region"
        ),
        pytest.param(NETWORK_ATTACHED, NETWORK, SOME, "300G", {""}, id="network-too-large"),
    ],
)
async def test_a_pod_goes_only_where_the_capacity_of_its_class_is_enough(
    capacities: str, driver: str, class_: str, *, size: str, nodes: set[str]
) -> None:
    async with a_world(capacities, driver, SOME, "striped", "mirrored") as cluster:
        assert await selected_node(cluster, class_, size) in nodes
        _, _, message = await scheduled_condition(cluster, "web")
        assert (f"3 {NOT_ENOUGH}" in message) == (nodes == {""})


async def test_a_pod_that_waits_goes_on_when_capacity_grows() -> None:
    async with a_world(STRIPED_AND_MIRRORED, LVM, "mirrored") as cluster:
        assert await selected_node(cluster, "mirrored", "200G") == ""
        name = "sp-f0e03868-954d-11ea-9d78-9f197c0aea6f"
        await cluster.patch("CSIStorageCapacity", name, {"capacity": "200G"})
        await cluster.wait(timedelta(seconds=20))
        found = await cluster.get("PersistentVolumeClaim", "data")
        assert found["metadata"]["annotations"][SELECTED_NODE] == "node-1"


@pytest.mark.parametrize("told", [None, False], ids=["not-set", "false"])
async def test_capacity_does_not_count_where_the_driver_does_not_tell_it(
    *, told: bool | None
) -> None:
    async with a_world(LOCAL_STORAGE, HOSTPATH, SOME) as cluster:
        await cluster.patch("CSIDriver", HOSTPATH, {"spec": {"storageCapacity": told}})
        assert await selected_node(cluster, SOME, "10T") in NODES
