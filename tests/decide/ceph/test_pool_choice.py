from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from plimsoll.decide.ceph.constrained_pools import ConstrainedPool, DomainSegment, PoolKey
from plimsoll.decide.ceph.domain_labels import DomainLabels
from plimsoll.decide.ceph.pool_capacity import CephPoolState
from plimsoll.decide.ceph.pool_choice import (
    ChosenPool,
    NoCapacityInPools,
    NoPoolAllowed,
    PoolRequest,
    PoolSpread,
    VolumeReach,
    choose_pool,
)
from plimsoll.decide.provisioning.calls import AccessibilityRequirement, Segment

GIB = 1 << 30
DRIVER = "rbd.csi.ceph.com"
DOMAINS = DomainLabels(driver=DRIVER, labels=("x/region", "x/zone"))


def zone(name: str) -> Segment:
    return {f"topology.{DRIVER}/region": "east", f"topology.{DRIVER}/zone": name}


def near(name: str, **domains: str) -> ConstrainedPool:
    return ConstrainedPool(
        name=name, segments=tuple(DomainSegment(*item) for item in domains.items())
    )


A, B, C = zone("a"), zone("b"), zone("c")
POOLS = tuple(near(f"pool-{name}", region="east", zone=name) for name in "abc")
REGIONAL = near("regional", region="east")
EVERYWHERE = AccessibilityRequirement(requisite=(A, B, C), preferred=(B, C, A))
REQUEST = PoolRequest(size_bytes=GIB, domains=DOMAINS, requirement=EVERYWHERE)
DELAYED = replace(REQUEST, is_delayed=True)
UNMEASURED = CephPoolState(free_bytes=0, volumes=0, is_measured=False)


def states(**gib: int) -> dict[PoolKey, CephPoolState]:
    """Free GiB by the last part of a pool's name."""
    return {
        PoolKey("", name if name == "regional" else f"pool-{name}"): CephPoolState(
            free_bytes=free * GIB, volumes=0
        )
        for name, free in gib.items()
    }


def test_a_delay_bound_claim_gets_the_first_preferred_domain() -> None:
    assert choose_pool(POOLS, states(a=90, b=3, c=90), DELAYED) == ChosenPool(
        pool=POOLS[1],
        topology=(B,),
        preferred=B,
        reason="Pool pool-b: region=east,zone=b is the first preferred domain "
        "(3Gi free, 0 volumes).",
    )


def test_no_room_in_the_wanted_domain_is_told_instead_of_going_elsewhere() -> None:
    chosen = choose_pool(POOLS, states(a=90, b=0, c=90), DELAYED)
    assert chosen == NoCapacityInPools(
        reason="The volume needs 1Gi, which no pool there has (pool-b: 0 free, 0 volumes)."
    )


def test_a_wider_pool_of_the_same_domain_is_next_in_the_list() -> None:
    chosen = choose_pool((*POOLS, REGIONAL), states(a=9, b=0, c=9, regional=5), DELAYED)
    assert isinstance(chosen, ChosenPool)
    assert chosen.pool is REGIONAL
    assert chosen.topology == ({f"topology.{DRIVER}/region": "east"},)


def test_a_new_domain_without_a_pool_is_treated_as_immediate_binding() -> None:
    chosen = choose_pool((POOLS[0], POOLS[2]), states(a=3, c=4), DELAYED)
    assert isinstance(chosen, ChosenPool)
    assert chosen.pool is POOLS[2]
    assert chosen.reason.startswith(
        "Pool pool-c: no pool is near region=east,zone=b, so any allowed domain does: of 2 pools"
    )


def test_a_volume_never_leaves_the_allowed_segments() -> None:
    strict = replace(DELAYED, requirement=AccessibilityRequirement(requisite=(B,), preferred=(B,)))
    chosen = choose_pool((POOLS[0], POOLS[2]), states(a=3, c=4), strict)
    assert chosen == NoPoolAllowed(
        reason="No pool of the class is near a domain that is allowed: region=east,zone=b."
    )


