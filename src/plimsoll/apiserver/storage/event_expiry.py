"""Events end an hour after they were last written, as in the real server.

Each goes by an ordinary deletion: watchers are told, and its space on the disk is freed. A sweep
deletes a few at a time, so that others are answered in between. After a restart the times that an
event carries tell how old it is.
"""

import logging
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from plimsoll.api.registry import Document
from plimsoll.apiserver.storage.cluster import StoredCluster
from plimsoll.apiserver.storage.collection import Change, ChangeKind, Collection, StoredRecord
from plimsoll.apiserver.storage.quotas import quota_status
from plimsoll.apiserver.storage.resource_kinds import stored_kind
from plimsoll.apiserver.storage.store import StoreFailedError
from plimsoll.runtime.clock import NO_TIME, Clock

log = logging.getLogger(__name__)

EVENTS = "events"
SWEEP_EVERY = timedelta(seconds=30)
DELETED_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class _Lease:
    """One version of an event, and when it ends unless a newer one is written."""

    ends_at: float
    key: str
    revision: int


class EventExpiry:
    def __init__(self, cluster: StoredCluster, life: timedelta) -> None:
        self._cluster = cluster
        self._life = life
        self._leases = deque(sorted(self._stored(), key=lambda lease: lease.ends_at))
        """Soonest first: all events live equally long."""
        cluster.revisions.on_durable(self._written)

    def _stored(self) -> Iterator[_Lease]:
        clock = self._cluster.clock
        for record in self._cluster.revisions.collection(EVENTS).records():
            left = self._life - age(record.document(), clock)
            yield _Lease(
                clock.monotonic() + min(max(left, NO_TIME), self._life).total_seconds(),
                record.key,
                record.revision,
            )

    def _written(self, collection: Collection, changes: list[Change]) -> None:
        if collection.name != EVENTS:
            return
        ends_at = self._cluster.clock.monotonic() + self._life.total_seconds()
        self._leases.extend(
            _Lease(ends_at, change.record.key, change.revision)
            for change in changes
            if change.kind is not ChangeKind.DELETED
        )

    async def run(self) -> None:
        """Never returns."""
        while True:
            await self._cluster.clock.sleep(min(SWEEP_EVERY, self._life / 4))
            try:
                while await self._sweep():
                    pass
            except StoreFailedError as error:
                # The disk is full, for one: they go with a later sweep.
                log.warning("events not expired", extra={"error": str(error)})

    async def _sweep(self) -> bool:
        """Delete some of what is due; whether there may be more."""
        now = self._cluster.clock.monotonic()
        first = islice(self._leases, DELETED_AT_ONCE)
        due = [lease for lease in first if lease.ends_at <= now]
        ended = [record for lease in due if (record := self._find(lease)) is not None]
        for record in ended:
            self._cluster.remove(stored_kind(EVENTS), record)
        for namespace in sorted({record.key.partition("/")[0] for record in ended}):
            quota_status.refresh(self._cluster, namespace)
        await self._cluster.revisions.durable()
        # Only now: had the disk refused them, they would have to be tried again.
        for _ in due:
            self._leases.popleft()
        if ended:
            log.debug("events expired", extra={"number": len(ended)})
        return len(due) == DELETED_AT_ONCE

    def _find(self, lease: _Lease) -> StoredRecord | None:
        """The event, unless it was written again or is gone."""
        record = self._cluster.revisions.collection(EVENTS).newest(lease.key)
        return record if record is not None and record.revision == lease.revision else None


def age(event: Document, clock: Clock) -> timedelta:
    """How long ago the event was last seen, by the times that it carries."""
    times = (
        event.get("lastTimestamp"),
        (event.get("series") or {}).get("lastObservedTime"),
        event.get("eventTime"),
        event["metadata"].get("creationTimestamp"),
    )
    return clock.now() - max(datetime.fromisoformat(time) for time in times if time)
