"""Which jobs of a CronJob are started, noted and deleted."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec import structs

from plimsoll.api.meta import Condition, ObjectReference
from plimsoll.api.registry import Document
from plimsoll.api.workloads import CronJob, CronJobSpec, CronJobStatus, Job, JobStatus
from plimsoll.decide.plan import Create, Delete, Emit, Patch, Plan
from plimsoll.decide.workloads.cron_job.cron_job import decide_cron_job
from plimsoll.decide.workloads.cron_job.jobs import SCHEDULED_AT
from tests.builders import meta

CREATED = datetime(2024, 1, 1, 12, 0, 30, tzinfo=UTC)
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


def minutes(number: float) -> datetime:
    return NOON + timedelta(minutes=number)


def a_cron_job(*, status: CronJobStatus | None = None, **spec: Any) -> CronJob:
    template = {
        "metadata": {"labels": {"app": "nightly"}, "annotations": {"note": "x"}},
        "spec": {"backoffLimit": 2},
    }
    whole: dict[str, Any] = {
        "schedule": "*/10 * * * *",
        "job_template": template,
        "successful_jobs_history_limit": 3,
        "failed_jobs_history_limit": 1,
    } | spec
    metadata = structs.replace(meta("nightly", "default"), creation_timestamp=CREATED)
    return CronJob(metadata=metadata, spec=CronJobSpec(**whole), status=status or CronJobStatus())


def a_job(at: datetime | None, *, end: str = "", finished: datetime | None = None) -> Job:
    """One that was scheduled for a time; None: a user has started it."""
    name = f"nightly-{int(at.timestamp()) // 60}" if at else "by-hand"
    annotations = {SCHEDULED_AT: at.isoformat()} if at else {}
    conditions = (Condition(type=end, status="True"),) if end else ()
    return Job(
        metadata=structs.replace(meta(name, "default"), annotations=annotations),
        status=JobStatus(start_time=at, completion_time=finished, conditions=conditions),
    )


def running(*jobs: Job, last: datetime | None = None) -> CronJobStatus:
    references = tuple(
        ObjectReference(kind="Job", namespace="default", name=job.name, uid=job.uid) for job in jobs
    )
    return CronJobStatus(active=references, last_schedule_time=last)


def created(plan: Plan) -> list[str]:
    return [write.key.name for write in plan.writes if isinstance(write, Create)]


def deleted(plan: Plan) -> list[str]:
    return [write.key.name for write in plan.writes if isinstance(write, Delete)]


def reasons(plan: Plan) -> list[str]:
    return [write.reason for write in plan.writes if isinstance(write, Emit)]


def status_of(plan: Plan) -> Document:
    (patch,) = (write for write in plan.writes if isinstance(write, Patch))
    status: Document = patch.patch["status"]
    return status


def name_at(moment: datetime) -> str:
    return f"nightly-{int(moment.timestamp()) // 60}"


def test_nothing_is_started_before_the_first_time_has_come() -> None:
    plan = decide_cron_job(a_cron_job(), [], minutes(9))
    assert plan.writes == ()
    assert plan.recheck_after == timedelta(minutes=1, milliseconds=100)


def test_a_job_is_started_when_its_time_has_come() -> None:
    plan = decide_cron_job(a_cron_job(time_zone="Europe/Berlin"), [], minutes(10))
    made = next(write.document for write in plan.writes if isinstance(write, Create))
    assert made == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "namespace": "default",
            "name": name_at(minutes(10)),
            "labels": {"app": "nightly"},
            "annotations": {"note": "x", SCHEDULED_AT: "2024-01-01T13:10:00+01:00"},
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "CronJob",
                    "name": "nightly",
                    "uid": "uid-default-nightly",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {"backoffLimit": 2},
    }
    assert reasons(plan) == ["SuccessfulCreate"]


def test_a_job_that_exists_is_not_started_again_and_gets_into_the_status() -> None:
    """So it goes on after a crash between the creation and the report."""
    job = a_job(minutes(10))
    plan = decide_cron_job(a_cron_job(), [job], minutes(11))
    assert created(plan) == []
    status = status_of(plan)
    assert status["lastScheduleTime"] == "2024-01-01T12:10:00Z"
    assert [reference["uid"] for reference in status["active"]] == [job.uid]


def test_of_several_missed_times_the_latest_is_made_up_for() -> None:
    plan = decide_cron_job(a_cron_job(), [], minutes(47))
    assert created(plan) == [name_at(minutes(40))]
    assert reasons(plan) == ["SuccessfulCreate"]


def test_more_than_a_hundred_missed_times_are_complained_about() -> None:
    plan = decide_cron_job(a_cron_job(), [], minutes(10 * 101))
    assert "TooManyMissedTimes" in reasons(plan)
    assert created(plan) == [name_at(minutes(10 * 101))]
    plan = decide_cron_job(a_cron_job(starting_deadline_seconds=3600), [], minutes(10 * 101))
    assert "TooManyMissedTimes" not in reasons(plan)


@pytest.mark.parametrize(
    ("deadline", "late", "names"),
    [
        pytest.param(30, 0.4, [name_at(minutes(10))], id="in-time"),
        pytest.param(30, 0.6, [], id="too-late"),
        pytest.param(None, 9, [name_at(minutes(10))], id="without-deadline"),
    ],
)
def test_a_job_is_started_only_within_its_deadline(
    deadline: int | None, late: float, names: list[str]
) -> None:
    cron_job = a_cron_job(starting_deadline_seconds=deadline)
    assert created(decide_cron_job(cron_job, [], minutes(10 + late))) == names


@pytest.mark.parametrize(
    ("policy", "starts", "ends", "told"),
    [
        pytest.param("Allow", True, False, ["SuccessfulCreate"], id="allow"),
        pytest.param("Forbid", False, False, ["JobAlreadyActive"], id="forbid"),
        pytest.param("Replace", True, True, ["SuccessfulDelete", "SuccessfulCreate"], id="replace"),
    ],
)
def test_what_happens_when_the_job_before_still_runs(
    policy: str, *, starts: bool, ends: bool, told: list[str]
) -> None:
    job = a_job(minutes(10))
    cron_job = a_cron_job(concurrency_policy=policy, status=running(job, last=minutes(10)))
    plan = decide_cron_job(cron_job, [job], minutes(20))
    assert created(plan) == ([name_at(minutes(20))] if starts else [])
    assert deleted(plan) == ([job.name] if ends else [])
    assert reasons(plan) == told


def test_a_suspended_cron_job_starts_nothing() -> None:
    assert created(decide_cron_job(a_cron_job(suspend=True), [], minutes(25))) == []


def test_a_job_that_ends_leaves_the_status_and_its_success_is_noted() -> None:
    job = a_job(minutes(10), end="Complete", finished=minutes(11))
    cron_job = a_cron_job(status=running(job, last=minutes(10)))
    plan = decide_cron_job(cron_job, [job], minutes(12))
    assert status_of(plan) == {
        "active": None,
        "lastScheduleTime": "2024-01-01T12:10:00Z",
        "lastSuccessfulTime": "2024-01-01T12:11:00Z",
    }
    assert reasons(plan) == ["SawCompletedJob"]


def test_a_job_that_was_deleted_leaves_the_status() -> None:
    cron_job = a_cron_job(status=running(a_job(minutes(10)), last=minutes(10)))
    plan = decide_cron_job(cron_job, [], minutes(12))
    assert status_of(plan)["active"] is None
    assert (created(plan), reasons(plan)) == ([], ["MissingJob"])


def test_the_oldest_jobs_beyond_the_limits_are_deleted() -> None:
    done = [a_job(minutes(n), end="Complete", finished=minutes(n + 1)) for n in (10, 20, 30, 40)]
    failed = [a_job(minutes(n), end="Failed") for n in (15, 25)]
    cron_job = a_cron_job(status=CronJobStatus(last_schedule_time=minutes(40)))
    plan = decide_cron_job(cron_job, [*done, *failed], minutes(41))
    assert deleted(plan) == [done[0].name, failed[0].name]


def test_a_job_that_a_user_has_started_does_not_hold_up_the_schedule() -> None:
    plan = decide_cron_job(a_cron_job(concurrency_policy="Forbid"), [a_job(None)], minutes(10))
    assert created(plan) == [name_at(minutes(10))]
    assert reasons(plan) == ["UnexpectedJob", "SuccessfulCreate"]


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"schedule": "0 0 31 2 *"}, "InvalidSchedule"),
        ({"schedule": "@every x"}, "UnparseableSchedule"),
        ({"time_zone": "Nowhere/City"}, "UnknownTimeZone"),
    ],
)
def test_what_cannot_be_scheduled_is_told(spec: dict[str, Any], reason: str) -> None:
    plan = decide_cron_job(a_cron_job(**spec), [], minutes(30))
    assert (created(plan), reasons(plan)) == ([], [reason])


def test_an_interval_counts_from_the_last_job() -> None:
    cron_job = a_cron_job(schedule="@every 7m", status=CronJobStatus(last_schedule_time=minutes(3)))
    plan = decide_cron_job(cron_job, [], minutes(9))
    assert created(plan) == []
    assert plan.recheck_after == timedelta(minutes=1, milliseconds=100)
    assert created(decide_cron_job(cron_job, [], minutes(10))) == [name_at(minutes(10))]
