"""Whether the new volumes of a pod fit together, and beside the volumes of others in flight.

Capacity objects that name the same pool draw on the same bytes. A claim that gets an existing
volume, or whose driver publishes no capacity, takes nothing. What is reserved for volumes that no
report counts in yet is not free. Only the default policy judges so, and it refuses nodes only by
this, never accepts one.
"""

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.storage import CSIStorageCapacity, StorageClass
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.capacity.pools import POOLS, ClassPool, find_class_pool
from plimsoll.decide.capacity.volume_sizes import Cost
from plimsoll.decide.claims.match import bytes_of
from plimsoll.decide.scheduling.columns.capacity import ClassCapacity, PoolId
from plimsoll.decide.scheduling.columns.changes import KeptResults
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.nodes import Slots
from plimsoll.decide.scheduling.flags import Flags
from plimsoll.decide.scheduling.reasons import Finding, Reason, Sentence
from plimsoll.decide.scheduling.rules.volume_binding.charges import NO_CLAIMS, PoolCharges, left_of
from plimsoll.decide.scheduling.rules.volume_binding.offers import (
    OWN_BYTES,
    Offer,
    OfferedPool,
    find_own_bytes,
    offer_of,
)
from plimsoll.decide.scheduling.rules.volume_binding.pool_search import PoolProblem, do_fit
from plimsoll.decide.scheduling.rules.volume_binding.provisioning import (
    DynamicProvision,
    ProvisioningQuery,
    is_in_segment,
)
from plimsoll.decide.scheduling.view import ClusterView

KEPT_PROBLEMS = 4096
TOGETHER, RESERVED = Reason.CLAIMS_DO_NOT_FIT_TOGETHER, Reason.CAPACITY_RESERVED
LARGEST = 2**62
"""Beyond all sizes that are added up in columns."""


class PooledVolume(NamedTuple):
    """A volume to be provisioned, and the capacity objects that are about the node."""

    size: int
    offers: Sequence[Offer]


class JointDemand(NamedTuple):
    """The volumes that may have to share a pool, as a problem of numbers."""

    problem: PoolProblem
    pools: tuple[OfferedPool, ...]
    """By number."""


def joint_demand(wanted: Iterable[PooledVolume], at_least: int = 2) -> JointDemand | None:
    """None: there are not so many volumes whose bytes are known to come from somewhere. One alone
    was judged already, unless something is reserved."""
    offered = [found for volume in wanted if (found := _pools_for(volume)) is not None]
    if len(offered) < at_least:
        return None
    merged: dict[Hashable, OfferedPool] = {}
    for _, pools in offered:
        for pool in pools:
            merged[pool.id] = _least(merged.get(pool.id), pool)
    numbers = {id_: number for number, id_ in enumerate(merged)}
    ways = tuple(
        tuple(pool.way(size, numbers[pool.id]) for pool in pools) for size, pools in offered
    )
    free = tuple(tuple(sorted(pool.free.values())) for pool in merged.values())
    return JointDemand(PoolProblem(ways, free), tuple(merged.values()))


def _pools_for(volume: PooledVolume) -> tuple[int, list[OfferedPool]] | None:
    """Of the objects that are large enough; None: one of them does not tell where its bytes are."""
    found: list[OfferedPool] = []
    for offer in volume.offers:
        if offer.limit >= max(volume.size, 0):
            if offer.pools is None:
                return None
            found += offer.pools
    return volume.size, found


def _least(one: OfferedPool | None, other: OfferedPool) -> OfferedPool:
    """Two objects were written at different times: what both say is free."""
    if one is None or one.free == other.free:
        return other
    common = one.free.keys() & other.free.keys()
    free = {name: min(one.free[name], other.free[name]) for name in sorted(common)}
    return OfferedPool(other.id, other.about, free, other.cost)


@dataclass(frozen=True, slots=True)
class JointFit:
    """The rule for one node."""

    charges: PoolCharges | None = None
    """None: nothing is reserved."""

    def judge(
        self, provisions: Iterable[DynamicProvision], node: Node, view: ClusterView
    ) -> Finding | None:
        """What speaks against provisioning all of these volumes, each of which fits, for the
        node."""
        claims = {new.claim.key: new.claim for new in provisions if new.capacity is not None}
        mine = {key for key, claim in claims.items() if SELECTED_NODE in claim.annotations}
        wanted, left, is_charged = [], [], False
        for claim in claims.values():
            storage_class = view.storage_class(claim.storage_class)
            if storage_class is None:
                continue
            size = bytes_of(claim.spec.resources.requests)
            published = [
                (capacity, offer_of(capacity, storage_class))
                for capacity in view.capacities_of_class(storage_class.name)
                if is_in_segment(node.labels, capacity)
            ]
            wanted.append(PooledVolume(size, [offer for _, offer in published]))
            left.append(PooledVolume(size, [self._left(*each, mine) for each in published]))
            is_charged |= any(self._is_charged(*each, mine) for each in published)
        return _judge(wanted, left, is_charged=is_charged)

    def _left(
        self, capacity: CSIStorageCapacity, offer: Offer, mine: Collection[ObjectKey]
    ) -> Offer:
        return offer if self.charges is None else self.charges.apply(offer, capacity, mine)

    def _is_charged(
        self, capacity: CSIStorageCapacity, offer: Offer, mine: Collection[ObjectKey]
    ) -> bool:
        return self.charges is not None and self.charges.are_on(offer, capacity, mine)


