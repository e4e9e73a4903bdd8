"""Pods that want to be near others or far from them get nodes, and volumes there."""

import logging
from typing import Any

import pytest

from plimsoll.api.pods import REQUIRED
from plimsoll.api.registry import Document
from plimsoll.processes.scheduler import cycle
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.schedulers import (
    HOSTNAME,
    a_delayed_class,
    a_local_volume,
    a_pod,
    a_scheduler,
    add_node,
    nodes_of,
    scheduled_condition,
    volume_of,
)
from plimsoll.simulator.stories.workload_objects import LABELS, stateful_set, template

CYCLE = cycle.__name__
LOOPS = ("binding", "statefulset")
ZONE = "topology.kubernetes.io/zone"
ZONES = {"node-a": "zone-1", "node-b": "zone-2", "node-c": "zone-2"}


def term(key: str, labels: dict[str, str]) -> Document:
    return {"labelSelector": {"matchLabels": labels}, "topologyKey": key}


def a_set(*, replicas: int = 3, **affinity: Any) -> Document:
    """Its pods ask for one local volume each and start all at once."""
    document = stateful_set(
        replicas=replicas,
        podManagementPolicy="Parallel",
        template=template(schedulerName="plimsoll", affinity=affinity),
    )
    for each in document["spec"]["volumeClaimTemplates"]:
        each["spec"]["storageClassName"] = "local"
    return document


async def add_zones(cluster: StoryCluster) -> None:
    """Three nodes with three disks each."""
    await cluster.create(a_delayed_class())
    for name, zone in ZONES.items():
        await add_node(cluster, name, labels={ZONE: zone})
        disks = (a_local_volume(name, f"{name}-{number}") for number in range(3))
        await cluster.create(*disks)


async def test_pods_of_a_stateful_set_that_keep_apart_end_on_three_nodes() -> None:
    async with a_cluster(*LOOPS) as cluster, a_scheduler(cluster):
        await add_zones(cluster)
        apart = {REQUIRED: [term(HOSTNAME, dict(LABELS))]}
        await cluster.create(a_set(replicas=4, podAntiAffinity=apart))
        await cluster.settle()
        placed = await nodes_of(cluster)
        assert sorted(placed.values()) == ["", *ZONES]
        for name, node in placed.items():
            assert not node or (await volume_of(cluster, f"data-{name}")).startswith(node)
        (waiting,) = [name for name, node in placed.items() if not node]
        assert (await scheduled_condition(cluster, waiting))[2] == (
            "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules. "
            "preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod. "
            "[PodAntiAffinityConflict]"
        )
        await add_node(cluster, "node-d", labels={ZONE: "zone-1"})
        await cluster.create(a_local_volume("node-d"))
        await cluster.settle()
        assert (await nodes_of(cluster))[waiting] == "node-d"


async def test_pods_that_need_another_pod_follow_it_into_its_zone() -> None:
    async with a_cluster(*LOOPS) as cluster, a_scheduler(cluster):
        await add_zones(cluster)
        near = {REQUIRED: [term(ZONE, {"app": "db"})]}
        await cluster.create(a_set(podAffinity=near))
        await cluster.settle()
        assert set((await nodes_of(cluster)).values()) == {""}
        database = a_pod("db", nodeSelector={HOSTNAME: "node-b"})
        database["metadata"]["labels"] = {"app": "db"}
        await cluster.create(database)
        await cluster.settle()
        placed = await nodes_of(cluster)
        assert placed.pop("db") == "node-b"
        assert set(placed.values()) <= {"node-b", "node-c"}
        for name, node in placed.items():
            assert (await volume_of(cluster, f"data-{name}")).startswith(node)


async def test_only_a_label_that_others_keep_away_by_wakes_a_pod_that_they_avoid(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, CYCLE)
    async with a_cluster(*LOOPS) as cluster, a_scheduler(cluster):
        await add_node(cluster, "node-a", labels={ZONE: "zone-1", "rack": "1"})
        alone = {REQUIRED: [term(ZONE, {"app": "web"})]}
        await cluster.create(a_pod("alone", affinity={"podAntiAffinity": alone}))
        await cluster.settle()
        avoided = a_pod("web")
        avoided["metadata"]["labels"] = {"app": "web"}
        await cluster.create(avoided)
        await cluster.settle()
        caplog.clear()
        await cluster.patch("Node", "node-a", {"metadata": {"labels": {"rack": "2"}}})
        await cluster.settle()
        assert _told(caplog) == []
        await cluster.patch("Node", "node-a", {"metadata": {"labels": {ZONE: None}}})
        await cluster.settle()
        assert _told(caplog) == [("pod woken", "Node node-a"), ("pod placed", None)]
        assert (await nodes_of(cluster))["web"] == "node-a"


def _told(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str | None]]:
    """What the scheduler has said of the pod that is avoided, and what woke it."""
    records = [each for each in caplog.records if each.name == CYCLE]
    return [
        (each.message, getattr(each, "by", None))
        for each in records
        if getattr(each, "pod", "") == "default/web"
    ]
