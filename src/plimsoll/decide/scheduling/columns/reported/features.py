"""Which nodes declare which features, as bits."""

from collections.abc import Iterable


class FeatureIndex:
    def __init__(self) -> None:
        self._nodes: dict[str, int] = {}

    def declaring(self, feature: str) -> int:
        return self._nodes.get(feature, 0)

    def change(self, slot: int, old: Iterable[str], new: Iterable[str]) -> None:
        """Of a node that is there, comes or goes."""
        bit, before, after = 1 << slot, set(old), set(new)
        for feature in before - after:
            self._nodes[feature] &= ~bit
            if not self._nodes[feature]:
                del self._nodes[feature]
        for feature in after - before:
            self._nodes[feature] = self._nodes.get(feature, 0) | bit

    def fork(self) -> "FeatureIndex":
        twin = FeatureIndex()
        twin._nodes = self._nodes.copy()
        return twin
