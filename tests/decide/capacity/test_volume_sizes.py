"""Room: what is said to fit, fits; what is said not to, does not."""

from itertools import combinations

import pytest
from hypothesis import given, strategies as st

from plimsoll.decide.capacity.volume_sizes import (
    Cost,
    find_grown_parts,
    find_parts,
    largest_volume,
    total_volumes,
)

LINEAR, STRIPED, MIRRORED = Cost(), Cost(shares=2), Cost(copies=2, shares=2)
SPREAD = Cost(shares=0)

rooms = st.dictionaries(st.sampled_from("abcde"), st.integers(-3, 40), min_size=1)
costs = st.builds(
    Cost,
    copies=st.integers(1, 3),
    shares=st.integers(0, 3),
    unit_bytes=st.integers(1, 6),
    overhead_bytes=st.integers(0, 5),
    minimum_bytes=st.integers(1, 8),
    maximum_bytes=st.none() | st.integers(8, 20),
)


@pytest.mark.parametrize(
    ("cost", "largest", "total"),
    [
        (LINEAR, 10, 18),
        (STRIPED, 16, 16),
        (MIRRORED, 8, 8),
        (SPREAD, 18, 18),
        (Cost(unit_bytes=4), 8, 16),
        (Cost(overhead_bytes=1), 9, 16),
        (Cost(minimum_bytes=9), 10, 10),
        (Cost(maximum_bytes=3), 3, 18),
        (Cost(maximum_bytes=4, overhead_bytes=1), 4, 8 + 4 + 2),
        (Cost(shares=3), 0, 0),
    ],
    ids=str,
)
def test_two_disks_of_ten_and_eight_hold(cost: Cost, largest: int, total: int) -> None:
    disks = {"a": 10, "b": 8}
    assert (largest_volume(disks, cost), total_volumes(disks, cost)) == (largest, total)


def test_three_equal_disks_hold_mirrors_on_every_pair() -> None:
    disks = dict.fromkeys("abc", 10)
    assert (largest_volume(disks, MIRRORED), total_volumes(disks, MIRRORED)) == (10, 15)


def test_one_share_goes_where_it_leaves_least() -> None:
    assert find_parts({"a": 10, "b": 6, "c": 5}, LINEAR, 6) == {"b": 6}


def test_a_volume_takes_at_least_the_smallest_size_in_whole_units() -> None:
    cost = Cost(minimum_bytes=5, unit_bytes=4)
    assert find_parts({"a": 10}, cost, 3) == {"a": 8}
    assert find_parts({"a": 7}, cost, 3) is None


def test_several_shares_go_where_there_is_most() -> None:
    assert find_parts({"a": 10, "b": 6, "c": 9}, MIRRORED, 5) == {"a": 5, "c": 5}


def test_what_may_be_split_takes_the_largest_pieces() -> None:
    assert find_parts({"a": 3, "b": 6, "c": 5}, SPREAD, 10) == {"b": 6, "c": 4}


def test_a_volume_grows_where_it_is_or_not_at_all() -> None:
    assert find_grown_parts({"a": 3, "b": 20}, LINEAR, {"a": 6}, 9) == {"a": 9}
    assert find_grown_parts({"a": 3, "b": 20}, LINEAR, {"a": 6}, 10) is None


def test_what_may_be_split_grows_elsewhere_too() -> None:
    assert find_grown_parts({"a": 3, "b": 20}, SPREAD, {"a": 6}, 12) == {"a": 9, "b": 3}


@given(free=rooms, cost=costs)
def test_the_largest_volume_fits_and_a_larger_one_does_not(
    free: dict[str, int], cost: Cost
) -> None:
    size = largest_volume(free, cost)
    if size:
        assert find_parts(free, cost, size) is not None
        assert size == cost.rounded(size)
    larger = cost.rounded(size + 1)
    assert cost.maximum_bytes is not None or find_parts(free, cost, larger) is None


@given(free=rooms, cost=costs, size=st.integers(1, 60))
def test_what_is_taken_is_there_and_is_what_it_costs(
    free: dict[str, int], cost: Cost, size: int
) -> None:
    parts = find_parts(free, cost, size)
    if parts is None:
        return
    assert all(0 < taken <= free[name] for name, taken in parts.items())
    if cost.shares:
        assert len(parts) == cost.shares
        assert set(parts.values()) == {cost.share(size)}
    else:
        assert sum(parts.values()) == cost.taken(size)


@given(free=rooms, cost=costs, size=st.integers(1, 30), more=st.integers(0, 30))
def test_a_grown_volume_costs_what_a_new_one_would(
    free: dict[str, int], cost: Cost, size: int, more: int
) -> None:
    parts = find_parts(free, cost, size)
    if parts is None:
        return
    left = {name: room - parts.get(name, 0) for name, room in free.items()}
    grown = find_grown_parts(left, cost, parts, size + more)
    if grown is not None:
        assert all(taken <= free[name] for name, taken in grown.items())
        needed = cost.share(size + more) * len(parts) if cost.shares else cost.taken(size + more)
        assert sum(grown.values()) == needed


def most_pairs(rooms: tuple[int, ...]) -> int:
    """How many times two different ones can be made less by one, by trying everything."""
    found = 0
    for one, other in combinations(range(len(rooms)), 2):
        if min(rooms[one], rooms[other]) > 0:
            less = [room - (place in (one, other)) for place, room in enumerate(rooms)]
            found = max(found, 1 + most_pairs(tuple(sorted(less))))
    return found


@given(st.lists(st.integers(0, 3), min_size=2, max_size=4))
def test_the_sum_of_mirrors_is_the_most_there_can_be(sizes: list[int]) -> None:
    free = {str(place): size for place, size in enumerate(sizes)}
    assert total_volumes(free, MIRRORED) == most_pairs(tuple(sorted(sizes)))


@given(free=rooms, cost=costs)
def test_the_sum_is_no_less_than_the_largest_and_costs_no_more_than_there_is(
    free: dict[str, int], cost: Cost
) -> None:
    total = total_volumes(free, cost)
    assert total >= largest_volume(free, cost)
    assert total * cost.copies <= sum(max(0, room) for room in free.values())
