import pytest
from hypothesis import given, settings

from plimsoll.api.pods import Affinity, NodeAffinity, Pod, PodSpec
from plimsoll.api.selectors.node import NodeRequirementSpec, NodeSelectorSpec, NodeTermSpec
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.nodes import slots_of
from plimsoll.decide.scheduling.rules import node_affinity
from plimsoll.decide.scheduling.rules.node_affinity import AffinityTerms, named_nodes
from tests.builders import a_node
from tests.decide.scheduling.columns.clusters import (
    Chance,
    a_new_pod,
    a_random_node,
    by_identity,
    seeds,
)


@given(seed=seeds)
@settings(max_examples=300, deadline=None)
def test_all_nodes_at_once_are_judged_like_each_by_itself(seed: int) -> None:
    chance = Chance(seed)
    columns = Columns.of(by_identity(a_random_node(chance) for _ in range(5)))
    terms = AffinityTerms.of(a_new_pod(chance))

    blocked = node_affinity.blocked(terms, columns)

    refused = {
        node.name for node in columns.all_nodes() if not node_affinity.judge(terms, node).is_fit
    }
    found = slots_of(blocked & columns.index.alive)
    assert {columns.index.names[slot] for slot in found} == refused
    weights = node_affinity.preferences(terms, columns)
    for node in columns.all_nodes():
        preferred = terms.preferred.score(node.labels, node.name)
        assert (0 if weights is None else weights[columns.index.find(node.name)]) == preferred


def test_a_node_selector_asks_for_all_of_its_labels() -> None:
    terms = AffinityTerms.of(Pod(spec=PodSpec(node_selector={"disk": "ssd", "zone": "a"})))

    assert node_affinity.judge(terms, a_node(labels={"disk": "ssd", "zone": "a"})).is_fit
    assert not node_affinity.judge(terms, a_node(labels={"disk": "ssd"})).is_fit


@pytest.mark.parametrize(
    ("terms", "named"),
    [
        pytest.param([["a"]], {"a"}, id="one-term"),
        pytest.param([["a"], ["b", "c"]], {"a", "b", "c"}, id="any-of-several-terms"),
        pytest.param([["a"], []], None, id="a-term-without-names"),
        pytest.param([], None, id="no-terms"),
    ],
)
def test_nodes_are_looked_at_alone_where_every_term_names_some(
    terms: list[list[str]], named: set[str] | None
) -> None:
    assert named_nodes(a_pod_naming(*terms)) == named


def a_pod_naming(*terms: list[str]) -> Pod:
    specs = [NodeTermSpec(match_fields=(name_field(names),) if names else ()) for names in terms]
    selector = NodeSelectorSpec(node_selector_terms=tuple(specs))
    affinity = Affinity(node_affinity=NodeAffinity(required=selector))
    return Pod(spec=PodSpec(affinity=affinity))


def name_field(names: list[str]) -> NodeRequirementSpec:
    return NodeRequirementSpec(key="metadata.name", operator="In", values=tuple(names))
