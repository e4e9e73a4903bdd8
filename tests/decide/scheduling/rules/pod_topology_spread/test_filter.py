import msgspec
import pytest

from plimsoll.api.core import Node, Taint
from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import Pod, TopologySpreadConstraint
from plimsoll.api.selectors.label import LabelRequirementSpec, LabelSelectorSpec
from plimsoll.decide.scheduling.flags import NodeSentence
from plimsoll.decide.scheduling.reasons import NOT_CONCERNED, Judgement, Verdict
from plimsoll.decide.scheduling.rules.pod_topology_spread.filter import SpreadState, judge, prepare
from tests.builders import HOSTNAME, a_node, a_pod
from tests.decide.scheduling.builders import a_cluster
from tests.decide.scheduling.rules.pod_topology_spread.builders import (
    a_constraint,
    a_spread_pod,
    a_web_pod,
    zonal_nodes,
)

NODES = zonal_nodes(a1="a", a2="a", b1="b")


def state(pod: Pod, *objects: ApiObject) -> SpreadState:
    found = prepare(pod, a_cluster(*objects))
    assert isinstance(found, SpreadState)
    return found


def verdicts(pod: Pod, *objects: ApiObject) -> dict[str, Verdict]:
    prepared = state(pod, *objects)
    return {each.name: judge(prepared, each).verdict for each in objects if isinstance(each, Node)}


def fitting(pod: Pod, *objects: ApiObject) -> list[str]:
    return [name for name, verdict in verdicts(pod, *objects).items() if verdict == "Success"]


def changed(constraint: TopologySpreadConstraint, **fields: object) -> TopologySpreadConstraint:
    return msgspec.structs.replace(constraint, **fields)


def test_a_pod_goes_where_fewer_are_like_it() -> None:
    pod = a_spread_pod(a_constraint())

    assert fitting(pod, *NODES) == ["a1", "a2", "b1"]
    assert fitting(pod, *NODES, a_web_pod("a1")) == ["b1"]
    assert fitting(pod, *NODES, a_web_pod("a1"), a_web_pod("b1")) == ["a1", "a2", "b1"]
    assert fitting(a_spread_pod(a_constraint(max_skew=2)), *NODES, a_web_pod("a1")) == [
        "a1",
        "a2",
        "b1",
    ]


def test_fewer_pods_would_help_but_a_missing_label_stays_missing() -> None:
    pod, bare = a_spread_pod(a_constraint()), a_node("bare")
    prepared = state(pod, *NODES, bare, a_web_pod("a1"))

    assert judge(prepared, NODES[0]).verdict is Verdict.UNSCHEDULABLE
    assert judge(prepared, NODES[0]).sentences == (NodeSentence.SPREAD,)
    assert judge(prepared, bare).verdict is Verdict.UNRESOLVABLE
    assert judge(prepared, bare).sentences == (NodeSentence.SPREAD_LABEL,)


def test_every_constraint_has_to_hold() -> None:
    pod = a_spread_pod(a_constraint(), a_constraint(HOSTNAME))
    crowd = [a_web_pod("a1"), a_web_pod("b1")]

    assert fitting(pod, *NODES, *crowd) == ["a2"]


def test_too_few_domains_count_as_one_without_pods() -> None:
    pod = a_spread_pod(changed(a_constraint(), min_domains=3))

    assert fitting(pod, *NODES, a_web_pod("a1"), a_web_pod("b1")) == []
    assert fitting(pod, *NODES, a_web_pod("a1")) == ["b1"]


def test_pods_of_other_namespaces_and_pods_that_leave_do_not_count() -> None:
    elsewhere = a_pod("p", namespace="other", node="a1", labels={"app": "web"})
    leaving = a_web_pod("a1")
    metadata = msgspec.structs.replace(leaving.metadata, deletion_timestamp="2025-01-01")
    pod = a_spread_pod(a_constraint())

    assert "a1" in fitting(pod, *NODES, elsewhere)
    assert "a1" in fitting(pod, *NODES, msgspec.structs.replace(leaving, metadata=metadata))


