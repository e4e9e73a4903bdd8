"""Which CSIStorageCapacity object belongs to which pair of segment and class.

Every wanted pair has one object or none yet. Objects that belong to no wanted pair, and second
objects of one pair, are left over: the publisher deletes them.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from plimsoll.api.meta import ObjectKey
from plimsoll.api.storage import CSIStorageCapacity
from plimsoll.decide.capacity.pools import find_pools
from plimsoll.decide.capacity.segments import Segment, find_segment
from plimsoll.decide.capacity.tokens import CapacityToken


class Pair(NamedTuple):
    """What one capacity object, and one call of GetCapacity, is about."""

    segment: Segment
    storage_class: str


class PublishedCapacity:
    """An object belongs to a pair if it names the class, and the segment by its labels alone. The
    first that is seen is the pair's; any other is left over, as is one that belongs to no pair."""

    def __init__(self) -> None:
        self._current: dict[Pair, ObjectKey | None] = {}
        """The wanted pairs, each with its object; None: it has none yet."""
        self._objects: dict[ObjectKey, CSIStorageCapacity] = {}
        self._pairs: dict[ObjectKey, Pair | None] = {}
        self._by_pair: dict[Pair, dict[ObjectKey, None]] = {}
        self._left_over: dict[ObjectKey, datetime] = {}
        """By object, since when it has been left over."""
        self._pools: dict[Pair, tuple[str, ...]] = {}
        self._drawing: dict[str, set[Pair]] = {}
        """By the name of a pool."""

    def __contains__(self, pair: Pair) -> bool:
        return pair in self._current

    def __len__(self) -> int:
        return len(self._current)

    @property
    def pairs(self) -> Iterator[Pair]:
        return iter(self._current)

    @property
    def count(self) -> int:
        """Pairs that have their object."""
        return sum(key is not None for key in self._current.values())

    @property
    def strays(self) -> int:
        """Objects of no pair. Duplicates are not counted: their pair is wanted."""
        return sum(self._pairs[key] not in self._current for key in self._left_over)

    def current(self, pair: Pair) -> CSIStorageCapacity | None:
        key = self._current.get(pair)
        return None if key is None else self._objects[key]

    def pair_of(self, object_: CSIStorageCapacity) -> Pair | None:
        return self._pairs.get(object_.key)

    def obsolete(self) -> list[tuple[CSIStorageCapacity, datetime]]:
        """In the order of their names."""
        return [(self._objects[key], self._left_over[key]) for key in sorted(self._left_over)]

    def want(self, pair: Pair) -> None:
        """A pair without an object takes one that is left over, if it fits."""
        if self._current.get(pair) is not None:
            return
        spare = min(self._by_pair.get(pair, ()), default=None)
        self._current[pair] = spare
        if spare is not None:
            del self._left_over[spare]
            self._draw(pair, _pools_of(self._objects[spare]))

    def drop(self, pair: Pair, now: datetime) -> None:
        key = self._current.pop(pair, None)
        self._draw(pair, ())
        if key is not None:
            self._left_over[key] = now

    def put(self, object_: CSIStorageCapacity, now: datetime) -> Pair | None:
        """Returns the pair whose object it is; None: it is left over."""
        key = object_.key
        known = self._objects.get(key)
        if known is not None and not _is_same(known, object_):
            self.remove(key)
            known = None
        self._objects[key] = object_
        if known is None:
            self._place(object_, now)
        pair = self._pairs[key]
        if pair is None or self._current.get(pair) != key:
            return None
        self._draw(pair, _pools_of(object_))
        return pair

    def sharing(self, pairs: Iterable[Pair]) -> list[Pair]:
        """These, and all others whose objects name one of their pools: in the segment of another
        pair, or wherever else the pool is reached from. Pool by pool: they are asked about in this
        order."""
        found = dict.fromkeys(pairs)
        for name in dict.fromkeys(name for pair in found for name in self._pools.get(pair, ())):
            found |= dict.fromkeys(sorted(self._drawing[name]))
        return list(found)

    def sharing_tokens(self, tokens: Mapping[Pair, CapacityToken]) -> dict[Pair, CapacityToken]:
        """These, and for all others whose objects name one of their pools the newest of them."""
        newest: dict[str, CapacityToken] = {}
        for pair, token in tokens.items():
            for name in self._pools.get(pair, ()):
                newest[name] = max(token, newest.get(name, token))
        found = dict(tokens)
        for name, token in newest.items():
            for pair in sorted(self._drawing[name]):
                found[pair] = max(token, found.get(pair, token))
        return found

    def _draw(self, pair: Pair, names: tuple[str, ...]) -> None:
        before = self._pools.pop(pair, ())
        for name in before:
            self._drawing[name].discard(pair)
            if not self._drawing[name]:
                del self._drawing[name]
        for name in names:
            self._drawing.setdefault(name, set()).add(pair)
        if names:
            self._pools[pair] = names

    def _place(self, object_: CSIStorageCapacity, now: datetime) -> None:
        key, segment = object_.key, find_segment(object_.node_topology)
        pair = None if segment is None else Pair(segment, object_.storage_class_name)
        self._pairs[key] = pair
        if pair is not None:
            self._by_pair.setdefault(pair, {})[key] = None
        if pair is not None and pair in self._current and self._current[pair] is None:
            self._current[pair] = key
        else:
            self._left_over[key] = now

    def remove(self, key: ObjectKey, uid: str = "") -> Pair | None:
        """Returns the pair that lost its object; None: no wanted pair did."""
        known = self._objects.get(key)
        if known is None or (uid and known.uid != uid):
            return None
        del self._objects[key]
        self._left_over.pop(key, None)
        pair = self._pairs.pop(key)
        if pair is None:
            return None
        del self._by_pair[pair][key]
        if not self._by_pair[pair]:
            del self._by_pair[pair]
        if self._current.get(pair) != key:
            return None
        self._current[pair] = None
        # Another publisher has created a second one in between: it is taken instead.
        self.want(pair)
        return pair


def _pools_of(object_: CSIStorageCapacity) -> tuple[str, ...]:
    return tuple(each.name for each in find_pools(object_.annotations) or ())


def _is_same(known: CSIStorageCapacity, seen: CSIStorageCapacity) -> bool:
    return (
        known.uid == seen.uid
        and known.storage_class_name == seen.storage_class_name
        and known.node_topology == seen.node_topology
    )
