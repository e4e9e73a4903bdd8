"""How many pods on each node match a selector, for the selectors that rules ask about.

The first question about a selector looks at all kinds of pods that it may match; after that a pod
that comes or goes changes the counts of the selectors that it matches, on its node. Where there are
too many counts, the one that no rule has asked for longest is given up.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.nodes import NodeColumn, NodeIndex, Slots
from plimsoll.decide.scheduling.columns.pods.alike import AlikePods
from plimsoll.decide.scheduling.columns.pods.matching import SelectorIndex
from plimsoll.decide.scheduling.pod_terms import Labels, PodSelector, match_all

KEPT_COUNTS = 256
MANY = 32
"""Where one in so many nodes has a pod it is faster to look at all nodes."""


@dataclass(frozen=True, slots=True)
class CountedPods:
    """Pods that match every one of some selectors; there is at least one."""

    selectors: tuple[PodSelector, ...]
    with_terminating: bool = True
    """Whether pods count that are being deleted."""

    def includes(self, pod: Pod, namespace_labels: Labels | None) -> bool:
        if pod.is_being_deleted and not self.with_terminating:
            return False
        return match_all(self.selectors, pod, namespace_labels)


@dataclass(slots=True)
class CountColumn:
    """By slot."""

    numbers: NodeColumn
    by_slot: dict[int, int] = field(default_factory=dict)
    """The same where it is not zero."""

    def add(self, slot: int, step: int) -> None:
        number = self.by_slot.pop(slot, 0) + step
        self.numbers.values[slot] = number
        if number:
            self.by_slot[slot] = number

    def clear(self, slot: int) -> None:
        self.numbers.values[slot] = 0
        self.by_slot.pop(slot, None)

    def slots(self) -> Slots:
        """Those where it is not zero, in no order."""
        values, number = self.numbers.values, len(self.by_slot)
        if number > len(values) // MANY:
            found: Slots = (values != 0).nonzero()[0]
            return found
        return np.fromiter(self.by_slot, np.intp, number)


class PodCounts:
    def __init__(self, index: NodeIndex, namespaces: dict[str, Labels]) -> None:
        """The namespaces are those that exist, with their labels; their owner keeps them true."""
        self._index = index
        self._pods = AlikePods()
        self._namespaces = namespaces
        self._counts: dict[CountedPods, CountColumn] = {}
        """In the order in which they were last asked for."""
        self._by_first: SelectorIndex[CountedPods] = SelectorIndex()
        """By the first of their selectors."""

    def of(self, counted: CountedPods) -> NDArray[np.int64]:
        """By slot. Worth something until the next change."""
        return self.column_of(counted).numbers.values

    def column_of(self, counted: CountedPods) -> CountColumn:
        column = self._counts.pop(counted, None)
        if column is None:
            return self._register(counted)
        self._counts[counted] = column
        return column

    def add(self, pod: Pod, slot: int, step: int) -> None:
        """A pod came to the node in the slot (1), or left it (-1)."""
        self._pods.add(pod, slot, step)
        labels = self._namespaces.get(pod.namespace)
        for counted in self._by_first.matching(pod, labels):
            if counted.includes(pod, labels):
                self._counts[counted].add(slot, step)

    def clear_node(self, slot: int) -> None:
        self._pods.clear_node(slot)
        for column in self._counts.values():
            column.clear(slot)

    def change_namespace(self) -> None:
        """Some selectors match other pods now."""
        for counted in [*self._counts]:
            if any(not each.namespace_labels.selects_nothing for each in counted.selectors):
                self._forget(counted)

    def _register(self, counted: CountedPods) -> CountColumn:
        if len(self._counts) >= KEPT_COUNTS:
            self._forget(next(iter(self._counts)))
        column = CountColumn(NodeColumn(self._index, 0))
        for kind in self._pods.candidates(counted.selectors[0]):
            pod = kind.example
            if counted.includes(pod, self._namespaces.get(pod.namespace)):
                for slot, number in kind.by_slot.items():
                    column.add(slot, number)
        self._by_first.add(counted, counted.selectors[0])
        self._counts[counted] = column
        return column

    def _forget(self, counted: CountedPods) -> None:
        del self._counts[counted]
        self._by_first.remove(counted)

    def fork(self, index: NodeIndex, namespaces: dict[str, Labels]) -> "PodCounts":
        """Without the counts: they are made again when they are asked for."""
        twin = PodCounts(index, namespaces)
        twin._pods = self._pods.fork()
        return twin