def test_a_domain_exists_only_where_a_node_counts() -> None:
    pod = a_spread_pod(a_constraint())
    spec = msgspec.structs.replace(pod.spec, node_selector={HOSTNAME: "a1"})
    picky = msgspec.structs.replace(pod, spec=spec)

    assert "a1" not in fitting(pod, *NODES, a_web_pod("a1"))
    assert "a1" in fitting(picky, *NODES, a_web_pod("a1"))
    ignoring = a_spread_pod(changed(a_constraint(), node_affinity_policy="Ignore"))
    spec = msgspec.structs.replace(ignoring.spec, node_selector={HOSTNAME: "a1"})
    assert "a1" not in fitting(
        msgspec.structs.replace(ignoring, spec=spec), *NODES, a_web_pod("a1")
    )


def test_tainted_nodes_count_unless_the_constraint_says_otherwise() -> None:
    tainted = a_node("b1", labels=NODES[2].labels, taints=[Taint(key="x", effect="NoSchedule")])
    objects = [*NODES[:2], tainted, a_web_pod("a1")]

    assert fitting(a_spread_pod(a_constraint()), *objects) == ["b1"]
    honoring = changed(a_constraint(), node_taints_policy="Honor")
    assert fitting(a_spread_pod(honoring), *objects) == ["a1", "a2", "b1"]


def test_label_keys_narrow_the_selector_to_pods_with_the_same_values() -> None:
    pod = a_pod("new", labels={"app": "web", "hash": "2"})
    constraint = changed(a_constraint(), match_label_keys=("hash", "none"))
    spec = msgspec.structs.replace(pod.spec, topology_spread_constraints=(constraint,))
    pod = msgspec.structs.replace(pod, spec=spec)
    twin = a_pod("old", node="a1", labels={"app": "web", "hash": "2"})

    assert "a1" in fitting(pod, *NODES, a_web_pod("a1"))
    assert "a1" not in fitting(pod, *NODES, twin)


@pytest.mark.parametrize(
    "selector", [pytest.param(None, id="missing"), pytest.param(LabelSelectorSpec(), id="empty")]
)
def test_without_conditions_no_pod_counts(selector: LabelSelectorSpec | None) -> None:
    pod = a_spread_pod(a_constraint(selector=selector))

    assert fitting(pod, *NODES, a_web_pod("a1")) == ["a1", "a2", "b1"]


def test_a_selector_that_cannot_be_read_is_an_error() -> None:
    nonsense = LabelRequirementSpec(key="app", operator="Nonsense")
    selector = LabelSelectorSpec(match_expressions=(nonsense,))

    found = prepare(a_spread_pod(a_constraint(selector=selector)), a_cluster())

    assert isinstance(found, Judgement)
    assert found.verdict is Verdict.ERROR


def test_a_pod_without_hard_constraints_is_not_concerned() -> None:
    assert prepare(a_pod(), a_cluster()) is NOT_CONCERNED
    assert prepare(a_spread_pod(a_constraint(is_hard=False)), a_cluster()) is NOT_CONCERNED


def test_what_if_a_pod_comes_or_leaves() -> None:
    before = state(a_spread_pod(a_constraint()), *NODES, a_web_pod("a1"))

    without = before.with_pod(a_web_pod("a1"), NODES[0], -1)
    assert judge(without, NODES[0]).is_fit
    assert not judge(before, NODES[0]).is_fit
    assert without.with_pod(a_web_pod("a1"), NODES[0], 1) == before
    elsewhere = a_pod("p", namespace="other", labels={"app": "web"})
    assert before.with_pod(elsewhere, NODES[0], -1) == before
    assert before.with_pod(a_pod("db", labels={"app": "db"}), NODES[0], -1) == before
    assert before.with_pod(a_web_pod("bare"), a_node("bare"), -1) == before


def test_a_victim_that_leaves_already_is_taken_off_all_the_same() -> None:
    leaving = a_web_pod("a1")
    metadata = msgspec.structs.replace(leaving.metadata, deletion_timestamp="2025-01-01")
    leaving = msgspec.structs.replace(leaving, metadata=metadata)
    before = state(a_spread_pod(a_constraint()), *NODES, leaving)

    assert before.domains == ({"a": 0, "b": 0},)
    assert before.with_pod(leaving, NODES[0], -1).domains == ({"a": -1, "b": 0},)
