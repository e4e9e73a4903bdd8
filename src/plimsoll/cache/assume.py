"""Believing our own writes before the watch confirms them.

Between our write and its echo the store shows the past; deciding on it would repeat or contradict
what we just did. There are three ways to assume, for objects of every kind:

- `assume`: a change that is made again on every newer version, as for a pod that gets its node;
- `assume_version`: an object that is worth something only as long as the version it was made of is
  the newest, as for a claim or volume that the scheduler has chosen;
- `written`: the server's answer, until the watch has caught up with it.

An assumption ends when the watch shows what became of the object, when it is forgotten because the
write failed, or when its deadline passes. Then the store's word counts again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.registry import Document
from plimsoll.cache.persistent import PersistentMap
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
class _OfVersion(Generic[T]):
    """An object as our write will leave it; any other version that is observed replaces it."""

    object: T
    deadline: float = float("inf")


@dataclass(frozen=True, slots=True)
class _Written(Generic[T]):
    """A write that the server answered with this object."""

    object: T
    deadline: float


@dataclass(frozen=True, slots=True)
class _Gone:
    """The object was seen deleted while our write was under way; its answer comes after that."""

    version: str
    deadline: float


Assumption = _Intended[T] | _OfVersion[T] | _Written[T] | _Gone


@dataclass(frozen=True, slots=True)
class WatchedView(Generic[T]):
    """What the watch has shown at one moment, and nothing else."""

    shown: View[T]
    seen: PersistentMap[ObjectKey, T | None]
    """The assumed objects as the watch has shown them; None: it has not, or they are gone."""

    def get(self, key: ObjectKey) -> T | None:
        return self.seen[key] if key in self.seen else self.shown.get(key)

    @property
    def objects(self) -> PersistentMap[ObjectKey, T]:
        objects = self.shown.objects
        for key, seen in self.seen.items():
            objects = objects.without(key) if seen is None else objects.with_(key, seen)
        return objects


class AssumingStore(Generic[T]):
    """A store with our assumptions laid over it. Deadlines are seconds of a monotonic clock.

    What is shown and what was observed differ in the assumed objects alone, and only those are
    kept twice: a change of any other object costs what it costs in a plain store.
    """

    def __init__(self, indexes: Mapping[str, IndexFunction[T]] | None = None) -> None:
        self._shown: Store[T] = Store(indexes)
        self._assumed: dict[ObjectKey, Assumption[T]] = {}
        self._seen: PersistentMap[ObjectKey, T | None] = PersistentMap()
        """Of each object that something is assumed of, what the watch has shown."""
        self._latest = ""  # the newest version of any object that the watch has shown
        self.snapshot: Callable[[], View[T]] = self._shown.snapshot
        """What is observed, with what is assumed made true."""

    def observed(self) -> WatchedView[T]:
        """What the watch has shown, and nothing else."""
        return WatchedView(self._shown.snapshot(), self._seen)

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
        self._believe(key, _Intended(change, deadline))
        return self._show(key)

    def assume_version(self, object_: T) -> bool:
        """Before a write to the newest version: show the object until the watch shows another.

        False: the object was made of another version than the newest. Then nothing is assumed.
        """
        key = key_of(object_)
        newest = self._observed(key)
        if newest is None or version_of(newest) != version_of(object_):
            return False
        self._believe(key, _OfVersion(object_))
        self._show(key)
        return True

    def restore(self, object_: T) -> None:
        """Take `assume_version` back. What was assumed of another version meanwhile stays."""
        key = key_of(object_)
        held = self._assumed.get(key)
        if isinstance(held, _OfVersion) and version_of(held.object) == version_of(object_):
            self.forget(key)

    def written(self, object_: T, *, deadline: float) -> StoreChange[T] | None:
        """After a write: show the server's answer until the watch has caught up with it."""
        key = key_of(object_)
        if self._has_shown(key, object_):
            return self.forget(key)
        self._believe(key, _Written(object_, deadline))
        change = self._show(key)
        if change is None:
            return None
        return StoreChange(change.key, change.before, change.after, is_own=True)

    def forget(self, key: ObjectKey) -> StoreChange[T] | None:
        """The write failed, or is no longer believed in."""
        if key not in self._assumed:
            return None
        del self._assumed[key]
        return self._show(key)

    def expire(self, monotonic: float) -> list[StoreChange[T]]:
        """Forget everything whose deadline has passed."""
        if not self._assumed:
            return []
        overdue = [key for key, held in self._assumed.items() if monotonic >= held.deadline]
        return [change for key in sorted(overdue) if (change := self.forget(key)) is not None]

    # What the watch shows

    def put(self, key: ObjectKey, object_: T) -> StoreChange[T] | None:
        version = version_of(object_)
        if self._latest != version:
            self._heard(version)
        if key not in self._assumed:
            return self._shown.put(key, object_)
        before = self._see(key, object_)
        self._confirm(key, version)
        return self._show(key, StoreChange(key, before, object_))

    def remove(self, key: ObjectKey, version: str = "") -> StoreChange[T] | None:
        """A deletion older than our write was of a namesake from before it."""
        self._heard(version)
        if key not in self._assumed:
            return self._shown.remove(key, version)
        before = self._see(key, None)
        match self._assumed[key]:
            case _Intended(deadline=deadline):
                self._assumed[key] = _Gone(version, deadline)
            case _Written(object=object_) if not _is_seen(object_, version):
                pass
            case _OfVersion() | _Written():
                del self._assumed[key]
            case _Gone():
                pass
        return self._show(key, None if before is None else StoreChange(key, before, None))

    def replace(self, objects: Mapping[ObjectKey, T]) -> list[StoreChange[T]]:
        """A list is newer than every write that was answered before it was asked for; those
        that it does not show yet keep their deadline."""
        if not self._assumed:
            return self._shown.replace(objects)
        assumed = sorted(self._assumed)
        others = {key: object_ for key, object_ in objects.items() if key not in self._assumed}
        shown = self._shown.snapshot().objects
        kept = {key: shown[key] for key in assumed if key in shown}
        changes = self._shown.replace(others | kept)
        return [*changes, *(change for key in assumed if (change := self._listed(key, objects)))]

    def _listed(self, key: ObjectKey, objects: Mapping[ObjectKey, T]) -> StoreChange[T] | None:
        """What a list means for an object that something is assumed of."""
        object_ = objects.get(key)
        before = self._see(key, object_)
        if object_ is not None:
            self._confirm(key, version_of(object_))
        elif isinstance(self._assumed[key], _OfVersion):
            del self._assumed[key]
        return self._show(key, None if before == object_ else StoreChange(key, before, object_))

    def _confirm(self, key: ObjectKey, version: str) -> None:
        """The watch shows this version: end what it confirms or replaces."""
        match self._assumed[key]:
            case _Written(object=object_) if _is_seen(object_, version):
                del self._assumed[key]
            case _OfVersion(object=object_) if version_of(object_) != version:
                del self._assumed[key]
            case _:
                pass

    def _heard(self, version: str) -> None:
        if not self._latest or is_older_or_same(self._latest, version):
            self._latest = version

    def _observed(self, key: ObjectKey) -> T | None:
        return self._seen[key] if key in self._seen else self._shown.snapshot().get(key)

    def _believe(self, key: ObjectKey, assumption: Assumption[T]) -> None:
        """From now on what is shown of the object may differ from what is observed."""
        self._seen = self._seen.with_(key, self._observed(key))
        self._assumed[key] = assumption

    def _see(self, key: ObjectKey, object_: T | None) -> T | None:
        """Note what the watch shows of an object that something is assumed of; what it was."""
        before = self._seen[key]
        self._seen = self._seen.with_(key, object_)
        return before

    def _show(
        self, key: ObjectKey, observed: StoreChange[T] | None = None
    ) -> StoreChange[T] | None:
        """Show what is assumed, or, if that has ended, what is observed."""
        wanted = self._wanted(key)
        change = self._shown.remove(key) if wanted is None else self._shown.put(key, wanted)
        if key not in self._assumed:
            self._seen = self._seen.without(key)
        if change is None or observed is None:
            return change
        return StoreChange(change.key, change.before, change.after, observed)

    def _wanted(self, key: ObjectKey) -> T | None:
        match self._assumed.get(key):
            case _Intended(change=change):
                return change(self._seen[key])
            case _Written(object=object_) | _OfVersion(object=object_):
                return object_
            case _Gone() | None:
                return self._seen[key]

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
        seen = self._observed(key)
        return seen is not None and _is_seen(written, version_of(seen))


def _is_seen(written: ApiObject | Document, version: str) -> bool:
    """A watch that shows this version has shown our write."""
    return not version or is_older_or_same(version_of(written), version)
