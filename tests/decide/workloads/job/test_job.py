from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from plimsoll.api.meta import wire_time
from plimsoll.api.pods import ContainerStatus, Pod
from plimsoll.api.registry import Document
from plimsoll.api.workloads import Job
from plimsoll.decide.plan import Delete
from plimsoll.decide.workloads.job.job import JobSteps, decide_job
from plimsoll.decide.workloads.job.pods import FINALIZER, INDEX
from tests.decide.workloads.objects import (
    NOW,
    a_job,
    a_pod,
    made,
    status_in,
    suffixes,
    template,
    told,
)

START = {"startTime": wire_time(NOW - timedelta(minutes=10))}


def tracked(name: str, phase: str = "Running", **metadata: Any) -> Pod:
    return a_pod(name, phase=phase, finalizers=(FINALIZER,), **metadata)


def decided(job: Job, *pods: Pod) -> JobSteps:
    return decide_job(job, pods, suffixes(), NOW)


def conditions(steps: JobSteps) -> list[str]:
    return [c["type"] for c in status_in(steps.report).get("conditions", [])]


def holding(*types: str) -> list[Document]:
    at = wire_time(NOW - timedelta(minutes=1))
    return [
        {"type": t, "status": "True", "reason": "R", "message": "m", "lastTransitionTime": at}
        for t in types
    ]


def test_a_job_starts_as_many_pods_as_may_run_at_once() -> None:
    steps = decided(a_job(completions=5, parallelism=2))
    assert made(steps.act) == ["create pods work-00000", "create pods work-00001"]
    assert status_in(steps.report)["startTime"] == wire_time(NOW)


def test_no_more_pods_are_started_than_completions_are_missing() -> None:
    job = a_job(completions=3, parallelism=3, status=START | {"succeeded": 2})
    assert len(made(decided(job).act)) == 1
    assert made(decided(job, tracked("a")).act) == []


def test_a_job_without_completions_ends_with_its_first_success() -> None:
    job = a_job(completions=None, parallelism=2, status=START)
    steps = decided(job, tracked("a", "Succeeded"), tracked("b"))
    assert made(steps.act) == []
    assert conditions(steps) == []
    assert conditions(decided(job, tracked("a", "Succeeded"))) == ["SuccessCriteriaMet"]


def test_the_uid_is_stored_before_the_finalizer_is_removed() -> None:
    steps = decided(a_job(completions=2, status=START), tracked("a", "Succeeded"))
    assert made(steps.report) == ["patch jobs work", "patch pods a"]
    uncounted = status_in(steps.report)["uncountedTerminatedPods"]
    assert uncounted["succeeded"] == ["uid-a"]


def test_the_end_is_told_when_every_pod_is_counted() -> None:
    aim = START | {"conditions": holding("SuccessCriteriaMet")}
    waiting = decided(a_job(status=aim), tracked("a", "Succeeded"))
    assert "Complete" not in conditions(waiting)
    done = decided(a_job(status=aim | {"succeeded": 1}), a_pod("a", phase="Succeeded"))
    assert conditions(done) == ["SuccessCriteriaMet", "Complete"]
    assert status_in(done.report)["completionTime"] == wire_time(NOW)
    assert told(done.report) == ["Completed"]


def test_too_many_failures_end_the_job_and_its_pods() -> None:
    job = a_job(backoffLimit=1, parallelism=2, completions=2, status=START | {"failed": 1})
    steps = decided(job, tracked("a", "Failed"), tracked("b"))
    assert made(steps.act) == ["delete pods b"]
    assert conditions(steps) == ["FailureTarget"]
    assert status_in(steps.report)["uncountedTerminatedPods"]["failed"] == ["uid-a"]
    later = a_job(status=START | {"failed": 3, "conditions": holding("FailureTarget")})
    leaving = tracked("b", deletion_timestamp=NOW)
    assert "Failed" not in conditions(decided(later, leaving))
    assert conditions(decided(later)) == ["FailureTarget", "Failed"]
    assert told(decided(later).report) == ["R"]


def test_restarts_in_place_count_against_the_limit_too() -> None:
    job = a_job(backoffLimit=2, template=template(restartPolicy="OnFailure"), status=START)
    pod = tracked("a")
    restarted = structs.replace(
        pod,
        status=structs.replace(
            pod.status, container_statuses=(ContainerStatus(name="main", restart_count=2),)
        ),
    )
    assert conditions(decided(job, restarted)) == ["FailureTarget"]
    assert conditions(decided(job, pod)) == []


