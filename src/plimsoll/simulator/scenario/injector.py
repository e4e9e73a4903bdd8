"""Makes the troubles of a scenario, and decides the fates of messages meanwhile."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random

from plimsoll.processes.driver.backends.pools.faults import FaultyCall
from plimsoll.simulator.cluster.component import Component
from plimsoll.simulator.cluster.simulated_cluster import SimulatedCluster
from plimsoll.simulator.engine.chance import seconds
from plimsoll.simulator.engine.network import Fate, Pipe
from plimsoll.simulator.engine.process import SimulatedProcess
from plimsoll.simulator.scenario.faults import (
    Cut,
    LateCalls,
    Pause,
    ScenarioFault,
    ScriptEntry,
)
from plimsoll.simulator.scenario.telling import line_of
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.fenced import HARMLESS_CALLS


@dataclass(slots=True)
class ArmedFault:
    """A component that is to be cut off, or stopped, at one of its messages."""

    component: Component
    fault: Cut | Pause
    left: int
    """So many more messages."""

    def counts(self, path: str) -> bool:
        return not self.fault.resource or f"/{self.fault.resource}" in path


@dataclass(slots=True)
class DelayedCalls:
    fault: LateCalls
    left: int


class FaultInjector:
    """Implements `faults.Faulty` and `network.Fates`."""

    def __init__(self, cluster: SimulatedCluster, chance: Random) -> None:
        self.cluster = cluster
        self.chance = chance
        self.loss = 0.0
        self.conflicts = 0.0
        self.armed: list[ArmedFault] = []
        self._late: list[DelayedCalls] = []
        self._scripts: dict[str, list[ScriptEntry]] = {}
        self.counts: dict[str, int] = {}
        """Troubles that struck, by kind."""

    # What becomes of messages

    def of_request(self, sender: SimulatedProcess, method: str, path: str) -> Fate:
        if sender is self.cluster.user or method == "GET":
            return Fate.ARRIVES
        self._count_down(sender, path)
        if method in ("PATCH", "PUT") and self.chance.random() < self.conflicts:
            return Fate.CONFLICT
        return self._lost()

    def of_call(self, sender: SimulatedProcess, method: str) -> Fate:
        if method not in HARMLESS_CALLS:
            self._count_down(sender, method)
        return self._lost()

    def lateness_of_call(self, driver: str, method: str) -> float:
        called = method.rpartition("/")[2]
        if method == methods.DELETE_NEVER_PUBLISHED.name:
            # What it is for drivers that know it; others refuse it at once.
            called = "" if self.cluster.drivers[driver].only_csi else FaultyCall.DELETE
        for late in self._late:
            if (late.fault.driver, late.fault.call) == (driver, called):
                late.left -= 1
                if not late.left:
                    self._late.remove(late)
                return late.fault.by
        return 0.0

    def _lost(self) -> Fate:
        if self.loss and self.chance.random() < self.loss:
            return self.chance.choice((Fate.REQUEST_LOST, Fate.ANSWER_LOST))
        return Fate.ARRIVES

    def _count_down(self, sender: SimulatedProcess, path: str) -> None:
        for armed in [each for each in self.armed if each.component.life is sender]:
            if not armed.counts(path):
                continue
            armed.left -= 1
            if not armed.left:
                self.armed.remove(armed)
                self._strike_armed(armed)

    def _strike_armed(self, armed: ArmedFault) -> None:
        component, lasting = armed.component, armed.fault.lasting
        if isinstance(armed.fault, Pause):
            component.pause()
            self.later(lasting, component.resume)
            return
        # The message arrives; its answer perhaps does not.
        self.later(self.chance.uniform(0.0, 0.02), partial(self.cut, component, lasting))

    # Troubles

    def strike(self, trouble: ScenarioFault) -> None:
        name = str(type(trouble).__struct_config__.tag)
        self.counts[name] = self.counts.get(name, 0) + 1
        self.cluster.network.trace.add("fault", line_of(trouble))
        trouble.strike(self)

    def end_all(self) -> None:
        """From now on nothing goes wrong any more."""
        cluster = self.cluster
        self.loss = self.conflicts = 0.0
        self.armed.clear()
        self._late.clear()
        self.free_disk()
        cluster.second_scheduler.cut()
        for name in cluster.drivers:
            cluster.put_back_provisioners(name)
            self._scripts[name] = []
            cluster.drivers[name].slow_answers.clear()
            self._apply(name)
        for component in cluster.components.values():
            component.clock.ahead = seconds(0)
            component.resume()
            component.start()

    def later(self, lasting: float, callback: Callable[[], object]) -> None:
        self.cluster.network.later(lasting, callback)

    def cut(self, component: Component, lasting: float) -> None:
        component.cut()
        self.cluster.network.later(lasting, component.start)

    def arm(self, component: Component, fault: Cut | Pause) -> None:
        """Strike at its n-th message from now on."""
        messages = fault.before_writes if isinstance(fault, Pause) else fault.after_writes
        self.armed.append(ArmedFault(component, fault, messages))

    def delay_calls(self, late: LateCalls) -> None:
        self._late.append(DelayedCalls(late, late.times))

    def find(self, what: str) -> Component | None:
        components = self.cluster.components
        if what.startswith("leader of "):
            return self.cluster.leader(what.removeprefix("leader of "))
        if what.endswith("*"):
            names = [name for name in components if name.startswith(what[:-1])]
            return components[self.chance.choice(names)] if names else None
        return components.get(what)

    def some_watches(self, what: str, rate: float, resource: str) -> list[Pipe]:
        """Of the processes whose names begin so, each with that probability."""
        return [
            pipe
            for pipe in tuple(self.cluster.network.pipes.values())
            if pipe.reader.name.startswith(what.rstrip("*"))
            and pipe.what.endswith(f"/{resource}" if resource else "")
            and self.chance.random() < rate
        ]

    def end_losses(self) -> None:
        self.loss = 0.0

    def end_conflicts(self) -> None:
        self.conflicts = 0.0

    def free_disk(self) -> None:
        self.cluster.api.disk.is_full = False

    def script(self, driver: str, entry: ScriptEntry) -> None:
        self._scripts.setdefault(driver, []).append(entry)
        self._apply(driver)

    def unscript(self, driver: str, entry: ScriptEntry) -> None:
        entries = self._scripts.get(driver, [])
        if entry in entries:
            entries.remove(entry)
            self._apply(driver)

    def _apply(self, driver: str) -> None:
        backend = self.cluster.drivers[driver].backend
        if backend is not None:
            backend.faults.set(*self._scripts.get(driver, ()))