def test_a_preferred_segment_that_is_not_allowed_is_passed_over() -> None:
    odd = AccessibilityRequirement(requisite=(A, C), preferred=(B, C))
    chosen = choose_pool(POOLS, states(a=9, b=9, c=9), replace(DELAYED, requirement=odd))
    assert isinstance(chosen, ChosenPool)
    assert chosen.pool is POOLS[2]


def test_immediate_binding_takes_most_free_bytes_for_each_volume() -> None:
    known = states(a=30, b=40, c=35)
    known[POOLS[1].key] = CephPoolState(free_bytes=40 * GIB, volumes=1)
    assert choose_pool(POOLS, known, REQUEST) == ChosenPool(
        pool=POOLS[2],
        topology=(C,),
        preferred=C,
        reason="Pool pool-c: of 3 pools with room it has most free bytes for each volume "
        "(35Gi free, 0 volumes).",
    )


def test_replicas_that_are_created_at_once_come_to_different_ones_of_equal_pools() -> None:
    known = states(a=90, b=90, c=90)
    chosen = []
    for _ in range(3):
        choice = choose_pool(POOLS, known, REQUEST)
        assert isinstance(choice, ChosenPool)
        chosen.append(choice.pool.name)
        before = known[choice.pool.key]
        known[choice.pool.key] = replace(before, volumes=before.volumes + 1)
    assert chosen == ["pool-a", "pool-b", "pool-c"]


def test_without_a_requirement_any_pool_will_do() -> None:
    chosen = choose_pool(POOLS, states(a=1, b=2, c=1), replace(REQUEST, requirement=None))
    assert isinstance(chosen, ChosenPool)
    assert (chosen.pool, chosen.topology) == (POOLS[1], (B,))


@pytest.mark.parametrize(("chance", "name"), [(0.0, "pool-b"), (0.5, "pool-a"), (0.99, "pool-a")])
def test_chance_draws_among_the_domains_with_room(chance: float, name: str) -> None:
    drawn = replace(REQUEST, spread=PoolSpread.RANDOM, chance=chance)
    chosen = choose_pool(POOLS, states(a=1, b=100, c=0), drawn)
    assert isinstance(chosen, ChosenPool)
    assert chosen.pool.name == name
    assert "was drawn from 2 domains with room" in chosen.reason


@pytest.mark.parametrize(
    ("reach", "topology"),
    [
        pytest.param(VolumeReach.ANYWHERE, (), id="anywhere"),
        pytest.param(VolumeReach.DOMAIN, (B,), id="domain"),
        pytest.param(
            VolumeReach.SERVED_DOMAIN, ({f"topology.{DRIVER}/serves.east.b": "true"},), id="served"
        ),
    ],
)
def test_the_class_says_from_where_a_volume_is_reachable(
    reach: VolumeReach, topology: tuple[Segment, ...]
) -> None:
    chosen = choose_pool(POOLS, states(a=1, b=9, c=1), replace(REQUEST, reach=reach))
    assert isinstance(chosen, ChosenPool)
    assert chosen.topology == topology
    assert chosen.preferred == B


def test_nodes_that_have_fewer_levels_than_the_driver_knows_serve_a_shorter_path() -> None:
    here = {f"topology.{DRIVER}/zone": "b"}
    request = replace(
        REQUEST,
        reach=VolumeReach.SERVED_DOMAIN,
        domains=replace(DOMAINS, labels=("region", "zone", "rack")),
        requirement=AccessibilityRequirement(requisite=(here,), preferred=(here,)),
    )
    chosen = choose_pool((near("pool-b", zone="b"),), states(b=9), request)
    assert isinstance(chosen, ChosenPool)
    assert chosen.topology == ({f"topology.{DRIVER}/serves.b": "true"},)


def test_a_domain_without_a_path_cannot_be_served_by_others() -> None:
    no_levels = replace(DOMAINS, labels=("x/region",))
    request = replace(REQUEST, reach=VolumeReach.SERVED_DOMAIN, domains=no_levels)
    chosen = choose_pool(POOLS, states(a=1, b=9, c=1), request)
    assert isinstance(chosen, ChosenPool)
    assert chosen.topology == (B,)


