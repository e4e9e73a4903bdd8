"""Believing our own writes before the watch confirms them.

Between our write and its echo the store shows the past; deciding on it would repeat or contradict
what we just did. An assumption lies over the store until one of four things happens: the watch
shows the same version or a newer one; the object is seen deleted; it is forgotten because the
write failed; its deadline passes. Then the store's word counts again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.registry import Document
from plimsoll.cache.store import IndexFunction, Store, StoreChange, View
from plimsoll.cache.watch import is_older_or_same
from plimsoll.wire.kind import key_of, version_of

T = TypeVar("T", bound=ApiObject | Document)


@dataclass(frozen=True, slots=True)
class _Intended(Generic[T]):
    """A write that is not answered yet: whatever the store holds, with our change made."""

    change: Callable[[T | None], T | None]
    deadline: float


@dataclass(frozen=True, slots=True)
class _Written(Generic[T]):
    """A write that the server answered with this object."""

    object: T
    deadline: float


@dataclass(frozen=True, slots=True)
class _Gone:
    """The object was seen deleted while our write was under way; its answer comes too late."""

    version: str
    deadline: float


class AssumingStore(Generic[T]):
    """A store with our assumptions laid over it. Deadlines are seconds of a monotonic clock."""

    def __init__(self, indexes: Mapping[str, IndexFunction[T]] | None = None) -> None:
        self._observed: Store[T] = Store()
        self._shown: Store[T] = Store(indexes)
        self._assumed: dict[ObjectKey, _Intended[T] | _Written[T] | _Gone] = {}
        self._latest = ""  # the newest version of any object that the watch has shown

    def snapshot(self) -> View[T]:
        """What is observed, with what is assumed made true."""
        return self._shown.snapshot()

    def observed(self) -> View[T]:
        """What the watch has shown, and nothing else."""
        return self._observed.snapshot()

    @property
    def assumed(self) -> frozenset[ObjectKey]:
        return frozenset(self._assumed)

    # Our own writes

    def assume(
        self, key: ObjectKey, change: Callable[[T | None], T | None], *, deadline: float
    ) -> StoreChange[T] | None:
        """Before a write: show the object with the change made, None meaning absent.

        The change is made again whenever the watch brings a newer object.
        """
        self._assumed[key] = _Intended(change, deadline)
        return self._show(key)

    def written(self, object_: T, *, deadline: float) -> StoreChange[T] | None:
        """After a write: show the server's answer until the watch has caught up with it."""
        key = key_of(object_)
        if self._has_shown(key, object_):
            return self.forget(key)
        self._assumed[key] = _Written(object_, deadline)
        return self._show(key)

    def forget(self, key: ObjectKey) -> StoreChange[T] | None:
        """The write failed, or is no longer believed in."""
        self._assumed.pop(key, None)
        return self._show(key)

    def expire(self, monotonic: float) -> list[StoreChange[T]]:
        """Forget everything whose deadline has passed."""
        late = [key for key, held in self._assumed.items() if monotonic >= held.deadline]
        return [change for key in sorted(late) if (change := self.forget(key)) is not None]

    # What the watch shows

    def put(self, key: ObjectKey, object_: T) -> StoreChange[T] | None:
        self._observed.put(key, object_)
        self._heard(version_of(object_))
        held = self._assumed.get(key)
        if isinstance(held, _Written) and _is_seen(held.object, version_of(object_)):
            del self._assumed[key]
        return self._show(key)

    def remove(self, key: ObjectKey, version: str = "") -> StoreChange[T] | None:
        """A deletion older than our write was of a namesake from before it."""
        self._observed.remove(key, version)
        self._heard(version)
        held = self._assumed.get(key)
        if isinstance(held, _Intended):
            self._assumed[key] = _Gone(version, held.deadline)
        elif isinstance(held, _Written) and _is_seen(held.object, version):
            del self._assumed[key]
        return self._show(key)

    def replace(self, objects: Mapping[ObjectKey, T]) -> list[StoreChange[T]]:
        """A list is newer than every write that was answered before it was asked for; those
        that it does not show yet keep their deadline."""
        changes = self._observed.replace(objects)
        for key, held in list(self._assumed.items()):
            seen = objects.get(key)
            if isinstance(held, _Written) and seen and _is_seen(held.object, version_of(seen)):
                del self._assumed[key]
        if not self._assumed:
            return self._shown.replace(objects)
        keys = sorted({change.key for change in changes} | self._assumed.keys())
        return [change for key in keys if (change := self._show(key)) is not None]

    def _heard(self, version: str) -> None:
        if not self._latest or is_older_or_same(self._latest, version):
            self._latest = version

    def _show(self, key: ObjectKey) -> StoreChange[T] | None:
        wanted = self._wanted(key)
        if wanted is None:
            return self._shown.remove(key)
        return self._shown.put(key, wanted)

    def _wanted(self, key: ObjectKey) -> T | None:
        seen = self._observed.snapshot().get(key)
        match self._assumed.get(key):
            case _Intended(change=change):
                return change(seen)
            case _Written(object=object_):
                return object_
            case _Gone() | None:
                return seen

    def _has_shown(self, key: ObjectKey, written: T) -> bool:
        """Whether the watch was faster than the answer to our write.

        It shows changes in the order in which they were made: what is newer than our write comes
        after it, even if that was another object, or the end of this one.
        """
        if self._latest and _is_seen(written, self._latest):
            return True
        held = self._assumed.get(key)
        if isinstance(held, _Gone) and _is_seen(written, held.version):
            return True
        seen = self._observed.snapshot().get(key)
        return seen is not None and _is_seen(written, version_of(seen))


def _is_seen(written: ApiObject | Document, version: str) -> bool:
    """A watch that shows this version has shown our write."""
    return not version or is_older_or_same(version_of(written), version)
