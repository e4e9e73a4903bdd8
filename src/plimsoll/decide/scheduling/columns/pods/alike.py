"""Pods that no selector can tell apart, and where they are.

The pods of one workload mostly have the same labels. A selector that is new is compared with each
kind of pods once, and not with every pod; and only with kinds that have a label which it asks for.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.pods.matching import ANY_NAMESPACE, Place, places_of
from plimsoll.decide.scheduling.pod_terms import PodSelector

KindKey = tuple[str, frozenset[tuple[str, str]], bool]
"""Namespace, labels, and whether they are being deleted."""


@dataclass(slots=True)
class PodKind:
    example: Pod
    by_slot: dict[int, int] = field(default_factory=dict)
    """How many there are, by slot of the node; none where there are none."""


class AlikePods:
    def __init__(self) -> None:
        self._kinds: dict[KindKey, PodKind] = {}
        self._places: dict[Place, dict[KindKey, PodKind]] = {}

    def add(self, pod: Pod, slot: int, step: int) -> None:
        """A pod came to the node in the slot (1), or left it (-1)."""
        key = pod.namespace, frozenset(pod.labels.items()), pod.is_being_deleted
        kind = self._kinds.get(key) or self._enter(key, PodKind(pod))
        number = kind.by_slot.get(slot, 0) + step
        if number:
            kind.by_slot[slot] = number
        else:
            del kind.by_slot[slot]
        if not kind.by_slot:
            self._leave(key)

    def clear_node(self, slot: int) -> None:
        for key, kind in [*self._kinds.items()]:
            if kind.by_slot.pop(slot, None) is not None and not kind.by_slot:
                self._leave(key)

    def candidates(self, selector: PodSelector) -> Iterable[PodKind]:
        """All kinds that the selector may match, each once."""
        for namespace, label in places_of(selector):
            if namespace is not ANY_NAMESPACE:
                yield from self._places.get((namespace, label), {}).values()
            else:
                yield from (k for k in self._kinds.values() if label in (None, *_labels(k)))

    def _enter(self, key: KindKey, kind: PodKind) -> PodKind:
        self._kinds[key] = kind
        for place in _places(kind):
            self._places.setdefault(place, {})[key] = kind
        return kind

    def _leave(self, key: KindKey) -> None:
        for place in _places(self._kinds.pop(key)):
            del self._places[place][key]
            if not self._places[place]:
                del self._places[place]

    def fork(self) -> "AlikePods":
        twin = AlikePods()
        for key, kind in self._kinds.items():
            twin._enter(key, PodKind(kind.example, kind.by_slot.copy()))
        return twin


def _places(kind: PodKind) -> Iterator[Place]:
    for label in (None, *_labels(kind)):
        yield kind.example.namespace, label


def _labels(kind: PodKind) -> Iterable[tuple[str, str]]:
    return kind.example.labels.items()
