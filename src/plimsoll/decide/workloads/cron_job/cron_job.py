"""CronJobs: which jobs are to be started now, which are over, and which are kept.

Everything follows from the CronJob and its jobs. A job's name tells the time that it was scheduled
for, so the same time never starts two of them, and a controller that stops between the creation of
a job and the report about it finds the job and reports it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from plimsoll.api.meta import wire_time
from plimsoll.api.registry import Document
from plimsoll.api.workloads import CronJob, Job
from plimsoll.decide.plan import Create, Delete, Emit, Plan, Write
from plimsoll.decide.statuses import status_patch
from plimsoll.decide.workloads.cron_job.jobs import (
    active_document,
    active_reference,
    has_ended,
    job_document,
    job_name,
    scheduled_for,
)
from plimsoll.decide.workloads.cron_job.schedule import Schedule, parse_schedule, parse_zone
from plimsoll.decide.workloads.job.verdict import find_end
from plimsoll.decide.workloads.owned import (
    CRON_JOB,
    JOB,
    told,
    warned,
)

TOO_MANY = 100
"""More missed times than that are most likely a mistake of a clock."""
LONGEST_DEADLINE = 10**9
MARGIN = timedelta(milliseconds=100)
LOOK_AGAIN = timedelta(minutes=5)
"""Clocks are set: a controller never relies on one long wait."""
NO_MOMENT = "it names no time that ever comes"


class CronJobReason(StrEnum):
    STARTED = "JobDue"
    """The next job is started."""
    WAITING = "WaitingForSchedule"
    """Nothing is due; jobs that are over are noted, and the oldest of them deleted."""
    SUSPENDED = "Suspended"
    """No job is started as long as the CronJob is suspended."""
    UNREADABLE = "UnparseableSchedule"
    """The schedule or its time zone cannot be read: no job is started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Missed:
    """What became due since the last job."""

    latest: datetime | None
    too_many: bool = False


@dataclass(slots=True)
class _CronLook:
    cron_job: CronJob
    jobs: list[Job]
    """Its own, by name."""
    now: datetime
    writes: list[Write]
    events: list[Emit]

    def tell(self, reason: str, message: str) -> None:
        self.events.append(told(CRON_JOB, self.cron_job, reason, message))

    def warn(self, reason: str, message: str) -> None:
        self.events.append(warned(CRON_JOB, self.cron_job, reason, message))

    def delete(self, job: Job) -> None:
        self.writes.append(Delete(resource=JOB.resource, key=job.key, uid=job.uid))
        self.tell("SuccessfulDelete", f"Deleted job {job.name}")


def decide_cron_job(cron_job: CronJob, jobs: Iterable[Job], now: datetime) -> Plan:
    """`jobs` are all that the CronJob owns."""
    look = _CronLook(cron_job, sorted(jobs, key=lambda job: job.name), now, [], [])
    _clear_history(look)
    active = _note_jobs(look)
    plan = _decide_start(look, active)
    status = _status(look, active)
    if status is not None:
        look.writes.insert(0, status_patch(CRON_JOB.resource, cron_job, status))
    return Plan(
        reason=plan.reason,
        writes=(*look.writes, *look.events),
        recheck_after=plan.recheck_after,
    )


# Jobs that there are


def _note_jobs(look: _CronLook) -> list[Job]:
    """Those of its jobs that run; what is new about the others is told."""
    known = {reference.uid for reference in look.cron_job.status.active}
    running: list[Job] = []
    for job in look.jobs:
        end = find_end(job)
        if end is not None:
            if job.uid in known:
                message = f"Saw completed job: {job.name}, condition: {end.type}"
                look.tell("SawCompletedJob", message)
        elif job.is_being_deleted:
            continue
        elif job.uid in known or scheduled_for(job) is not None:
            running.append(job)
        else:
            message = f"Saw a job that the controller did not create or forgot: {job.name}"
            look.warn("UnexpectedJob", message)
    there = {job.uid for job in look.jobs}
    for reference in look.cron_job.status.active:
        if reference.uid not in there:
            look.tell("MissingJob", f"Active job went missing: {reference.name}")
    return running


def _clear_history(look: _CronLook) -> None:
    spec = look.cron_job.spec
    limits = {
        "Complete": spec.successful_jobs_history_limit,
        "Failed": spec.failed_jobs_history_limit,
    }
    for end, limit in limits.items():
        ended = [job for job in look.jobs if has_ended(job, end) and not job.is_being_deleted]
        ended.sort(key=_age)
        if limit is not None:
            for job in ended[: max(len(ended) - limit, 0)]:
                look.delete(job)


def _age(job: Job) -> tuple[bool, datetime, str]:
    """The oldest first; those that never started are the youngest."""
    started = job.status.start_time
    return started is None, started or datetime.max.replace(tzinfo=UTC), job.name


# The next job


