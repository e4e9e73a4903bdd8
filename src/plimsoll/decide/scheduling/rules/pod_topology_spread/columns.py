"""The whole rule over all nodes at once.

What follows from a pod's constraints and from the labels and taints of nodes is kept for all pods
that ask the same. Left for each pod is to add up the matching pods of each domain, for which only
the nodes are looked at that have any.
"""

from dataclasses import dataclass

import msgspec
import numpy as np

from plimsoll.api.pods import Pod, TopologySpreadConstraint
from plimsoll.api.selectors.label import LabelSelector
from plimsoll.decide.scheduling.columns.changes import KeptResults
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.domains import NO_DOMAIN
from plimsoll.decide.scheduling.columns.nodes import Slots, mask_of
from plimsoll.decide.scheduling.flags import Blocked, Flags, NodeRule, flagged, no_flags
from plimsoll.decide.scheduling.reasons import NOT_CONCERNED, Judgement
from plimsoll.decide.scheduling.rule_fit import Rejected, RuleFit
from plimsoll.decide.scheduling.rules.pod_topology_spread.constraints import (
    HARD,
    SOFT,
    SpreadConstraint,
    read_constraints,
)
from plimsoll.decide.scheduling.rules.pod_topology_spread.counted_nodes import (
    ConstraintColumns,
    CountedNodes,
    MatchingPods,
)
from plimsoll.decide.scheduling.rules.pod_topology_spread.default_constraints import (
    SYSTEM_DEFAULTS,
    SpreadDefaults,
    with_selector,
    workload_selector,
)
from plimsoll.decide.scheduling.rules.pod_topology_spread.filter import (
    SpreadState,
    own_step,
    prepare,
    unreadable,
)
from plimsoll.decide.scheduling.rules.pod_topology_spread.places import KeptPlaces
from plimsoll.decide.scheduling.rules.pod_topology_spread.score_columns import SpreadScore

KEPT_SPECS = 256
KEPT_SELECTORS = 4096

NO_SELECTOR = LabelSelector()
SpecKey = tuple[LabelSelector | None, bytes]


@dataclass(slots=True)
class PodColumns:
    """What all pods with the same constraints share."""

    hard: ConstraintColumns
    soft: ConstraintColumns
    stamp: int = -1
    size: int = 0

    def refresh(self, columns: Columns) -> None:
        if self.stamp != columns.stamp or self.size != columns.index.size:
            self.hard.read_nodes(columns)
            self.soft.read_nodes(columns)
            self.stamp, self.size = columns.stamp, columns.index.size


class TopologySpreadColumns:
    """Implements ColumnRule."""

    def __init__(self, columns: Columns, defaults: SpreadDefaults = SYSTEM_DEFAULTS) -> None:
        self._columns = columns
        self._defaults = defaults
        self._kept: KeptResults[SpecKey, PodColumns | Rejected] = KeptResults(KEPT_SPECS)
        self._places = KeptPlaces(columns)
        self._selectors = WorkloadPods(columns)

    def judge(self, pod: Pod) -> RuleFit | Rejected | None:
        selector = None
        if not pod.spec.topology_spread_constraints:
            selector = self._selectors.of(pod)
            if selector is NO_SELECTOR or selector.is_empty:
                return None
        key = selector, _fingerprint(pod)
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept.keep(key, self._read(pod, selector))
        if isinstance(kept, Rejected):
            return kept
        kept.refresh(self._columns)
        flags = self._flags(pod, kept.hard) if kept.hard.constraints else None
        score = self._score(kept.soft) if kept.soft.constraints else None
        return RuleFit(flags, score)

    def _read(self, pod: Pod, selector: LabelSelector | None) -> PodColumns | Rejected:
        specs, needs_all = pod.spec.topology_spread_constraints, True
        if selector is not None:
            specs, needs_all = self._defaults.constraints, self._defaults.needs_all_keys
        try:
            hard = read_constraints(specs, pod.labels, HARD)
        except ValueError as error:
            return Rejected(NodeRule.SPREAD, unreadable(error))
        soft = _preferences(pod, specs)
        if selector is not None:
            hard, soft = with_selector(hard, selector), with_selector(soft, selector)
        return PodColumns(
            ConstraintColumns(pod, hard, needs_all_keys=True),
            ConstraintColumns(pod, soft, needs_all_keys=needs_all),
        )

    def _score(self, soft: ConstraintColumns) -> SpreadScore:
        places = self._places.of(soft.keys, needs_all=soft.needs_all_keys)
        return SpreadScore(soft, soft.pods(self._columns), places)

    def _flags(self, pod: Pod, hard: ConstraintColumns) -> Flags | None:
        """By the first constraint that each node breaks; None: no node breaks any."""
        flags: Flags | None = None
        pods = hard.pods(self._columns)
        # Where every node has every label there is but one thing to say of it.
        join = _first if any(nodes.missing for nodes in hard.nodes) else np.bitwise_or
        for constraint, nodes, matching in zip(hard.constraints, hard.nodes, pods, strict=True):
            most = constraint.max_skew - own_step(constraint, pod)
            found = _full_nodes(constraint, nodes, matching, most)
            if nodes.missing:
                size = self._columns.index.size
                label = flagged(mask_of(nodes.missing, size), Blocked.SPREAD_LABEL)
                found = label if found is None else found | label
            if found is not None:
                flags = found if flags is None else join(flags, found)
        return flags


