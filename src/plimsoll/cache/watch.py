"""List, then watch: how a copy of the server's objects is kept, as one pure step.

A state says what to do next; `step` takes what happened and gives the next state and what must
become of the copy. The rules:

- A watch goes on from the last version seen, after a pause when it broke, as often as needed.
- Events come in the order of their versions. One that is not newer than what the watch has
  delivered already is a duplicate and passed over.
- One that is not newer than where the watch began breaks the server's promise: its history is
  not ours any more (restored from a backup, replaced). Then, and when the history that we would
  need is gone, everything is listed again; what is missing from the list was deleted.
- A kind that the server does not serve has no objects; from time to time it is asked again.
- Versions are compared as numbers where both are decimal, otherwise only for equality.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Generic, TypeVar, assert_never

import msgspec

from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.registry import Document
from plimsoll.cache.persistent import PersistentMap
from plimsoll.wire.errors import Failure, KubeError, error_from_status
from plimsoll.wire.kind import (
    Bookmark,
    DeletedObject,
    Page,
    RefusedDocument,
    Unreadable,
    Upserted,
    WatchEvent,
    key_of,
    version_of,
)

T = TypeVar("T", bound=ApiObject | Document)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListStep(Generic[T]):
    """Fetch the page that `continue_` names, the first one when it is empty."""

    items: tuple[T, ...] = ()
    continue_: str = ""
    in_one_page: bool = False
    """After the server forgot a list before we had all its pages."""
    is_repeated: bool = False
    """There is a copy already, which this list will replace."""
    failures: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Streaming(Generic[T]):
    """Watch with initial events: the present state arrives as events, ended by a bookmark."""

    items: PersistentMap[ObjectKey, T] = field(default_factory=PersistentMap)
    versions: PersistentMap[ObjectKey, str] = field(default_factory=PersistentMap)
    """The newest seen of each object, the deleted ones included."""
    failures: int = 0


class Watching(msgspec.Struct, frozen=True, kw_only=True):
    """Watch from `begun_at`; everything up to `position` has arrived."""

    begun_at: str
    position: str
    has_delivered: bool = False
    failures: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchWaiting(Generic[T]):
    """Pause, then go on with `then`."""

    then: ListStep[T] | Streaming[T] | Watching
    failures: int
    """How many attempts failed before this one."""
    at_least: timedelta | None = None
    why: str = ""


State = ListStep[T] | Streaming[T] | Watching | WatchWaiting[T]


@dataclass(frozen=True, slots=True)
class WaitOver:
    pass


@dataclass(frozen=True, slots=True)
class ListFailed:
    error: KubeError


@dataclass(frozen=True, slots=True)
class StreamEnded:
    """The server ended the watch, as it does after the time it was given."""


@dataclass(frozen=True, slots=True)
class StreamFailed:
    """The watch was refused, or its connection broke."""

    error: KubeError


@dataclass(frozen=True, slots=True)
class RelistDue:
    """It is time to check the copy against a full list, whatever the events said."""


Input = Page[T] | ListFailed | WatchEvent[T] | StreamEnded | StreamFailed | RelistDue | WaitOver


class Put(msgspec.Struct, Generic[T], frozen=True):
    key: ObjectKey
    object: T


class RemoveObject(msgspec.Struct, frozen=True):
    key: ObjectKey
    version: str


@dataclass(frozen=True, slots=True)
class Replace(Generic[T]):
    """This is everything there is. The copy is in sync from now on."""

    objects: Mapping[ObjectKey, T]


Action = Put[T] | RemoveObject | Replace[T]
Next = tuple[State[T], tuple[Action[T], ...]]


def is_older_or_same(version: str, reference: str) -> bool:
    if version == reference:
        return True
    if version.isdecimal() and reference.isdecimal():
        return int(version) <= int(reference)
    return False


def step(state: State[T], happened: Input[T]) -> Next[T]:
    """What does not concern the state (a delayed event of a closed watch) changes nothing."""
    match state:
        case Watching():
            return _while_watching(state, happened)
        case ListStep():
            return _while_listing(state, happened)
        case Streaming():
            return _while_streaming(state, happened)
        case WatchWaiting(then=then):
            return (then, ()) if isinstance(happened, WaitOver) else (state, ())
        case _:
            assert_never(state)


def _while_listing(state: ListStep[T], happened: Input[T]) -> Next[T]:
    match happened:
        case Page(items=items, continue_=continue_) if continue_:
            return replace(state, items=state.items + items, continue_=continue_), ()
        case Page(items=items, resource_version=version):
            objects = {key_of(item): item for item in state.items + items}
            # A full list counts as progress only when the watch after it delivers something:
            # else a server that forgets at once would be listed without a pause.
            watching = Watching(begun_at=version, position=version, failures=state.failures)
            return watching, (Replace(objects),)
        case ListFailed(error=error):
            is_forgotten = error.failure is Failure.GONE and bool(state.continue_)
            again: ListStep[T] = ListStep(
                in_one_page=state.in_one_page or is_forgotten,
                is_repeated=state.is_repeated,
                failures=state.failures + 1,
            )
            return _pause(again, error), _nothing_if_unknown(state, error)
        case _:
            return state, ()


def _nothing_if_unknown(state: ListStep[T], error: KubeError) -> tuple[Action[T], ...]:
    """A server that starts up may deny for a moment that it knows a kind: what was seen stays."""
    is_unknown = error.failure is Failure.NOT_FOUND and not state.is_repeated
    return (Replace({}),) if is_unknown else ()


def _while_streaming(state: Streaming[T], happened: Input[T]) -> Next[T]:
    match happened:
        case Upserted(object=object_) | DeletedObject(object=object_):
            return _gathered(state, object_, is_there=isinstance(happened, Upserted)), ()
        case Bookmark(resource_version=version, ends_initial_events=True):
            watching = Watching(begun_at=version, position=version, has_delivered=True)
            return watching, (Replace(state.items),)
        case RefusedDocument(status=status):
            return _pause(ListStep(failures=state.failures + 1), _refusal(status)), ()
        case StreamFailed(error=error) if error.code:
            # The server answered, and not with events: it does not do this. Lists always work.
            return _pause(ListStep(failures=state.failures + 1), error), ()
        case StreamFailed(error=error):
            return _pause(Streaming(failures=state.failures + 1), error), ()
        case StreamEnded():
            return _pause(Streaming(failures=state.failures + 1)), ()
        case _:
            return state, ()


def _gathered(state: Streaming[T], object_: T, *, is_there: bool) -> Streaming[T]:
    """Initial events have no order: only an object's own versions tell what is a duplicate."""
    key, version = key_of(object_), version_of(object_)
    known = state.versions.get(key)
    if known is not None and is_older_or_same(version, known):
        return state
    items = state.items.with_(key, object_) if is_there else state.items.without(key)
    return replace(state, items=items, versions=state.versions.with_(key, version))


