"""Which nodes suit a pod's spec, volumes left aside: kept for all pods with the same spec.

When pods come and go only the nodes are judged again that they came to or went from. When nodes
change in more than their free resources, all of them are.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.changes import KeptResults
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.nodes import Slots
from plimsoll.decide.scheduling.columns.resources import COMPARED, USUAL, Demands, ResourceRows
from plimsoll.decide.scheduling.flags import Blocked, Flags, Tally, flags_of, tally_of
from plimsoll.decide.scheduling.picking import NOT_FEASIBLE, RANK_BITS
from plimsoll.decide.scheduling.profiles.profile import DEFAULT_PROFILE, Profile, SchedulerPlugin
from plimsoll.decide.scheduling.profiles.resource_scoring import LEAST_ALLOCATED
from plimsoll.decide.scheduling.rules import (
    node_affinity,
    node_name,
    node_resources_balanced_allocation,
    node_resources_fit,
    node_unschedulable,
    taint_toleration,
)
from plimsoll.decide.scheduling.rules.node_affinity import AffinityTerms

KEPT_SPECS = 256
EVERYWHERE = slice(None)
FEW = 4
"""Up to so many nodes plain numbers are faster than arrays."""
NO_FLAGS = np.zeros(0, np.uint64)
NO_NUMBERS = np.zeros(0, np.int64)
NO_NODES = np.zeros(0, np.bool_)


@dataclass(slots=True)
class NodeFit:
    """All by slot."""

    pod: Pod
    """One of those that have the spec."""
    profile: Profile
    affinity: AffinityTerms
    resources: Demands
    """What nodes are compared by."""
    required: Demands
    """What nodes must have: the same, without what the profile ignores."""
    ignored: int
    """Bits of rules that the profile does not ask."""
    labelled: Flags
    """By the rules about names, labels and taints, which do not change with pods."""
    flags: Flags
    """Without those of rules that the profile does not ask."""
    keys: NDArray[np.int64]
    """By which nodes are sorted, the best last: how full and how balanced they would be, then the
    name. NOT_FEASIBLE where a flag speaks against the node."""
    is_feasible: NDArray[np.bool_]
    """Whether no flag speaks against the node."""
    ranks: NDArray[np.int64]
    """The place of each name among all names, as the keys end in it."""
    soft_taints: NDArray[np.int64] | None = None
    preferences: NDArray[np.int64] | None = None
    stamp: int = -1
    position: int = 0
    _tally: Tally | None = None

    @classmethod
    def of(cls, pod: Pod, profile: Profile, ignored: int) -> "NodeFit":
        demands = Demands.of_waiting(pod)
        has_more = profile.added_affinity is not None
        return cls(
            pod,
            profile,
            AffinityTerms.of(profile.with_added_affinity(pod) if has_more else pod),
            demands,
            required_demands(demands, profile),
            ignored,
            labelled=NO_FLAGS,
            flags=NO_FLAGS,
            keys=NO_NUMBERS,
            is_feasible=NO_NODES,
            ranks=NO_NUMBERS,
        )

    def refresh(self, columns: Columns) -> None:
        changed = columns.loads.since(self.position)
        self.position = columns.loads.position
        if self.stamp != columns.stamp or len(self.flags) != columns.index.size:
            self._read_labels(columns)
            changed = None
        if changed is None:
            self._judge_all(columns)
        elif len(changed) <= FEW and self.has_usual_scores:
            for slot in changed:
                self._judge_one(columns, slot)
        elif changed:
            self._judge_some(columns, np.fromiter(changed, np.intp, len(changed)))

    def _judge_all(self, columns: Columns) -> None:
        there = columns.resources.at(EVERYWHERE)
        self.flags = self._blocked(there) | self.labelled
        self.ranks = columns.index.ranks
        self.is_feasible = self.flags == 0
        self.keys = np.where(self.is_feasible, self._keys(there, self.ranks), NOT_FEASIBLE)
        self._tally = None

    def _judge_some(self, columns: Columns, at: Slots) -> None:
        there = columns.resources.at(at)
        flags = self._blocked(there)
        flags |= self.labelled.take(at)
        before = self.flags.take(at)
        is_other = before != flags
        if np.logical_or.reduce(is_other):
            self.flags[at] = flags
            self.is_feasible[at] = flags == 0
            for old, new in zip(before[is_other].tolist(), flags[is_other].tolist(), strict=True):
                self._move(old, new)
        if np.logical_and.reduce(flags):
            # In a full cluster this holds for all: what they would score is not worth a sum.
            self.keys[at] = NOT_FEASIBLE
            return
        keys = self._keys(there, self.ranks.take(at))
        if np.logical_or.reduce(flags):
            keys[flags != 0] = NOT_FEASIBLE
        self.keys[at] = keys

    def _move(self, before: int, flags: int) -> None:
        """A node has other flags."""
        if self._tally is not None:
            self._tally[flags] = self._tally.get(flags, 0) + 1
            self._tally[before] -= 1
            if not self._tally[before]:
                del self._tally[before]

    def tally(self) -> Tally:
        """How many slots have which flags."""
        if self._tally is None:
            self._tally = tally_of(self.flags)
        return self._tally

    def scores(self) -> NDArray[np.int64]:
        """What all nodes are compared by alike. Only those of nodes that will do count."""
        return self.keys + self.ranks >> RANK_BITS

    def _blocked(self, there: ResourceRows) -> Flags:
        """By what pods take. Without bits that the profile ignores."""
        flags = node_resources_fit.blocked(self.required, there.usual, there.scalars, there.at)
        if self.ignored:
            flags &= ~np.uint64(self.ignored)
        return flags

    def _keys(self, there: ResourceRows, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        profile, wanted = self.profile, self.resources
        keys: NDArray[np.int64] | None = None
        if weight := profile.weights[SchedulerPlugin.NODE_RESOURCES_FIT]:
            keys = node_resources_fit.scores_by(profile.resources, wanted, there)
            keys = keys if weight == 1 else weight * keys
        if weight := profile.weights[SchedulerPlugin.BALANCED_ALLOCATION]:
            balanced = node_resources_balanced_allocation.scores_of(profile.balanced, wanted, there)
            more = balanced if weight == 1 else weight * balanced
            keys = more + (np.zeros(there.length, np.int64) if keys is None else keys)
        if keys is None:
            return -ranks
        keys <<= RANK_BITS
        keys -= ranks
        return keys

    def _judge_one(self, columns: Columns, slot: int) -> None:
        row, weights = columns.resources.row(slot), self.profile.weights
        flags = node_resources_fit.blocked_row(self.required, row) & ~self.ignored
        flags |= self.labelled.item(slot)
        if flags:
            self.keys[slot] = NOT_FEASIBLE
        else:
            fit = node_resources_fit.score_row(self.resources, row)
            balanced = node_resources_balanced_allocation.score_row(self.resources, row)
            score = weights[SchedulerPlugin.NODE_RESOURCES_FIT] * fit
            score += weights[SchedulerPlugin.BALANCED_ALLOCATION] * balanced
            self.keys[slot] = (score << RANK_BITS) - self.ranks.item(slot)
        before = self.flags.item(slot)
        if before != flags:
            self.flags[slot] = flags
            self.is_feasible[slot] = not flags
            self._move(before, flags)

    @property
    def has_usual_scores(self) -> bool:
        """Whether nothing but cpu and memory counts, and nothing else is asked for."""
        is_usual = len(self.resources.amounts) == len(USUAL)
        profile = self.profile
        return is_usual and profile.resources == LEAST_ALLOCATED and profile.balanced == COMPARED

    def _read_labels(self, columns: Columns) -> None:
        alive, size = columns.index.alive, columns.index.size
        found = [(flag, bits & alive) for flag, bits in self._labelled_by(columns)]
        no_node = (Blocked.NO_NODE, ~alive & ((1 << size) - 1))
        self.labelled = flags_of([*found, no_node], size)
        self.labelled &= ~np.uint64(self.ignored)
        self.soft_taints = self.preferences = None
        if columns.taints.nodes:
            self.soft_taints = taint_toleration.soft_taints(self.pod, columns)
        if self.affinity.preferred.terms:
            self.preferences = node_affinity.preferences(self.affinity, columns)
        self.stamp = columns.stamp

    def _labelled_by(self, columns: Columns) -> Iterator[tuple[Blocked, int]]:
        """Only rules are asked that can have something to say."""
        pod, taints = self.pod, columns.taints
        if pod.spec.node_name:
            yield Blocked.NODE_NAME, node_name.blocked(pod, columns)
        if taints.unschedulable:
            yield Blocked.UNSCHEDULABLE, node_unschedulable.blocked(pod, columns)
        if taints.nodes:
            yield Blocked.TAINT, taint_toleration.blocked(pod, columns)
        if self.affinity.required is not None:
            yield Blocked.NODE_AFFINITY, node_affinity.blocked(self.affinity, columns)


def required_demands(demands: Demands, profile: Profile) -> Demands:
    """Without extended resources that the profile ignores."""
    if not (profile.ignored_resources or profile.ignored_groups):
        return demands
    counted = {
        n: amount for n, amount in demands.amounts.items() if not profile.ignores_resource(n)
    }
    return demands if len(counted) == len(demands.amounts) else Demands(counted, demands.non_zero)


class NodeFits:
    def __init__(self, columns: Columns, profile: Profile = DEFAULT_PROFILE) -> None:
        self._columns = columns
        self._profile = profile
        self._ignored = profile.ignored_bits
        self._kept: KeptResults[bytes, NodeFit] = KeptResults(KEPT_SPECS)

    def of(self, pod: Pod) -> NodeFit:
        fingerprint = _fingerprint(pod)
        node_fit = self._kept.get(fingerprint)
        if node_fit is None:
            node_fit = self._kept.keep(fingerprint, NodeFit.of(pod, self._profile, self._ignored))
        node_fit.refresh(self._columns)
        return node_fit


def _fingerprint(pod: Pod) -> bytes:
    """Pods with the same one ask the same of nodes."""
    spec = pod.spec
    return msgspec.msgpack.encode(
        (
            spec.node_name,
            spec.node_selector,
            spec.affinity and spec.affinity.node_affinity,
            spec.tolerations,
            spec.containers,
            spec.init_containers,
            spec.overhead,
            spec.resources,
        )
    )
