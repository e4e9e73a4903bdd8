"""Which changes of nodes can help a pod that a rule about single nodes turned away.

`before` is None for a node that came. The events that each test is asked about are in
`kube_hints`.
"""

from plimsoll.api.core import Node
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.resources import PODS, Demands, Load, NodeResources
from plimsoll.decide.scheduling.rules import node_affinity, node_resources_fit, taint_toleration
from plimsoll.decide.scheduling.rules.node_affinity import AffinityTerms


def takes_pods_again(_pod: Pod, before: Node | None, after: Node) -> bool:
    return not after.spec.unschedulable and (before is None or before.spec.unschedulable)


def is_tolerated_now(pod: Pod, before: Node | None, after: Node) -> bool:
    was = before is not None and taint_toleration.judge(pod, before).is_fit
    return not was and taint_toleration.judge(pod, after).is_fit


def is_selected_now(pod: Pod, before: Node | None, after: Node) -> bool:
    terms = AffinityTerms.of(pod)
    was = before is not None and node_affinity.judge(terms, before).is_fit
    return not was and node_affinity.judge(terms, after).is_fit


def has_more_resources(pod: Pod, before: Node | None, after: Node) -> bool:
    """Enough for the pod if no other pod were there."""
    demands = Demands.of_waiting(pod)
    if not node_resources_fit.judge(demands, after, Load()).is_fit:
        return False
    return before is None or _has_grown(demands, NodeResources.of(before), NodeResources.of(after))


def _has_grown(demands: Demands, before: NodeResources, after: NodeResources) -> bool:
    wanted = [name for name, amount in demands.amounts.items() if amount > 0 or name == PODS]
    return any(after.get(name) > before.get(name) for name in wanted)


def has_more_features(_pod: Pod, before: Node | None, after: Node) -> bool:
    known = () if before is None else before.status.declared_features
    return before is None or not set(after.status.declared_features) <= set(known)
