"""How many copies of a pool may be in one domain, or on OSDs that are up, by its CRUSH rule.

A rule takes a bucket of the tree, chooses so many buckets of a type below it, perhaps so many of
another type below each of those, and takes an OSD in each. Where it wants OSDs of one class, it
takes a bucket that CRUSH keeps for that beside the tree, such as `default~ssd`.

Both answers are the most that there may be. What survives the loss of a domain survives it for
sure; what is told to be down is down.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Nodes = Mapping[int, Mapping[str, Any]]

SHADOW = "~"
"""Between the name of a bucket and the class of the OSDs that are meant."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """Of a rule: one bucket that it takes, and what it chooses there."""

    root: int
    device_class: str
    """Of the OSDs; empty: any."""
    levels: tuple[tuple[int, str], ...]
    """How many buckets of which type, from wide to narrow."""


def copies_inside(
    tree: CrushTree, steps: Sequence[Mapping[str, Any]], size: int, domain: int
) -> int:
    """At most so many of the copies of a pool of that size."""
    within = frozenset(tree.below(domain))
    left, inside = size, 0
    for part in _parts(tree, steps, size):
        chosen = min(left, _places(tree, part, tree.nodes))
        left -= chosen
        inside += min(chosen, _places(tree, part, within))
    return inside


def copies_up(tree: CrushTree, steps: Sequence[Mapping[str, Any]], size: int) -> int:
    """At most so many of the copies of a pool of that size are on OSDs that are up."""
    up = frozenset(id_ for id_, node in tree.nodes.items() if node.get("status") == "up")
    return sum(_places(tree, part, up) for part in _parts(tree, steps, size))


def _is_osd(node: Mapping[str, Any], device_class: str) -> bool:
    return node.get("type") == "osd" and device_class in ("", node.get("device_class"))


def _parts(tree: CrushTree, steps: Sequence[Mapping[str, Any]], size: int) -> Iterator[_Part]:
    take: Mapping[str, Any] | None = None
    levels: list[tuple[int, str]] = []
    for step in steps:
        if step["op"] == "take":
            take, levels = step, []
        elif step["op"] == "emit" and take is not None:
            root, device_class = _taken(tree, take)
            yield _Part(root=root, device_class=device_class, levels=tuple(levels))
            take = None
        elif "type" in step:
            number = int(step.get("num", 0))
            levels.append((number if number > 0 else max(0, size + number), step["type"]))


def _taken(tree: CrushTree, take: Mapping[str, Any]) -> tuple[int, str]:
    """The bucket in the tree, and the class of OSDs."""
    name, _, device_class = take.get("item_name", "").partition(SHADOW)
    named = (id_ for id_, node in tree.nodes.items() if node.get("name") == name)
    return next(named, take["item"]) if device_class else take["item"], device_class


def _places(tree: CrushTree, part: _Part, nodes: Collection[int]) -> int:
    """In how many of these OSDs that part of a rule can put a copy."""
    osds = frozenset(id_ for id_ in nodes if _is_osd(tree.nodes[id_], part.device_class))
    return _chosen(tree, part.root, part.levels, osds)


def _chosen(
    tree: CrushTree, root: int, levels: Sequence[tuple[int, str]], osds: Collection[int]
) -> int:
    if not levels:
        return int(any(id_ in osds for id_ in tree.below(root)))
    (number, type_), *narrower = levels
    buckets = [id_ for id_ in tree.below(root) if tree.nodes[id_].get("type") == type_]
    found = sorted((_chosen(tree, bucket, narrower, osds) for bucket in buckets), reverse=True)
    return sum(found[:number])
