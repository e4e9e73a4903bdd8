"""Objects by key and by index. A snapshot is one assignment and never changes afterwards.

An index is a name and a function from an object to the values under which it should be found:
`{"node": lambda pod: [pod.spec.node_name]}`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, ValuesView
from typing import Generic, Protocol, TypeVar

import msgspec

from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.registry import Document
from plimsoll.cache.persistent import PersistentMap

T = TypeVar("T", bound=ApiObject | Document)

IndexFunction = Callable[[T], Iterable[str]]
Keys = PersistentMap[ObjectKey, None]
Index = PersistentMap[str, Keys]
NO_KEYS: Keys = PersistentMap()


class StoreChange(msgspec.Struct, Generic[T], frozen=True):
    """What became of one object: `before` is None when it is new, `after` when it is gone."""

    key: ObjectKey
    before: T | None
    after: T | None
    observed: "StoreChange[T] | None" = msgspec.field(default=None)
    """What the watch has shown, where an assumption shows something else."""
    is_own: bool = False
    """Whether it is what the server answered to a write of ours, before the watch shows it."""


class Selected(Mapping[ObjectKey, T], Generic[T]):
    """Some of the objects. An index holds keys alone: most changes of an object leave it as it
    is."""

    __slots__ = ("_keys", "_objects")

    def __init__(self, keys: Keys, objects: PersistentMap[ObjectKey, T]) -> None:
        self._keys = keys
        self._objects = objects

    def __getitem__(self, key: ObjectKey) -> T:
        if key not in self._keys:
            raise KeyError(key)
        return self._objects[key]

    def __iter__(self) -> Iterator[ObjectKey]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def values(self) -> ValuesView[T]:
        return _SelectedValues(self)

    def found(self) -> Iterator[T]:
        """The objects alone, each looked up once."""
        return map(self._objects.__getitem__, self._keys)


class _SelectedValues(ValuesView[T]):
    _mapping: Selected[T]

    def __iter__(self) -> Iterator[T]:
        return self._mapping.found()


class View(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """All objects of a kind at one moment."""

    objects: PersistentMap[ObjectKey, T] = msgspec.field(default_factory=PersistentMap)
    indexes: Mapping[str, Index] = msgspec.field(default_factory=dict)
    revision: int = 0
    """Grows with every change: views of one store with the same revision are the same."""

    def get(self, key: ObjectKey) -> T | None:
        return self.objects.get(key)

    def by(self, index: str, value: str) -> Mapping[ObjectKey, T]:
        """The objects that the index function gave this value; a name without an index is a
        KeyError."""
        return Selected(self.indexes[index].get(value) or NO_KEYS, self.objects)

    def __len__(self) -> int:
        return len(self.objects)


class Sink(Protocol[T]):
    """Where an informer puts what it sees. `version` is the resourceVersion of the change."""

    def put(self, key: ObjectKey, object_: T) -> StoreChange[T] | None: ...

    def remove(self, key: ObjectKey, version: str) -> StoreChange[T] | None: ...

    def replace(self, objects: Mapping[ObjectKey, T]) -> list[StoreChange[T]]: ...


class Store(Generic[T]):
    def __init__(self, indexes: Mapping[str, IndexFunction[T]] | None = None) -> None:
        self._functions = dict(indexes or {})
        self._objects: PersistentMap[ObjectKey, T] = PersistentMap()
        self._indexes: dict[str, Index] = {name: PersistentMap() for name in self._functions}
        self._revision = 0
        self._view: View[T] | None = None
        """Made when it is first asked for: many changes come between two snapshots."""

    def snapshot(self) -> View[T]:
        if self._view is None:
            self._view = View(objects=self._objects, indexes=self._indexes, revision=self._revision)
        return self._view

    def put(self, key: ObjectKey, object_: T) -> StoreChange[T] | None:
        before = self._objects.get(key)
        if before is object_:
            return None
        return self._change(StoreChange(key, before, object_))

    def remove(self, key: ObjectKey, version: str = "") -> StoreChange[T] | None:  # noqa: ARG002 - a plain store takes the watch's word, whatever the version
        before = self._objects.get(key)
        return None if before is None else self._change(StoreChange(key, before, None))

    def replace(self, objects: Mapping[ObjectKey, T]) -> list[StoreChange[T]]:
        """The state after a list. What is no longer there is removed; what is equal stays."""
        before = self._objects
        gone = [StoreChange(key, before[key], None) for key in before if key not in objects]
        new = [
            StoreChange(key, before.get(key), object_)
            for key, object_ in objects.items()
            if before.get(key) != object_
        ]
        changes = gone + new
        if len(changes) < len(before):
            for change in changes:
                self._change(change)
        elif changes:
            self._rebuild({**objects})
        return changes

    def _change(self, change: StoreChange[T]) -> StoreChange[T]:
        if change.after is None:
            self._objects = self._objects.without(change.key)
        else:
            self._objects = self._objects.with_(change.key, change.after)
        for name, function in self._functions.items():
            index = self._indexes[name]
            changed = self._reindexed(index, function, change)
            if changed is not index:  # a view may have these: they are never changed
                self._indexes = {**self._indexes, name: changed}
        self._begin_revision()
        return change

    def _begin_revision(self) -> None:
        self._revision += 1
        self._view = None

    @staticmethod
    def _reindexed(index: Index, function: IndexFunction[T], change: StoreChange[T]) -> Index:
        before = tuple(function(change.before)) if change.before is not None else ()
        after = tuple(function(change.after)) if change.after is not None else ()
        if before == after:  # as after most changes
            return index
        for value in sorted(set(before) - set(after)):
            left = index[value].without(change.key)
            index = index.with_(value, left) if left else index.without(value)
        for value in sorted(set(after) - set(before)):
            known = index.get(value) or NO_KEYS
            index = index.with_(value, known.with_(change.key, None))
        return index

    def _rebuild(self, objects: dict[ObjectKey, T]) -> None:
        """All at once: filling an index entry by entry costs more when most entries change."""
        indexes: dict[str, Index] = {}
        for name, function in self._functions.items():
            grouped: dict[str, dict[ObjectKey, None]] = {}
            for key, object_ in objects.items():
                for value in function(object_):
                    grouped.setdefault(value, {})[key] = None
            indexes[name] = PersistentMap((v, PersistentMap(g)) for v, g in grouped.items())
        self._objects, self._indexes = PersistentMap(objects), indexes
        self._begin_revision()
