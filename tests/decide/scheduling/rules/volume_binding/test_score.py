import numpy as np
import pytest
from hypothesis import given, strategies as st

from plimsoll.decide.scheduling.rules.volume_binding.score import (
    Point,
    ScoringShape,
    Usage,
    UsageColumns,
    dynamic_usage,
    score_usage,
    static_usage,
)
from tests.builders import a_capacity, a_claim, a_volume
from tests.decide.scheduling.builders import GIB


def test_by_default_the_emptier_storage_is_better() -> None:
    scores = [score_usage({"fast": Usage(requested, 100)}) for requested in (0, 30, 100, 101)]
    assert scores == [100, 70, 0, 0]


def test_a_shape_can_ask_for_full_storage_instead() -> None:
    packing = ScoringShape.parse([Point(0, 0), Point(100, 10)])
    assert score_usage({"fast": Usage(30, 100)}, packing) == 30


def test_classes_count_alike_and_halves_are_rounded_up() -> None:
    assert score_usage({"a": Usage(0, 10), "b": Usage(1, 100)}) == 100
    assert score_usage({}) == 0


def test_outside_of_its_points_a_shape_is_flat() -> None:
    shape = ScoringShape.parse([Point(20, 2), Point(80, 8)])
    assert [shape.score(utilization) for utilization in (0, 20, 50, 80, 100)] == [
        20,
        20,
        50,
        80,
        80,
    ]


@pytest.mark.parametrize(
    ("points", "complaint"),
    [
        ([], "shape: Required value: at least one point must be specified"),
        ([Point(101, 1)], "shape[0].utilization: Invalid value: 101: not in valid range [0, 100]"),
        ([Point(1, 11)], "shape[0].score: Invalid value: 11: not in valid range [0, 10]"),
        (
            [Point(10, 1), Point(10, 2)],
            "shape[1].utilization: Invalid value: 10: values must be sorted in increasing order",
        ),
    ],
)
def test_a_shape_that_makes_no_sense_is_refused(points: list[Point], complaint: str) -> None:
    with pytest.raises(ValueError, match="shape") as refused:
        ScoringShape.parse(points)
    assert str(refused.value) == complaint


@given(st.integers(0, 100), st.integers(0, 10), st.integers(0, 10))
def test_a_score_lies_between_those_of_the_ends(utilization: int, first: int, last: int) -> None:
    score = ScoringShape.parse([Point(0, first), Point(100, last)]).score(utilization)
    assert min(first, last) * 10 <= score <= max(first, last) * 10


def test_static_volumes_are_added_up_per_class() -> None:
    usage = static_usage(
        [
            (a_claim("a", gib=1), a_volume("a", gib=2)),
            (a_claim("b", gib=3), a_volume("b", gib=4)),
            (a_claim("c", gib=1), a_volume("c", gib=1, class_name="slow")),
        ]
    )
    assert usage == {"fast": Usage(4 * GIB, 6 * GIB), "slow": Usage(GIB, GIB)}


def test_claims_to_be_provisioned_share_the_capacity_of_their_class() -> None:
    capacity = a_capacity(segment={}, gib=100)
    usage = dynamic_usage(
        [(a_claim("a", gib=50), capacity), (a_claim("b", gib=30), capacity), (a_claim("c"), None)]
    )
    assert usage == {"fast": Usage(80 * GIB, 100 * GIB)}


NODE_SIZES = st.integers(-1, 12)
CLASSES = st.sampled_from(["a", "b"])
PARTS = st.lists(
    st.tuples(CLASSES, st.integers(0, 9), st.lists(NODE_SIZES, min_size=4, max_size=4)), max_size=4
)
SHAPES = st.sampled_from(
    [
        ScoringShape(),
        ScoringShape((Point(0, 0), Point(100, 10))),
        ScoringShape((Point(20, 3), Point(50, 9))),
    ]
)


def plain_score(
    static: list[tuple[str, int, int]], made: list[tuple[str, int, int]], shape: ScoringShape
) -> int:
    """The same for one node, as the plain scorer has it."""
    usage: dict[str, Usage] = {}
    for name, wanted, size in static:
        if size >= 0:
            so_far = usage.get(name, Usage(0, 0))
            usage[name] = Usage(so_far.requested + wanted, so_far.capacity + size)
    if not usage:
        for name, wanted, capacity in made:
            if capacity >= 0:
                usage[name] = Usage(usage.get(name, Usage(0, 0)).requested + wanted, capacity)
    return score_usage(usage, shape)


@given(static=PARTS, made=PARTS, shape=SHAPES)
def test_all_nodes_at_once_are_scored_like_each_by_itself(
    static: list[tuple[str, int, list[int]]],
    made: list[tuple[str, int, list[int]]],
    shape: ScoringShape,
) -> None:
    found = UsageColumns(shape).scores(
        [(name, wanted, np.array(sizes)) for name, wanted, sizes in static],
        [(name, wanted, np.array(sizes)) for name, wanted, sizes in made],
        4,
    )

    for node in range(4):
        assert found[node] == plain_score(
            [(name, wanted, sizes[node]) for name, wanted, sizes in static],
            [(name, wanted, sizes[node]) for name, wanted, sizes in made],
            shape,
        )
