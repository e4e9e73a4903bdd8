"""One scheduler, running: what it observes, what it tells, and the cycle itself."""

from collections.abc import Awaitable, Callable

from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.kernel import Kernel
from plimsoll.decide.scheduling.policy import Policy, scheduler_of
from plimsoll.enact.enactor import Enactor
from plimsoll.enact.events import EventRecorder, RecorderSettings
from plimsoll.processes.scheduler.binding.binder import Binder
from plimsoll.processes.scheduler.binding.context import BindingContext
from plimsoll.processes.scheduler.binding.group_book import GroupBook
from plimsoll.processes.scheduler.binding.groups import Groups
from plimsoll.processes.scheduler.class_pools import complain_of_class_pool
from plimsoll.processes.scheduler.configuration.published import judged_by
from plimsoll.processes.scheduler.cycle import Cycle, Parts
from plimsoll.processes.scheduler.evictions import Evictions
from plimsoll.processes.scheduler.metrics import PendingPods, SchedulerMetrics
from plimsoll.processes.scheduler.placement_complaints import complaining_of_placement
from plimsoll.processes.scheduler.queue import SchedulingQueue
from plimsoll.processes.scheduler.refusals import RefusalLearner
from plimsoll.processes.scheduler.reporter import Reporter
from plimsoll.processes.scheduler.settings import (
    SchedulerSettings,
    backoff_of,
    profiles_of,
    trusted_namespaces,
)
from plimsoll.processes.scheduler.state import ChangeHandler, SchedulerState
from plimsoll.reconcile.running import QUIET, LoopEnvironment, Runs, SupervisedRun
from plimsoll.runtime.leading.fence import Fence
from plimsoll.runtime.supervise import Supervision

NOTHING: Runs = {}


class Scheduler:
    """One life: make it, run it once."""

    def __init__(
        self,
        settings: SchedulerSettings,
        environment: LoopEnvironment,
        *,
        beside: Runs = NOTHING,
    ) -> None:
        """`beside` runs as long as the scheduler does."""
        metrics = environment.metrics
        fence = environment.fence or Fence.left_open(environment.client.clock)
        self._client = client = environment.client.fenced(fence)
        told_by = RecorderSettings(
            component=environment.component, instance=environment.instance, quiet=QUIET
        )
        recorder = EventRecorder(client, told_by, ids=environment.ids, metrics=metrics)
        supervision = Supervision(clock=client.clock, chance=environment.chance, metrics=metrics)
        self._run = SupervisedRun(recorder, supervision)
        self._beside = beside
        is_default = settings.policy is Policy.DEFAULT
        self.state = SchedulerState(trusted_namespaces(settings) if is_default else ())
        enactor = Enactor(client, recorder)
        counted = SchedulerMetrics(metrics, client.clock)
        profiles = {each.name: each for each in profiles_of(settings)}
        by_name = {name: judged_by(each, settings.policy) for name, each in profiles.items()}
        self.kernel = kernel = Kernel(Columns(), next(iter(by_name.values())), by_name)
        kernel.advance(client.clock.now())
        self.state.on_change(following(kernel.columns))
        self.state.on_observed(complain_of_class_pool)
        self.queue = SchedulingQueue(backoff_of(settings), on_entry=counted.entered)
        self._reporter = Reporter(enactor, client)

        def is_ours(pod: Pod) -> bool:
            return scheduler_of(pod) in profiles

        self.refusals: RefusalLearner | None = None
        """None: the policy remembers nothing."""
        if is_default:
            self.refusals = RefusalLearner(client, self.state, is_ours=is_ours)
            self.state.on_observed(complaining_of_placement(self._reporter.tell, is_ours=is_ours))
        binding = BindingContext(
            client=client,
            enactor=enactor,
            state=self.state,
            timeouts={name: each.bind_timeout for name, each in profiles.items()},
        )
        book = GroupBook(client, settings.leader_elect_namespace)
        self._left_groups = Groups(
            binding, book, counted, does_without=lambda pod: not is_default and is_ours(pod)
        )
        """Also by a policy that holds nothing back: an earlier scheduler may have."""
        self.groups = self._left_groups if is_default else None
        """None: the policy holds nothing back."""
        parts = Parts(
            state=self.state,
            kernel=kernel,
            queue=self.queue,
            binder=Binder(binding, self.groups),
            reporter=self._reporter,
            evictions=Evictions(client, enactor, self.state),
            metrics=counted,
            clock=client.clock,
            refusals=self.refusals,
            groups=self.groups,
        )
        self._cycle = Cycle(parts, is_ours=is_ours)
        metrics.registry.register(PendingPods(self.queue, tuple(profiles)))

    @property
    def is_synced(self) -> bool:
        """True once everything that decisions look at was seen at least once."""
        return self._run.is_synced

    async def run(self) -> None:
        """Never returns; cancel it: no pod is taken any more, then what was said is written."""
        beside = {
            **self._beside,
            **self.state.start(self._client),
            "reports": self._reporter.run,
        }
        loops: dict[str, Callable[[], Awaitable[None]]] = {
            "cycle": self._cycle.run,
            "groups": self._left_groups.settle,
            "stray-groups": self._left_groups.look_for_strays,
        }
        await self._run.run(beside, self._synced, loops)

    async def _synced(self) -> None:
        await self.state.synced()
        await self._left_groups.load()


def following(columns: Columns) -> ChangeHandler:
    """Keeps columns equal to the state."""

    def follow(before: ApiObject | None, after: ApiObject | None) -> None:
        if after is not None:
            columns.put(after)
        elif before is not None:
            columns.remove(before)

    return follow
