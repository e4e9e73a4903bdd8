"""Conditions as they are written back."""

from datetime import UTC, datetime

from plimsoll.api.meta import Condition
from plimsoll.decide.statuses import with_conditions

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
