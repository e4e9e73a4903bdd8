"""A pod that no node has room for gets the place of less important ones."""

from datetime import timedelta
from typing import Any

import pytest

from plimsoll.api.registry import Document
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.refusing_transport import RefusingTransport
from plimsoll.simulator.stories.schedulers import (
    RunningScheduler,
    a_claim,
    a_delayed_class,
    a_local_volume,
    a_pod,
    a_scheduler,
    add_node,
    node_of,
    nodes_of,
    scheduled_condition,
    volume_of,
)
from plimsoll.simulator.stories.workload_objects import stateful_set, template
from plimsoll.wire.transport import Request, Transport

LOOPS = ("binding", "statefulset", "disruption")
WHOLE_NODE = {"cpu": "4"}
HALF_A_NODE = {"cpu": "2"}
SOON = timedelta(seconds=30)


def a_priority(name: str, value: int, **more: Any) -> Document:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        **more,
    }


def low(name: str = "low", **spec: Any) -> Document:
    return a_pod(name, priorityClassName="low", requests=WHOLE_NODE, **spec)


def high(name: str = "high", **spec: Any) -> Document:
    return a_pod(name, priorityClassName="high", requests=WHOLE_NODE, **spec)


async def add_priorities(cluster: StoryCluster) -> None:
    await cluster.create(
        a_priority("low", 1),
        a_priority("high", 1000),
        a_priority("patient", 1000, preemptionPolicy="Never"),
    )


async def nominated_node(cluster: StoryCluster, name: str) -> str:
    pod = await cluster.get("Pod", name)
    return str(pod["status"].get("nominatedNodeName", ""))


async def is_leaving(cluster: StoryCluster, name: str) -> bool:
    pod = await cluster.get("Pod", name)
    return "deletionTimestamp" in pod["metadata"]


async def let_go(cluster: StoryCluster, *names: str) -> None:
    """As the node does when the containers of a pod have ended."""
    for name in names:
        await cluster.delete("Pod", name, grace=0)
    await cluster.settle(SOON)


async def test_a_more_important_pod_gets_the_place_of_a_pod_with_a_volume() -> None:
    async with a_cluster(*LOOPS) as cluster, a_scheduler(cluster):
        await add_node(cluster, "node-a")
        await add_priorities(cluster)
        await cluster.create(a_delayed_class(), a_local_volume("node-a"), a_set_with_a_claim())
        await cluster.settle()
        assert await node_of(cluster, "db-0") == "node-a"

        await cluster.create(high())
        await cluster.settle()

        assert await is_leaving(cluster, "db-0")
        assert await nominated_node(cluster, "high") == "node-a"
        assert await node_of(cluster, "high") == ""
        await let_go(cluster, "db-0")
        assert await nodes_of(cluster) == {"high": "node-a", "db-0": ""}
        assert await volume_of(cluster, "data-db-0") == "disk-node-a"


def a_set_with_a_claim() -> Document:
    container = {"name": "main", "image": "db", "resources": {"requests": WHOLE_NODE}}
    document = stateful_set(
        "db",
        claims=("data",),
        replicas=1,
        template=template(
            schedulerName="plimsoll", priorityClassName="low", containers=[container]
        ),
    )
    for each in document["spec"]["volumeClaimTemplates"]:
        each["spec"]["storageClassName"] = "local"
    return document


async def test_the_victim_and_the_pod_that_waits_are_told() -> None:
    async with a_cluster() as cluster, a_scheduler(cluster) as running:
        await add_node(cluster, "node-a")
        await add_priorities(cluster)
        await cluster.create(low())
        await cluster.settle()
        await cluster.create(high())
        await cluster.settle()

        victim, waiting = await cluster.get("Pod", "low"), await cluster.get("Pod", "high")
        (told,) = [c for c in victim["status"]["conditions"] if c["type"] == "DisruptionTarget"]
        assert (told["status"], told["reason"]) == ("True", "PreemptionByScheduler")
        assert told["message"] == "plimsoll: preempting to accommodate a higher priority pod"
        uid = waiting["metadata"]["uid"]
        assert ("Preempted", f"Preempted by pod {uid} on node node-a") in (
            await cluster.events("low")
        )
        _, _, message = await scheduled_condition(cluster, "high")
        assert message == (
            "0/1 nodes are available: 1 Insufficient cpu. preemption: found a potential placement "
            "for pod on node node-a, preempting 1 victims [InsufficientResource]"
        )
        assert victims_counted(running) == 1


def victims_counted(running: RunningScheduler) -> float:
    return running.sample("plimsoll_scheduler_preemption_victims_total")


async def test_a_promise_ends_with_the_last_node() -> None:
    async with a_cluster() as cluster, a_scheduler(cluster):
        await add_node(cluster, "node-a")
        await add_priorities(cluster)
        await cluster.create(low())
        await cluster.settle()
        await cluster.create(high())
        await cluster.settle()
        assert await nominated_node(cluster, "high") == "node-a"

        await cluster.delete("Node", "node-a")
        await let_go(cluster, "low")

        assert await nominated_node(cluster, "high") == ""


