"""The plain rules of `plimsoll.decide.scheduling`, each behind the same few questions.

`FILTERS` are in kube-scheduler's order. A rule that is not here yet has nothing to say.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from plimsoll.api.core import Node
from plimsoll.api.pods import PREFERRED, Pod
from plimsoll.api.registry import Document
from plimsoll.api.selectors.node import PreferredNodes
from plimsoll.decide.scheduling.columns.resources import Demands, Load
from plimsoll.decide.scheduling.flags import NodeRule
from plimsoll.decide.scheduling.reasons import NOT_CONCERNED, Judgement
from plimsoll.decide.scheduling.rule_fit import Rejected
from plimsoll.decide.scheduling.rules import (
    image_locality,
    node_affinity,
    node_name,
    node_ports,
    node_resources_balanced_allocation,
    node_resources_fit,
    node_unschedulable,
    taint_toleration,
)
from plimsoll.decide.scheduling.rules.inter_pod_affinity import (
    filter as pod_affinity,
    score as pod_affinity_score,
)
from plimsoll.decide.scheduling.rules.inter_pod_affinity.filter import PodAffinityState
from plimsoll.decide.scheduling.rules.narrowing import narrow
from plimsoll.decide.scheduling.rules.node_affinity import AffinityTerms
from plimsoll.decide.scheduling.rules.pod_topology_spread import (
    filter as spread_filter,
    score as spread_score,
)
from plimsoll.decide.scheduling.rules.pod_topology_spread.filter import SpreadState
from plimsoll.decide.scheduling.view import Cluster

BEST = 100


@dataclass(frozen=True, slots=True)
class Asked:
    """One case."""

    pod: Pod
    view: Cluster
    document: Document
    """The pod as it was written. It tells an empty list from none, which objects do not: that
    makes no difference to any node, but to whether a plugin calls itself concerned."""


class PreparedFilter(Protocol):
    def with_pod(self, pod: Pod, node: Node, step: int) -> "PreparedFilter":
        """As if another pod came to the node (1) or left it (-1)."""
        ...

    def judge(self, node: Node, pods: Sequence[Pod]) -> Judgement:
        """The pods are those on the node."""
        ...


@dataclass(frozen=True, slots=True)
class NodeTest:
    """A filter that looks at one node and its pods."""

    test: Callable[[Node, Sequence[Pod]], Judgement]
    names: frozenset[str] | None = None
    """The only nodes that are looked at; None: all of them."""

    def with_pod(self, _pod: Pod, _node: Node, _step: int) -> "NodeTest":
        return self

    def judge(self, node: Node, pods: Sequence[Pod]) -> Judgement:
        return self.test(node, pods)


@dataclass(frozen=True, slots=True)
class PodAffinityTest:
    state: PodAffinityState

    def with_pod(self, pod: Pod, node: Node, step: int) -> "PodAffinityTest":
        return PodAffinityTest(self.state.with_pod(pod, node, step))

    def judge(self, node: Node, _pods: Sequence[Pod]) -> Judgement:
        return pod_affinity.judge(self.state, node)


@dataclass(frozen=True, slots=True)
class NodeScores:
    """By node. Raw only where the plugin turns its scores into others at the end."""

    normalized: Mapping[str, int]
    raw: Mapping[str, int] | None = None


Prepare = Callable[[Asked], PreparedFilter | Judgement]
Score = Callable[[Asked, Sequence[Node]], NodeScores | None]
"""Of feasible nodes; None: the plugin has nothing to say. Raises ValueError where the scheduler
would give up."""


def load_of(pods: Sequence[Pod]) -> Load:
    load = Load()
    for pod in pods:
        load.add(Demands.of_placed(pod), 1)
    return load


def _node_name(asked: Asked) -> PreparedFilter:
    names = node_name.named_nodes(asked.pod)
    return NodeTest(lambda node, _pods: node_name.judge(asked.pod, node), names)


def _unschedulable(asked: Asked) -> PreparedFilter:
    return NodeTest(lambda node, _pods: node_unschedulable.judge(asked.pod, node))


def _taints(asked: Asked) -> PreparedFilter:
    return NodeTest(lambda node, _pods: taint_toleration.judge(asked.pod, node))


def _node_affinity(asked: Asked) -> PreparedFilter | Judgement:
    if asked.document["spec"].get("nodeSelector") is None and not asked.pod.spec.required_nodes:
        return NOT_CONCERNED
    names = node_affinity.named_nodes(asked.pod)
    if names is not None and not names:
        conflict = narrow(asked.pod)
        assert isinstance(conflict, Rejected)
        return conflict.judgement
    terms = AffinityTerms.of(asked.pod)
    return NodeTest(lambda node, _pods: node_affinity.judge(terms, node), names)


def _ports(asked: Asked) -> PreparedFilter | Judgement:
    wanted = node_ports.prepare(asked.pod)
    if isinstance(wanted, Judgement):
        return wanted
    return NodeTest(lambda node, pods: node_ports.judge(wanted, node, node_ports.used_ports(pods)))


def _resources(asked: Asked) -> PreparedFilter:
    demands = Demands.of_waiting(asked.pod)
    return NodeTest(lambda node, pods: node_resources_fit.judge(demands, node, load_of(pods)))


@dataclass(frozen=True, slots=True)
class SpreadTest:
    state: SpreadState

    def with_pod(self, pod: Pod, node: Node, step: int) -> "SpreadTest":
        return SpreadTest(self.state.with_pod(pod, node, step))

    def judge(self, node: Node, _pods: Sequence[Pod]) -> Judgement:
        return spread_filter.judge(self.state, node)


def _spread(asked: Asked) -> PreparedFilter | Judgement:
    prepared = spread_filter.prepare(asked.pod, asked.view)
    return prepared if isinstance(prepared, Judgement) else SpreadTest(prepared)


def _pod_affinity(asked: Asked) -> PreparedFilter | Judgement:
    state = pod_affinity.prepare(asked.pod, asked.view)
    return state if isinstance(state, Judgement) else PodAffinityTest(state)


FILTERS: Mapping[NodeRule, Prepare] = {
    NodeRule.NODE_NAME: _node_name,
    NodeRule.UNSCHEDULABLE: _unschedulable,
    NodeRule.TAINTS: _taints,
    NodeRule.NODE_AFFINITY: _node_affinity,
    NodeRule.PORTS: _ports,
    NodeRule.RESOURCES: _resources,
    NodeRule.SPREAD: _spread,
    NodeRule.POD_AFFINITY: _pod_affinity,
}


def _fullness(asked: Asked, nodes: Sequence[Node]) -> NodeScores:
    demands, view = Demands.of_waiting(asked.pod), asked.view
    return NodeScores(
        {
            node.name: node_resources_fit.score(demands, node, load_of(view.pods_on(node.name)))
            for node in nodes
        }
    )


def _balance(asked: Asked, nodes: Sequence[Node]) -> NodeScores | None:
    rule, view = node_resources_balanced_allocation, asked.view
    demands = Demands.of_waiting(asked.pod)
    if not rule.is_concerned(demands):
        return None
    return NodeScores(
        {node.name: rule.score(demands, node, load_of(view.pods_on(node.name))) for node in nodes}
    )


def _by_highest(raw: Mapping[str, int]) -> dict[str, int]:
    highest = max(raw.values(), default=0) or 1
    return {node: BEST * number // highest for node, number in raw.items()}


def _soft_taints(asked: Asked, nodes: Sequence[Node]) -> NodeScores:
    raw = {node.name: taint_toleration.avoided(asked.pod, node) for node in nodes}
    normalized = {node: BEST - number for node, number in _by_highest(raw).items()}
    return NodeScores(normalized, raw)


def _preferred_nodes(asked: Asked, nodes: Sequence[Node]) -> NodeScores | None:
    affinity = (asked.document["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    if affinity.get(PREFERRED) is None:
        return None
    if unreadable := node_affinity.find_unreadable(asked.pod):
        raise ValueError(unreadable.sentences[0])
    preferred = PreferredNodes.of(asked.pod.spec.preferred_nodes)
    raw = {node.name: preferred.score(node.labels, node.name) for node in nodes}
    return NodeScores(_by_highest(raw), raw)


def _spread_scores(asked: Asked, nodes: Sequence[Node]) -> NodeScores | None:
    soft = spread_score.prepare(asked.pod, asked.view)
    if soft is None:
        return None
    raw = spread_score.raw_scores(asked.pod, soft, nodes, asked.view)
    ignored = dict.fromkeys((node.name for node in nodes), 0)
    return NodeScores(spread_score.normalized(raw, nodes), ignored | raw)


def _near_pods(asked: Asked, nodes: Sequence[Node]) -> NodeScores | None:
    weights = pod_affinity_score.prepare_score(asked.pod, asked.view)
    if not weights:
        return None
    raw = {node.name: pod_affinity_score.score(weights, node) for node in nodes}
    return NodeScores(pod_affinity_score.normalized(raw), raw)


def _images(asked: Asked, nodes: Sequence[Node]) -> NodeScores:
    known = asked.view.nodes.values()
    reports = image_locality.read_reports(known)
    return NodeScores(
        {node.name: image_locality.score(asked.pod, node, reports, len(known)) for node in nodes}
    )


SCORES: Mapping[str, tuple[int, Score]] = {
    "TaintToleration": (3, _soft_taints),
    "NodeAffinity": (2, _preferred_nodes),
    "NodeResourcesFit": (1, _fullness),
    "PodTopologySpread": (spread_score.WEIGHT, _spread_scores),
    "InterPodAffinity": (pod_affinity_score.WEIGHT, _near_pods),
    "NodeResourcesBalancedAllocation": (1, _balance),
    "ImageLocality": (1, _images),
}
"""With their weights."""
