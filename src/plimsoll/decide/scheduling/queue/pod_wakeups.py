"""Which changes of pods can help a pod that a rule about single nodes turned away.

`before` is None for a pod that came to a node, `after` for one that went. A waiting pod's own
changes come with the pod itself as `after`. The events that each test is asked about are in
`kube_hints`.
"""

from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.pods.ports import host_ports
from plimsoll.decide.scheduling.columns.resources import Demands
from plimsoll.decide.scheduling.rules import taint_toleration
from plimsoll.decide.scheduling.rules.node_unschedulable import UNSCHEDULABLE


def has_place(pod: Pod) -> bool:
    """It is on a node, or is meant for one."""
    return bool(pod.spec.node_name or pod.status.nominated_node_name)


def leaves_place(_pod: Pod, before: Pod, _after: None) -> bool:
    return has_place(before)


def frees_ports(pod: Pod, before: Pod, _after: None) -> bool:
    if not has_place(before):
        return False
    wanted = host_ports(pod)
    return any(held.excludes(port) for held in host_ports(before) for port in wanted)


def asks_for_less(pod: Pod, before: Pod, after: Pod) -> bool:
    """Of something that the waiting pod wants."""
    wanted = Demands.of_waiting(pod).amounts
    held, holds = (Demands.of_placed(each).amounts for each in (before, after))
    return any(
        amount > 0 and held.get(name, 0) > holds.get(name, 0) for name, amount in wanted.items()
    )


def tolerates_closed_nodes(_pod: Pod, _before: Pod, after: Pod) -> bool:
    return taint_toleration.tolerates(after, UNSCHEDULABLE)
