from typing import Any

from plimsoll.api.pods import Pod
from plimsoll.decide.workloads.job.pods import FINALIZER, INDEX
from plimsoll.decide.workloads.job.status import status_document, tally_of
from tests.decide.workloads.objects import NOW, a_job, a_pod


def tracked(name: str, phase: str, **metadata: Any) -> Pod:
    return a_pod(name, phase=phase, finalizers=(FINALIZER,), **metadata)


def test_a_finished_pod_is_listed_until_its_finalizer_is_gone_and_counted_from_then_on() -> None:
    job = a_job()
    first = tally_of(job, (tracked("a", "Succeeded"),), will_fail=False)
    assert (first.counted_succeeded, first.listed_succeeded) == (0, ("uid-a",))
    stored = a_job(status=status_document(first.status_fields()))
    again = tally_of(stored, (tracked("a", "Succeeded"),), will_fail=False)
    assert again == first
    counted = tally_of(stored, (a_pod("a", phase="Succeeded"),), will_fail=False)
    assert (counted.counted_succeeded, counted.listed_succeeded) == (1, ())
    gone = tally_of(stored, (), will_fail=False)
    assert gone == counted
    assert first.succeeded == counted.succeeded == 1


def test_indexes_are_complete_once_however_many_pods_had_them() -> None:
    job = a_job(completionMode="Indexed", completions=3, status={"completedIndexes": "0"})
    pods = tuple(
        tracked(name, "Succeeded", annotations={INDEX: index})
        for name, index in (("a", "0"), ("b", "2"), ("c", "9"))
    )
    tally = tally_of(job, pods, will_fail=False)
    assert tally.completed == frozenset({0, 2})
    assert tally.succeeded == 2
    assert tally.listed_succeeded  # kept out of the status: indexes need no list
    assert status_document(tally.status_fields())["uncountedTerminatedPods"]["succeeded"] is None
    assert status_document(tally.status_fields())["completedIndexes"] == "0,2"


def test_when_the_job_fails_every_pod_that_leaves_counts_as_failed() -> None:
    job = a_job(podReplacementPolicy="Failed")
    leaving = tracked("a", "Running", deletion_timestamp=NOW)
    assert tally_of(job, (leaving,), will_fail=False).failed == 0
    assert tally_of(job, (leaving,), will_fail=True).failed == 1
    assert tally_of(job, (tracked("b", "Running"),), will_fail=True).failed == 0
