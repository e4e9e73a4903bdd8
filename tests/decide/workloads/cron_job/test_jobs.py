from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from msgspec import structs

from plimsoll.api.meta import Condition
from plimsoll.api.workloads import CronJob, CronJobSpec, Job, JobStatus
from plimsoll.decide.workloads.cron_job.jobs import (
    SCHEDULED_AT,
    active_document,
    active_reference,
    has_ended,
    job_document,
    scheduled_for,
)
from tests.builders import meta

DUE = datetime(2024, 1, 1, 12, 10, tzinfo=UTC)


def a_job(**annotations: str) -> Job:
    metadata = structs.replace(meta("nightly-1", "default"), annotations=annotations)
    return Job(metadata=metadata)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("2024-01-01T12:10:00Z", DUE, id="utc"),
        pytest.param("2024-01-01T13:10:00+01:00", DUE, id="another-zone"),
        pytest.param("2024-01-01T12:10:00", None, id="no-zone"),
        pytest.param("soon", None, id="no-time"),
    ],
)
def test_a_job_tells_the_time_that_it_was_scheduled_for(
    text: str, expected: datetime | None
) -> None:
    assert scheduled_for(a_job(**{SCHEDULED_AT: text})) == expected


def test_a_job_that_a_user_started_was_not_scheduled() -> None:
    assert scheduled_for(a_job()) is None


def test_a_new_job_has_the_template_and_the_time_in_the_zone_of_the_schedule() -> None:
    template = {"metadata": {"labels": {"app": "nightly"}}, "spec": {"backoffLimit": 2}}
    cron_job = CronJob(
        metadata=meta("nightly", "default"),
        spec=CronJobSpec(schedule="@hourly", job_template=template),
    )
    document = job_document(cron_job, DUE, ZoneInfo("Europe/Berlin"))
    assert document["metadata"]["name"] == f"nightly-{int(DUE.timestamp()) // 60}"
    assert document["metadata"]["labels"] == {"app": "nightly"}
    assert document["metadata"]["annotations"] == {SCHEDULED_AT: "2024-01-01T13:10:00+01:00"}
    assert document["spec"] == template["spec"]
    assert document["spec"] is not template["spec"]


def test_a_job_has_ended_in_one_way() -> None:
    complete = (Condition(type="Complete", status="True"),)
    job = structs.replace(a_job(), status=JobStatus(conditions=complete))
    assert has_ended(job, "Complete")
    assert not has_ended(job, "Failed")
    assert not has_ended(a_job(), "Complete")


def test_the_status_names_an_active_job_with_its_uid() -> None:
    job = a_job()
    document = active_document(active_reference(job))
    assert (document["kind"], document["name"], document["uid"]) == ("Job", job.name, job.uid)
