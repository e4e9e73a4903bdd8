"""How many copies of a pool may be in one domain, by the rule that places them.

A rule takes a bucket of the tree, chooses so many buckets of a type below it, and takes an OSD in
each. The answer is the most that may be in the domain: what survives its loss survives it for sure.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Nodes = Mapping[int, Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CrushTree:
    """`osd tree`, as monitors tell it."""

    nodes: Nodes

    def find(self, type_: str, name: str) -> int | None:
        found = (
            id_
            for id_, node in self.nodes.items()
            if (node.get("type"), node.get("name")) == (type_, name)
        )
        return next(found, None)

    def below(self, root: int) -> Iterator[int]:
        """The bucket itself first."""
        if root not in self.nodes:
            return
        yield root
        for child in self.nodes[root].get("children", ()):
            yield from self.below(child)

    def is_up(self, root: int) -> bool:
        """Whether an OSD in it is."""
        return any(self.nodes[id_].get("status") == "up" for id_ in self.below(root))


def parse_tree(tree: Mapping[str, Any]) -> CrushTree:
    return CrushTree(nodes={node["id"]: node for node in tree.get("nodes", ())})


def copies_inside(
    tree: CrushTree, steps: Sequence[Mapping[str, Any]], size: int, domain: int
) -> int:
    """At most so many of the copies of a pool of that size."""
    left, inside = size, 0
    for take, number, type_ in _choices(steps):
        chosen = min(left, number if number > 0 else max(0, size + number))
        left -= chosen
        inside += min(chosen, _places(tree, take, type_, domain))
    return inside


def _choices(steps: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, int, str]]:
    take: int | None = None
    for step in steps:
        if step["op"] == "take":
            take = step["item"]
        elif "type" in step and take is not None:
            yield take, int(step.get("num", 0)), step["type"]
            take = None


def _places(tree: CrushTree, take: int, type_: str, domain: int) -> int:
    """In how many buckets of the type a copy may be that is in the domain."""
    within = set(tree.below(domain))
    buckets = [id_ for id_ in tree.below(take) if tree.nodes[id_].get("type") == type_]
    return sum(not within.isdisjoint(tree.below(bucket)) for bucket in buckets)
