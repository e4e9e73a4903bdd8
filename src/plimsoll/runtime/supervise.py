"""Keeps the loops of a process running.

This is the one place that catches every exception: a bug in one loop is logged, counted and
tried again after a pause, and the others go on. Cancelling `supervise` ends all of them.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

from plimsoll.runtime.backoff import Backoff
from plimsoll.runtime.clock import Clock
from plimsoll.runtime.metrics import Metrics

log = logging.getLogger(__name__)

Loop = Callable[[], Awaitable[None]]

RESTART_BACKOFF = Backoff(first=timedelta(seconds=1), limit=timedelta(minutes=1))


def _go_on(name: str, error: Exception) -> None:
    del name, error


@dataclass(frozen=True, slots=True, kw_only=True)
class Supervision:
    clock: Clock
    chance: Random
    metrics: Metrics = field(default_factory=Metrics)
    backoff: Backoff = RESTART_BACKOFF
    healthy_after: timedelta = timedelta(minutes=2)
    """A loop that ran this long before it failed starts again as if for the first time."""
    expected: tuple[type[Exception], ...] = ()
    """Ways for a loop to end that are no bugs: told in one line, and only to those who ask."""
    on_failure: Callable[[str, Exception], None] = _go_on
    """Is told of each failure, with the loop's name; what it raises ends all loops."""


async def supervise(loops: Mapping[str, Loop], with_: Supervision) -> None:
    """Run all loops, each until it returns; return when all have."""
    async with asyncio.TaskGroup() as group:
        for name, loop in loops.items():
            group.create_task(_keep_running(name, loop, with_), name=name)


async def _keep_running(name: str, loop: Loop, with_: Supervision) -> None:
    restarts = with_.metrics.counter(
        "plimsoll_loop_restarts_total", "Loops restarted after an unexpected error.", ["loop"]
    ).labels(name)
    failures = 0
    while True:
        started_at = with_.clock.monotonic()
        try:
            await loop()
        except Exception as error:
            with_.on_failure(name, error)
            if with_.clock.monotonic() - started_at > with_.healthy_after.total_seconds():
                failures = 0
            delay = with_.backoff.delay(failures, with_.chance)
            failures += 1
            restarts.inc()
            facts = {"loop": name, "retry_seconds": delay.total_seconds()}
            if isinstance(error, with_.expected):
                log.info("loop ended", extra={**facts, "error": str(error)})
            else:
                log.exception("loop failed", extra=facts)
            await with_.clock.sleep(delay)
        else:
            return
