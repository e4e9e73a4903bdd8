from datetime import timedelta

import pytest
from msgspec import structs

from plimsoll.api.meta import Condition
from plimsoll.api.pods import ContainerStatus
from plimsoll.api.registry import Document
from plimsoll.decide.workloads.job.verdict import (
    find_end,
    find_recorded_verdict,
    is_over_limit,
    time_to_deadline,
)
from tests.decide.workloads.objects import NOW, a_job, a_pod, template


@pytest.mark.parametrize(
    ("aim", "end"), [("SuccessCriteriaMet", "Complete"), ("FailureTarget", "Failed")]
)
def test_a_verdict_that_was_recorded_stays(aim: str, end: str) -> None:
    found = find_recorded_verdict((Condition(type=aim, status="True", reason="R", message="m"),))
    assert found is not None
    assert (found.end, found.reason, found.message) == (end, "R", "m")
    assert find_recorded_verdict((Condition(type=aim, status="False"),)) is None


def test_a_job_has_ended_when_its_condition_holds() -> None:
    assert find_end(a_job()) is None
    assert find_end(a_job(status={"conditions": [{"type": "Failed", "status": "False"}]})) is None
    found = find_end(a_job(status={"conditions": [{"type": "Complete", "status": "True"}]}))
    assert found is not None
    assert found.type == "Complete"


@pytest.mark.parametrize(
    ("spec", "failed", "expected"),
    [
        pytest.param({"backoffLimit": 2}, 2, False, id="as-many-as-allowed"),
        pytest.param({"backoffLimit": 2}, 3, True, id="one-more"),
        pytest.param({"backoffLimit": None}, 6, False, id="six-unless-told-otherwise"),
    ],
)
def test_failures_are_limited(spec: Document, failed: int, *, expected: bool) -> None:
    assert is_over_limit(a_job(**spec), (), failed) is expected


@pytest.mark.parametrize(("policy", "expected"), [("OnFailure", True), ("Never", False)])
def test_restarts_count_only_where_containers_are_restarted(policy: str, *, expected: bool) -> None:
    job = a_job(backoffLimit=1, template=template(restartPolicy=policy))
    pod = a_pod("a", phase="Running")
    restarted = (ContainerStatus(name="main", restart_count=1),)
    pod = structs.replace(pod, status=structs.replace(pod.status, container_statuses=restarted))
    assert is_over_limit(job, (pod,), 0) is expected


def test_a_deadline_counts_from_the_start_and_not_in_suspension() -> None:
    started_at = NOW - timedelta(seconds=20)
    job = a_job(activeDeadlineSeconds=30)
    assert time_to_deadline(job, started_at, NOW) == timedelta(seconds=10)
    assert time_to_deadline(job, None, NOW) is None
    assert time_to_deadline(a_job(), started_at, NOW) is None
    suspended = a_job(activeDeadlineSeconds=30, suspend=True)
    assert time_to_deadline(suspended, started_at, NOW) is None
