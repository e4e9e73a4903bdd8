"""The interface to durable storage: an append-only log of changes, one row for each revision.

The log holds, for every object, its newest version, and the older versions and tombstones that are
younger than the compaction point. So one insert per write gives both the current state and the
history that watches resume from after a restart.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import msgspec


class LogRow(msgspec.Struct, frozen=True):
    """One change. `document` is None where the object was deleted."""

    revision: int
    resource: str
    key: str
    document: bytes | None


class StoreFailedError(Exception):
    """A batch could not be made durable: nothing of it counts, now or after a restart."""


class StoreCorruptError(Exception):
    """The log cannot be trusted; the message says what is wrong and what to do."""


class LogStore(Protocol):
    """Not thread-safe: calls are made one after the other."""

    @property
    def inline(self) -> bool:
        """`append` returns at once: it needs no thread of its own."""
        ...

    def load(self) -> Iterator[LogRow]:
        """All rows in the order of their revisions; raises StoreCorruptError."""
        ...

    @property
    def compacted(self) -> int:
        """Changes up to this revision may be missing from the log."""
        ...

    @property
    def newest(self) -> int:
        """The highest revision ever written, also when its row is gone by now."""
        ...

    def append(self, rows: Sequence[LogRow]) -> None:
        """Return once the rows are durable; raise StoreFailedError when none of them is."""
        ...

    def compact(self, revision: int, superseded: Iterable[int]) -> None:
        """Forget the rows with the given revisions; history up to `revision` is gone."""
        ...

    @property
    def size_bytes(self) -> int:
        """How much of the disk the log takes."""
        ...

    def close(self) -> None: ...


class StoreInFront:
    """A store that passes everything on to the one behind it, but for what a subclass changes."""

    def __init__(self, behind: LogStore) -> None:
        self._behind = behind

    @property
    def inline(self) -> bool:
        return self._behind.inline

    @property
    def compacted(self) -> int:
        return self._behind.compacted

    @property
    def newest(self) -> int:
        return self._behind.newest

    @property
    def size_bytes(self) -> int:
        return self._behind.size_bytes

    def load(self) -> Iterator[LogRow]:
        return self._behind.load()

    def append(self, rows: Sequence[LogRow]) -> None:
        self._behind.append(rows)

    def compact(self, revision: int, superseded: Iterable[int]) -> None:
        self._behind.compact(revision, superseded)

    def close(self) -> None:
        self._behind.close()


class MemoryStore:
    """Forgets everything with the process: for the simulator and for tests."""

    inline = True
    size_bytes = 0

    def __init__(self) -> None:
        self._rows: dict[int, LogRow] = {}
        self._compacted = 0
        self._newest = 0

    def load(self) -> Iterator[LogRow]:
        return iter(tuple(self._rows.values()))

    @property
    def compacted(self) -> int:
        return self._compacted

    @property
    def newest(self) -> int:
        return self._newest

    def append(self, rows: Sequence[LogRow]) -> None:
        self._newest = rows[-1].revision
        self._rows.update((row.revision, row) for row in rows)

    def compact(self, revision: int, superseded: Iterable[int]) -> None:
        self._compacted = revision
        for old in superseded:
            self._rows.pop(old, None)

    def close(self) -> None:
        pass
