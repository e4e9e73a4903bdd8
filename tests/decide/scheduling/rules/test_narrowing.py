import pytest

from plimsoll.api.core import Taint
from plimsoll.api.meta import ObjectMeta
from plimsoll.api.pods import Affinity, NodeAffinity, Pod, PodSpec
from plimsoll.api.selectors.node import NodeRequirementSpec, NodeSelectorSpec, NodeTermSpec
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.nodes import slots_of
from plimsoll.decide.scheduling.flags import NodeRule
from plimsoll.decide.scheduling.kernel import Kernel, NoNode
from plimsoll.decide.scheduling.rule_fit import Rejected
from plimsoll.decide.scheduling.rules.narrowing import Narrowing, narrow
from tests.builders import a_node


def named(*values: str, operator: str = "In") -> NodeRequirementSpec:
    return NodeRequirementSpec(key="metadata.name", operator=operator, values=values)


def a_pod_for(*terms: tuple[NodeRequirementSpec, ...], node: str = "") -> Pod:
    """Each term is a list of fields that must all agree."""
    selector = NodeSelectorSpec(
        node_selector_terms=tuple(NodeTermSpec(match_fields=fields) for fields in terms)
    )
    affinity = Affinity(node_affinity=NodeAffinity(required=selector))
    return Pod(
        metadata=ObjectMeta(name="p", namespace="default"),
        spec=PodSpec(node_name=node, affinity=affinity),
    )


@pytest.mark.parametrize(
    ("pod", "names"),
    [
        pytest.param(a_pod_for((named("a"),), (named("b"),)), {"a", "b"}, id="any-term-will-do"),
        pytest.param(a_pod_for((named("a", "b"), named("b"))), {"b"}, id="all-fields-must-agree"),
        pytest.param(a_pod_for((named("a"),), (named("b", operator="NotIn"),)), None, id="not-in"),
        pytest.param(a_pod_for(), None, id="no-terms"),
        pytest.param(Pod(spec=PodSpec(node_name="a")), {"a"}, id="node-name"),
        pytest.param(a_pod_for((named("a", "b"),), node="b"), {"b"}, id="both"),
    ],
)
def test_nodes_are_looked_at_by_name(pod: Pod, names: set[str] | None) -> None:
    found = narrow(pod)

    assert not isinstance(found, Rejected)
    assert (set(found.names) if isinstance(found, Narrowing) else None) == names


@pytest.mark.parametrize(
    ("pod", "sentence", "rules"),
    [
        pytest.param(
            a_pod_for((named("a"), named("b"))),
            "pod affinity terms conflict",
            (NodeRule.NODE_AFFINITY,),
            id="no-node-has-two-names",
        ),
        pytest.param(
            a_pod_for((named("a"),), node="b"),
            "node(s) didn't satisfy plugin(s) [NodeAffinity NodeName] simultaneously",
            (NodeRule.NODE_NAME, NodeRule.NODE_AFFINITY),
            id="rules-name-different-nodes",
        ),
    ],
)
def test_names_that_exclude_each_other_leave_no_node(
    pod: Pod, sentence: str, rules: tuple[NodeRule, ...]
) -> None:
    found = narrow(pod)

    assert isinstance(found, Rejected)
    assert found.judgement.sentences == (sentence,)
    assert found.rules == rules


def test_nodes_that_are_not_looked_at_are_counted_together() -> None:
    columns = Columns.of(
        [a_node("a", taints=[Taint(key="gpu", effect="NoSchedule")]), a_node("b"), a_node("c")]
    )
    pod = a_pod_for((named("nowhere"),), (named("a"),))

    found = Kernel(columns).decide(pod)

    assert isinstance(found, NoNode)
    assert found.fit_error == (
        "0/3 nodes are available: 1 node(s) had untolerated taint(s), "
        "2 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )
    narrowing = narrow(pod)
    assert isinstance(narrowing, Narrowing)
    names = columns.index.names
    assert {names[slot] for slot in slots_of(narrowing.outside(columns))} == {"b", "c"}
