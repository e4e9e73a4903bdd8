"""What reservations take of pools, until the driver has reported them.

A reservation is charged to the pool that its class draws on at the selected node; where there are
several, to the one with most room, as a driver would choose. A volume that was made out of reach of
that node is charged nowhere. For each capacity object only those count that its token has not
reached; where the object or the volume has no token, those that it has not been changed twice
since. Between made and reported a volume counts twice, in the report and as a charge: that is
short, and asks no driver for too much.

How volumes in flight are charged is set on a class, or else on the CSIDriver: `linear`,
`single-slot` (one at a time: a pool with a volume in flight counts as full) or `none`. By default
it is `linear` where pools are declared, by the driver or by the class, and `none` for all other
drivers.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from plimsoll.api.meta import ObjectKey
from plimsoll.api.selectors.node import NodeSelector
from plimsoll.api.storage import CSIDriver, CSIStorageCapacity, StorageClass
from plimsoll.decide.capacity.pools import CLASS_POOL, POOLS, ClassPool
from plimsoll.decide.capacity.tokens import find_token
from plimsoll.decide.capacity.volume_sizes import Cost, find_parts
from plimsoll.decide.scheduling.columns.capacity import ClassCapacity, PoolId, PoolSource
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.reservations.reservation import (
    WANTED,
    RecordedVolume,
    Reservation,
    ReservationKey,
)
from plimsoll.decide.scheduling.rules.volume_binding.offers import KnownOffers, Offer, OfferedPool

RESERVATIONS = "plimsoll.dev/reservations"
NO_CLAIMS: frozenset[ObjectKey] = frozenset()


class ReservationMode(StrEnum):
    LINEAR = "linear"
    SINGLE_SLOT = "single-slot"
    NONE = "none"


MODES = {mode.value: mode for mode in ReservationMode}


def mode_of(
    storage_class: StorageClass, driver: CSIDriver | None, *, is_declared: bool
) -> ReservationMode:
    usual = ReservationMode.LINEAR if is_declared else ReservationMode.NONE
    return _told_mode(storage_class, driver) or usual


def _told_mode(storage_class: StorageClass, driver: CSIDriver | None) -> ReservationMode | None:
    """What makes no sense counts as not said."""
    told = MODES.get(storage_class.metadata.annotations.get(RESERVATIONS, ""))
    if told is None and driver is not None:
        told = MODES.get(driver.metadata.annotations.get(RESERVATIONS, ""))
    return told


def may_be_charged(
    storage_class: StorageClass, driver: CSIDriver | None, *, declares_pools: bool
) -> bool:
    """False: volumes in flight take nothing. `declares_pools`: whether any of the capacity objects
    in question lists pools."""
    told = _told_mode(storage_class, driver)
    if told is not None:
        return told is not ReservationMode.NONE
    return declares_pools or CLASS_POOL in storage_class.annotations


class PoolCharge(NamedTuple):
    """One reservation, at its pool."""

    pool: PoolId
    recorded: RecordedVolume | None
    size: int
    cost: Cost | ClassPool
    mode: ReservationMode


class ListedCharge(NamedTuple):
    reservation: Reservation
    pool: PoolId
    taken: int
    """Bytes of the pool."""
    since: datetime | None
    is_given_up: bool
    """An earlier attempt for the claim: it is to be undone."""


class Position(NamedTuple):
    """How many changes the capacity objects of a class have seen."""

    table: ClassCapacity
    log: int
    moves: int


Positions = dict[str, Position]


class PoolCharges:
    """All of them, worked out again where reservations or capacity changed. Pools whose charges are
    others are marked as changed in the columns."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._by_key: dict[ReservationKey, PoolCharge] = {}
        self._by_pool: dict[PoolId, dict[ReservationKey, PoolCharge]] = {}
        self._position: int | None = None
        self._stamps: tuple[object, ...] = ()
        self._seen: Positions = {}
        self._watched: dict[str, dict[str, set[ReservationKey]]] = {}
        """By class and node, those whose charge may be another when capacity changes."""
        self._places: dict[ReservationKey, tuple[str, str]] = {}
        self._never_charged: dict[str, bool] = {}
        """By class, as long as the stamps are the same."""
        self._unplaced: dict[ReservationKey, None] = {}
        """Those that are charged nowhere, though no report tells that it counts their volume in:
        their node, class or pool is not known yet, or is not charged."""
        self._changes = 0
        """How many changes of objects were seen."""
        self._pools: dict[PoolSource, set[PoolId]] = {}
        """Those that are charged, by what tells that they changed."""
        self.offers = KnownOffers()

    def __bool__(self) -> bool:
        return bool(self._by_key)

    def of_claims(self, claims: Collection[ObjectKey]) -> set[ReservationKey]:
        """What is charged for them, earlier attempts as well."""
        wanted = frozenset(claims)
        return {key for key in self._by_key if key.claim in wanted}

    def listed(self) -> list["ListedCharge"]:
        """All of them, by claim, for people to look at."""
        self.refresh()
        index = self._columns.reservations
        return [
            ListedCharge(
                index.by_key[key],
                charge.pool,
                charge.cost.taken(charge.size),
                index.since(key),
                is_given_up=key.attempt != WANTED,
            )
            for key, charge in sorted(self._by_key.items())
        ]

    def of_pool(self, pool: PoolId) -> Mapping[ReservationKey, PoolCharge]:
        return self._by_pool.get(pool, {})

    def refresh(self) -> None:
        """Work out what has changed since the last time."""
        dirty, known = self._dirty(), self._columns.reservations.by_key
        for key in dirty:
            reservation = known.get(key)
            self._unwatch(key)
            self._unplaced.pop(key, None)
            if reservation is None:
                self._put(key, None)
            elif self._is_never_charged(reservation):
                # Nothing but another class or driver, or the first declared pool, can change that.
                self._unplaced[key] = None
                self._put(key, None)
            else:
                self._place(key, reservation)
        if dirty or self._has_new_capacity:
            # What was marked just now is no news.
            self._seen = self._positions()
            self._changes = self._columns.capacity.changed.position

    def _place(self, key: ReservationKey, reservation: Reservation) -> None:
        found = self._find_pool(reservation)
        charge = None if found is None else self._charge(reservation, *found)
        is_known = found is not None and self._is_reported(reservation, found[0].id)
        if charge is None and not is_known:
            self._unplaced[key] = None
        self._put(key, charge)
        if charge is not None or not is_known:
            self._watch(key, reservation)

    def _is_never_charged(self, reservation: Reservation) -> bool:
        """Whether volumes in flight of its class take nothing, wherever they are to be made."""
        if reservation.recorded is not None:
            return False
        name, columns = reservation.storage_class, self._columns
        found = self._never_charged.get(name)
        if found is None:
            storage_class, table = columns.classes.get(name), columns.capacity.by_class.get(name)
            if storage_class is None:
                return False  # and not kept: claims may name any class
            declares_pools = table is not None and table.declares_pools
            found = self._never_charged[name] = not may_be_charged(
                storage_class,
                columns.drivers.get(storage_class.provisioner),
                declares_pools=declares_pools,
            )
        return found

    @property
    def _has_new_capacity(self) -> bool:
        return self._changes != self._columns.capacity.changed.position

    def _dirty(self) -> Collection[ReservationKey]:
        columns, index = self._columns, self._columns.reservations
        stamps = (
            columns.stamp,
            columns.classes_stamp,
            columns.labels.stamp,
            columns.capacity.declaring_stamp,
        )
        if self._position is None:
            changed = dict.fromkeys(index.by_key)
        elif stamps != self._stamps:
            self._never_charged.clear()
            changed = dict.fromkeys(index.changed_since(self._position))
            changed |= dict.fromkeys(self._by_key) | self._unplaced
        else:
            is_same = self._position == index.position
            changed = {} if is_same else dict.fromkeys(index.changed_since(self._position))
            if self._watched and self._has_new_capacity:
                changed |= dict.fromkeys(self._concerned())
        self._position, self._stamps = index.position, stamps
        return changed

    def _concerned(self) -> Iterator[ReservationKey]:
        """Those on nodes whose capacity objects changed, and those that wait for a report about a
        pool of which an object changed."""
        capacity = self._columns.capacity
        sources = capacity.changed.since(self._changes)
        for source in self._pools if sources is None else sources:
            for pool in self._pools.get(source, ()):
                yield from (key for key, each in self._by_pool[pool].items() if each.recorded)
        now = self._positions()
        for name in self._watched:
            if now.get(name) != self._seen.get(name):
                yield from self._on_changed_nodes(name)

    def _on_changed_nodes(self, name: str) -> Iterator[ReservationKey]:
        """Those of the class."""
        watched, slots = self._watched.get(name, {}), self._changed_slots(name)
        index = self._columns.index
        if slots is None:
            nodes: Iterable[str] = watched
        elif len(slots) < len(watched):
            nodes = [found for slot in slots if (found := index.names[slot]) in watched]
        else:
            nodes = [node for node in watched if index.find(node) in slots]
        for node in nodes:
            yield from watched[node]

    def _changed_slots(self, name: str) -> set[int] | None:
        """None: all."""
        known, table = self._seen.get(name), self._columns.capacity.by_class.get(name)
        if known is None or table is None or known.table is not table:
            return None
        cells, moved = table.cells.log.since(known.log), table.cells.moves.since(known.moves)
        if cells is None or moved is None:
            return None
        return moved.union(table.cells.slots_in(cells))

    def _positions(self) -> Positions:
        """Of classes that have something to watch."""
        tables = self._columns.capacity.by_class
        return {
            name: Position(table, table.cells.log.position, table.cells.moves.position)
            for name in self._watched
            if (table := tables.get(name)) is not None
        }

    def _watch(self, key: ReservationKey, reservation: Reservation) -> None:
        """Remember on which node, and of which class, it reserves."""
        self._places[key] = reservation.storage_class, reservation.node
        nodes = self._watched.setdefault(reservation.storage_class, {})
        nodes.setdefault(reservation.node, set()).add(key)

    def _unwatch(self, key: ReservationKey) -> None:
        if (place := self._places.pop(key, None)) is None:
            return
        name, node = place
        nodes = self._watched[name]
        nodes[node].discard(key)
        if not nodes[node]:
            del nodes[node]
        if not nodes:
            del self._watched[name]

    def _put(self, key: ReservationKey, charge: PoolCharge | None) -> None:
        old = self._by_key.get(key)
        if old == charge:
            return
        for pool in dict.fromkeys(each.pool for each in (old, charge) if each is not None):
            held = self._by_pool.setdefault(pool, {})
            held.pop(key, None)
            if charge is not None and charge.pool == pool:
                held[key] = charge
            if held:
                self._pools.setdefault(pool.source, set()).add(pool)
            else:
                del self._by_pool[pool]
                self._drop(pool)
            self._columns.capacity.touch(pool)
        if charge is None:
            self._by_key.pop(key, None)
        else:
            self._by_key[key] = charge

    def _drop(self, pool: PoolId) -> None:
        known = self._pools.get(pool.source, set())
        known.discard(pool)
        if not known:
            self._pools.pop(pool.source, None)

    def _find_pool(self, reservation: Reservation) -> tuple[OfferedPool, StorageClass] | None:
        """The pool that it takes room of; None: that is not known."""
        columns = self._columns
        slot = columns.index.find(reservation.node)
        storage_class = columns.classes.get(reservation.storage_class)
        if slot is None or storage_class is None:
            return None
        table = columns.capacity.by_class.get(storage_class.name)
        published = table.covering(slot) if table is not None else []
        if reservation.recorded is None:
            driver = columns.drivers.get(storage_class.provisioner)
            declares_pools = any(POOLS in each.annotations for each in published)
            if not may_be_charged(storage_class, driver, declares_pools=declares_pools):
                return None
        offers = [self.offers.of(capacity, storage_class) for capacity in published]
        pools = [pool for offer in offers for pool in offer.pools or ()]
        if reservation.must_fit:
            pools = [pool for pool in pools if pool.could_hold(reservation.size)]
        if not pools:
            return None
        return max(pools, key=lambda each: each.free_bytes), storage_class

    def _is_elsewhere(self, reservation: Reservation) -> bool:
        """Whether the driver has made the volume out of reach of the selected node: it takes
        nothing of the pools there, and they never report it."""
        reach = None if reservation.recorded is None else reservation.recorded.reach
        node = None if reach is None else self._columns.node(reservation.node)
        if reach is None or node is None:
            return False
        return not NodeSelector.of(reach).matches(node.labels, node.name)

    def _charge(
        self, reservation: Reservation, pool: OfferedPool, storage_class: StorageClass
    ) -> PoolCharge | None:
        if self._is_reported(reservation, pool.id) or self._is_elsewhere(reservation):
            return None
        driver = self._columns.drivers.get(storage_class.provisioner)
        mode = mode_of(storage_class, driver, is_declared=pool.is_declared)
        if mode is ReservationMode.NONE:
            return None
        return PoolCharge(pool.id, reservation.recorded, reservation.size, pool.cost, mode)

    def _is_reported(self, reservation: Reservation, pool: PoolId) -> bool:
        """Whether all objects that are about the pool count the volume in."""
        recorded = reservation.recorded
        return recorded is not None and all(
            self._counts_in(each, recorded) for each in self._columns.capacity.about(pool)
        )

    def _counts_in(self, capacity: CSIStorageCapacity, volume: RecordedVolume) -> bool:
        told = find_token(capacity.annotations)
        if told is not None and volume.token is not None:
            return told >= volume.token
        columns = self._columns
        has_changed = columns.capacity.has_reported_twice(capacity.key, volume.reports)
        deadlines = columns.reservations.deadlines
        return has_changed or volume.until is None or deadlines.is_past(volume.until)

    def apply(
        self, offer: Offer, capacity: CSIStorageCapacity, but: Collection[ObjectKey] = NO_CLAIMS
    ) -> Offer:
        """The offer without what is reserved, `but` not for what these claims are to get."""
        if not self._by_pool:
            return offer
        return left_of(offer, self.open_on(offer, capacity, but))

    def open_on(
        self, offer: Offer, capacity: CSIStorageCapacity, but: Collection[ObjectKey] = NO_CLAIMS
    ) -> list[list[PoolCharge]]:
        """For each pool of the offer, what is reserved of it and the object does not count in."""
        return [self._open(pool, capacity, but) for pool in offer.pools or ()]

    def are_on(
        self, offer: Offer, capacity: CSIStorageCapacity, but: Collection[ObjectKey] = NO_CLAIMS
    ) -> bool:
        """Whether something is reserved, even where no byte is left that it could take: the largest
        volume that the object tells may be older than its pools."""
        return any(self.open_on(offer, capacity, but))

    def _open(
        self, pool: OfferedPool, capacity: CSIStorageCapacity, but: Collection[ObjectKey]
    ) -> list[PoolCharge]:
        """What the object does not count in yet."""
        if not (charges := self.of_pool(pool.id)):
            return []
        return [
            charge
            for key, charge in sorted(charges.items())
            if not (key.claim in but and key.attempt == WANTED)
            and not (charge.recorded and self._counts_in(capacity, charge.recorded))
        ]