def _decide_start(look: _CronLook, active: list[Job]) -> Plan:
    """`active` loses the jobs that are replaced."""
    cron_job, spec = look.cron_job, look.cron_job.spec
    if cron_job.is_being_deleted or spec.suspend:
        return Plan(reason=CronJobReason.SUSPENDED)
    try:
        zone = parse_zone(spec.time_zone)
    except ValueError as error:
        look.warn("UnknownTimeZone", f'invalid timeZone: "{spec.time_zone}": {error}')
        return Plan(reason=CronJobReason.UNREADABLE)
    try:
        schedule = parse_schedule(spec.schedule, zone)
    except ValueError as error:
        look.warn("UnparseableSchedule", f'unparseable schedule: "{spec.schedule}" : {error}')
        return Plan(reason=CronJobReason.UNREADABLE)
    due = _due(look, schedule)
    if due is None or not _may_start(look, due, active):
        return Plan(reason=CronJobReason.WAITING, recheck_after=_until_next(look, schedule))
    if spec.concurrency_policy == "Replace":
        for job in active:
            look.delete(job)
        active.clear()
    look.writes.append(Create(resource=JOB.resource, document=job_document(cron_job, due, zone)))
    look.tell("SuccessfulCreate", f"Created job {job_name(cron_job, due)}")
    return Plan(reason=CronJobReason.STARTED, recheck_after=_until_next(look, schedule))


def _due(look: _CronLook, schedule: Schedule) -> datetime | None:
    cron_job, now = look.cron_job, look.now
    if schedule.next_after(now) is None:
        look.warn("InvalidSchedule", f"invalid schedule: {cron_job.spec.schedule} : {NO_MOMENT}")
        return None
    earliest = _last_handled(look)
    deadline = cron_job.spec.starting_deadline_seconds
    if deadline is not None:
        earliest = max(earliest, now - timedelta(seconds=min(deadline, LONGEST_DEADLINE)))
    missed = _missed(schedule, earliest, now)
    if missed.too_many:
        look.warn(
            "TooManyMissedTimes",
            "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check "
            "clock skew",
        )
    return missed.latest


def _last_handled(look: _CronLook) -> datetime:
    """Nothing that was scheduled until then is started any more."""
    status, metadata = look.cron_job.status, look.cron_job.metadata
    begin = status.last_schedule_time or metadata.creation_timestamp or look.now
    return max([begin, *_started(look)])


def _started(look: _CronLook) -> list[datetime]:
    """The times that its jobs were scheduled for; one in the future is a user's mistake."""
    times = map(scheduled_for, look.jobs)
    return [at for at in times if at is not None and at <= look.now]


def _missed(schedule: Schedule, earliest: datetime, now: datetime) -> _Missed:
    """Of several times that were missed only the latest counts."""
    latest = schedule.last_until(now, after=earliest)
    first = schedule.next_after(earliest)
    if latest is None or first is None:
        return _Missed(latest=latest)
    second = schedule.next_after(first)
    if second is None or second > now:
        return _Missed(latest=latest)
    return _Missed(latest=latest, too_many=(now - first) // (second - first) + 1 > TOO_MANY)


def _may_start(look: _CronLook, due: datetime, active: list[Job]) -> bool:
    spec = look.cron_job.spec
    deadline = spec.starting_deadline_seconds
    if deadline is not None and due + timedelta(seconds=min(deadline, LONGEST_DEADLINE)) < look.now:
        at = due.astimezone(UTC).strftime("%a, %d %b %Y %H:%M:%S +0000")
        look.warn("MissSchedule", f"Missed scheduled time to start a job: {at}")
        return False
    if spec.concurrency_policy == "Forbid" and active:
        look.tell(
            "JobAlreadyActive",
            "Not starting job because prior execution is running and concurrency policy is Forbid",
        )
        return False
    return True


def _until_next(look: _CronLook, schedule: Schedule) -> timedelta:
    begin = _last_handled(look)
    latest = schedule.last_until(look.now, after=begin)
    following = schedule.next_after(latest or begin)
    wait = LOOK_AGAIN if following is None else following - look.now + MARGIN
    return min(max(wait, MARGIN), LOOK_AGAIN)


# What is reported


def _status(look: _CronLook, active: list[Job]) -> Document | None:
    """None: it says all that already."""
    before = look.cron_job.status
    known = {reference.uid: reference for reference in before.active}
    references = [known.get(job.uid) or active_reference(job) for job in active]
    last = max([*_started(look), *filter(None, [before.last_schedule_time])], default=None)
    succeeded = [job.status.completion_time for job in look.jobs if has_ended(job, "Complete")]
    success = max(
        [*filter(None, succeeded), *filter(None, [before.last_successful_time])], default=None
    )
    same = (list(before.active), before.last_schedule_time, before.last_successful_time)
    if (references, last, success) == same:
        return None
    status: Document = {"active": [active_document(r) for r in references] or None}
    times = {"lastScheduleTime": last, "lastSuccessfulTime": success}
    return status | {name: wire_time(at) for name, at in times.items() if at is not None}
