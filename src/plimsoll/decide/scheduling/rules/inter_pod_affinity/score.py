"""How good nodes are by what a pod prefers of the pods near it, and they of it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plimsoll.api.core import Node
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.pods.terms import weighted_terms
from plimsoll.decide.scheduling.pod_terms import PodTerm, PodTerms
from plimsoll.decide.scheduling.rules.inter_pod_affinity.filter import Place
from plimsoll.decide.scheduling.view import ClusterView

WEIGHT = 2
BEST = 100.0

Weights = Mapping[Place, int]
"""What places are worth. A place that is in it with nothing has pods that outweigh each other."""


def prepare_score(pod: Pod, view: ClusterView) -> Weights:
    """Raises ValueError. Empty: the rule makes no difference between nodes."""
    scored = _ScoredPlaces(pod, PodTerms.of(pod), view, {})
    for node in view.all_nodes():
        for other in view.pods_on(node.name):
            scored.add(other, node)
    return scored.weights


@dataclass(frozen=True, slots=True)
class _ScoredPlaces:
    pod: Pod
    terms: PodTerms
    view: ClusterView
    weights: dict[Place, int]

    def add(self, other: Pod, node: Node) -> None:
        labels = self.view.namespace_labels(other.namespace)
        for preferred in self.terms.preferred:
            if preferred.term.pods.matches(other, labels):
                self._weigh(preferred.term, node, preferred.weight)
        for avoided in self.terms.avoided:
            if avoided.term.pods.matches(other, labels):
                self._weigh(avoided.term, node, -avoided.weight)
        own_labels = self.view.namespace_labels(self.pod.namespace) or {}
        for weighted in weighted_terms(PodTerms.readable(other)):
            if weighted.term.pods.matches(self.pod, own_labels):
                self._weigh(weighted.term, node, weighted.weight)

    def _weigh(self, term: PodTerm, node: Node, weight: int) -> None:
        if (value := node.labels.get(term.topology_key)) is not None:
            place = term.topology_key, value
            self.weights[place] = self.weights.get(place, 0) + weight


def score(weights: Weights, node: Node) -> int:
    """Not yet compared with other nodes."""
    return sum(weights.get(place, 0) for place in node.labels.items())


def normalized(raw: Mapping[str, int]) -> dict[str, int]:
    """From 0 to 100 by node, among all that will do. Rounded as kube-scheduler rounds: some numbers
    end one below what they should be."""
    least, most = min(raw.values(), default=0), max(raw.values(), default=0)
    if least == most:
        return dict.fromkeys(raw, 0)
    return {node: int(BEST * ((value - least) / (most - least))) for node, value in raw.items()}


# All nodes at once


@dataclass(frozen=True, slots=True)
class PodAffinityScore:
    raw: NDArray[np.int64]
    """By slot, not yet compared with other nodes."""

    def weighted(self, is_feasible: NDArray[np.bool_]) -> NDArray[np.int64]:
        compared = self.raw[is_feasible]
        if not len(compared) or compared.min() == compared.max():
            return np.zeros_like(self.raw)
        least, most = int(compared.min()), int(compared.max())
        shares = BEST * ((self.raw - least) / (most - least))
        return WEIGHT * shares.astype(np.int64)
