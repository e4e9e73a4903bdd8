"""All objects of the server, the order of their changes, and the way to the disk.

A write is decided at once on the newest state and staged with the next revision; a writer task
makes staged changes durable batch by batch. Only then are they visible to readers, sent to watchers
and acknowledged. If a batch fails, everything staged fails with it, because it was decided on top
of the batch, and memory returns to what the disk holds.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TypeVar

from plimsoll.apiserver.storage.collection import Change, ChangeKind, Collection, StoredRecord
from plimsoll.apiserver.storage.store import LogRow, LogStore, StoreFailedError
from plimsoll.runtime.blocking import Blocking
from plimsoll.runtime.clock import NO_TIME, Clock

log = logging.getLogger(__name__)

T = TypeVar("T")

SETTLED_AT_ONCE = 500
TOLD_AT_ONCE = 4000
"""So many watchers are told of one change before others have their turn, or fewer of more."""

Weigh = Callable[[str], int]
"""What it costs to tell all who watch a collection of one change in it."""
Describe = Callable[[str, bytes], tuple[dict[str, str], dict[str, str]]]
"""(resource, raw document) → labels and selectable fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLimits:
    """History older than `age`, or beyond `changes`, is forgotten."""

    age: timedelta = timedelta(minutes=5)
    changes: int = 200_000
    every: timedelta = timedelta(seconds=30)


@dataclass(slots=True)
class _Batch:
    """Changes that become durable together, and those who wait for that."""

    changes: list[tuple[Collection, Change]] = field(default_factory=list)
    waiting: list[asyncio.Future[None]] = field(default_factory=list)
    """One for each request: one that is cancelled must not end the wait of the others."""

    async def durable(self) -> None:
        """Raises StoreFailedError."""
        waiting = asyncio.get_running_loop().create_future()
        self.waiting.append(waiting)
        await waiting

    def end(self, error: StoreFailedError | None = None) -> None:
        for waiting in self.waiting:
            if waiting.done():
                continue
            if error is None:
                waiting.set_result(None)
            else:
                waiting.set_exception(error)


