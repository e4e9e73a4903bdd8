"""Processes that are started again when they end, as a supervisor or kubelet does it.

A component has one life after the other. Some endings are part of the plan (a leadership that was
lost, a server or driver that was not there at the start); every other one is a bug of the program,
and is kept for the verdict of the run.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from random import Random
from typing import Any

from plimsoll.enact.leading import LeadershipLostError
from plimsoll.processes.provisioner.clients import DriverLostError
from plimsoll.simulator.engine.chance import derived
from plimsoll.simulator.engine.loop import LoopStep
from plimsoll.simulator.engine.network import Network
from plimsoll.simulator.engine.process import ProcessClock, SimulatedProcess
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.errors import KubeError

EXPECTED = (LeadershipLostError, DriverLostError, DriverError, KubeError)
RESTART_SECONDS = (1.0, 3.0)
"""How long it takes until the supervisor has started a process again."""

Work = Coroutine[Any, Any, None]
Begin = Callable[["SimulatedProcess", Random], Work]
"""One life: the process that it runs in, and its source of chance."""


class Component:
    def __init__(self, network: Network, name: str, begin: Begin, chance: Random) -> None:
        self.name = name
        self.clock = ProcessClock(network.loop)
        self.life: SimulatedProcess | None = None
        """None while it is down."""
        self.is_replaced = False
        """Whether another program is in its place: it does not start then."""
        self.lives: list[SimulatedProcess] = []
        self.bugs: list[BaseException] = []
        self._network = network
        self._begin = begin
        self._chance = chance
        self._restart: LoopStep | None = None
        self._task: asyncio.Task[None] | None = None
        """Event loops do not keep their tasks."""

    @property
    def is_up(self) -> bool:
        return self.life is not None

    def start(self) -> None:
        """Harmless when it runs."""
        if self.life is not None or self.is_replaced:
            return
        life = SimulatedProcess(self._network.loop, self.name, self.clock)
        self.life = life
        self.lives.append(life)
        self._network.trace.add(self.name, f"started, life {len(self.lives)}")
        chance = derived(self._chance)
        task = life.call(self._network.loop.create_task, self._begin(life, chance))
        self._task = task
        task.add_done_callback(
            lambda ended: self._ended(life, ended), context=self._network.context
        )

    def cut(self) -> None:
        """Until it is started again."""
        if self._restart is not None:
            self._restart.cancel()
        if self.life is not None:
            self._network.trace.add(self.name, "cut off")
            self.life.cut()
            self.life = None

    def pause(self) -> None:
        if self.life is not None and self.life.runs:
            self._network.trace.add(self.name, "paused")
            self.life.pause()

    def resume(self) -> None:
        if self.life is not None and not self.life.runs:
            self._network.trace.add(self.name, "resumed")
            self.life.resume()

    def _ended(self, life: SimulatedProcess, task: "asyncio.Task[None]") -> None:
        if life is not self.life or task.cancelled():
            return
        error = task.exception()
        told = "without a reason" if error is None else f"{type(error).__name__}: {error}"
        self._network.trace.add(self.name, f"ended: {told}")
        if error is not None:
            self.bugs += bugs_in(error)
        life.cut()
        self.life = None
        delay = self._chance.uniform(*RESTART_SECONDS)
        self._restart = self._network.later(delay, self.start)

    async def bury(self) -> None:
        self.cut()
        for life in self.lives:
            await life.bury()


def bugs_in(error: BaseException) -> Iterator[BaseException]:
    """What is no way for a process to end that works as it should; of a group, each by itself."""
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from bugs_in(each)
    elif not isinstance(error, EXPECTED):
        yield error
