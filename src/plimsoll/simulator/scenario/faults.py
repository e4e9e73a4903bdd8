"""What goes wrong, each at its time and for its time; at the end of the scenario all of it ends.

Faults of messages have a rate; faults of processes and drivers strike what they name. A name that
ends with `*` stands for one process, drawn by chance, of those whose names begin so; `leader of X`
for the copy of X that leads at that moment.
"""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Protocol

import msgspec

from plimsoll.processes.driver.backends.pools.faults import Fail, FaultyCall, Hang, Lie, When
from plimsoll.simulator.cluster.api_host import disconnect, expire
from plimsoll.simulator.cluster.component import Component
from plimsoll.simulator.cluster.driver_host import Question, SlowAnswer
from plimsoll.simulator.cluster.simulated_cluster import SimulatedCluster
from plimsoll.simulator.engine.chance import seconds
from plimsoll.simulator.engine.network import Pipe

ScriptEntry = Fail | Hang | Lie


class Faulty(Protocol):
    """What troubles are made with: `injector.FaultInjector`."""

    cluster: SimulatedCluster
    chance: Random
    loss: float
    """Of messages, how many in one are lost."""
    conflicts: float
    """Of updates, how many in one are refused."""

    def find(self, what: str) -> Component | None: ...

    def later(self, lasting: float, callback: Callable[[], object]) -> None: ...

    def cut(self, component: Component, lasting: float) -> None: ...

    def arm(self, component: Component, fault: "Cut | Pause") -> None: ...

    def delay_calls(self, late: "LateCalls") -> None: ...

    def some_watches(self, what: str, rate: float, resource: str) -> list[Pipe]: ...

    def script(self, driver: str, entry: ScriptEntry) -> None: ...

    def unscript(self, driver: str, entry: ScriptEntry) -> None: ...

    def end_losses(self) -> None: ...

    def end_conflicts(self) -> None: ...

    def free_disk(self) -> None: ...


class ScenarioFault(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    rename="camel",
    tag_field="do",
):
    at: float
    """Seconds after the cluster is up."""

    def strike(self, faults: "Faulty") -> None:
        """Begin, and see to it that it ends in time."""
        raise NotImplementedError


class Cut(ScenarioFault, frozen=True, kw_only=True, tag="cut"):
    """`kill -9`, and a start again after `lasting` seconds."""

    what: str
    lasting: float = 5.0
    after_writes: int = 0
    """Not at once, but right after its n-th write or driver call from then on."""
    resource: str = ""
    """Count only writes of this resource, such as `leases`."""

    def strike(self, faults: "Faulty") -> None:
        component = faults.find(self.what)
        if component is None:
            return
        if self.after_writes:
            faults.arm(component, self)
        else:
            faults.cut(component, self.lasting)


class Pause(ScenarioFault, frozen=True, kw_only=True, tag="pause"):
    what: str
    lasting: float = 20.0
    before_writes: int = 0
    """Not at once, but when its n-th write or driver call from then on is permitted and not yet
    sent: that is sent when the process goes on, perhaps after its lease has ended."""
    resource: str = ""
    """Count only writes of this resource, such as `leases`."""

    def strike(self, faults: "Faulty") -> None:
        component = faults.find(self.what)
        if component is None:
            return
        if self.before_writes:
            faults.arm(component, self)
        else:
            component.pause()
            faults.later(self.lasting, component.resume)


class LoseZone(ScenarioFault, frozen=True, kw_only=True, tag="loseZone"):
    """All nodes of the zone, as if without power."""

    zone: str
    lasting: float = 120.0

    def strike(self, faults: "Faulty") -> None:
        for component in faults.cluster.in_zone(self.zone):
            faults.cut(component, self.lasting)


class LoseMessages(ScenarioFault, frozen=True, kw_only=True, tag="loseMessages"):
    """API requests and driver calls: half of the lost ones are carried out, and not answered."""

    rate: float = 0.05
    lasting: float = 60.0

    def strike(self, faults: "Faulty") -> None:
        faults.loss = self.rate
        faults.later(self.lasting, faults.end_losses)


class Conflicts(ScenarioFault, frozen=True, kw_only=True, tag="conflicts"):
    """So many of the updates are refused as if another writer had been first."""

    rate: float = 0.1
    lasting: float = 60.0

    def strike(self, faults: "Faulty") -> None:
        faults.conflicts = self.rate
        faults.later(self.lasting, faults.end_conflicts)


class BreakWatches(ScenarioFault, frozen=True, kw_only=True, tag="breakWatches"):
    """Of the process that is named; all without a name."""

    what: str = ""
    resource: str = ""
    """Such as `persistentvolumes`; empty: of all resources."""
    expire: bool = False
    """With 410: the reader has to list again."""
    rate: float = 1.0
    lasting: float = 0.0
    """For so long before they end, nothing that they are sent arrives."""

    def strike(self, faults: "Faulty") -> None:
        end = expire if self.expire else disconnect
        for pipe in faults.some_watches(self.what, self.rate, self.resource):
            if self.lasting:
                pipe.is_mute = True
                faults.later(self.lasting, partial(end, pipe))
            else:
                end(pipe)