def left_of(offer: Offer, opened: Sequence[Sequence[PoolCharge]]) -> Offer:
    """The offer without what these charges take of its pools."""
    if offer.pools is None or not any(opened):
        return offer
    pools = tuple([_without(*each) for each in zip(offer.pools, opened, strict=True)])
    if pools == offer.pools:
        return offer
    # One volume can be no larger than what is left, if it is not known where that is.
    limit = offer.limit
    if all(isinstance(pool.cost, ClassPool) for pool in pools):
        taken = sum(p.free_bytes for p in offer.pools) - sum(p.free_bytes for p in pools)
        limit = max(limit - _in_volumes(taken, pools[0].cost), -1)
    return Offer(limit, pools)


def _without(pool: OfferedPool, charges: Sequence[PoolCharge]) -> OfferedPool:
    if not charges:
        return pool
    if any(charge.mode is ReservationMode.SINGLE_SLOT for charge in charges):
        free = dict.fromkeys(pool.free, 0)
    else:
        free = _left(pool.free, charges)
    return OfferedPool(pool.id, pool.about, free, pool.cost)


def _in_volumes(pool_bytes: int, cost: Cost | ClassPool) -> int:
    """The size of the volumes that take so much of the pool."""
    if isinstance(cost, ClassPool):
        return -(-pool_bytes * cost.cost.denominator // cost.cost.numerator)
    return pool_bytes


def _left(free: Mapping[str, int], charges: Iterable[PoolCharge]) -> dict[str, int]:
    """What is free after the volumes took their bytes as a driver would place them, the largest
    first. What fits nowhere is taken from wherever something is left."""
    left, owed = dict(free), 0
    ordered = sorted(charges, key=lambda charge: -charge.size)
    for charge in ordered:
        if isinstance(charge.cost, ClassPool):
            owed += charge.cost.taken(max(charge.size, 0))
            continue
        parts = find_parts(left, charge.cost, charge.size) if charge.cost.shares else None
        if parts is None:
            owed += charge.cost.taken(charge.size)
        for name, taken in (parts or {}).items():
            left[name] -= taken
    for name in sorted(left, key=lambda name: (-left[name], name)):
        part = min(left[name], owed)
        left[name] -= part
        owed -= part
    return left
