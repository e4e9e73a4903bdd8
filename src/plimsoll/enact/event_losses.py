"""Tells operators about events that were not written: in one line for many, not one line each."""

import asyncio
import logging
from collections import Counter
from datetime import timedelta
from enum import StrEnum

from plimsoll.enact.event_correlation import Notice
from plimsoll.runtime.clock import Clock
from plimsoll.runtime.metrics import Metrics
from plimsoll.wire.errors import KubeError

log = logging.getLogger(__name__)

REPORT_EVERY = timedelta(minutes=1)


class Loss(StrEnum):
    QUEUE_FULL = "queue_full"
    TOO_MANY = "too_many"
    REFUSED = "refused"


class Losses:
    """The first loss is told at once; what follows is summed up once in a period."""

    def __init__(self, clock: Clock, metrics: Metrics) -> None:
        self._clock = clock
        self._counts: Counter[Loss] = Counter()
        self._example: dict[str, str] = {}
        self._changed = asyncio.Event()
        lost = metrics.counter("plimsoll_events_lost_total", "Events not written.", ["cause"])
        self._total = {loss: lost.labels(loss.value) for loss in Loss}

    def add(self, notice: Notice, loss: Loss, error: KubeError | None = None) -> None:
        self._total[loss].inc()
        self._counts[loss] += 1
        self._example = {
            "object": f"{notice.regarding.kind} {notice.regarding.key}",
            "reason": notice.reason,
            "error": str(error) if error else "",
        }
        self._changed.set()

    async def run(self) -> None:
        """Never returns; cancel it: what was not told yet is told then."""
        try:
            while True:
                await self._changed.wait()
                self._tell()
                await self._clock.sleep(REPORT_EVERY)
        finally:
            self._tell()

    def _tell(self) -> None:
        self._changed.clear()
        if not self._counts:
            return
        causes = ", ".join(f"{loss} {number}" for loss, number in sorted(self._counts.items()))
        facts = {"count": self._counts.total(), "causes": causes}
        log.warning("events lost; the latest is given", extra=facts | self._example)
        self._counts.clear()
