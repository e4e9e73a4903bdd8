"""Conditions as they are written back: a merge patch replaces the whole list of them."""

from collections.abc import Iterable

import msgspec

from plimsoll.api.meta import Condition, wire_time
from plimsoll.api.registry import Document


def condition_document(condition: Condition) -> Document:
    document: Document = msgspec.to_builtins(condition)
    times = {
        "lastTransitionTime": condition.last_transition_time,
        "lastProbeTime": condition.last_probe_time,
        "lastHeartbeatTime": condition.last_heartbeat_time,
    }
    return document | {name: wire_time(at) for name, at in times.items() if at is not None}


def with_conditions(
    conditions: Iterable[Condition], changed: Iterable[Condition]
) -> list[Document]:
    """The changed ones in their places, new ones at the end; all others stay as they are."""
    by_type = {condition.type: condition for condition in changed}
    kept = [by_type.pop(condition.type, condition) for condition in conditions]
    return [condition_document(condition) for condition in (*kept, *by_type.values())]
