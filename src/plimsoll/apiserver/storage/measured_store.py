"""A store that is timed: how long each change waited for the disk, under etcd's metric name."""

from collections.abc import Sequence

from plimsoll.apiserver.storage.store import LogRow, LogStore, StoreInFront
from plimsoll.runtime.clock import Clock
from plimsoll.runtime.quick_metrics import QuickHistogram

STORE_BUCKETS = (0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2, 4, 8, 15, 30, 60)


class MeasuredStore(StoreInFront):
    def __init__(self, store: LogStore, clock: Clock) -> None:
        super().__init__(store)
        self._clock = clock
        self.seconds = QuickHistogram(
            "etcd_request_duration_seconds",
            "Time until a change was durable, in the server's own file; one batch, one time.",
            ["operation", "group", "resource"],
            buckets=STORE_BUCKETS,
        )

    def append(self, rows: Sequence[LogRow]) -> None:
        began = self._clock.monotonic()
        super().append(rows)
        seconds = self._clock.monotonic() - began
        for row in rows:
            operation = "delete" if row.document is None else "update"
            plural, _, group = row.resource.partition(".")
            self.seconds.observe((operation, group, plural), seconds)
