"""An event loop with virtual time, from which nothing escapes.

Time passes only when every task waits: then it jumps to the next alarm. So a run takes no longer
than its work, and the same program does the same steps at the same moments in every run. Whatever
would make a run depend on the machine (threads, sockets, subprocesses, signals) raises EscapeError,
also where a program goes past the loop. The run then ends with that error: a process that catches
it and goes on hides nothing.

Several processes share the loop. Every callback belongs to the process in whose context it was
scheduled, tasks and alarms alike. Before the loop runs a callback it asks its owner; a process
that is cut off or paused keeps the callback instead (`SimulatedProcess`). That is how a crash
stops a process between two steps, without any clean-up code.
"""

import asyncio
import sys
import threading
from asyncio.base_events import BaseEventLoop
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, ContextVar, copy_context
from datetime import datetime, timedelta
from functools import partial
from heapq import heappop, heappush
from typing import Any, NoReturn, Protocol, TypeVar

import msgspec

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

    def keep(self, step: "LoopStep") -> None:
        """Take a callback that may not run now."""

    def note(self, task: "SimulatedTask[Any]") -> None:
        """A task of this process begins."""


OWNER: ContextVar[Owner | None] = ContextVar("owner", default=None)
"""None: the simulation itself."""


class SimulatedTask(asyncio.Task[T]):
    """A task with a number: sets of tasks are then iterated in the same order in every run."""

    def __init__(self, coro: Coroutine[Any, Any, T], *, loop: "VirtualLoop", **rest: Any) -> None:
        self.number = loop.next_number()
        self.owner = OWNER.get() if rest["context"] is None else rest["context"].get(OWNER)
        super().__init__(coro, loop=loop, **rest)
        if self.owner is not None:
            self.owner.note(self)

    def __hash__(self) -> int:
        return self.number


class LoopStep(msgspec.Struct, eq=False):
    """A callback that waits for its turn: what asyncio calls a handle, as cheap as it can be.

    Tens of thousands are made in a minute of processor time, so it is a struct, not a class of
    Python.
    """

    callback: Callable[..., object]
    args: tuple[Any, ...]
    context: Context
    due_at: float = 0.0
    is_cancelled: bool = False

    def cancel(self) -> None:
        """It is dropped when it is due; what it refers to goes now."""
        self.is_cancelled = True
        self.callback, self.args = _nothing, ()

    def cancelled(self) -> bool:
        return self.is_cancelled

    def when(self) -> float:
        return self.due_at

    def __repr__(self) -> str:
        return f"<{getattr(self.callback, '__qualname__', self.callback)}>"


def _nothing() -> None:
    """What a cancelled step would do."""


