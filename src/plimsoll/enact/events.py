"""Tells users what happened to their objects, as Kubernetes Events.

`emit` never waits: notices go through a bounded queue, and one loop writes them. Nothing is lost
in silence: what is dropped, because the queue is full, because there were too many, or because
the server would not take it, is counted by cause and logged in a summary. Secrets are taken out of
the text.
"""

import asyncio
import logging
from collections import deque
from dataclasses import dataclass, field
from datetime import timedelta

from plimsoll.api.meta import ObjectKey, ObjectReference, wire_time
from plimsoll.api.registry import Document, resources_by_path
from plimsoll.decide.plan import EventType
from plimsoll.enact.event_correlation import (
    CorrelationSettings,
    Correlator,
    Echoes,
    Flood,
    Fresh,
    Notice,
    Repeat,
)
from plimsoll.enact.event_losses import Loss, Losses
from plimsoll.runtime.backoff import Backoff
from plimsoll.runtime.clock import NO_TIME
from plimsoll.runtime.ids import Ids
from plimsoll.runtime.log import without_secrets
from plimsoll.runtime.metrics import Metrics
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import documents
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.parameters import strategic_patch

log = logging.getLogger(__name__)

# Where events about objects without a namespace are kept.
CLUSTER_NAMESPACE = "default"
NAME_LIMIT = 253
SUFFIX_LENGTH = 16
ATTEMPTS = 12
WRITE_BACKOFF = Backoff(first=timedelta(seconds=1), limit=timedelta(seconds=30))
WRITE_TIMEOUT = timedelta(seconds=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecorderSettings:
    component: str
    """Who reports: `plimsoll-scheduler`."""
    instance: str = ""
    """Which of several copies, usually the host."""
    queue_limit: int = 1000
    quiet: timedelta = NO_TIME
    """The same sentence about the same object is not said again before this time has passed."""
    correlation: CorrelationSettings = field(default_factory=CorrelationSettings)


class EventRecorder:
    def __init__(
        self, client: KubeClient, settings: RecorderSettings, *, ids: Ids, metrics: Metrics
    ) -> None:
        self._client = client
        self._settings = settings
        self._ids = ids
        self._events = documents(resources_by_path()["", "v1", "events"])
        self._correlator = Correlator(settings.correlation)
        self._queue: deque[Notice] = deque()
        self._changed = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._echoes = Echoes(settings.quiet)
        self._losses = Losses(client.clock, metrics)
        self._written = metrics.counter("plimsoll_events_written_total", "Events written.")

    def emit(
        self,
        regarding: ObjectReference,
        reason: str,
        message: str,
        *,
        type_: EventType = EventType.NORMAL,
        component: str = "",
    ) -> None:
        """Queue a notice: the reason in CamelCase, the message a sentence for the user. Empty
        `component`: that of the settings reports it."""
        notice = Notice(
            regarding=regarding,
            type=type_,
            reason=reason,
            message=without_secrets(message),
            at=self._client.clock.now(),
            component=component or self._settings.component,
        )
        if self._echoes.is_echo(notice):
            return
        if len(self._queue) >= self._settings.queue_limit:
            self._losses.add(notice, Loss.QUEUE_FULL)
            return
        self._echoes.remember(notice)
        self._queue.append(notice)
        self._idle.clear()
        self._changed.set()

    async def flush(self, limit: timedelta) -> None:
        """Wait until everything queued is written, but not longer than that."""
        try:
            async with self._client.clock.timeout(limit):
                await self._idle.wait()
        except TimeoutError:
            log.warning("events not flushed", extra={"count": len(self._queue)})

    async def run(self) -> None:
        """Write what is queued, one after the other. Never returns; cancel it."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._write_queued(), name="write events")
            group.create_task(self._losses.run(), name="tell lost events")

    async def _write_queued(self) -> None:
        while True:
            while self._queue:
                # It leaves the queue only when its fate is known: a restart tries it again.
                await self._record(self._queue[0])
                self._queue.popleft()
            self._idle.set()
            self._changed.clear()
            await self._changed.wait()

    async def _record(self, notice: Notice) -> None:
        verdict = self._correlator.judge(notice)
        match verdict:
            case Flood():
                self._losses.add(notice, Loss.TOO_MANY)
            case Fresh() | Repeat():
                await self._write_with_retries(verdict)

    async def _write_with_retries(self, verdict: Fresh | Repeat) -> None:
        clock, chance = self._client.clock, self._client.chance
        name = self._name(verdict.notice.regarding.name)
        for attempt in range(ATTEMPTS):
            try:
                async with clock.timeout(WRITE_TIMEOUT):
                    await self._write(verdict, name)
            except TimeoutError:
                pass
            except KubeError as error:
                if not error.is_passing:
                    self._losses.add(verdict.notice, Loss.REFUSED, error)
                    return
            else:
                self._written.inc()
                return
            await clock.sleep(WRITE_BACKOFF.delay(attempt, chance))
        self._losses.add(verdict.notice, Loss.REFUSED)

    async def _write(self, verdict: Fresh | Repeat, name: str) -> None:
        if isinstance(verdict, Repeat) and await self._raise_count(verdict):
            return
        await self._create(verdict, name)

    async def _raise_count(self, verdict: Repeat) -> bool:
        """False when the event is gone and must be written anew."""
        change = {
            "count": verdict.count,
            "lastTimestamp": wire_time(verdict.notice.at),
            "message": verdict.notice.message,
        }
        key = ObjectKey(_namespace(verdict.notice.regarding), verdict.name)
        try:
            await self._client.patch(self._events, key, strategic_patch(change))
        except KubeError as error:
            if error.failure is Failure.NOT_FOUND:
                self._correlator.forget(verdict)
                return False
            raise
        self._correlator.remember(verdict, verdict.name)
        return True

    async def _create(self, verdict: Fresh | Repeat, name: str) -> None:
        try:
            await self._client.create(self._events, self._document(verdict.notice, name))
        except KubeError as error:
            # The name is ours alone: an earlier attempt arrived after all.
            if error.failure is not Failure.ALREADY_EXISTS:
                raise
        fresh = Fresh(notice=verdict.notice, subject=verdict.subject)
        self._correlator.remember(fresh, name)

    def _name(self, regarding: str) -> str:
        suffix = self._ids.uid().replace("-", "")[:SUFFIX_LENGTH]
        return f"{regarding[: NAME_LIMIT - SUFFIX_LENGTH - 1].rstrip('.-')}.{suffix}"

    def _document(self, notice: Notice, name: str) -> Document:
        regarding = notice.regarding
        at = wire_time(notice.at)
        involved = {
            "apiVersion": regarding.api_version,
            "kind": regarding.kind,
            "namespace": regarding.namespace,
            "name": regarding.name,
            "uid": regarding.uid,
            "resourceVersion": regarding.resource_version,
            "fieldPath": regarding.field_path,
        }
        source = {"component": notice.component, "host": self._settings.instance}
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"namespace": _namespace(regarding), "name": name},
            "involvedObject": {field: value for field, value in involved.items() if value},
            "reason": notice.reason,
            "message": notice.message,
            "type": notice.type.value,
            "source": {field: value for field, value in source.items() if value},
            "firstTimestamp": at,
            "lastTimestamp": at,
            "count": 1,
            "reportingComponent": notice.component,
            "reportingInstance": self._settings.instance,
        }


def _namespace(regarding: ObjectReference) -> str:
    return regarding.namespace or CLUSTER_NAMESPACE
