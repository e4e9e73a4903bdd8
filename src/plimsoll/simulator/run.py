"""One scenario from beginning to end, and what came of it.

First the cluster comes up. Then users and faults do what the scenario says, each at its time. Then
all faults end, and the cluster has a bounded time to settle. The same scenario gives the same
verdict and the same trace, byte for byte, in every process.
"""

import asyncio
import gc
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.judge import Rejected
from plimsoll.decide.scheduling.kernel import Kernel
from plimsoll.processes.scheduler.main import SchedulerProcess
from plimsoll.simulator.cluster.mirror import NODES
from plimsoll.simulator.cluster.simulated_cluster import SimulatedCluster, simulated_cluster
from plimsoll.simulator.engine.chance import derived, seconds
from plimsoll.simulator.engine.logs import logged
from plimsoll.simulator.engine.loop import VirtualLoop
from plimsoll.simulator.engine.network import Network
from plimsoll.simulator.engine.trace import Trace
from plimsoll.simulator.invariants import Invariant, Violation, Watchdog
from plimsoll.simulator.scenario.actions import AnyAction, ClusterUser
from plimsoll.simulator.scenario.faults import AnyFault
from plimsoll.simulator.scenario.injector import FaultInjector
from plimsoll.simulator.scenario.scenario import Scenario
from plimsoll.simulator.settled import Unsettled, unsettled

COMING_UP_SECONDS = 60.0
LOOK_SECONDS = 15.0
COLLECT_SECONDS = 120.0
MOST_PODS = 200
"""So many are judged twice at each look: a cluster has thousands of them, on thousands of nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunVerdict:
    seed: int
    violations: tuple[Violation, ...]
    digest: str
    virtual_seconds: float
    steps: int
    faults: dict[str, int]
    """Troubles that struck, by kind."""
    lines: tuple[str, ...] = ()

    @property
    def unknown(self) -> tuple[Violation, ...]:
        """Violations that are not there by design."""
        return tuple(each for each in self.violations if not each.is_known)


class Observer(Protocol):
    """Looks on, and changes nothing: a run is the same with and without."""

    def attach(self, cluster: SimulatedCluster) -> None:
        """Before the cluster starts."""

    def begin(self) -> None:
        """The cluster is up: what the scenario says begins to happen."""

    def happened(self, event: AnyAction | AnyFault) -> None: ...

    def end(self) -> None: ...


class NoObserver:
    def attach(self, cluster: SimulatedCluster) -> None: ...

    def begin(self) -> None: ...

    def happened(self, event: AnyAction | AnyFault) -> None: ...

    def end(self) -> None: ...


NO_OBSERVER = NoObserver()


def run_scenario(
    scenario: Scenario, *, keeps_lines: bool = False, observer: Observer = NO_OBSERVER
) -> RunVerdict:
    loop = VirtualLoop()
    with _collecting_at_fixed_steps():
        try:
            work = _play(loop, scenario, observer, keeps_lines=keeps_lines)
            return loop.run_until_complete(work)
        finally:
            loop.close()


@contextmanager
def _collecting_at_fixed_steps() -> Iterator[None]:
    """The garbage collector runs when the simulation says so: what it finds may have effects."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
        gc.collect()


async def _play(
    loop: VirtualLoop, scenario: Scenario, observer: Observer, *, keeps_lines: bool
) -> RunVerdict:
    chance = Random(scenario.seed)  # noqa: S311 - chance of a simulation
    trace = Trace(loop.time, keeps_lines=keeps_lines)
    network = Network(loop=loop, chance=derived(chance), trace=trace)
    with logged(trace) if keeps_lines else nullcontext():
        return await _played(network, scenario, chance, observer)


async def _played(
    network: Network, scenario: Scenario, chance: Random, observer: Observer
) -> RunVerdict:
    loop, trace = network.loop, network.trace
    async with simulated_cluster(scenario.cluster, network, chance) as cluster:
        play = Play(cluster, scenario, derived(chance), observer)
        await play.through()
        return RunVerdict(
            seed=scenario.seed,
            violations=tuple(play.watchdog.collect()),
            digest=trace.digest,
            virtual_seconds=loop.time(),
            steps=loop.steps,
            faults=play.faults.counts,
            lines=tuple(trace.lines),
        )


