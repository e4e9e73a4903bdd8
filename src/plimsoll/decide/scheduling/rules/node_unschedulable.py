"""NodeUnschedulable: a cordoned node takes only pods that tolerate it."""

from plimsoll.api.core import Node, Taint
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.flags import NodeSentence
from plimsoll.decide.scheduling.reasons import FIT, Judgement, Reason, unresolvable_node

UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


def judge(pod: Pod, node: Node) -> Judgement:
    if not node.spec.unschedulable or _is_tolerated(pod):
        return FIT
    return unresolvable_node(Reason.NODE_UNSCHEDULABLE, NodeSentence.UNSCHEDULABLE, node.name)


def _is_tolerated(pod: Pod) -> bool:
    return any(toleration.tolerates(UNSCHEDULABLE) for toleration in pod.spec.tolerations)


# All nodes at once


def blocked(pod: Pod, columns: Columns) -> int:
    """The cordoned nodes, as bits, unless the pod tolerates them."""
    cordoned = columns.taints.unschedulable
    return 0 if not cordoned or _is_tolerated(pod) else cordoned
