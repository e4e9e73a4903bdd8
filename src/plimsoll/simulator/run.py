"""One scenario from beginning to end, and what came of it.

First the cluster comes up. Then users and faults do what the scenario says, each at its time. Then
all faults end, and the cluster has a bounded time to settle. The same scenario gives the same
verdict and the same trace, byte for byte, in every process.
"""

import asyncio
import gc
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.kernel import Kernel
from plimsoll.decide.scheduling.rule_fit import Rejected
from plimsoll.simulator.cluster.component import bugs_in
from plimsoll.simulator.cluster.mirror import NODES
from plimsoll.simulator.cluster.simulated_cluster import SimulatedCluster, simulated_cluster
from plimsoll.simulator.engine.chance import derived, seconds
from plimsoll.simulator.engine.logs import logged
from plimsoll.simulator.engine.loop import VirtualLoop
from plimsoll.simulator.engine.network import Network
from plimsoll.simulator.engine.trace import Trace
from plimsoll.simulator.invariants import Invariant, Violation, Watchdog
from plimsoll.simulator.scenario.actions import AnyAction
from plimsoll.simulator.scenario.faults import AnyFault
from plimsoll.simulator.scenario.injector import FaultInjector
from plimsoll.simulator.scenario.scenario import Scenario
from plimsoll.simulator.scenario.telling import line_of
from plimsoll.simulator.scenario.user import ClusterUser
from plimsoll.simulator.settled.everything import unsettled
from plimsoll.simulator.settled.scheduler import leading_scheduler
from plimsoll.simulator.settled.unsettled import Unsettled

COMING_UP_SECONDS = 60.0
LOOK_SECONDS = 15.0
COLLECT_SECONDS = 600.0
"""A look at all objects of a cluster takes as long as half a minute of its time."""
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
    takes_over: bool = False
    """Whether its cluster has a zone that is lost and taken over."""
    lines: tuple[str, ...] = ()
    was_interrupted: bool = False
    """The run did not come to its end: a user has stopped it."""

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
    """On Ctrl-C the verdict on what was played until then."""
    with _collecting_at_fixed_steps():
        return _run_through(scenario, observer, keeps_lines=keeps_lines)


def _run_through(scenario: Scenario, observer: Observer, *, keeps_lines: bool) -> RunVerdict:
    """When it returns, nothing refers to the cluster any more but the observer."""
    loop = VirtualLoop()
    run = _Run(scenario, observer, Trace(loop.time, keeps_lines=keeps_lines))
    with logged(run.trace, run.note_bug):
        try:
            return run.through(loop)
        finally:
            loop.close()


@dataclass(slots=True)
class _Run:
    """One play, and what is left of it when a user stops it."""

    scenario: Scenario
    observer: Observer
    trace: Trace
    _play: "Play | None" = None

    def through(self, loop: VirtualLoop) -> RunVerdict:
        playing = loop.create_task(self._played(loop))
        try:
            with _interrupted_between_turns(loop):
                return loop.run_until_complete(playing)
        except KeyboardInterrupt:
            if self._play is None:
                raise
        self.observer.end()
        verdict = self._play.verdict(was_interrupted=True)
        playing.cancel()
        if not playing.done():
            with suppress(asyncio.CancelledError):  # all processes end in an orderly way
                loop.run_until_complete(playing)
        return verdict

    def note_bug(self, process: str, error: BaseException) -> None:
        """Of a process that caught it and goes on."""
        if self._play is None:
            return
        for bug in bugs_in(error):
            told = f"{process}: {type(bug).__name__}: {bug}"
            self._play.watchdog.add(Invariant.NO_FAILED_LOOPS, told)

    async def _played(self, loop: VirtualLoop) -> RunVerdict:
        chance = Random(self.scenario.seed)  # noqa: S311 - chance of a simulation
        network = Network(loop=loop, chance=derived(chance), trace=self.trace)
        async with simulated_cluster(self.scenario.cluster, network, chance) as cluster:
            self._play = Play(cluster, self.scenario, derived(chance), self.observer)
            await self._play.through()
            return self._play.verdict()


@contextmanager
def _interrupted_between_turns(loop: VirtualLoop) -> Iterator[None]:
    """The first Ctrl-C ends the play when nothing is half done; the next one is as usual."""
    usual = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    if usual is not signal.default_int_handler or not is_main:
        yield
        return

    def interrupt(*_: object) -> None:
        loop.is_interrupted = True
        signal.signal(signal.SIGINT, usual)

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


@contextmanager
def _collecting_at_fixed_steps() -> Iterator[None]:
    """The garbage collector runs when the simulation says so: what it finds may have effects.

    It does not look at what was there before the run, the tables of the API above all: that is
    most of what there is.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    gc.freeze()
    try:
        yield
    finally:
        if was_enabled:  # else the caller does not mind what is left: its process ends soon
            gc.collect()
            gc.enable()
        gc.unfreeze()


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

    def verdict(self, *, was_interrupted: bool = False) -> RunVerdict:
        network = self.cluster.network
        return RunVerdict(
            seed=self.scenario.seed,
            violations=tuple(self.watchdog.collect()),
            digest=network.trace.digest,
            virtual_seconds=network.loop.time(),
            steps=network.loop.steps,
            faults=self.faults.counts,
            takes_over=bool(self.scenario.cluster.takeover),
            lines=tuple(network.trace.lines),
            was_interrupted=was_interrupted,
        )

    async def through(self) -> None:
        collecting = asyncio.ensure_future(self._collect())
        try:
            await self._come_up()
            self.observer.begin()
            await self._happen()
            self.faults.end_all()
            self.watchdog.selected.refusals.clear()
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
                self._trace("user", line_of(event))
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
            left = await unsettled(self.cluster, self.watchdog.selected.refusals)
            if all(each.is_known for each in left):
                break
        for each in left:
            self.watchdog.add(each.invariant, each.message, is_known=each.is_known)

    def _check_columns(self) -> None:
        """What the leading scheduler judges by is what a scheduler that starts now would have."""
        scheduler = leading_scheduler(self.cluster)
        if scheduler is None:
            return
        stores = scheduler.state.stores
        columns = Columns.of(stores.believed())
        columns.take_over(scheduler.kernel.columns)
        rebuilt = Kernel(columns, scheduler.kernel.settings)
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
