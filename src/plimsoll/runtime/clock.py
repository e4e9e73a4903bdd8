"""Time as an argument.

Everything that waits takes a Clock. SystemClock is the real one. SteppedClock stands still until
the program advances it: tests take no time, and the simulator wakes sleepers in the same order for
the same seed.
"""

import asyncio
import heapq
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Protocol, TypeVar

T = TypeVar("T")

NO_TIME = timedelta()
EPOCH = datetime(2024, 1, 1, tzinfo=UTC)


class Alarm(Protocol):
    def cancel(self) -> None:
        """Harmless when the alarm has gone off already."""
        ...


class Clock(ABC):
    @abstractmethod
    def now(self) -> datetime:
        """The wall clock, in UTC; for what is written down, not for measuring."""

    @abstractmethod
    def monotonic(self) -> float:
        """Seconds that only ever grow; for measuring."""

    def boottime(self) -> float:
        """Like `monotonic`, but time goes on while the machine is suspended.

        For what other machines count on meanwhile. Not comparable with `monotonic`.
        """
        return self.monotonic()

    @abstractmethod
    def call_later(self, delay: timedelta, callback: Callable[[], object]) -> Alarm:
        """Call back from the event loop after the delay."""

    async def sleep(self, duration: timedelta) -> None:
        """A sleep of no length still lets others run once."""
        if duration <= NO_TIME:
            await asyncio.sleep(0)
            return
        woken = asyncio.Event()
        alarm = self.call_later(duration, woken.set)
        try:
            await woken.wait()
        finally:
            alarm.cancel()

    def timeout(self, limit: timedelta | None) -> AbstractAsyncContextManager[object]:
        """Raise TimeoutError from the block when it takes longer than that."""
        return _Limited(self, limit)

    async def wait_for(self, awaitable: Awaitable[T], limit: timedelta | None) -> T:
        async with self.timeout(limit):
            return await awaitable


class _Limited:
    """A block with a limit by a clock of ours. A class, because many blocks have one."""

    __slots__ = ("_alarm", "_clock", "_inner", "_limit", "_told_before")

    def __init__(self, clock: Clock, limit: timedelta | None) -> None:
        self._clock = clock
        self._limit = limit

    async def __aenter__(self) -> None:
        if self._limit is None:
            return
        self._told_before = _cancellations()
        self._inner = asyncio.timeout(None)
        await self._inner.__aenter__()
        self._alarm = self._clock.call_later(self._limit, self._expire)

    def _expire(self) -> None:
        self._inner.reschedule(asyncio.get_running_loop().time())

    async def __aexit__(
        self,
        type_: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._limit is None:
            return
        self._alarm.cancel()
        await self._inner.__aexit__(type_, error, traceback)
        # Before Python 3.11.3, clean-up code of a cancelled task gets this for a timeout.
        is_cancelled = isinstance(error, asyncio.CancelledError)
        if is_cancelled and self._inner.expired() and _cancellations() <= self._told_before:
            raise TimeoutError from error


def _cancellations() -> int:
    """How often the current task was asked to end."""
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()


class SystemClock(Clock):
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def boottime(self) -> float:
        # Only Linux tells both times apart; elsewhere the one that there is has to do.
        clock = getattr(time, "CLOCK_BOOTTIME", None)
        return time.monotonic() if clock is None else time.clock_gettime(clock)

    def call_later(self, delay: timedelta, callback: Callable[[], object]) -> Alarm:
        return asyncio.get_running_loop().call_later(delay.total_seconds(), callback)


@dataclass(order=True, slots=True)
class _SteppedAlarm:
    due: timedelta
    number: int
    callback: Callable[[], object] | None = field(compare=False)

    def cancel(self) -> None:
        self.callback = None


class SteppedClock(Clock):
    """Virtual time; sleepers wake by due time, then in the order in which they lay down."""

    def __init__(self, start: datetime = EPOCH) -> None:
        self._start = start
        self._elapsed = NO_TIME
        self._suspended = NO_TIME
        self._alarms: list[_SteppedAlarm] = []
        self._number = 0

    def now(self) -> datetime:
        return self._start + self._elapsed + self._suspended

    def monotonic(self) -> float:
        return self._elapsed.total_seconds()

    def boottime(self) -> float:
        return (self._elapsed + self._suspended).total_seconds()

    def suspend(self, duration: timedelta) -> None:
        """The machine sleeps: time passes for the world, but no alarm comes closer."""
        self._suspended += duration

    def call_later(self, delay: timedelta, callback: Callable[[], object]) -> Alarm:
        self._number += 1
        alarm = _SteppedAlarm(self._elapsed + max(delay, NO_TIME), self._number, callback)
        heapq.heappush(self._alarms, alarm)
        return alarm

    def next_due(self) -> timedelta | None:
        """How long until the next sleeper wakes; None when there is none."""
        while self._alarms and self._alarms[0].callback is None:
            heapq.heappop(self._alarms)
        return self._alarms[0].due - self._elapsed if self._alarms else None

    def advance(self, duration: timedelta) -> None:
        """Wake all sleepers that are due within that time, at once; they run when the loop runs."""
        end = self._elapsed + duration
        while (wait := self.next_due()) is not None and self._elapsed + wait <= end:
            self._ring(heapq.heappop(self._alarms))
        self._elapsed = end

    def _ring(self, alarm: _SteppedAlarm) -> None:
        self._elapsed = max(self._elapsed, alarm.due)
        callback, alarm.callback = alarm.callback, None
        if callback is not None:
            callback()

    async def run(self, duration: timedelta) -> None:
        """Let that much time pass, stopping at every moment at which a sleeper wakes."""
        end = self._elapsed + duration
        await settle()
        while (wait := self.next_due()) is not None and self._elapsed + wait <= end:
            self.advance(wait)
            await settle()
        self._elapsed = end


SETTLING_TURNS = 200


async def settle() -> None:
    """Return when no task of this event loop can run without time passing or input arriving."""
    # The standard loop keeps what can run in `_ready`; while we run, we are not in it. Loops
    # written in C hide theirs: there a number of turns must do.
    ready = getattr(asyncio.get_running_loop(), "_ready", None)
    if ready is None:
        for _ in range(SETTLING_TURNS):
            await asyncio.sleep(0)
        return
    await asyncio.sleep(0)
    while ready:  # noqa: ASYNC110 - this is about the loop itself, not about an event
        await asyncio.sleep(0)