def _judge(
    wanted: Sequence[PooledVolume], left: Sequence[PooledVolume], *, is_charged: bool
) -> Finding | None:
    """`left` are the same volumes, without what is reserved for others."""
    demand = joint_demand(left, 1 if is_charged else 2)
    if demand is None or do_fit(demand.problem):
        return None
    return _finding(demand, _reason(wanted) if is_charged else TOGETHER)


def _reason(wanted: Sequence[PooledVolume]) -> Reason:
    """Of volumes that do not fit beside what is reserved."""
    alone = joint_demand(wanted)
    return RESERVED if alone is None or do_fit(alone.problem) else TOGETHER


def _finding(demand: JointDemand, reason: Reason) -> Finding:
    """About the pool that is wanted most beyond what it has, if each volume goes its first way."""
    wanted = [0] * len(demand.pools)
    for ways in demand.problem.ways:
        if ways:
            wanted[ways[0].pool] += ways[0].taken
    seen = [sum(extents) for extents in demand.problem.free]
    numbers = range(len(seen))
    worst = max(numbers, key=lambda number: (wanted[number] - seen[number], -number), default=None)
    return Finding(
        reason=reason,
        sentence=Sentence.NO_SPACE,
        about=None if worst is None else demand.pools[worst].about,
        wanted=None if worst is None else wanted[worst],
        seen=None if worst is None else seen[worst],
    )


# All nodes at once


class JointRequest(NamedTuple):
    """A volume that is to be provisioned on some nodes."""

    request: ProvisioningQuery
    where: NDArray[np.bool_]
    """By place among the slots that are asked about."""


class JointRefusals(NamedTuple):
    """Places among the slots that were asked about."""

    together: NDArray[np.intp]
    """Where the volumes do not fit together."""
    reserved: NDArray[np.intp]
    """Where they would, were it not for what is reserved."""


NOWHERE = JointRefusals(np.zeros(0, np.intp), np.zeros(0, np.intp))


