"""NodeAffinity: the labels and names that a pod requires of its node, and those that it prefers."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from plimsoll.api.core import Node
from plimsoll.api.pods import Pod
from plimsoll.api.selectors.node import NodeTermSpec, PreferredNodes, RequiredNodes
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.nodes import weighted_sum
from plimsoll.decide.scheduling.flags import NodeSentence
from plimsoll.decide.scheduling.reasons import (
    FIT,
    Finding,
    Judgement,
    Reason,
    failed,
    unresolvable_node,
)

NO_PREFERENCES = PreferredNodes()
NAME_FIELD = "metadata.name"


@dataclass(frozen=True, slots=True)
class AffinityTerms:
    """A pod's node selector and node affinity, read once."""

    required: RequiredNodes | None = None
    preferred: PreferredNodes = NO_PREFERENCES

    @classmethod
    def of(cls, pod: Pod) -> Self:
        spec = pod.spec
        if spec.affinity is None:
            if not spec.node_selector:
                return cls()
            return cls(RequiredNodes.of(spec.node_selector, None))
        return cls(RequiredNodes.of(spec.node_selector, spec.required_nodes), _preferred(pod))


def _preferred(pod: Pod) -> PreferredNodes:
    """Preferences that cannot be read are no reason to leave the pod waiting."""
    try:
        return PreferredNodes.of(pod.spec.preferred_nodes)
    except ValueError:
        return NO_PREFERENCES


def find_unreadable(pod: Pod) -> Judgement | None:
    """What kube-scheduler gives up with when it compares nodes; None: preferences can be read."""
    try:
        PreferredNodes.of(pod.spec.preferred_nodes)
    except ValueError as error:
        sentence = f'running PreScore plugin "NodeAffinity": {error}'
        return failed(Finding(reason=Reason.NODE_AFFINITY_MISMATCH, sentence=sentence))
    return None


def named_nodes(pod: Pod) -> frozenset[str] | None:
    """The only nodes that are looked at; None: some term does not name any. Empty: no node can have
    all the names that a term asks for."""
    required = pod.spec.required_nodes
    if required is None or not required.node_selector_terms:
        return None
    found: frozenset[str] = frozenset()
    for term in required.node_selector_terms:
        names = _named_by(term)
        if names is None:
            return None
        found |= names
    return found


def _named_by(term: NodeTermSpec) -> frozenset[str] | None:
    named = [
        frozenset(each.values or ())
        for each in term.match_fields
        if (each.key, each.operator) == (NAME_FIELD, "In")
    ]
    return frozenset.intersection(*named) if named else None


def judge(terms: AffinityTerms, node: Node) -> Judgement:
    if terms.required is None or terms.required.matches(node.labels, node.name):
        return FIT
    return unresolvable_node(Reason.NODE_AFFINITY_MISMATCH, NodeSentence.NODE_AFFINITY, node.name)


# All nodes at once


def blocked(terms: AffinityTerms, columns: Columns) -> int:
    """The nodes that the pod does not select, as bits."""
    if terms.required is None:
        return 0
    found = columns.labels.meeting(terms.required.labels.requirements)
    if terms.required.affinity is not None:
        wanted = 0
        for term in terms.required.affinity.terms:
            wanted |= columns.labels.matching_term(term)
        found &= wanted
    return ~found


def preferences(terms: AffinityTerms, columns: Columns) -> NDArray[np.int64] | None:
    """By slot, the weight of all terms that the pod prefers; None: nowhere any."""
    if not terms.preferred.terms:
        return None
    parts = [(weight, columns.labels.matching_term(term)) for weight, term in terms.preferred.terms]
    return weighted_sum(parts, columns.index)
