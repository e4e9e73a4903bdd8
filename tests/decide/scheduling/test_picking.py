"""Which of many nodes is taken, told by keys alone."""

import numpy as np
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from plimsoll.decide.scheduling.columns.nodes import NodeIndex
from plimsoll.decide.scheduling.picking import NOT_FEASIBLE, RANK_BITS, pick, put_back, turn_of
from tests.builders import a_pod

scores = st.dictionaries(
    st.sampled_from("abcdefgh"), st.one_of(st.none(), st.integers(0, 3)), min_size=1
)
"""By name; None: the node will not do."""


def index_of(names: list[str]) -> NodeIndex:
    index = NodeIndex()
    for name in names:
        index.add(name)
    return index


def keys_of(by_name: dict[str, int | None], index: NodeIndex) -> NDArray[np.int64]:
    keys = np.full(index.size, NOT_FEASIBLE, np.int64)
    for name, score in by_name.items():
        slot = index.find(name)
        if slot is not None and score is not None:
            keys[slot] = (score << RANK_BITS) - index.ranks[slot]
    return keys


def picked(by_name: dict[str, int | None], turn: int, refused: list[str]) -> str | None:
    index = index_of([*by_name])
    slot = pick(put_back(keys_of(by_name, index), refused, index), index, turn)
    return None if slot is None else index.names[slot]


def plainly_picked(by_name: dict[str, int | None], turn: int, refused: list[str]) -> str | None:
    feasible = {name: score for name, score in by_name.items() if score is not None}
    others = {name: score for name, score in feasible.items() if name not in refused}
    if not others:
        return next((name for name in refused if name in feasible), None)
    best = sorted(name for name, score in others.items() if score == max(others.values()))
    return best[turn % len(best)]


@given(scores, st.integers(0, 50), st.lists(st.sampled_from("abcdefgh"), unique=True))
def test_the_best_is_taken_in_turn_and_refused_ones_last(
    by_name: dict[str, int | None], turn: int, refused: list[str]
) -> None:
    assert picked(by_name, turn, refused) == plainly_picked(by_name, turn, refused)


def test_very_many_refusals_leave_nodes_that_will_do_before_those_that_will_not() -> None:
    names = [f"n-{number:04}" for number in range(2000)]
    by_name: dict[str, int | None] = dict.fromkeys(names, 400)
    by_name["n-0000"] = None

    assert picked(by_name, 0, names) == "n-0001"


def test_the_next_attempt_is_the_next_turn() -> None:
    assert turn_of(a_pod(), 4) - turn_of(a_pod(), 3) == 1


@given(st.integers(0, 10_000), st.sampled_from([2, 3, 5, 2000]), st.sampled_from([1, -1]))
def test_of_thousands_of_equal_nodes_each_gets_its_turn(turn: int, every: int, step: int) -> None:
    names = [f"n-{number:04}" for number in range(3000)]
    by_name: dict[str, int | None] = {
        name: 7 if number % every == 0 else 3 for number, name in enumerate(names)
    }
    arrived = dict([*by_name.items()][::step])

    assert picked(arrived, turn, []) == plainly_picked(by_name, turn, [])
