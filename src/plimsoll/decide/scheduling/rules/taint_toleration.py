"""TaintToleration: taints keep pods away that do not tolerate them, or make nodes less welcome."""

import numpy as np
from numpy.typing import NDArray

from plimsoll.api.core import Node, Taint
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.nodes import weighted_sum
from plimsoll.decide.scheduling.flags import NodeSentence
from plimsoll.decide.scheduling.reasons import FIT, Judgement, Reason, unresolvable_node

HARD = ("NoSchedule", "NoExecute")
SOFT = "PreferNoSchedule"


def tolerates(pod: Pod, taint: Taint) -> bool:
    return any(toleration.tolerates(taint) for toleration in pod.spec.tolerations)


def tolerates_softly(pod: Pod, taint: Taint) -> bool:
    """Tolerations of taints that keep pods away say nothing about those that do not."""
    soft = (each for each in pod.spec.tolerations if each.effect in ("", SOFT))
    return any(toleration.tolerates(taint) for toleration in soft)


def judge(pod: Pod, node: Node) -> Judgement:
    if all(tolerates(pod, taint) for taint in node.spec.taints if taint.effect in HARD):
        return FIT
    return unresolvable_node(Reason.UNTOLERATED_TAINT, NodeSentence.TAINT, node.name)


def avoided(pod: Pod, node: Node) -> int:
    """How many taints of the node the pod would rather avoid."""
    soft = (taint for taint in node.spec.taints if taint.effect == SOFT)
    return sum(not tolerates_softly(pod, taint) for taint in soft)


# All nodes at once


def blocked(pod: Pod, columns: Columns) -> int:
    """The nodes with a taint that the pod does not tolerate, as bits."""
    found = 0
    for taint, bits in columns.taints.having(HARD):
        if not tolerates(pod, taint):
            found |= bits
    return found


def soft_taints(pod: Pod, columns: Columns) -> NDArray[np.int64] | None:
    """By slot, how many taints the pod would rather avoid; None: no node has any."""
    avoided = [
        (1, bits)
        for taint, bits in columns.taints.having((SOFT,))
        if not tolerates_softly(pod, taint)
    ]
    return weighted_sum(avoided, columns.index) if avoided else None
