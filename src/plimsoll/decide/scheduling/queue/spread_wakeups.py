"""Which changes can help a pod that PodTopologySpread turned away.

The first part answers as kube-scheduler does; `may_help` names changes that it overlooks. Only
constraints count that keep a pod from nodes (`DoNotSchedule`). `before` is None for a pod or node
that came, `after` for one that went.
"""

from plimsoll.api.core import Node
from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.queue.pod_wakeups import has_place
from plimsoll.decide.scheduling.rules import node_affinity
from plimsoll.decide.scheduling.rules.node_affinity import AffinityTerms
from plimsoll.decide.scheduling.rules.pod_topology_spread.constraints import (
    HARD,
    SpreadConstraint,
    read_constraints,
)


def _constraints(pod: Pod) -> tuple[SpreadConstraint, ...]:
    """Raises ValueError."""
    return read_constraints(pod.spec.topology_spread_constraints, pod.labels, HARD)


def is_counted(pod: Pod, before: Pod | None, after: Pod | None) -> bool:
    """A pod that counts came or went."""
    other = after or before
    return other is not None and _may_count(pod, other) and any(_matches(pod, other))


def counts_otherwise(pod: Pod, before: Pod, after: Pod) -> bool:
    """A pod counts from now on, or counts no more."""
    return _may_count(pod, after) and _matches(pod, before) != _matches(pod, after)


def _may_count(pod: Pod, other: Pod) -> bool:
    return has_place(other) and other.namespace == pod.namespace


def _matches(pod: Pod, other: Pod) -> list[bool]:
    """By constraint. A selector without conditions counts here, although the rule counts no pod by
    it: kube-scheduler wakes the pod."""
    return [constraint.pods.matches(other.labels) for constraint in _constraints(pod)]


def changes_itself(pod: Pod, before: Pod, after: Pod) -> bool:
    """The pod counts itself otherwise, or tolerates other nodes that count."""
    if before.spec.tolerations != after.spec.tolerations and any(
        constraint.honors_taints for constraint in _constraints(pod)
    ):
        return True
    return _matches(pod, before) != _matches(pod, after)


def changes_domains(pod: Pod, before: Node | None, after: Node | None) -> bool:
    """A node that counts came, went, or belongs to another domain."""
    keys = [constraint.topology_key for constraint in _constraints(pod)]
    if before is None or after is None:
        other = after or before
        return other is not None and _has_all(keys, other)
    if _has_all(keys, before) != _has_all(keys, after):
        return True
    return _has_all(keys, after) and (
        any(before.labels[key] != after.labels[key] for key in keys)
        or before.spec.taints != after.spec.taints
    )


def _has_all(keys: list[str], node: Node) -> bool:
    return all(key in node.labels for key in keys)


# Beyond kube-scheduler


def may_help(pod: Pod, before: ApiObject | None, after: ApiObject | None) -> bool:
    """All of the above and what kube-scheduler overlooks: pods that are being deleted do not count,
    nor do nodes that the pod does not select."""
    match before, after:
        case Pod(), Pod():
            is_ending = after.is_being_deleted and not before.is_being_deleted
            return (is_ending and is_counted(pod, before, None)) or counts_otherwise(
                pod, before, after
            )
        case Pod(), None:
            return is_counted(pod, before, None)
        case None, Pod():
            return is_counted(pod, None, after)
        case Node(), Node():
            return changes_domains(pod, before, after) or _is_selected_otherwise(pod, before, after)
        case Node(), None:
            return changes_domains(pod, before, None)
        case None, Node():
            return changes_domains(pod, None, after)
        case _:
            return False


def _is_selected_otherwise(pod: Pod, before: Node, after: Node) -> bool:
    terms = AffinityTerms.of(pod)
    was, now = (node_affinity.judge(terms, node).is_fit for node in (before, after))
    return was != now
