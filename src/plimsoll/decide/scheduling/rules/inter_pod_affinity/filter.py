"""Which nodes a pod can go to, given what it requires of the pods near it, and they of it.

Nodes with the same value of a label are near each other, such as those of one zone. So a pair of a
label and its value stands for a place, and all that is counted is pods by place.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.flags import NodeSentence
from plimsoll.decide.scheduling.pod_terms import PodTerm, PodTerms, match_all
from plimsoll.decide.scheduling.reasons import (
    FIT,
    NOT_CONCERNED,
    Finding,
    Judgement,
    Reason,
    SeenObject,
    unresolvable,
    unresolvable_node,
    unschedulable,
)
from plimsoll.decide.scheduling.view import ClusterView

Place = tuple[str, str]
"""A label of nodes, and its value."""
PodsByPlace = Mapping[Place, int]
"""Places without any are not in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodAffinityState:
    """What speaks for and against places. Nothing here changes: `with_pod` gives another state."""

    pod: Pod
    terms: PodTerms
    view: ClusterView
    wanted: PodsByPlace
    """Pods that match every term of the pod's affinity, by the places that the terms are about."""
    unwanted: PodsByPlace
    """Pods that match a term of its anti-affinity, by the place that the term is about."""
    excluding: PodsByPlace
    """Pods whose anti-affinity is about this one."""

    def with_pod(self, pod: Pod, node: Node, step: int) -> "PodAffinityState":
        """As if another pod came to the node (1) or left it (-1)."""
        labels = self.view.namespace_labels(pod.namespace)
        selectors = [term.pods for term in self.terms.affinity]
        near = self.terms.affinity if match_all(selectors, pod, labels) else ()
        far = [term for term in self.terms.anti_affinity if term.pods.matches(pod, labels)]
        return replace(
            self,
            wanted=_changed(self.wanted, _places(near, node), step),
            unwanted=_changed(self.unwanted, _places(far, node), step),
            excluding=_changed(self.excluding, _places(self._excluding(pod), node), step),
        )

    def _excluding(self, other: Pod) -> Iterator[PodTerm]:
        """The terms by which another pod does not want this one near it."""
        labels = self.view.namespace_labels(self.pod.namespace) or {}
        for term in PodTerms.readable(other).anti_affinity:
            if term.pods.matches(self.pod, labels):
                yield term

    @property
    def is_first_of_its_kind(self) -> bool:
        """Nowhere is a pod that it wants near it, but it is such a pod itself: it may begin."""
        labels = self.view.namespace_labels(self.pod.namespace)
        selectors = [term.pods for term in self.terms.affinity]
        return not self.wanted and match_all(selectors, self.pod, labels)

    @property
    def is_concerned(self) -> bool:
        return bool(self.terms.affinity or self.terms.anti_affinity or self.excluding)


def _places(terms: Iterable[PodTerm], node: Node) -> Iterator[Place]:
    for term in terms:
        if term.topology_key in node.labels:
            yield term.topology_key, node.labels[term.topology_key]


def _changed(pods: PodsByPlace, places: Iterable[Place], step: int) -> PodsByPlace:
    found: dict[Place, int] | None = None
    for place in places:
        if found is None:
            found = dict(pods)
        found[place] = found.get(place, 0) + step
        if not found[place]:
            del found[place]
    return pods if found is None else found


def prepare(pod: Pod, view: ClusterView) -> PodAffinityState | Judgement:
    terms = read_terms(pod)
    if isinstance(terms, Judgement):
        return terms
    state = PodAffinityState(pod=pod, terms=terms, view=view, wanted={}, unwanted={}, excluding={})
    for node in view.all_nodes():
        for other in view.pods_on(node.name):
            state = state.with_pod(other, node, 1)
    return state if state.is_concerned else NOT_CONCERNED


def read_terms(pod: Pod) -> PodTerms | Judgement:
    """Of a pod that is to be scheduled."""
    try:
        return PodTerms.of(pod)
    except ValueError as error:
        about = SeenObject("Pod", pod.key)
        sentence = f"parsing pod: {error}"
        return unresolvable(
            Finding(reason=Reason.POD_AFFINITY_CONFLICT, sentence=sentence, about=about)
        )


def judge(state: PodAffinityState, node: Node) -> Judgement:
    """The first of three reasons; with the first one no pod need leave the node for nothing."""
    if not _is_wanted(state, node):
        return unresolvable_node(Reason.POD_AFFINITY_CONFLICT, NodeSentence.POD_AFFINITY, node.name)
    if any(state.unwanted.get(place, 0) > 0 for place in node.labels.items()):
        return _anti_affinity(NodeSentence.POD_ANTI_AFFINITY, node)
    if any(state.excluding.get(place, 0) > 0 for place in node.labels.items()):
        return _anti_affinity(NodeSentence.EXISTING_ANTI_AFFINITY, node)
    return FIT


def _is_wanted(state: PodAffinityState, node: Node) -> bool:
    keys = [term.topology_key for term in state.terms.affinity]
    if any(key not in node.labels for key in keys):
        return False
    places = [(key, node.labels[key]) for key in keys]
    return all(state.wanted.get(place, 0) > 0 for place in places) or state.is_first_of_its_kind


def _anti_affinity(sentence: NodeSentence, node: Node) -> Judgement:
    about = SeenObject("Node", ObjectKey("", node.name))
    return unschedulable(
        Finding(reason=Reason.POD_ANTI_AFFINITY_CONFLICT, sentence=sentence, about=about)
    )
