"""What goes wrong, each at its time and for its time; at the end of the scenario all of it ends.

Faults of messages have a rate; faults of processes and drivers strike what they name. A name that
ends with `*` stands for one process, drawn by chance, of those whose names begin so; `leader of X`
for the copy of X that leads at that moment.
"""

from random import Random

import msgspec

from plimsoll.processes.driver.backends.pools.faults import Fail, FaultyCall, Hang, Lie, When
from plimsoll.simulator.api_host import disconnect, expire
from plimsoll.simulator.chance import seconds
from plimsoll.simulator.cluster import SimulatedCluster
from plimsoll.simulator.component import Component
from plimsoll.simulator.network import Fate
from plimsoll.simulator.process import SimulatedProcess
from plimsoll.wire.csi.fenced import HARMLESS_CALLS


class Trouble(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    rename="camel",
    tag_field="do",
):
    at: float
    """Seconds after the cluster is up."""


class Cut(Trouble, frozen=True, kw_only=True, tag="cut"):
    """`kill -9`, and a start again after `lasting` seconds."""

    what: str
    lasting: float = 5.0
    after_writes: int = 0
    """Not at once, but right after its n-th write or driver call from then on."""


class Pause(Trouble, frozen=True, kw_only=True, tag="pause"):
    what: str
    lasting: float = 20.0


class LoseZone(Trouble, frozen=True, kw_only=True, tag="loseZone"):
    """All nodes of the zone, as if without power."""

    zone: str
    lasting: float = 120.0


class LoseMessages(Trouble, frozen=True, kw_only=True, tag="loseMessages"):
    """API requests and driver calls: half of the lost ones are carried out, and not answered."""

    rate: float = 0.05
    lasting: float = 60.0


class Conflicts(Trouble, frozen=True, kw_only=True, tag="conflicts"):
    """So many of the updates are refused as if another writer had been first."""

    rate: float = 0.1
    lasting: float = 60.0


class BreakWatches(Trouble, frozen=True, kw_only=True, tag="breakWatches"):
    """Of the process that is named; all without a name."""

    what: str = ""
    expire: bool = False
    """With 410: the reader has to list again."""
    rate: float = 1.0


class DelayWatches(Trouble, frozen=True, kw_only=True, tag="delayWatches"):
    """Some watches of the process fall behind the others."""

    what: str = ""
    by: float = 10.0
    rate: float = 0.5


class DriverFails(Trouble, frozen=True, kw_only=True, tag="driverFails"):
    driver: str
    call: FaultyCall = FaultyCall.CREATE
    code: str = "RESOURCE_EXHAUSTED"
    when: When = When.BEFORE
    """`after`: it has taken effect."""
    times: int = 3


class DriverHangs(Trouble, frozen=True, kw_only=True, tag="driverHangs"):
    driver: str
    call: FaultyCall = FaultyCall.CREATE
    lasting: float = 30.0
    when: When = When.BEFORE
    times: int = 2


class DriverLies(Trouble, frozen=True, kw_only=True, tag="driverLies"):
    """It promises more capacity than it has."""

    driver: str
    factor: float = 3.0
    lasting: float = 120.0


class SkewClock(Trouble, frozen=True, kw_only=True, tag="skewClock"):
    """The wall clock of one process is wrong by so many seconds."""

    what: str
    ahead: float = 30.0


class FillDisk(Trouble, frozen=True, kw_only=True, tag="fillDisk"):
    """Of the API server: no write succeeds."""

    lasting: float = 10.0


class StartSecondScheduler(Trouble, frozen=True, kw_only=True, tag="startSecondScheduler"):
    """One that serves the same pods and elects no leader."""

    lasting: float = 120.0


AnyTrouble = (
    Cut
    | Pause
    | LoseZone
    | LoseMessages
    | Conflicts
    | BreakWatches
    | DelayWatches
    | DriverFails
    | DriverHangs
    | DriverLies
    | SkewClock
    | FillDisk
    | StartSecondScheduler
)


