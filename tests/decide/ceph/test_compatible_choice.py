from plimsoll.decide.ceph.compatible_choice import (
    MatchedPool,
    PoolMatchProblem,
    compatible_choice,
    find_constrained_pools,
)
from plimsoll.decide.ceph.constrained_pools import ConstrainedPool, DomainSegment
from plimsoll.decide.provisioning.calls import AccessibilityRequirement


def near(name: str, **domains: str) -> ConstrainedPool:
    return ConstrainedPool(
        name=name, segments=tuple(DomainSegment(*item) for item in domains.items())
    )


A, B = {"x/region": "east", "x/zone": "a"}, {"x/region": "east", "x/zone": "b"}
POOLS = (near("pool-a", zone="a"), near("regional", region="east"))


def test_the_first_pool_near_the_first_preferred_segment_is_taken() -> None:
    requirement = AccessibilityRequirement(requisite=(A, B), preferred=(B, A))
    assert compatible_choice(POOLS, requirement) == MatchedPool(pool=POOLS[1], segment=B)


def test_a_restored_volume_stays_in_the_pool_of_its_snapshot() -> None:
    requirement = AccessibilityRequirement(requisite=(A, B), preferred=(B, A))
    chosen = compatible_choice(POOLS, requirement, bound_to="pool-a")
    assert chosen == MatchedPool(pool=POOLS[0], segment=A)
    assert compatible_choice(POOLS, requirement, bound_to="other") is (
        PoolMatchProblem.POOL_NOT_CONFIGURED
    )


def test_an_entry_without_a_pool_hides_later_ones() -> None:
    requirement = AccessibilityRequirement(requisite=(A,), preferred=())
    hidden = (near("", zone="a"), near("pool-a", zone="a"))
    assert compatible_choice(hidden, requirement) is PoolMatchProblem.NO_POOL_MATCHES


def test_without_a_requirement_the_parameter_is_not_even_read() -> None:
    assert find_constrained_pools({"topologyConstrainedPools": "not JSON"}, None) is None
