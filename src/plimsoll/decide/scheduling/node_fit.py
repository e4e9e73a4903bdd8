"""Which nodes suit a pod's spec, volumes left aside: kept for all pods with the same spec.

When pods come and go only the nodes are judged again that they came to or went from. When nodes
change in more than their free resources, all of them are.
"""

from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.changes import KeptResults
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.nodes import Slots
from plimsoll.decide.scheduling.columns.resources import Demands
from plimsoll.decide.scheduling.flags import Blocked, Flags, flags_of
from plimsoll.decide.scheduling.picking import RANK_BITS
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
NO_FLAGS = np.zeros(0, np.uint64)
NO_NUMBERS = np.zeros(0, np.int64)


@dataclass(slots=True)
class NodeFit:
    """All by slot."""

    pod: Pod
    """One of those that have the spec."""
    affinity: AffinityTerms
    resources: Demands
    labelled: Flags
    """By the rules about names, labels and taints, which do not change with pods."""
    flags: Flags
    scores: NDArray[np.int64]
    """What all nodes are compared by alike: how full and how balanced they would be."""
    keys: NDArray[np.int64]
    """By which nodes are sorted, the best last: the score, then the name."""
    soft_taints: NDArray[np.int64] | None = None
    preferences: NDArray[np.int64] | None = None
    stamp: int = -1
    position: int = 0

    @classmethod
    def of(cls, pod: Pod) -> "NodeFit":
        return cls(
            pod,
            AffinityTerms.of(pod),
            Demands.of_waiting(pod),
            labelled=NO_FLAGS,
            flags=NO_FLAGS,
            scores=NO_NUMBERS,
            keys=NO_NUMBERS,
        )

    def refresh(self, columns: Columns) -> None:
        changed = columns.loads.since(self.position)
        self.position = columns.loads.position
        if self.stamp != columns.stamp or len(self.flags) != columns.index.size:
            self._read_labels(columns)
            changed = None
        if changed is None:
            flags, self.scores = self._judge_resources(columns, EVERYWHERE)
            self.flags = self.labelled | flags
            self.keys = (self.scores << RANK_BITS) - columns.index.ranks
        elif changed:
            at = np.fromiter(changed, np.intp, len(changed))
            flags, scores = self._judge_resources(columns, at)
            self.flags[at] = self.labelled[at] | flags
            self.scores[at] = scores
            self.keys[at] = (scores << RANK_BITS) - columns.index.ranks[at]

    def _judge_resources(
        self, columns: Columns, at: Slots | slice
    ) -> tuple[Flags, NDArray[np.int64]]:
        rows = columns.resources.rows(at)
        flags = node_resources_fit.blocked(self.resources, rows, columns.resources.scalars, at)
        scores = node_resources_fit.scores(self.resources, rows)
        scores += node_resources_balanced_allocation.scores(self.resources, rows)
        return flags, scores

    def _read_labels(self, columns: Columns) -> None:
        alive, size = columns.index.alive, columns.index.size
        found = (
            (Blocked.NODE_NAME, node_name.blocked(self.pod, columns)),
            (Blocked.UNSCHEDULABLE, node_unschedulable.blocked(self.pod, columns)),
            (Blocked.TAINT, taint_toleration.blocked(self.pod, columns)),
            (Blocked.NODE_AFFINITY, node_affinity.blocked(self.affinity, columns)),
        )
        no_node = (Blocked.NO_NODE, ~alive & ((1 << size) - 1))
        self.labelled = flags_of([*((flag, bits & alive) for flag, bits in found), no_node], size)
        self.soft_taints = taint_toleration.soft_taints(self.pod, columns)
        self.preferences = node_affinity.preferences(self.affinity, columns)
        self.stamp = columns.stamp


class NodeFits:
    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._kept: KeptResults[bytes, NodeFit] = KeptResults(KEPT_SPECS)

    def of(self, pod: Pod) -> NodeFit:
        fingerprint = _fingerprint(pod)
        node_fit = self._kept.get(fingerprint)
        if node_fit is None:
            node_fit = self._kept.keep(fingerprint, NodeFit.of(pod))
        node_fit.refresh(self._columns)
        return node_fit


def _fingerprint(pod: Pod) -> bytes:
    """Pods with the same one ask the same of nodes."""
    spec = pod.spec
    return msgspec.msgpack.encode(
        (
            spec.node_name,
            spec.node_selector,
            spec.affinity,
            spec.tolerations,
            spec.containers,
            spec.init_containers,
            spec.overhead,
            spec.resources,
        )
    )
