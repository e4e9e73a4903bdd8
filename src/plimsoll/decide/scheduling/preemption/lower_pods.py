"""The pods below a priority on every node, in columns: what each takes, in the order in which they
are asked to come back when all of them have left.

Only nodes that changed are read again: where pods came or went, or a budget allows another number.
"""

from collections.abc import Iterable, Sequence
from operator import add
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.changes import ChangeLog
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.nodes import Slots
from plimsoll.decide.scheduling.columns.resources import FREE_ROWS, LARGEST_AMOUNT, USUAL, Demands
from plimsoll.decide.scheduling.preemption.choice import LOWEST_PRIORITY
from plimsoll.decide.scheduling.preemption.victims import NOT_STARTED

LARGEST_TIME = 2**62
MICROSECONDS = 1_000_000
PRIORITY, STARTED, PROTECTED = 4, 5, 6
"""Rows after those of the usual resources."""
ROWS = 7
PodRow = tuple[int, ...]
"""What is kept of one pod, by row."""
FEW_PLACES = 8
MINUTE, MINUTE_BITS = 60 * MICROSECONDS, 31
LAST_MINUTE = (1 << MINUTE_BITS) - 1
HOPELESS = 2**63 - 1
"""The bound of a node that has no pods that could leave."""


def start_number(pod: Pod) -> int:
    """Microseconds; pods that have not started come last."""
    at = pod.status.start_time
    if at is None or at == NOT_STARTED:
        return LARGEST_TIME
    return int(at.timestamp() * MICROSECONDS)


class RankedPod(NamedTuple):
    """One of those that may be evicted: sorted, the most important comes first."""

    above: int
    """The priority, less than nothing if it is high."""
    started: int
    key: ObjectKey
    pod: Pod
    demands: Demands
    row: PodRow
    """As long as no budget protects it."""

    @classmethod
    def of(cls, pod: Pod, demands: Demands) -> "RankedPod":
        started = start_number(pod)
        row = (*demands.usual, pod.priority, started, False)
        return cls(-pod.priority, started, pod.key, pod, demands, row)


