"""Where volumes go: preference first, then room, then names; always the same for the same room."""

from fractions import Fraction

import pytest

from plimsoll.decide.ceph.pool_capacity import ThinSpace
from plimsoll.processes.driver.backends.protocol import Extent, Pool, VolumeLayout
from plimsoll.processes.driver.controller.placement import (
    Segment,
    TopologyRequirement,
    agree,
    find_place,
    free_capacity,
    is_reachable,
    largest_place,
    total_places,
)

ANYWHERE = TopologyRequirement()
A, B, C = ({"zone": name} for name in "abc")
SPANNING = VolumeLayout(domains=2)


def a_pool(name: str, free: int, *topology: Segment) -> Pool:
    extent = Extent(name=name, total_bytes=100, free_bytes=free)
    return Pool(name=name, topology=topology, extents=(extent,))


def chosen(
    pools: list[Pool],
    requirement: TopologyRequirement,
    size: int = 1,
    layout: VolumeLayout | None = None,
) -> tuple[str, ...] | None:
    place = find_place(pools, layout or VolumeLayout(), requirement, size)
    return None if place is None else place.pools


def test_without_a_preference_the_pool_with_most_room_is_taken_and_names_break_ties() -> None:
    pools = [a_pool("p", 5, A), a_pool("r", 9, B), a_pool("q", 9, C)]
    assert chosen(pools, TopologyRequirement()) == ("q",)


def test_a_preference_counts_more_than_room() -> None:
    pools = [a_pool("p", 5, A), a_pool("q", 9, B)]
    requirement = TopologyRequirement(requisite=(A, B), preferred=(A, B))
    assert chosen(pools, requirement) == ("p",)
    assert chosen(pools, requirement, size=6) == ("q",)


def test_only_what_is_required_will_do() -> None:
    pools = [a_pool("p", 5, A), a_pool("q", 9, B)]
    assert chosen(pools, TopologyRequirement(requisite=(A,)), size=6) is None
    assert chosen(pools, TopologyRequirement(requisite=(C,))) is None


def test_a_pool_that_is_reachable_from_elsewhere_as_well_comes_after_one_that_is_not() -> None:
    pools = [a_pool("region", 9, A, B, C), a_pool("zone-a", 5, A)]
    only_a = TopologyRequirement(requisite=(A,), preferred=(A,))
    assert chosen(pools, only_a) == ("zone-a",)
    assert chosen(pools, only_a, size=7) == ("region",)
    assert chosen(pools, TopologyRequirement(requisite=(A, B, C), preferred=(A, B, C))) == (
        "region",
    )


def test_a_regional_pool_serves_each_of_its_zones() -> None:
    regional = a_pool("regional", 9, A, B)
    assert chosen([regional], TopologyRequirement(requisite=(B,))) == ("regional",)
    place = find_place([regional], VolumeLayout(), TopologyRequirement(requisite=(B,)), 1)
    assert place is not None
    assert place.topology == (A, B)


@pytest.mark.parametrize(
    ("own", "asked", "is_so"),
    [
        ({"zone": "a"}, {"zone": "a", "rack": "1"}, True),
        ({"zone": "a", "rack": "1"}, {"zone": "a"}, True),
        ({"zone": "a", "rack": "1"}, {"zone": "a", "rack": "2"}, False),
        ({}, {"zone": "a"}, True),
    ],
    ids=["whole zone", "part of a zone", "other rack", "no keys"],
)
def test_places_agree_unless_a_key_says_otherwise(
    own: Segment, asked: Segment, *, is_so: bool
) -> None:
    assert (agree(own, asked), agree(asked, own)) == (is_so, is_so)
    assert is_reachable((), asked)


def test_two_domains_begin_with_the_preferred_one_and_stay_within_what_is_required() -> None:
    pools = [a_pool("p", 5, A), a_pool("q", 9, B), a_pool("r", 9, C)]
    requirement = TopologyRequirement(requisite=(A, B), preferred=(A,))
    assert chosen(pools, requirement, layout=SPANNING) == ("p", "q")
    assert chosen(pools, requirement, size=6, layout=SPANNING) is None


