from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, strategies as st

from plimsoll.api.pods import Pod
from plimsoll.decide.workloads.job.pods import (
    FINALIZER,
    INDEX,
    format_indexes,
    is_failed,
    parse_indexes,
    pause_left,
    pod_document,
    with_finalizer,
    without_finalizer,
)
from tests.decide.workloads.objects import NOW, a_job, a_pod


@given(st.sets(st.integers(0, 40)))
def test_indexes_are_read_as_they_are_written(indexes: set[int]) -> None:
    assert parse_indexes(format_indexes(indexes), 41) == indexes


@pytest.mark.parametrize(
    ("indexes", "text"),
    [(set(), ""), ({3}, "3"), ({1, 2}, "1,2"), ({0, 1, 2, 5, 7, 8, 9}, "0-2,5,7-9")],
)
def test_rows_of_three_and_more_are_ranges(indexes: set[int], text: str) -> None:
    assert format_indexes(indexes) == text


def test_indexes_that_make_no_sense_are_left_out() -> None:
    assert parse_indexes("0,x,3-,-2,5-99", 7) == {0, 3, 5, 6}


def test_a_pod_waits_to_be_counted() -> None:
    pod = pod_document(a_job(), "abcde", None)
    assert pod["metadata"]["name"] == "work-abcde"
    assert pod["metadata"]["finalizers"] == [FINALIZER]


def test_a_pod_of_an_indexed_job_knows_its_index() -> None:
    pod = pod_document(a_job("x" * 70), "abcde", 12)
    assert pod["metadata"]["name"] == "x" * 54 + "-12-abcde"
    assert pod["metadata"]["labels"][INDEX] == pod["metadata"]["annotations"][INDEX] == "12"
    assert pod["spec"]["hostname"].endswith("-12")
    (variable,) = pod["spec"]["containers"][0]["env"]
    assert variable["name"] == "JOB_COMPLETION_INDEX"


def test_finalizers_of_others_are_kept() -> None:
    pod = a_pod(finalizers=("a/b", FINALIZER))
    assert without_finalizer(pod).patch == {"metadata": {"finalizers": ["a/b"]}}
    assert with_finalizer(a_pod()).patch == {"metadata": {"finalizers": [FINALIZER]}}


def test_a_pod_that_is_deleted_has_failed_unless_its_end_is_waited_for() -> None:
    leaving = a_pod(deletion_timestamp=NOW)
    assert is_failed(a_job(), leaving)
    assert not is_failed(a_job(podReplacementPolicy="Failed"), leaving)
    assert is_failed(a_job(podReplacementPolicy="Failed"), a_pod(phase="Failed"))
    assert not is_failed(a_job(), a_pod(phase="Succeeded", deletion_timestamp=NOW))


def ended(phase: str, seconds_ago: int, **metadata: Any) -> Pod:
    at: datetime = NOW - timedelta(seconds=seconds_ago)
    return a_pod(f"{phase}-{seconds_ago}".lower(), phase=phase, since=at, **metadata)


@pytest.mark.parametrize(
    ("pods", "seconds"),
    [
        pytest.param([], 0, id="no-failure"),
        pytest.param([ended("Failed", 4)], 6, id="first-failure"),
        pytest.param([ended("Failed", 4), ended("Failed", 9)], 16, id="second-doubles"),
        pytest.param([ended("Failed", 9), ended("Succeeded", 4)], 0, id="success-forgives"),
        pytest.param([ended("Failed", 4), ended("Succeeded", 9)], 6, id="failure-after-success"),
        pytest.param([ended("Failed", n) for n in range(20)], 600, id="there-is-a-limit"),
        pytest.param([ended("Running", 4, deletion_timestamp=NOW)], 0, id="not-needed-any-more"),
    ],
)
def test_every_failure_since_the_last_success_doubles_the_pause(
    pods: list[Pod], seconds: int
) -> None:
    assert pause_left(a_job(), pods, NOW) == timedelta(seconds=seconds)
