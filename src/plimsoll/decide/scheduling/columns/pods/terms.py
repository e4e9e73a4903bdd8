"""What the pods on nodes say about others: who may not come near them, and who is welcome.

Pods of one workload say the same. So each term is kept once, with the number of pods on each node
that have it, and a pod that is to be scheduled finds the terms that are about it by its labels.
"""

from collections.abc import Iterator
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.changes import KeptResults
from plimsoll.decide.scheduling.columns.nodes import NodeColumn, NodeIndex, Slots
from plimsoll.decide.scheduling.columns.pods.matching import SelectorIndex
from plimsoll.decide.scheduling.pod_terms import (
    Labels,
    PodTerm,
    PodTerms,
    WeightedPodTerm,
    affinity_fingerprint,
)

REQUIRED_WEIGHT = 1
"""What it is worth to a pod that requires others near it if one comes: kube-scheduler calls it the
hard pod affinity weight."""
KEPT_TERMS = 4096
FEW = 64
NO_TERMS = PodTerms()

T = TypeVar("T", PodTerm, WeightedPodTerm)


def weighted_terms(terms: PodTerms) -> Iterator[WeightedPodTerm]:
    """What a pod on a node adds to the score of nodes near it. Less than nothing: it wants to be
    alone."""
    for term in terms.affinity:
        yield WeightedPodTerm(REQUIRED_WEIGHT, term, is_required=True)
    yield from terms.preferred
    for avoided in terms.avoided:
        yield WeightedPodTerm(-avoided.weight, avoided.term)


class SlotCounts:
    """A number for each node. As long as few nodes have one it takes little room."""

    def __init__(self, index: NodeIndex) -> None:
        self._index = index
        self._few: dict[int, int] = {}
        self._many: NodeColumn | None = None
        self.total = 0

    @property
    def values(self) -> NDArray[np.int64]:
        """By slot. Worth something until the next change."""
        if self._many is not None:
            return self._many.values
        return self._written(np.zeros(self._index.size, np.int64))

    def slots(self) -> Slots:
        """Those of nodes that have one, in no order."""
        if self._many is None:
            return np.fromiter(self._few, np.intp, len(self._few))
        found: Slots = self._many.values.nonzero()[0]
        return found

    def add(self, slot: int, step: int) -> None:
        self.total += step
        if self._many is not None:
            self._many.values[slot] += step
            return
        self._few[slot] = self._few.get(slot, 0) + step
        if not self._few[slot]:
            del self._few[slot]
        elif len(self._few) > FEW:
            self._many = NodeColumn(self._index, 0)
            self._written(self._many.values)
            self._few.clear()

    def _written(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        for slot, number in self._few.items():
            values[slot] = number
        return values

    def fork(self, index: NodeIndex) -> "SlotCounts":
        twin = SlotCounts(index)
        twin._few, twin.total = self._few.copy(), self.total
        twin._many = None if self._many is None else self._many.fork(index)
        return twin


class TermCounts(Generic[T]):
    """How many pods on each node have a term."""

    def __init__(self, index: NodeIndex) -> None:
        self._index = index
        self.counts: dict[T, SlotCounts] = {}
        """By term. Not to be written to."""
        self._selectors: SelectorIndex[T] = SelectorIndex()

    def add(self, term: T, slot: int, step: int) -> None:
        counts = self.counts.get(term)
        if counts is None:
            counts = self.counts[term] = SlotCounts(self._index)
            self._selectors.add(term, term.pods)
        counts.add(slot, step)
        if not counts.total:
            del self.counts[term]
            self._selectors.remove(term)

    def about(self, pod: Pod, namespace_labels: Labels) -> list[tuple[T, SlotCounts]]:
        """The terms that select the pod."""
        found = self._selectors.matching(pod, namespace_labels)
        return [(term, self.counts[term]) for term in found]

    def fork(self, index: NodeIndex) -> "TermCounts[T]":
        twin: TermCounts[T] = TermCounts(index)
        twin.counts = {term: counts.fork(index) for term, counts in self.counts.items()}
        twin._selectors = self._selectors.fork()
        return twin


class PlacedTerms:
    """Of all pods that are on nodes."""

    def __init__(self, index: NodeIndex) -> None:
        self.excluding: TermCounts[PodTerm] = TermCounts(index)
        """Required anti-affinity."""
        self.weighted: TermCounts[WeightedPodTerm] = TermCounts(index)
        """All that makes nodes better or worse for others."""
        self._read: KeptResults[bytes, PodTerms] = KeptResults(KEPT_TERMS)

    def add(self, pod: Pod, slot: int, step: int) -> None:
        """A pod came to the node in the slot (1), or left it (-1)."""
        terms = self._terms_of(pod)
        if terms.is_empty:
            return
        for term in terms.anti_affinity:
            self.excluding.add(term, slot, step)
        for weighted in weighted_terms(terms):
            self.weighted.add(weighted, slot, step)

    def _terms_of(self, pod: Pod) -> PodTerms:
        fingerprint = affinity_fingerprint(pod)
        if fingerprint is None:
            return NO_TERMS
        kept = self._read.get(fingerprint)
        return kept or self._read.keep(fingerprint, PodTerms.readable(pod))

    def fork(self, index: NodeIndex) -> "PlacedTerms":
        twin = PlacedTerms(index)
        twin.excluding = self.excluding.fork(index)
        twin.weighted = self.weighted.fork(index)
        return twin
