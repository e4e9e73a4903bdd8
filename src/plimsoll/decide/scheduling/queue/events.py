"""What happened to a node or a pod, as kube-scheduler tells events apart.

One change of an object can be several events, in a fixed order; a heartbeat is none. A pod that
waits looks at its own changes (`own_events`) and at those of pods that have a node
(`pod_events`).
"""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum

from plimsoll.api.core import Node
from plimsoll.api.pods import Pod
from plimsoll.api.quantity import Quantity, parse_quantity
from plimsoll.decide.scheduling.pod_requests import held_quantities


class ClusterEvent(StrEnum):
    """Under kube-scheduler's names."""

    NODE_ADDED = "NodeAdd"
    NODE_DELETED = "NodeDelete"
    NODE_ALLOCATABLE = "NodeUpdateNodeAllocatable"
    NODE_LABELS = "NodeUpdateNodeLabel"
    NODE_TAINTS = "NodeUpdateNodeTaint"
    """Also when a node takes pods again."""
    NODE_CONDITIONS = "NodeUpdateNodeCondition"
    NODE_ANNOTATIONS = "NodeUpdateNodeAnnotation"
    NODE_FEATURES = "NodeUpdateNodeDeclaredFeature"

    POD_ADDED = "AssignedPodAdd"
    POD_DELETED = "AssignedPodDelete"
    POD_UPDATED = "AssignedPodUpdate"
    """In nothing that has an event of its own."""
    POD_LABELS = "AssignedPodUpdatePodLabel"
    POD_SCALED_DOWN = "AssignedPodUpdatePodScaleDown"
    POD_SCALED_UP = "AssignedPodUpdatePodScaleUp"
    POD_GATES = "AssignedPodUpdatePodSchedulingGatesEliminated"
    POD_TOLERATIONS = "AssignedPodUpdatePodToleration"
    POD_RESOURCE_CLAIMS = "AssignedPodUpdatePodGeneratedResourceClaim"

    OWN_UPDATED = "TargetPodUpdate"
    OWN_LABELS = "TargetPodUpdatePodLabel"
    OWN_SCALED_DOWN = "TargetPodUpdatePodScaleDown"
    OWN_SCALED_UP = "TargetPodUpdatePodScaleUp"
    OWN_GATES = "TargetPodUpdatePodSchedulingGatesEliminated"
    OWN_TOLERATIONS = "TargetPodUpdatePodToleration"
    OWN_RESOURCE_CLAIMS = "TargetPodUpdatePodGeneratedResourceClaim"


def node_events(before: Node | None, after: Node | None) -> list[ClusterEvent]:
    """None: the node was not there, or is there no more."""
    if before is None or after is None:
        came = before is None and after is not None
        return [ClusterEvent.NODE_ADDED if came else ClusterEvent.NODE_DELETED]
    return [event for event, has_changed in NODE_ASPECTS if has_changed(before, after)]


def _takes_pods_again(before: Node, after: Node) -> bool:
    return before.spec.unschedulable and not after.spec.unschedulable


def _has_other_allocatable(before: Node, after: Node) -> bool:
    """The same amount may be spelled in another way."""
    old, new = before.status.allocatable, after.status.allocatable
    return old != new and _amounts(old) != _amounts(new)


def _amounts(quantities: Mapping[str, str]) -> dict[str, Quantity]:
    return {name: parse_quantity(text) for name, text in quantities.items()}


def _has_other_labels(before: Node | Pod, after: Node | Pod) -> bool:
    return before.labels != after.labels


def _has_other_taints(before: Node, after: Node) -> bool:
    return before.spec.taints != after.spec.taints


def _has_other_conditions(before: Node, after: Node) -> bool:
    """Without times and messages: heartbeats change those."""
    old, new = (
        {condition.type: condition.status for condition in node.status.conditions}
        for node in (before, after)
    )
    return old != new


def _has_other_annotations(before: Node, after: Node) -> bool:
    return before.annotations != after.annotations


def _has_other_features(before: Node, after: Node) -> bool:
    return before.status.declared_features != after.status.declared_features


