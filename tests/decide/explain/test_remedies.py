"""What is suggested would help: the decision with the change made says so."""

import msgspec
import pytest

from plimsoll.api.core import Taint
from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import Pod
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.explain.evidence import Evidence
from plimsoll.decide.explain.pod import explain_pod
from plimsoll.decide.explain.remedies import Remedy, find_remedy
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.kernel import Kernel, NoNode
from plimsoll.decide.scheduling.reasons import Reason
from tests.builders import a_claim, a_class, a_node, a_pod
from tests.decide.explain.faults import FAULTS
from tests.decide.explain.witnesses import NOW
from tests.decide.scheduling.builders import annotated

NOTHING_SAID = Evidence(now=NOW, events=(), leases=())


def remedy(pod: Pod, *objects: ApiObject) -> Remedy | None:
    kernel = Kernel(Columns.of(objects))
    found = find_remedy(explain_pod(pod, kernel, NOTHING_SAID), kernel)
    assert isinstance(kernel.decide(pod), NoNode), "the cluster itself was changed"
    return found


@pytest.mark.parametrize(
    ("reason", "change"),
    [
        (Reason.CAPACITY_TOO_SMALL, "make claim data anew with at most 5Gi instead of 10Gi"),
        (
            Reason.NO_MATCHING_VOLUME,
            "add a volume of class fast with 10Gi that node node-1 can reach",
        ),
        (Reason.UNTOLERATED_TAINT, "let the pod tolerate dedicated:NoSchedule"),
        (Reason.NODE_UNSCHEDULABLE, "uncordon node node-1"),
        (
            Reason.NODE_AFFINITY_MISMATCH,
            "label node node-1 with disk=ssd, or take that off the pod's node selector",
        ),
        (Reason.INSUFFICIENT_RESOURCE, "request at most 8 of cpu instead of 9"),
    ],
)
def test_the_smallest_change_is_told_with_the_node_that_it_leads_to(
    reason: Reason, change: str
) -> None:
    pod, objects = FAULTS[reason]()
    assert remedy(pod, *objects) == Remedy((change,), "node-1")


@pytest.mark.parametrize(
    "reason",
    [
        Reason.CLAIM_NOT_FOUND,
        Reason.CLASS_NOT_FOUND,
        Reason.VOLUME_AFFINITY_CONFLICT,
        Reason.NO_CAPACITY_PUBLISHED,
        Reason.TOO_MANY_PODS,
    ],
)
def test_where_nothing_is_known_to_help_nothing_is_suggested(reason: Reason) -> None:
    pod, objects = FAULTS[reason]()
    assert remedy(pod, *objects) is None


def test_several_changes_are_told_where_all_are_needed() -> None:
    pod = a_pod(requests={"cpu": "9"})
    node = a_node(taints=[Taint(key="dedicated", effect="NoSchedule")])
    found = remedy(pod, node)
    assert found is not None
    assert found.changes == (
        "let the pod tolerate dedicated:NoSchedule",
        "request at most 8 of cpu instead of 9",
    )


def test_nodes_where_less_has_to_change_are_tried_first() -> None:
    tainted = a_node("a", cpu="1", taints=[Taint(key="dedicated", effect="NoSchedule")])
    found = remedy(a_pod(requests={"cpu": "9"}), tainted, a_node("b"))
    assert found == Remedy(("request at most 8 of cpu instead of 9",), "b")


def test_no_user_is_told_to_tolerate_a_node_that_is_not_ready() -> None:
    taint = Taint(key="node.kubernetes.io/not-ready", effect="NoSchedule")
    assert remedy(a_pod(), a_node(taints=[taint])) is None


def test_a_cordoned_node_is_opened_not_tolerated() -> None:
    node = a_node(taints=[Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")])
    spec = msgspec.structs.replace(node.spec, unschedulable=True)
    closed = msgspec.structs.replace(node, spec=spec)
    assert remedy(a_pod(), closed) == Remedy(("uncordon node node-1",), "node-1")


def test_a_selected_node_is_taken_off_only_when_it_is_gone() -> None:
    claim = annotated(a_claim(), {SELECTED_NODE: "node-9"})
    pod = a_pod(claims=["data"])
    found = remedy(pod, a_node(), a_class(), claim)
    change = f"take the annotation {SELECTED_NODE} off claim data"
    assert found == Remedy((change,), "node-1")
    full = a_node("node-9", taints=[Taint(key="node.kubernetes.io/x", effect="NoSchedule")])
    assert remedy(pod, a_node(), full, a_class(), claim) is None
