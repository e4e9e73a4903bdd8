import numpy as np
from hypothesis import given, strategies as st

from plimsoll.decide.scheduling.rules.volume_binding.score import (
    Point,
    ScoringShape,
    Usage,
    score_usage,
)
from plimsoll.decide.scheduling.rules.volume_binding.score_columns import Usages

SIZES = st.integers(-1, 12)
CLASSES = st.sampled_from(["a", "b"])
PARTS = st.lists(
    st.tuples(CLASSES, st.integers(0, 9), st.lists(SIZES, min_size=4, max_size=4)), max_size=4
)
SHAPES = st.sampled_from(
    [
        ScoringShape(),
        ScoringShape((Point(0, 0), Point(100, 10))),
        ScoringShape((Point(20, 3), Point(50, 9))),
    ]
)


def expected(
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
    found = Usages(shape).scores(
        [(name, wanted, np.array(sizes)) for name, wanted, sizes in static],
        [(name, wanted, np.array(sizes)) for name, wanted, sizes in made],
        4,
    )

    for node in range(4):
        assert found[node] == expected(
            [(name, wanted, sizes[node]) for name, wanted, sizes in static],
            [(name, wanted, sizes[node]) for name, wanted, sizes in made],
            shape,
        )
