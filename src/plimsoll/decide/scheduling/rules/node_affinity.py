"""What pods and nodes demand of each other by name, labels and taints.

Each rule is here twice: for one node, with its finding, and for all nodes at once.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from plimsoll.api.core import Node, Taint
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod, Toleration
from plimsoll.api.selectors.node import PreferredNodes, RequiredNodes
from plimsoll.decide.scheduling.columns.labels import LabelIndex, TaintIndex
from plimsoll.decide.scheduling.columns.nodes import NodeIndex, mask_of
from plimsoll.decide.scheduling.flags import Blocked, Flags, NodeSentence, flagged, no_flags
from plimsoll.decide.scheduling.reasons import (
    FIT,
    Finding,
    Judgement,
    Reason,
    SeenObject,
    unresolvable,
)

HARD = ("NoSchedule", "NoExecute")
SOFT = "PreferNoSchedule"
UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


@dataclass(frozen=True, slots=True)
class NodeDemands:
    """What a pod's spec says about nodes, read once."""

    node_name: str
    tolerations: tuple[Toleration, ...]
    required: RequiredNodes
    preferred: PreferredNodes

    @classmethod
    def of(cls, pod: Pod) -> Self:
        spec = pod.spec
        return cls(
            spec.node_name,
            spec.tolerations,
            RequiredNodes.of(spec.node_selector, spec.required_nodes),
            _preferred(pod),
        )

    def tolerate(self, taint: Taint) -> bool:
        return any(toleration.tolerates(taint) for toleration in self.tolerations)

    def tolerate_softly(self, taint: Taint) -> bool:
        soft = (each for each in self.tolerations if each.effect in ("", SOFT))
        return any(toleration.tolerates(taint) for toleration in soft)


def _preferred(pod: Pod) -> PreferredNodes:
    """Preferences that cannot be read are no reason to leave the pod waiting."""
    try:
        return PreferredNodes.of(pod.spec.preferred_nodes)
    except ValueError:
        return PreferredNodes()


def judge_name(demands: NodeDemands, node: Node) -> Judgement:
    if demands.node_name in ("", node.name):
        return FIT
    return _refusal(Reason.NODE_AFFINITY_MISMATCH, NodeSentence.NODE_NAME, node)


def judge_unschedulable(demands: NodeDemands, node: Node) -> Judgement:
    if not node.spec.unschedulable or demands.tolerate(UNSCHEDULABLE):
        return FIT
    return _refusal(Reason.NODE_UNSCHEDULABLE, NodeSentence.UNSCHEDULABLE, node)


def judge_taints(demands: NodeDemands, node: Node) -> Judgement:
    hard = (taint for taint in node.spec.taints if taint.effect in HARD)
    if all(map(demands.tolerate, hard)):
        return FIT
    return _refusal(Reason.UNTOLERATED_TAINT, NodeSentence.TAINT, node)


def judge_affinity(demands: NodeDemands, node: Node) -> Judgement:
    if demands.required.matches(node.labels, node.name):
        return FIT
    return _refusal(Reason.NODE_AFFINITY_MISMATCH, NodeSentence.NODE_AFFINITY, node)


def _refusal(reason: Reason, sentence: str, node: Node) -> Judgement:
    about = SeenObject("Node", ObjectKey("", node.name))
    return unresolvable(Finding(reason=reason, sentence=sentence, about=about))


@dataclass(frozen=True, slots=True)
class Basics:
    """What the rules look at, for all nodes."""

    index: NodeIndex
    labels: LabelIndex
    taints: TaintIndex

    def blocked(self, demands: NodeDemands) -> Flags:
        size, alive = self.index.size, self.index.alive
        found = no_flags(size)
        for flag, bits in self._blocked_bits(demands):
            if bits & alive:
                found |= flagged(mask_of(bits & alive, size), flag)
        return found | flagged(~mask_of(alive, size), Blocked.NO_NODE)

    def _blocked_bits(self, demands: NodeDemands) -> Iterable[tuple[Blocked, int]]:
        if demands.node_name:
            slot = self.index.find(demands.node_name)
            yield Blocked.NODE_NAME, -1 if slot is None else ~(1 << slot)
        if self.taints.unschedulable and not demands.tolerate(UNSCHEDULABLE):
            yield Blocked.UNSCHEDULABLE, self.taints.unschedulable
        for taint, bits in self.taints.having(HARD):
            if not demands.tolerate(taint):
                yield Blocked.TAINT, bits
        yield Blocked.NODE_AFFINITY, ~self._matching(demands.required)

    def _matching(self, required: RequiredNodes) -> int:
        found = self.labels.meeting(required.labels.requirements)
        if required.affinity is None:
            return found
        wanted = 0
        for term in required.affinity.terms:
            wanted |= self.labels.matching_term(term)
        return found & wanted

    def soft_taints(self, demands: NodeDemands) -> NDArray[np.int64] | None:
        """By slot, how many taints the pod would rather avoid; None: no node has any."""
        return self._sum(
            (1, bits)
            for taint, bits in self.taints.having((SOFT,))
            if not demands.tolerate_softly(taint)
        )

    def preferences(self, demands: NodeDemands) -> NDArray[np.int64] | None:
        """By slot, the weight of all terms that the pod prefers; None: nowhere any."""
        return self._sum(
            (weight, self.labels.matching_term(term)) for weight, term in demands.preferred.terms
        )

    def _sum(self, parts: Iterable[tuple[int, int]]) -> NDArray[np.int64] | None:
        total: NDArray[np.int64] | None = None
        for weight, bits in parts:
            if not bits & self.index.alive:
                continue
            part = mask_of(bits & self.index.alive, self.index.size) * np.int64(weight)
            total = part if total is None else total + part
        return total
