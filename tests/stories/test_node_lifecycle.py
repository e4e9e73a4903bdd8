"""Nodes that fall silent and come back, and what becomes of the pods on them."""

from datetime import timedelta
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.nodes import Nodes, a_bound_claim, driver_object, phase
from plimsoll.simulator.stories.objects import pod, uses
from plimsoll.simulator.stories.workload_objects import deployment, template
from tests.stories.test_attach_detach import attachments, carry_out

LOOPS = ("node-lifecycle", "taint-eviction")
SILENCE = timedelta(seconds=70)


async def ready_of(cluster: StoryCluster, kind: str, name: str) -> tuple[str, str]:
    found = await cluster.get(kind, name)
    conditions = found["status"].get("conditions", ())
    (ready,) = (c for c in conditions if c["type"] == "Ready")
    return ready["status"], ready.get("reason", "")


async def taints_of(cluster: StoryCluster, node: str) -> set[str]:
    taints = (await cluster.get("Node", node))["spec"].get("taints", ())
    return {f"{t['key'].removeprefix('node.kubernetes.io/')}:{t['effect']}" for t in taints}


def tolerant(name: str, node: str, seconds: int | None = None) -> Document:
    toleration: dict[str, Any] = {"operator": "Exists", "effect": "NoExecute"}
    if seconds is not None:
        toleration["tolerationSeconds"] = seconds
    made = pod(name, node=node)
    made["spec"]["tolerations"] = [toleration]
    return made


async def test_a_new_node_takes_no_pods_until_it_was_found_ready() -> None:
    async with a_cluster("node-lifecycle") as cluster:
        await cluster.kill_controllers()
        await Nodes(cluster, 1).start_each()
        assert await taints_of(cluster, "node-0") == {"not-ready:NoSchedule"}

        await cluster.start("node-lifecycle")
        await cluster.settle()
        assert await taints_of(cluster, "node-0") == set()


async def test_a_node_that_dies_is_marked_and_tainted_and_its_pods_are_not_ready() -> None:
    async with a_cluster(*LOOPS) as cluster:
        lives = await Nodes(cluster, 3).start_each()
        await cluster.create(pod("web", node="node-1"))
        await cluster.settle()
        assert (await ready_of(cluster, "Pod", "web"))[0] == "True"

        await lives["node-1"].kill()
        await cluster.wait(SILENCE)
        assert await ready_of(cluster, "Node", "node-1") == ("Unknown", "NodeStatusUnknown")
        assert await taints_of(cluster, "node-1") == {
            "unreachable:NoSchedule",
            "unreachable:NoExecute",
        }
        assert await taints_of(cluster, "node-0") == set()
        assert (await ready_of(cluster, "Pod", "web"))[0] == "False"
        told = ("NodeNotReady", "Node node-1 status is now: NodeNotReady")
        assert told in await cluster.events("node-1")


async def test_a_node_that_comes_back_is_ready_again_with_the_pods_that_it_still_has() -> None:
    async with a_cluster(*LOOPS) as cluster:
        nodes = Nodes(cluster, 3)
        lives = await nodes.start_each()
        await cluster.create(pod("web", node="node-1"))
        await cluster.settle()
        await lives["node-1"].kill()
        await cluster.wait(SILENCE)

        await nodes.start_one("node-1")
        await cluster.wait(timedelta(seconds=10))
        assert await ready_of(cluster, "Node", "node-1") == ("True", "KubeletReady")
        assert await taints_of(cluster, "node-1") == set()
        assert (await ready_of(cluster, "Pod", "web"))[0] == "True"
        told = ("TaintManagerEviction", "Cancelling deletion of Pod default/web")
        assert told in await cluster.events("web")
        await cluster.wait(timedelta(minutes=6))
        assert await cluster.names("Pod") == ["web"]


async def test_pods_of_a_lost_node_are_deleted_as_soon_as_their_toleration_ends() -> None:
    async with a_cluster(*LOOPS) as cluster:
        lives = await Nodes(cluster, 3).start_each()
        patient, brief = tolerant("patient", "node-1"), tolerant("brief", "node-1", 20)
        await cluster.create(patient, brief, pod("usual", node="node-1"))
        await cluster.settle()
        await lives["node-1"].kill()
        await cluster.wait(timedelta(seconds=90))
        leaving = [p for p in await cluster.all("Pod") if "deletionTimestamp" in p["metadata"]]
        assert [p["metadata"]["name"] for p in leaving] == ["brief"]
        told = ("TaintManagerEviction", "Marking for deletion Pod default/brief")
        assert told in await cluster.events("brief")

        await cluster.wait(timedelta(minutes=5))
        leaving = [p for p in await cluster.all("Pod") if "deletionTimestamp" in p["metadata"]]
        assert [p["metadata"]["name"] for p in leaving] == ["brief", "usual"]


