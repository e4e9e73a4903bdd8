"""Volumes that are to fit into pools at the same time."""

from itertools import combinations, product

import pytest
from hypothesis import given, settings, strategies as st

from plimsoll.decide.scheduling.rules.volume_binding.pool_search import (
    PoolProblem,
    PoolWay,
    do_fit,
)


def way(size: int, *, shares: int = 1, pool: int = 0) -> PoolWay:
    """`size` is what the volume takes of each extent."""
    return PoolWay(pool, shares, size if shares else 0, size * max(shares, 1))


def fits(ways: list[list[PoolWay]], *free: tuple[int, ...]) -> bool:
    return do_fit(PoolProblem(tuple(map(tuple, ways)), tuple(tuple(sorted(f)) for f in free)))


@pytest.mark.parametrize(
    ("ways", "free", "fit"),
    [
        pytest.param([[way(6)], [way(4)]], [(10,)], True, id="they-fill-one-extent"),
        pytest.param([[way(6)], [way(5)]], [(10,)], False, id="one-byte-is-missing"),
        pytest.param([[way(6)], [way(6)]], [(8, 4)], False, id="the-sum-fits-no-extent-does"),
        pytest.param([[way(6, shares=0)], [way(6, shares=0)]], [(8, 4)], True, id="split"),
        pytest.param([[way(5)], [way(5)], [way(6)]], [(10, 6)], True, id="the-tightest-misleads"),
        pytest.param([[way(4, shares=2)], [way(3)]], [(7, 4)], True, id="two-shares-and-one"),
        pytest.param([[way(4, shares=2)], [way(4)]], [(7, 4)], False, id="a-share-is-in-the-way"),
        pytest.param([[way(4, shares=3)]], [(9, 9)], False, id="too-few-extents"),
        pytest.param(
            [[way(6), way(6, pool=1)], [way(6)]], [(6,), (6,)], True, id="one-makes-way-for-another"
        ),
        pytest.param([[way(6, shares=0)], [way(5)]], [(5, 5)], False, id="split-beside-whole"),
        pytest.param([[]], [(5,)], False, id="no-way-at-all"),
    ],
)
def test_volumes_fit_only_if_all_have_a_place_at_the_same_time(
    ways: list[list[PoolWay]], free: list[tuple[int, ...]], *, fit: bool
) -> None:
    assert fits(ways, *free) is fit


def test_more_than_eight_volumes_are_placed_the_largest_first() -> None:
    assert fits([[way(3)] for _ in range(10)], (15, 15))
    assert not fits([[way(3)] for _ in range(11)], (15, 15))


def test_many_extents_of_all_sizes_do_not_take_for_ever() -> None:
    sizes = tuple(range(100, 148, 2))
    assert not fits([[way(101 + n, shares=6)] for n in range(8)], sizes)
    assert fits([[way(10, shares=8)] for _ in range(8)], sizes)


def _by_trying(ways: list[list[PoolWay]], free: list[list[int]]) -> bool:
    """Every choice of a way, and of extents for its shares; what can be split comes last."""
    for chosen in product(*ways):
        whole = [each for each in chosen if each.shares]
        extents = [combinations(range(len(free[each.pool])), each.shares) for each in whole]
        for places in product(*extents):
            left = [list(sizes) for sizes in free]
            for each, taken in zip(whole, places, strict=True):
                for place in taken:
                    left[each.pool][place] -= each.share
            if all(size >= 0 for sizes in left for size in sizes) and all(
                sum(left[pool]) >= sum(e.taken for e in chosen if not e.shares and e.pool == pool)
                for pool in range(len(free))
            ):
                return True
    return False


ways = st.builds(way, st.integers(1, 9), shares=st.integers(0, 2), pool=st.integers(0, 1))


@given(
    wanted=st.lists(st.lists(ways, min_size=1, max_size=2), min_size=1, max_size=4),
    free=st.lists(st.lists(st.integers(0, 12), max_size=3), min_size=2, max_size=2),
)
@settings(deadline=None)
def test_the_answer_is_that_of_trying_everything(
    wanted: list[list[PoolWay]], free: list[list[int]]
) -> None:
    assert fits(wanted, *map(tuple, free)) is _by_trying(wanted, free)
