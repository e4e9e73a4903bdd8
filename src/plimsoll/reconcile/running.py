"""The loops of one process, running: what they observe, their events, and they themselves.

`SupervisedRun` is the order in which every such process begins and ends.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from plimsoll.decide.plan import ResourceName
from plimsoll.enact.enactor import Enactor
from plimsoll.enact.events import EventRecorder, RecorderSettings
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.reconcile.observed import Observed
from plimsoll.runtime.ids import Ids, system_chance, system_ids
from plimsoll.runtime.leading.fence import Fence
from plimsoll.runtime.metrics import Metrics
from plimsoll.runtime.supervise import Supervision, supervise
from plimsoll.wire.kube import KubeClient

FLUSH_LIMIT = timedelta(seconds=5)
QUIET = timedelta(minutes=5)
"""Claims that wait are looked at every few seconds, pods that wait are tried at each change that
may help: to say the same each time is of no use, and pushes out what is new."""

Make = Callable[[Tools], Loop]
Runs = Mapping[str, Callable[[], Awaitable[None]]]
"""What is kept running, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopEnvironment:
    """What loops are put into."""

    client: KubeClient
    component: str
    """The process, as events name it."""
    metrics: Metrics = field(default_factory=Metrics)
    ids: Ids = field(default_factory=system_ids)
    chance: Random = field(default_factory=system_chance)
    instance: str = ""
    """Which of several copies this is, for the events."""
    unpatchable: Collection[ResourceName] = ()
    """What our role lets us replace, but not patch."""
    fence: Fence | None = None
    """Of the leader, if one is elected: nothing is written once it is closed."""


class SupervisedRun:
    """First everything is observed once, then the loops run, then what they said is written."""

    def __init__(self, recorder: EventRecorder, supervision: Supervision) -> None:
        self._recorder = recorder
        self._supervision = supervision
        self.is_synced = False
        """True once everything that the loops observe was seen at least once."""

    async def run(self, beside: Runs, synced: Callable[[], Awaitable[None]], loops: Runs) -> None:
        """Never returns; cancel it: the loops end first, then what they said is written down.

        What is `beside` them runs from before `synced` is waited for until after that.
        """
        around = asyncio.ensure_future(
            supervise({**beside, "events": self._recorder.run}, self._supervision)
        )
        try:
            await synced()
            self.is_synced = True
            await supervise(loops, self._supervision)
        finally:
            await self._recorder.flush(FLUSH_LIMIT)
            around.cancel()
            await asyncio.gather(around, return_exceptions=True)


class RunningLoops:
    """One life: make it, run it once."""

    def __init__(self, makers: Mapping[str, Make], environment: LoopEnvironment) -> None:
        metrics = environment.metrics
        fence = environment.fence or Fence.left_open(environment.client.clock)
        client = environment.client.fenced(fence)
        recorder = EventRecorder(
            client,
            RecorderSettings(
                component=environment.component, instance=environment.instance, quiet=QUIET
            ),
            ids=environment.ids,
            metrics=metrics,
        )
        self._observed = Observed(client)
        supervision = Supervision(clock=client.clock, chance=environment.chance, metrics=metrics)
        self._run = SupervisedRun(recorder, supervision)
        tools = Tools(
            client=client,
            observed=self._observed,
            enactor=Enactor(client, recorder, unpatchable=environment.unpatchable),
            clock=client.clock,
            ids=environment.ids,
            chance=environment.chance,
            metrics=metrics,
            fence=fence,
        )
        self._loops = {name: make(tools) for name, make in makers.items()}
        self.metrics = metrics
        metrics.registry.register(QueueDepths(self._loops))

    @property
    def is_synced(self) -> bool:
        """True once everything that the loops observe was seen at least once."""
        return self._run.is_synced

    async def run(self) -> None:
        """Never returns; cancel it."""
        loops = {name: loop.run for name, loop in self._loops.items()}
        await self._run.run(self._observed.start(), self._observed.synced, loops)


class QueueDepths(Collector):
    def __init__(self, loops: Mapping[str, Loop]) -> None:
        self._loops = loops

    def collect(self) -> Iterator[GaugeMetricFamily]:
        depth = GaugeMetricFamily(
            "workqueue_depth", "Objects that wait to be looked at.", labels=["name"]
        )
        for name, loop in self._loops.items():
            depth.add_metric([name], loop.depth)
        yield depth