class Revisions:
    def __init__(
        self,
        store: LogStore,
        clock: Clock,
        limits: HistoryLimits | None = None,
        blocking: Blocking | None = None,
    ) -> None:
        """`blocking` waits for a store that is not inline; by default in a thread of its own."""
        self.committed = 0
        """The newest durable revision: what lists and bookmarks announce."""
        self.compacted = 0
        """Watches from before this revision cannot be served."""
        self.failure = ""
        """Why the last batch could not be written; empty when it could."""
        self._store = store
        self._clock = clock
        self._limits = limits or HistoryLimits()
        self._collections: dict[str, Collection] = {}
        self._listeners: list[Callable[[Collection, list[Change]], None]] = []
        self._assigned = 0
        self.weigh: Weigh = lambda _: 1
        self._batch: _Batch | None = None
        self._writing: _Batch | None = None
        self._wake = asyncio.Event()
        self._marks: deque[tuple[float, int]] = deque()
        self._leftovers: list[int] = []
        """Revisions whose rows are not needed any more but are still in the store."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._blocking: Blocking = blocking or self._in_own_thread

    def collection(self, name: str) -> Collection:
        found = self._collections.get(name)
        if found is None:
            found = self._collections[name] = Collection(name)
        return found

    def collections(self) -> list[Collection]:
        return list(self._collections.values())

    def on_durable(self, listener: Callable[[Collection, list[Change]], None]) -> None:
        """Called for every batch and collection, in the order of revisions."""
        self._listeners.append(listener)

    def load(self, describe: Describe) -> None:
        """Fill memory from the store. Raises StoreCorruptError."""
        for row in self._store.load():
            collection = self.collection(row.resource)
            previous = collection.get(row.key)
            change = _change(row, previous, describe)
            if change is not None:
                collection.settle(change)
        self.compacted = self._store.compacted
        self.committed = self._assigned = self._store.newest
        self._leftovers = self._forget(self.compacted)
        self._marks.append((self._clock.monotonic(), self.committed))

    @property
    def next_revision(self) -> int:
        return self._assigned + 1

    def stage(self, collection: Collection, change: Change) -> None:
        """The change carries `next_revision`. It takes effect with the next durable batch."""
        if change.revision != self.next_revision:
            raise AssertionError("a change was decided for another revision")
        if self._batch is None:
            self._batch = _Batch()
        self._assigned = change.revision
        self._batch.changes.append((collection, change))
        collection.stage(change)
        if not self._store.inline:
            self._wake.set()

    async def durable(self) -> None:
        """Return when everything staged so far is on disk; raise StoreFailedError if it is not."""
        if self._store.inline:
            self._write_inline()
        batch = self._batch or self._writing
        if batch is not None:
            await batch.durable()

    async def run_writer(self) -> None:
        """Make staged batches durable, one after the other, for ever."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            batch, self._batch = self._batch, None
            if batch is None:
                continue
            self._writing = batch
            rows = [_row(collection, change) for collection, change in batch.changes]
            try:
                await self._blocking(partial(self._store.append, rows))
            except StoreFailedError as error:
                self._undo(batch, error)
            else:
                await self._settle_in_turns(batch)
            self._writing = None

    async def run_compactor(self) -> None:
        while True:
            await self._clock.sleep(self._limits.every)
            await self.compact()

    async def compact(self) -> None:
        """Forget what is older than the limits allow."""
        point = self._compaction_point()
        if point <= self.compacted:
            return
        self.compacted = point
        self._leftovers += self._forget(point)
        superseded = tuple(self._leftovers)
        try:
            if self._store.inline:
                self._store.compact(point, superseded)
            else:
                await self._blocking(partial(self._store.compact, point, superseded))
        except StoreFailedError:
            # History in memory is gone all the same; the rows go with the next compaction.
            log.warning("history not compacted", exc_info=True)
        else:
            del self._leftovers[: len(superseded)]

    async def _in_own_thread(self, function: Callable[[], T], /) -> T:
        """Calls of the store are made one after the other."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, function)

    def _forget(self, point: int) -> list[int]:
        return [old for c in self._collections.values() for old in c.forget(point)]

    def _compaction_point(self) -> int:
        now = self._clock.monotonic()
        self._marks.append((now, self.committed))
        point = 0
        horizon = now - self._limits.age.total_seconds()
        while len(self._marks) > 1 and self._marks[0][0] <= horizon:
            point = self._marks.popleft()[1]
        return max(point, self.committed - self._limits.changes)

    def _write_inline(self) -> None:
        """No thread, no turn of the event loop: what one request stages is one batch."""
        batch, self._batch = self._batch, None
        if batch is None:
            return
        try:
            self._store.append([_row(collection, change) for collection, change in batch.changes])
        except StoreFailedError as error:
            self._undo(batch, error)
            raise
        self._settle(batch)

    async def _settle_in_turns(self, batch: _Batch) -> None:
        """A batch of thousands takes its time: others have their turn in between."""
        start = 0
        while start < len(batch.changes):
            if start:
                await self._clock.sleep(NO_TIME)
            turn = self._turn(batch.changes[start : start + SETTLED_AT_ONCE])
            self._show(turn)
            start += len(turn)
        batch.end()

    def _turn(self, changes: list[tuple[Collection, Change]]) -> list[tuple[Collection, Change]]:
        """As many of the changes as watchers can be told of in one turn; one at least."""
        told = 0
        for number, (collection, _) in enumerate(changes):
            told += self.weigh(collection.name)
            if told > TOLD_AT_ONCE:
                return changes[: max(1, number)]
        return changes

    def _settle(self, batch: _Batch) -> None:
        self._show(batch.changes)
        batch.end()

    def _show(self, durable: list[tuple[Collection, Change]]) -> None:
        """From now on readers see these changes, and watchers are told of them."""
        changes: dict[str, list[Change]] = {}
        for collection, change in durable:
            collection.settle(change)
            changes.setdefault(collection.name, []).append(change)
        self.committed = durable[-1][1].revision
        self.failure = ""
        for name, changed in changes.items():
            for listener in self._listeners:
                listener(self._collections[name], changed)

    def _undo(self, batch: _Batch, error: StoreFailedError) -> None:
        log.error("batch not written", extra={"changes": len(batch.changes), "error": str(error)})
        self.failure = str(error)
        failed = [batch] if self._batch is None else [batch, self._batch]
        self._batch = None
        self._assigned = self.committed
        for each in failed:
            for collection, _ in each.changes:
                collection.unstage_all()
            each.end(error)

    def close(self) -> None:
        self._thread.shutdown(wait=True)
        self._store.close()


def _row(collection: Collection, change: Change) -> LogRow:
    deleted = change.kind is ChangeKind.DELETED
    raw = None if deleted else change.record.raw
    return LogRow(change.revision, collection.name, change.record.key, raw)


def _change(row: LogRow, previous: StoredRecord | None, describe: Describe) -> Change | None:
    if row.document is None:
        if previous is None:
            return None
        last = StoredRecord(row.key, row.revision, previous.raw, previous.labels, previous.fields)
        return Change(ChangeKind.DELETED, last, previous)
    labels, fields = describe(row.resource, row.document)
    record = StoredRecord(row.key, row.revision, row.document, labels, fields)
    return Change(ChangeKind.ADDED if previous is None else ChangeKind.MODIFIED, record, previous)
