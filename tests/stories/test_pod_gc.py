"""Pods that no other controller ends."""

from datetime import timedelta

from plimsoll.processes.controller.cluster.pod_gc import PodGarbageCollector, PodGcSettings
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.crashes import CrashScenario, assert_same_end
from plimsoll.simulator.stories.objects import pod

QUARANTINE = timedelta(seconds=41)


async def test_pods_of_a_node_that_stays_away_are_failed_and_deleted() -> None:
    async with a_cluster("pod-gc") as cluster:
        await cluster.add_node("node-1")
        await cluster.add_node("node-2")
        held = pod("held", node="node-1", finalizers=["example.com/hold"])
        await cluster.create(held, pod("a", node="node-1"), pod("b", node="node-2"))
        await cluster.mark_running("held", "a", "b")
        await cluster.delete("Node", "node-1")
        await cluster.wait(timedelta(seconds=35))
        assert await cluster.names("Pod") == ["a", "b", "held"]

        await cluster.wait(timedelta(seconds=10))
        assert await cluster.names("Pod") == ["b", "held"]
        left = await cluster.get("Pod", "held")
        assert left["status"]["phase"] == "Failed"
        told = [c for c in left["status"]["conditions"] if c["type"] == "DisruptionTarget"]
        assert told[0]["message"] == "PodGC: node no longer exists"
        writes = cluster.controllers[0].writes
        await cluster.wait(timedelta(minutes=5))
        assert cluster.controllers[0].writes == writes


async def test_a_node_that_comes_back_in_time_keeps_its_pods() -> None:
    async with a_cluster("pod-gc") as cluster:
        await cluster.add_node("node-1")
        await cluster.create(pod(node="node-1"))
        await cluster.delete("Node", "node-1")
        await cluster.wait(timedelta(seconds=30))
        await cluster.add_node("node-1")
        await cluster.wait(timedelta(minutes=5))
        assert await cluster.names("Pod") == ["web"]
        await cluster.delete("Node", "node-1")
        await cluster.wait(timedelta(seconds=30))
        assert await cluster.names("Pod") == ["web"]


async def test_pods_being_deleted_on_a_node_out_of_service_do_not_wait_for_it() -> None:
    async with a_cluster("pod-gc") as cluster:
        await cluster.add_node("node-1")
        await cluster.create(pod("a", node="node-1"), pod("b", node="node-1"))
        await cluster.delete("Pod", "a")
        taint = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}
        await cluster.patch("Node", "node-1", {"spec": {"taints": [taint]}})
        await cluster.settle()
        assert await cluster.names("Pod") == ["a", "b"]

        unknown = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
        await cluster.patch(
            "Node", "node-1", {"status": {"conditions": [unknown]}}, subresource="status"
        )
        await cluster.settle()
        assert await cluster.names("Pod") == ["b"]


async def test_finished_pods_beyond_the_limit_go_and_the_oldest_first() -> None:
    def make(tools: Tools) -> Loop:
        return PodGarbageCollector(tools, PodGcSettings(terminated_pod_threshold=2))

    async with a_cluster(more={"pod-gc": make}) as cluster:
        await cluster.add_node("node-1")
        for name in ("c", "b", "a", "running"):
            await cluster.create(pod(name, node="node-1"))
            await cluster.wait(timedelta(seconds=2))
        await cluster.mark_finished("a", "b", "c")
        await cluster.wait(timedelta(seconds=25))
        assert await cluster.names("Pod") == ["a", "b", "running"]


async def test_a_controller_cut_off_at_any_write_comes_to_the_same_end() -> None:
    async def arrange(cluster: StoryCluster) -> None:
        await cluster.add_node("node-2")
        await cluster.create(pod("a", node="node-1"), pod("b", node="node-1"))
        await cluster.create(pod("c", node="node-2"), pod("d"))

    async def look(cluster: StoryCluster) -> list[str]:
        return await cluster.names("Pod")

    scenario = CrashScenario(loops=("pod-gc",), arrange=arrange, look=look)
    assert await assert_same_end(scenario) == ["c", "d"]
