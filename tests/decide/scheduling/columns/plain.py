"""The same cluster judged by the plain rules, node by node: what the columns must agree with."""

from plimsoll.api.core import Node
from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.resources import Demands, Load
from plimsoll.decide.scheduling.flags import FIRST_SCALAR, MEANINGS, AnyRule, NodeRule
from plimsoll.decide.scheduling.judge import Rejected
from plimsoll.decide.scheduling.reasons import FIT, Judgement, Rule
from plimsoll.decide.scheduling.rules import (
    node_affinity,
    node_name,
    node_resources_fit,
    node_unschedulable,
    node_volume_limits as volume_limits,
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
from plimsoll.decide.scheduling.rules.volume_binding.static_matching import PodVolumes
from plimsoll.decide.scheduling.view import Cluster

Said = set[tuple[AnyRule, str]]


def cluster_of(objects: list[ApiObject]) -> Cluster:
    """Pods in the order in which columns look at them."""
    return Cluster.of(sorted(objects, key=lambda object_: object_.key))


def rejection(pod: Pod, view: Cluster) -> Rejected | None:
    for rule, prepared in (
        (Rule.VOLUME_RESTRICTIONS, volume_restrictions.prepare(pod, view)),
        (Rule.VOLUME_BINDING, pod_claims.prepare(pod, view)),
        (Rule.VOLUME_ZONE, volume_zone.prepare(pod, view)),
    ):
        if isinstance(prepared, Judgement) and not prepared.is_fit:
            return Rejected(rule, prepared)
    return None


def load_of(node: str, view: Cluster) -> Load:
    load = Load()
    for pod in view.pods_on(node):
        load.add(Demands.of_placed(pod), 1)
    return load


def judgements(pod: Pod, node: Node, view: Cluster) -> dict[AnyRule, Judgement]:
    return {
        NodeRule.NODE_NAME: node_name.judge(pod, node),
        NodeRule.UNSCHEDULABLE: node_unschedulable.judge(pod, node),
        NodeRule.TAINTS: taint_toleration.judge(pod, node),
        NodeRule.NODE_AFFINITY: node_affinity.judge(AffinityTerms.of(pod), node),
        NodeRule.RESOURCES: node_resources_fit.judge(
            Demands.of_waiting(pod), node, load_of(node.name, view)
        ),
        Rule.VOLUME_RESTRICTIONS: _restrictions(pod, node, view),
        Rule.VOLUME_LIMITS: _limits(pod, node, view),
        Rule.VOLUME_BINDING: _binding(pod, node, view),
        Rule.VOLUME_ZONE: _zone(pod, node, view),
    }


def said(found: dict[AnyRule, Judgement]) -> Said:
    """Each rule's reasons; resources by their sentences, which name them."""
    return {
        (rule, finding.sentence if rule is NodeRule.RESOURCES else finding.reason)
        for rule, judgement in found.items()
        for finding in judgement.findings
    }


def meant(flags: int, demands: Demands) -> Said:
    """The same, read from bits."""
    found: Said = set()
    for flag, (rule, reason, sentence) in MEANINGS.items():
        if flags & flag:
            found.add((rule, str(sentence) if rule is NodeRule.RESOURCES else reason))
    for number, name in enumerate(demands.scalars):
        if flags >> (FIRST_SCALAR + number) & 1:
            found.add((NodeRule.RESOURCES, f"Insufficient {name}"))
    return found


def _restrictions(pod: Pod, node: Node, view: Cluster) -> Judgement:
    prepared = volume_restrictions.prepare(pod, view)
    if isinstance(prepared, Judgement):
        return prepared
    return volume_restrictions.judge(pod, prepared, view.pods_on(node.name))


def _limits(pod: Pod, node: Node, view: Cluster) -> Judgement:
    prepared = volume_limits.prepare(pod)
    return volume_limits.judge(pod, node.name, view) if prepared is FIT else prepared


def volumes_for(pod: Pod, node: Node, view: Cluster) -> PodVolumes | Judgement:
    prepared = pod_claims.prepare(pod, view)
    if not isinstance(prepared, PodClaims):
        return prepared
    return volume_binding.judge(prepared, node, view)


def _binding(pod: Pod, node: Node, view: Cluster) -> Judgement:
    judged = volumes_for(pod, node, view)
    return judged if isinstance(judged, Judgement) else FIT


def _zone(pod: Pod, node: Node, view: Cluster) -> Judgement:
    prepared = volume_zone.prepare(pod, view)
    return prepared if isinstance(prepared, Judgement) else volume_zone.judge(prepared, node)