class VirtualLoop(BaseEventLoop):
    _ready: deque[LoopStep]
    _stopping: bool
    _thread_id: int | None

    def __init__(self) -> None:
        super().__init__()
        self.moment = 0.0
        """Seconds since the simulation began; only the loop changes it."""
        self._told, self._told_at = EPOCH, 0.0
        """The last answer of `now`, and for which moment: it is asked for several times in each."""
        self._number = 0
        self._alarms: list[tuple[float, int, LoopStep]] = []
        """By due time, then in the order in which they were set."""
        self.steps = 0
        """How many callbacks have run."""
        self.is_interrupted = False
        """Set by Ctrl-C, and heeded between two turns: callbacks are never ended in the middle."""
        self.escape: EscapeError | None = None
        """The first attempt to leave the simulation; the run ends after this turn."""
        self.create_future = partial(asyncio.Future, loop=self)  # type: ignore[method-assign]
        """Without a step in Python: every sleep, message and line of a watch makes one."""

    get_debug = staticmethod(bool)
    """False, said by the fastest function there is: futures and tasks ask for it when made."""

    def time(self) -> float:
        """Seconds since the simulation began."""
        return self.moment

    def now(self) -> datetime:
        """The true time of day."""
        if self.moment != self._told_at:
            self._told, self._told_at = EPOCH + timedelta(seconds=self.moment), self.moment
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

    def give_back(self, steps: deque[LoopStep]) -> None:
        """Run callbacks that their process had kept, in their order."""
        self._ready.extend(steps)

    def call_soon(  # type: ignore[override]  # arguments of any types
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> LoopStep:
        step = LoopStep(callback, args, copy_context() if context is None else context)
        self._ready.append(step)
        return step

    def call_later(  # type: ignore[override]  # arguments of any types
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> LoopStep:
        return self.set_alarm(self.moment + delay, callback, args, context)

    def call_at(  # type: ignore[override]  # arguments of any types
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> LoopStep:
        return self.set_alarm(when, callback, args, context)

    def set_alarm(
        self,
        due_at: float,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        context: Context | None,
    ) -> LoopStep:
        """As `call_at`, which asyncio wants to have its own way."""
        step = LoopStep(callback, args, copy_context() if context is None else context, due_at)
        self._number += 1
        heappush(self._alarms, (due_at, self._number, step))
        return step

    def _run_once(self) -> None:
        """Turns, until the loop is stopped.

        In each runs everything that can run now, after a jump in time if nothing can.
        """
        ready, alarms = self._ready, self._alarms
        while not self._stopping:
            if self.is_interrupted:
                self.is_interrupted = False
                raise KeyboardInterrupt
            if self.escape is not None:
                escape, self.escape = self.escape, None
                raise escape
            if not ready:
                self._jump()
            now = self.moment
            while alarms and alarms[0][0] <= now:
                ready.append(heappop(alarms)[2])
            for _ in range(len(ready)):
                step = ready.popleft()
                if step.is_cancelled:
                    continue
                context = step.context
                owner = context.get(OWNER)
                if owner is not None and not owner.runs:
                    owner.keep(step)
                    continue
                self.steps += 1
                # What a callback raises ends the run: a bug, of the program or the simulation.
                context.run(step.callback, *step.args)

    async def idle(self) -> None:
        """Return when nothing can run at this moment of virtual time but the caller."""
        await asyncio.sleep(0)  # noqa: TID251 - a turn, not a time
        while self._ready or (self._alarms and self._alarms[0][0] <= self.moment):  # noqa: ASYNC110
            await asyncio.sleep(0)  # noqa: TID251

    def _jump(self) -> None:
        alarms = self._alarms
        while alarms and alarms[0][2].is_cancelled:
            heappop(alarms)
        if not alarms:
            raise StandstillError("every task waits, and no alarm is set")
        self.moment = max(self.moment, alarms[0][0])

    def run_forever(self) -> None:
        """The interpreter does not announce threads: each tells of itself when it begins."""
        before = threading.getprofile()
        threading.setprofile(self._thread_began)
        try:
            super().run_forever()
        finally:
            threading.setprofile(before)

    def _thread_began(self, *_: object) -> None:
        """In that thread."""
        sys.setprofile(None)
        self.escape = self.escape or EscapeError("a thread was started")

    def refuse(self, what: str) -> NoReturn:
        """Raise EscapeError, here and after this turn."""
        error = EscapeError(what)
        self.escape = self.escape or error
        raise error

    def call_soon_threadsafe(  # type: ignore[override]  # arguments of any types
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> LoopStep:
        if self._thread_id is not None and threading.get_ident() != self._thread_id:
            self.refuse("a thread called into the simulation")
        return self.call_soon(callback, *args, context=context)

    def run_in_executor(self, _executor: object, func: object, *_: object) -> NoReturn:
        self.refuse(f"{getattr(func, '__qualname__', type(func).__name__)} would run in a thread")

    async def shutdown_default_executor(self) -> None:
        """There is none."""

    def _asyncgen_firstiter_hook(self, _generator: object) -> None:
        """Other loops note every generator that begins, to end it with them: a watch has five."""


def _escape(name: str) -> Callable[..., NoReturn]:
    def raising(loop: VirtualLoop, *_: Any, **__: Any) -> NoReturn:
        loop.refuse(f"{name}: the simulation has no such thing")

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
    "sock_recv_into",
    "sock_recvfrom",
    "sock_recvfrom_into",
    "sock_sendall",
    "sock_sendfile",
    "sock_sendto",
    "start_tls",
    "subprocess_exec",
    "subprocess_shell",
)

for _name in ESCAPES:
    setattr(VirtualLoop, _name, _escape(_name))

PAST_THE_LOOP = frozenset(
    {
        "_thread.start_new_thread",
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.spawn",
        "os.system",
        "pty.spawn",
        "socket.__new__",
        "socket.bind",
        "socket.connect",
        "socket.getaddrinfo",
        "socket.gethostbyaddr",
        "socket.gethostbyname",
        "socket.getnameinfo",
        "socket.sendmsg",
        "socket.sendto",
        "subprocess.Popen",
    }
)
"""What the interpreter announces right before it does it, also when a library asks for it."""


def _audit(event: str, _arguments: tuple[object, ...]) -> None:
    """Called for every such announcement in this thread and others, most of them of imports."""
    if event not in PAST_THE_LOOP:
        return
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # none runs in this thread
        return
    if isinstance(loop, VirtualLoop):
        loop.refuse(f"{event}: the simulation has no such thing")


sys.addaudithook(_audit)


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