def bound_of(above: int, started: int) -> int:
    """One number for a pod that leaves alone, of what `RankedPod` says of it: the greater, the more
    it hurts. The time counts in minutes."""
    minute = min(max(started // MINUTE, 0), LAST_MINUTE)
    return (-above - LOWEST_PRIORITY << MINUTE_BITS) + LAST_MINUTE - minute


class LowerPods:
    """Of one priority; belongs to one set of columns."""

    def __init__(self, priority: int, columns: Columns) -> None:
        self.priority = priority
        self.columns = columns
        self._ranked: dict[int, dict[ObjectKey, RankedPod]] = {}
        """By slot."""
        self.keys: dict[int, Sequence[ObjectKey]] = {}
        """By slot, the pods in their order."""
        self.rows: dict[int, list[PodRow]] = {}
        """By slot and place in the order: one node is looked at more often than all are."""
        self._table: NDArray[np.int64] = np.zeros((0, FEW_PLACES, ROWS), np.int64)
        self._unwritten: set[int] = set()
        """Slots of which the table does not know yet what is in the rows."""
        self.last: NDArray[np.int64] = np.zeros((0, ROWS), np.int64)
        """By slot and row: the pod that comes last in the order."""
        self.free: NDArray[np.int64] = np.zeros((0, len(USUAL)), np.int64)
        """By slot, what would be free of the usual resources if that pod alone left."""
        self.is_exact: NDArray[np.bool_] = np.zeros(0, np.bool_)
        """By slot, whether it would hurt just as the bound says."""
        self.scalars: dict[str, NDArray[np.int64]] = {}
        """Of each resource beside the usual ones, by slot and place."""
        self.counts: NDArray[np.int64] = np.zeros(0, np.int64)
        """By slot."""
        self.bounds: NDArray[np.int64] = np.zeros(0, np.int64)
        """By slot: freeing the node hurts at least as if one pod left that has this bound, whatever
        the waiting pod asks for."""
        self._least: tuple[int, set[int]] | None = None
        """The least bound and the slots that have it; None: it must be looked for."""
        self.changed = ChangeLog()
        """Slots that were read again."""
        self._budgets: dict[ObjectKey, set[int]] = {}
        """Slots that have a pod of the budget."""
        self._position = self._budget_position = self._promise_position = 0
        self._stamp: tuple[int, int] | None = None

    @property
    def table(self) -> NDArray[np.int64]:
        """By slot, place in the order, and row. Where there is no pod all is zero."""
        for slot in self._unwritten:
            rows = self.rows[slot]
            self._table[slot] = 0
            if rows:
                self._table[slot, : len(rows)] = rows
        self._unwritten.clear()
        return self._table

    def refresh(self) -> None:
        columns = self.columns
        changed = columns.loads.since(self._position)
        budgets = columns.budgets.changes.since(self._budget_position)
        stamp = columns.budgets.stamp, columns.index.size
        is_all = changed is None or budgets is None or stamp != self._stamp
        self._position = columns.loads.position
        self._budget_position, self._stamp = columns.budgets.changes.position, stamp
        self._grow(places=0)
        if is_all or changed is None or budgets is None:
            self._read(range(columns.index.size))
            return
        for key in budgets:
            changed |= self._budgets.get(key, set())
        self._read(sorted(changed))
        self._note_promises()

    def _note_promises(self) -> None:
        """Where a node was promised to others than before, more or less of it is free."""
        nominations, index = self.columns.nominations, self.columns.index
        nodes = nominations.changes.since(self._promise_position)
        self._promise_position = nominations.changes.position
        for slot in range(index.size) if nodes is None else map(index.find, nodes):
            if slot is not None:
                self.changed.mark(slot)

    def _read(self, slots: Iterable[int]) -> None:
        columns = self.columns
        for slot in slots:
            ranked = self._ranked_on(slot, columns.index.names[slot])
            if ranked or slot in self.keys:
                self._write(slot, ranked)
            self.changed.mark(slot)

    def _ranked_on(self, slot: int, name: str) -> list[RankedPod]:
        """In the order of `pods_below`. Most pods of a node were there before; where there is no
        node there are none."""
        pods, before = self.columns.pods, self._ranked.get(slot, {})
        found: dict[ObjectKey, RankedPod] = {}
        for key, pod in pods.by_key_on(name).items():
            known = before.get(key)
            if known is not None and known.pod is pod:
                found[key] = known
            elif pod.priority < self.priority:
                found[key] = RankedPod.of(pod, pods.demands_of(key))
        self._ranked[slot] = found
        return sorted(found.values())

    def _write(self, slot: int, ranked: list[RankedPod]) -> None:
        self._grow(places=len(ranked))
        bound = bound_of(*ranked[-1][:2]) if ranked else HOPELESS
        self.bounds[slot] = bound
        self._compare(slot, bound)
        protected = self._protected(slot, ranked)
        if protected:
            ranked = sorted(ranked, key=lambda each: each.key not in protected)
            rows = [(*each.row[:PROTECTED], each.key in protected) for each in ranked]
        else:
            rows = [each.row for each in ranked]
        self.rows[slot] = rows
        self._unwritten.add(slot)
        if rows:
            self._write_last(slot, rows[-1], bound)
        self.keys[slot] = [each.key for each in ranked]
        self.counts[slot] = len(rows)
        self._write_scalars(slot, [each.demands for each in ranked])

    def _write_last(self, slot: int, row: PodRow, bound: int) -> None:
        free = self.columns.resources.row(slot)[FREE_ROWS]
        self.last[slot] = row
        self.free[slot] = [min(amount, HOPELESS) for amount in map(add, free, row)]
        is_bound = bound_of(-row[PRIORITY], row[STARTED]) == bound
        self.is_exact[slot] = is_bound and not row[PROTECTED]

    def _compare(self, slot: int, bound: int) -> None:
        """With the least bound, after the node has got another."""
        if self._least is None:
            return
        least, slots = self._least
        if bound < least:
            self._least = bound, {slot}
            return
        if bound == least:
            slots.add(slot)
        else:
            slots.discard(slot)
        if not slots:
            self._least = None

    def least(self) -> tuple[int, Slots]:
        """The least bound, and the slots that have it, in no order. One node changes after each
        eviction, so mostly it is known without a look at all of them."""
        if self._least is None:
            least = int(np.minimum.reduce(self.bounds, initial=HOPELESS))
            self._least = least, set((self.bounds == least).nonzero()[0].tolist())
        bound, slots = self._least
        return bound, np.fromiter(slots, np.intp, len(slots))

    def _protected(self, slot: int, ranked: Iterable[RankedPod]) -> set[ObjectKey]:
        """Those that would go beyond a budget if all went."""
        budgets = self.columns.budgets
        if budgets.is_empty:
            return set()
        pods = [each.pod for each in ranked]
        for pod in pods:
            for key in budgets.selecting(pod):
                self._budgets.setdefault(key, set()).add(slot)
        return budgets.violated_by(pods)

    def _write_scalars(self, slot: int, demands: Iterable[Demands]) -> None:
        for amounts in self.scalars.values():
            amounts[slot] = 0
        for place, taken in enumerate(demands):
            if len(taken.amounts) == len(USUAL):
                continue
            for name in taken.scalars:
                if name not in self.scalars:
                    self.scalars[name] = np.zeros(self._table.shape[:2], np.int64)
                self.scalars[name][slot, place] = min(taken.amounts[name], LARGEST_AMOUNT)

    def _grow(self, places: int) -> None:
        old_size, old_places, _ = self._table.shape
        size = self.columns.index.size
        more = max(places, old_places)
        if (more, size) == (old_places, old_size):
            return
        if more > old_places:
            more = max(more, 2 * old_places)
        slots, widths = (0, size - old_size), (0, more - old_places)
        self._table = np.pad(self._table, (slots, widths, (0, 0)))
        self.scalars = {name: np.pad(each, (slots, widths)) for name, each in self.scalars.items()}
        self.last = np.pad(self.last, (slots, (0, 0)))
        self.free = np.pad(self.free, (slots, (0, 0)))
        self.is_exact = np.pad(self.is_exact, slots)
        self.counts = np.pad(self.counts, slots)
        self.bounds = np.pad(self.bounds, slots, constant_values=HOPELESS)
        self._least = None

    def rows_of(self, slot: int) -> Sequence[PodRow]:
        """Of one node, by place: what is in the rows of the table."""
        return self.rows.get(slot, ())

    def held_of(self, name: str) -> NDArray[np.int64]:
        """Of a resource beside the usual ones, by slot and place."""
        held = self.scalars.get(name)
        return np.zeros(self._table.shape[:2], np.int64) if held is None else held
