"""What is counted about pods on their way to nodes.

What kube-scheduler counts has its names; what only Plimsoll knows, such as codes, has ours.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from enum import StrEnum

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.flags import RULES
from plimsoll.decide.scheduling.policy import scheduler_of
from plimsoll.decide.scheduling.preemption.preemptor import Preemption
from plimsoll.decide.scheduling.reasons import Reason
from plimsoll.decide.scheduling.rules.volume_binding.capacity_use import CapacityUse
from plimsoll.processes.scheduler.queue import Cause, SchedulingQueue
from plimsoll.processes.scheduler.waiting import QueuedPod, QueuePlace
from plimsoll.runtime.clock import Clock
from plimsoll.runtime.metrics import Children, Metrics

ATTEMPT_BUCKETS = tuple(0.001 * 2**power for power in range(15))
ALGORITHM_BUCKETS = tuple(0.0001 * 2**power for power in range(17))
POD_BUCKETS = tuple(0.01 * 2**power for power in range(20))
VICTIM_BUCKETS = tuple(float(2**power) for power in range(7))
ATTEMPTS_BUCKETS = tuple(float(2**power) for power in range(5))
QUEUES = (QueuePlace.ACTIVE, QueuePlace.BACKOFF, QueuePlace.UNSCHEDULABLE, QueuePlace.GATED)
MANY = 15
"""More attempts than this are counted together."""


class AttemptResult(StrEnum):
    SCHEDULED = "scheduled"
    UNSCHEDULABLE = "unschedulable"
    ERROR = "error"


class VolumeOperation(StrEnum):
    """At which step something was wrong with volumes."""

    PREDICATE = "predicate"
    ASSUME = "assume"
    BIND = "bind"


class GroupEnd(StrEnum):
    """What became of the volumes that were made together for a pod."""

    PUBLISHED = "published"
    UNDONE = "undone"


class SchedulerMetrics:
    def __init__(self, metrics: Metrics, clock: Clock) -> None:
        self._clock = clock
        self._attempts = Children(
            metrics.counter(
                "scheduler_schedule_attempts_total",
                "Attempts to schedule pods, by how they ended.",
                ["result", "profile"],
            )
        )
        self._attempt_times = Children(
            metrics.histogram(
                "scheduler_scheduling_attempt_duration_seconds",
                "From taking a pod out of the queue until the attempt ended.",
                ["result", "profile"],
                ATTEMPT_BUCKETS,
            )
        )
        self._algorithm_times = metrics.histogram(
            "scheduler_scheduling_algorithm_duration_seconds",
            "How long it took to choose a node.",
            (),
            ALGORITHM_BUCKETS,
        )
        self._pod_times = [
            metrics.histogram(
                name, "From a pod's first attempt until it had its node.", labels, POD_BUCKETS
            )
            for name, labels in (
                ("scheduler_pod_scheduling_sli_duration_seconds", ["attempts"]),
                ("scheduler_pod_scheduling_duration_seconds", ["attempts"]),
            )
        ]
        self._pod_attempts = metrics.histogram(
            "scheduler_pod_scheduling_attempts",
            "Attempts that pods needed to get a node.",
            (),
            ATTEMPTS_BUCKETS,
        )
        self._incoming = Children(
            metrics.counter(
                "scheduler_queue_incoming_pods_total",
                "Pods put into a queue, by what brought them there.",
                ["queue", "event"],
            )
        )
        self._volume_errors = metrics.counter(
            "scheduler_volume_scheduling_stage_error_total",
            "Attempts that failed because of volumes.",
            ["operation"],
        )
        self._results = Children(
            metrics.counter(
                "plimsoll_scheduler_attempts_total",
                "Attempts to schedule pods, by how they ended.",
                ["result"],
            )
        )
        self._capacity_checks = Children(
            metrics.counter(
                "plimsoll_scheduler_capacity_checks_total",
                "Delay-bound claims that were judged, by whether published capacity was consulted.",
                ["outcome"],
            )
        )
        self._groups = Children(
            metrics.counter(
                "plimsoll_scheduler_groups_total",
                "Pods whose volumes were made together on a node, by how that ended.",
                ["result"],
            )
        )
        self._preemption_attempts = metrics.counter(
            "scheduler_preemption_attempts_total",
            "Attempts to have pods evicted for one that no node would do for.",
            (),
        )
        self._victims = metrics.histogram(
            "scheduler_preemption_victims",
            "Pods that had to leave a node for a more important one, in one go.",
            (),
            VICTIM_BUCKETS,
        )
        self._victims_by_budget = Children(
            metrics.counter(
                "plimsoll_scheduler_preemption_victims_total",
                "Pods that had to leave a node for a more important one, by whether a "
                "PodDisruptionBudget protected them.",
                ["protected"],
            )
        )
        for is_protected in ("true", "false"):
            self._victims_by_budget.labels(is_protected)
        for end in GroupEnd:
            self._groups.labels(end.value)
        for result in AttemptResult:
            self._results.labels(result.value)
        for use in CapacityUse:
            self._capacity_checks.labels(use.value)

    def group_ended(self, end: GroupEnd) -> None:
        self._groups.labels(end.value).inc()

    def preemption_tried(self) -> None:
        self._preemption_attempts.inc()

    def preempted(self, preemption: Preemption) -> None:
        number = len(preemption.victims)
        self._victims.observe(number)
        self._victims_by_budget.labels("true").inc(preemption.violations)
        self._victims_by_budget.labels("false").inc(number - preemption.violations)

    def capacity_used(self, uses: Iterable[CapacityUse]) -> None:
        for use in uses:
            self._capacity_checks.labels(use.value).inc()

    def entered(self, place: QueuePlace, cause: Cause) -> None:
        self._incoming.labels(place.value, cause.value).inc()

    def judged(self, seconds: float) -> None:
        self._algorithm_times.observe(seconds)

    def volumes_failed(self, operation: VolumeOperation) -> None:
        self._volume_errors.labels(operation.value).inc()

    def ended(self, pod: Pod, result: AttemptResult, began: float) -> None:
        labels = (result.value, scheduler_of(pod))
        self._attempts.labels(*labels).inc()
        self._results.labels(result.value).inc()
        self._attempt_times.labels(*labels).observe(self._clock.monotonic() - began)

    def scheduled(self, entry: QueuedPod) -> None:
        waited: timedelta = self._clock.now() - entry.added_at
        attempts = str(entry.attempts) if entry.attempts <= MANY else f"{MANY}+"
        for times in self._pod_times:
            times.labels(attempts).observe(max(waited.total_seconds(), 0.0))
        self._pod_attempts.observe(entry.attempts)


class PendingPods(Collector):
    """Counted when the metrics are read."""

    def __init__(self, queue: SchedulingQueue, profiles: Sequence[str]) -> None:
        self._queue = queue
        self._profiles = profiles

    def collect(self) -> Iterator[GaugeMetricFamily]:
        pending = GaugeMetricFamily(
            "scheduler_pending_pods", "Pods that wait, by queue.", labels=["queue"]
        )
        turned_away = GaugeMetricFamily(
            "scheduler_unschedulable_pods",
            "Pods that no node would do for, by the rules that turned them away.",
            labels=["plugin", "profile"],
        )
        counts = self._queue.counts()
        for place in QUEUES:
            pending.add_metric([place.value], counts[place])
        numbers = self._queue.unschedulable_by_rule()
        for profile in self._profiles:
            for rule in RULES:
                turned_away.add_metric([rule.value, profile], numbers[rule, profile])
        by_code = GaugeMetricFamily(
            "plimsoll_scheduler_unschedulable_pods",
            "Pods whose last attempt came to nothing, by code; a pod counts once for each code.",
            labels=["code"],
        )
        reasons = self._queue.unschedulable_by_reason()
        for reason in Reason:
            by_code.add_metric([reason.value], reasons[reason])
        yield pending
        yield turned_away
        yield by_code
