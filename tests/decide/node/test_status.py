from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Network
from typing import Any

import msgspec

from plimsoll.api.meta import Condition
from plimsoll.api.pods import Container, Pod
from plimsoll.decide.node.admission import Rejection
from plimsoll.decide.node.status import (
    PodAddresses,
    PodPhase,
    ended,
    free_address,
    gone,
    rejected,
    running,
    started,
    time_left,
)
from plimsoll.decide.plan import Patch
from tests.builders import a_pod

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
WHERE = PodAddresses(host_ip="10.0.0.1", pod_ip="100.64.0.1")


def status_of(patch: Patch) -> dict[str, Any]:
    assert patch.subresource == "status"
    status: dict[str, Any] = patch.patch["status"]
    return status


def conditions(status: dict[str, Any]) -> dict[str, str]:
    return {condition["type"]: condition["status"] for condition in status["conditions"]}


def scheduled() -> Pod:
    pod = a_pod()
    told = Condition(type="PodScheduled", status="True", last_transition_time=NOW)
    return msgspec.structs.replace(
        pod, status=msgspec.structs.replace(pod.status, conditions=(told,))
    )


def _reason_of(type_: str, status: dict[str, Any]) -> str:
    found = (each for each in status["conditions"] if each["type"] == type_)
    reason: str = next(found)["reason"]
    return reason


def test_a_pod_that_is_taken_is_pending_with_containers_to_come() -> None:
    status = status_of(started(scheduled(), WHERE, NOW))
    assert status["phase"] == "Pending"
    assert status["startTime"] == "2024-05-01T12:00:00Z"
    assert conditions(status) == {
        "PodScheduled": "True",
        "Initialized": "True",
        "PodReadyToStartContainers": "False",
        "ContainersReady": "False",
        "Ready": "False",
    }
    (container,) = status["containerStatuses"]
    assert container["state"] == {"waiting": {"reason": "ContainerCreating"}}


def test_a_running_pod_says_that_nothing_runs() -> None:
    status = status_of(running(scheduled(), WHERE, NOW))
    assert status["phase"] == "Running"
    assert status["podIPs"] == [{"ip": "100.64.0.1"}]
    assert set(conditions(status).values()) == {"True"}
    ready = next(c for c in status["conditions"] if c["type"] == "Ready")
    assert ready["reason"] == "NoContainersRun"
    assert status["containerStatuses"][0]["imageID"] == ""


def test_init_containers_are_over_when_a_pod_runs_but_sidecars_are_not() -> None:
    pod = scheduled()
    init = (Container(name="prepare"), Container(name="proxy", restart_policy="Always"))
    pod = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, init_containers=init))
    prepare, proxy = status_of(running(pod, WHERE, NOW))["initContainerStatuses"]
    assert "terminated" in prepare["state"]
    assert "running" in proxy["state"]


def test_a_pod_ends_well_after_its_time_and_badly_before() -> None:
    well = status_of(ended(scheduled(), PodPhase.SUCCEEDED, NOW))
    badly = status_of(ended(scheduled(), PodPhase.FAILED, NOW))
    assert (well["phase"], badly["phase"]) == ("Succeeded", "Failed")
    codes = [s["containerStatuses"][0]["state"]["terminated"]["exitCode"] for s in (well, badly)]
    assert codes == [0, 143]
    reasons = [_reason_of("Ready", status) for status in (well, badly)]
    assert reasons == ["PodCompleted", "PodFailed"]


def test_a_rejected_pod_fails_with_the_reason() -> None:
    why = Rejection(reason="OutOfcpu", message="too little")
    status = status_of(rejected(a_pod(), why, NOW))
    assert (status["phase"], status["reason"]) == ("Failed", "OutOfcpu")
    assert status["message"] == "Pod was rejected: too little"


def test_only_this_very_pod_is_deleted() -> None:
    pod = a_pod()
    assert gone(pod).uid == pod.uid
    assert gone(pod).grace_seconds == 0


def test_a_pod_runs_for_its_time_from_when_it_was_ready() -> None:
    pod = a_pod()
    ready = Condition(type="Ready", status="True", last_transition_time=NOW)
    pod = msgspec.structs.replace(
        pod, status=msgspec.structs.replace(pod.status, conditions=(ready,))
    )
    assert pod.ready_since == NOW
    ten = timedelta(seconds=10)
    assert time_left(pod, ten, NOW + timedelta(seconds=4)) == timedelta(seconds=6)
    assert time_left(pod, ten, NOW + timedelta(minutes=1)) == timedelta()


def test_addresses_are_given_out_from_the_lowest() -> None:
    network = IPv4Network("100.64.0.0/30")
    assert free_address(network, []) == "100.64.0.1"
    assert free_address(network, ["100.64.0.1", ""]) == "100.64.0.2"
    assert free_address(network, ["100.64.0.1", "100.64.0.2"]) == "100.64.0.2"