async def test_a_pod_waits_for_its_victims_and_evicts_no_others() -> None:
    async with a_cluster() as cluster, a_scheduler(cluster) as running:
        await add_priorities(cluster)
        for node in ("node-a", "node-b"):
            await add_node(cluster, node)
        await cluster.create(low("one"), low("two"))
        await cluster.settle()
        await cluster.create(high())
        await cluster.settle()
        # Anything that might help the pod has it tried again.
        await cluster.create(a_pod("passer-by", priorityClassName="low", nodeName="node-a"))
        await cluster.delete("Pod", "passer-by", grace=0)
        await cluster.settle(timedelta(minutes=6))

        (victim,) = await leaving(cluster)
        assert victims_counted(running) == 1
        await let_go(cluster, victim)
        assert await node_of(cluster, "high") != ""


async def test_a_pod_whose_policy_is_never_waits() -> None:
    async with a_cluster() as cluster, a_scheduler(cluster):
        await add_node(cluster, "node-a")
        await add_priorities(cluster)
        await cluster.create(low())
        await cluster.settle()
        await cluster.create(a_pod("patient", priorityClassName="patient", requests=WHOLE_NODE))
        await cluster.settle()

        assert not await is_leaving(cluster, "low")
        _, _, message = await scheduled_condition(cluster, "patient")
        assert "preemption: not eligible due to preemptionPolicy=Never." in message


async def test_pods_that_a_budget_protects_stay_where_others_can_leave() -> None:
    async with a_cluster(*LOOPS) as cluster, a_scheduler(cluster):
        await add_priorities(cluster)
        await add_node(cluster, "node-a")
        await cluster.create(low("guarded") | {"metadata": guarded_metadata()}, a_budget())
        await cluster.settle()
        await add_node(cluster, "node-b")
        await cluster.create(low("other"))
        await cluster.settle()
        await cluster.create(high())
        await cluster.settle()

        assert not await is_leaving(cluster, "guarded")
        assert await is_leaving(cluster, "other")
        assert await nominated_node(cluster, "high") == "node-b"


def guarded_metadata() -> Document:
    return {"name": "guarded", "namespace": "default", "labels": {"app": "guarded"}}


def a_budget() -> Document:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "guard", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "guarded"}}, "maxUnavailable": 0},
    }


async def test_no_pod_leaves_for_one_whose_volume_is_elsewhere() -> None:
    async with a_cluster(*LOOPS) as cluster, a_scheduler(cluster):
        await add_node(cluster, "node-a")
        await add_priorities(cluster)
        await cluster.create(low())
        await cluster.settle()
        await cluster.create(a_delayed_class(), a_local_volume("node-z"), a_claim("data"))
        await cluster.create(high(claims=("data",)))
        await cluster.settle()

        assert not await is_leaving(cluster, "low")
        assert await nominated_node(cluster, "high") == ""


async def test_a_pod_is_evicted_although_another_writer_was_first() -> None:
    """A pod waited for ever for a victim that had never been told to leave."""
    async with a_cluster() as cluster, a_scheduler(cluster, through=first_conflict) as running:
        await add_node(cluster, "node-a")
        await add_priorities(cluster)
        await cluster.create(low())
        await cluster.settle()
        await cluster.create(high())
        await cluster.settle(SOON)

        assert victims_counted(running) == 2  # the second time is the one that succeeds
        assert await is_leaving(cluster, "low")
        await let_go(cluster, "low")
        assert await nodes_of(cluster) == {"high": "node-a"}


def first_conflict(transport: Transport) -> Transport:
    """The first write to the status of the pod `low` is refused."""
    refused: list[Request] = []

    def rule(request: Request) -> int:
        if request.method != "PATCH" or not request.path.endswith("/pods/low/status") or refused:
            return 0
        refused.append(request)
        return 409

    return RefusingTransport(transport, rule)


@pytest.mark.parametrize("writes", range(1, 8))
async def test_a_scheduler_that_starts_after_a_crash_decides_anew(writes: int) -> None:
    async with a_cluster() as cluster:
        await add_node(cluster, "node-a")
        await add_priorities(cluster)
        async with a_scheduler(cluster):
            for name in ("one", "two"):
                await cluster.create(a_pod(name, priorityClassName="low", requests=HALF_A_NODE))
            await cluster.settle()
        async with a_scheduler(cluster, cut_after=writes):
            await cluster.create(high())
            await cluster.settle()
        async with a_scheduler(cluster, seed=2):
            # If only one victim was told to leave, the other is when that has left.
            for _ in range(2):
                await cluster.settle(timedelta(minutes=6))
                await let_go(cluster, *await leaving(cluster))
            assert await nodes_of(cluster) == {"high": "node-a"}


async def leaving(cluster: StoryCluster) -> list[str]:
    pods = await cluster.all("Pod")
    return [pod["metadata"]["name"] for pod in pods if "deletionTimestamp" in pod["metadata"]]
