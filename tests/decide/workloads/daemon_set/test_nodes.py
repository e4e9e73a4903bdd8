from typing import Any

from msgspec import structs

from plimsoll.api.core import Node, NodeSpec, NodeStatus, Taint
from plimsoll.api.pods import PodSpec
from plimsoll.api.typed import from_document
from plimsoll.decide.workloads.daemon_set.nodes import (
    DaemonPlacement,
    is_same_for_daemons,
    pod_document,
    target_node,
)
from tests.decide.workloads.objects import LABELS, a_daemon_set, a_pod, meta, template

DISK = Taint(key="node.kubernetes.io/disk-pressure", effect="NoSchedule")


def a_node(*taints: Taint, name: str = "node-1", **labels: str) -> Node:
    return Node(metadata=meta(name, labels=labels), spec=NodeSpec(taints=taints))


def placed(node: Node, **spec: Any) -> tuple[bool, bool]:
    """Whether a pod should be made there, and whether one that is there may stay."""
    placement = DaemonPlacement.of(a_daemon_set(template=template(**spec)))
    return placement.should_run(node), placement.may_stay(node)


def test_labels_and_affinity_choose_the_nodes() -> None:
    assert placed(a_node(zone="a"), nodeSelector={"zone": "a"}) == (True, True)
    assert placed(a_node(), nodeSelector={"zone": "a"}) == (False, False)
    assert placed(a_node(), nodeName="node-2") == (False, False)


def test_a_taint_that_is_not_tolerated_keeps_new_pods_away_and_an_effective_one_all() -> None:
    assert placed(a_node(Taint(key="x", effect="NoSchedule"))) == (False, True)
    assert placed(a_node(Taint(key="x", effect="NoExecute"))) == (False, False)
    assert placed(a_node(Taint(key="x", effect="PreferNoSchedule"))) == (True, True)
    toleration = {"key": "x", "operator": "Exists"}
    assert placed(a_node(Taint(key="x", effect="NoSchedule")), tolerations=[toleration]) == (
        True,
        True,
    )


def test_troubles_of_nodes_do_not_keep_daemons_away() -> None:
    unreachable = Taint(key="node.kubernetes.io/unreachable", effect="NoExecute")
    offline = Taint(key="node.kubernetes.io/network-unavailable", effect="NoSchedule")
    assert placed(a_node(DISK, unreachable)) == (True, True)
    assert placed(a_node(offline)) == (False, True)
    assert placed(a_node(offline), hostNetwork=True) == (True, True)


def test_a_pod_can_go_to_its_node_only_whatever_else_the_template_asks_for() -> None:
    term = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}
    affinity = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": term},
        "podAntiAffinity": {"x": "y"},
    }
    pod = pod_document(a_daemon_set(template=template(affinity=affinity)), "node-7", "abc")
    assert pod["spec"]["affinity"]["podAntiAffinity"] == {"x": "y"}
    spec = from_document(PodSpec, pod["spec"])
    assert target_node(structs.replace(a_pod(), spec=spec)) == "node-7"
    assert pod["metadata"]["labels"] == LABELS | {"controller-revision-hash": "abc"}
    tolerated = [t["key"] for t in pod["spec"]["tolerations"]]
    assert "node.kubernetes.io/not-ready" in tolerated
    assert len(tolerated) == len(set(tolerated)) == 6


def test_a_pod_that_is_on_a_node_belongs_there() -> None:
    assert target_node(a_pod(node="node-3")) == "node-3"
    assert target_node(a_pod(node="")) == ""


def test_a_heartbeat_of_a_node_changes_nothing_for_daemons() -> None:
    before = a_node()
    beat = structs.replace(before, status=NodeStatus(volumes_in_use=("v",)))
    assert is_same_for_daemons(before, beat)
    assert not is_same_for_daemons(before, a_node(zone="a"))
    assert not is_same_for_daemons(before, a_node(DISK))
