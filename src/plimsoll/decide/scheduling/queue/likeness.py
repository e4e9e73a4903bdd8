"""Which waiting pods a rule answers alike, whatever changes: one of them can be asked for all.

Thousands of pods that wait are mostly the pods of a few controllers. A change is then judged once
for each controller and not once for each pod.
"""

from collections.abc import Hashable

import msgspec

from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.flags import AnyRule, NodeRule
from plimsoll.decide.scheduling.reasons import Rule


def spec_likeness(pod: Pod) -> bytes:
    """Everything of the spec that rules about nodes and other pods look at."""
    spec = pod.spec
    return msgspec.msgpack.encode(
        (
            spec.scheduler_name,
            spec.node_name,
            spec.node_selector,
            spec.affinity,
            spec.tolerations,
            spec.topology_spread_constraints,
            spec.containers,
            spec.init_containers,
            spec.overhead,
            spec.resources,
        )
    )


def likeness(rule: AnyRule, pod: Pod, spec: bytes) -> Hashable:
    """Pods with the same one are answered alike by `ClusterChange.helps_alike`; `spec` is their
    `spec_likeness`. The rules about volumes look at the claims of each pod."""
    if isinstance(rule, Rule):
        return pod.key
    if rule is NodeRule.POD_AFFINITY:
        return spec, pod.namespace
    if rule is NodeRule.SPREAD:
        return spec, pod.namespace, _shared_labels(pod)
    return spec


def _shared_labels(pod: Pod) -> frozenset[tuple[str, str | None]]:
    """The labels by which the pod counts only pods like itself."""
    constraints = pod.spec.topology_spread_constraints
    keys = {key for constraint in constraints for key in constraint.match_label_keys}
    return frozenset((key, pod.labels.get(key)) for key in keys)