def test_a_job_has_to_be_done_by_its_deadline() -> None:
    in_time = decided(a_job(activeDeadlineSeconds=700, status=START), tracked("a"))
    assert in_time.report.recheck_after == timedelta(seconds=100)
    late = decided(a_job(activeDeadlineSeconds=600, status=START), tracked("a"))
    assert made(late.act) == ["delete pods a"]
    assert conditions(late) == ["FailureTarget"]


def test_after_a_failure_the_next_pod_waits() -> None:
    failed = tracked("a", "Failed", since=NOW - timedelta(seconds=4))
    steps = decided(a_job(status=START), failed)
    assert made(steps.act) == []
    assert steps.report.recheck_after == timedelta(seconds=6)


def test_pods_that_are_not_needed_are_deleted_without_being_counted() -> None:
    job = a_job(completions=5, parallelism=1, status=START)
    steps = decided(job, tracked("a"), tracked("b", ready=False))
    assert made(steps.act) == ["patch pods b", "delete pods b"]
    suspended = decided(a_job(suspend=True, status=START), tracked("a"))
    assert made(suspended.act) == ["patch pods a", "delete pods a"]
    assert conditions(suspended) == ["Suspended"]
    assert told(suspended.report) == ["Suspended"]


def test_a_resumed_job_gets_its_whole_time_again() -> None:
    job = a_job(status=START | {"conditions": holding("Suspended")})
    status = status_in(decided(job).report)
    assert status["startTime"] == wire_time(NOW)
    assert status["conditions"][0]["status"] == "False"


def test_an_indexed_job_has_one_pod_for_each_index() -> None:
    def at(name: str, index: str, **pod: Any) -> Pod:
        return tracked(name, annotations={INDEX: index}, **pod)

    job = a_job(
        completionMode="Indexed",
        completions=4,
        parallelism=3,
        status=START | {"completedIndexes": "0", "succeeded": 1},
    )
    steps = decided(job, at("a", "2"))
    assert made(steps.act) == ["create pods work-1-00000", "create pods work-3-00001"]
    doubled = decided(job, at("a", "2"), at("b", "2", ready=False), at("c", "1"))
    assert made(doubled.act) == ["patch pods b", "delete pods b"]


def test_terminating_pods_are_replaced_at_once_or_when_they_are_gone() -> None:
    leaving = a_pod("a", deletion_timestamp=NOW)
    assert len(made(decided(a_job(status=START), leaving).act)) == 1
    patient = a_job(podReplacementPolicy="Failed", status=START)
    assert made(decided(patient, leaving).act) == []


@pytest.mark.parametrize(
    "spec",
    [
        {"podFailurePolicy": {"rules": []}},
        {"successPolicy": {"rules": []}},
        {"backoffLimitPerIndex": 1},
        {"maxFailedIndexes": 1},
    ],
    ids=lambda spec: next(iter(spec)),
)
def test_what_is_not_supported_is_refused_by_name(spec: Document) -> None:
    steps = decided(a_job(**spec))
    assert made(steps.act) == made(steps.report) == []
    assert told(steps.report) == ["UnsupportedField"]
    (event,) = steps.report.writes
    assert f"spec.{next(iter(spec))}" in event.message  # type: ignore[union-attr]  # it is an event


def test_a_job_of_another_controller_is_left_to_it() -> None:
    assert decided(a_job(managedBy="example.com/jobs")) == JobSteps()


def test_a_finished_job_is_deleted_after_its_time_to_live() -> None:
    ended = {"conditions": holding("Complete")}
    assert decided(a_job(status=ended)) == JobSteps()
    fresh = decided(a_job(ttlSecondsAfterFinished=100, status=ended))
    assert fresh.report.recheck_after == timedelta(seconds=40)
    (write,) = decided(a_job(ttlSecondsAfterFinished=60, status=ended)).report.writes
    assert isinstance(write, Delete)
    assert (write.key.name, write.uid) == ("work", "uid-work")


def test_a_job_that_is_being_deleted_lets_its_pods_go() -> None:
    job = a_job(status=START)
    leaving = structs.replace(job, metadata=structs.replace(job.metadata, deletion_timestamp=NOW))
    steps = decided(leaving, tracked("a"))
    assert made(steps.act) == []
    assert "patch pods a" in made(steps.report)
    assert "patch pods b" not in made(decided(leaving, a_pod("b")).report)


def test_a_pod_that_was_adopted_is_counted_like_the_others() -> None:
    assert made(decided(a_job(status=START), a_pod("a")).report)[-1] == "patch pods a"
