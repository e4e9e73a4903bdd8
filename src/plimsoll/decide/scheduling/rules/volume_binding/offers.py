"""What a capacity object has for volumes of its class: the pools behind it.

Objects that name no pool, and whose class names none either, are about bytes of their own; their
capacity bounds the sum of the volumes that are taken of them, unless it is smaller than the largest
volume: then it says nothing about a sum.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from plimsoll.api.meta import ObjectKey
from plimsoll.api.quantity import parse_quantity
from plimsoll.api.storage import CSIStorageCapacity, StorageClass
from plimsoll.decide.capacity.pools import (
    ClassPool,
    PublishedPool,
    find_class_pool,
    find_pools,
)
from plimsoll.decide.capacity.volume_sizes import Cost, find_parts
from plimsoll.decide.scheduling.columns.capacity import (
    PoolId,
    PublishedColumn,
    largest_volume,
)
from plimsoll.decide.scheduling.columns.labels import segment_terms
from plimsoll.decide.scheduling.reasons import SeenObject
from plimsoll.decide.scheduling.rules.volume_binding.pool_search import PoolWay

OWN_BYTES = ClassPool("")
"""What volumes take of a capacity object that is about bytes of its own."""
MOST_KNOWN = 2**17
"""Objects: more than a cluster has nodes and classes."""


@dataclass(frozen=True, slots=True)
class OfferedPool:
    """A pool that a capacity object is about, and what volumes of its class take of it."""

    id: PoolId
    about: SeenObject
    free: Mapping[str, int]
    """By extent."""
    cost: Cost | ClassPool

    @property
    def is_declared(self) -> bool:
        """By the driver, or by the class."""
        return self.id.object is None

    @property
    def free_bytes(self) -> int:
        return sum(self.free.values())

    def could_hold(self, size_bytes: int) -> bool:
        """A volume of the size, if it were the only one in flight."""
        if isinstance(self.cost, ClassPool):
            return self.cost.taken(max(size_bytes, 0)) <= self.free_bytes
        return find_parts(self.free, self.cost, size_bytes) is not None

    def way(self, size_bytes: int, number: int) -> PoolWay:
        if isinstance(self.cost, ClassPool):
            return PoolWay(number, 0, 0, self.cost.taken(max(size_bytes, 0)))
        taken = self.cost.taken(size_bytes)
        share = self.cost.share(size_bytes) if self.cost.shares else 0
        return PoolWay(number, self.cost.shares, share, share * self.cost.shares or taken)


@dataclass(frozen=True, slots=True)
class Offer:
    """What one capacity object has for volumes of its class."""

    limit: int
    """The largest volume; -1: unknown, so there is none."""
    pools: tuple[OfferedPool, ...] | None
    """None: nothing is known of what several volumes take."""


class KnownOffers:
    """What was worked out of objects that are still the same."""

    def __init__(self) -> None:
        self._known: dict[ObjectKey, tuple[CSIStorageCapacity, StorageClass, Offer]] = {}

    def of(self, capacity: CSIStorageCapacity, storage_class: StorageClass) -> Offer:
        known = self._known.get(capacity.key)
        if known is not None and known[0] is capacity and known[1] is storage_class:
            return known[2]
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()  # most are about objects that are gone
        found = offer_of(capacity, storage_class)
        self._known[capacity.key] = capacity, storage_class, found
        return found


def find_own_bytes(published: PublishedColumn) -> int | None:
    """Of an object whose bytes are its own, see `offer_of`; None: it does not bound what several
    volumes take."""
    has_no_bound = published.object.capacity is None or published.capacity < published.limit
    return None if has_no_bound else published.capacity


def offer_of(capacity: CSIStorageCapacity, storage_class: StorageClass) -> Offer:
    largest = largest_volume(capacity)
    total = None if capacity.capacity is None else parse_quantity(capacity.capacity).value
    limit = -1 if largest is None else largest.value
    driver = storage_class.provisioner
    if published := find_pools(capacity.annotations):
        return Offer(limit, tuple(_offered(pool, driver) for pool in published))
    if total is None or total < limit:
        return Offer(limit, None)
    model = find_class_pool(storage_class)
    if model is None:
        about = SeenObject("CSIStorageCapacity", capacity.key)
        own = OfferedPool(PoolId(object=capacity.key), about, {"": total}, OWN_BYTES)
        return Offer(limit, (own,))
    id_ = PoolId(driver, model.name, segment_terms(capacity.node_topology))
    free = {"": model.free(total)}
    return Offer(limit, (OfferedPool(id_, _seen_pool(driver, model.name), free, model),))


def _offered(pool: PublishedPool, driver: str) -> OfferedPool:
    about = _seen_pool(driver, pool.name)
    return OfferedPool(PoolId(driver, pool.name), about, pool.free, pool.cost)


def _seen_pool(driver: str, name: str) -> SeenObject:
    return SeenObject("Pool", ObjectKey(driver, name))
