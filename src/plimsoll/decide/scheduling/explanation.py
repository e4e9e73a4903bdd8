"""What every rule finds about one node, with numbers: the plain rules, asked one by one."""

from collections.abc import Mapping
from dataclasses import dataclass

from plimsoll.api.core import Node
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.node_view import NodeView
from plimsoll.decide.scheduling.columns.resources import Demands
from plimsoll.decide.scheduling.flags import AnyRule, NodeRule
from plimsoll.decide.scheduling.node_fit import required_demands
from plimsoll.decide.scheduling.profiles.profile import DEFAULT_PROFILE, Profile
from plimsoll.decide.scheduling.reasons import FIT, Finding, Judgement, Rule
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
from plimsoll.decide.scheduling.rules.inter_pod_affinity.all_nodes import InterPodAffinityColumns
from plimsoll.decide.scheduling.rules.node_affinity import AffinityTerms
from plimsoll.decide.scheduling.rules.pod_topology_spread import filter as topology_spread
from plimsoll.decide.scheduling.rules.pod_topology_spread.default_constraints import defaults_of
from plimsoll.decide.scheduling.rules.pod_topology_spread.filter import SpreadState
from plimsoll.decide.scheduling.rules.volume_binding import (
    claims as pod_claims,
    filter as volume_binding,
)
from plimsoll.decide.scheduling.rules.volume_binding.claims import PodClaims
from plimsoll.decide.scheduling.rules.volume_binding.joint_fit import JointFit
from plimsoll.decide.scheduling.view import ClusterView


@dataclass(frozen=True, slots=True)
class Explanation:
    """Of one pod on one node."""

    node: str
    judgements: Mapping[AnyRule, Judgement]
    """Of all rules, in their order, whether they have something to say or not."""

    @property
    def is_fit(self) -> bool:
        return all(judgement.is_fit for judgement in self.judgements.values())

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(f for judgement in self.judgements.values() for f in judgement.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplanationBasis:
    """What a judgement rests on beside pod, node and columns."""

    joint: JointFit | None = None
    """None: each claim is judged alone."""
    profile: Profile = DEFAULT_PROFILE
    """Rules that it does not ask find nothing."""
    spread: SpreadState | Judgement | None = None
    """Saves counting the pods again for every node; None: they are counted."""


PLAIN_BASIS = ExplanationBasis()


def explain(
    pod: Pod, node: Node, columns: Columns, basis: ExplanationBasis = PLAIN_BASIS
) -> Explanation:
    profile, spread = basis.profile, basis.spread
    slot = columns.index.find(node.name)
    if slot is None:
        raise KeyError(f"node {node.name} is not in the columns")
    view = NodeView(columns, slot, pod.claims)
    wanted = required_demands(Demands.of_waiting(pod), profile)
    terms = AffinityTerms.of(profile.with_added_affinity(pod))
    load = columns.pods.load_of(node.name)
    judgements: dict[AnyRule, Judgement] = {
        NodeRule.NODE_NAME: node_name.judge(pod, node),
        NodeRule.UNSCHEDULABLE: node_unschedulable.judge(pod, node),
        NodeRule.TAINTS: taint_toleration.judge(pod, node),
        NodeRule.NODE_AFFINITY: node_affinity.judge(terms, node),
        NodeRule.PORTS: _ports(pod, node, view),
        NodeRule.RESOURCES: node_resources_fit.judge(wanted, node, load),
        Rule.VOLUME_RESTRICTIONS: _restrictions(pod, node, view),
        Rule.VOLUME_LIMITS: _limits(pod, node, view),
        Rule.VOLUME_BINDING: _binding(pod, node, view, basis.joint),
        Rule.VOLUME_ZONE: _zone(pod, node, view),
        NodeRule.SPREAD: _spread(spread or _prepared_spread(pod, view, profile), node),
        NodeRule.POD_AFFINITY: _pod_affinity(pod, node, columns),
        NodeRule.DYNAMIC_RESOURCES: dynamic_resources.judge(pod),
        NodeRule.FEATURES: node_declared_features.judge(pod, node),
    }
    asked = {rule: found if profile.asks(rule) else FIT for rule, found in judgements.items()}
    return Explanation(node.name, asked)


def _prepared_spread(pod: Pod, view: ClusterView, profile: Profile) -> SpreadState | Judgement:
    return topology_spread.prepare(pod, view, defaults_of(profile.spread))


def _ports(pod: Pod, node: Node, view: ClusterView) -> Judgement:
    wanted = node_ports.prepare(pod)
    if isinstance(wanted, Judgement):
        return wanted
    return node_ports.judge(wanted, node, node_ports.used_ports(view.pods_on(node.name)))


def _pod_affinity(pod: Pod, node: Node, columns: Columns) -> Judgement:
    prepared = InterPodAffinityColumns(columns).prepare(pod)
    if isinstance(prepared, Judgement):
        return prepared
    return inter_pod_affinity.judge(prepared, node)


def _restrictions(pod: Pod, node: Node, view: ClusterView) -> Judgement:
    prepared = volume_restrictions.prepare(pod, view)
    if isinstance(prepared, Judgement):
        return prepared
    return volume_restrictions.judge(pod, prepared, view.pods_on(node.name))


def _limits(pod: Pod, node: Node, view: ClusterView) -> Judgement:
    prepared = node_volume_limits.prepare(pod)
    return node_volume_limits.judge(pod, node.name, view) if prepared is FIT else prepared


def _binding(pod: Pod, node: Node, view: ClusterView, joint: JointFit | None) -> Judgement:
    prepared = pod_claims.prepare(pod, view)
    if not isinstance(prepared, PodClaims):
        return prepared
    judged = volume_binding.judge(prepared, node, view, joint=joint)
    return judged if isinstance(judged, Judgement) else FIT


def _zone(pod: Pod, node: Node, view: ClusterView) -> Judgement:
    prepared = volume_zone.prepare(pod, view)
    return prepared if isinstance(prepared, Judgement) else volume_zone.judge(prepared, node)


def _spread(prepared: SpreadState | Judgement, node: Node) -> Judgement:
    return prepared if isinstance(prepared, Judgement) else topology_spread.judge(prepared, node)
