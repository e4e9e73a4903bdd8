"""The loops of one process, running: what they observe, their events, and they themselves."""

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping
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
from plimsoll.runtime.fence import Fence
from plimsoll.runtime.ids import Ids, system_chance, system_ids
from plimsoll.runtime.metrics import Metrics
from plimsoll.runtime.supervise import Supervision, supervise
from plimsoll.wire.kube import KubeClient

FLUSH_LIMIT = timedelta(seconds=5)
QUIET = timedelta(minutes=5)
"""Claims that wait are looked at every few seconds; to say the same each time helps nobody."""

Make = Callable[[Tools], Loop]


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


class RunningLoops:
    """One life: make it, run it once."""

    def __init__(self, makers: Mapping[str, Make], setting: LoopEnvironment) -> None:
        metrics = setting.metrics
        fence = setting.fence or Fence.left_open(setting.client.clock)
        client = setting.client.fenced(fence)
        self._recorder = EventRecorder(
            client,
            RecorderSettings(component=setting.component, instance=setting.instance, quiet=QUIET),
            ids=setting.ids,
            metrics=metrics,
        )
        self._observed = Observed(client)
        self._supervision = Supervision(clock=client.clock, chance=setting.chance, metrics=metrics)
        tools = Tools(
            client=client,
            observed=self._observed,
            enactor=Enactor(client, self._recorder, unpatchable=setting.unpatchable),
            clock=client.clock,
            ids=setting.ids,
            chance=setting.chance,
            metrics=metrics,
            fence=fence,
        )
        self._loops = {name: make(tools) for name, make in makers.items()}
        self.metrics = metrics
        self._is_synced = False
        metrics.registry.register(QueueDepths(self._loops))

    @property
    def is_synced(self) -> bool:
        """True once everything that the loops observe was seen at least once."""
        return self._is_synced

    async def run(self) -> None:
        """Never returns; cancel it: the loops end first, then what they said is written down."""
        beside = {**self._observed.start(), "events": self._recorder.run}
        around = asyncio.ensure_future(supervise(beside, self._supervision))
        try:
            await self._observed.synced()
            self._is_synced = True
            await supervise({n: loop.run for n, loop in self._loops.items()}, self._supervision)
        finally:
            await self._recorder.flush(FLUSH_LIMIT)
            await _cancelled(around)


async def _cancelled(task: "asyncio.Future[None]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


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
