"""Which nodes a pod's hard constraints allow: the plain rule.

A domain is all nodes with one value of a constraint's label. It exists where a node counts, even
one without pods. The pod may go to a domain as long as that has not too many more matching pods
than the one with the fewest.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Self

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.flags import NodeSentence
from plimsoll.decide.scheduling.reasons import (
    FIT,
    NOT_CONCERNED,
    Finding,
    Judgement,
    Reason,
    SeenObject,
    failed,
    unresolvable_node,
    unschedulable,
)
from plimsoll.decide.scheduling.rules.pod_topology_spread.constraints import (
    HARD,
    SOFT,
    NodeInclusion,
    SpreadConstraint,
    has_all_keys,
    read_constraints,
)
from plimsoll.decide.scheduling.rules.pod_topology_spread.default_constraints import (
    SYSTEM_DEFAULTS,
    SpreadDefaults,
    constraints_of,
)
from plimsoll.decide.scheduling.view import ClusterView

Domains = Mapping[str, int]
"""How many matching pods there are, by value of the constraint's label."""


@dataclass(frozen=True, slots=True)
class SpreadState:
    """Where the pods are that a pod's hard constraints count."""

    inclusion: NodeInclusion
    constraints: tuple[SpreadConstraint, ...]
    domains: tuple[Domains, ...]
    """For each constraint."""

    @property
    def pod(self) -> Pod:
        return self.inclusion.pod

    def with_pod(self, pod: Pod, node: Node, step: int) -> Self:
        """As if a pod came to the node (1) or left it (-1). As in kube-scheduler it changes the
        counts even if it is being deleted, and even where a selector has no conditions."""
        if pod.namespace != self.pod.namespace or not has_all_keys(node.labels, self.constraints):
            return self
        changed = (
            _stepped(domains, node.labels[constraint.topology_key], step)
            if constraint.pods.matches(pod.labels) and self.inclusion.includes(node, constraint)
            else domains
            for constraint, domains in zip(self.constraints, self.domains, strict=True)
        )
        return replace(self, domains=tuple(changed))


def _stepped(domains: Domains, value: str, step: int) -> Domains:
    return {**domains, value: domains.get(value, 0) + step}


def prepare(
    pod: Pod, view: ClusterView, defaults: SpreadDefaults = SYSTEM_DEFAULTS
) -> SpreadState | Judgement:
    try:
        constraints = constraints_of(pod, view, HARD, defaults)
    except ValueError as error:
        return unreadable(error)
    if not constraints:
        return NOT_CONCERNED
    inclusion = NodeInclusion(pod)
    counted = [node for node in view.all_nodes() if has_all_keys(node.labels, constraints)]
    domains = [
        _domains(
            constraint,
            (node for node in counted if inclusion.includes(node, constraint)),
            pod,
            view,
        )
        for constraint in constraints
    ]
    return SpreadState(inclusion, constraints, tuple(domains))


def find_unreadable_preferences(pod: Pod) -> Judgement | None:
    """What kube-scheduler gives up with when it compares nodes; None: soft constraints can be
    read."""
    try:
        read_constraints(pod.spec.topology_spread_constraints, pod.labels, SOFT)
    except ValueError as error:
        return unreadable(error)
    return None


def unreadable(error: ValueError) -> Judgement:
    return failed(Finding(reason=Reason.SPREAD_CONFLICT, sentence=str(error)))


def _domains(
    constraint: SpreadConstraint, nodes: Iterable[Node], pod: Pod, view: ClusterView
) -> Domains:
    found: dict[str, int] = {}
    for node in nodes:
        value = node.labels[constraint.topology_key]
        found[value] = found.get(value, 0) + count_on(node.name, constraint, pod.namespace, view)
    return found


def count_on(node: str, constraint: SpreadConstraint, namespace: str, view: ClusterView) -> int:
    return sum(
        pod.namespace == namespace and not pod.is_being_deleted and constraint.counts(pod.labels)
        for pod in view.pods_on(node)
    )


def judge(state: SpreadState, node: Node) -> Judgement:
    """By the first constraint that the node breaks."""
    for constraint, domains in zip(state.constraints, state.domains, strict=True):
        if constraint.topology_key not in node.labels:
            return unresolvable_node(Reason.SPREAD_CONFLICT, NodeSentence.SPREAD_LABEL, node.name)
        skew = skew_on(node, constraint, domains, state.pod)
        if skew > constraint.max_skew:
            return _too_uneven(node, constraint, skew)
    return FIT


def skew_on(node: Node, constraint: SpreadConstraint, domains: Domains, pod: Pod) -> int:
    """How many more matching pods than elsewhere there would be with the pod on the node."""
    found = domains.get(node.labels[constraint.topology_key], 0)
    return found + own_step(constraint, pod) - fewest(constraint, domains)


def own_step(constraint: SpreadConstraint, pod: Pod) -> int:
    """What the pod itself adds to the domain that it goes to."""
    return int(constraint.pods.matches(pod.labels))


def fewest(constraint: SpreadConstraint, domains: Domains) -> int:
    """Of matching pods in a domain; none if there are too few domains."""
    if len(domains) < constraint.min_domains:
        return 0
    return min(domains.values(), default=0)


def _too_uneven(node: Node, constraint: SpreadConstraint, skew: int) -> Judgement:
    return unschedulable(
        Finding(
            reason=Reason.SPREAD_CONFLICT,
            sentence=NodeSentence.SPREAD,
            about=SeenObject("Node", ObjectKey("", node.name)),
            wanted=skew,
            seen=constraint.max_skew,
        )
    )
