"""Which of many selectors match a pod, without trying each of them.

Most selectors ask for the value of some label. They are kept under that label, and under their
namespaces where these are named, so that a pod meets only those that ask for a label that it has.
"""

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from plimsoll.api.pods import Pod
from plimsoll.api.selectors.requirement import Operator
from plimsoll.decide.scheduling.pod_terms import Labels, PodSelector

K = TypeVar("K", bound=Hashable)

SAME = (Operator.IN, Operator.EQUALS, Operator.DOUBLE_EQUALS)
ANY_NAMESPACE = None

Place = tuple[str | None, tuple[str, str] | None]
"""A namespace or all of them, and a label or none in particular."""


class SelectorIndex(Generic[K]):
    """Things that each have a selector; nothing is in it twice."""

    def __init__(self) -> None:
        self._selectors: dict[K, PodSelector] = {}
        self._places: dict[Place, dict[K, PodSelector]] = {}

    def __len__(self) -> int:
        return len(self._selectors)

    def __contains__(self, thing: object) -> bool:
        return thing in self._selectors

    def add(self, thing: K, selector: PodSelector) -> None:
        """One that was not there."""
        self._selectors[thing] = selector
        for place in places_of(selector):
            self._places.setdefault(place, {})[thing] = selector

    def remove(self, thing: K) -> None:
        selector = self._selectors.pop(thing)
        for place in places_of(selector):
            del self._places[place][thing]
            if not self._places[place]:
                del self._places[place]

    def matching(self, pod: Pod, namespace_labels: Labels | None) -> list[K]:
        if not self._selectors:
            return []
        return [
            thing
            for place in self._met_by(pod)
            for thing, selector in self._places[place].items()
            if selector.matches(pod, namespace_labels)
        ]

    def fork(self) -> "SelectorIndex[K]":
        twin: SelectorIndex[K] = SelectorIndex()
        twin._selectors = self._selectors.copy()
        twin._places = {place: things.copy() for place, things in self._places.items()}
        return twin

    def _met_by(self, pod: Pod) -> Iterator[Place]:
        for namespace in (pod.namespace, ANY_NAMESPACE):
            for label in (None, *pod.labels.items()):
                if (namespace, label) in self._places:
                    yield namespace, label


def places_of(selector: PodSelector) -> list[Place]:
    """Every pod that matches is in exactly one of them."""
    if selector.labels.selects_nothing:
        return []
    namespaces: list[str | None] = [ANY_NAMESPACE]
    if selector.namespace_labels.selects_nothing:
        namespaces = [*sorted(selector.namespaces)]
    return [(namespace, label) for namespace in namespaces for label in _labels_of(selector)]


def _labels_of(selector: PodSelector) -> list[tuple[str, str]] | list[None]:
    """Labels of which every pod that matches has exactly one."""
    for requirement in selector.labels.requirements:
        if requirement.operator in SAME:
            return [(requirement.key, value) for value in sorted(set(requirement.values))]
    return [None]
