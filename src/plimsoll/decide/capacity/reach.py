"""Which nodes a capacity object is about, found by their labels."""

from collections.abc import Iterable

from plimsoll.api.core import Node
from plimsoll.api.selectors.label import LabelSelector
from plimsoll.api.storage import CSIStorageCapacity

Names = frozenset[str]
NO_NODES: Names = frozenset()


class Reach:
    """Nodes by each label that they have: an object that names a host is not compared with all."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._labels = {node.name: node.labels for node in nodes}
        by_label: dict[tuple[str, str], set[str]] = {}
        for name, labels in self._labels.items():
            for pair in labels.items():
                by_label.setdefault(pair, set()).add(name)
        self._by_label = {pair: frozenset(names) for pair, names in by_label.items()}
        self._all = frozenset(self._labels)

    def nodes_of(self, capacity: CSIStorageCapacity) -> Names:
        """Raises ValueError if its topology makes no sense."""
        topology = capacity.node_topology
        if topology is None:
            return NO_NODES
        found = self._with(topology.match_labels.items())
        if not topology.match_expressions:
            return found
        selector = LabelSelector.of(topology)
        return frozenset(name for name in found if selector.matches(self._labels[name]))

    def _with(self, labels: Iterable[tuple[str, str]]) -> Names:
        groups = sorted((self._by_label.get(pair, NO_NODES) for pair in labels), key=len)
        return self._all if not groups else groups[0].intersection(*groups[1:])

    def common_label(self, names: Names, key: str) -> str | None:
        """The value that all of the nodes have."""
        values = {self._labels[name].get(key) for name in names}
        return values.pop() if len(values) == 1 else None
