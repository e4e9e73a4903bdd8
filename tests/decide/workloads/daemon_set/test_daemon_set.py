from typing import Any

from msgspec import structs

from plimsoll.api.core import Node, NodeSpec, Taint
from plimsoll.api.pods import Pod, PodSpec
from plimsoll.api.typed import from_document
from plimsoll.api.workloads import ControllerRevision, DaemonSet
from plimsoll.decide.workloads.daemon_set.daemon_set import (
    DaemonSetSteps,
    DaemonSetView,
    decide_daemon_set,
)
from plimsoll.decide.workloads.daemon_set.nodes import pod_document
from plimsoll.decide.workloads.pod_template import data_hash
from plimsoll.decide.workloads.revisions import revision_data
from tests.decide.workloads.objects import (
    LABELS,
    NOW,
    a_daemon_set,
    a_pod,
    made,
    meta,
    status_in,
    suffixes,
    template,
    told,
)

HASH = data_hash(revision_data(template()), 0)
STORED = ControllerRevision(
    metadata=meta(f"agent-{HASH}", labels={"controller-revision-hash": HASH}),
    data=revision_data(template()),
    revision=1,
)


def node(name: str, *taints: Taint) -> Node:
    return Node(metadata=meta(name), spec=NodeSpec(taints=taints))


def daemon(name: str, on: str, *, hash_: str = HASH, **pod: Any) -> Pod:
    labels = LABELS | {"controller-revision-hash": hash_}
    return a_pod(name, node=on, labels=labels, **pod)


def decided(
    *pods: Pod,
    nodes: str | tuple[Node, ...] = "ab",
    set_: DaemonSet | None = None,
    **more: Any,
) -> DaemonSetSteps:
    fields: dict[str, Any] = {
        "nodes": tuple(map(node, nodes)) if isinstance(nodes, str) else nodes,
        "pods": pods,
        "revisions": (STORED,),
        "named": {STORED.key: STORED},
        "now": NOW,
    }
    return decide_daemon_set(set_ or a_daemon_set(), DaemonSetView(**(fields | more)), suffixes())


def test_every_node_gets_one_pod() -> None:
    steps = decided(daemon("x", "a"))
    assert made(steps.act) == ["create pods agent-00000"]
    counts = status_in(steps.report)
    assert (counts["desiredNumberScheduled"], counts["currentNumberScheduled"]) == (2, 1)
    assert (counts["numberReady"], counts["numberUnavailable"]) == (1, 1)


def test_a_node_waits_for_its_pod_to_be_gone() -> None:
    assert made(decided(daemon("x", "a", deletion_timestamp=NOW), nodes="a").act) == []


def test_of_several_pods_on_a_node_the_oldest_stays() -> None:
    steps = decided(daemon("new", "a", since=NOW), daemon("old", "a"), daemon("b", "b"), nodes="ab")
    assert made(steps.act) == ["delete pods new"]


def test_a_node_that_casts_out_pods_loses_its_own() -> None:
    taint = Taint(key="x", effect="NoExecute")
    steps = decided(daemon("x", "a"), nodes=(node("a", taint),))
    assert made(steps.act) == ["delete pods x"]
    assert status_in(steps.report)["numberMisscheduled"] == 1


def test_a_pod_for_a_node_that_is_gone_is_deleted_unless_it_was_there() -> None:
    lost = structs.replace(daemon("lost", ""), spec=_for_node("gone"))
    steps = decided(lost, daemon("ran", "gone"), nodes="")
    assert made(steps.act) == ["delete pods lost"]


def _for_node(name: str) -> PodSpec:
    return from_document(PodSpec, pod_document(a_daemon_set(), name, HASH)["spec"])


def test_finished_pods_are_cleared_away_but_not_faster_than_they_fail() -> None:
    failed = daemon("x", "a", phase="Failed")
    steps = decided(failed, nodes="a")
    assert (made(steps.act), told(steps.act)[0]) == (["delete pods x"], "FailedDaemonPod")
    assert made(decided(failed, nodes="a", resting=frozenset("a")).act) == []
    done = decided(daemon("x", "a", phase="Succeeded"), nodes="a")
    assert told(done.act)[0] == "SucceededDaemonPod"


def test_an_update_replaces_what_does_not_serve_and_one_that_does() -> None:
    idle = daemon("idle", "a", ready=False, hash_="old")
    serving = [daemon(name, name, hash_="old") for name in "bc"]
    assert made(decided(idle, *serving, nodes="abc").act) == ["delete pods idle"]
    fresh = daemon("a", "a")
    assert made(decided(fresh, *serving, nodes="abc").act) == ["delete pods b"]
    waiting = daemon("a", "a", ready=False)
    assert made(decided(waiting, *serving, nodes="abc").act) == []


def test_on_delete_leaves_updates_to_others() -> None:
    set_ = a_daemon_set(updateStrategy={"type": "OnDelete"})
    steps = decided(daemon("x", "a", hash_="old"), nodes="a", set_=set_)
    assert made(steps.act) == []
    assert status_in(steps.report)["updatedNumberScheduled"] == 0


def test_a_surge_and_an_empty_selector_are_refused() -> None:
    surge = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "10%"}}
    refused = decided(set_=a_daemon_set(updateStrategy=surge))
    assert (made(refused.act), told(refused.act)) == ([], ["UnsupportedField"])
    assert told(decided(set_=a_daemon_set(selector={})).act) == ["SelectingAll"]


def test_a_new_template_is_stored_first() -> None:
    steps = decided(revisions=(), named={})
    assert made(steps.history) == [f"create controllerrevisions agent-{HASH}"]
