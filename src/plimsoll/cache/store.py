"""Objects by key and by index. A snapshot is one assignment and never changes afterwards.

An index is a name and a function from an object to the values under which it should be found:
`{"node": lambda pod: [pod.spec.node_name]}`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.registry import Document
from plimsoll.cache.persistent import PersistentMap

T = TypeVar("T", bound=ApiObject | Document)

IndexFunction = Callable[[T], Iterable[str]]
Keys = PersistentMap[ObjectKey, None]
Index = PersistentMap[str, Keys]
NO_KEYS: Keys = PersistentMap()


@dataclass(frozen=True, slots=True)
class StoreChange(Generic[T]):
    """What became of one object: `before` is None when it is new, `after` when it is gone."""

    key: ObjectKey
    before: T | None
    after: T | None
    observed: "StoreChange[T] | None" = field(default=None, compare=False)
    """What the watch has shown, where an assumption shows something else."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class View(Generic[T]):
    """All objects of a kind at one moment."""

    objects: PersistentMap[ObjectKey, T] = field(default_factory=PersistentMap)
    indexes: Mapping[str, Index] = field(default_factory=dict)
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
        self._view: View[T] = View(indexes={name: PersistentMap() for name in self._functions})

    def snapshot(self) -> View[T]:
        return self._view

    def put(self, key: ObjectKey, object_: T) -> StoreChange[T] | None:
        before = self._view.get(key)
        if before is object_:
            return None
        return self._change(StoreChange(key, before, object_))

    def remove(self, key: ObjectKey, version: str = "") -> StoreChange[T] | None:  # noqa: ARG002 - a plain store takes the watch's word, whatever the version
        before = self._view.get(key)
        return None if before is None else self._change(StoreChange(key, before, None))

    def replace(self, objects: Mapping[ObjectKey, T]) -> list[StoreChange[T]]:
        """The state after a list. What is no longer there is removed; what is equal stays."""
        before = self._view.objects
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
        view = self._view
        objects = (
            view.objects.without(change.key)
            if change.after is None
            else view.objects.with_(change.key, change.after)
        )
        indexes = {
            name: self._reindexed(view.indexes[name], function, change)
            for name, function in self._functions.items()
        }
        self._view = View(objects=objects, indexes=indexes, revision=view.revision + 1)
        return change

    @staticmethod
    def _reindexed(index: Index, function: IndexFunction[T], change: StoreChange[T]) -> Index:
        before = set(function(change.before)) if change.before is not None else set()
        after = set(function(change.after)) if change.after is not None else set()
        for value in sorted(before - after):
            left = index[value].without(change.key)
            index = index.with_(value, left) if left else index.without(value)
        for value in sorted(after - before):
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
        self._view = View(
            objects=PersistentMap(objects), indexes=indexes, revision=self._view.revision + 1
        )
