from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, strategies as st

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectMeta
from plimsoll.api.selectors.topology import TopologyLabelSpec, TopologyTermSpec
from plimsoll.decide.provisioning.topology.allowed_topologies import (
    outside_allowed,
    shown_allowed,
    shown_segments,
)

Terms = tuple[TopologyTermSpec, ...]


def term(**values: str) -> TopologyTermSpec:
    """`term(zone="ab", rack="1")`: each value is one letter."""
    return TopologyTermSpec(
        match_label_expressions=tuple(
            TopologyLabelSpec(key=key, values=tuple(each)) for key, each in values.items()
        )
    )


def node(**labels: str) -> Node:
    return Node(metadata=ObjectMeta(name="node", labels=labels))


A, B = {"zone": "a"}, {"zone": "b"}


@pytest.mark.parametrize(
    ("segments", "allowed", "outside"),
    [
        pytest.param([A, B], (), [], id="a-class-without-terms-allows-everything"),
        pytest.param([A], (term(zone="a"),), [], id="inside"),
        pytest.param([A, B], (term(zone="a"),), [B], id="one-of-two-is-outside"),
        pytest.param([A, B], (term(zone="ab"),), [], id="values-are-alternatives"),
        pytest.param([A, B], (term(zone="a"), term(zone="b")), [], id="terms-are-alternatives"),
        pytest.param(
            [{"zone": "a", "rack": "2"}],
            (term(zone="a", rack="1"), term(zone="b", rack="2")),
            [{"zone": "a", "rack": "2"}],
            id="expressions-of-a-term-hold-together",
        ),
        pytest.param([{"zone": "a", "rack": "2"}], (term(zone="a"),), [], id="finer-than-allowed"),
        pytest.param([A], (term(zone="a", rack="1"),), [A], id="wider-than-allowed"),
        pytest.param([], (term(zone="a"),), [], id="nothing-reported"),
        pytest.param([{}], (term(zone="a"),), [], id="a-segment-without-labels-says-nothing"),
        pytest.param([A], (TopologyTermSpec(),), [A], id="an-empty-term-admits-nothing"),
    ],
)
def test_every_segment_must_be_admitted_by_a_term(
    segments: Sequence[Mapping[str, str]], allowed: Terms, outside: list[Mapping[str, str]]
) -> None:
    assert list(outside_allowed(segments, allowed, ())) == outside


@pytest.mark.parametrize(
    ("nodes", "is_allowed"),
    [
        pytest.param([node(host="1", zone="a")], True, id="its-node-is-allowed"),
        pytest.param(
            [node(host="1", zone="a"), node(host="1", zone="b")],
            False,
            id="one-of-its-nodes-is-not",
        ),
        pytest.param(
            [node(host="1", zone="a"), node(host="2", zone="b")],
            True,
            id="other-nodes-do-not-count",
        ),
        pytest.param([node(host="1")], False, id="its-node-does-not-say"),
        pytest.param([], False, id="no-node-is-known-there"),
    ],
)
def test_nodes_say_what_the_segment_does_not(nodes: list[Node], *, is_allowed: bool) -> None:
    outside = outside_allowed([{"host": "1"}], (term(zone="a"),), nodes)

    assert outside == (() if is_allowed else ({"host": "1"},))


LABELS = st.dictionaries(st.sampled_from(["zone", "rack"]), st.sampled_from("ab"), min_size=1)
ALLOWED = st.lists(
    st.dictionaries(st.sampled_from(["zone", "rack"]), st.sampled_from(["a", "b", "ab"])),
    max_size=3,
).map(lambda terms: tuple(term(**each) for each in terms))


@given(st.lists(LABELS, max_size=3), ALLOWED, st.lists(LABELS, max_size=4))
def test_a_node_that_reaches_an_allowed_volume_is_allowed_itself(
    segments: list[dict[str, str]], allowed: Terms, labels: list[dict[str, str]]
) -> None:
    nodes = [node(**each) for each in labels]
    if outside_allowed(segments, allowed, nodes):
        return
    for labels_of_node in labels:
        if any(segment.items() <= labels_of_node.items() for segment in segments):
            assert not allowed or any(
                each.match_label_expressions
                and all(labels_of_node.get(e.key) in e.values for e in each.match_label_expressions)
                for each in allowed
            )


def test_messages_name_what_came_back_and_what_is_allowed() -> None:
    assert shown_segments([A, {"zone": "b", "rack": "1"}]) == "[zone=a] [rack=1 zone=b]"
    assert (
        shown_allowed((term(zone="ab", rack="1"), term(zone="c")))
        == "[zone in (a, b) and rack in (1)] or [zone in (c)]"
    )


@pytest.mark.parametrize(
    ("zone", "is_allowed"),
    [pytest.param("b", True, id="allowed"), pytest.param("a", False, id="not-allowed")],
)
def test_a_served_domain_is_where_nodes_are_at_home_and_not_where_it_was_taken_over(
    zone: str, *, is_allowed: bool
) -> None:
    home, serves = "topology.d.org/zone", f"topology.d.org/serves.{zone}"
    nodes = [node(**{home: "a", serves: "true"}), node(**{home: "b", serves: "true"})]
    segment = {serves: "true"}
    outside = outside_allowed([segment], (term(**{home: "b"}),), nodes)
    assert outside == (() if is_allowed else (segment,))