async def test_a_controller_that_restarts_ends_pods_when_the_one_before_would_have() -> None:
    async with a_cluster(*LOOPS) as cluster:
        lives = await Nodes(cluster, 3).start_each()
        await cluster.create(tolerant("brief", "node-1", 60))
        await cluster.settle()
        await lives["node-1"].kill()
        await cluster.wait(SILENCE)
        await cluster.controllers[0].kill()
        await cluster.start(*LOOPS)
        await cluster.wait(timedelta(seconds=30))
        assert "deletionTimestamp" not in (await cluster.get("Pod", "brief"))["metadata"]
        await cluster.wait(timedelta(seconds=20))
        assert "deletionTimestamp" in (await cluster.get("Pod", "brief"))["metadata"]


async def test_a_taint_of_the_users_own_ends_pods_that_do_not_tolerate_it() -> None:
    async with a_cluster(*LOOPS) as cluster:
        await Nodes(cluster, 2).start_each()
        await cluster.create(pod("web", node="node-1"), tolerant("agent", "node-1"))
        await cluster.settle()
        taint = {"key": "maintenance", "effect": "NoExecute"}
        await cluster.patch("Node", "node-1", {"spec": {"taints": [taint]}})
        await cluster.wait(timedelta(seconds=5))
        assert await cluster.names("Pod") == ["agent"]


async def test_when_no_node_is_heard_of_no_pod_is_deleted() -> None:
    async with a_cluster(*LOOPS) as cluster:
        lives = await Nodes(cluster, 3).start_each()
        await cluster.create(tolerant("brief", "node-1", 1))
        await cluster.settle()
        for life in lives.values():
            await life.kill()
        await cluster.wait(timedelta(minutes=10))
        for name in lives:
            assert await ready_of(cluster, "Node", name) == ("Unknown", "NodeStatusUnknown")
            assert await taints_of(cluster, name) == {"unreachable:NoSchedule"}
        assert "deletionTimestamp" not in (await cluster.get("Pod", "brief"))["metadata"]


async def test_a_deployment_replaces_the_pod_of_a_lost_node() -> None:
    async with a_cluster(*LOOPS, "deployment", "replicaset", "pod-gc") as cluster:
        lives = await Nodes(cluster, 3).start_each()
        tolerations = [{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 10}]
        await cluster.create(
            deployment(replicas=1, template=template(tolerations=tolerations)),
        )
        await cluster.settle()
        (first,) = await cluster.names("Pod")
        await cluster.bind(first, "node-1")
        await cluster.settle()
        await lives["node-1"].kill()
        await cluster.wait(timedelta(seconds=90))
        (second,) = (name for name in await cluster.names("Pod") if name != first)
        await cluster.bind(second, "node-2")
        await cluster.settle()
        assert (await ready_of(cluster, "Pod", second))[0] == "True"


async def test_a_cordoned_node_is_tainted_and_the_taint_goes_with_the_cordon() -> None:
    async with a_cluster(*LOOPS) as cluster:
        await Nodes(cluster, 1).start_each()
        await cluster.patch("Node", "node-0", {"spec": {"unschedulable": True}})
        await cluster.settle()
        assert await taints_of(cluster, "node-0") == {"unschedulable:NoSchedule"}
        await cluster.patch("Node", "node-0", {"spec": {"unschedulable": None}})
        await cluster.settle()
        assert await taints_of(cluster, "node-0") == set()


async def test_a_quiet_cluster_is_left_alone() -> None:
    async with a_cluster(*LOOPS) as cluster:
        await Nodes(cluster, 3).start_each()
        await cluster.create(pod("web", node="node-1"))
        await cluster.wait(timedelta(minutes=2))
        writes = cluster.controllers[0].writes
        await cluster.wait(timedelta(minutes=20))
        assert cluster.controllers[0].writes == writes


async def test_a_volume_of_a_lost_node_goes_to_no_other_until_the_node_is_known_to_be_off() -> None:
    async with a_cluster(*LOOPS, "attach-detach", "pod-gc") as cluster:
        lives = await Nodes(cluster, 3).start_each()
        await cluster.create(driver_object(attachRequired=True))
        await a_bound_claim(cluster)
        first = tolerant("first", "node-0", 5)
        first["spec"]["volumes"] = [uses("data")]
        await cluster.create(first)
        await cluster.settle()
        await carry_out(cluster)
        assert await phase(cluster, "first") == "Running"

        await lives["node-0"].kill()
        await cluster.wait(timedelta(seconds=90))
        assert "deletionTimestamp" in (await cluster.get("Pod", "first"))["metadata"]
        await cluster.create(pod("second", node="node-1", volumes=[uses("data")]))
        await cluster.wait(timedelta(minutes=15))
        assert await attachments(cluster) == {"node-0": True}
        assert await phase(cluster, "second") == "Pending"

        off = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}
        taints = (await cluster.get("Node", "node-0"))["spec"]["taints"]
        await cluster.patch("Node", "node-0", {"spec": {"taints": [*taints, off]}})
        await cluster.wait(timedelta(seconds=30))
        assert await cluster.names("Pod") == ["second"]
        assert set(await attachments(cluster)) == {"node-1"}