def _full_nodes(
    constraint: SpreadConstraint, nodes: CountedNodes, pods: MatchingPods, most: int
) -> Flags | None:
    """By slot, where a domain has more pods than `most` beyond the one with the fewest; None:
    nowhere."""
    if nodes.domains.are_single and len(pods.slots) < nodes.size and most >= 0:
        # Some domain has none, so only nodes with pods can have too many.
        slots = nodes.counted_slots(pods)
        full = slots[pods.counts[slots] > most]
        return _flags_at(full, len(pods.counts)) if len(full) else None
    sums = nodes.sums(pods)
    is_full = sums > most + nodes.fewest(sums, pods, constraint.min_domains)
    if not is_full.any():
        return None
    by_domain = no_flags(len(is_full) + 1)
    by_domain[:NO_DOMAIN] = flagged(is_full, Blocked.SPREAD)
    # The number of no domain is -1, which finds the last value.
    flags: Flags = by_domain.take(nodes.domains.numbers)
    return flags


def _flags_at(slots: Slots, size: int) -> Flags:
    flags = no_flags(size)
    flags[slots] = Blocked.SPREAD
    return flags


def _first(flags: Flags, later: Flags) -> Flags:
    """What the first constraint says, and what the later one says of the other nodes."""
    merged = flags | later
    is_both = merged == np.uint64(Blocked.SPREAD | Blocked.SPREAD_LABEL)
    return np.where(is_both, flags, merged) if is_both.any() else merged


class KeptSpreadState:
    """What the plain rule finds about the newest pod that was asked for: as long as no other pod
    and no node changes, explanations of all nodes share it."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._pod: Pod | None = None
        self._seen = (-1, -1)
        self._state: SpreadState | Judgement = NOT_CONCERNED

    def of(self, pod: Pod, defaults: SpreadDefaults = SYSTEM_DEFAULTS) -> SpreadState | Judgement:
        seen = self._columns.stamp, self._columns.loads.position
        if pod is not self._pod or seen != self._seen:
            self._pod, self._seen = pod, seen
            self._state = prepare(pod, self._columns, defaults)
        return self._state


def _preferences(
    pod: Pod, specs: tuple[TopologySpreadConstraint, ...]
) -> tuple[SpreadConstraint, ...]:
    """Soft constraints that cannot be read are no reason to leave the pod waiting."""
    try:
        return read_constraints(specs, pod.labels, SOFT)
    except ValueError:
        return ()


def _fingerprint(pod: Pod) -> bytes:
    """Pods with the same one, and of the same workload, are spread alike."""
    spec = pod.spec
    constraints = spec.topology_spread_constraints
    own = [pod.labels.get(key) for each in constraints for key in each.match_label_keys]
    return msgspec.msgpack.encode(
        (
            pod.namespace,
            constraints,
            own,
            spec.node_selector,
            spec.required_nodes,
            spec.tolerations,
        )
    )


class WorkloadPods:
    """Which pods are alike, for pods that say nothing about it; kept for pods with the same labels
    and owner."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._kept: KeptResults[tuple[object, ...], LabelSelector] = KeptResults(KEPT_SELECTORS)
        self._stamp = -1

    def of(self, pod: Pod) -> LabelSelector:
        if not self._columns.workloads.stamp:
            return NO_SELECTOR
        if self._stamp != self._columns.workloads.stamp:
            self._kept.clear()
            self._stamp = self._columns.workloads.stamp
        key = pod.namespace, pod.metadata.controller, tuple(pod.labels.items())
        found = self._kept.get(key)
        if found is None:
            found = self._kept.keep(key, workload_selector(pod, self._columns))
        return found
