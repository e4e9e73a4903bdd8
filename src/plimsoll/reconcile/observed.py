"""What the loops observe: one informer for each kind, shared, with the indexes all of them need.

Loops name the kinds and indexes they read when they are made; watching begins afterwards. Our own
writes are shown at once, before the watch brings them back, so that no loop acts twice on what it
has just done.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any, Generic, TypeVar

from plimsoll.api.meta import ApiObject
from plimsoll.api.registry import Document, Resource
from plimsoll.api.typed import from_document
from plimsoll.cache.assume import AssumingStore
from plimsoll.cache.informer import Handler, Informer
from plimsoll.cache.store import IndexFunction, StoreChange, View
from plimsoll.runtime.clock import Clock
from plimsoll.wire.kind import Kind, typed
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.parameters import EVERYTHING, Selection

T = TypeVar("T", bound=ApiObject)

OWN_WRITE_BELIEVED = timedelta(minutes=1)
EXPIRE_EVERY = timedelta(seconds=15)


class Cached(Generic[T]):
    """The objects of one kind."""

    def __init__(self, type_: type[T]) -> None:
        self.type = type_
        self.kind: Kind[T] = typed(type_)
        self._indexes: dict[str, IndexFunction[T]] = {}
        self._handlers: list[Handler[T]] = []
        self._selection = EVERYTHING
        self._store: AssumingStore[T] | None = None
        self.informer: Informer[T] | None = None

    def only(self, selection: Selection) -> None:
        """Before watching begins: observe these alone."""
        self._selection = selection

    def index(self, name: str, function: IndexFunction[T]) -> None:
        """Before watching begins. The same name always means the same function."""
        self._indexes.setdefault(name, function)

    def on_change(self, handler: Handler[T]) -> None:
        """Before watching begins. Handlers neither wait nor fail: they add keys to a queue."""
        self._handlers.append(handler)

    def follow(self, handler: Handler[T]) -> Callable[[], None]:
        """After watching has begun: the handler gets what there is, then every change.

        What is returned ends that.
        """
        for key, object_ in self.view().objects.items():
            handler(StoreChange(key, None, object_))
        self._handlers.append(handler)
        return lambda: self._handlers.remove(handler)

    @property
    def is_everything(self) -> bool:
        """Watching has begun, and no object of the kind is left out."""
        return self.informer is not None and self._selection == EVERYTHING

    def start(self, client: KubeClient) -> Informer[T]:
        self._store = AssumingStore(self._indexes)
        self.informer = Informer(client, self.kind, self._store, selection=self._selection)
        self.informer.on_change(self._tell)
        return self.informer

    async def wait_synced(self) -> None:
        """Return when everything that the server had at some moment was seen."""
        if self.informer is None:
            raise RuntimeError(f"{self.type.__name__}: waited for before watching began")
        await self.informer.wait_synced()

    def view(self) -> View[T]:
        """All of them at this moment; the view never changes afterwards."""
        return (self._store or self._begun()).snapshot()

    def written(self, document: Document, clock: Clock) -> None:
        """The server's answer to a write of ours: show it until the watch has caught up."""
        object_ = from_document(self.type, document)
        deadline = clock.monotonic() + OWN_WRITE_BELIEVED.total_seconds()
        change = self._begun().written(object_, deadline=deadline)
        if change is not None:
            self._tell(change)

    def expire(self, monotonic: float) -> None:
        for change in self._begun().expire(monotonic):
            self._tell(change)

    def _tell(self, change: StoreChange[T]) -> None:
        """Not when the watch brings back what was shown as written: the loops have seen it."""
        if not _is_same_version(change):
            for handler in self._handlers:
                handler(change)

    def _begun(self) -> AssumingStore[T]:
        if self._store is None:
            raise RuntimeError(f"{self.type.__name__}: read before watching began")
        return self._store


class Observed:
    """All kinds that the loops of this process read."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._cached: dict[type[ApiObject], Cached[Any]] = {}
        self._by_name: dict[tuple[str, str], Cached[Any]] = {}
        """By apiVersion and kind."""

    def of(self, type_: type[T]) -> Cached[T]:
        found = self._cached.get(type_)
        if found is None:
            found = self._cached[type_] = Cached(type_)
            resource = found.kind.resource
            self._by_name[resource.api_version, resource.kind] = found
        return found

    def find(self, resource: Resource) -> Cached[Any] | None:
        """The kind, if some loop reads it and all of its objects are observed."""
        found = self._by_name.get((resource.api_version, resource.kind))
        return found if found is not None and found.is_everything else None

    def start(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        """The loops to run: one informer for each kind, and the one that ends assumptions."""
        runs: dict[str, Callable[[], Awaitable[None]]] = {
            f"watch {type_.__name__}": cached.start(self._client).run
            for type_, cached in self._cached.items()
        }
        runs["expire assumptions"] = self._expire
        return runs

    async def synced(self) -> None:
        """Return when every store has held everything that the server had at some moment."""
        informers = [c.informer for c in self._cached.values() if c.informer is not None]
        await asyncio.gather(*(informer.wait_synced() for informer in informers))

    def written(self, documents: tuple[Document, ...]) -> None:
        """Show our own writes to every loop at once."""
        for document in documents:
            if _is_over(document):
                continue
            cached = self._by_name.get((document.get("apiVersion", ""), document.get("kind", "")))
            if cached is not None:
                cached.written(document, self._client.clock)

    async def _expire(self) -> None:
        clock = self._client.clock
        while True:
            await clock.sleep(EXPIRE_EVERY)
            for cached in self._cached.values():
                cached.expire(clock.monotonic())


def _is_same_version(change: StoreChange[T]) -> bool:
    before, after = change.before, change.after
    if before is None or after is None:
        return False
    version = after.metadata.resource_version
    return bool(version) and version == before.metadata.resource_version and before.uid == after.uid


def _is_over(document: Document) -> bool:
    """The write took the last finalizer: there is no object left, and its end may have been seen
    before the answer."""
    metadata = document.get("metadata") or {}
    return "deletionTimestamp" in metadata and not (
        metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds")
    )
