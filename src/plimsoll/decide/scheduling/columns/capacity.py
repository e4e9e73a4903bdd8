"""Per class and node the largest volume that can still be provisioned, as drivers have published.

Kept per cell of nodes that the same capacity objects are about, and updated for the cells that an
object covers when it changes.
"""

from bisect import insort
from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plimsoll.api.meta import ObjectKey
from plimsoll.api.quantity import Quantity, parse_quantity
from plimsoll.api.storage import CSIStorageCapacity
from plimsoll.decide.capacity.pools import POOLS, find_pools
from plimsoll.decide.capacity.tokens import CAPACITY_TOKEN
from plimsoll.decide.scheduling.columns.changes import Log
from plimsoll.decide.scheduling.columns.labels import Terms, segment_terms
from plimsoll.decide.scheduling.columns.nodes import NodeIndex, Slots
from plimsoll.decide.scheduling.columns.segments import Cells, Segments

Numbers = NDArray[np.int64]

NOT_PUBLISHED = -(2**62)
"""No capacity was published for the node."""
UNKNOWN = -1
"""Published without a number: nothing fits."""


def largest_volume(capacity: CSIStorageCapacity) -> Quantity | None:
    """The size of the largest volume that can be provisioned; None: unknown, so none can."""
    text = capacity.maximum_volume_size
    if text is None:
        text = capacity.capacity
    return None if text is None else parse_quantity(text)


PoolSource = str | Terms | ObjectKey
"""The name of a pool, a segment, or one object."""


class PoolId(NamedTuple):
    """Which bytes: those of a pool that the driver names; of one that classes name, in a segment;
    or of one capacity object alone."""

    driver: str = ""
    name: str = ""
    terms: Terms | None = None
    object: ObjectKey | None = None

    @property
    def source(self) -> PoolSource:
        """By which objects that are about it are found."""
        if self.object is not None:
            return self.object
        return self.name if self.terms is None else self.terms


class PublishedColumn(NamedTuple):
    key: ObjectKey
    segment: int | None
    """None: it is about no node."""
    terms: Terms
    """Of the segment."""
    limit: int
    capacity: int
    object: CSIStorageCapacity


