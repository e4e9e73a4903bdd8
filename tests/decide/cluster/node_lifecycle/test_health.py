"""Which nodes count as silent, and what is written about them."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from plimsoll.api.core import Lease, LeaseSpec, Node
from plimsoll.api.meta import Condition
from plimsoll.api.pods import PodStatus
from plimsoll.decide.cluster.node_lifecycle.health import (
    GracePeriods,
    decide_pods_unready,
    decide_silence,
    is_silent,
    last_sign,
)
from plimsoll.decide.plan import NOTHING, Emit, Patch
from tests.builders import a_node, a_pod, meta

NOW = datetime(2024, 1, 1, 12, tzinfo=UTC)
GRACE = GracePeriods()


def a_lease(renewed: datetime) -> Lease:
    return Lease(metadata=meta("node-1", "kube-node-lease"), spec=LeaseSpec(renew_time=renewed))


def reporting(node: Node, *conditions: Condition) -> Node:
    return structs.replace(node, status=structs.replace(node.status, conditions=conditions))


def beating(at: datetime) -> Node:
    return reporting(a_node(), Condition(type="Ready", status="True", last_heartbeat_time=at))


def test_a_node_is_silent_once_the_grace_period_has_passed_without_a_sign() -> None:
    node, lease = beating(NOW), a_lease(NOW)
    first = last_sign(None, node, lease, 100.0)
    later = last_sign(first, node, lease, 150.0)
    assert not is_silent(later, GRACE, 150.0)
    assert is_silent(later, GRACE, 150.1)


@pytest.mark.parametrize(
    "renewed",
    [
        pytest.param(NOW + timedelta(seconds=10), id="its-clock-goes-on"),
        pytest.param(NOW - timedelta(hours=3), id="its-clock-was-set-back"),
        pytest.param(NOW + timedelta(days=400), id="its-clock-is-far-ahead"),
    ],
)
def test_a_renewed_lease_is_a_sign_of_life_whatever_time_the_node_believes_it_is(
    renewed: datetime,
) -> None:
    first = last_sign(None, beating(NOW), a_lease(NOW), 100.0)
    later = last_sign(first, beating(NOW), a_lease(renewed), 140.0)
    assert later.heard_at == 140.0


def test_a_new_heartbeat_is_a_sign_of_life_without_any_lease() -> None:
    first = last_sign(None, beating(NOW), None, 100.0)
    later = last_sign(first, beating(NOW + timedelta(seconds=9)), None, 140.0)
    assert later.heard_at == 140.0


def test_a_lease_that_is_deleted_is_no_sign_of_life_nor_is_its_old_time_coming_back() -> None:
    first = last_sign(None, beating(NOW), a_lease(NOW), 100.0)
    without = last_sign(first, beating(NOW), None, 120.0)
    again = last_sign(without, beating(NOW), a_lease(NOW), 140.0)
    assert again.heard_at == 100.0


def test_a_node_that_has_never_reported_gets_the_longer_period() -> None:
    first = last_sign(None, reporting(a_node()), None, 100.0)
    assert not is_silent(first, GRACE, 160.0)
    assert is_silent(first, GRACE, 160.1)


def test_what_a_silent_node_said_becomes_unknown_and_other_conditions_stay() -> None:
    earlier = NOW - timedelta(minutes=1)
    ready = Condition(
        type="Ready", status="True", reason="KubeletReady", last_heartbeat_time=earlier
    )
    other = Condition(type="NetworkUnavailable", status="False", reason="Routes")
    plan = decide_silence(reporting(a_node(), other, ready), NOW)
    patch, told = plan.writes
    assert isinstance(patch, Patch)
    conditions = patch.patch["status"]["conditions"]
    assert conditions[0] == {"type": "NetworkUnavailable", "status": "False", "reason": "Routes"}
    assert conditions[1] == {
        "type": "Ready",
        "status": "Unknown",
        "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.",
        "lastHeartbeatTime": "2024-01-01T11:59:00Z",
        "lastTransitionTime": "2024-01-01T12:00:00Z",
    }
    assert [c["type"] for c in conditions[2:]] == ["MemoryPressure", "DiskPressure", "PIDPressure"]
    assert {c["reason"] for c in conditions[2:]} == {"NodeStatusNeverUpdated"}
    assert isinstance(told, Emit)
    assert told.message == "Node node-1 status is now: NodeNotReady"


def test_what_is_said_already_is_not_written_again() -> None:
    unknown = [
        Condition(type=type_, status="Unknown")
        for type_ in ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
    ]
    assert decide_silence(reporting(a_node(), *unknown), NOW) == NOTHING


def test_pods_that_were_ready_are_not_any_more_and_their_other_conditions_stay() -> None:
    scheduled = Condition(type="PodScheduled", status="True")
    ready = Condition(type="Ready", status="True", reason="NoContainersRun")
    pod = structs.replace(
        a_pod(node="node-1"), status=PodStatus(phase="Running", conditions=(scheduled, ready))
    )
    plan = decide_pods_unready([a_pod("other", node="node-1"), pod], NOW)
    patch, told = plan.writes
    assert isinstance(patch, Patch)
    assert patch.patch["status"]["conditions"] == [
        {"type": "PodScheduled", "status": "True"},
        {"type": "Ready", "status": "False", "lastTransitionTime": "2024-01-01T12:00:00Z"},
    ]
    assert isinstance(told, Emit)
    assert (told.reason, told.message) == ("NodeNotReady", "Node is not ready")
