"""Which nodes an object is about."""

import msgspec
import pytest
from hypothesis import given, strategies as st

from plimsoll.api.selectors.label import LabelRequirementSpec, LabelSelector, LabelSelectorSpec
from plimsoll.api.storage import CSIStorageCapacity
from plimsoll.decide.capacity.reach import Reach
from tests.builders import ZONE, a_capacity, a_node

NODES = [a_node("n1", labels={ZONE: "a"}), a_node("n2", labels={ZONE: "b", "ssd": "yes"})]
LABELS = st.dictionaries(st.sampled_from("xyz"), st.sampled_from("12"), max_size=3)
OPERATORS = st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"])


def about(topology: LabelSelectorSpec | None) -> CSIStorageCapacity:
    return msgspec.structs.replace(a_capacity(segment={}, gib=1), node_topology=topology)


def test_without_a_topology_it_is_about_no_node_with_an_empty_one_about_all() -> None:
    reach = Reach(NODES)
    assert reach.nodes_of(about(None)) == set()
    assert reach.nodes_of(about(LabelSelectorSpec())) == {"n1", "n2"}


@given(labels=st.lists(LABELS, max_size=6), wanted=LABELS, operator=st.none() | OPERATORS)
def test_it_is_about_the_nodes_that_its_selector_matches(
    labels: list[dict[str, str]], wanted: dict[str, str], operator: str | None
) -> None:
    values = ("1",) if operator in ("In", "NotIn") else ()
    expressions = (
        (LabelRequirementSpec(key="x", operator=operator, values=values),) if operator else ()
    )
    topology = LabelSelectorSpec(match_labels=wanted, match_expressions=expressions)
    nodes = [a_node(f"n{number}", labels=each) for number, each in enumerate(labels)]
    matching = {node.name for node in nodes if LabelSelector.of(topology).matches(node.labels)}
    assert Reach(nodes).nodes_of(about(topology)) == matching


def test_a_topology_that_makes_no_sense_is_complained_about() -> None:
    broken = LabelSelectorSpec(match_expressions=(LabelRequirementSpec(key="x", operator="Like"),))
    with pytest.raises(ValueError, match="Like"):
        Reach(NODES).nodes_of(about(broken))


def test_a_label_is_common_to_nodes_if_all_have_the_same() -> None:
    reach = Reach(NODES)
    assert reach.common_label(frozenset({"n1"}), ZONE) == "a"
    assert reach.common_label(frozenset({"n1", "n2"}), ZONE) is None
    assert reach.common_label(frozenset({"n1"}), "ssd") is None