class ClassCapacity:
    """What was published for one class."""

    def __init__(self, index: NodeIndex, segments: Segments) -> None:
        self._segments = segments
        self._published: dict[ObjectKey, PublishedColumn] = {}
        self._by_segment: dict[int, list[ObjectKey]] = {}
        self._key_uses: Counter[str] = Counter()
        self.keys: frozenset[str] = frozenset()
        """The labels by which the objects tell nodes apart."""
        self._largest = np.full(1, NOT_PUBLISHED, np.int64)
        self._capacity = np.full(1, UNKNOWN, np.int64)
        self._crowded: set[int] = set()
        self._declaring = 0
        self._position = 0
        self.cells = Cells(index)

    def __len__(self) -> int:
        return len(self._published)

    @property
    def declares_pools(self) -> bool:
        """Whether any of the objects lists pools."""
        return self._declaring > 0

    def all(self) -> list[CSIStorageCapacity]:
        return [self._published[key].object for key in sorted(self._published)]

    def uses(self, segment: int) -> bool:
        return segment in self._by_segment

    def get(self, key: ObjectKey) -> CSIStorageCapacity:
        return self._published[key].object

    def terms_of(self, key: ObjectKey) -> Terms:
        """Which nodes the object is about."""
        return self._published[key].terms

    def in_segment(self, segment: int | None) -> list[CSIStorageCapacity]:
        keys = self._by_segment.get(segment, ()) if segment is not None else ()
        return [self._published[key].object for key in keys]

    def touch(self, key: ObjectKey) -> None:
        """What can be had of the object is another, though the object is not."""
        published = self._published.get(key)
        if published is not None and published.segment is not None:
            self.cells.touch(published.segment)

    def put(self, object_: CSIStorageCapacity) -> None:
        key = object_.key
        old = self._published.get(key)
        if old is None or old.object.node_topology != object_.node_topology:
            self.remove(key)
            terms = segment_terms(object_.node_topology)
            segment = self._enter(object_, terms)
        else:
            segment, terms = old.segment, old.terms
            self._declaring -= POOLS in old.object.annotations
        self._declaring += POOLS in object_.annotations
        limit = largest_volume(object_)
        self._published[key] = PublishedColumn(
            key,
            segment,
            terms,
            UNKNOWN if limit is None else limit.value,
            UNKNOWN if object_.capacity is None else parse_quantity(object_.capacity).value,
            object_,
        )
        if segment is not None:
            self.cells.touch(segment)

    def _enter(self, object_: CSIStorageCapacity, terms: Terms) -> int | None:
        """Find the object's segment a place among the cells."""
        self._count_keys(object_, 1)
        if not terms:
            return None
        segment = self._segments.acquire(terms)
        if segment not in self._by_segment:
            self._by_segment[segment] = []
            self.cells.add(segment, self._segments.members(segment))
        insort(self._by_segment[segment], object_.key)
        return segment

    def remove(self, key: ObjectKey) -> None:
        published = self._published.pop(key, None)
        if published is None:
            return
        self._count_keys(published.object, -1)
        self._declaring -= POOLS in published.object.annotations
        segment = published.segment
        if segment is None:
            return
        self._by_segment[segment].remove(key)
        self.cells.touch(segment)
        if not self._by_segment[segment]:
            del self._by_segment[segment]
            self.cells.drop(segment, self._segments.members(segment))
        self._segments.release(segment)

    def _count_keys(self, object_: CSIStorageCapacity, step: int) -> None:
        topology = object_.node_topology
        if topology is None:
            return
        keys = topology.match_labels.keys() | {e.key for e in topology.match_expressions}
        for key in keys:
            self._key_uses[key] += step
            if not self._key_uses[key]:
                del self._key_uses[key]
        if self._key_uses.keys() != self.keys:
            self.keys = frozenset(self._key_uses)

    def read(self, wanted: int, at: Slots | slice) -> tuple[Numbers, Numbers]:
        """For the nodes in the slots `at`: the largest volume that can be provisioned, and all that
        the object reports of which a volume of the wanted size would be taken."""
        self._refresh()
        cells = self.cells.of.values[at]
        return self._largest.take(cells), self._capacities(wanted).take(cells)

    def _capacities(self, wanted: int) -> Numbers:
        if not self._crowded:
            return self._capacity
        found = self._capacity.copy()
        for cell in self._crowded:
            published = self._find(cell, wanted)
            found[cell] = UNKNOWN if published is None else published.capacity
        return found

    def find(self, slot: int, wanted: int) -> CSIStorageCapacity | None:
        """The first about the node that is large enough for a volume of the size."""
        published = self._find(int(self.cells.of.values[slot]), wanted)
        return None if published is None else published.object

    def covering(self, slot: int) -> list[CSIStorageCapacity]:
        """Those that are about the node."""
        return self.in_cell(int(self.cells.of.values[slot]))

    def in_cell(self, cell: int) -> list[CSIStorageCapacity]:
        """Those that are about the nodes of the cell."""
        return [published.object for published in self.columns_in(cell)]

    def _find(self, cell: int, wanted: int) -> PublishedColumn | None:
        covering = self.columns_in(cell)
        return next((each for each in covering if each.limit >= max(wanted, 0)), None)

    def columns_in(self, cell: int) -> list[PublishedColumn]:
        """The same, as read."""
        keys = [key for seg in self.cells.segments[cell] for key in self._by_segment[seg]]
        if len(keys) > 1:
            keys.sort()
        return [self._published[key] for key in keys]

    def _refresh(self) -> None:
        changed = self.cells.log.since(self._position)
        self._position = self.cells.log.position
        missing = len(self.cells.segments) - len(self._largest)
        if missing:
            self._largest = np.append(self._largest, np.full(missing, NOT_PUBLISHED, np.int64))
            self._capacity = np.append(self._capacity, np.full(missing, UNKNOWN, np.int64))
        for cell in range(len(self._largest)) if changed is None else changed:
            self._refresh_cell(cell)

    def _refresh_cell(self, cell: int) -> None:
        covering = self.columns_in(cell)
        self._capacity[cell] = covering[0].capacity if covering else UNKNOWN
        if len(covering) > 1:
            self._largest[cell] = max(each.limit for each in covering)
            self._crowded.add(cell)
        else:
            self._largest[cell] = covering[0].limit if covering else NOT_PUBLISHED
            self._crowded.discard(cell)

    def fork(self, index: NodeIndex, segments: Segments) -> "ClassCapacity":
        twin = ClassCapacity(index, segments)
        twin._published, twin.keys = self._published.copy(), self.keys
        twin._key_uses = self._key_uses.copy()
        twin._by_segment = {segment: keys.copy() for segment, keys in self._by_segment.items()}
        twin._largest, twin._capacity = self._largest.copy(), self._capacity.copy()
        twin._crowded, twin._position = self._crowded.copy(), self._position
        twin._declaring = self._declaring
        twin.cells = self.cells.fork(index)
        return twin


