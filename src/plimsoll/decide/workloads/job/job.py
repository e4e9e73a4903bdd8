"""Job: pods that run to completion, as many as asked for, within limits of failures and time.

A finished pod is counted exactly once, whatever dies in between: its uid is first written into the
status, then its finalizer is removed, then it is added to the counter and its uid taken out. What
this controller cannot do (failure and success policies, limits for each index) is refused.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import structs

from plimsoll.api.meta import Condition, find_condition
from plimsoll.api.pods import Pod
from plimsoll.api.workloads import Job, JobStatus
from plimsoll.decide.plan import NOTHING, Delete, Plan, Write
from plimsoll.decide.resources import PODS
from plimsoll.decide.statuses import status_patch
from plimsoll.decide.workloads.availability import is_active
from plimsoll.decide.workloads.deletion_order import in_deletion_order
from plimsoll.decide.workloads.job.pods import (
    index_of,
    is_failed,
    is_indexed,
    is_tracked,
    pause_left,
    pod_document,
    with_finalizer,
    without_finalizer,
)
from plimsoll.decide.workloads.job.status import status_document, tally_of
from plimsoll.decide.workloads.job.verdict import (
    DEADLINE_EXCEEDED,
    OVER_LIMIT,
    REACHED,
    JobVerdict,
    find_end,
    find_recorded_verdict,
    is_over_limit,
    time_to_deadline,
)
from plimsoll.decide.workloads.owned import JOB, creation, deletion, told, warned

MANAGER = "kubernetes.io/job-controller"
BURST = 500
UNSUPPORTED_FIELDS = (
    "pod_failure_policy",
    "success_policy",
    "backoff_limit_per_index",
    "max_failed_indexes",
)


class JobReason(StrEnum):
    DONE = "PodsTended"
    """Pods are made or deleted."""
    REPORTED = "StatusReported"
    EXPIRED = "TimeToLiveOver"
    UNSUPPORTED = "UnsupportedField"
    """The job asks for what this controller cannot do: nothing is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSteps:
    """The report is made whatever came of what was done."""

    act: Plan = NOTHING
    report: Plan = NOTHING


def decide_job(job: Job, pods: tuple[Pod, ...], suffixes: Iterator[str], now: datetime) -> JobSteps:
    if job.spec.managed_by not in (None, MANAGER):
        return JobSteps()
    end = find_end(job)
    if end is not None:
        return JobSteps(report=_decide_expiry(job, end, now))
    refused = [name for name in UNSUPPORTED_FIELDS if getattr(job.spec, name) is not None]
    if refused:
        return JobSteps(report=_refusal(job, refused))
    look = _Look(job, pods, now)
    look.judge()
    look.tend(suffixes)
    return look.steps()


def _refusal(job: Job, fields: list[str]) -> Plan:
    listed = ", ".join(f"spec.{_field_name(name)}" for name in fields)
    message = (
        f"{listed} not supported by this controller: no pods are made. Create the job without it."
    )
    return Plan(
        reason=JobReason.UNSUPPORTED, writes=(warned(JOB, job, JobReason.UNSUPPORTED, message),)
    )


def _field_name(attribute: str) -> str:
    """As the field is called in documents."""
    first, *rest = attribute.split("_")
    return first + "".join(part.title() for part in rest)


def _decide_expiry(job: Job, end: Condition, now: datetime) -> Plan:
    seconds, ended_at = job.spec.ttl_seconds_after_finished, end.last_transition_time
    if seconds is None or ended_at is None or job.is_being_deleted:
        return NOTHING
    left = ended_at + timedelta(seconds=seconds) - now
    if left > timedelta():
        return Plan(reason=JobReason.EXPIRED, recheck_after=left)
    gone = Delete(resource=JOB.resource, key=job.key, uid=job.uid, propagation="Foreground")
    return Plan(reason=JobReason.EXPIRED, writes=(gone,))


