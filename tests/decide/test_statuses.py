"""Statuses as they are written back."""

from datetime import UTC, datetime

from plimsoll.api.meta import Condition, ObjectMeta
from plimsoll.api.pods import Pod
from plimsoll.api.workloads import RolloutCondition
from plimsoll.decide.resources import PODS
from plimsoll.decide.statuses import (
    condition_document,
    status_patch,
    status_patch_of_any_version,
    with_conditions,
)

AT = datetime(2024, 1, 1, 12, tzinfo=UTC)


def test_changed_conditions_keep_their_places_and_new_ones_come_last() -> None:
    before = (
        Condition(type="A", status="True", last_probe_time=AT),
        Condition(type="B", status="True", reason="Old"),
    )
    changed = (
        Condition(type="C", status="Unknown", last_heartbeat_time=AT),
        Condition(type="B", status="False", last_transition_time=AT),
    )
    assert with_conditions(before, changed) == [
        {"type": "A", "status": "True", "lastProbeTime": "2024-01-01T12:00:00Z"},
        {"type": "B", "status": "False", "lastTransitionTime": "2024-01-01T12:00:00Z"},
        {"type": "C", "status": "Unknown", "lastHeartbeatTime": "2024-01-01T12:00:00Z"},
    ]


def test_a_condition_is_written_with_times_the_server_takes() -> None:
    condition = RolloutCondition(
        type="A", status="True", last_transition_time=AT, last_update_time=AT
    )
    assert condition_document(condition) == {
        "type": "A",
        "status": "True",
        "lastTransitionTime": "2024-01-01T12:00:00Z",
        "lastUpdateTime": "2024-01-01T12:00:00Z",
    }


def test_a_status_is_written_on_the_version_that_was_observed() -> None:
    pod = Pod(metadata=ObjectMeta(name="web-0", uid="one", resource_version="7"))
    patch = status_patch(PODS, pod, {"phase": "Failed"})
    assert (patch.version, patch.uid, patch.subresource) == ("7", "one", "status")
    assert patch.patch == {"status": {"phase": "Failed"}}


def test_a_status_of_one_writer_is_written_on_any_version_of_the_same_object() -> None:
    pod = Pod(metadata=ObjectMeta(name="web-0", uid="one", resource_version="7"))
    patch = status_patch_of_any_version(PODS, pod, {"phase": "Failed"})
    assert (patch.version, patch.uid, patch.subresource) == ("", "one", "status")
    assert patch.patch == {"status": {"phase": "Failed"}}
