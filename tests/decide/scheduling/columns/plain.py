"""The same cluster judged by the plain rules, node by node: what the columns must agree with."""

from plimsoll.api.core import Node
from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.resources import Demands, Load
from plimsoll.decide.scheduling.flags import FIRST_SCALAR, MEANINGS, AnyRule, NodeRule
from plimsoll.decide.scheduling.reasons import FIT, Judgement, Rule
from plimsoll.decide.scheduling.rule_fit import Rejected
from plimsoll.decide.scheduling.rules import (
    dynamic_resources,
    node_affinity,
    node_declared_features,
    node_name,
    node_ports,
    node_resources_fit,
    node_unschedulable,
    node_volume_limits as volume_limits,
    taint_toleration,
    volume_restrictions,
    volume_zone,
)
from plimsoll.decide.scheduling.rules.inter_pod_affinity import filter as inter_pod_affinity
from plimsoll.decide.scheduling.rules.narrowing import narrow
from plimsoll.decide.scheduling.rules.node_affinity import AffinityTerms
from plimsoll.decide.scheduling.rules.pod_topology_spread import (
    filter as topology_spread,
    score as spread_score,
)
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
    narrowing = narrow(pod)
    if isinstance(narrowing, Rejected):
        return narrowing
    for rule, prepared in (
        (Rule.VOLUME_RESTRICTIONS, volume_restrictions.prepare(pod, view)),
        (Rule.VOLUME_BINDING, pod_claims.prepare(pod, view)),
        (Rule.VOLUME_ZONE, volume_zone.prepare(pod, view)),
        (NodeRule.SPREAD, topology_spread.prepare(pod, view)),
        (NodeRule.POD_AFFINITY, inter_pod_affinity.prepare(pod, view)),
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
        NodeRule.PORTS: _ports(pod, node, view),
        NodeRule.RESOURCES: node_resources_fit.judge(
            Demands.of_waiting(pod), node, load_of(node.name, view)
        ),
        Rule.VOLUME_RESTRICTIONS: _restrictions(pod, node, view),
        Rule.VOLUME_LIMITS: _limits(pod, node, view),
        Rule.VOLUME_BINDING: _binding(pod, node, view),
        Rule.VOLUME_ZONE: _zone(pod, node, view),
        NodeRule.SPREAD: _spread(pod, node, view),
        NodeRule.POD_AFFINITY: _pod_affinity(pod, node, view),
        NodeRule.DYNAMIC_RESOURCES: dynamic_resources.judge(pod),
        NodeRule.FEATURES: node_declared_features.judge(pod, node),
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


def sentences_of(flags: int, demands: Demands) -> list[str]:
    """What kube-scheduler says for bits that stand for the same sentence on every node."""
    found = {meaning.sentence for flag, meaning in MEANINGS.items() if flags & flag}
    found |= {
        f"Insufficient {name}"
        for number, name in enumerate(demands.scalars)
        if flags >> (FIRST_SCALAR + number) & 1
    }
    return sorted(map(str, found))


def _ports(pod: Pod, node: Node, view: Cluster) -> Judgement:
    wanted = node_ports.prepare(pod)
    if isinstance(wanted, Judgement):
        return wanted
    return node_ports.judge(wanted, node, node_ports.used_ports(view.pods_on(node.name)))


def _pod_affinity(pod: Pod, node: Node, view: Cluster) -> Judgement:
    prepared = inter_pod_affinity.prepare(pod, view)
    if isinstance(prepared, Judgement):
        return prepared
    return inter_pod_affinity.judge(prepared, node)


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


def _spread(pod: Pod, node: Node, view: Cluster) -> Judgement:
    prepared = topology_spread.prepare(pod, view)
    return prepared if isinstance(prepared, Judgement) else topology_spread.judge(prepared, node)


def spread_scores(pod: Pod, feasible: list[Node], view: Cluster) -> dict[str, int]:
    """From 0 to 100 by node; empty if the rule has nothing to say."""
    try:
        soft = spread_score.prepare(pod, view)
    except ValueError:
        return {}
    if soft is None:
        return {}
    raw = spread_score.raw_scores(pod, soft, feasible, view)
    return spread_score.normalized(raw, feasible)
