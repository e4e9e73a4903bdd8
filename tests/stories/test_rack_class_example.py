"""The class of the volume topology design whose volumes need two labels, zone and rack, on a CSI
driver that reports both.

The YAML is the design's, word for word.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from plimsoll.api.registry import Document
from plimsoll.processes.driver.settings import BackendSettings, Mounts, NodeSettings
from plimsoll.runtime.ids import seeded_ids
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.objects import claim, namespace
from plimsoll.simulator.stories.schedulers import (
    a_pod,
    a_scheduler,
    add_node,
    node_of,
    scheduled_condition,
    volume_of,
)
from plimsoll.simulator.stories.sidecars import NAMESPACE, StoryStorage, a_provisioner, storage_of

SOMETHING_FANCY = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: something-fancy
provisioner: rack-based-provisioner
parameters:
allowedTopologies:
- matchLabelExpressions:
  - key: zone
    values:
    - us-central1-a
  - key: rack
    values:
    - rack1
- matchLabelExpressions:
  - key: zone
    values:
    - us-central1-b
  - key: rack
    values:
    - rack1
    - rack2
"""
DRIVER = "rack-based-provisioner"
RACKS = {
    "a1": {"zone": "us-central1-a", "rack": "rack1"},
    "a2": {"zone": "us-central1-a", "rack": "rack2"},
    "b1": {"zone": "us-central1-b", "rack": "rack1"},
    "b2": {"zone": "us-central1-b", "rack": "rack2"},
    "c1": {"zone": "us-central1-c", "rack": "rack1"},
}
ALLOWED = ("a1", "b1", "b2")
MODES = pytest.mark.parametrize("mode", ["Immediate", "WaitForFirstConsumer"])


class BareKeys(BackendSettings):
    """The design's keys have no prefix."""

    def key(self, name: str) -> str:
        return name


async def add_racks(cluster: StoryCluster) -> None:
    """A node in each of them, where the driver is registered."""
    await cluster.create(namespace(NAMESPACE))
    for name, labels in RACKS.items():
        await add_node(cluster, name, labels=labels)
        entry = {"name": DRIVER, "nodeID": name, "topologyKeys": sorted(labels)}
        await cluster.create(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "CSINode",
                "metadata": {"name": name},
                "spec": {"drivers": [entry]},
            }
        )


@asynccontextmanager
async def a_world(*pools: str) -> AsyncIterator[tuple[StoryCluster, StoryStorage]]:
    """With the storage of these racks."""
    async with a_cluster("binding", "claim-protection") as cluster:
        settings = BareKeys(
            driver_name=DRIVER,
            data_dir=Path("/nonexistent"),
            nodes=tuple(NodeSettings(id=name, topology=rack) for name, rack in RACKS.items()),
            options={"pools": [{"name": n, "size": "10Gi", "topology": RACKS[n]} for n in pools]},
            clock=cluster.clock,
            ids=seeded_ids(7),
            mounts=Mounts.NONE,
        )
        async with storage_of(settings, cluster.clock) as storage, a_provisioner(cluster, storage):
            await add_racks(cluster)
            yield cluster, storage


def the_class(mode: str) -> Document:
    class_: Document = yaml.safe_load(SOMETHING_FANCY) | {"volumeBindingMode": mode}
    return class_


@MODES
async def test_each_volume_is_in_a_rack_that_the_class_allows_and_its_pod_with_it(
    mode: str,
) -> None:
    async with a_world(*RACKS) as (cluster, storage), a_scheduler(cluster):
        await cluster.create(the_class(mode))
        for number in range(9):
            await cluster.create(claim(f"data-{number}", class_name="something-fancy"))
            await cluster.create(a_pod(f"web-{number}", claims=[f"data-{number}"]))
        await cluster.settle()
        assert {pool for [pool] in storage.pools_used} <= set(ALLOWED)
        for number in range(9):
            made = await cluster.get("PersistentVolume", await volume_of(cluster, f"data-{number}"))
            [term] = made["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
            place = {each["key"]: each["values"][0] for each in term["matchExpressions"]}
            assert place == RACKS[await node_of(cluster, f"web-{number}")]


@MODES
@pytest.mark.parametrize("rack", RACKS)
async def test_where_one_rack_has_storage_the_volume_is_there_if_the_class_allows_it(
    rack: str, mode: str
) -> None:
    async with a_world(rack) as (cluster, storage), a_scheduler(cluster):
        await cluster.create(the_class(mode), claim(class_name="something-fancy"))
        await cluster.create(a_pod(claims=["data"], nodeSelector=RACKS[rack]))
        await cluster.wait(timedelta(minutes=1))
        assert storage.pools_used == ([(rack,)] if rack in ALLOWED else [])
        assert await node_of(cluster, "web") == (rack if rack in ALLOWED else "")


async def test_a_pod_that_may_only_run_outside_of_the_allowed_racks_is_told_so() -> None:
    async with a_world(*RACKS) as (cluster, storage), a_scheduler(cluster):
        await cluster.create(the_class("WaitForFirstConsumer"), claim(class_name="something-fancy"))
        await cluster.create(a_pod(claims=["data"], nodeSelector=RACKS["a2"]))
        await cluster.wait(timedelta(minutes=1))
        _, reason, message = await scheduled_condition(cluster, "web")
        assert reason == "Unschedulable"
        assert "1 node(s) didn't find available persistent volumes to bind" in message
        assert storage.count("CreateVolume") == 0
