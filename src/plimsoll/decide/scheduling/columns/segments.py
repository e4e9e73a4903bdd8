"""Which nodes can be treated alike because the same things reach them.

A segment is what one selector selects. For volumes and capacities of a class the nodes that lie in
the same segments form a cell; what can be had is worked out per cell. Where storage is local every
node is a cell, where it is zonal every zone is one: cost follows what there is to tell apart, not
nodes times objects.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from plimsoll.decide.scheduling.columns.changes import ChangeLog
from plimsoll.decide.scheduling.columns.labels import SAME, LabelIndex, Labels, Terms, do_match
from plimsoll.decide.scheduling.columns.nodes import NodeColumn, NodeIndex, slots_of

Pair = tuple[str, str]
NO_CELL = 0
"""The cell of nodes in no segment at all."""


class Segments:
    """The selectors in use, found by the labels that they ask for.

    When a node changes only the segments are looked at that name one of its labels.
    """

    def __init__(self, labels: LabelIndex) -> None:
        self._labels = labels
        self._ids: dict[Terms, int] = {}
        self._terms: dict[int, Terms] = {}
        self._uses: Counter[int] = Counter()
        self._anchors: dict[int, tuple[Pair, ...]] = {}
        self._by_anchor: dict[Pair, set[int]] = {}
        self._loose: set[int] = set()
        self._next = 0

    def __len__(self) -> int:
        return len(self._terms)

    def acquire(self, terms: Terms) -> int:
        segment = self._ids.get(terms)
        if segment is None:
            segment, self._next = self._next, self._next + 1
            self._ids[terms], self._terms[segment] = segment, terms
            self._anchor(segment, terms)
        self._uses[segment] += 1
        return segment

    def find(self, terms: Terms) -> int | None:
        return self._ids.get(terms)

    def release(self, segment: int) -> None:
        self._uses[segment] -= 1
        if self._uses[segment]:
            return
        del self._uses[segment], self._ids[self._terms.pop(segment)]
        self._loose.discard(segment)
        for pair in self._anchors.pop(segment, ()):
            self._by_anchor[pair].discard(segment)
            if not self._by_anchor[pair]:
                del self._by_anchor[pair]

    def members(self, segment: int) -> int:
        return self._labels.matching(self._terms[segment])

    def crossings(self, old: Labels | None, new: Labels | None) -> list[tuple[int, bool]]:
        """The segments that a node leaves (False) or enters (True); None: it is not there."""
        found = []
        for segment in self._candidates(old, new):
            terms = self._terms[segment]
            was = old is not None and do_match(terms, old)
            is_ = new is not None and do_match(terms, new)
            if was != is_:
                found.append((segment, is_))
        return sorted(found)

    def _candidates(self, old: Labels | None, new: Labels | None) -> set[int]:
        found = set(self._loose)
        for pair in (old or {}).items() | (new or {}).items():
            found |= self._by_anchor.get(pair, set())
        return found

    def _anchor(self, segment: int, terms: Terms) -> None:
        """Every term is found by one label without which it cannot match, the rarest it has."""
        anchors: list[Pair] = []
        for term in terms:
            choices = [
                [(condition.key, value) for value in condition.values]
                for condition in term
                if condition.operator in SAME
            ]
            if not choices:
                self._loose.add(segment)
                return
            anchors += min(choices, key=self._commonness)
        self._anchors[segment] = tuple(dict.fromkeys(anchors))
        for pair in self._anchors[segment]:
            self._by_anchor.setdefault(pair, set()).add(segment)

    def _commonness(self, pairs: Iterable[Pair]) -> int:
        return sum(self._labels.equal_to(*pair).bit_count() for pair in pairs)

    def fork(self, labels: LabelIndex) -> "Segments":
        twin = Segments(labels)
        twin._ids, twin._terms, twin._uses = self._ids.copy(), self._terms.copy(), self._uses.copy()
        twin._anchors, twin._loose = self._anchors.copy(), self._loose.copy()
        twin._by_anchor = {pair: found.copy() for pair, found in self._by_anchor.items()}
        twin._next = self._next
        return twin


class Cells:
    """The nodes, sorted by the segments that they lie in."""

    def __init__(self, index: NodeIndex) -> None:
        self._index = index
        self.of = NodeColumn(index, NO_CELL)
        """By slot, the number of the cell."""
        self._ids: dict[frozenset[int], int] = {frozenset(): NO_CELL}
        self._population = [0]
        self._newest = [0]
        self._free: list[int] = []
        self._under: dict[int, set[int]] = {}
        self.segments: list[frozenset[int]] = [frozenset()]
        """By cell."""
        self.log = ChangeLog()
        """Cells that are new, or in which something else can be had now."""
        self.moves = ChangeLog()
        """Slots that are in another cell now."""

    def __len__(self) -> int:
        return len(self.segments)

    def add(self, segment: int, members: int) -> None:
        """`members` are bits."""
        self._under[segment] = set()
        for slots, segments in self._parts(members):
            self._move(slots, segments | {segment})

    def drop(self, segment: int, members: int) -> None:
        for slots, segments in self._parts(members):
            self._move(slots, segments - {segment})
        del self._under[segment]

    def cross(self, slot: int, segment: int, *, enters: bool) -> None:
        segments = self.segments[self.of.values[slot]]
        self._move([slot], segments | {segment} if enters else segments - {segment})

    def touch(self, segment: int) -> None:
        """Something else can be had in the segment."""
        for cell in self._under[segment]:
            self.log.mark(cell)

    def slots_in(self, cells: Iterable[int]) -> list[int]:
        found: list[int] = []
        for cell in cells:
            sole = self._newest[cell]
            if cell != NO_CELL and self._population[cell] == 1 and self.of.values[sole] == cell:
                found.append(sole)
            elif self._population[cell] or cell == NO_CELL:
                found += np.flatnonzero(self.of.values == cell).tolist()
        return found

    def _parts(self, members: int) -> Iterator[tuple[list[int], frozenset[int]]]:
        """The members cell by cell."""
        by_cell: dict[int, list[int]] = {}
        slots = slots_of(members)
        for slot, cell in zip(slots, self.of.values[slots].tolist(), strict=True):
            by_cell.setdefault(cell, []).append(slot)
        for cell, part in by_cell.items():
            yield part, self.segments[cell]

    def _move(self, slots: list[int], segments: frozenset[int]) -> None:
        """All from the same cell."""
        old, new = int(self.of.values[slots[0]]), self._cell(segments)
        self.of.values[slots] = new
        for slot in slots:
            self.moves.mark(slot)
        self._population[new] += len(slots)
        self._newest[new] = slots[-1]
        if old == NO_CELL:
            return
        self._population[old] -= len(slots)
        if not self._population[old]:
            self._retire(old)

    def _cell(self, segments: frozenset[int]) -> int:
        cell = self._ids.get(segments)
        if cell is not None:
            return cell
        if self._free:
            cell = self._free.pop()
            self.segments[cell] = segments
        else:
            cell = len(self.segments)
            self.segments.append(segments)
            self._population.append(0)
            self._newest.append(0)
        self._ids[segments] = cell
        for segment in segments:
            self._under[segment].add(cell)
        self.log.mark(cell)
        return cell

    def _retire(self, cell: int) -> None:
        segments = self.segments[cell]
        for segment in segments:
            self._under[segment].discard(cell)
        del self._ids[segments]
        self.segments[cell] = frozenset()
        self._population[cell] = 0
        self._free.append(cell)
        self.log.mark(cell)

    def fork(self, index: NodeIndex) -> "Cells":
        twin = Cells(index)
        twin.of = self.of.fork(index)
        twin._ids, twin._population = self._ids.copy(), self._population.copy()
        twin._free, twin.segments = self._free.copy(), self.segments.copy()
        twin._newest = self._newest.copy()
        twin._under = {segment: cells.copy() for segment, cells in self._under.items()}
        twin.log, twin.moves = self.log.fork(), self.moves.fork()
        return twin
