"""The whole rule over all nodes at once.

What follows from a pod's constraints and from the labels and taints of nodes is kept for all pods
that ask the same. Left for each pod is to add up the matching pods of each domain, for which only
the nodes are looked at that have any.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import msgspec
import numpy as np
from numpy.typing import NDArray

from plimsoll.api.pods import Pod, TopologySpreadConstraint
from plimsoll.api.selectors.label import LabelSelector
from plimsoll.decide.scheduling.columns.changes import KeptResults
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.nodes import Slots, mask_of
from plimsoll.decide.scheduling.flags import Blocked, Flags, NodeRule, flagged, no_flags
from plimsoll.decide.scheduling.reasons import NOT_CONCERNED, Judgement
from plimsoll.decide.scheduling.rule_fit import BlockedNodes, Rejected, RuleFit
from plimsoll.decide.scheduling.rules.pod_topology_spread.constraints import (
    HARD,
    SOFT,
    SpreadConstraint,
    read_constraints,
)
from plimsoll.decide.scheduling.rules.pod_topology_spread.counted_nodes import (
    NO_SLOTS,
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


@dataclass(frozen=True, slots=True)
class FullNodes:
    """Where a domain has too many pods already."""

    slots: Slots
    """None of them where there is a mask."""
    mask: NDArray[np.bool_] | None = None
    """By slot."""

    def flags(self, size: int) -> Flags:
        if self.mask is not None:
            return flagged(self.mask, Blocked.SPREAD)
        flags = no_flags(size)
        flags[self.slots] = Blocked.SPREAD
        return flags


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
        blocked = self._blocked(pod, kept.hard) if kept.hard.constraints else None
        score = self._score(kept.soft) if kept.soft.constraints else None
        return RuleFit(blocked, score)

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

    def _blocked(self, pod: Pod, hard: ConstraintColumns) -> BlockedNodes | None:
        at: list[Slots] = []
        masks: list[NDArray[np.bool_]] = []
        full = []
        pods = hard.pods(self._columns)
        for constraint, nodes, matching in zip(hard.constraints, hard.nodes, pods, strict=True):
            most = constraint.max_skew - own_step(constraint, pod)
            found = _full_nodes(constraint, nodes, matching, most)
            full.append(found)
            if found is not None:
                at.append(found.slots)
                masks += [] if found.mask is None else [found.mask]
            if nodes.missing:
                masks.append(mask_of(nodes.missing, self._columns.index.size))
        return BlockedNodes(at, masks, partial(self._flags, hard, full)) if at or masks else None

    def _flags(self, hard: ConstraintColumns, full: Sequence[FullNodes | None]) -> Flags:
        """By the first constraint that each node breaks."""
        size = self._columns.index.size
        flags = no_flags(size)
        for nodes, found in zip(hard.nodes, full, strict=True):
            broken = no_flags(size) if found is None else found.flags(size)
            if nodes.missing:
                broken |= flagged(mask_of(nodes.missing, size), Blocked.SPREAD_LABEL)
            flags = _first(flags, broken)
        return flags


def _full_nodes(
    constraint: SpreadConstraint, nodes: CountedNodes, pods: MatchingPods, most: int
) -> FullNodes | None:
    """Where a domain has more pods than `most` beyond the one with the fewest; None: nowhere."""
    if nodes.domains.are_single and len(pods.slots) < nodes.size and most >= 0:
        # Some domain has none, so only nodes with pods can have too many.
        slots = nodes.counted_slots(pods)
        full = slots[pods.counts[slots] > most]
        return FullNodes(full) if len(full) else None
    sums = nodes.sums(pods)
    is_full = sums > most + nodes.fewest(sums, pods, constraint.min_domains)
    if not np.logical_or.reduce(is_full):
        return None
    return FullNodes(NO_SLOTS, nodes.domains.mask_of(is_full))


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