class _Look:
    def __init__(self, job: Job, pods: tuple[Pod, ...], now: datetime) -> None:
        self.job, self.pods, self.now = job, pods, now
        self.writes: list[Write] = []
        self.recheck: list[timedelta] = []
        self.conditions = job.status.conditions
        self.events: list[Write] = []
        self.started_at = job.status.start_time
        self.verdict: JobVerdict | None = None
        self.active = [pod for pod in pods if is_active(pod)]
        self.leaving = [pod for pod in pods if pod.is_being_deleted and not pod.is_finished]
        self.tracked = [pod for pod in pods if is_tracked(pod)]
        self.tally = tally_of(job, pods, will_fail=False)

    @property
    def is_suspended(self) -> bool:
        return bool(self.job.spec.suspend)

    # How it ends

    def judge(self) -> None:
        if self.started_at is None and not self.is_suspended:
            self.started_at = self.now
        self.verdict = find_recorded_verdict(self.conditions) or self._find_failure()
        will_fail = self.verdict is not None and not self.verdict.is_success
        self.tally = tally_of(self.job, self.pods, will_fail=will_fail)

    def _find_failure(self) -> JobVerdict | None:
        if is_over_limit(self.job, self.pods, self.tally.failed):
            return OVER_LIMIT
        left = time_to_deadline(self.job, self.started_at, self.now)
        if left is None:
            return None
        if left <= timedelta():
            return DEADLINE_EXCEEDED
        self.recheck.append(left)
        return None

    # What to do

    def tend(self, suffixes: Iterator[str]) -> None:
        if self.verdict is not None:
            self._delete(self.active)
            return
        if not self.job.is_being_deleted:
            self._manage(suffixes)
        is_reached = self.tally.succeeded > 0
        if self.job.spec.completions is not None:
            is_reached = self.tally.succeeded >= self.job.spec.completions
        if is_reached and not self.active and not self.writes:
            self.verdict = REACHED
        elif not self.job.is_being_deleted:
            self._note_suspension()

    def _manage(self, suffixes: Iterator[str]) -> None:
        if self.is_suspended:
            self._give_up(self.active)
            return
        wanted = self._wanted_active()
        surplus = self._surplus(len(self.active) - wanted)
        if surplus:
            self._give_up(surplus[:BURST])
            return
        held = len(self.leaving) if self.job.spec.pod_replacement_policy == "Failed" else 0
        missing = min(wanted - held - len(self.active), BURST)
        if missing <= 0:
            return
        pause = pause_left(self.job, self.pods, self.now)
        if pause > timedelta():
            self.recheck.append(pause)
            return
        for index in self._free_indexes(missing):
            self._make(next(suffixes), index)

    def _wanted_active(self) -> int:
        parallelism = 1 if self.job.spec.parallelism is None else self.job.spec.parallelism
        if self.job.spec.completions is None:
            return len(self.active) if self.tally.succeeded else parallelism
        return max(min(self.job.spec.completions - self.tally.succeeded, parallelism), 0)

    def _free_indexes(self, count: int) -> list[int | None]:
        if self.tally.completed is None:
            return [None] * count
        held = self.leaving if self.job.spec.pod_replacement_policy == "Failed" else []
        taken = {*self.tally.completed, *map(index_of, [*self.active, *held])}
        free: list[int | None] = [
            i for i in range(self.job.spec.completions or 0) if i not in taken
        ]
        return free[:count]

    def _surplus(self, count: int) -> list[Pod]:
        """Of an indexed job first those that are not needed: a second one of its index."""
        doomed: list[Pod] = []
        if is_indexed(self.job):
            seen: set[int] = set()
            for pod in reversed(in_deletion_order(self.active, self.active, self.now)):
                index = index_of(pod)
                if index is None or index >= (self.job.spec.completions or 0) or index in seen:
                    doomed.append(pod)
                else:
                    seen.add(index)
        others = [pod for pod in self.active if pod not in doomed]
        more = max(count - len(doomed), 0)
        return doomed + in_deletion_order(others, others, self.now)[:more]

    def _make(self, suffix: str, index: int | None) -> None:
        pod = pod_document(self.job, suffix, index)
        self.writes.append(creation(PODS, pod))
        message = f"Created pod: {pod['metadata']['name']}"
        self.writes.append(told(JOB, self.job, "SuccessfulCreate", message))

    def _give_up(self, pods: list[Pod]) -> None:
        """Pods that are not needed: they did not fail, and are not counted at all."""
        for pod in pods:
            if is_tracked(pod):
                self.writes.append(without_finalizer(pod))
            self._delete([pod])

    def _delete(self, pods: list[Pod]) -> None:
        for pod in pods:
            self.writes.append(deletion(PODS, pod))
            message = f"Deleted pod: {pod.name}"
            self.writes.append(told(JOB, self.job, "SuccessfulDelete", message))

    def _note_suspension(self) -> None:
        known = find_condition(self.conditions, "Suspended")
        was_suspended = known is not None and known.holds
        if self.is_suspended and not was_suspended:
            self._say("Suspended", "True", "JobSuspended", "Job suspended")
            self.events.append(told(JOB, self.job, "Suspended", "Job suspended"))
        elif was_suspended and not self.is_suspended:
            self._say("Suspended", "False", "JobResumed", "Job resumed")
            self.events.append(told(JOB, self.job, "Resumed", "Job resumed"))
            # The deadline counts from here: time in suspension does not count.
            self.started_at = self.now

    def _say(self, type_: str, status: str, reason: str, message: str) -> None:
        said = Condition(
            type=type_,
            status=status,
            reason=reason,
            message=message,
            last_transition_time=self.now,
            last_probe_time=self.now,
        )
        self.conditions = (*(c for c in self.conditions if c.type != type_), said)

    # What to say

    def steps(self) -> JobSteps:
        done_at = self._conclude()
        status = self._status(done_at)
        writes: list[Write] = []
        if status_document(status) != status_document(self.job.status):
            writes.append(status_patch(JOB.resource, self.job, status_document(status)))
        writes += self.events
        writes += [without_finalizer(pod) for pod in self.tracked if self._is_settled(pod)]
        if not self.writes and not self.job.is_being_deleted:
            writes += [with_finalizer(pod) for pod in self.active if not is_tracked(pod)]
        return JobSteps(
            act=Plan(reason=JobReason.DONE, writes=tuple(self.writes)),
            report=Plan(
                reason=JobReason.REPORTED,
                writes=tuple(writes),
                recheck_after=min(self.recheck, default=None),
            ),
        )

    def _conclude(self) -> datetime | None:
        """The end is told when every pod has left and is counted. When the job completed."""
        verdict = self.verdict
        if verdict is None:
            return None
        aim = find_condition(self.job.status.conditions, verdict.aim)
        if aim is None or not aim.holds:
            self._say(verdict.aim, "True", verdict.reason, verdict.message)
        if self.active or self.leaving or self.tracked:
            return None
        self._say(verdict.end, "True", verdict.reason, verdict.message)
        if verdict.is_success:
            self.events.append(told(JOB, self.job, "Completed", "Job completed"))
            return self.now
        self.events.append(warned(JOB, self.job, verdict.reason, verdict.message))
        return None

    def _is_settled(self, pod: Pod) -> bool:
        """Nothing more is to be learned from it, and what there was is in the status."""
        if self.job.is_being_deleted or pod.status.phase == "Succeeded":
            return True
        return is_failed(self.job, pod) or (self.verdict is not None and not is_active(pod))

    def _status(self, done_at: datetime | None) -> JobStatus:
        return structs.replace(
            self.tally.status_fields(),
            active=len(self.active),
            ready=sum(pod.is_ready for pod in self.active),
            terminating=len(self.leaving),
            start_time=self.started_at,
            completion_time=done_at or self.job.status.completion_time,
            conditions=self.conditions,
        )