@dataclass(slots=True)
class Play:
    cluster: SimulatedCluster
    scenario: Scenario
    chance: Random
    observer: Observer = NO_OBSERVER
    watchdog: Watchdog = field(init=False)
    faults: FaultInjector = field(init=False)

    def __post_init__(self) -> None:
        self.watchdog = Watchdog(self.cluster)
        self.faults = FaultInjector(self.cluster, self.chance)
        self.observer.attach(self.cluster)

    async def through(self) -> None:
        collecting = asyncio.ensure_future(self._collect())
        try:
            await self._come_up()
            self.observer.begin()
            await self._happen()
            self.faults.end_all()
            self._trace("simulation", "all faults have ended")
            await self._settle()
            self.observer.end()
        finally:
            collecting.cancel()

    async def _come_up(self) -> None:
        await self.cluster.start()
        loop = self.cluster.network.loop
        while loop.time() < COMING_UP_SECONDS and not self._is_up():
            await self._sleep(1.0)

    def _is_up(self) -> bool:
        nodes = self.cluster.mirror.objects[NODES].values()
        ready = [node for node in nodes if not (node["spec"].get("taints"))]
        return len(ready) == len(self.cluster.shape.nodes)

    async def _happen(self) -> None:
        self.cluster.network.fates = self.faults
        user = ClusterUser(self.cluster)
        began = self.cluster.network.loop.time()
        events: list[AnyAction | AnyFault] = [*self.scenario.actions, *self.scenario.faults]
        acting: list[asyncio.Task[None]] = []
        for event in sorted(events, key=lambda each: each.at):
            await self._sleep_until(began + event.at)
            self.observer.happened(event)
            if isinstance(event, AnyAction):
                self._trace("user", str(event))
                acting.append(self.cluster.user.spawn(event.carry_out(user)))
            else:
                self.faults.strike(event)
        await self._sleep_until(began + self.scenario.lasting)
        for task in acting:
            if task.done():
                task.result()

    async def _settle(self) -> None:
        """Until nothing is left to do; what is left in the end is a violation."""
        end = self.cluster.network.loop.time() + self.scenario.settling
        left: list[Unsettled] = []
        while self.cluster.network.loop.time() < end:
            await self._sleep(LOOK_SECONDS)
            self._check_columns()
            left = await unsettled(self.cluster)
            if all(each.is_known for each in left):
                break
        for each in left:
            self.watchdog.add(each.invariant, each.message, is_known=each.is_known)

    def _check_columns(self) -> None:
        """What the leading scheduler judges by is what a scheduler that starts now would have."""
        component = self.cluster.leader("scheduler")
        program = None if component is None or component.life is None else component.life.program
        if not isinstance(program, SchedulerProcess) or program.scheduler is None:
            return
        scheduler = program.scheduler
        if not scheduler.is_synced:
            return
        stores = scheduler.state.stores
        rebuilt = Kernel(Columns.of(stores.believed()), scheduler.kernel.settings)
        pods = [*stores.pods.snapshot().objects.values()]
        for pod in pods[:: len(pods) // MOST_PODS + 1]:
            if _flags(scheduler.kernel, pod) != _flags(rebuilt, pod):
                message = f"pod {pod.key} is judged otherwise by columns that are made anew"
                self.watchdog.add(Invariant.COLUMNS_EQUAL_REBUILD, message)

    async def _collect(self) -> None:
        while True:
            await self._sleep(COLLECT_SECONDS)
            gc.collect()

    async def _sleep_until(self, moment: float) -> None:
        await self._sleep(max(moment - self.cluster.network.loop.time(), 0.0))

    async def _sleep(self, duration: float) -> None:
        await self.cluster.user.clock.sleep(seconds(duration))

    def _trace(self, who: str, what: str) -> None:
        self.cluster.network.trace.add(who, what)


def _flags(kernel: Kernel, pod: Pod) -> dict[str, int] | Rejected:
    """Why each node is refused, zero where it would do."""
    judged = kernel.judge(pod)
    if isinstance(judged, Rejected):
        return judged
    names = enumerate(kernel.columns.index.names)
    return {name: int(judged.flags[slot]) for slot, name in names if name}