class DelayWatches(ScenarioFault, frozen=True, kw_only=True, tag="delayWatches"):
    """Some watches of the process fall behind the others."""

    what: str = ""
    resource: str = ""
    """Such as `persistentvolumes`; empty: of all resources."""
    by: float = 10.0
    rate: float = 0.5

    def strike(self, faults: "Faulty") -> None:
        for pipe in faults.some_watches(self.what, self.rate, self.resource):
            pipe.hold(self.by * faults.chance.random())


class DriverFails(ScenarioFault, frozen=True, kw_only=True, tag="driverFails"):
    driver: str
    call: FaultyCall = FaultyCall.CREATE
    code: str = "RESOURCE_EXHAUSTED"
    when: When = When.BEFORE
    """`after`: it has taken effect."""
    times: int = 3

    def strike(self, faults: "Faulty") -> None:
        failing = Fail(call=self.call, code=self.code, when=self.when, times=self.times)
        faults.script(self.driver, failing)


class DriverHangs(ScenarioFault, frozen=True, kw_only=True, tag="driverHangs"):
    driver: str
    call: FaultyCall = FaultyCall.CREATE
    lasting: float = 30.0
    when: When = When.BEFORE
    times: int = 2

    def strike(self, faults: "Faulty") -> None:
        hanging = Hang(call=self.call, seconds=self.lasting, when=self.when, times=self.times)
        faults.script(self.driver, hanging)


class LateCalls(ScenarioFault, frozen=True, kw_only=True, tag="lateCalls"):
    """Calls are on their way for so long, and are carried out then, whatever their sender has
    decided meanwhile: it waits ten seconds for an answer."""

    driver: str
    call: FaultyCall = FaultyCall.DELETE
    by: float = 30.0
    times: int = 1

    def strike(self, faults: "Faulty") -> None:
        faults.delay_calls(self)


class SlowAnswers(ScenarioFault, frozen=True, kw_only=True, tag="slowAnswers"):
    """Questions about capacity are answered at once, by what is true then, and the answers are on
    their way for so long."""

    driver: str
    call: Question = Question.POOLS
    by: float = 5.0
    times: int = 1

    def strike(self, faults: "Faulty") -> None:
        slow = faults.cluster.drivers[self.driver].slow_answers
        slow += [SlowAnswer(self.call, self.by)] * self.times


class LeadByCsiProvisioner(ScenarioFault, frozen=True, kw_only=True, tag="leadByCsiProvisioner"):
    """All copies of the provisioner end, and csi-provisioner is in their place for a time. It knows
    no intents and ignores holds."""

    driver: str
    lasting: float = 120.0

    def strike(self, faults: "Faulty") -> None:
        for component in faults.cluster.provisioners(self.driver):
            component.cut()
            component.is_replaced = True
        faults.cluster.stock_provisioners[self.driver].start()
        faults.later(self.lasting, lambda: faults.cluster.put_back_provisioners(self.driver))


class DriverLies(ScenarioFault, frozen=True, kw_only=True, tag="driverLies"):
    """It promises more capacity than it has."""

    driver: str
    factor: float = 3.0
    lasting: float = 120.0

    def strike(self, faults: "Faulty") -> None:
        lie = Lie(factor=self.factor)
        faults.script(self.driver, lie)
        faults.later(self.lasting, lambda: faults.unscript(self.driver, lie))


class SkewClock(ScenarioFault, frozen=True, kw_only=True, tag="skewClock"):
    """The wall clock of one process is wrong by so many seconds."""

    what: str
    ahead: float = 30.0

    def strike(self, faults: "Faulty") -> None:
        component = faults.find(self.what)
        if component is not None:
            component.clock.ahead = seconds(self.ahead)


class FillDisk(ScenarioFault, frozen=True, kw_only=True, tag="fillDisk"):
    """Of the API server: no write succeeds."""

    lasting: float = 10.0

    def strike(self, faults: "Faulty") -> None:
        faults.cluster.api.disk.is_full = True
        faults.later(self.lasting, faults.free_disk)


class StartSecondScheduler(ScenarioFault, frozen=True, kw_only=True, tag="startSecondScheduler"):
    """One that serves the same pods and elects no leader."""

    lasting: float = 120.0

    def strike(self, faults: "Faulty") -> None:
        faults.cluster.second_scheduler.start()
        faults.later(self.lasting, faults.cluster.second_scheduler.cut)


AnyFault = (
    Cut
    | Pause
    | LoseZone
    | LoseMessages
    | Conflicts
    | BreakWatches
    | DelayWatches
    | DriverFails
    | DriverHangs
    | LateCalls
    | SlowAnswers
    | LeadByCsiProvisioner
    | DriverLies
    | SkewClock
    | FillDisk
    | StartSecondScheduler
)
