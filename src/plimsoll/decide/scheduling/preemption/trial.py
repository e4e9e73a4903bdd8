"""A pod on one node, judged by every rule in kube-scheduler's order, while other pods come to the
node and leave it in thought.

Nothing here changes: `with_pod` and `without` give another trial. What the pods of a node have no
say in, such as taints and where volumes are, is judged once for all of them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeGuard

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.pods.ports import HostPort, host_ports
from plimsoll.decide.scheduling.columns.resources import Demands, Load
from plimsoll.decide.scheduling.flags import AnyRule, NodeRule
from plimsoll.decide.scheduling.judge import PreparedPod, prepare_volumes
from plimsoll.decide.scheduling.node_fit import required_demands
from plimsoll.decide.scheduling.profiles.profile import DEFAULT_PROFILE, Profile
from plimsoll.decide.scheduling.reasons import NOT_CONCERNED, Judgement, Rule
from plimsoll.decide.scheduling.rule_fit import Rejected
from plimsoll.decide.scheduling.rules import (
    dynamic_resources,
    node_affinity,
    node_declared_features,
    node_name,
    node_ports,
    node_resources_fit,
    node_unschedulable,
    node_volume_limits,
    taint_toleration,
    volume_restrictions,
    volume_zone,
)
from plimsoll.decide.scheduling.rules.inter_pod_affinity import filter as inter_pod_affinity
from plimsoll.decide.scheduling.rules.inter_pod_affinity.filter import PodAffinityState
from plimsoll.decide.scheduling.rules.node_affinity import AffinityTerms
from plimsoll.decide.scheduling.rules.pod_topology_spread import filter as topology_spread
from plimsoll.decide.scheduling.rules.pod_topology_spread.default_constraints import defaults_of
from plimsoll.decide.scheduling.rules.pod_topology_spread.filter import SpreadState
from plimsoll.decide.scheduling.rules.volume_binding import filter as volume_binding
from plimsoll.decide.scheduling.rules.volume_restrictions import SinglePodClaims
from plimsoll.decide.scheduling.view import ClusterView

CAME, LEFT = 1, -1


class NodeObstacle(NamedTuple):
    """The first rule that speaks against a node, and what it says."""

    rule: AnyRule | None
    """None: no rule, but preemption itself."""
    judgement: Judgement


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialPod:
    """A waiting pod, as the rules have read it."""

    pod: Pod
    terms: AffinityTerms
    demands: Demands
    ports: frozenset[HostPort]
    """Those of the node that it takes."""
    volumes: PreparedPod
    spread: SpreadState | None
    """None: nothing is asked about how it is spread."""
    affinity: PodAffinityState | None
    """None: neither it nor a pod on a node says which pods may be near it."""
    profile: Profile = DEFAULT_PROFILE

    @classmethod
    def of(cls, pod: Pod, view: ClusterView) -> "TrialPod | Rejected":
        return cls.with_affinity(pod, view, inter_pod_affinity.prepare(pod, view))

    @classmethod
    def with_affinity(
        cls,
        pod: Pod,
        view: ClusterView,
        affinity: PodAffinityState | Judgement,
        profile: Profile = DEFAULT_PROFILE,
    ) -> "TrialPod | Rejected":
        """For callers that need not look at every pod to know what is near to what."""
        volumes = prepare_volumes(pod, view, profile)
        if isinstance(volumes, Rejected):
            return volumes
        spread = topology_spread.prepare(pod, view, defaults_of(profile.spread))
        if _is_rejection(spread, NodeRule.SPREAD, profile):
            return Rejected(NodeRule.SPREAD, spread)
        if _is_rejection(affinity, NodeRule.POD_AFFINITY, profile):
            return Rejected(NodeRule.POD_AFFINITY, affinity)
        return cls(
            pod=pod,
            terms=AffinityTerms.of(profile.with_added_affinity(pod)),
            demands=required_demands(Demands.of_waiting(pod), profile),
            ports=host_ports(pod),
            volumes=volumes,
            spread=spread if isinstance(spread, SpreadState) else None,
            affinity=affinity if isinstance(affinity, PodAffinityState) else None,
            profile=profile,
        )


def _is_rejection(found: object, rule: AnyRule, profile: Profile) -> TypeGuard[Judgement]:
    return isinstance(found, Judgement) and not found.is_fit and profile.asks(rule)


@dataclass(frozen=True, slots=True)
class FixedObstacles:
    """What pods that come and go do not change; None: no such rule speaks against the node."""

    early: NodeObstacle | None = None
    """By rules that kube-scheduler asks before those about other pods."""
    late: NodeObstacle | None = None
    """By the rules about where volumes are."""
    last: NodeObstacle | None = None
    """By the rules that come after those about other pods."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTrial:
    waiting: TrialPod
    node: Node
    view: ClusterView
    fixed: FixedObstacles
    others: Mapping[ObjectKey, Pod]
    """Those on the node."""
    load: Load
    ports: frozenset[HostPort]
    """Those that are taken."""
    single_pod: SinglePodClaims | None
    spread: SpreadState | None
    affinity: PodAffinityState | None
    nominated: Sequence[Pod] = field(default=())
    """Those that it must leave room for."""

    @classmethod
    def of(
        cls, waiting: TrialPod, node: Node, view: ClusterView, nominated: Sequence[Pod] = ()
    ) -> "NodeTrial":
        """With everything worked out anew."""
        others = {pod.key: pod for pod in view.pods_on(node.name)}
        return cls(
            waiting=waiting,
            node=node,
            view=view,
            fixed=fixed_obstacles(waiting, node, view),
            others=others,
            load=load_of(others.values()),
            ports=taken_ports(waiting, others.values()),
            single_pod=waiting.volumes.single_pod,
            spread=waiting.spread,
            affinity=waiting.affinity,
            nominated=nominated,
        )

    def with_pod(self, pod: Pod) -> "NodeTrial":
        """As if the pod came to the node."""
        return self._after(CAME, pod, {**self.others, pod.key: pod})

    def without(self, pod: Pod) -> "NodeTrial":
        """As if the pod left the node."""
        others = {key: each for key, each in self.others.items() if key != pod.key}
        return self._after(LEFT, pod, others)

    def _after(self, step: int, pod: Pod, others: Mapping[ObjectKey, Pod]) -> "NodeTrial":
        load = self.load.fork()
        load.add(Demands.of_placed(pod), step)
        return replace(
            self,
            others=others,
            load=load,
            ports=self._ports_after(step, pod),
            single_pod=self.single_pod and self.single_pod.with_pod(pod, step),
            spread=self.spread and self.spread.with_pod(pod, self.node, step),
            affinity=self.affinity and self.affinity.with_pod(pod, self.node, step),
        )

    def _ports_after(self, step: int, pod: Pod) -> frozenset[HostPort]:
        """A set as in kube-scheduler: a port counts as free when one of two pods with it leaves."""
        if not self.waiting.ports:
            return self.ports
        ports = host_ports(pod)
        return self.ports | ports if step == CAME else self.ports - ports

    def find_obstacle(self) -> NodeObstacle | None:
        """None: the pod can go there, whether or not the nominated pods come as well."""
        if self.nominated:
            crowded = self
            for pod in self.nominated:
                crowded = crowded.with_pod(pod)
            if found := crowded._first_obstacle():  # noqa: SLF001  another of its own class
                return found
        return self._first_obstacle()

    def _first_obstacle(self) -> NodeObstacle | None:
        return (
            self.fixed.early
            or self._asked(NodeRule.PORTS, self._judge_ports)
            or self._asked(NodeRule.RESOURCES, self._judge_resources)
            or self._asked(Rule.VOLUME_RESTRICTIONS, self._judge_restrictions)
            or self._asked(Rule.VOLUME_LIMITS, self._judge_limits)
            or self.fixed.late
            or self._asked(NodeRule.SPREAD, self._judge_spread)
            or self._asked(NodeRule.POD_AFFINITY, self._judge_affinity)
            or self.fixed.last
        )

    def _asked(self, rule: AnyRule, judge: Callable[[], Judgement | None]) -> NodeObstacle | None:
        return _obstacle(rule, judge()) if self.waiting.profile.asks(rule) else None

    def _judge_ports(self) -> Judgement | None:
        wanted = self.waiting.ports
        return node_ports.judge(wanted, self.node, self.ports) if wanted else None

    def _judge_spread(self) -> Judgement | None:
        return None if self.spread is None else topology_spread.judge(self.spread, self.node)

    def _judge_affinity(self) -> Judgement | None:
        return None if self.affinity is None else inter_pod_affinity.judge(self.affinity, self.node)

    def _judge_resources(self) -> Judgement | None:
        return node_resources_fit.judge(self.waiting.demands, self.node, self.load)

    def _judge_restrictions(self) -> Judgement | None:
        if self.single_pod is None:
            return None
        return volume_restrictions.judge(self.waiting.pod, self.single_pod, self.others.values())

    def _judge_limits(self) -> Judgement | None:
        pod = self.waiting.pod
        if not pod.spec.volumes or node_volume_limits.prepare(pod) is NOT_CONCERNED:
            return None
        others = self.others.values()
        return node_volume_limits.judge(pod, self.node.name, self.view, others=others)


