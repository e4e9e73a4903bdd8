"""How well nodes spread a pod that has soft constraints: the plain rule.

Fewer matching pods in a node's domains are better. A constraint weighs the more, the more domains
the nodes that will do are in. Only these nodes are compared.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from plimsoll.api.core import Node
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.rules.pod_topology_spread.constraints import (
    SOFT,
    NodeInclusion,
    SpreadConstraint,
    has_all_keys,
)
from plimsoll.decide.scheduling.rules.pod_topology_spread.default_constraints import (
    SYSTEM_DEFAULTS,
    SpreadDefaults,
    constraints_of,
)
from plimsoll.decide.scheduling.rules.pod_topology_spread.filter import count_on
from plimsoll.decide.scheduling.view import ClusterView

WEIGHT = 2
BEST = 100


@dataclass(frozen=True, slots=True)
class SoftConstraints:
    constraints: tuple[SpreadConstraint, ...]
    needs_all_keys: bool
    """Whether nodes that lack one of the labels are not scored at all."""

    def includes(self, node: Node) -> bool:
        return not self.needs_all_keys or has_all_keys(node.labels, self.constraints)


def prepare(
    pod: Pod, view: ClusterView, defaults: SpreadDefaults = SYSTEM_DEFAULTS
) -> SoftConstraints | None:
    """None: the pod is not scored. Raises ValueError."""
    constraints = constraints_of(pod, view, SOFT, defaults)
    if not constraints:
        return None
    is_explicit = bool(pod.spec.topology_spread_constraints)
    return SoftConstraints(constraints, is_explicit or defaults.needs_all_keys)


def raw_scores(
    pod: Pod, soft: SoftConstraints, feasible: Sequence[Node], view: ClusterView
) -> dict[str, int]:
    """By name of the node, the smaller the better. Nodes that are not scored are left out."""
    scored = [node for node in feasible if soft.includes(node)]
    parts = ScoredNodes(pod, soft, scored, view).parts()
    return {node.name: _rounded(sum(part.at(node) for part in parts)) for node in scored}


def normalized(raw: Mapping[str, int], feasible: Iterable[Node]) -> dict[str, int]:
    """From 0 to 100 by name of the node, the larger the better; 0 where it is not scored."""
    highest, lowest = max(raw.values(), default=0), min(raw.values(), default=0)
    scores = dict.fromkeys((node.name for node in feasible), 0)
    for name, value in raw.items():
        scores[name] = BEST if highest == 0 else BEST * (highest + lowest - value) // highest
    return scores


@dataclass(frozen=True, slots=True)
class ScoredNodes:
    """What one pod's nodes are compared by."""

    pod: Pod
    soft: SoftConstraints
    nodes: Sequence[Node]
    """Those that will do and are scored."""
    view: ClusterView

    def parts(self) -> "list[_ScorePart]":
        """For each constraint."""
        return [self._part(constraint) for constraint in self.soft.constraints]

    def _part(self, constraint: SpreadConstraint) -> "_ScorePart":
        if constraint.is_by_node:
            counts = {node.name: self._count(node, constraint) for node in self.nodes}
            return _ScorePart(constraint, weight_of(len(self.nodes)), counts)
        domains = self._domains(constraint)
        return _ScorePart(constraint, weight_of(len(domains)), domains)

    def _domains(self, constraint: SpreadConstraint) -> dict[str, int]:
        """By value of the label. A node without it counts as one of a domain without a name."""
        key, inclusion = constraint.topology_key, NodeInclusion(self.pod)
        domains = dict.fromkeys((node.labels.get(key, "") for node in self.nodes), 0)
        for node in self.view.all_nodes():
            value = node.labels.get(key, "")
            if (
                value in domains
                and self.soft.includes(node)
                and inclusion.includes(node, constraint)
            ):
                domains[value] += self._count(node, constraint)
        return domains

    def _count(self, node: Node, constraint: SpreadConstraint) -> int:
        return count_on(node.name, constraint, self.pod.namespace, self.view)


@dataclass(frozen=True, slots=True)
class _ScorePart:
    constraint: SpreadConstraint
    weight: float
    counts: Mapping[str, int]
    """Of matching pods, by value of the label; by name of the node where each is a domain."""

    def at(self, node: Node) -> float:
        value = node.labels.get(self.constraint.topology_key)
        if value is None:
            return 0.0
        count = self.counts[node.name if self.constraint.is_by_node else value]
        return count * self.weight + (self.constraint.max_skew - 1)


def weight_of(size: int) -> float:
    """Of a constraint with so many domains. The more there are, the fewer pods each has, so that a
    constraint over few domains would outweigh it otherwise."""
    return math.log(size + 2)


def _rounded(number: float) -> int:
    """To the nearest whole number, upwards from the middle."""
    whole = math.floor(number)
    return whole + (number - whole >= 0.5)  # noqa: PLR2004  the middle
