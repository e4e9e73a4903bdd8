"""One life of a simulated process: everything that runs in it, its clock, and its end.

A process is cut off (`kill -9`, a machine without power) or paused (`SIGSTOP`, a machine that
swaps) between two steps of the event loop. From then on none of its callbacks runs: neither tasks
nor alarms, no clean-up code, and so no write to its disk either. What it has already sent is on
its way all the same. A paused process goes on where it stood, and finds that time has passed.
"""

import asyncio
import sys
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from contextvars import copy_context
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, TypeVar

from plimsoll.runtime.clock import NO_TIME, Alarm, Clock
from plimsoll.simulator.engine.loop import OWNER, LoopStep, SimulatedTask, VirtualLoop

T = TypeVar("T")


class ProcessClock(Clock):
    """The clock of one machine. Its time of day may be wrong; what it measures is right."""

    def __init__(self, loop: VirtualLoop, ahead: timedelta = NO_TIME) -> None:
        self._loop = loop
        self.ahead = ahead
        """Of the true time; negative: behind."""

    def now(self) -> datetime:
        return self._loop.now() + self.ahead

    def monotonic(self) -> float:
        return self._loop.moment

    def boottime(self) -> float:
        return self._loop.moment

    def call_later(self, delay: timedelta, callback: Callable[[], object]) -> Alarm:
        return self._loop.call_later(max(delay.total_seconds(), 0.0), callback)

    async def sleep(self, duration: timedelta) -> None:
        seconds = duration.total_seconds()
        if seconds <= 0:
            await asyncio.sleep(0)  # noqa: TID251 - one turn
            return
        loop = self._loop
        woken: asyncio.Future[None] = loop.create_future()
        alarm = loop.set_alarm(loop.moment + seconds, _wake, (woken,), None)
        try:
            await woken
        finally:
            alarm.cancel()

    def timeout(self, limit: timedelta | None) -> AbstractAsyncContextManager[object]:
        """The loop's own time is virtual already; older versions of Python need more care."""
        if sys.version_info < (3, 11, 3):
            return super().timeout(limit)
        return asyncio.timeout(None if limit is None else max(limit.total_seconds(), 0.0))


def _wake(sleeper: "asyncio.Future[None]") -> None:
    if not sleeper.done():
        sleeper.set_result(None)


FEW_TASKS = 64


class ProcessState(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"
    CUT = "cut off"


class SimulatedProcess:
    def __init__(self, loop: VirtualLoop, name: str, clock: ProcessClock | None = None) -> None:
        self.name = name
        self.clock = clock or ProcessClock(loop)
        self.state = ProcessState.RUNNING
        self.runs = True
        """Asked before every step, so it is no property."""
        self.instance = ""
        """What it calls itself in elections; empty: it takes part in none."""
        self.lease = ""
        """The lease that it has to hold before it acts, as `namespace/name`."""
        self.program: object = None
        """What runs in it, for checks from outside."""
        self._loop = loop
        self._kept: deque[LoopStep] = deque()
        self._begun: list[SimulatedTask[Any]] = []
        """Its tasks in the order in which they began, some of which have ended."""
        self._many = FEW_TASKS
        """When there are so many, those that have ended are forgotten."""
        self._parked: list[SimulatedTask[Any]] = []
        """Tasks that were cut off: kept, for else their clean-up code would run."""
        self._on_cut: dict[int, Callable[[], None]] = {}
        self._context = copy_context()
        self._context.run(OWNER.set, self)

    def __repr__(self) -> str:
        return f"<{self.name}, {self.state}>"

    @property
    def is_cut(self) -> bool:
        return self.state is ProcessState.CUT

    def keep(self, step: LoopStep) -> None:
        self._kept.append(step)

    def note(self, task: SimulatedTask[Any]) -> None:
        self._begun.append(task)
        if len(self._begun) > self._many:
            self._begun = self._tasks()
            self._many = FEW_TASKS + 2 * len(self._begun)

    def spawn(self, work: Coroutine[Any, Any, T], name: str = "") -> asyncio.Task[T]:
        """A task of this process."""
        return self._loop.create_task(work, name=name or self.name, context=self._context)

    def call(self, function: Callable[..., T], *args: Any) -> T:
        """Run a function now as this process: what it schedules belongs to the process."""
        return self._context.copy().run(function, *args)

    def when_cut(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back when the process is cut off; what is returned takes that back."""
        number = self._loop.next_number()
        self._on_cut[number] = callback
        return lambda: self._forget(number)

    def _forget(self, number: int) -> None:
        self._on_cut.pop(number, None)

    def _enter(self, state: ProcessState) -> None:
        self.state = state
        self.runs = state is ProcessState.RUNNING

    def pause(self) -> None:
        if self.runs:
            self._enter(ProcessState.PAUSED)

    def resume(self) -> None:
        if self.state is ProcessState.PAUSED:
            self._enter(ProcessState.RUNNING)
            self._give_back()

    def cut(self) -> None:
        """For good. Those at the other end of its connections notice; the process does not."""
        if self.is_cut:
            return
        self._enter(ProcessState.CUT)
        self._parked = self._tasks()
        for callback in tuple(self._on_cut.values()):
            callback()
        self._on_cut.clear()

    async def go_on(self) -> None:
        """At once, or when the process is no longer paused; never, if it is cut off."""
        if not self.runs:
            await asyncio.sleep(0)  # noqa: TID251 - one step, which the loop keeps

    async def bury(self) -> None:
        """Once nothing that it does matters any more: end the tasks of a process that was cut."""
        self.cut()
        self._enter(ProcessState.RUNNING)
        tasks = self._tasks()
        for task in tasks:
            task.cancel()
        self._give_back()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._parked = []

    def _tasks(self) -> list[SimulatedTask[Any]]:
        """Those that have not ended, in the order in which they began."""
        return [task for task in self._begun if not task.done()]

    def _give_back(self) -> None:
        kept, self._kept = self._kept, deque()
        self._loop.give_back(kept)
