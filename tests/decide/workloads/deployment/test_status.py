from datetime import timedelta
from typing import Any

from msgspec import structs

from plimsoll.api.workloads import Deployment, ReplicaStatus, RolloutCondition
from plimsoll.decide.workloads.deployment.status import (
    PROGRESSING,
    Sets,
    condition,
    find_progress,
    is_complete,
    status_of,
    time_to_deadline,
    with_condition,
    with_progress,
)
from tests.decide.workloads.objects import NOW, a_deployment, a_replica_set

EARLIER = NOW - timedelta(minutes=5)


def told(status: str = "True", reason: str = "R", minutes_ago: int = 5) -> RolloutCondition:
    at = NOW - timedelta(minutes=minutes_ago)
    return condition(PROGRESSING, status, reason, "text", at=at)


def a_status(deployment: Deployment, sets: Sets) -> ReplicaStatus:
    conditions = deployment.status.conditions
    return with_progress(deployment, sets, status_of(deployment, sets, conditions, NOW), NOW)


def reported(deployment: Deployment, **counts: Any) -> Deployment:
    return structs.replace(deployment, status=ReplicaStatus(**counts))


def progress(deployment: Deployment, sets: Sets) -> tuple[str, str]:
    found = find_progress(a_status(deployment, sets).conditions)
    return (found.status, found.reason) if found else ("", "")


DONE = Sets(new=a_replica_set("new", replicas=3, available=3), old=())
STUCK = Sets(
    new=a_replica_set("new", replicas=1), old=(a_replica_set("old", replicas=3, available=3),)
)
STUCK_COUNTS = {
    "replicas": 4,
    "updated_replicas": 1,
    "ready_replicas": 3,
    "available_replicas": 3,
}


def test_a_condition_told_again_stays_as_it_was() -> None:
    known = (told(),)
    assert with_condition(known, told(minutes_ago=0)) == known


def test_another_reason_does_not_change_the_time_of_the_transition() -> None:
    (changed,) = with_condition((told(),), told(reason="S", minutes_ago=0))
    assert (changed.last_transition_time, changed.last_update_time) == (EARLIER, NOW)
    (turned,) = with_condition((told(),), told(status="False", minutes_ago=0))
    assert turned.last_transition_time == NOW


def test_counts_are_those_of_all_sets() -> None:
    status = status_of(a_deployment(), STUCK, (), NOW)
    assert (status.replicas, status.updated_replicas, status.available_replicas) == (4, 1, 3)
    assert status.unavailable_replicas == 1
    (available,) = status.conditions
    assert (available.type, available.status) == ("Available", "True")


def test_too_few_pods_that_serve_are_told() -> None:
    status = status_of(a_deployment(), Sets(new=a_replica_set("new"), old=()), (), NOW)
    assert status.conditions[0].reason == "MinimumReplicasUnavailable"


def test_a_rollout_is_done_when_every_pod_is_new_and_serves() -> None:
    assert progress(a_deployment(), DONE) == ("True", "NewReplicaSetAvailable")
    assert is_complete(a_deployment(), a_status(a_deployment(), DONE))
    assert not is_complete(a_deployment(), a_status(a_deployment(), STUCK))


def test_more_new_pods_are_progress() -> None:
    before = reported(a_deployment(), replicas=3, conditions=(told(),))
    assert progress(before, STUCK) == ("True", "ReplicaSetUpdated")


def test_without_progress_the_deadline_runs_out() -> None:
    waiting = reported(a_deployment(), **STUCK_COUNTS, conditions=(told(minutes_ago=5),))
    assert progress(waiting, STUCK) == ("True", "R")
    late = reported(a_deployment(), **STUCK_COUNTS, conditions=(told(minutes_ago=11),))
    assert progress(late, STUCK) == ("False", "ProgressDeadlineExceeded")


def test_without_a_deadline_nothing_is_said_about_progress() -> None:
    patient = a_deployment(progressDeadlineSeconds=None)
    assert progress(reported(patient, conditions=(told(),)), STUCK) == ("", "")


def test_the_next_look_is_when_the_deadline_has_passed() -> None:
    deployment = a_deployment()
    status = ReplicaStatus(conditions=(told(minutes_ago=4),))
    assert time_to_deadline(deployment, status, NOW) == timedelta(minutes=6, seconds=1)
    late = ReplicaStatus(conditions=(told(reason="ProgressDeadlineExceeded"),))
    assert time_to_deadline(deployment, late, NOW) is None
    assert time_to_deadline(deployment, a_status(deployment, DONE), NOW) is None


def test_the_trouble_of_the_new_set_is_passed_on_before_that_of_others() -> None:
    def troubled(name: str) -> Any:
        set_ = a_replica_set(name)
        failure = RolloutCondition(type="ReplicaFailure", status="True", message=name)
        return structs.replace(set_, status=structs.replace(set_.status, conditions=(failure,)))

    sets = Sets(new=troubled("new"), old=(troubled("old"),))
    messages = [c.message for c in a_status(a_deployment(), sets).conditions]
    assert "new" in messages
    assert "old" not in messages
