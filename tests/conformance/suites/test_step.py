"""The suites of `make conformance`."""

import pytest
from conformance.suites.run import SuiteOutcome
from conformance.suites.serving import SUITES
from conformance.suites.step import NAMES, SUBJECT, Ended

REQUIRED = (
    "volume volumescheduling storageclasses statefulset deployment evictions disruption"
    " garbagecollector quota dryrun apiserver/apply serviceaccount pods"
)
PRINTED = """\
=== RUN   TestBroken
    volume_test.go:7: not bound
--- FAIL: TestBroken (1.00s)
"""


def test_the_suites_about_storage_workloads_and_the_api_run() -> None:
    assert sorted(NAMES) == sorted(REQUIRED.split())
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_left_out_here_that_runs_elsewhere(name: str) -> None:
    assert SUBJECT.suites[name] == SUITES[name]


def test_a_test_that_did_not_pass_is_told_with_its_words() -> None:
    outcome = SuiteOutcome(passed=["TestGood"], failed=["TestBroken"])
    (told,) = Ended("volume", outcome, PRINTED).problems
    assert told.startswith("volume: TestBroken:")
    assert "not bound" in told


def test_a_suite_in_which_nothing_has_passed_has_failed() -> None:
    (told,) = Ended("volume", SuiteOutcome(), "panic: no server").problems
    assert "panic: no server" in told


def test_a_suite_that_has_passed_is_no_problem() -> None:
    assert Ended("volume", SuiteOutcome(passed=["TestGood"]), "").problems == []
