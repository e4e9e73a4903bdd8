"""What lies between the processes: messages that take time, get lost, and outlive their sender.

Every message has a latency of its own, drawn from the seed. What a process has sent arrives even
if the process is cut off or paused meanwhile; the receiver owns the work that a message asks for.
An answer reaches a process when the process runs again. Faults are injected here: the simulation
gives each exchange a fate (`Fate`).
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextvars import Context
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import Any, Generic, Protocol, TypeVar

from plimsoll.simulator.engine.loop import LoopStep, VirtualLoop, unowned_context
from plimsoll.simulator.engine.process import SimulatedProcess
from plimsoll.simulator.engine.trace import Trace

T = TypeVar("T")


class Fate(StrEnum):
    """What becomes of an exchange."""

    ARRIVES = "arrives"
    REQUEST_LOST = "request lost"
    """The receiver never sees it; the sender cannot know that."""
    ANSWER_LOST = "answer lost"
    """The receiver has done what it was asked for; the sender is not told."""
    CONFLICT = "conflict"
    """Refused, as if another writer had been first."""


class Fates(Protocol):
    """Decides what becomes of messages; the faults of a scenario implement it."""

    def of_request(self, sender: SimulatedProcess, method: str, path: str) -> Fate: ...

    def of_call(self, sender: SimulatedProcess, method: str) -> Fate: ...

    def lateness_of_call(self, driver: str, method: str) -> float:
        """For how many seconds more than usual the call is on its way. If that is longer than its
        sender waits, it is carried out after its time-out."""
        ...


class NoFaults:
    def of_request(self, sender: SimulatedProcess, method: str, path: str) -> Fate:
        del sender, method, path
        return Fate.ARRIVES

    def of_call(self, sender: SimulatedProcess, method: str) -> Fate:
        del sender, method
        return Fate.ARRIVES

    def lateness_of_call(self, driver: str, method: str) -> float:
        del driver, method
        return 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Of a message one way, in seconds."""

    least: float = 0.0002
    usual: float = 0.002
    """Nine in ten are below this, evenly spread."""
    most: float = 0.05

    def drawn(self, chance: Random) -> float:
        part = chance.random()
        if part < 0.9:  # noqa: PLR2004 - nine in ten
            return self.least + (self.usual - self.least) * part / 0.9
        return self.usual + (self.most - self.usual) * (part - 0.9) * 10


NO_LATENCY = Latency(least=0.0, usual=0.0, most=0.0)


@dataclass(slots=True, kw_only=True)
class Network:
    loop: VirtualLoop
    chance: Random
    trace: Trace
    latency: Latency = field(default_factory=Latency)
    fates: Fates = field(default_factory=NoFaults)
    context: Context = field(default_factory=unowned_context)
    """Of what belongs to no process."""
    pipes: "dict[int, Pipe]" = field(default_factory=dict)
    """Watches that are open, by number."""

    def after_delay(self, callback: Callable[..., object], *args: Any) -> None:
        """Call back at the other end."""
        due_at = self.loop.moment + self.latency.drawn(self.chance)
        self.loop.set_alarm(due_at, callback, args, self.context)

    def later(self, seconds: float, callback: Callable[..., object]) -> LoopStep:
        return self.loop.set_alarm(self.loop.moment + seconds, callback, (), self.context)


class Failures(Protocol):
    """How the sender is told that there is no answer."""

    def refused(self, said: str, /) -> Exception:
        """The receiver cannot have seen the message."""

    def unknown(self, said: str, /) -> Exception:
        """It may have."""

    def late(self) -> Exception:
        """The time for the answer is over."""


LOST_AFTER_SECONDS = 1.0
"""A broken connection is noticed after this time."""


