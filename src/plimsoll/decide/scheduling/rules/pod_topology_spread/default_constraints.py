"""What spreads a pod that asks for nothing: the system's constraints, for the pods of its workload.

Which pods these are tell the Services that select the pod and the controller that owns it. Without
either the pod is not spread.
"""

from dataclasses import dataclass, replace

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod, TopologySpreadConstraint
from plimsoll.api.selectors.label import LabelSelector, LabelSelectorSpec
from plimsoll.decide.scheduling.profiles.profile import SpreadArguments
from plimsoll.decide.scheduling.rules.pod_topology_spread.constraints import (
    HOSTNAME,
    SOFT,
    SpreadConstraint,
    read_constraints,
)
from plimsoll.decide.scheduling.view import ClusterView

ZONE = "topology.kubernetes.io/zone"
REPLICATION_CONTROLLER = "ReplicationController"
VERSIONS = {REPLICATION_CONTROLLER: "v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1"}
"""Controllers of other API versions are not known to the system."""


@dataclass(frozen=True, slots=True)
class SpreadDefaults:
    """For pods without constraints. Which pods are alike tells their workload, no selector."""

    constraints: tuple[TopologySpreadConstraint, ...]
    needs_all_keys: bool
    """Whether a node must have every label that they name in order to be scored by any."""


SYSTEM_DEFAULTS = SpreadDefaults(
    (
        TopologySpreadConstraint(topology_key=HOSTNAME, max_skew=3, when_unsatisfiable=SOFT),
        TopologySpreadConstraint(topology_key=ZONE, max_skew=5, when_unsatisfiable=SOFT),
    ),
    needs_all_keys=False,
)


def defaults_of(arguments: SpreadArguments) -> SpreadDefaults:
    if arguments.constraints is None:
        return SYSTEM_DEFAULTS
    return SpreadDefaults(arguments.constraints, needs_all_keys=True)


def constraints_of(
    pod: Pod, view: ClusterView, when: str, defaults: SpreadDefaults = SYSTEM_DEFAULTS
) -> tuple[SpreadConstraint, ...]:
    """Those of the pod that are hard, or soft; the defaults if it has none at all. Raises
    ValueError."""
    if specs := pod.spec.topology_spread_constraints:
        return read_constraints(specs, pod.labels, when)
    found = read_constraints(defaults.constraints, pod.labels, when)
    if not found:
        return ()
    return with_selector(found, workload_selector(pod, view))


def with_selector(
    constraints: tuple[SpreadConstraint, ...], selector: LabelSelector
) -> tuple[SpreadConstraint, ...]:
    if selector.is_empty:
        return ()
    return tuple(replace(constraint, pods=selector) for constraint in constraints)


def workload_selector(pod: Pod, view: ClusterView) -> LabelSelector:
    """The pods that are selected by all that selects or owns the pod; an empty one if nothing
    does."""
    merged: dict[str, str] = {}
    for labels in view.services_selecting(pod):
        merged |= labels
    owned = _owner_selector(pod, view)
    if owned is None:
        return LabelSelector.of_labels(merged)
    kind, selector = owned
    if kind == REPLICATION_CONTROLLER:
        return LabelSelector.of_labels(merged | dict(selector.match_labels))
    return _narrowed(LabelSelector.of_labels(merged), selector)


def _owner_selector(pod: Pod, view: ClusterView) -> tuple[str, LabelSelectorSpec] | None:
    owner = pod.metadata.controller
    if owner is None or owner.api_version != VERSIONS.get(owner.kind):
        return None
    selector = view.workload_selector((owner.kind, ObjectKey(pod.namespace, owner.name)))
    return None if selector is None else (owner.kind, selector)


def _narrowed(selector: LabelSelector, by: LabelSelectorSpec) -> LabelSelector:
    """Conditions that cannot be read are left out, all of them."""
    try:
        more = LabelSelector.of(by).requirements
    except ValueError:
        return selector
    return LabelSelector((*selector.requirements, *more))
