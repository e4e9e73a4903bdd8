from dataclasses import replace

import pytest

from plimsoll.decide.ceph.constrained_pools import ConstrainedPool, DomainSegment
from plimsoll.decide.ceph.making_pools.requested import PoolsRequest
from plimsoll.decide.ceph.making_pools.steps import (
    AddRules,
    CreatePool,
    PoolsPlan,
    decide_pools,
    described,
)
from tests.decide.ceph.making_pools.clusters import SmallCluster

REQUEST = PoolsRequest(domains={"zone-a": "a", "zone-b": "b", "zone-c": "c"})


def three_zones() -> SmallCluster:
    made = SmallCluster(zone_a=1, zone_b=1, zone_c=1)
    made.data_pools["files"] = []
    return made


def planned(cluster: SmallCluster, request: PoolsRequest = REQUEST) -> PoolsPlan:
    plan = decide_pools(request, cluster.report())
    assert isinstance(plan, PoolsPlan), plan
    return plan


def test_rules_come_first_then_each_pool_with_its_label() -> None:
    plan = planned(three_zones())
    rules = "plimsoll-rbd-zone-a, plimsoll-rbd-zone-b, plimsoll-rbd-zone-c, plimsoll-journal"
    assert [described(step) for step in plan.steps][:5] == [
        f"add CRUSH rules {rules}",
        "create pool rbd-zone-a with rule plimsoll-rbd-zone-a, 3 copies, 32 placement groups",
        "let pool rbd-zone-a be written to while 2 copies are up",
        "enable application rbd on pool rbd-zone-a",
        "label pool rbd-zone-a: plimsoll.domain.zone=a",
    ]
    assert plan.pools[0] == ConstrainedPool(
        name="rbd-zone-a", segments=(DomainSegment("zone", "a"),)
    )


FILES = replace(REQUEST, prefix="files-", journal="", file_system="files")


@pytest.mark.parametrize("request_", [REQUEST, FILES], ids=["images", "a file system"])
def test_after_any_number_of_steps_the_rest_is_done_and_then_nothing(
    request_: PoolsRequest,
) -> None:
    steps = planned(three_zones(), request_).steps
    for done in range(len(steps) + 1):
        cluster = three_zones()
        for step in steps[:done]:
            cluster.carry_out(step)
        rest = planned(cluster, request_).steps
        assert list(rest) == list(steps[done:])


def test_pools_of_a_file_system_are_added_to_it_and_labelled_for_it() -> None:
    plan = planned(three_zones(), FILES)
    assert [described(step) for step in plan.steps][1:6] == [
        "create pool files-zone-a with rule plimsoll-files-zone-a, 3 copies, 32 placement groups",
        "let pool files-zone-a be written to while 2 copies are up",
        "enable application cephfs on pool files-zone-a",
        "add pool files-zone-a to file system files",
        "label pool files-zone-a: plimsoll.domain.zone=a",
    ]
    assert len([step for step in plan.steps if isinstance(step, CreatePool)]) == 3


def test_a_domain_that_comes_later_gets_its_pool_and_leaves_the_others_alone() -> None:
    cluster = three_zones()
    for step in planned(cluster, replace(REQUEST, domains={})).steps:
        cluster.carry_out(step)
    later = SmallCluster(zone_a=1, zone_b=1, zone_c=1, zone_d=1)
    later.rules, later.pools = cluster.rules, cluster.pools
    plan = planned(later, replace(REQUEST, domains={}))
    (added,) = [step for step in plan.steps if isinstance(step, AddRules)]
    assert [rule.name for rule in added.rules] == ["plimsoll-rbd-zone-d"]
    assert [step.pool for step in plan.steps if isinstance(step, CreatePool)] == ["rbd-zone-d"]


def test_pools_without_a_journal_can_be_made() -> None:
    plan = planned(three_zones(), replace(REQUEST, journal=""))
    assert len([step for step in plan.steps if isinstance(step, CreatePool)]) == 3


def test_one_copy_is_told_to_be_no_protection() -> None:
    single = replace(REQUEST, size=1, min_size=1, allows_single_copy=True)
    assert "cannot be taken over" in planned(three_zones(), single).remarks[0]