def test_the_second_domain_may_be_anywhere_when_all_that_is_required_is_served() -> None:
    pools = [a_pool("p", 5, A), a_pool("q", 9, B)]
    assert chosen(pools, TopologyRequirement(requisite=(A,)), layout=SPANNING) == ("p", "q")


def test_pools_of_one_segment_are_not_two_domains() -> None:
    pools = [a_pool("p", 9, A), a_pool("q", 9, A), a_pool("everywhere", 9)]
    assert chosen(pools, TopologyRequirement(), layout=SPANNING) is None
    assert largest_place(pools, SPANNING, TopologyRequirement()) == 0


def test_another_pair_is_found_when_the_best_pool_has_no_partner() -> None:
    pools = [a_pool("all", 9, A, B, C), a_pool("p", 5, A), a_pool("q", 4, B)]
    assert chosen(pools, TopologyRequirement(), layout=SPANNING) == ("p", "q")
    assert largest_place(pools, SPANNING, TopologyRequirement()) == 4
    assert total_places(pools, SPANNING, TopologyRequirement()) == 4


def test_a_class_that_names_pools_gets_no_others() -> None:
    pools = [a_pool("p", 5, A), a_pool("q", 9, B)]
    layout = VolumeLayout(pools=frozenset({"p"}))
    assert chosen(pools, TopologyRequirement(), layout=layout) == ("p",)
    assert (
        largest_place(pools, layout, TopologyRequirement()),
        total_places(pools, layout, TopologyRequirement()),
    ) == (5, 5)


def test_a_pool_is_where_the_class_says_that_it_is() -> None:
    pools = [a_pool("p", 5), a_pool("q", 9)]
    layout = VolumeLayout(located={"p": (A,), "q": (B,)})
    place = find_place(pools, layout, TopologyRequirement(requisite=(A,)), 1)
    assert place is not None
    assert (place.pools, place.topology) == (("p",), (A,))
    assert chosen(pools, TopologyRequirement(requisite=(C,)), layout=layout) is None


def test_the_bytes_of_a_pool_whose_data_is_elsewhere_are_those_of_the_other_one() -> None:
    layout = VolumeLayout(pools=frozenset({"headers"}), stored_in={"headers": "data"})
    pools = [a_pool("headers", 5), a_pool("data", 50)]
    place = find_place(pools, layout, ANYWHERE, 40)
    assert place is not None
    assert (place.pools, [part.extent for part in place.parts]) == (("headers",), ["data"])
    assert free_capacity(pools, layout, ANYWHERE) == (50, 50)
    # Without room for a header there is none for the volume.
    full = [a_pool("headers", 0), a_pool("data", 50)]
    assert chosen(full, ANYWHERE, layout=layout) is None
    assert free_capacity(full, layout, ANYWHERE) == (0, 0)


def test_a_class_with_a_factor_of_its_own_promises_by_that() -> None:
    thin = ThinSpace(available_bytes=100, unwritten_bytes=120)
    extent = Extent(name="p", total_bytes=100, free_bytes=0, thin=thin)
    pools = [Pool(name="p", topology=(), extents=(extent,))]
    assert free_capacity(pools, VolumeLayout(), ANYWHERE) == (0, 0)
    careless = VolumeLayout(overcommit=Fraction(5, 2))
    assert free_capacity(pools, careless, ANYWHERE) == (130, 130)
    assert chosen(pools, ANYWHERE, size=130, layout=careless) == ("p",)
    assert chosen(pools, ANYWHERE, size=131, layout=careless) is None


def test_a_factor_changes_nothing_where_nothing_is_promised_beyond_what_there_is() -> None:
    assert free_capacity([a_pool("p", 5)], VolumeLayout(overcommit=Fraction(2)), ANYWHERE) == (5, 5)
