"""Pods that care for others."""

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectMeta
from plimsoll.api.pods import (
    Affinity,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
    WeightedPodAffinityTerm,
)
from plimsoll.api.selectors.label import LabelSelectorSpec

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def a_place(name: str, zone: str | None = None) -> Node:
    labels = {HOST: name} | ({} if zone is None else {ZONE: zone})
    return Node(metadata=ObjectMeta(name=name, labels=labels))


def term(
    app: str, key: str = ZONE, namespace_selector: LabelSelectorSpec | None = None
) -> PodAffinityTerm:
    selector = LabelSelectorSpec(match_labels={"app": app})
    return PodAffinityTerm(
        label_selector=selector, topology_key=key, namespace_selector=namespace_selector
    )


def near(*terms: PodAffinityTerm) -> Affinity:
    return Affinity(pod_affinity=PodAffinity(required=terms))


def far(*terms: PodAffinityTerm) -> Affinity:
    return Affinity(pod_anti_affinity=PodAffinity(required=terms))


def rather_near(weight: int, preferred: PodAffinityTerm) -> Affinity:
    weighted = WeightedPodAffinityTerm(weight=weight, pod_affinity_term=preferred)
    return Affinity(pod_affinity=PodAffinity(preferred=(weighted,)))


def a_pod_of(
    app: str,
    name: str = "new",
    *,
    node: str = "",
    affinity: Affinity | None = None,
    namespace: str = "default",
) -> Pod:
    return Pod(
        metadata=ObjectMeta(name=name, namespace=namespace, uid=name, labels={"app": app}),
        spec=PodSpec(node_name=node, affinity=affinity),
    )
