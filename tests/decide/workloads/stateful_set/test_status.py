from datetime import timedelta

from plimsoll.decide.workloads.stateful_set.status import (
    ReportedRevisions,
    known_status,
    status_document,
)
from tests.decide.workloads.objects import NOW, a_pod, a_stateful_pod, a_stateful_set

BOTH = ReportedRevisions(current="web-old", update="web-new", collisions=0)


def test_pods_are_counted_by_revision_readiness_and_availability() -> None:
    set_ = a_stateful_set(replicas=4, minReadySeconds=60)
    pods = [
        a_stateful_pod(set_, 0, "web-old"),
        a_stateful_pod(set_, 1, "web-old", ready=False),
        a_stateful_pod(set_, 2, "web-new", since=NOW - timedelta(seconds=30)),
        a_stateful_pod(set_, 3, "web-new", deletion_timestamp=NOW),
        a_pod("stray"),
    ]
    status = status_document(set_, pods, BOTH, NOW)
    assert (status["replicas"], status["readyReplicas"], status["availableReplicas"]) == (4, 3, 2)
    assert (status["currentReplicas"], status["updatedReplicas"]) == (2, 1)
    assert (status["currentRevision"], status["updateRevision"]) == ("web-old", "web-new")


def test_pods_that_are_about_to_be_updated_do_not_count_as_current_any_more() -> None:
    set_ = a_stateful_set(replicas=2)
    pods = [a_stateful_pod(set_, ordinal, "web-old") for ordinal in (0, 1)]
    revisions = ReportedRevisions(current="web-old", update="web-new", collisions=0, updating=1)
    assert status_document(set_, pods, revisions, NOW)["currentReplicas"] == 1


def test_when_all_pods_are_updated_the_new_revision_is_the_current_one() -> None:
    set_ = a_stateful_set(replicas=2)
    pods = [a_stateful_pod(set_, ordinal, "web-new") for ordinal in (0, 1)]
    status = status_document(set_, pods, BOTH, NOW)
    assert (status["currentRevision"], status["currentReplicas"]) == ("web-new", 2)
    by_hand = a_stateful_set(replicas=2, updateStrategy={"type": "OnDelete"})
    assert status_document(by_hand, pods, BOTH, NOW)["currentRevision"] == "web-old"


def test_a_status_that_was_stored_is_known() -> None:
    set_ = a_stateful_set(replicas=1)
    status = status_document(set_, [a_stateful_pod(set_, 0, "web-new")], BOTH, NOW)
    assert known_status(a_stateful_set(replicas=1, status=status)) == status