class FaultInjector:
    """Carries troubles out, and decides the fates of messages meanwhile."""

    def __init__(self, cluster: SimulatedCluster, chance: Random) -> None:
        self._cluster = cluster
        self._chance = chance
        self._loss = 0.0
        self._conflicts = 0.0
        self._armed: list[tuple[Component, list[int], float]] = []
        """Components to be cut after so many more messages, and for how long."""
        self._scripts: dict[str, list[Fail | Hang | Lie]] = {}
        self.counts: dict[str, int] = {}
        """Troubles that struck, by kind."""

    # What becomes of messages

    def of_request(self, sender: SimulatedProcess, method: str, path: str) -> Fate:
        del path
        if sender is self._cluster.user or method == "GET":
            return Fate.ARRIVES
        self._count_down(sender)
        if self._conflicts and method in ("PATCH", "PUT"):
            if self._chance.random() < self._conflicts:
                return Fate.CONFLICT
        return self._lost()

    def of_call(self, sender: SimulatedProcess, method: str) -> Fate:
        if method not in HARMLESS_CALLS:
            self._count_down(sender)
        return self._lost()

    def _lost(self) -> Fate:
        if self._loss and self._chance.random() < self._loss:
            return self._chance.choice((Fate.REQUEST_LOST, Fate.ANSWER_LOST))
        return Fate.ARRIVES

    def _count_down(self, sender: SimulatedProcess) -> None:
        for entry in self._armed:
            component, left, lasting = entry
            if component.life is sender:
                left[0] -= 1
                if left[0] == 0:
                    # The message arrives; its answer perhaps does not.
                    delay = self._chance.uniform(0.0, 0.02)
                    self._cluster.network.later(delay, lambda: self._cut(component, lasting))
        self._armed = [entry for entry in self._armed if entry[1][0] > 0]

    # Troubles

    def strike(self, trouble: AnyTrouble) -> None:
        name = type(trouble).__struct_config__.tag
        self.counts[str(name)] = self.counts.get(str(name), 0) + 1
        self._cluster.network.trace.add("fault", msgspec.json.encode(trouble).decode())
        match trouble:
            case Cut(what=what, lasting=lasting, after_writes=writes):
                component = self._find(what)
                if component is not None and writes:
                    self._armed.append((component, [writes], lasting))
                elif component is not None:
                    self._cut(component, lasting)
            case Pause(what=what, lasting=lasting):
                component = self._find(what)
                if component is not None:
                    component.pause()
                    self._later(lasting, component.resume)
            case LoseZone(zone=zone, lasting=lasting):
                for rack, machines in self._cluster.machines.items():
                    if machines.nodes[0].zone == zone:
                        self._cut(self._cluster.components[f"nodes {rack}"], lasting)
            case LoseMessages(rate=rate, lasting=lasting):
                self._loss = rate
                self._later(lasting, self._end_losses)
            case Conflicts(rate=rate, lasting=lasting):
                self._conflicts = rate
                self._later(lasting, self._end_conflicts)
            case BreakWatches() | DelayWatches():
                self._disturb_watches(trouble)
            case DriverFails(driver=driver, call=call, code=code, when=when, times=times):
                self._script(driver, Fail(call=call, code=code, when=when, times=times))
            case DriverHangs(driver=driver, call=call, lasting=lasting, when=when, times=times):
                self._script(driver, Hang(call=call, seconds=lasting, when=when, times=times))
            case DriverLies(driver=driver, factor=factor, lasting=lasting):
                lie = Lie(factor=factor)
                self._script(driver, lie)
                self._later(lasting, lambda: self._unscript(driver, lie))
            case SkewClock(what=what, ahead=ahead):
                component = self._find(what)
                if component is not None:
                    component.clock.ahead = seconds(ahead)
            case FillDisk(lasting=lasting):
                self._cluster.api.disk.is_full = True
                self._later(lasting, self._free_disk)
            case StartSecondScheduler(lasting=lasting):
                self._cluster.second_scheduler.start()
                self._later(lasting, self._cluster.second_scheduler.cut)

    def end_all(self) -> None:
        """From now on nothing goes wrong any more."""
        cluster = self._cluster
        self._loss = self._conflicts = 0.0
        self._armed.clear()
        self._free_disk()
        cluster.second_scheduler.cut()
        for name in cluster.drivers:
            self._scripts[name] = []
            self._apply(name)
        for component in cluster.components.values():
            component.clock.ahead = seconds(0)
            component.resume()
            component.start()

    def _later(self, lasting: float, callback: "object") -> None:
        assert callable(callback)  # noqa: S101 - every caller gives a function
        self._cluster.network.later(lasting, callback)

    def _cut(self, component: Component, lasting: float) -> None:
        component.cut()
        self._cluster.network.later(lasting, component.start)

    def _find(self, what: str) -> Component | None:
        components = self._cluster.components
        if what.startswith("leader of "):
            return self._cluster.leader(what.removeprefix("leader of "))
        if what.endswith("*"):
            names = [name for name in components if name.startswith(what[:-1])]
            return components[self._chance.choice(names)] if names else None
        return components.get(what)

    def _disturb_watches(self, trouble: BreakWatches | DelayWatches) -> None:
        for pipe in tuple(self._cluster.network.pipes.values()):
            if trouble.what and not pipe.reader.name.startswith(trouble.what.rstrip("*")):
                continue
            if self._chance.random() >= trouble.rate:
                continue
            match trouble:
                case DelayWatches(by=by):
                    pipe.hold(by * self._chance.random())
                case BreakWatches(expire=True):
                    expire(pipe)
                case BreakWatches():
                    disconnect(pipe)

    def _end_losses(self) -> None:
        self._loss = 0.0

    def _end_conflicts(self) -> None:
        self._conflicts = 0.0

    def _free_disk(self) -> None:
        self._cluster.api.disk.is_full = False

    def _script(self, driver: str, entry: Fail | Hang | Lie) -> None:
        self._scripts.setdefault(driver, []).append(entry)
        self._apply(driver)

    def _unscript(self, driver: str, entry: Lie) -> None:
        entries = self._scripts.get(driver, [])
        if entry in entries:
            entries.remove(entry)
            self._apply(driver)

    def _apply(self, driver: str) -> None:
        backend = self._cluster.drivers[driver].backend
        if backend is not None:
            backend.faults.set(*self._scripts.get(driver, ()))
