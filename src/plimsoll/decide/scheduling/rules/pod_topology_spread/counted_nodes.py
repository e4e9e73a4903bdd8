"""Which nodes count for a constraint, and where the pods are that it counts, over all nodes."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.domains import Domains
from plimsoll.decide.scheduling.columns.nodes import Slots, mask_of
from plimsoll.decide.scheduling.columns.pods.counts import CountedPods
from plimsoll.decide.scheduling.pod_terms import PodSelector
from plimsoll.decide.scheduling.rules import node_affinity, taint_toleration
from plimsoll.decide.scheduling.rules.node_affinity import AffinityTerms
from plimsoll.decide.scheduling.rules.pod_topology_spread.constraints import SpreadConstraint

Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]

NO_SLOTS = np.zeros(0, np.intp)


@dataclass(frozen=True, slots=True)
class MatchingPods:
    """The pods that a constraint counts, by the nodes that they are on."""

    counts: Numbers
    """By slot."""
    slots: Slots
    """Those with any, in no order."""


@dataclass(frozen=True, slots=True)
class NodeSets:
    """Of one pod's constraints, as bits."""

    labelled: int
    """The nodes that have every label which they need."""
    selected: int
    """Those that the pod selects."""
    tolerated: int
    """Those whose taints the pod tolerates."""

    @classmethod
    def of(cls, pod: Pod, labelled: int, columns: Columns) -> Self:
        return cls(
            labelled,
            ~node_affinity.blocked(AffinityTerms.of(pod), columns),
            ~taint_toleration.blocked(pod, columns),
        )

    def included(self, constraint: SpreadConstraint) -> int:
        found = self.labelled
        if constraint.honors_affinity:
            found &= self.selected
        return found & self.tolerated if constraint.honors_taints else found


@dataclass(frozen=True, slots=True)
class CountedNodes:
    """Of one constraint. True until labels or taints change."""

    domains: Domains
    is_included: Mask
    """By slot. All of them have the constraint's label."""
    exists: Mask
    """By number of the domain, whether a node of it counts."""
    size: int
    """How many domains exist."""
    missing: int
    """The nodes that lack the constraint's label, as bits."""

    @classmethod
    def of(cls, constraint: SpreadConstraint, sets: NodeSets, columns: Columns) -> Self:
        key = constraint.topology_key
        domains, labels = columns.domains.of(key), columns.labels
        having, alive = labels.having(key), columns.index.alive
        bits = sets.included(constraint) & having & alive
        is_included = mask_of(bits, columns.index.size)
        exists = np.bincount(domains.numbers[is_included], minlength=domains.limit) > 0
        size = int(np.count_nonzero(exists))
        return cls(domains, is_included, exists, size, alive & ~having)

    def counted_slots(self, pods: MatchingPods) -> Slots:
        """Those of nodes that count and have matching pods."""
        return pods.slots[self.is_included[pods.slots]]

    def sums(self, pods: MatchingPods) -> Numbers:
        """By number of the domain, the matching pods on nodes that count."""
        slots = self.counted_slots(pods)
        numbers = self.domains.numbers[slots]
        found = np.bincount(numbers, weights=pods.counts[slots], minlength=self.domains.limit)
        return found.astype(np.int64)

    def sums_by_domain(self, pods: MatchingPods) -> dict[int, int]:
        """The same with plain numbers, where there are any."""
        slots = pods.slots
        numbers, counts = self.domains.numbers.take(slots), pods.counts.take(slots)
        is_counted = self.is_included.take(slots)
        found: dict[int, int] = {}
        for number, count, counts_it in zip(
            numbers.tolist(), counts.tolist(), is_counted.tolist(), strict=True
        ):
            if counts_it:
                found[number] = found.get(number, 0) + count
        return found

    def fewest(self, sums: Numbers, pods: MatchingPods, min_domains: int) -> int:
        """Of the domains that exist, given the sums of these pods; zero if they are too few."""
        if self.size < min_domains or len(pods.slots) < self.size or not self.size:
            return 0
        existing = sums if self.size == len(sums) else sums[self.exists]
        return int(existing.min())


class ConstraintColumns:
    """The constraints of a pod that are hard, or those that are soft, over all nodes."""

    def __init__(
        self, pod: Pod, constraints: tuple[SpreadConstraint, ...], *, needs_all_keys: bool
    ) -> None:
        self.constraints = constraints
        self.needs_all_keys = needs_all_keys
        self.nodes: list[CountedNodes] = []
        """For each constraint."""
        self._pod = pod
        self._counted = [_counted_pods(each, pod.namespace) for each in constraints]
        self._alike = [self._counted.index(counted) for counted in self._counted]
        """For each constraint the first that counts the same pods."""

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(constraint.topology_key for constraint in self.constraints)

    def read_nodes(self, columns: Columns) -> None:
        """To be called whenever labels or taints have changed."""
        labelled = columns.index.alive
        for key in self.keys if self.needs_all_keys else ():
            labelled &= columns.labels.having(key)
        sets = NodeSets.of(self._pod, labelled, columns)
        self.nodes = [CountedNodes.of(each, sets, columns) for each in self.constraints]

    def pods(self, columns: Columns) -> list[MatchingPods]:
        """For each constraint. Several constraints mostly count the same pods."""
        found: list[MatchingPods] = []
        for counted, first in zip(self._counted, self._alike, strict=True):
            is_known = first < len(found)
            found.append(found[first] if is_known else _matching_pods(counted, columns))
        return found


def _counted_pods(constraint: SpreadConstraint, namespace: str) -> CountedPods | None:
    """None: the constraint counts no pods."""
    if not constraint.counts_pods:
        return None
    selector = PodSelector(constraint.pods, frozenset({namespace}))
    return CountedPods((selector,), with_terminating=False)


def _matching_pods(counted: CountedPods | None, columns: Columns) -> MatchingPods:
    if counted is None:
        return MatchingPods(np.zeros(columns.index.size, np.int64), NO_SLOTS)
    column = columns.pod_counts.column_of(counted)
    return MatchingPods(column.numbers.values, column.slots())
