"""Budgets that count their pods."""

from datetime import timedelta

from plimsoll.api.registry import Document
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.workload_objects import LABELS, deployment


def budget(**spec: int | str) -> Document:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"matchLabels": LABELS}, **spec},
    }


async def allowed(cluster: StoryCluster) -> tuple[int, int, str]:
    """Healthy pods, how many may go, and the reason of the condition."""
    status = (await cluster.get("PodDisruptionBudget", "web"))["status"]
    reason = status["conditions"][0]["reason"]
    return status["currentHealthy"], status["disruptionsAllowed"], reason


async def test_a_budget_follows_its_pods_and_the_size_of_their_deployment() -> None:
    async with a_cluster("disruption", "deployment", "replicaset") as cluster:
        await cluster.create(budget(maxUnavailable="50%"), deployment(replicas=4))
        await cluster.settle()
        assert await allowed(cluster) == (0, 0, "InsufficientPods")
        await cluster.run_pods()
        assert await allowed(cluster) == (4, 2, "SufficientPods")

        name = (await cluster.names("Pod"))[0]
        await cluster.mark_running(name, ready=False)
        await cluster.settle()
        assert await allowed(cluster) == (3, 1, "SufficientPods")

        await cluster.patch("Deployment", "web", {"spec": {"replicas": 8}})
        await cluster.settle()
        assert await allowed(cluster) == (3, 0, "InsufficientPods")


async def test_an_eviction_that_did_not_happen_is_forgotten_after_two_minutes() -> None:
    async with a_cluster("disruption", "deployment", "replicaset") as cluster:
        await cluster.create(budget(minAvailable=1), deployment(replicas=2))
        await cluster.run_pods()
        name = (await cluster.names("Pod"))[0]
        at = (await cluster.get("Pod", name))["metadata"]["creationTimestamp"]
        evicted = {"status": {"disruptedPods": {name: at}, "disruptionsAllowed": 0}}
        await cluster.patch("PodDisruptionBudget", "web", evicted, subresource="status")
        await cluster.settle()
        assert await allowed(cluster) == (1, 0, "InsufficientPods")
        await cluster.wait(timedelta(minutes=2))
        assert await allowed(cluster) == (2, 1, "SufficientPods")
        status = (await cluster.get("PodDisruptionBudget", "web"))["status"]
        assert not status.get("disruptedPods")


async def test_a_quiet_budget_is_left_alone() -> None:
    async with a_cluster("disruption", "deployment", "replicaset") as cluster:
        await cluster.create(budget(minAvailable=1), deployment(replicas=2))
        await cluster.run_pods()
        writes = cluster.controllers[0].writes
        await cluster.wait(timedelta(hours=1))
        assert cluster.controllers[0].writes == writes
