"""How the pods of one scheduler name are judged: kube-scheduler calls it a profile.

A profile says which plugins refuse nodes, how much the score of each weighs, and what they are told
besides. The default one is kube-scheduler's. Several profiles share one cluster and one queue. The
files that profiles are read from are known to the process only.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import msgspec

from plimsoll.api.pods import Affinity, Container, NodeAffinity, Pod, TopologySpreadConstraint
from plimsoll.api.selectors.node import NodeSelectorSpec, NodeTermSpec
from plimsoll.decide.scheduling.flags import BITS_BY_RULE, AnyRule, NodeRule
from plimsoll.decide.scheduling.pod_requests import NATIVE_DOMAIN, QUOTA_PREFIX
from plimsoll.decide.scheduling.profiles.resource_scoring import (
    BALANCED,
    LEAST_ALLOCATED,
    ResourceScoring,
)


class SchedulerPlugin(StrEnum):
    """Every plugin that kube-scheduler has by default, in its order."""

    SCHEDULING_GATES = "SchedulingGates"
    PRIORITY_SORT = "PrioritySort"
    NODE_NAME = "NodeName"
    NODE_UNSCHEDULABLE = "NodeUnschedulable"
    TAINT_TOLERATION = "TaintToleration"
    NODE_AFFINITY = "NodeAffinity"
    NODE_PORTS = "NodePorts"
    NODE_RESOURCES_FIT = "NodeResourcesFit"
    VOLUME_RESTRICTIONS = "VolumeRestrictions"
    NODE_VOLUME_LIMITS = "NodeVolumeLimits"
    VOLUME_BINDING = "VolumeBinding"
    VOLUME_ZONE = "VolumeZone"
    POD_TOPOLOGY_SPREAD = "PodTopologySpread"
    INTER_POD_AFFINITY = "InterPodAffinity"
    DYNAMIC_RESOURCES = "DynamicResources"
    DEFAULT_PREEMPTION = "DefaultPreemption"
    BALANCED_ALLOCATION = "NodeResourcesBalancedAllocation"
    IMAGE_LOCALITY = "ImageLocality"
    DEFAULT_BINDER = "DefaultBinder"
    NODE_DECLARED_FEATURES = "NodeDeclaredFeatures"


DEFAULT_WEIGHTS: Mapping[str, int] = {
    SchedulerPlugin.TAINT_TOLERATION: 3,
    SchedulerPlugin.NODE_AFFINITY: 2,
    SchedulerPlugin.NODE_RESOURCES_FIT: 1,
    SchedulerPlugin.VOLUME_BINDING: 1,
    SchedulerPlugin.POD_TOPOLOGY_SPREAD: 2,
    SchedulerPlugin.INTER_POD_AFFINITY: 2,
    SchedulerPlugin.DYNAMIC_RESOURCES: 2,
    SchedulerPlugin.BALANCED_ALLOCATION: 1,
    SchedulerPlugin.IMAGE_LOCALITY: 1,
}
"""Of all plugins that score nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AffinityArguments:
    """Of InterPodAffinity."""

    hard_weight: int = 1
    """What a required term of another pod counts for where it matches the pod."""
    ignores_preferences_of_others: bool = False
    """Whether pods without preferences of their own are not compared by those of others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadArguments:
    """Of PodTopologySpread, for pods without constraints of their own."""

    constraints: tuple[TopologySpreadConstraint, ...] | None = None
    """None: those that kube-scheduler has by itself, softly over hosts and zones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptionArguments:
    """Of DefaultPreemption: how many nodes are tried before one is chosen."""

    least_percentage: int = 10
    least_nodes: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    without: frozenset[str] = frozenset()
    """Plugins that refuse no node."""
    weights: Mapping[str, int] = field(default_factory=lambda: DEFAULT_WEIGHTS)
    """Of every plugin. Those that are not given do not score and have 0."""
    preempts: bool = True
    resources: ResourceScoring = LEAST_ALLOCATED
    balanced: tuple[str, ...] = BALANCED
    """Resources whose use is to be brought together."""
    ignored_resources: frozenset[str] = frozenset()
    """Extended resources that nodes need not have enough of."""
    ignored_groups: frozenset[str] = frozenset()
    """The same, by what is before the slash."""
    added_affinity: NodeAffinity | None = None
    """What all pods of the profile ask of nodes beside what they ask themselves."""
    affinity: AffinityArguments = AffinityArguments()
    spread: SpreadArguments = SpreadArguments()
    preemption: PreemptionArguments = PreemptionArguments()

    def __post_init__(self) -> None:
        every: dict[str, int] = dict.fromkeys(map(str, SchedulerPlugin), 0)
        object.__setattr__(self, "weights", every | dict(self.weights))

    def asks_plugin(self, plugin: str) -> bool:
        """Whether the plugin may refuse nodes."""
        return plugin not in self.without

    def asks(self, rule: AnyRule) -> bool:
        """The same, by the name that rules have here."""
        return self.asks_plugin(rule.value)

    @property
    def ignored_bits(self) -> int:
        """The bits of `Blocked` that do not count."""
        return sum(bits for rule, bits in BITS_BY_RULE.items() if not self.asks(rule))

    def ignores_resource(self, name: str) -> bool:
        if not _is_extended(name):
            return False
        return name in self.ignored_resources or name.split("/", 1)[0] in self.ignored_groups

    def as_judged(self, pod: Pod, rule: AnyRule) -> Pod:
        """The pod as the rule sees it: with what the profile adds or ignores."""
        if rule is NodeRule.NODE_AFFINITY:
            return self.with_added_affinity(pod)
        if rule is NodeRule.RESOURCES and (self.ignored_resources or self.ignored_groups):
            return self._without_ignored(pod)
        return pod

    def _without_ignored(self, pod: Pod) -> Pod:
        def counted(container: Container) -> Container:
            requests = {
                name: amount
                for name, amount in container.resources.requests.items()
                if not self.ignores_resource(name)
            }
            resources = msgspec.structs.replace(container.resources, requests=requests)
            return msgspec.structs.replace(container, resources=resources)

        spec = msgspec.structs.replace(
            pod.spec,
            containers=tuple(map(counted, pod.spec.containers)),
            init_containers=tuple(map(counted, pod.spec.init_containers)),
        )
        return msgspec.structs.replace(pod, spec=spec)

    def with_added_affinity(self, pod: Pod) -> Pod:
        """The pod as if it asked for the added affinity itself."""
        if self.added_affinity is None:
            return pod
        affinity = pod.spec.affinity or Affinity()
        own = affinity.node_affinity or NodeAffinity()
        both = NodeAffinity(
            required=_both(own.required, self.added_affinity.required),
            preferred=(*own.preferred, *self.added_affinity.preferred),
        )
        merged = msgspec.structs.replace(affinity, node_affinity=both)
        spec = msgspec.structs.replace(pod.spec, affinity=merged)
        return msgspec.structs.replace(pod, spec=spec)


DEFAULT_PROFILE = Profile()


def _is_extended(name: str) -> bool:
    is_native = NATIVE_DOMAIN in name or "/" not in name
    return not is_native and not name.startswith(QUOTA_PREFIX)


def _both(one: NodeSelectorSpec | None, other: NodeSelectorSpec | None) -> NodeSelectorSpec | None:
    """Nodes that both select: any term of the one with any of the other. A term that asks for
    nothing selects no node, alone or with others."""
    if one is None or other is None:
        return one or other
    terms = tuple(
        NodeTermSpec(
            match_expressions=(*left.match_expressions, *right.match_expressions),
            match_fields=(*left.match_fields, *right.match_fields),
        )
        for left in _terms(one)
        for right in _terms(other)
    )
    return NodeSelectorSpec(node_selector_terms=terms)


def _terms(selector: NodeSelectorSpec) -> list[NodeTermSpec]:
    return [
        term for term in selector.node_selector_terms if term.match_expressions or term.match_fields
    ]