def _while_watching(state: Watching, happened: Input[T]) -> Next[T]:
    match happened:
        case Upserted(object=object_):
            put = Put(key_of(object_), object_)
            return _delivered(state, version_of(object_), put)
        case DeletedObject(object=object_):
            version = version_of(object_)
            return _delivered(state, version, RemoveObject(key_of(object_), version))
        case Unreadable(key=key, resource_version=version):
            return _delivered(state, version, RemoveObject(key, version))
        case Bookmark(resource_version=version):
            return _bookmarked(state, version)
        case RefusedDocument(status=status):
            return _broken(state, _refusal(status))
        case StreamFailed(error=error):
            return _broken(state, error)
        case StreamEnded():
            return _ended(state)
        case RelistDue():
            return ListStep(is_repeated=True), ()
        case _:
            return state, ()


def _delivered(state: Watching, version: str, action: Action[T]) -> Next[T]:
    if is_older_or_same(version, state.begun_at):
        return _relist(state)
    if is_older_or_same(version, state.position):
        return state, ()
    return _reached(state, version or state.position), (action,)


def _reached(state: Watching, position: str) -> Watching:
    return Watching(begun_at=state.begun_at, position=position, has_delivered=True)


def _bookmarked(state: Watching, version: str) -> Next[T]:
    """A bookmark may repeat the position, or come late; it may not lie before the beginning."""
    if version != state.begun_at and is_older_or_same(version, state.begun_at):
        return _relist(state)
    position = state.position if is_older_or_same(version, state.position) else version
    return _reached(state, position), ()


def _ended(state: Watching) -> Next[T]:
    """A watch that ends without having said anything is not asked again at once."""
    failures = 0 if state.has_delivered else state.failures + 1
    again = Watching(begun_at=state.position, position=state.position, failures=failures)
    return (again, ()) if state.has_delivered else (_pause(again), ())


REWATCHED = frozenset(
    {
        Failure.TOO_MANY_REQUESTS,
        Failure.UNAVAILABLE,
        Failure.TIMEOUT,
        Failure.UNAUTHORIZED,
        Failure.FORBIDDEN,
    }
)


def _broken(state: Watching, error: KubeError) -> Next[T]:
    """Go on from where we were, unless the server says that it cannot."""
    was_disconnected = not error.code
    if was_disconnected or (error.failure in REWATCHED and not _is_from_the_future(error)):
        again = Watching(
            begun_at=state.position, position=state.position, failures=state.failures + 1
        )
        return _pause(again, error), ()
    return _relist(state, error)


def _is_from_the_future(error: KubeError) -> bool:
    """The server has not reached our version: it lost what it had, and may never reach it."""
    return any(cause.get("reason") == "ResourceVersionTooLarge" for cause in error.causes)


def _relist(state: Watching, error: KubeError | None = None) -> Next[T]:
    return _pause(ListStep(is_repeated=True, failures=state.failures + 1), error), ()


def _pause(
    then: ListStep[T] | Streaming[T] | Watching, error: KubeError | None = None
) -> WatchWaiting[T]:
    return WatchWaiting(
        then=then,
        failures=then.failures - 1,
        at_least=error.retry_after if error else None,
        why=str(error) if error else "",
    )


def _refusal(status: Document) -> KubeError:
    return error_from_status({"code": 500, **status}, operation="watch")
