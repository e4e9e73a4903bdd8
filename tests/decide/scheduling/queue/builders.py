"""Pods that want others near them or far from them, for tests of what wakes them."""

import msgspec

from plimsoll.api.core import Namespace
from plimsoll.api.pods import (
    Affinity,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    TopologySpreadConstraint,
)
from plimsoll.api.selectors.label import LabelSelectorSpec
from tests.builders import ZONE, Labels, a_pod, meta

WEB = LabelSelectorSpec(match_labels={"app": "web"})
DATABASE = LabelSelectorSpec(match_labels={"app": "db"})
EVERYTHING = LabelSelectorSpec()


def term(
    selector: LabelSelectorSpec = WEB,
    *,
    key: str = ZONE,
    namespaces: LabelSelectorSpec | None = None,
) -> PodAffinityTerm:
    return PodAffinityTerm(topology_key=key, label_selector=selector, namespace_selector=namespaces)


def near(*terms: PodAffinityTerm, pod: Pod | None = None) -> Pod:
    return _with(pod or a_pod(), Affinity(pod_affinity=PodAffinity(required=terms)))


def far_from(*terms: PodAffinityTerm, pod: Pod | None = None) -> Pod:
    return _with(pod or a_pod(), Affinity(pod_anti_affinity=PodAffinity(required=terms)))


def _with(pod: Pod, affinity: Affinity) -> Pod:
    spec = msgspec.structs.replace(pod.spec, affinity=affinity)
    return msgspec.structs.replace(pod, spec=spec)


def spread(
    pod: Pod,
    *,
    key: str = ZONE,
    taints_policy: str | None = None,
    match_label_keys: tuple[str, ...] = (),
) -> Pod:
    """Evenly over the values of a label, among the pods called web."""
    constraint = TopologySpreadConstraint(
        max_skew=1,
        topology_key=key,
        when_unsatisfiable="DoNotSchedule",
        label_selector=WEB,
        node_taints_policy=taints_policy,
        match_label_keys=match_label_keys,
    )
    spec = msgspec.structs.replace(pod.spec, topology_spread_constraints=(constraint,))
    return msgspec.structs.replace(pod, spec=spec)


def placed(app: str = "web", *, name: str = "other", namespace: str = "default") -> Pod:
    return a_pod(name, namespace=namespace, node="node-1", labels={"app": app})


def a_namespace(name: str = "default", labels: Labels | None = None) -> Namespace:
    return Namespace(metadata=meta(name, labels=labels))