def taken_ports(waiting: TrialPod, others: Iterable[Pod]) -> frozenset[HostPort]:
    """None are looked for if the pod takes none."""
    return node_ports.used_ports(others) if waiting.ports else frozenset()


def load_of(pods: Iterable[Pod]) -> Load:
    load = Load()
    for pod in pods:
        load.add(Demands.of_placed(pod), CAME)
    return load


def fixed_obstacles(waiting: TrialPod, node: Node, view: ClusterView) -> FixedObstacles:
    pod = waiting.pod
    early = (
        _obstacle(NodeRule.NODE_NAME, node_name.judge(pod, node))
        or _obstacle(NodeRule.UNSCHEDULABLE, node_unschedulable.judge(pod, node))
        or _obstacle(NodeRule.TAINTS, taint_toleration.judge(pod, node))
        or _obstacle(NodeRule.NODE_AFFINITY, node_affinity.judge(waiting.terms, node))
    )
    late = _obstacle(Rule.VOLUME_BINDING, _judge_binding(waiting, node, view)) or _obstacle(
        Rule.VOLUME_ZONE, volume_zone.judge(waiting.volumes.zones, node)
    )
    last = _obstacle(NodeRule.DYNAMIC_RESOURCES, dynamic_resources.judge(pod)) or _obstacle(
        NodeRule.FEATURES, node_declared_features.judge(pod, node)
    )
    return FixedObstacles(early, late, last)


def _judge_binding(waiting: TrialPod, node: Node, view: ClusterView) -> Judgement | None:
    found = volume_binding.judge(waiting.volumes.claims, node, view)
    return found if isinstance(found, Judgement) else None


def _obstacle(rule: AnyRule, judgement: Judgement | None) -> NodeObstacle | None:
    return None if judgement is None or judgement.is_fit else NodeObstacle(rule, judgement)
