"""Which nodes have which labels and taints, one set of bits per value and per key, and what
selectors make of them.

All selectors come down to the same thing: terms, of which one has to match, made of conditions, all
of which have to hold.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

from plimsoll.api.core import Node, Taint
from plimsoll.api.selectors.label import LabelSelector, LabelSelectorSpec
from plimsoll.api.selectors.node import NodeSelector, NodeSelectorSpec, NodeTerm
from plimsoll.api.selectors.requirement import Operator, Requirement
from plimsoll.api.selectors.topology import TopologySelector, TopologyTermSpec
from plimsoll.decide.scheduling.columns.changes import KeptResults
from plimsoll.decide.scheduling.columns.nodes import NodeIndex

Labels = Mapping[str, str]
Conditions = tuple[Requirement, ...]
Terms = tuple[Conditions, ...]
TaintKey = tuple[str, str, str, int]
"""Key, value and effect, and how often it was there before."""

EVERYWHERE: Terms = ((),)
NOWHERE: Terms = ()
SAME = (Operator.IN, Operator.EQUALS, Operator.DOUBLE_EQUALS)
OTHER = (Operator.NOT_IN, Operator.NOT_EQUALS)
KEPT_MASKS = 4096


@lru_cache(maxsize=65536)
def volume_terms(required: NodeSelectorSpec | None) -> Terms:
    """From where a volume can be reached. Field terms do not matter: volumes look at labels."""
    if required is None:
        return EVERYWHERE
    return tuple(term.labels for term in NodeSelector.of(required).terms if not term.complaints)


def segment_terms(topology: LabelSelectorSpec | None) -> Terms:
    """Which nodes a capacity is about; none if that is missing or cannot be read."""
    try:
        selector = LabelSelector.of(topology)
    except ValueError:
        return NOWHERE
    return NOWHERE if selector.selects_nothing else (selector.requirements,)


def topology_terms(allowed: Sequence[TopologyTermSpec]) -> Terms:
    selector = TopologySelector.of(allowed)
    return EVERYWHERE if selector.allows_everything else selector.terms


def do_match(terms: Terms, labels: Labels) -> bool:
    return any(all(condition.matches(labels) for condition in term) for term in terms)


class LabelIndex:
    def __init__(self, index: NodeIndex) -> None:
        self._index = index
        self._values: dict[str, dict[str, int]] = {}
        self._keys: dict[str, int] = {}
        self._masks: KeptResults[Terms, int] = KeptResults(KEPT_MASKS)
        self.stamp = 0
        """Another number whenever a selector might match other nodes."""

    def change(self, slot: int, old: Labels, new: Labels) -> None:
        """Of a node that is there, comes or goes."""
        self.stamp += 1
        self._masks.clear()
        bit = 1 << slot
        for key, value in old.items() - new.items():
            self._drop(key, value, bit)
        for key, value in new.items() - old.items():
            values = self._values.setdefault(key, {})
            values[value] = values.get(value, 0) | bit
            self._keys[key] = self._keys.get(key, 0) | bit

    def _drop(self, key: str, value: str, bit: int) -> None:
        values = self._values[key]
        values[value] &= ~bit
        self._keys[key] &= ~bit
        if not values[value]:
            del values[value]
        if not values:
            del self._values[key], self._keys[key]

    def having(self, key: str) -> int:
        return self._keys.get(key, 0)

    def having_any(self, keys: Iterable[str]) -> int:
        found = 0
        for key in keys:
            found |= self.having(key)
        return found

    def equal_to(self, key: str, value: str) -> int:
        return self._values.get(key, {}).get(value, 0)

    def with_value(self, key: str, is_wanted: Callable[[str], bool]) -> int:
        found = 0
        for value, bits in self._values.get(key, {}).items():
            if is_wanted(value):
                found |= bits
        return found

    def matching(self, terms: Terms) -> int:
        """The nodes that any of the terms matches."""
        found = self._masks.get(terms)
        return self._masks.keep(terms, self._matching(terms)) if found is None else found

    def _matching(self, terms: Terms) -> int:
        found = 0
        for term in terms:
            found |= self.meeting(term)
        return found

    def meeting(self, conditions: Conditions) -> int:
        found = self._index.alive
        for condition in conditions:
            found &= self._holding(condition)
        return found

    def _holding(self, condition: Requirement) -> int:
        key, operator = condition.key, condition.operator
        if operator in SAME or operator in OTHER:
            same = 0
            for value in condition.values:
                same |= self.equal_to(key, value)
            return same if operator in SAME else ~same
        if operator is Operator.EXISTS:
            return self.having(key)
        if operator is Operator.DOES_NOT_EXIST:
            return ~self.having(key)
        return self.with_value(key, lambda value: condition.matches({key: value}))

    def matching_term(self, term: NodeTerm) -> int:
        """For a pod's term, which may also name nodes."""
        if term.complaints:
            return 0
        found = self.meeting(term.labels)
        for field in term.fields:
            is_name = field.field == "metadata.name"
            slot = self._index.find(field.value) if is_name else None
            bits = 0 if slot is None else 1 << slot
            if not is_name and not field.value:
                bits = self._index.alive
            found &= bits if field.is_equal else ~bits
        return found

    def fork(self, index: NodeIndex) -> "LabelIndex":
        twin = LabelIndex(index)
        twin._values = {key: values.copy() for key, values in self._values.items()}
        twin._keys, twin.stamp = self._keys.copy(), self.stamp
        return twin


class TaintIndex:
    """Which nodes have which taints, and which take no pods at all."""

    def __init__(self) -> None:
        self.nodes: dict[TaintKey, int] = {}
        """The nodes with each taint, as bits; no taint that none has. Not to be written to."""
        self.unschedulable = 0

    def change(self, slot: int, old: Node | None, new: Node | None) -> None:
        bit = 1 << slot
        for key in _taint_keys(old) - _taint_keys(new):
            self.nodes[key] &= ~bit
            if not self.nodes[key]:
                del self.nodes[key]
        for key in _taint_keys(new) - _taint_keys(old):
            self.nodes[key] = self.nodes.get(key, 0) | bit
        is_closed = new is not None and new.spec.unschedulable
        self.unschedulable = self.unschedulable & ~bit | (bit if is_closed else 0)

    def having(self, effects: Iterable[str]) -> list[tuple[Taint, int]]:
        """Taints with one of the effects, and the nodes that have them. A taint that a node has
        twice is there twice."""
        wanted = tuple(effects)
        return [
            (Taint(key=key, value=value, effect=effect), bits)
            for (key, value, effect, _), bits in self.nodes.items()
            if effect in wanted
        ]

    def fork(self) -> "TaintIndex":
        twin = TaintIndex()
        twin.nodes, twin.unschedulable = self.nodes.copy(), self.unschedulable
        return twin


def _taint_keys(node: Node | None) -> set[TaintKey]:
    taints = node.spec.taints if node else ()
    number = Counter((taint.key, taint.value, taint.effect) for taint in taints)
    return {(*name, nth) for name, count in number.items() for nth in range(count)}
