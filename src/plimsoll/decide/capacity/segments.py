"""Which segments a driver's nodes form: its topology keys, with the values that nodes have.

A node counts when it lists the driver and carries all of the driver's keys; what it lacks now may
come with its next change.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from plimsoll.api.core import Node
from plimsoll.api.selectors.label import LabelSelectorSpec
from plimsoll.api.selectors.node import NodeTermSpec
from plimsoll.api.storage import CSINode
from plimsoll.api.volumes import VolumeNodeAffinity

Segment = tuple[tuple[str, str], ...]
"""Labels, sorted by key. Without any it is the whole cluster."""


def segment_of(labels: Mapping[str, str]) -> Segment:
    return tuple(sorted(labels.items()))


def find_segment(topology: LabelSelectorSpec | None) -> Segment | None:
    """The segment that a capacity object is about, if it says so plainly."""
    if topology is None or topology.match_expressions:
        return None
    return segment_of(topology.match_labels)


@dataclass(frozen=True, slots=True)
class SegmentChange:
    added: tuple[Segment, ...] = ()
    removed: tuple[Segment, ...] = ()


class NodeSegments:
    """The segments of one driver, kept up to date node by node.

    What nodes gain and lose between two calls of `take_change` is netted out: a label that goes
    and comes back was never away.
    """

    def __init__(self, driver: str) -> None:
        self._driver = driver
        self._labels: dict[str, Mapping[str, str]] = {}
        self._keys: dict[str, tuple[str, ...]] = {}
        self._by_node: dict[str, Segment] = {}
        self._nodes: Counter[Segment] = Counter()
        self._touched: dict[Segment, bool] = {}
        """Whether it was there when the change was last taken."""

    def put_node(self, node: Node) -> None:
        if self._labels.get(node.name) != node.labels:
            self._labels[node.name] = node.labels
            self._refresh(node.name)

    def remove_node(self, name: str) -> None:
        if self._labels.pop(name, None) is not None:
            self._refresh(name)

    def put_csi_node(self, csi_node: CSINode) -> None:
        entry = csi_node.find_driver(self._driver)
        keys = None if entry is None else entry.topology_keys or ()
        if keys is None:
            self.remove_csi_node(csi_node.name)
        elif self._keys.get(csi_node.name) != keys:
            self._keys[csi_node.name] = keys
            self._refresh(csi_node.name)

    def remove_csi_node(self, name: str) -> None:
        if self._keys.pop(name, None) is not None:
            self._refresh(name)

    def take_change(self) -> SegmentChange:
        """What is different since the last call."""
        touched, self._touched = self._touched, {}
        added = [s for s, was_there in touched.items() if not was_there and s in self._nodes]
        removed = [s for s, was_there in touched.items() if was_there and s not in self._nodes]
        return SegmentChange(tuple(sorted(added)), tuple(sorted(removed)))

    def _refresh(self, name: str) -> None:
        before = self._by_node.pop(name, None)
        after = self._find(name)
        if before is not None:
            self._touched.setdefault(before, True)
            self._nodes[before] -= 1
            if not self._nodes[before]:
                del self._nodes[before]
        if after is not None:
            self._touched.setdefault(after, after in self._nodes)
            self._nodes[after] += 1
            self._by_node[name] = after

    def _find(self, name: str) -> Segment | None:
        labels, keys = self._labels.get(name), self._keys.get(name)
        if labels is None or keys is None or any(key not in labels for key in keys):
            return None
        return segment_of({key: labels[key] for key in keys})


def exact_segments(affinity: VolumeNodeAffinity) -> Iterable[Segment]:
    """Those that the terms name with one value for each key; other terms are passed over."""
    for term in _terms(affinity):
        if not term.match_fields and all(
            requirement.operator == "In" and len(requirement.values or ()) == 1
            for requirement in term.match_expressions
        ):
            pairs = ((r.key, (r.values or ("",))[0]) for r in term.match_expressions)
            yield tuple(sorted(pairs))


def reachable_segments(
    affinity: VolumeNodeAffinity, segments: Collection[Segment]
) -> Iterable[Segment]:
    """Those from which a volume may have been taken: they share a key with a term, and contradict
    nothing that it says of their keys."""
    terms = [_values(term) for term in _terms(affinity)]
    for segment in segments:
        if any(_may_hold(segment, term) for term in terms):
            yield segment


def _terms(affinity: VolumeNodeAffinity) -> tuple[NodeTermSpec, ...]:
    return affinity.required.node_selector_terms if affinity.required else ()


def _values(term: NodeTermSpec) -> dict[str, frozenset[str]]:
    return {
        requirement.key: frozenset(requirement.values or ())
        for requirement in term.match_expressions
        if requirement.operator == "In"
    }


def _may_hold(segment: Segment, term: Mapping[str, frozenset[str]]) -> bool:
    named = [(key, value) for key, value in segment if key in term]
    return bool(named) and all(value in term[key] for key, value in named)
