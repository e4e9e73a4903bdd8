from dataclasses import replace

import pytest

from plimsoll.decide.ceph.making_pools.requested import PoolsRequest
from plimsoll.decide.ceph.making_pools.steps import PoolsPlan, PoolsRefused, decide_pools
from tests.decide.ceph.making_pools.clusters import SmallCluster, a_pool

REQUEST = PoolsRequest(domains={"zone-a": "a", "zone-b": "b", "zone-c": "c"})


def three_zones() -> SmallCluster:
    return SmallCluster(zone_a=1, zone_b=1, zone_c=1)


def refusal(cluster: SmallCluster, request: PoolsRequest) -> str:
    plan = decide_pools(request, cluster.report())
    assert isinstance(plan, PoolsRefused)
    return plan.reason


def test_a_rule_of_the_same_name_that_is_not_ours_is_never_used() -> None:
    cluster = three_zones()
    cluster.add_rule("plimsoll-rbd-zone-b", [{"op": "take", "item_name": "default"}])
    assert "rule plimsoll-rbd-zone-b exists" in refusal(cluster, REQUEST)


def test_a_pool_of_the_same_name_that_is_not_ours_is_never_changed() -> None:
    cluster = three_zones()
    cluster.pools["journal"] = a_pool("journal")
    assert "pool journal exists, with rule replicated_rule" in refusal(cluster, REQUEST)


def test_a_pool_of_another_size_is_left_to_the_administrator() -> None:
    cluster = three_zones()
    plan = decide_pools(REQUEST, cluster.report())
    assert isinstance(plan, PoolsPlan)
    for step in plan.steps:
        cluster.carry_out(step)
    assert "has 3 copies, not 2" in refusal(cluster, replace(REQUEST, size=2, min_size=1))


@pytest.mark.parametrize(
    ("cluster", "change", "said"),
    [
        (three_zones(), {"size": 1}, "--allow-single-copy"),
        (three_zones(), {"size": 2}, "stops with its domain"),
        (three_zones(), {"domain_type": "aisle"}, "no bucket type aisle"),
        (three_zones(), {"domain_type": "rack"}, "no rack below default"),
        (three_zones(), {"root": "top"}, "no bucket top"),
        (three_zones(), {"domains": {"zone-x": "x"}}, "no zone zone-x"),
        (three_zones(), {"file_system": "x"}, "no file system x; Ceph has none"),
        (three_zones(), {"prefix": "x y"}, "no name for a pool"),
        (SmallCluster(zone_a=3), {"domains": {}}, "one zone only"),
        (SmallCluster(zone_a=1, zone_b=0, zone_c=1), {}, "in zone-b, which has 0"),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)
def test_what_cannot_be_is_refused(
    cluster: SmallCluster, change: dict[str, object], said: str
) -> None:
    assert said in refusal(cluster, PoolsRequest(**{"domains": REQUEST.domains, **change}))  # type: ignore[arg-type]
