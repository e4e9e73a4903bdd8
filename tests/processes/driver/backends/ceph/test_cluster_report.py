from typing import Any

import pytest

from plimsoll.decide.ceph.pool_capacity import CephPoolUsage
from plimsoll.processes.driver.backends.ceph.cluster_report import ClusterReport

GIB = 1 << 30


def tree(*up: int) -> dict[str, Any]:
    """A root with three zones, an OSD in each."""
    zones = [{"id": -2 - n, "name": f"zone-{n}", "type": "zone", "children": [n]} for n in range(3)]
    osds = [
        {"id": n, "name": f"osd.{n}", "type": "osd", "status": "up" if n in up else "down"}
        for n in range(3)
    ]
    root = {"id": -1, "name": "default", "type": "root", "children": [-2, -3, -4]}
    return {"nodes": [root, *zones, *osds]}


def rule(number: int, *steps: tuple[int, str]) -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    for take, type_ in steps:
        found += [{"op": "take", "item": take}, {"op": "chooseleaf_firstn", "type": type_}]
        found += [{"op": "emit"}]
    return {"rule_id": number, "steps": found}


RULES = [
    rule(0, (-2, "osd")),
    rule(1, (-1, "zone")),
    rule(2, (-2, "osd"), (-3, "osd"), (-4, "osd")),
]


def copies(min_size: int) -> dict[str, int]:
    return {"size": 3, "min_size": min_size}


def report(*up: int, rule_id: int = 0, min_size: int = 1, app: str = "rbd") -> ClusterReport:
    stats = {"max_avail": 4 * GIB, "stored": GIB, "quota_bytes": 0}
    return ClusterReport(
        df={"pools": [{"name": "p", "stats": stats}]},
        pools=[{"pool_name": "p", "pool_id": 7, "crush_rule": rule_id, **copies(min_size)}],
        tree=tree(*up),
        rules=RULES,
        applications={"p": {app: {}}},
    )


def test_figures_are_those_of_the_pool() -> None:
    usage = CephPoolUsage(max_avail_bytes=4 * GIB, stored_bytes=GIB)
    assert report(0, 1, 2).usages() == {"p": usage}


def test_a_number_below_zero_is_no_space() -> None:
    """As monitors told it when all OSDs had been killed and were started again."""
    found = report(0, 1, 2)
    found.df["pools"][0]["stats"]["max_avail"] = 18446744069957795833
    unknown = CephPoolUsage(max_avail_bytes=0, stored_bytes=GIB, is_measured=False)
    assert found.usages() == {"p": unknown}


@pytest.mark.parametrize(
    ("up", "rule_id", "min_size", "is_up"),
    [
        pytest.param((0,), 0, 1, True, id="its-zone-is-up"),
        pytest.param((1, 2), 0, 1, False, id="its-zone-is-down"),
        pytest.param((1, 2), 1, 2, True, id="enough-zones"),
        pytest.param((2,), 1, 2, False, id="too-few-zones"),
        pytest.param((1, 2), 2, 2, True, id="primaries-elsewhere-are-lost"),
        pytest.param((0,), 9, 1, False, id="a-rule-that-is-gone"),
    ],
)
def test_a_pool_is_up_if_it_can_be_written_to(
    up: tuple[int, ...], rule_id: int, min_size: int, *, is_up: bool
) -> None:
    found = report(*up, rule_id=rule_id, min_size=min_size).usages()["p"]
    assert found.is_up is is_up


def test_pools_that_are_down_are_told_by_their_ids() -> None:
    assert report(0).down_pools() == frozenset()
    assert report(1, 2).down_pools() == {7}


def test_a_pool_can_be_written_to_whether_its_figures_are_known_or_not() -> None:
    """No manager runs, or the pool is new: a journal may be in it nevertheless."""
    found = report(0)
    found.df["pools"].clear()
    assert found.usages() == {"p": CephPoolUsage(max_avail_bytes=0, is_measured=False)}
    assert found.writable_pools() == ["p"]
    assert report(1, 2).writable_pools() == []


def test_a_pool_that_is_down_has_no_room_before_its_figures_are_known() -> None:
    found = report(1, 2)
    found.df["pools"].clear()
    assert found.usages() == {"p": CephPoolUsage(max_avail_bytes=0, is_up=False)}


def test_a_pool_for_another_use_has_no_journal() -> None:
    assert report(0, app="cephfs").writable_pools() == []


def test_pools_for_other_uses_are_left_out() -> None:
    assert report(0, app="cephfs").usages() == {}
