from msgspec import structs

from plimsoll.api.pods import Pod
from plimsoll.api.typed import from_document
from plimsoll.api.workloads import ReplicaSet, ReplicaStatus
from plimsoll.decide.plan import Create
from plimsoll.decide.workloads.replica_set import (
    BURST,
    ReplicaSetView,
    decide_replica_set,
    decide_replica_set_report,
)
from tests.decide.workloads.objects import (
    NOW,
    a_pod,
    a_replica_set,
    made,
    meta,
    status_in,
    suffixes,
    told,
)


def seen(*pods: Pod) -> ReplicaSetView:
    return ReplicaSetView(active=pods, now=NOW)


def test_missing_pods_are_made_under_fresh_names() -> None:
    plan = decide_replica_set(a_replica_set("web"), seen(a_pod("web-x")), suffixes())
    assert made(plan) == ["create pods web-00000", "create pods web-00001"]
    assert told(plan) == ["SuccessfulCreate"] * 2
    create = plan.writes[0]
    assert isinstance(create, Create)
    assert create.document["metadata"]["ownerReferences"][0]["uid"] == "uid-web"


def test_surplus_pods_are_deleted_the_broken_ones_first() -> None:
    pods = [a_pod("a"), a_pod("b", ready=False), a_pod("c", phase="Pending")]
    plan = decide_replica_set(a_replica_set(replicas=1), seen(*pods), suffixes())
    assert made(plan) == ["delete pods c", "delete pods b"]


def test_no_more_than_a_burst_is_made_at_once() -> None:
    plan = decide_replica_set(a_replica_set(replicas=BURST + 7), seen(), suffixes())
    assert len(made(plan)) == BURST


def test_a_set_that_is_being_deleted_makes_no_pods() -> None:
    leaving = a_replica_set("web", deletion_timestamp=NOW)
    assert made(decide_replica_set(leaving, seen(), suffixes())) == []


def test_the_report_counts_pods_by_what_they_can_do() -> None:
    pods = (a_pod("a"), a_pod("b", ready=False), a_pod("c", labels={"app": "web", "x": "y"}))
    world = ReplicaSetView(active=pods, leaving=(a_pod("d"),), now=NOW)
    status = status_in(decide_replica_set_report(fresh(), world, problem=""))
    assert status["replicas"] == status["fullyLabeledReplicas"] == 3
    assert status["readyReplicas"] == status["availableReplicas"] == 2
    assert status["terminatingReplicas"] == 1


def fresh() -> ReplicaSet:
    return structs.replace(a_replica_set("web"), status=ReplicaStatus())


def test_a_failure_is_told_once_and_taken_back_when_it_is_over() -> None:
    failing = decide_replica_set_report(fresh(), seen(), problem="quota")
    (condition,) = status_in(failing)["conditions"]
    assert (condition["type"], condition["reason"]) == ("ReplicaFailure", "FailedCreate")
    assert condition["message"] == "quota"
    known = structs.replace(fresh(), status=from_document(ReplicaStatus, status_in(failing)))
    assert decide_replica_set_report(known, seen(), problem="quota again").writes == ()
    healed = decide_replica_set_report(known, seen(a_pod()), problem="")
    assert status_in(healed)["conditions"] == []


def test_nothing_new_is_nothing_to_write() -> None:
    status = ReplicaStatus(
        observed_generation=1,
        replicas=1,
        fully_labeled_replicas=1,
        ready_replicas=1,
        available_replicas=1,
        terminating_replicas=0,
    )
    known = structs.replace(a_replica_set("web", replicas=1), metadata=meta("web"), status=status)
    assert decide_replica_set_report(known, seen(a_pod()), problem="").writes == ()