class Exchange(Generic[T]):
    """One message and its answer. Begun by `send`, which does not wait."""

    def __init__(
        self,
        network: Network,
        receive: "Callable[[], asyncio.Future[T] | None]",
        receiver: Callable[[], SimulatedProcess | None],
        failures: Failures,
    ) -> None:
        """`receive` is called on arrival, and starts the work in the receiver's process; None:
        there is no receiver."""
        self._network = network
        self._receive = receive
        self._receiver = receiver
        self._failures = failures
        self.answer: asyncio.Future[T] = network.loop.create_future()
        self._timer: LoopStep | None = None
        self._work: asyncio.Future[T] | None = None
        self._forget: Callable[[], None] | None = None
        self._fate = Fate.ARRIVES

    def send(self, fate: Fate, within: float, late_by: float = 0.0) -> None:
        self._fate = fate
        self._timer = self._network.later(within, self._expire)
        if fate is Fate.REQUEST_LOST:
            lost = self._failures.unknown("the connection broke")
            self._network.later(LOST_AFTER_SECONDS, lambda: self._fail(lost))
        elif late_by:
            self._network.later(late_by, self._arrive)
        else:
            self._network.after_delay(self._arrive)

    def end(self) -> None:
        """The sender waits no longer."""
        if self._timer is not None:
            self._timer.cancel()

    def abandon(self) -> None:
        """The sender went away before the answer came: some receivers stop their work then."""
        if self._work is not None and not self._work.done():
            self._work.cancel()

    def _arrive(self) -> None:
        work = self._receive()
        receiver = self._receiver()
        if work is None or receiver is None:
            self._network.after_delay(self._fail, self._failures.refused("connection refused"))
            return
        self._work = work
        self._forget = receiver.when_cut(self._receiver_gone)
        work.add_done_callback(self._served, context=self._network.context)

    def _served(self, work: "asyncio.Future[T]") -> None:
        if self._forget is not None:
            self._forget()
        if work.cancelled():
            self._network.after_delay(self._fail, self._failures.unknown("the connection broke"))
        elif (error := work.exception()) is not None:
            self._network.after_delay(self._fail, error)
        elif self._fate is Fate.ANSWER_LOST:
            lost = self._failures.unknown("the connection broke")
            self._network.later(LOST_AFTER_SECONDS, lambda: self._fail(lost))
        else:
            self._network.after_delay(self._deliver, work.result())

    def _receiver_gone(self) -> None:
        gone = self._failures.unknown("the other end went away")
        self._network.after_delay(self._fail, gone)

    def _expire(self) -> None:
        self._fail(self._failures.late())
        self.abandon()

    def _deliver(self, result: T) -> None:
        if not self.answer.done():
            self.answer.set_result(result)

    def _fail(self, error: BaseException) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)
            self.answer.exception()  # seen: perhaps the sender waits no more


AFTER_SECONDS = 1e-6
"""Between two lines of a pipe: alarms for the same moment go off in any order."""


class Pipe:
    """One way of a watch: lines arrive in their order, each after a latency of its own."""

    def __init__(self, network: Network, reader: SimulatedProcess, what: str) -> None:
        self._network = network
        self.reader = reader
        self.what = what
        self.number = network.loop.next_number()
        self.is_mute = False
        """Whether what is sent never arrives; the reader is not told."""
        self._due = 0.0
        self._lines: list[bytes] = []
        self._error: Exception | None = None
        self._is_over = False
        self._changed: asyncio.Future[None] | None = None
        self.on_close: Callable[[], None] = lambda: None
        """Called when the reader has gone away, at the writer's end."""
        network.pipes[self.number] = self
        self._forget = reader.when_cut(self.close)

    def send(self, line: bytes) -> None:
        if not self.is_mute:
            self._at_the_end(self._arrive, line)

    def finish(self, error: Exception | None = None) -> None:
        """After the lines that are under way."""
        self._at_the_end(self._end, error)

    def hold(self, seconds: float) -> None:
        """Whatever is sent from now on arrives so much later."""
        self._due = max(self._due, self._network.loop.time()) + seconds

    def close(self) -> None:
        """The reader goes away; the writer notices a little later."""
        if self._network.pipes.pop(self.number, None) is not None:
            self._forget()
            self._network.after_delay(self.on_close)

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """Each line as it arrives, to the end. Raises what broke the pipe."""
        while True:
            while not self._lines:
                if self._is_over:
                    if self._error is not None:
                        raise self._error
                    return
                self._changed = self._network.loop.create_future()
                await self._changed
            arrived, self._lines = self._lines, []
            for line in arrived:
                yield line

    def _at_the_end(self, happen: Callable[[T], None], what: T) -> None:
        network = self._network
        loop, after = network.loop, self._due + AFTER_SECONDS
        arrival = loop.moment + network.latency.drawn(network.chance)
        self._due = arrival if arrival > after else after  # noqa: FURB136 - for every line
        loop.set_alarm(self._due, happen, (what,), network.context)

    def _arrive(self, line: bytes) -> None:
        self._lines.append(line)
        changed = self._changed
        if changed is not None:
            self._changed = None
            if not changed.done():
                changed.set_result(None)

    def _end(self, error: Exception | None) -> None:
        self._is_over, self._error = True, error
        self._wake()

    def _wake(self) -> None:
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)