class CapacityColumns:
    """What was published, by class."""

    def __init__(self, index: NodeIndex, segments: Segments) -> None:
        self._index = index
        self._segments = segments
        self.by_class: dict[str, ClassCapacity] = {}
        """Without classes that nothing is published for."""
        self._class_of: dict[ObjectKey, str] = {}
        self._naming: dict[str, set[ObjectKey]] = {}
        """By the name of a pool."""
        self._pools: dict[ObjectKey, tuple[str, ...]] = {}
        self.changed: Log[PoolSource] = Log()
        """Which pools the objects that changed are about, or were."""
        self.declaring_stamp = 0
        """Another number whenever a class declares pools that declared none, or the reverse."""
        self.reports = 0
        """How many times an object that was there has told something else."""
        self.reported_numbers: dict[ObjectKey, tuple[int, int]] = {}
        """By object, the numbers of its last report but one, and of its last."""

    def put(self, object_: CSIStorageCapacity) -> None:
        key, name = object_.key, object_.storage_class_name
        self._count_report(key, object_)
        if self._class_of.get(key, name) != name:
            self.remove(key)
        self._class_of[key] = name
        if name not in self.by_class:
            self.by_class[name] = ClassCapacity(self._index, self._segments)
        table = self.by_class[name]
        was_declaring = table.declares_pools
        table.put(object_)
        self.declaring_stamp += table.declares_pools != was_declaring
        found = (find_pools(object_.annotations) or ()) if POOLS in object_.annotations else ()
        self._name_pools(key, tuple([pool.name for pool in found]))
        self._mark(key)

    def _count_report(self, key: ObjectKey, object_: CSIStorageCapacity) -> None:
        name = self._class_of.get(key)
        if name is None or _report(self.by_class[name].get(key)) == _report(object_):
            return
        self.reports += 1
        _, last = self.reported_numbers.get(key, (0, 0))
        self.reported_numbers[key] = last, self.reports

    def has_reported_twice(self, key: ObjectKey, since: int) -> bool:
        """Whether the object has told something else at least twice after so many reports."""
        return self.reported_numbers.get(key, (0, 0))[0] > since

    def take_over(self, other: "CapacityColumns") -> None:
        """After the same objects were put: what the other has seen and no object tells."""
        self.reports, self.reported_numbers = other.reports, other.reported_numbers.copy()

    def _mark(self, key: ObjectKey) -> None:
        self.changed.mark(key)
        if terms := self.by_class[self._class_of[key]].terms_of(key):
            self.changed.mark(terms)
        for name in self._pools.get(key, ()):
            self.changed.mark(name)

    def _name_pools(self, key: ObjectKey, names: tuple[str, ...]) -> None:
        before = self._pools.get(key, ())
        if before == names:
            return
        for name in before:
            self._naming[name].discard(key)
            self.changed.mark(name)
        for name in names:
            self._naming.setdefault(name, set()).add(key)
        self._pools[key] = names

    def touch(self, pool: PoolId) -> None:
        """What is left of the pool is another, for all objects that are about it."""
        for object_ in self.about(pool):
            self.by_class[object_.storage_class_name].touch(object_.key)

    def about(self, pool: PoolId) -> list[CSIStorageCapacity]:
        """Objects that may be about the pool: where classes name it, all of its segment."""
        if pool.terms is not None:
            segment = self._segments.find(pool.terms)
            tables = self.by_class.values() if segment is not None else ()
            return [each for table in tables for each in table.in_segment(segment)]
        keys = self._naming.get(pool.name, set()) if pool.object is None else {pool.object}
        return [
            self.by_class[self._class_of[key]].get(key) for key in keys if key in self._class_of
        ]

    def remove(self, key: ObjectKey) -> None:
        name = self._class_of.get(key)
        if name is None:
            return
        self._mark(key)
        self._name_pools(key, ())
        self._pools.pop(key, None)
        del self._class_of[key]
        self.reported_numbers.pop(key, None)
        table = self.by_class[name]
        was_declaring = table.declares_pools
        table.remove(key)
        self.declaring_stamp += table.declares_pools != was_declaring
        if not len(table):
            del self.by_class[name]

    def cross(self, slot: int, crossings: list[tuple[int, bool]]) -> None:
        for capacity in self.by_class.values():
            for segment, enters in crossings:
                if capacity.uses(segment):
                    capacity.cells.cross(slot, segment, enters=enters)

    def fork(self, index: NodeIndex, segments: Segments) -> "CapacityColumns":
        twin = CapacityColumns(index, segments)
        twin.take_over(self)
        twin.changed, twin.declaring_stamp = self.changed.fork(), self.declaring_stamp
        twin._class_of = self._class_of.copy()
        twin._naming = {name: keys.copy() for name, keys in self._naming.items()}
        twin._pools = self._pools.copy()
        twin.by_class = {
            name: capacity.fork(index, segments) for name, capacity in self.by_class.items()
        }
        return twin


def _report(object_: CSIStorageCapacity) -> tuple[object, ...]:
    """What the driver has said."""
    told = object_.annotations
    numbers = object_.capacity, object_.maximum_volume_size
    return *numbers, told.get(POOLS), told.get(CAPACITY_TOKEN)
