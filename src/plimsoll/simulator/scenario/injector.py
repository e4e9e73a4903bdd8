"""Makes the troubles of a scenario, and decides the fates of messages meanwhile."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random

import msgspec

from plimsoll.simulator.cluster.component import Component
from plimsoll.simulator.cluster.simulated_cluster import SimulatedCluster
from plimsoll.simulator.engine.chance import seconds
from plimsoll.simulator.engine.network import Fate, Pipe
from plimsoll.simulator.engine.process import SimulatedProcess
from plimsoll.simulator.scenario.faults import ScenarioFault, ScriptEntry
from plimsoll.wire.csi.fenced import HARMLESS_CALLS


@dataclass(slots=True, kw_only=True)
class ArmedCut:
    """A component that is to be cut after so many more messages, and for how long."""

    component: Component
    writes: int
    lasting: float


class FaultInjector:
    """Implements `faults.Faulty` and `network.Fates`."""

    def __init__(self, cluster: SimulatedCluster, chance: Random) -> None:
        self.cluster = cluster
        self.chance = chance
        self.loss = 0.0
        self.conflicts = 0.0
        self.armed: list[ArmedCut] = []
        self._scripts: dict[str, list[ScriptEntry]] = {}
        self.counts: dict[str, int] = {}
        """Troubles that struck, by kind."""

    # What becomes of messages

    def of_request(self, sender: SimulatedProcess, method: str, path: str) -> Fate:
        del path
        if sender is self.cluster.user or method == "GET":
            return Fate.ARRIVES
        self._count_down(sender)
        if method in ("PATCH", "PUT") and self.chance.random() < self.conflicts:
            return Fate.CONFLICT
        return self._lost()

    def of_call(self, sender: SimulatedProcess, method: str) -> Fate:
        if method not in HARMLESS_CALLS:
            self._count_down(sender)
        return self._lost()

    def _lost(self) -> Fate:
        if self.loss and self.chance.random() < self.loss:
            return self.chance.choice((Fate.REQUEST_LOST, Fate.ANSWER_LOST))
        return Fate.ARRIVES

    def _count_down(self, sender: SimulatedProcess) -> None:
        for armed in [each for each in self.armed if each.component.life is sender]:
            armed.writes -= 1
            if not armed.writes:
                self.armed.remove(armed)
                # The message arrives; its answer perhaps does not.
                delay = self.chance.uniform(0.0, 0.02)
                self.later(delay, partial(self.cut, armed.component, armed.lasting))

    # Troubles

    def strike(self, trouble: ScenarioFault) -> None:
        name = str(type(trouble).__struct_config__.tag)
        self.counts[name] = self.counts.get(name, 0) + 1
        self.cluster.network.trace.add("fault", msgspec.json.encode(trouble).decode())
        trouble.strike(self)

    def end_all(self) -> None:
        """From now on nothing goes wrong any more."""
        cluster = self.cluster
        self.loss = self.conflicts = 0.0
        self.armed.clear()
        self.free_disk()
        cluster.second_scheduler.cut()
        for name in cluster.drivers:
            self._scripts[name] = []
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

    def arm(self, component: Component, writes: int, lasting: float) -> None:
        """Cut it after its n-th message from now on."""
        self.armed.append(ArmedCut(component=component, writes=writes, lasting=lasting))

    def find(self, what: str) -> Component | None:
        components = self.cluster.components
        if what.startswith("leader of "):
            return self.cluster.leader(what.removeprefix("leader of "))
        if what.endswith("*"):
            names = [name for name in components if name.startswith(what[:-1])]
            return components[self.chance.choice(names)] if names else None
        return components.get(what)

    def some_watches(self, what: str, rate: float) -> list[Pipe]:
        """Of the processes whose names begin so, each with that probability."""
        return [
            pipe
            for pipe in tuple(self.cluster.network.pipes.values())
            if pipe.reader.name.startswith(what.rstrip("*")) and self.chance.random() < rate
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
