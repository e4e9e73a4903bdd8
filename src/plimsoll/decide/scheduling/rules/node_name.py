"""NodeName: a pod that names its node goes to no other."""

from plimsoll.api.core import Node
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.flags import NodeSentence
from plimsoll.decide.scheduling.reasons import FIT, Judgement, Reason, unresolvable_node


def judge(pod: Pod, node: Node) -> Judgement:
    if pod.spec.node_name in ("", node.name):
        return FIT
    return unresolvable_node(Reason.NODE_AFFINITY_MISMATCH, NodeSentence.NODE_NAME, node.name)


def named_nodes(pod: Pod) -> frozenset[str] | None:
    """The only node that is looked at; None: the pod names none."""
    return frozenset({pod.spec.node_name}) if pod.spec.node_name else None


# All nodes at once


def blocked(pod: Pod, columns: Columns) -> int:
    """The nodes that have another name, as bits."""
    if not pod.spec.node_name:
        return 0
    slot = columns.index.find(pod.spec.node_name)
    return -1 if slot is None else ~(1 << slot)
