"""What a capacity object offers."""

import msgspec

from plimsoll.api.storage import CSIStorageCapacity, StorageClass
from plimsoll.decide.capacity.pools import CLASS_POOL, CLASS_POOL_COST, POOLS
from plimsoll.decide.scheduling.columns.capacity import PoolId
from plimsoll.decide.scheduling.rules.volume_binding.offers import Offer, offer_of
from tests.builders import DRIVER, ZONE, a_capacity, a_class

GIB = 2**30


def offer(*, capacity: str | None = "10Gi", largest: str | None = None, pools: str = "") -> Offer:
    return offer_of(published(capacity, largest, pools), a_class())


def published(capacity: str | None, largest: str | None, pools: str) -> CSIStorageCapacity:
    made = a_capacity(segment={ZONE: "a"}, gib=1)
    annotations = {POOLS: pools} if pools else {}
    metadata = msgspec.structs.replace(made.metadata, annotations=annotations)
    return msgspec.structs.replace(
        made, metadata=metadata, capacity=capacity, maximum_volume_size=largest
    )


def ids(found: Offer) -> list[PoolId]:
    return [pool.id for pool in found.pools or ()]


def test_pools_that_the_driver_names_come_first() -> None:
    found = offer(pools='[{"name":"disks","free":{"a":5,"b":6}}]')
    assert ids(found) == [PoolId(DRIVER, "disks")]
    (pool,) = found.pools or ()
    assert (pool.free_bytes, pool.is_declared, found.limit) == (11, True, 10 * GIB)


def test_without_pools_an_object_has_bytes_of_its_own() -> None:
    for nonsense in ("", "[]", "nonsense"):
        found = offer(pools=nonsense)
        (pool,) = found.pools or ()
        assert pool.id.object is not None
        assert (pool.free_bytes, pool.is_declared) == (10 * GIB, False)


def test_a_capacity_that_is_missing_or_too_small_bounds_no_sum() -> None:
    assert offer(capacity=None, largest="5Gi").pools is None
    assert offer(capacity="4Gi", largest="5Gi").pools is None
    assert offer(capacity=None).limit == -1


def test_a_class_names_a_pool_in_each_segment() -> None:
    made = a_class()
    annotations = {CLASS_POOL: "vg", CLASS_POOL_COST: "2"}
    metadata = msgspec.structs.replace(made.metadata, annotations=annotations)
    shared: StorageClass = msgspec.structs.replace(made, metadata=metadata)
    found = [
        offer_of(a_capacity(segment={ZONE: zone}, gib=3), shared).pools or () for zone in "aab"
    ]
    (first, again, elsewhere) = (pools[0] for pools in found)
    assert first.id == again.id
    assert first.id != elsewhere.id
    assert (first.free_bytes, first.is_declared) == (6 * GIB, True)
