"""What freeing nodes for one pod would cost, and the nodes where it costs least.

It is about nodes that lack nothing but resources. A bound that needs no trial tells which of them
can be best at all, and only these are tried; the answers are kept until the nodes change.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import add, sub

import numpy as np
from numpy.typing import NDArray

from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.nodes import Slots
from plimsoll.decide.scheduling.columns.pods.promised_loads import PromisedNodes
from plimsoll.decide.scheduling.columns.resources import (
    ALL,
    FREE_ROWS,
    USED,
    USUAL,
    Demands,
)
from plimsoll.decide.scheduling.flags import Flags
from plimsoll.decide.scheduling.preemption.choice import LOWEST_PRIORITY
from plimsoll.decide.scheduling.preemption.lower_pods import (
    HOPELESS,
    LARGEST_TIME,
    PRIORITY,
    PROTECTED,
    STARTED,
    LowerPods,
    PodRow,
    bound_of,
)
from plimsoll.decide.scheduling.preemption.returning import Whole, find_leaving, leaving
from plimsoll.decide.scheduling.preemption.victims import Candidate, by_importance
from plimsoll.decide.scheduling.rules.node_resources_fit import FLAGS_OF_USUAL, scalar_flags

PRIORITY_BITS, COUNT_BITS = 33, 12
NO_SUCH_RESOURCE = -1
NEVER_SHORT = -(2**61)
FEW = 8
"""Up to so many nodes plain numbers are faster than arrays."""
FIRST_STEP, GROWTH = 64, 64
"""How many more nodes are tried when the first were not the best, and how that grows."""
NO_SLOTS: Slots = np.zeros(0, np.intp)


@dataclass(slots=True)
class FreedNodes:
    """All by slot. What would be if every pod below a priority left, or only those that must."""

    demands: Demands
    lower: LowerPods
    flags: Flags = field(default_factory=lambda: np.zeros(0, np.uint64))
    """Resources that are short even if all of them leave."""
    violations_and_priority: Whole = field(default_factory=lambda: np.zeros(0, np.int64))
    """The first two criteria of the choice in one number: the least is best."""
    sum_and_count: Whole = field(default_factory=lambda: np.zeros(0, np.int64))
    """The next two."""
    started: Whole = field(default_factory=lambda: np.zeros(0, np.int64))
    """The last one: the greatest is best."""
    is_known: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    """Whether the node was tried since it changed; of other nodes nothing here is true."""
    position: int = 0
    _scalars: list[str] = field(init=False)
    """Resources beside the usual ones that the pod asks for."""
    _bits: list[int] = field(init=False)
    """The flag of each resource."""

    def __post_init__(self) -> None:
        more = scalar_flags(self.demands)
        self._scalars = [name for name, _ in more]
        self._bits = [*USUAL_BITS, *(flag for _, flag in more)]
        self._forget_changed()

    def _forget_changed(self) -> None:
        changed = self.lower.changed.since(self.position)
        self.position = self.lower.changed.position
        size = self.lower.columns.index.size
        if len(self.is_known) != size:
            self.flags = np.zeros(size, np.uint64)
            self.violations_and_priority = np.zeros(size, np.int64)
            self.sum_and_count = np.zeros(size, np.int64)
            self.started = np.zeros(size, np.int64)
            self.is_known = np.zeros(size, np.bool_)
        elif changed is None:
            self.is_known[:] = False
        elif changed:
            self.is_known[[*changed]] = False

    def best_of(self, is_excluded: NDArray[np.bool_] | None = None) -> Slots:
        """Those that the five criteria leave equal; none: no node can be freed. All nodes that are
        not excluded must be short of resources."""
        bounds = self.lower.bounds
        if is_excluded is None:
            least, tried = self.lower.least()
        else:
            bounds = bounds.copy()
            bounds[is_excluded] = HOPELESS
            least = int(bounds.min(initial=HOPELESS))
            tried = (bounds == least).nonzero()[0]
        if least == HOPELESS:
            return NO_SLOTS
        if (alone := self._best_alone(tried)) is not None:
            return alone
        best, step = self._best_among(tried), FIRST_STEP
        while (limit := self.limit_of(best)) > least:
            bounds = bounds.copy() if bounds is self.lower.bounds else bounds
            bounds[tried] = HOPELESS
            tried = np.flatnonzero(bounds <= limit)
            if not len(tried):
                break
            if len(tried) > step:
                tried = tried[np.argpartition(bounds[tried], step)[:step]]
            best, step = self._best_among(np.append(best, tried)), step * GROWTH
        return best

    def _best_alone(self, tried: Slots) -> Slots | None:
        """The best of nodes with one bound, if on each of them no pod must leave but the one that
        the bound is about. None: some must be tried."""
        lower = self.lower
        if len(tried) == 1:
            return tried if self._is_alone(int(tried[0])) else None
        is_free = lower.free.take(tried, axis=0) >= self.demands.least
        if (
            not np.logical_and.reduce(is_free, axis=None)
            or not np.logical_and.reduce(lower.is_exact.take(tried))
            or self._needs_trial(tried.tolist())
        ):
            return None
        started = lower.last[tried, STARTED]
        latest: Slots = tried[started == np.maximum.reduce(started)]
        return latest

    def _is_alone(self, slot: int) -> bool:
        """Whether on a node no pod must leave but the one that its bound is about."""
        lower = self.lower
        return (
            lower.is_exact.item(slot)
            and min(map(sub, lower.free[slot].tolist(), self.demands.least)) >= 0
            and not self._needs_trial((slot,))
        )

    def _needs_trial(self, slots: Sequence[int]) -> bool:
        """Whether more counts on one of the nodes than what is known of all."""
        if self._scalars:
            return True
        if not self.lower.columns.nominations.by_node:
            return False
        promised, names = self._promised, self.lower.columns.index.names
        return bool(len(promised)) and any(promised.load_on(names[slot]) for slot in slots)

    def limit_of(self, best: Slots) -> int:
        """A node with a higher bound is not as good as these."""
        if not len(best):
            return HOPELESS - 1
        slot = int(best[0])
        if self._is_alone(slot):
            return self.lower.bounds.item(slot)
        violations = int(self.violations_and_priority[slot]) >> PRIORITY_BITS
        if violations:
            return HOPELESS - 1
        highest = int(self.violations_and_priority[slot]) + LOWEST_PRIORITY
        is_one = int(self.sum_and_count[slot]) & ((1 << COUNT_BITS) - 1) == 1
        return bound_of(-highest, int(self.started[slot]) if is_one else 0)

    def _best_among(self, slots: Slots) -> Slots:
        self.work_out(slots)
        if len(slots) <= FEW:
            return self._best_of_few(slots.tolist())
        slots = slots[self.flags[slots] == 0]
        for measure in (self.violations_and_priority, self.sum_and_count):
            values = measure[slots]
            slots = slots[values == values.min(initial=HOPELESS)]
        started = self.started[slots]
        latest: Slots = slots[started == started.max(initial=-LARGEST_TIME)]
        return latest

    def _best_of_few(self, slots: list[int]) -> Slots:
        measured = [
            (
                self.violations_and_priority.item(slot),
                self.sum_and_count.item(slot),
                -self.started.item(slot),
                slot,
            )
            for slot in slots
            if not self.flags.item(slot)
        ]
        best = min(measured)[:-1] if measured else ()
        return np.array([each[-1] for each in measured if each[:-1] == best], np.intp)

    def work_out(self, slots: Slots) -> None:
        """Try the nodes that are not known."""
        self._forget_changed()
        if len(slots) > FEW:
            slots = slots[~self.is_known[slots]]
        if len(slots) > FEW:
            slots = slots[~self._work_out_last(slots)]
        if len(slots) > FEW:
            self._work_out_many(slots)
            return
        for slot in slots.tolist():
            if not self.is_known.item(slot):
                self._work_out_one(slot)

    def _work_out_last(self, at: Slots) -> NDArray[np.bool_]:
        """Of nodes where it is enough that the pod leaves whose turn to come back is last. Then all
        others can stay. Returns which these are."""
        last = self.lower.last[at].T
        taken = self._with_scalars(last[: len(USUAL_BITS)], (at, self.lower.counts[at] - 1))
        free = self._free(at) + taken
        is_enough: NDArray[np.bool_] = np.logical_and.reduce(free >= 0, axis=0)
        ranks = last[PRIORITY] - LOWEST_PRIORITY
        # What is written of the others counts for nothing.
        self.is_known[at] = is_enough
        self.flags[at] = 0
        self.violations_and_priority[at] = (last[PROTECTED] << PRIORITY_BITS) + ranks
        self.sum_and_count[at] = (ranks << COUNT_BITS) + 1
        self.started[at] = last[STARTED]
        return is_enough

    def _work_out_one(self, slot: int) -> None:
        rows = self.lower.rows_of(slot)
        flags, places = self._trial(slot, rows)
        gone = [rows[place] for place in places]
        highest = max((row[PRIORITY] for row in gone), default=LOWEST_PRIORITY)
        violations = sum(row[PROTECTED] for row in gone)
        sums = sum(row[PRIORITY] - LOWEST_PRIORITY for row in gone)
        first = (row[STARTED] for row in gone if row[PRIORITY] == highest)
        self.is_known[slot] = True
        self.flags[slot] = flags
        self.violations_and_priority[slot] = (
            (violations << PRIORITY_BITS) + highest - LOWEST_PRIORITY
        )
        self.sum_and_count[slot] = (sums << COUNT_BITS) + len(gone)
        self.started[slot] = min(first, default=LARGEST_TIME)

    def _trial(self, slot: int, rows: Sequence[PodRow]) -> tuple[int, list[int]]:
        """What is short on one node if all leave, and the places of those who cannot come back."""
        free, taken = self._amounts_at(slot, rows)
        if taken and min(map(add, free, taken[-1])) >= 0:
            return 0, [len(taken) - 1]
        for each in taken:
            free = [*map(add, free, each)]
        short = [bit for there, bit in zip(free, self._bits, strict=True) if there < 0]
        return sum(short), find_leaving(free, taken)

    def _amounts_at(
        self, slot: int, rows: Sequence[PodRow]
    ) -> tuple[list[int], Sequence[Sequence[int]]]:
        """What is free on one node beside the pod, and by place what each of the others takes."""
        columns = self.lower.columns
        free = [*map(sub, columns.resources.row(slot)[FREE_ROWS], self.demands.least)]
        if names := self._scalars:
            at = np.array([slot], np.intp)
            free += [
                int(_spare(columns, each, at)[0]) - self.demands.amounts[each] for each in names
            ]
            held = zip(*(self.lower.held_of(name)[slot].tolist() for name in names), strict=True)
            rows = [(*row[: len(USUAL_BITS)], *more) for row, more in zip(rows, held, strict=False)]
        if promised := self._promised.load_on(columns.index.names[slot]):
            free = [*map(sub, free, map(promised.get, (*USUAL, *names)))]
        return free, rows

    def _work_out_many(self, at: Slots) -> None:
        places = int(self.lower.counts[at].max(initial=0))
        table = np.ascontiguousarray(self.lower.table[at, :places].T)
        taken = self._with_scalars(table[: len(USUAL_BITS)], (at, slice(places)))
        free = self._free(at) + taken.sum(axis=1)
        bits = np.array(self._bits, np.uint64)[:, None]
        self.is_known[at] = True
        self.flags[at] = np.bitwise_or.reduce((free < 0) * bits, axis=0)
        goes = leaving(free, taken) & (np.arange(places)[:, None] < self.lower.counts[at])
        priorities, started, protected = table[PRIORITY], table[STARTED], table[PROTECTED]
        highest = np.where(goes, priorities, LOWEST_PRIORITY).max(axis=0, initial=LOWEST_PRIORITY)
        violations = (protected * goes).sum(axis=0)
        sums = ((priorities - LOWEST_PRIORITY) * goes).sum(axis=0)
        self.violations_and_priority[at] = (violations << PRIORITY_BITS) + highest - LOWEST_PRIORITY
        self.sum_and_count[at] = (sums << COUNT_BITS) + goes.sum(axis=0)
        is_first = goes & (priorities == highest)
        self.started[at] = np.where(is_first, started, LARGEST_TIME).min(
            axis=0, initial=LARGEST_TIME
        )

    def _free(self, at: Slots) -> Whole:
        """By resource and slot, what is free beside the pod: less than nothing if it is short."""
        columns, least = self.lower.columns, self.demands.least_rest
        rows = columns.resources.rows(at)
        spare: Whole = rows[FREE_ROWS]
        if names := self._scalars:
            spare = np.concatenate([spare, [_spare(columns, name, at) for name in names]])
            wanted = np.array([[self.demands.amounts[name]] for name in names], np.int64)
            least = np.concatenate([least, wanted])
        # What the pod does not ask for is never short, and numbers must stay within 64 bits.
        free: Whole = spare - np.maximum(least, NEVER_SHORT)
        return free - self._promised_at(at) if len(self._promised) else free

    def _promised_at(self, at: Slots) -> Whole:
        """By resource and slot, what pods take that the nodes were promised to."""
        columns, promised, names = self.lower.columns, self._promised, self._scalars
        slots, amounts = promised.slots_and_usual(columns.index, columns.stamp)
        if names:
            held = [promised.held_of(name, columns.index) for name in names]
            amounts = np.concatenate([amounts, held])
        everywhere = np.zeros((len(amounts), columns.index.size), np.int64)
        everywhere[:, slots] = amounts
        return everywhere[:, at]

    @property
    def _promised(self) -> PromisedNodes:
        return self.lower.columns.promised.of(self.lower.priority)

    def _with_scalars(self, usual: Whole, at: tuple[Slots, Slots | slice]) -> Whole:
        """What pods take of the usual resources, followed by the others that the pod asks for;
        `at` are their slots and places."""
        if not self._scalars:
            return usual
        return np.concatenate([usual, [self.lower.held_of(name)[at].T for name in self._scalars]])

    def candidate(self, slot: int) -> Candidate:
        """Of a node that lacks nothing but resources, and has enough of them without the pods."""
        columns = self.lower.columns
        if self._is_alone(slot):
            victim = columns.pods.get(self.lower.keys[slot][-1])
            return Candidate(columns.index.names[slot], (victim,) if victim else (), 0)
        _, places = self._trial(slot, self.lower.rows_of(slot))
        keys = sorted(self.lower.keys[slot][place] for place in places)
        # The newest versions: the table is not told of changes that make no difference to it.
        victims = [pod for key in keys if (pod := columns.pods.get(key)) is not None]
        violations = int(self.violations_and_priority[slot]) >> PRIORITY_BITS
        return Candidate(columns.index.names[slot], tuple(by_importance(victims)), violations)


USUAL_BITS: list[int] = FLAGS_OF_USUAL.tolist()


def _spare(columns: Columns, name: str, at: Slots) -> Whole:
    table = columns.resources.scalars.get(name)
    if table is None:
        return np.full(len(at), NO_SUCH_RESOURCE, np.int64)
    spare: Whole = table.values[ALL, at] - table.values[USED, at]
    return spare
