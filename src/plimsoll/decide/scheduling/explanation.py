"""What every rule finds about one node, with numbers: the plain rules, asked one by one."""

from collections.abc import Mapping
from dataclasses import dataclass

from plimsoll.api.core import Node
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.node_view import NodeView
from plimsoll.decide.scheduling.columns.resources import Demands
from plimsoll.decide.scheduling.flags import AnyRule, NodeRule
from plimsoll.decide.scheduling.reasons import FIT, Finding, Judgement, Rule
from plimsoll.decide.scheduling.rules import (
    node_affinity,
    node_name,
    node_resources_fit,
    node_unschedulable,
    node_volume_limits,
    taint_toleration,
    volume_restrictions,
    volume_zone,
)
from plimsoll.decide.scheduling.rules.node_affinity import AffinityTerms
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


def explain(pod: Pod, node: Node, columns: Columns, joint: JointFit | None = None) -> Explanation:
    """Without `joint` each claim is judged alone."""
    slot = columns.index.find(node.name)
    if slot is None:
        raise KeyError(f"node {node.name} is not in the columns")
    view = NodeView(columns, slot, pod.claims)
    wanted = Demands.of_waiting(pod)
    load = columns.pods.load_of(node.name)
    return Explanation(
        node.name,
        {
            NodeRule.NODE_NAME: node_name.judge(pod, node),
            NodeRule.UNSCHEDULABLE: node_unschedulable.judge(pod, node),
            NodeRule.TAINTS: taint_toleration.judge(pod, node),
            NodeRule.NODE_AFFINITY: node_affinity.judge(AffinityTerms.of(pod), node),
            NodeRule.RESOURCES: node_resources_fit.judge(wanted, node, load),
            Rule.VOLUME_RESTRICTIONS: _restrictions(pod, node, view),
            Rule.VOLUME_LIMITS: _limits(pod, node, view),
            Rule.VOLUME_BINDING: _binding(pod, node, view, joint),
            Rule.VOLUME_ZONE: _zone(pod, node, view),
        },
    )


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
