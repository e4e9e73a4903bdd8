from fractions import Fraction

import pytest

from plimsoll.decide.ceph.constrained_pools import ConstrainedPool, PoolKey
from plimsoll.decide.ceph.pool_capacity import (
    CephPoolState,
    CephPoolUsage,
    PromisedVolume,
    parse_overcommit,
    pool_state,
)

POOL = ConstrainedPool(name="p")
EC = ConstrainedPool(name="p", data_pool="ec")


def state(usage: CephPoolUsage, *volumes: PromisedVolume, factor: str = "1") -> CephPoolState:
    found = pool_state(POOL, {POOL.key: usage}, volumes, overcommit=parse_overcommit(factor))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("usage", "available"),
    [
        pytest.param(CephPoolUsage(max_avail_bytes=100, stored_bytes=30), 100, id="no-quota"),
        pytest.param(
            CephPoolUsage(max_avail_bytes=100, stored_bytes=30, quota_bytes=50), 20, id="quota"
        ),
        pytest.param(
            CephPoolUsage(max_avail_bytes=10, stored_bytes=30, quota_bytes=50), 10, id="disks"
        ),
        pytest.param(
            CephPoolUsage(max_avail_bytes=100, stored_bytes=60, quota_bytes=50), 0, id="over-quota"
        ),
        pytest.param(CephPoolUsage(max_avail_bytes=100, is_up=False), 0, id="zone-down"),
    ],
)
def test_a_pool_has_what_disks_and_quota_leave(usage: CephPoolUsage, available: int) -> None:
    assert state(usage).free_bytes == available


def test_what_was_promised_and_not_written_is_not_free() -> None:
    volumes = PromisedVolume(size_bytes=40, written_bytes=30), PromisedVolume(size_bytes=20)
    found = state(CephPoolUsage(max_avail_bytes=100), *volumes)
    assert found == CephPoolState(free_bytes=70, volumes=2)


def test_a_snapshot_that_outgrew_its_volume_frees_nothing() -> None:
    grown = PromisedVolume(size_bytes=10, written_bytes=90)
    assert state(CephPoolUsage(max_avail_bytes=100), grown).free_bytes == 100


def test_a_class_may_promise_more_than_there_is() -> None:
    usage, promised = CephPoolUsage(max_avail_bytes=100), PromisedVolume(size_bytes=120)
    assert state(usage, promised).free_bytes == 0
    assert state(usage, promised, factor="2.5").free_bytes == 130


def test_classes_of_different_factors_hold_the_same_promises_against_what_each_may_promise() -> (
    None
):
    usage, promised = CephPoolUsage(max_avail_bytes=100), PromisedVolume(size_bytes=60)
    free = {
        factor: state(usage, promised, factor=factor).free_bytes for factor in ("0.5", "1", "3")
    }
    assert free == {"0.5": 0, "1": 40, "3": 240}
    # A volume takes the same of all of them, whichever class it is of.
    more = promised, PromisedVolume(size_bytes=30)
    free = {factor: state(usage, *more, factor=factor).free_bytes for factor in ("0.5", "1", "3")}
    assert free == {"0.5": 0, "1": 10, "3": 210}


def test_the_data_pool_counts_as_long_as_headers_can_be_written() -> None:
    full, empty = CephPoolUsage(max_avail_bytes=0), CephPoolUsage(max_avail_bytes=500)
    small = CephPoolUsage(max_avail_bytes=1)
    keys = PoolKey("", "p"), PoolKey("", "ec")
    found = pool_state(EC, dict(zip(keys, (small, empty), strict=True)), ())
    assert found == CephPoolState(free_bytes=500, volumes=0)
    found = pool_state(EC, dict(zip(keys, (full, empty), strict=True)), ())
    assert found == CephPoolState(free_bytes=0, volumes=0)


def test_a_pool_that_ceph_does_not_know_has_no_state() -> None:
    assert pool_state(EC, {EC.key: CephPoolUsage(max_avail_bytes=1)}, ()) is None


def test_the_factor_is_a_number_above_zero() -> None:
    assert parse_overcommit(" 1.5 ") == Fraction(3, 2)
    for text in ("", "much", "0", "-1", "1/0"):
        with pytest.raises(ValueError, match="overcommit"):
            parse_overcommit(text)
