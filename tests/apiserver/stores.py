"""Stores that fail or wait when a test says so."""

import asyncio
import threading
from collections.abc import Iterable, Iterator, Sequence

from plimsoll.apiserver.storage.store import LogRow, LogStore, StoreFailedError

DISK_FULL = "database or disk is full"


class FailingStore:
    """Another store behind it; while `fails` is set, nothing more reaches that one."""

    def __init__(self, inner: LogStore) -> None:
        self.inner = inner
        self.fails = False
        self.appended = 0
        self.forgotten: list[int] = []

    @property
    def inline(self) -> bool:
        return self.inner.inline

    @property
    def compacted(self) -> int:
        return self.inner.compacted

    @property
    def newest(self) -> int:
        return self.inner.newest

    @property
    def size_bytes(self) -> int:
        return self.inner.size_bytes

    def load(self) -> Iterator[LogRow]:
        return self.inner.load()

    def append(self, rows: Sequence[LogRow]) -> None:
        self._check()
        self.inner.append(rows)
        self.appended += 1

    def compact(self, revision: int, superseded: Iterable[int]) -> None:
        self._check()
        named = list(superseded)
        self.forgotten += named
        self.inner.compact(revision, named)

    def _check(self) -> None:
        if self.fails:
            raise StoreFailedError(DISK_FULL)

    def close(self) -> None:
        self.inner.close()


class SlowStore(FailingStore):
    """A disk of its own speed: a batch that has arrived is written when the test releases it."""

    inline = False

    def __init__(self, inner: LogStore) -> None:
        super().__init__(inner)
        self._arrived = threading.Semaphore(0)
        self._released = threading.Semaphore(0)
        self._is_held = False

    def append(self, rows: Sequence[LogRow]) -> None:
        if self._is_held:
            self._arrived.release()
            self._released.acquire()
        super().append(rows)

    def hold(self) -> None:
        """From now on batches wait."""
        self._is_held = True

    def release_all(self) -> None:
        """As if it had never been held up, and works again."""
        self.fails = False
        self._is_held = False

    async def arrival(self) -> None:
        """Return when a batch is on its way to the disk, and stuck there."""
        arrived = await asyncio.to_thread(self._arrived.acquire, timeout=10)
        assert arrived, "no batch came"

    def release(self, *, fails: bool = False, holds_next: bool = False) -> None:
        """The batch under way is written, or fails; the one after it may be held up again."""
        self.fails = fails
        self._is_held = holds_next
        self._released.release()
