"""Segments as nodes come, go and change their labels."""

from collections.abc import Iterable

import pytest
from hypothesis import given, strategies as st

from plimsoll.api.selectors.label import LabelRequirementSpec, LabelSelectorSpec
from plimsoll.api.selectors.node import NodeRequirementSpec, NodeSelectorSpec, NodeTermSpec
from plimsoll.api.volumes import VolumeNodeAffinity
from plimsoll.decide.capacity.segments import (
    NodeSegments,
    Segment,
    SegmentChange,
    exact_segments,
    find_segment,
    reachable_segments,
    segment_of,
)
from tests.builders import DRIVER, ZONE, a_csi_node, a_node

RACK = "example.com/rack"


def zone(value: str) -> Segment:
    return ((ZONE, value),)


def segments_of(**zones: str) -> NodeSegments:
    segments = NodeSegments(DRIVER)
    for name, value in zones.items():
        segments.put_node(a_node(name, labels={ZONE: value}))
        segments.put_csi_node(a_csi_node(name))
    segments.take_change()
    return segments


def affinity(*terms: dict[str, Iterable[str]], operator: str = "In") -> VolumeNodeAffinity:
    specs = tuple(
        NodeTermSpec(
            match_expressions=tuple(
                NodeRequirementSpec(key=key, operator=operator, values=tuple(values))
                for key, values in term.items()
            )
        )
        for term in terms
    )
    return VolumeNodeAffinity(required=NodeSelectorSpec(node_selector_terms=specs))


def test_nodes_with_the_same_labels_are_one_segment() -> None:
    segments = NodeSegments(DRIVER)
    for name, value in (("n1", "a"), ("n2", "a"), ("n3", "b")):
        segments.put_csi_node(a_csi_node(name))
        segments.put_node(a_node(name, labels={ZONE: value}))
    assert segments.take_change() == SegmentChange(added=(zone("a"), zone("b")))
    assert segments.take_change() == SegmentChange()


def test_a_segment_goes_with_its_last_node() -> None:
    segments = segments_of(n1="a", n2="a")
    segments.remove_node("n1")
    assert segments.take_change() == SegmentChange()
    segments.remove_csi_node("n2")
    assert segments.take_change() == SegmentChange(removed=(zone("a"),))


def test_a_node_counts_when_it_has_all_labels() -> None:
    segments = NodeSegments(DRIVER)
    segments.put_csi_node(a_csi_node("n1", topology_keys=(ZONE, RACK)))
    segments.put_node(a_node("n1", labels={ZONE: "a"}))
    assert segments.take_change() == SegmentChange()
    segments.put_node(a_node("n1", labels={ZONE: "a", RACK: "7"}))
    assert segments.take_change().added == (segment_of({ZONE: "a", RACK: "7"}),)


def test_a_node_of_another_driver_does_not_count() -> None:
    segments = NodeSegments(DRIVER)
    segments.put_node(a_node("n1", labels={ZONE: "a"}))
    segments.put_csi_node(a_csi_node("n1", driver="other.example.com"))
    assert segments.take_change() == SegmentChange()


def test_a_driver_without_topology_has_the_whole_cluster_for_a_segment() -> None:
    segments = NodeSegments(DRIVER)
    segments.put_node(a_node("n1"))
    segments.put_csi_node(a_csi_node("n1", topology_keys=()))
    assert segments.take_change().added == ((),)


def test_a_driver_that_comes_back_before_the_next_look_was_never_away() -> None:
    segments = segments_of(n1="a")
    segments.put_csi_node(a_csi_node("n1", driver="other.example.com"))
    segments.put_csi_node(a_csi_node("n1"))
    assert segments.take_change() == SegmentChange()


@given(
    st.lists(
        st.tuples(st.sampled_from("12345"), st.sampled_from(["a", "b", "c", ""]), st.booleans())
    )
)
def test_changes_add_up_to_what_is_there(steps: list[tuple[str, str, bool]]) -> None:
    segments, seen = NodeSegments(DRIVER), set[Segment]()
    zones: dict[str, str] = {}
    for name, value, is_looked_at in steps:
        segments.put_csi_node(a_csi_node(name))
        if value:
            segments.put_node(a_node(name, labels={ZONE: value}))
            zones[name] = value
        else:
            segments.remove_node(name)
            zones.pop(name, None)
        if is_looked_at:
            change = segments.take_change()
            assert seen.isdisjoint(change.added)
            assert seen.issuperset(change.removed)
            seen = (seen | set(change.added)) - set(change.removed)
            assert seen == {zone(value) for value in zones.values()}


@pytest.mark.parametrize(
    ("topology", "expected"),
    [
        pytest.param(None, None, id="no-topology-is-no-segment"),
        pytest.param(LabelSelectorSpec(), (), id="an-empty-one-is-the-cluster"),
        pytest.param(LabelSelectorSpec(match_labels={ZONE: "a"}), zone("a"), id="labels"),
        pytest.param(
            LabelSelectorSpec(
                match_expressions=(LabelRequirementSpec(key=ZONE, operator="Exists"),)
            ),
            None,
            id="expressions-are-not-plain",
        ),
    ],
)
def test_which_segment_an_object_is_about(
    topology: LabelSelectorSpec | None, expected: Segment | None
) -> None:
    assert find_segment(topology) == expected


def test_terms_with_one_value_for_each_key_name_segments() -> None:
    found = exact_segments(affinity({RACK: ["7"], ZONE: ["a"]}, {ZONE: ["a", "b"]}))
    assert list(found) == [segment_of({ZONE: "a", RACK: "7"})]
    assert list(exact_segments(affinity({ZONE: ["a"]}, operator="NotIn"))) == []
    assert list(exact_segments(VolumeNodeAffinity())) == []


def test_a_volume_of_a_zone_may_come_from_any_rack_in_it() -> None:
    racks = [segment_of({ZONE: z, RACK: r}) for z, r in (("a", "1"), ("a", "2"), ("b", "3"))]
    assert list(reachable_segments(affinity({ZONE: ["a"]}), racks)) == racks[:2]
    assert list(reachable_segments(affinity({ZONE: ["a", "b"]}), racks)) == racks
    assert list(reachable_segments(affinity({"other": ["a"]}), racks)) == []
