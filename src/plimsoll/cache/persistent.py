"""A mapping that never changes: an update makes a new one that shares nearly everything.

This is what makes a snapshot cost nothing: keeping the old mapping is taking a snapshot. Entries
lie in small dicts, the leaves of a tree that branches by the key's hash; an update copies one leaf
and the branches above it, some microseconds even with a hundred thousand entries. The order of
iteration depends on the keys and on the updates that led here, never on the process.
"""

from collections.abc import Hashable, ItemsView, Iterable, Iterator, Mapping, ValuesView
from functools import lru_cache
from typing import Any, Generic, TypeVar
from zlib import crc32

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

# Either a leaf (a dict) or a branch (a list of nodes); neither is changed once it is in a map.
Node = dict[Any, Any] | list[Any]

LEAF_SIZE = 32
BITS = 5
FAN_OUT = 1 << BITS
HASH_BITS = 32
EMPTY: dict[Any, Any] = {}
REMEMBERED_HASHES = 1 << 15


def _hash(key: object) -> int:
    """Python's own hash of a string differs from process to process."""
    if isinstance(key, tuple):
        return _hash_of_names(key)
    if isinstance(key, str):
        return crc32(key.encode())
    return crc32(repr(key).encode())


@lru_cache(maxsize=REMEMBERED_HASHES)
def _hash_of_names(key: tuple[object, ...]) -> int:
    """Each event asks for the hash of its object several times, and so does each reader."""
    return crc32("\0".join(map(str, key)).encode())


class PersistentMap(Mapping[K, V], Generic[K, V]):
    __slots__ = ("_root", "_size")

    def __init__(self, entries: Mapping[K, V] | Iterable[tuple[K, V]] = ()) -> None:
        content = dict(entries)
        self._size = len(content)
        self._root = _grow(content, 0)

    @classmethod
    def _of(cls, root: Node, size: int) -> "PersistentMap[K, V]":
        made = cls.__new__(cls)
        made._root, made._size = root, size  # noqa: SLF001 - one of us
        return made

    def _leaf(self, key: object) -> dict[K, V]:
        node: Node = self._root
        if isinstance(node, dict):  # A small map is one leaf: no hash is needed.
            return node
        rest = _hash(key)
        while isinstance(node, list):
            node = node[rest % FAN_OUT]
            rest >>= BITS
        leaf: dict[K, V] = node
        return leaf

    def __getitem__(self, key: K) -> V:
        root = self._root
        leaf: dict[K, V] = root if isinstance(root, dict) else self._leaf(key)
        return leaf[key]

    def get(self, key: K, default: V | None = None) -> V | None:  # type: ignore[override] # the one form that is used, without its overloads
        root = self._root
        leaf: dict[K, V] = root if isinstance(root, dict) else self._leaf(key)
        return leaf.get(key, default)

    def __contains__(self, key: object) -> bool:
        return key in self._leaf(key)

    def __iter__(self) -> Iterator[K]:
        for leaf in self.leaves():
            yield from leaf

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        return f"PersistentMap({dict(self)!r})"

    def items(self) -> ItemsView[K, V]:
        return _Items(self)

    def values(self) -> ValuesView[V]:
        return _Values(self)

    def leaves(self) -> Iterator[dict[K, V]]:
        """All entries, some at a time; not to be changed."""
        return _leaves(self._root)

    def with_(self, key: K, value: V) -> "PersistentMap[K, V]":
        root = self._root
        if isinstance(root, dict) and (len(root) < LEAF_SIZE or key in root):
            leaf = {**root, key: value}
            return PersistentMap._of(leaf, len(leaf))
        size = self._size + (key not in self)
        return PersistentMap._of(_put(root, key, value, (_hash(key), 0)), size)

    def without(self, key: K) -> "PersistentMap[K, V]":
        if key not in self:
            return self
        if self._size == 1:
            return PersistentMap()
        return PersistentMap._of(_drop(self._root, key, _hash(key)), self._size - 1)


class _Items(ItemsView[K, V]):
    """Leaf by leaf, without looking every key up again."""

    _mapping: PersistentMap[K, V]

    def __iter__(self) -> Iterator[tuple[K, V]]:
        for leaf in self._mapping.leaves():
            yield from leaf.items()


class _Values(ValuesView[V]):
    _mapping: PersistentMap[Any, V]

    def __iter__(self) -> Iterator[V]:
        for leaf in self._mapping.leaves():
            yield from leaf.values()


def _leaves(node: Node) -> Iterator[dict[Any, Any]]:
    if isinstance(node, dict):
        yield node
        return
    for child in node:
        yield from _leaves(child)


def _put(node: Node, key: object, value: object, place: tuple[int, int]) -> Node:
    """`place`: the part of the hash that is not used up yet, and how many bits are."""
    rest, used = place
    if isinstance(node, dict):
        if len(node) < LEAF_SIZE or used >= HASH_BITS or key in node:
            leaf = node.copy()
            leaf[key] = value
            return leaf
        return _grow({**node, key: value}, used)
    branch = node.copy()
    at = rest % FAN_OUT
    branch[at] = _put(branch[at], key, value, (rest >> BITS, used + BITS))
    return branch


def _drop(node: Node, key: object, rest: int) -> Node:
    if isinstance(node, dict):
        leaf = node.copy()
        del leaf[key]
        return leaf
    branch = node.copy()
    at = rest % FAN_OUT
    branch[at] = _drop(branch[at], key, rest >> BITS)
    return branch


def _grow(content: dict[Any, Any], used: int) -> Node:
    """A tree for entries whose hashes agree in the bits used so far."""
    if len(content) <= LEAF_SIZE or used >= HASH_BITS:
        return content
    parts: list[dict[Any, Any]] = [EMPTY] * FAN_OUT
    for key, value in content.items():
        at = (_hash(key) >> used) % FAN_OUT
        if parts[at] is EMPTY:
            parts[at] = {}
        parts[at][key] = value
    return [_grow(part, used + BITS) for part in parts]
