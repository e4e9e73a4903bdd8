"""A store that is timed: how long each change waited for the disk, under etcd's metric name."""

from collections.abc import Iterable, Iterator, Sequence

from plimsoll.apiserver.storage.store import LogRow, LogStore
from plimsoll.runtime.clock import Clock
from plimsoll.runtime.quick_metrics import QuickHistogram

STORE_BUCKETS = (0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2, 4, 8, 15, 30, 60)


class MeasuredStore:
    """Passes everything on to the store behind it."""

    def __init__(self, store: LogStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self.seconds = QuickHistogram(
            "etcd_request_duration_seconds",
            "Time until a change was durable, in the server's own file; one batch, one time.",
            ["operation", "group", "resource"],
            buckets=STORE_BUCKETS,
        )

    @property
    def inline(self) -> bool:
        return self._store.inline

    @property
    def compacted(self) -> int:
        return self._store.compacted

    @property
    def newest(self) -> int:
        return self._store.newest

    @property
    def size_bytes(self) -> int:
        return self._store.size_bytes

    def load(self) -> Iterator[LogRow]:
        return self._store.load()

    def append(self, rows: Sequence[LogRow]) -> None:
        began = self._clock.monotonic()
        self._store.append(rows)
        seconds = self._clock.monotonic() - began
        for row in rows:
            operation = "delete" if row.document is None else "update"
            plural, _, group = row.resource.partition(".")
            self.seconds.observe((operation, group, plural), seconds)

    def compact(self, revision: int, superseded: Iterable[int]) -> None:
        self._store.compact(revision, superseded)

    def close(self) -> None:
        self._store.close()
