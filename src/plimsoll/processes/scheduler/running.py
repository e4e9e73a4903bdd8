"""One scheduler, running: what it observes, what it tells, and the cycle itself."""

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.judge import KernelSettings as JudgeSettings
from plimsoll.decide.scheduling.kernel import Kernel
from plimsoll.decide.scheduling.rules.volume_binding.delayed_claims import Policy
from plimsoll.enact.enactor import Enactor
from plimsoll.enact.events import EventRecorder, RecorderSettings
from plimsoll.processes.scheduler.binding import Binder
from plimsoll.processes.scheduler.cycle import Cycle, Parts
from plimsoll.processes.scheduler.events import Reporter
from plimsoll.processes.scheduler.metrics import PendingPods, SchedulerMetrics
from plimsoll.processes.scheduler.queue import SchedulingQueue
from plimsoll.processes.scheduler.refusals import RefusalLearner
from plimsoll.processes.scheduler.settings import SchedulerSettings, backoff_of, shape_of
from plimsoll.processes.scheduler.state import Believer, SchedulerState
from plimsoll.runtime.fence import Fence
from plimsoll.runtime.ids import Ids, system_chance, system_ids
from plimsoll.runtime.metrics import Metrics
from plimsoll.runtime.supervise import Supervision, supervise
from plimsoll.wire.kube import KubeClient

FLUSH_LIMIT = timedelta(seconds=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerEnvironment:
    """What a scheduler is put into."""

    client: KubeClient
    metrics: Metrics = field(default_factory=Metrics)
    ids: Ids = field(default_factory=system_ids)
    chance: Random = field(default_factory=system_chance)
    instance: str = ""
    """Which of several copies this is, for the events."""
    fence: Fence | None = None
    """Of the leader, if one is elected: nothing is written once it is closed."""


class Scheduler:
    """One life: make it, run it once."""

    def __init__(self, settings: SchedulerSettings, setting: SchedulerEnvironment) -> None:
        metrics = setting.metrics
        client = setting.client.fenced(setting.fence or Fence.left_open(setting.client.clock))
        self._client = client
        # Users look for events of the scheduler that their pods name.
        component = RecorderSettings(component=settings.scheduler_name, instance=setting.instance)
        self._recorder = EventRecorder(client, component, ids=setting.ids, metrics=metrics)
        self._supervision = Supervision(clock=client.clock, chance=setting.chance, metrics=metrics)
        self.state = SchedulerState()
        enactor = Enactor(client, self._recorder)
        counted = SchedulerMetrics(metrics, client.clock, settings.scheduler_name)
        kernel = Kernel(Columns(), JudgeSettings(settings.policy, shape_of(settings)))
        self.state.on_belief(following(kernel.columns))
        self.queue = SchedulingQueue(backoff_of(settings), on_entry=counted.entered)
        self._reporter = Reporter(enactor, client.clock)

        def is_ours(pod: Pod) -> bool:
            return _scheduler_of(pod) == settings.scheduler_name

        self.refusals: RefusalLearner | None = None
        """None: the policy remembers nothing."""
        if settings.policy is Policy.DEFAULT:
            self.refusals = RefusalLearner(client, self.state, is_ours=is_ours)
        parts = Parts(
            state=self.state,
            kernel=kernel,
            queue=self.queue,
            binder=Binder(client, enactor, self.state, timeout=settings.bind_timeout),
            reporter=self._reporter,
            metrics=counted,
            clock=client.clock,
            refusals=self.refusals,
        )
        self._cycle = Cycle(parts, is_ours=is_ours)
        self._is_synced = False
        metrics.registry.register(PendingPods(self.queue, settings.scheduler_name))

    @property
    def is_synced(self) -> bool:
        """True once everything that decisions look at was seen at least once."""
        return self._is_synced

    async def run(self) -> None:
        """Never returns; cancel it: no pod is taken any more, then what was said is written."""
        beside = {
            **self.state.start(self._client),
            "events": self._recorder.run,
            "reports": self._reporter.run,
        }
        around = asyncio.ensure_future(supervise(beside, self._supervision))
        try:
            await self.state.synced()
            self._is_synced = True
            await supervise({"cycle": self._cycle.run}, self._supervision)
        finally:
            await self._recorder.flush(FLUSH_LIMIT)
            around.cancel()
            await asyncio.gather(around, return_exceptions=True)


def following(columns: Columns) -> Believer:
    """Keeps columns equal to what is believed."""

    def believe(before: ApiObject | None, after: ApiObject | None) -> None:
        if after is not None:
            columns.put(after)
        elif before is not None:
            columns.remove(before)

    return believe


def _scheduler_of(pod: Pod) -> str:
    return pod.spec.scheduler_name or "default-scheduler"
