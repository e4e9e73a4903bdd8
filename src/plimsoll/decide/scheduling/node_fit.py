"""How nodes stand towards a pod's spec, volumes left aside: kept for all pods with the same spec.

When pods come and go only the nodes are judged again that they came to or went from; when nodes
change in more than the room they have, all of them.
"""

from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.changes import KeptResult
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.flags import Flags, no_flags
from plimsoll.decide.scheduling.rules.node_affinity import Basics, NodeDemands
from plimsoll.decide.scheduling.rules.node_resources_fit import Demands

KEPT_SPECS = 256
EVERYWHERE = slice(None)
RANK_BITS = 24
"""Room for the place of a name below the score: no cluster has more nodes."""


def sort_keys(scores: NDArray[np.int64]) -> NDArray[np.int64]:
    keys: NDArray[np.int64] = scores << RANK_BITS
    return keys


@dataclass(slots=True)
class NodeFit:
    """All by slot."""

    nodes: NodeDemands
    resources: Demands
    basics: Flags
    flags: Flags
    scores: NDArray[np.int64]
    """What all nodes are compared by alike: how full and how balanced they would be."""
    keys: NDArray[np.int64]
    """By which nodes are sorted, the best last: the score, then the name."""
    soft_taints: NDArray[np.int64] | None = None
    preferences: NDArray[np.int64] | None = None
    stamp: int = -1
    position: int = 0

    def refresh(self, columns: Columns) -> None:
        changed = columns.loads.since(self.position)
        self.position = columns.loads.position
        if self.stamp != columns.stamp or len(self.flags) != columns.index.size:
            self._read_basics(columns)
            changed = None
        if changed is None:
            flags, self.scores = columns.resources.judge(self.resources, EVERYWHERE)
            self.flags = self.basics | flags
            self.keys = sort_keys(self.scores) - columns.index.ranks
        elif changed:
            at = np.fromiter(changed, np.intp, len(changed))
            flags, scores = columns.resources.judge(self.resources, at)
            self.flags[at] = self.basics[at] | flags
            self.scores[at] = scores
            self.keys[at] = sort_keys(scores) - columns.index.ranks[at]

    def _read_basics(self, columns: Columns) -> None:
        basics = Basics(columns.index, columns.labels, columns.taints)
        self.basics = basics.blocked(self.nodes)
        self.soft_taints = basics.soft_taints(self.nodes)
        self.preferences = basics.preferences(self.nodes)
        self.stamp = columns.stamp


class NodeFits:
    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._kept: KeptResult[bytes, NodeFit] = KeptResult(KEPT_SPECS)

    def of(self, pod: Pod) -> NodeFit:
        node_fit = self._kept.get(_fingerprint(pod), lambda: _new(pod))
        node_fit.refresh(self._columns)
        return node_fit


def _new(pod: Pod) -> NodeFit:
    return NodeFit(
        NodeDemands.of(pod),
        Demands.of_waiting(pod),
        basics=no_flags(0),
        flags=no_flags(0),
        scores=np.zeros(0, np.int64),
        keys=np.zeros(0, np.int64),
    )


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
