"""Runs what takes time and happens outside the API: provisioning, deleting, recycling.

At most one operation of any kind at a time for each volume, and so many for each provisioner: one
that does not answer leaves the others theirs. One that fails is not begun
again before a delay that doubles with every failure; then the object is looked at anew, and only
if that still asks for the operation it is tried again. Nothing is remembered over a restart:
operations are safe to repeat.
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from random import Random

from plimsoll.runtime.backoff import Backoff
from plimsoll.runtime.clock import NO_TIME, Clock
from plimsoll.wire.errors import KubeError

log = logging.getLogger(__name__)

BACKOFF = Backoff(first=timedelta(milliseconds=500), limit=timedelta(minutes=2))
FORGOTTEN_AFTER = timedelta(hours=1)
SHORTEST = timedelta(milliseconds=1)
"""Timers are not more exact: a shorter rest of a delay counts as none."""
MOST_AT_ONCE = 16
"""Of each provisioner."""


class OperationVerdict(StrEnum):
    DONE = "Done"
    """Or no longer wanted."""
    LOOK_AGAIN = "LookAgain"
    """Done, and what it was done for has to be decided about anew."""
    TRY_AGAIN = "TryAgain"


Work = Callable[[], Awaitable[OperationVerdict]]
Wake = Callable[[timedelta], None]
"""Look at the object that asked for the operation again after this time."""


@dataclass(frozen=True, slots=True)
class _Operation:
    volume: str
    provisioner: str
    work: Work
    wake: Wake


@dataclass(frozen=True, slots=True)
class _Failed:
    times: int
    not_before: float


class Operations:
    def __init__(self, clock: Clock, chance: Random) -> None:
        self._clock = clock
        self._chance = chance
        self._waiting: dict[str, deque[_Operation]] = {}
        """By provisioner."""
        self._running: Counter[str] = Counter()
        self._changed = asyncio.Event()
        self._busy: set[str] = set()
        self._asked_again: set[str] = set()
        self._failed: dict[str, _Failed] = {}

    def begin(self, volume: str, work: Work, wake: Wake, *, provisioner: str = "") -> None:
        """Unless one for this volume is under way, or the last one failed a moment ago."""
        if volume in self._busy:
            self._asked_again.add(volume)
            return
        failed = self._failed.get(volume)
        left = failed.not_before - self._clock.monotonic() if failed else 0.0
        if left > SHORTEST.total_seconds():
            wake(timedelta(seconds=left))
            return
        self._busy.add(volume)
        waiting = self._waiting.setdefault(provisioner, deque())
        waiting.append(_Operation(volume, provisioner, work, wake))
        self._changed.set()

    def ask_again(self, volume: str) -> None:
        """Decide again about the object of the operation under way as soon as that has ended."""
        if volume in self._busy:
            self._asked_again.add(volume)

    async def run(self) -> None:
        """Never returns; cancel it."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._changed.clear()
                for operation in self._next():
                    group.create_task(self._carry_out(operation), name="operation")
                await self._changed.wait()

    def _next(self) -> Iterator[_Operation]:
        """Those whose turn it is."""
        for provisioner, waiting in self._waiting.items():
            while waiting and self._running[provisioner] < MOST_AT_ONCE:
                self._running[provisioner] += 1
                yield waiting.popleft()

    async def _carry_out(self, operation: _Operation) -> None:
        verdict = OperationVerdict.TRY_AGAIN
        try:
            verdict = await operation.work()
        except KubeError as error:
            facts = {"volume": operation.volume, "error": str(error)}
            log.warning("operation failed", extra=facts)
        finally:
            self._running[operation.provisioner] -= 1
            self._changed.set()
            self._busy.discard(operation.volume)
            self._end(operation, verdict)

    def _end(self, operation: _Operation, verdict: OperationVerdict) -> None:
        asked_again = operation.volume in self._asked_again
        self._asked_again.discard(operation.volume)
        if verdict is not OperationVerdict.TRY_AGAIN:
            self._failed.pop(operation.volume, None)
            # Otherwise only what the operation has changed is a reason to look again.
            if asked_again or verdict is OperationVerdict.LOOK_AGAIN:
                operation.wake(NO_TIME)
            return
        before = self._failed.get(operation.volume)
        times = before.times if before else 0
        delay = BACKOFF.delay(times, self._chance)
        now = self._clock.monotonic()
        self._failed[operation.volume] = _Failed(times + 1, now + delay.total_seconds())
        self._forget_old(now)
        operation.wake(delay)

    def _forget_old(self, now: float) -> None:
        """Volumes that went away after a failure; failures come seldom enough to look at all."""
        limit = now - FORGOTTEN_AFTER.total_seconds()
        old = [volume for volume, failed in self._failed.items() if failed.not_before < limit]
        for volume in old:
            del self._failed[volume]