def test_a_restored_volume_stays_in_the_pool_of_its_snapshot() -> None:
    restored = replace(DELAYED, snapshot_pool=POOLS[0].key)
    chosen = choose_pool(POOLS, states(a=2, b=9, c=9), restored)
    assert isinstance(chosen, ChosenPool)
    assert chosen.pool is POOLS[0]
    assert chosen.reason.startswith("Pool pool-a: the snapshot is in it")
    assert isinstance(choose_pool(POOLS, states(a=0, b=9, c=9), restored), NoCapacityInPools)
    assert choose_pool(POOLS[1:], states(b=9, c=9), restored) == NoPoolAllowed(
        reason="The snapshot is in pool pool-a, which the class does not name."
    )


def test_the_driver_s_own_keys_count_more_than_others_of_the_same_name() -> None:
    mixed = {**B, "other/zone": "a", "zone": "c"}
    both = AccessibilityRequirement(requisite=(mixed,), preferred=())
    chosen = choose_pool(POOLS, states(a=9, b=9, c=9), replace(REQUEST, requirement=both))
    assert isinstance(chosen, ChosenPool)
    assert (chosen.pool, chosen.topology) == (POOLS[1], (B,))


def test_a_pool_that_ceph_does_not_know_has_no_room_and_no_substitute() -> None:
    chosen = choose_pool(POOLS, states(a=9, c=9), DELAYED)
    assert chosen == NoCapacityInPools(
        reason="The volume needs 1Gi, which no pool there has (pool-b: not known to Ceph)."
    )
    assert isinstance(choose_pool(POOLS, states(a=9, c=9), REQUEST), ChosenPool)


def test_a_pool_whose_room_is_not_told_yet_is_named_if_no_other_one_will_do() -> None:
    known = {**states(a=9, c=9), POOLS[1].key: UNMEASURED}
    assert choose_pool(POOLS, known, DELAYED) == NoCapacityInPools(
        reason="The volume needs 1Gi, which no pool there has"
        " (pool-b: Ceph has not told yet how much is free).",
        unmeasured=("pool-b",),
    )
    elsewhere = choose_pool(POOLS, known, REQUEST)
    assert isinstance(elsewhere, ChosenPool)
    assert elsewhere.pool != POOLS[1]


def test_a_thousand_volumes_spread_as_the_room_is() -> None:
    """Within 5 % of the ideal, which is the share of the room that each pool has."""
    room = {"a": 1000, "b": 2000, "c": 3500}
    known = states(**room)
    for _ in range(1000):
        chosen = choose_pool(POOLS, known, REQUEST)
        assert isinstance(chosen, ChosenPool)
        before = known[chosen.pool.key]
        known[chosen.pool.key] = CephPoolState(
            free_bytes=before.free_bytes - GIB, volumes=before.volumes + 1
        )
    for name, gib in room.items():
        ideal = 1000 * gib / sum(room.values())
        assert abs(known[PoolKey("", f"pool-{name}")].volumes - ideal) <= 0.05 * ideal


SEGMENTS = st.sampled_from([A, B, C])


@given(
    requisite=st.lists(SEGMENTS, max_size=3),
    preferred=st.lists(SEGMENTS, max_size=3),
    free=st.tuples(*[st.integers(0, 3)] * 3),
    is_delayed=st.booleans(),
    spread=st.sampled_from(PoolSpread),
    chance=st.floats(0, 1, exclude_max=True),
)
def test_every_choice_is_allowed_and_has_room(
    *,
    requisite: list[Segment],
    preferred: list[Segment],
    free: tuple[int, int, int],
    is_delayed: bool,
    spread: PoolSpread,
    chance: float,
) -> None:
    requirement = AccessibilityRequirement(requisite=tuple(requisite), preferred=tuple(preferred))
    request = replace(
        REQUEST, requirement=requirement, is_delayed=is_delayed, spread=spread, chance=chance
    )
    known = states(a=free[0], b=free[1], c=free[2])

    chosen = choose_pool(POOLS, known, request)

    allowed = requisite or preferred
    fits = [s for s, gib in zip((A, B, C), free, strict=True) if s in allowed and gib]
    if isinstance(chosen, ChosenPool):
        assert chosen.preferred in allowed
        assert known[chosen.pool.key].free_bytes >= GIB
    elif not is_delayed:
        assert not fits
