import pytest
from hypothesis import given, strategies as st

from plimsoll.decide.workloads.deployment.rollout import (
    MAX_REPLICAS,
    Fenceposts,
    fenceposts_of,
    grown_size,
    proportional_sizes,
    shrunk_sizes,
)
from tests.decide.workloads.objects import a_deployment, a_replica_set


def strategy(surge: int | str, unavailable: int | str) -> dict[str, object]:
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    return {"type": "RollingUpdate", "rollingUpdate": rolling}


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [
        (10, "25%", "25%", (3, 2)),
        (1, "0%", "1%", (0, 1)),
        (3, 1, 0, (1, 0)),
        (2, 0, 5, (0, 2)),
    ],
)
def test_a_surge_is_rounded_up_what_may_be_missing_down_and_both_are_never_zero(
    replicas: int, surge: int | str, unavailable: int | str, expected: tuple[int, int]
) -> None:
    deployment = a_deployment(replicas=replicas, strategy=strategy(surge, unavailable))
    posts = fenceposts_of(deployment)
    assert (posts.surge, posts.unavailable) == expected


COUNTS = st.integers(0, 8)


@given(
    limits=st.tuples(COUNTS, COUNTS, COUNTS),
    new=st.tuples(COUNTS, COUNTS),
    old=st.lists(st.tuples(COUNTS, COUNTS), max_size=3),
)
def test_a_step_never_leaves_too_few_pods_that_serve_nor_makes_too_many(
    limits: tuple[int, int, int], new: tuple[int, int], old: list[tuple[int, int]]
) -> None:
    wanted, surge, unavailable = limits
    posts = Fenceposts(wanted=wanted, surge=surge, unavailable=min(unavailable, wanted))
    fresh = a_replica_set("new", replicas=new[0], available=min(new))
    olds = [
        a_replica_set(f"old-{i}", replicas=n, available=min(n, a)) for i, (n, a) in enumerate(old)
    ]
    total = new[0] + sum(n for n, _ in old)
    grown = grown_size(posts, fresh, [fresh, *olds])
    assert grown - new[0] + total <= max(posts.most, total)
    sizes = shrunk_sizes(posts, fresh, olds)
    serving = min(new) + sum(min(sizes[s.name], s.status.available_replicas) for s in olds)
    before = min(new) + sum(s.status.available_replicas for s in olds)
    assert serving >= min(posts.least_available, before)
    assert all(0 <= sizes[s.name] <= (s.spec.replicas or 0) for s in olds)


def test_broken_pods_of_old_sets_go_first_even_if_nothing_else_may() -> None:
    posts = Fenceposts(wanted=3, surge=1, unavailable=0)
    new = a_replica_set("new", replicas=1, available=0)
    broken = a_replica_set("old-1", replicas=3, available=0)
    assert shrunk_sizes(posts, new, [broken]) == {"old-1": 3}
    posts = Fenceposts(wanted=3, surge=2, unavailable=1)
    assert shrunk_sizes(posts, new, [broken]) == {"old-1": 2}


def test_a_deployment_that_is_scaled_in_the_middle_of_a_rollout_keeps_its_proportions() -> None:
    posts = Fenceposts(wanted=20, surge=4, unavailable=0)
    noted = {MAX_REPLICAS: "12"}
    old = a_replica_set("old", replicas=8, annotations=noted)
    new = a_replica_set("new", replicas=4, annotations=noted)
    assert proportional_sizes(posts, new, [old], before=12) == {"old": 16, "new": 8}


def test_what_rounding_leaves_over_goes_to_the_largest() -> None:
    posts = Fenceposts(wanted=10, surge=0, unavailable=1)
    noted = {MAX_REPLICAS: "7"}
    sets = [a_replica_set(f"s{i}", replicas=n, annotations=noted) for i, n in enumerate((3, 2, 2))]
    sizes = proportional_sizes(posts, None, sets, before=7)
    assert sum(sizes.values()) == 10
    assert sizes["s0"] == max(sizes.values())


def test_scaling_to_nothing_scales_every_set_to_nothing() -> None:
    posts = Fenceposts(wanted=0, surge=1, unavailable=0)
    sets = [a_replica_set("a", replicas=3), a_replica_set("b", replicas=1)]
    assert proportional_sizes(posts, None, sets, before=4) == {"a": 0, "b": 0}
