"""What annotations of classes and pods say about placement."""

import numpy as np
import pytest

from plimsoll.decide.annotations import HEADROOM, PLACEMENT, PLACEMENT_WEIGHT, STATIC_VOLUMES
from plimsoll.decide.scheduling.placement.preference import (
    NO_PREFERENCE,
    Headroom,
    PlacementDirection,
    PlacementOverride,
    PlacementPreference,
    StaticPreference,
    class_complaints,
    find_class_preference,
    find_override,
    parse_headroom,
    parse_weight,
    pod_complaints,
)
from tests.decide.scheduling.builders import GIB


def test_a_class_says_all_of_it() -> None:
    annotations = {PLACEMENT: "pack", PLACEMENT_WEIGHT: "3", HEADROOM: "10%"}
    assert find_class_preference(annotations | {STATIC_VOLUMES: "score"}) == PlacementPreference(
        direction=PlacementDirection.PACK,
        weight=3,
        headroom=Headroom(percent=10),
        static_volumes=StaticPreference.SCORE,
    )


@pytest.mark.parametrize(
    "annotations",
    [{}, {"example.com/placement": "pack"}, {PLACEMENT: "tight"}, {PLACEMENT_WEIGHT: "1"}],
    ids=["nothing", "others' annotations", "what cannot be read", "the default"],
)
def test_a_class_that_says_nothing_of_use_prefers_nothing(annotations: dict[str, str]) -> None:
    assert find_class_preference(annotations) is None


def test_an_annotation_that_cannot_be_read_leaves_the_others_alone() -> None:
    found = find_class_preference({PLACEMENT: "tight", PLACEMENT_WEIGHT: "0"})
    assert found == PlacementPreference(weight=0)


def test_a_pod_overrides_only_what_it_names() -> None:
    of_class = PlacementPreference(direction=PlacementDirection.PACK, weight=3)
    override = find_override({PLACEMENT: "spread", HEADROOM: "10%"})
    assert override == PlacementOverride(PlacementDirection.SPREAD)
    assert override.over(of_class) == PlacementPreference(
        direction=PlacementDirection.SPREAD, weight=3
    )
    assert PlacementOverride(weight=0).over(of_class).weight == 0
    assert PlacementOverride().over(NO_PREFERENCE) == NO_PREFERENCE


@pytest.mark.parametrize(
    "annotations", [{}, {HEADROOM: "10%"}, {PLACEMENT: "?"}, {PLACEMENT_WEIGHT: "11"}]
)
def test_most_pods_override_nothing(annotations: dict[str, str]) -> None:
    assert find_override(annotations) is None


@pytest.mark.parametrize("text", ["", "-1", "11", "1.5", "three", "\u0661", "0000000003"])
def test_weights_are_whole_numbers_up_to_ten(text: str) -> None:
    assert [parse_weight("0"), parse_weight("10")] == [0, 10]
    with pytest.raises(ValueError, match="whole number"):
        parse_weight(text)


@pytest.mark.parametrize("text", ["", "%", "101%", "-1%", "1.5%", "10", "-1Gi", "much"])
def test_headroom_is_a_percentage_or_a_size_with_its_unit(text: str) -> None:
    assert parse_headroom("100%") == Headroom(percent=100)
    assert parse_headroom("20Gi") == Headroom(fixed_bytes=20 * GIB)
    with pytest.raises(ValueError, match=r"\S"):
        parse_headroom(text)


def test_headroom_in_percent_grows_with_the_capacity() -> None:
    capacity = np.array([0, 1000, 2**62])
    assert Headroom(percent=10).needed(capacity).tolist() == [0, 100, 2**62 // 100 * 10]
    assert Headroom(fixed_bytes=7).needed(capacity).tolist() == [7, 7, 7]


def test_users_are_told_what_cannot_be_read_and_what_could() -> None:
    annotations = {PLACEMENT: "tight", PLACEMENT_WEIGHT: "3", HEADROOM: "x" * 100}
    about_placement, about_headroom = class_complaints(annotations)
    assert about_placement == (
        "annotation plimsoll.dev/placement must be spread or pack, not 'tight'; it is ignored"
    )
    assert about_headroom == (
        "annotation plimsoll.dev/headroom must be a percentage such as 10%, or a size such as "
        f"20Gi, not '{'x' * 64}'; it is ignored"
    )
    assert pod_complaints(annotations) == class_complaints(annotations)[:1]
    assert class_complaints({PLACEMENT: "pack", PLACEMENT_WEIGHT: "0"}) == ()