class JointFitColumns:
    """The rule, with what it remembers of each class."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self.charges = PoolCharges(columns)
        self._classes: dict[str, _ClassOffers] = {}
        self._answers: KeptResults[PoolProblem, bool] = KeptResults(KEPT_PROBLEMS)

    def has_ample_capacity(
        self, requests: Collection[ProvisioningQuery], at: Slots | slice
    ) -> bool:
        """Whether nothing has to be searched on any of these nodes, wherever the volumes are to be
        provisioned: the sum of all fits into each extent that one of them would use."""
        offers = {each.class_name: self._offers(each) for each in requests}
        known = [(each.size, found) for each in requests if (found := offers[each.class_name])]
        if len(known) < (1 if self.charges else 2):
            return True
        most = LARGEST // len(known)
        load = sum(min(found.largest_share(size), most) for size, found in known)
        return load < most and all(
            np.minimum.reduce(found.spare.take(found.cells_at(at)), initial=load) >= load
            for found in offers.values()
            if found is not None
        )

    def refused(
        self,
        volumes: Sequence[JointRequest],
        flags: Flags,
        at: Slots | slice,
        mine: Collection[ObjectKey] = NO_CLAIMS,
    ) -> JointRefusals:
        """Among the places without flags. What is reserved for `mine`, claims of the pod, does not
        count.

        Where even the sum of all fits into each extent that one of them would use, nothing has to
        be searched. The others are looked at once for each different set of capacity objects.
        """
        known = [(volume, found) for volume in volumes if (found := self._offers(volume.request))]
        if len(known) < (1 if self.charges else 2):
            return NOWHERE
        cells = [found.cells_at(at) for _, found in known]
        concerned = np.sum([volume.where for volume, _ in known], axis=0) > 1
        for (volume, found), column in zip(known, cells, strict=True):
            concerned |= volume.where & found.is_charged[column]
        places = np.flatnonzero((flags == 0) & concerned & ~_have_ample_capacity(known, cells))
        if not len(places):
            return NOWHERE
        rows = [column[places] for column in cells]
        rows += [volume.where[places].astype(np.int64) for volume, _ in known]
        distinct, which = np.unique(np.stack(rows, axis=1), axis=0, return_inverse=True)
        reasons = [self._reason(known, row, mine) for row in distinct.tolist()]
        together, reserved = (
            np.array([found is reason for found in reasons], np.bool_)[which.ravel()]
            for reason in (TOGETHER, RESERVED)
        )
        return JointRefusals(places[together], places[reserved])

    def do_fit_at(
        self, requests: Iterable[ProvisioningQuery], slot: int, mine: Collection[ObjectKey]
    ) -> bool:
        """Whether such volumes fit together on one node; each by itself does."""
        known = [
            (request.size, found, found.cell_of(slot))
            for request in requests
            if (found := self._offers(request))
        ]
        return self._reason_for(known, mine) is None

    def _reason(
        self,
        known: "Sequence[tuple[JointRequest, _ClassOffers]]",
        row: list[int],
        mine: Collection[ObjectKey],
    ) -> Reason | None:
        """`row` has the cells, and then whether each volume is to be provisioned."""
        cells, are_new = row[: len(known)], row[len(known) :]
        new = [
            (volume.request.size, found, cell)
            for (volume, found), cell, is_new in zip(known, cells, are_new, strict=True)
            if is_new
        ]
        return self._reason_for(new, mine)

    def _reason_for(
        self, new: "Sequence[tuple[int, _ClassOffers, int]]", mine: Collection[ObjectKey]
    ) -> Reason | None:
        """Sizes, and the cells where the volumes are to be had."""
        wanted = [PooledVolume(size, found.offers(cell)) for size, found, cell in new]
        left = [PooledVolume(size, found.left(cell, mine)) for size, found, cell in new]
        is_charged = any(found.is_reserved(cell, mine) for _, found, cell in new)
        if self._do_fit(joint_demand(left, 1 if is_charged else 2)):
            return None
        return RESERVED if is_charged and self._do_fit(joint_demand(wanted)) else TOGETHER

    def _do_fit(self, demand: JointDemand | None) -> bool:
        if demand is None:
            return True
        known = self._answers.get(demand.problem)
        if known is None:
            known = self._answers.keep(demand.problem, do_fit(demand.problem))
        return known

    def _offers(self, request: ProvisioningQuery) -> "_ClassOffers | None":
        """None: nothing is published for its class."""
        name = request.class_name
        published = self._columns.capacity.by_class.get(name)
        storage_class = self._columns.classes.get(name)
        if published is None or storage_class is None:
            return None
        found = self._classes.get(name)
        if found is None or not found.is_about(published, storage_class):
            found = self._classes[name] = _ClassOffers(published, storage_class, self.charges)
        found.refresh()
        return found


def _have_ample_capacity(
    known: "Sequence[tuple[JointRequest, _ClassOffers]]", cells: Sequence[NDArray[np.int64]]
) -> NDArray[np.bool_]:
    """Where the sum of all shares fits into each extent that the volumes would use.

    Each volume can then use the largest extents of its pool: no extent gets more than the sum.
    """
    most = LARGEST // len(known)
    load = np.zeros(len(cells[0]), np.int64)
    for (volume, found), column in zip(known, cells, strict=True):
        load += np.where(volume.where, found.shares(volume.request.size, most)[column], 0)
    is_ample = np.ones(len(load), np.bool_)
    for (volume, found), column in zip(known, cells, strict=True):
        spare = np.minimum(found.spare[column], most - 1)
        is_ample &= ~volume.where | (spare >= load)
    return is_ample


class _ClassOffers:
    """What the capacity objects of one class offer, by cell."""

    def __init__(
        self, published: ClassCapacity, storage_class: StorageClass, charges: PoolCharges
    ) -> None:
        self._published = published
        self._class = storage_class
        self._charges = charges
        self._position = -1
        self._names_pool = find_class_pool(storage_class) is not None
        self._costs: list[Cost | ClassPool | None] = [None]
        """Different ones; None: nothing is taken."""
        self._cost = np.zeros(0, np.intp)
        """By cell, the number of the cost."""
        self.spare = np.zeros(0, np.int64)
        """By cell, the size of the smallest of the extents that a volume would use."""
        self.is_charged = np.zeros(0, np.bool_)
        """By cell, whether something is reserved."""

    def is_about(self, published: ClassCapacity, storage_class: StorageClass) -> bool:
        return self._published is published and self._class is storage_class

    def cells_at(self, at: Slots | slice) -> NDArray[np.int64]:
        cells: NDArray[np.int64] = self._published.cells.of.values[at]
        return cells

    def cell_of(self, slot: int) -> int:
        return int(self._published.cells.of.values[slot])

    def offers(self, cell: int) -> list[Offer]:
        return [self._offer(capacity) for capacity in self._published.in_cell(cell)]

    def left(self, cell: int, mine: Collection[ObjectKey] = NO_CLAIMS) -> list[Offer]:
        """Without what is reserved for other claims than `mine`."""
        return [
            self._charges.apply(self._offer(capacity), capacity, mine)
            for capacity in self._published.in_cell(cell)
        ]

    def is_reserved(self, cell: int, mine: Collection[ObjectKey] = NO_CLAIMS) -> bool:
        """Whether something is, for other claims than `mine`."""
        return any(
            self._charges.are_on(self._offer(capacity), capacity, mine)
            for capacity in self._published.in_cell(cell)
        )

    def shares(self, size: int, most: int) -> NDArray[np.int64]:
        """By cell, what a volume of the size takes of each extent that it uses; at most so much."""
        taken = [0 if cost is None else _share(cost, size) for cost in self._costs]
        return np.array([min(each, most) for each in taken], np.int64)[self._cost]

    def largest_share(self, size: int) -> int:
        """What a volume of the size takes at most of each extent that it uses, in any cell."""
        return max([0 if cost is None else _share(cost, size) for cost in self._costs])

    def refresh(self) -> None:
        cells = self._published.cells
        changed = None if self._position < 0 else cells.log.since(self._position)
        self._position = cells.log.position
        missing = len(cells) - len(self.spare)
        if missing:
            self.spare = np.append(self.spare, np.zeros(missing, np.int64))
            self._cost = np.append(self._cost, np.zeros(missing, np.intp))
            self.is_charged = np.append(self.is_charged, np.zeros(missing, np.bool_))
        for cell in range(len(cells)) if changed is None else changed:
            if (own := self._own_bytes(cell)) is not None:
                self.is_charged[cell], (self.spare[cell], self._cost[cell]) = False, own
                continue
            left, is_charged = self.offers(cell), False
            if self._charges:
                left, is_charged = self._charged(cell, left)
            self.is_charged[cell] = is_charged
            self.spare[cell], self._cost[cell] = self._look(left)
            if is_charged:
                self.spare[cell] = min(self.spare[cell], _most(left))

    def _charged(self, cell: int, offers: Sequence[Offer]) -> tuple[list[Offer], bool]:
        """What is left of the offers, and whether something is reserved."""
        opened = [
            self._charges.open_on(offer, capacity)
            for offer, capacity in zip(offers, self._published.in_cell(cell), strict=True)
        ]
        left = [left_of(offer, each) for offer, each in zip(offers, opened, strict=True)]
        return left, any(map(any, opened))

    def _own_bytes(self, cell: int) -> tuple[int, int] | None:
        """What `_look` finds where one object is about bytes of its own, and nothing is reserved,
        which is so in most clusters; None: something else is there."""
        published = self._published.columns_in(cell)
        if self._names_pool or len(published) != 1 or POOLS in published[0].object.annotations:
            return None
        if self._charges and self._charges.of_pool(PoolId(object=published[0].key)):
            return None
        if (total := find_own_bytes(published[0])) is None:
            return LARGEST - 1, 0
        return min(total, LARGEST - 1), self._number(OWN_BYTES)

    def _offer(self, capacity: CSIStorageCapacity) -> Offer:
        return self._charges.offers.of(capacity, self._class)

    def _look(self, offers: Sequence[Offer]) -> tuple[int, int]:
        """Spare bytes and the number of the cost, in the pool that has most; where several objects
        are about the cell, none: such nodes are searched."""
        if len(offers) != 1:
            return -1, 0
        pools = offers[0].pools
        if pools is None:
            return LARGEST - 1, 0
        spare, pool = max(
            ((_spare(pool), pool) for pool in pools), key=lambda each: each[0], default=(-1, None)
        )
        return min(spare, LARGEST - 1), 0 if pool is None else self._number(pool.cost)

    def _number(self, cost: Cost | ClassPool) -> int:
        if cost not in self._costs:
            self._costs.append(cost)
        return self._costs.index(cost)


def _spare(pool: OfferedPool) -> int:
    """Of as many extents as a volume uses, the largest ones, what the smallest has."""
    number = 1 if isinstance(pool.cost, ClassPool) else max(pool.cost.shares, 1)
    sizes = sorted(pool.free.values(), reverse=True)
    return sizes[number - 1] if number <= len(sizes) else -1


def _most(offers: Sequence[Offer]) -> int:
    """What one volume may take at most of a pool that is charged: its size was judged by what the
    object says, and less is left."""
    sizes = [
        pool.cost.taken(max(offer.limit, 0))
        for offer in offers
        for pool in offer.pools or ()
        if isinstance(pool.cost, ClassPool)
    ]
    return min(sizes, default=LARGEST - 1)


def _share(cost: Cost | ClassPool, size: int) -> int:
    if cost is OWN_BYTES:
        return max(size, 0)
    if isinstance(cost, ClassPool):
        return cost.taken(max(size, 0))
    return cost.share(size) if cost.shares else cost.taken(size)