NODE_ASPECTS: tuple[tuple[ClusterEvent, Callable[[Node, Node], bool]], ...] = (
    (ClusterEvent.NODE_TAINTS, _takes_pods_again),
    (ClusterEvent.NODE_ALLOCATABLE, _has_other_allocatable),
    (ClusterEvent.NODE_LABELS, _has_other_labels),
    (ClusterEvent.NODE_TAINTS, _has_other_taints),
    (ClusterEvent.NODE_CONDITIONS, _has_other_conditions),
    (ClusterEvent.NODE_ANNOTATIONS, _has_other_annotations),
    (ClusterEvent.NODE_FEATURES, _has_other_features),
)
"""In kube-scheduler's order. A node that takes pods again and has other taints is one event twice,
as there."""


def pod_events(before: Pod | None, after: Pod | None) -> list[ClusterEvent]:
    """Of a pod that has a node, or was about to get one. None: it was not there, or had no node;
    or it is gone."""
    if before is None or after is None:
        came = before is None and after is not None
        return [ClusterEvent.POD_ADDED if came else ClusterEvent.POD_DELETED]
    return [POD_EVENTS[aspect] for aspect in _pod_aspects(before, after)]


def own_events(before: Pod, after: Pod) -> list[ClusterEvent]:
    """Of a pod that waits for a node."""
    return [OWN_EVENTS[aspect] for aspect in _pod_aspects(before, after)]


class _PodAspect(StrEnum):
    LABELS = "labels"
    SCALED_DOWN = "scaled down"
    SCALED_UP = "scaled up"
    GATES = "gates"
    TOLERATIONS = "tolerations"
    RESOURCE_CLAIMS = "resource claims"
    OTHER = "other"


POD_EVENTS: Mapping[_PodAspect, ClusterEvent] = {
    _PodAspect.LABELS: ClusterEvent.POD_LABELS,
    _PodAspect.SCALED_DOWN: ClusterEvent.POD_SCALED_DOWN,
    _PodAspect.SCALED_UP: ClusterEvent.POD_SCALED_UP,
    _PodAspect.GATES: ClusterEvent.POD_GATES,
    _PodAspect.TOLERATIONS: ClusterEvent.POD_TOLERATIONS,
    _PodAspect.RESOURCE_CLAIMS: ClusterEvent.POD_RESOURCE_CLAIMS,
    _PodAspect.OTHER: ClusterEvent.POD_UPDATED,
}
OWN_EVENTS: Mapping[_PodAspect, ClusterEvent] = {
    _PodAspect.LABELS: ClusterEvent.OWN_LABELS,
    _PodAspect.SCALED_DOWN: ClusterEvent.OWN_SCALED_DOWN,
    _PodAspect.SCALED_UP: ClusterEvent.OWN_SCALED_UP,
    _PodAspect.GATES: ClusterEvent.OWN_GATES,
    _PodAspect.TOLERATIONS: ClusterEvent.OWN_TOLERATIONS,
    _PodAspect.RESOURCE_CLAIMS: ClusterEvent.OWN_RESOURCE_CLAIMS,
    _PodAspect.OTHER: ClusterEvent.OWN_UPDATED,
}


def _pod_aspects(before: Pod, after: Pod) -> list[_PodAspect]:
    return [*_changed_aspects(before, after)] or [_PodAspect.OTHER]


def _changed_aspects(before: Pod, after: Pod) -> Iterator[_PodAspect]:
    """In kube-scheduler's order."""
    if _has_other_labels(before, after):
        yield _PodAspect.LABELS
    held, holds = held_quantities(before), held_quantities(after)
    if _has_less(held, holds):
        yield _PodAspect.SCALED_DOWN
    if _has_less(holds, held):
        yield _PodAspect.SCALED_UP
    if before.spec.scheduling_gates and not after.spec.scheduling_gates:
        yield _PodAspect.GATES
    if len(before.spec.tolerations) != len(after.spec.tolerations):
        # The API lets tolerations be added to a pod, never be taken away or changed.
        yield _PodAspect.TOLERATIONS
    if before.status.resource_claim_statuses != after.status.resource_claim_statuses:
        yield _PodAspect.RESOURCE_CLAIMS


def _has_less(before: Mapping[str, Quantity], after: Mapping[str, Quantity]) -> bool:
    """Of any resource; one that is not named any more counts, even if it was zero."""
    return any(
        name not in after or quantity.milli_value > after[name].milli_value
        for name, quantity in before.items()
    )
