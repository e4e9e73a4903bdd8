"""NodePorts: a pod that takes ports of its node goes where no other pod has them."""

from collections.abc import Collection, Iterable

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.pods.ports import HostPort, host_ports
from plimsoll.decide.scheduling.flags import Blocked, NodeSentence, flags_of
from plimsoll.decide.scheduling.reasons import (
    FIT,
    NOT_CONCERNED,
    Finding,
    Judgement,
    Reason,
    SeenObject,
    unschedulable,
)
from plimsoll.decide.scheduling.rule_fit import RuleFit


def prepare(pod: Pod) -> frozenset[HostPort] | Judgement:
    return host_ports(pod) or NOT_CONCERNED


def used_ports(pods: Iterable[Pod]) -> frozenset[HostPort]:
    """Of the pods on one node. It is a set as in kube-scheduler: when one of two pods with the same
    port leaves in thought, the port counts as free."""
    return frozenset().union(*map(host_ports, pods))


def judge(wanted: Collection[HostPort], node: Node, used: Collection[HostPort]) -> Judgement:
    if not any(port.excludes(other) for port in wanted for other in used):
        return FIT
    about = SeenObject("Node", ObjectKey("", node.name))
    return unschedulable(
        Finding(reason=Reason.PORT_CONFLICT, sentence=NodeSentence.PORTS, about=about)
    )


# All nodes at once


class NodePortsColumns:
    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    def judge(self, pod: Pod) -> RuleFit | None:
        if not self._columns.ports.taken:
            return None
        blocked = 0
        for port in host_ports(pod):
            blocked |= self._columns.ports.nodes_excluding(port)
        if not blocked:
            return None
        return RuleFit.of_flags(flags_of([(Blocked.PORTS, blocked)], self._columns.index.size))
