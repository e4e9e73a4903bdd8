"""An event loop with virtual time, from which nothing escapes.

Time passes only when every task waits: then it jumps to the next alarm. So a run takes no longer
than its work, and the same program does the same steps at the same moments in every run. Whatever
would make a run depend on the machine (threads, sockets, subprocesses, signals) raises EscapeError.

Several processes share the loop. Every callback belongs to the process in whose context it was
scheduled, tasks and alarms alike. Before the loop runs a callback it asks its owner; a process
that is cut off or paused keeps the callback instead (`SimulatedProcess`). That is how a crash
stops a process between two steps, without any clean-up code.
"""

import asyncio
import heapq
import threading
from asyncio.base_events import BaseEventLoop
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, ContextVar, copy_context
from datetime import datetime, timedelta
from typing import Any, NoReturn, Protocol, TypeVar

from plimsoll.runtime.clock import EPOCH

T = TypeVar("T")


class EscapeError(RuntimeError):
    """The program tried to leave the simulation: its result would depend on the machine."""


class StandstillError(RuntimeError):
    """Every task waits, and no alarm is set: nothing can ever happen again."""


class Owner(Protocol):
    """The process that a callback belongs to."""

    @property
    def runs(self) -> bool: ...

    def keep(self, handle: asyncio.Handle) -> None:
        """Take a callback that may not run now."""


OWNER: ContextVar[Owner | None] = ContextVar("owner", default=None)
"""None: the simulation itself."""


class SimulatedTask(asyncio.Task[T]):
    """A task with a number: sets of tasks are then iterated in the same order in every run."""

    def __init__(self, coro: Coroutine[Any, Any, T], *, loop: "VirtualLoop", **rest: Any) -> None:
        self.number = loop.next_number()
        self.owner = OWNER.get() if rest["context"] is None else rest["context"].get(OWNER)
        super().__init__(coro, loop=loop, **rest)

    def __hash__(self) -> int:
        return self.number


class VirtualLoop(BaseEventLoop):
    _ready: deque[asyncio.Handle]
    _thread_id: int | None

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        self._told, self._told_at = EPOCH, 0.0
        """The last answer of `now`, and for which moment: it is asked for several times in each."""
        self._number = 0
        self._alarms: list[tuple[float, int, asyncio.TimerHandle]] = []
        """By due time, then in the order in which they were set."""
        self.steps = 0
        """How many callbacks have run."""

    def time(self) -> float:
        """Seconds since the simulation began."""
        return self._now

    def now(self) -> datetime:
        """The true time of day."""
        if self._now != self._told_at:
            self._told, self._told_at = EPOCH + timedelta(seconds=self._now), self._now
        return self._told

    def next_number(self) -> int:
        self._number += 1
        return self._number

    def create_task(
        self,
        coro: Coroutine[Any, Any, T] | Generator[Any, None, T],
        *,
        name: object = None,
        context: Context | None = None,
    ) -> asyncio.Task[T]:
        assert asyncio.iscoroutine(coro)  # noqa: S101 - a generator is no coroutine any more
        named = str(name) if name is not None else "task"
        return SimulatedTask(coro, loop=self, name=named, context=context)

    def give_back(self, handles: deque[asyncio.Handle]) -> None:
        """Run callbacks that their process had kept, in their order."""
        self._ready.extend(handles)

    def call_soon(  # type: ignore[override]  # arguments of any types
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Without the checks of the loop that this one extends, which double its cost."""
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_at(  # type: ignore[override]  # arguments of any types
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        alarm = asyncio.TimerHandle(when, callback, args, self, context)
        self._number += 1
        heapq.heappush(self._alarms, (when, self._number, alarm))
        return alarm

    def _run_once(self) -> None:
        """One turn: everything that can run now, after a jump in time if nothing can."""
        ready, alarms = self._ready, self._alarms
        if not ready:
            self._jump()
        now = self._now
        while alarms and alarms[0][0] <= now:
            ready.append(heapq.heappop(alarms)[2])
        for _ in range(len(ready)):
            handle = ready.popleft()
            if handle._cancelled:  # noqa: SLF001 - as in the loop that this one extends
                continue
            owner = handle._context.get(OWNER)  # type: ignore[attr-defined]  # noqa: SLF001
            if owner is not None and not owner.runs:
                owner.keep(handle)
                continue
            self.steps += 1
            handle._run()  # noqa: SLF001

    async def idle(self) -> None:
        """Return when nothing can run at this moment of virtual time but the caller."""
        await asyncio.sleep(0)  # noqa: TID251 - a turn, not a time
        while self._ready or (self._alarms and self._alarms[0][0] <= self._now):  # noqa: ASYNC110
            await asyncio.sleep(0)  # noqa: TID251

    def _jump(self) -> None:
        alarms = self._alarms
        while alarms and alarms[0][2]._cancelled:  # noqa: SLF001
            heapq.heappop(alarms)
        if not alarms:
            raise StandstillError("every task waits, and no alarm is set")
        self._now = max(self._now, alarms[0][0])

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Cancelled alarms are dropped when they are due."""

    def call_soon_threadsafe(  # type: ignore[override]  # arguments of any types
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        if self._thread_id is not None and threading.get_ident() != self._thread_id:
            raise EscapeError("a thread called into the simulation")
        return self.call_soon(callback, *args, context=context)

    def run_in_executor(self, _executor: object, func: object, *_: object) -> NoReturn:
        raise EscapeError(f"{getattr(func, '__qualname__', func)} would run in a thread")

    async def shutdown_default_executor(self) -> None:
        """There is none."""


def _escape(name: str) -> Callable[..., NoReturn]:
    def raising(*_: Any, **__: Any) -> NoReturn:
        raise EscapeError(f"{name}: the simulation has no such thing")

    return raising


ESCAPES = (
    "add_reader",
    "add_signal_handler",
    "add_writer",
    "connect_accepted_socket",
    "connect_read_pipe",
    "connect_write_pipe",
    "create_connection",
    "create_datagram_endpoint",
    "create_server",
    "create_unix_connection",
    "create_unix_server",
    "getaddrinfo",
    "getnameinfo",
    "sendfile",
    "sock_accept",
    "sock_connect",
    "sock_recv",
    "sock_sendall",
    "subprocess_exec",
    "subprocess_shell",
)

for _name in ESCAPES:
    setattr(VirtualLoop, _name, _escape(_name))


def run_virtually(main: Callable[[VirtualLoop], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine to its end in a loop of its own, from time zero."""
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(main(loop))
    finally:
        loop.close()


def unowned_context() -> Context:
    """A context whose callbacks belong to the simulation, also if a process schedules them."""
    context = copy_context()
    context.run(OWNER.set, None)
    return context
