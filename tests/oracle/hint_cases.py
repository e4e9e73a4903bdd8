"""Asks `queue.events` which events a change makes, and `queue.kube_hints` whom they wake."""

from typing import Any

from plimsoll.api.core import Node
from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import Pod
from plimsoll.api.typed import from_document
from plimsoll.decide.scheduling.flags import NodeRule
from plimsoll.decide.scheduling.queue.events import (
    ClusterEvent,
    node_events,
    own_events,
    pod_events,
)
from plimsoll.decide.scheduling.queue.hints import QueueingHint, answer
from plimsoll.decide.scheduling.queue.kube_hints import registered_for

LEFT_OUT = (NodeRule.FEATURES,)
"""The corpus does not say what this plugin does."""


def hints(case: dict[str, Any]) -> dict[str, Any]:
    pod = from_document(Pod, case["pod"])
    type_: type[ApiObject] = Node if case["resource"] == "Node" else Pod
    old, new = (
        None if case[name] is None else from_document(type_, case[name]) for name in ("old", "new")
    )
    events = _events(case["resource"], old, new)
    return {
        "events": [str(event) for event in events],
        "hints": {str(event): _hints(event, pod, old, new) for event in events},
    }


def _events(resource: str, old: Any, new: Any) -> list[ClusterEvent]:
    match resource:
        case "Node":
            return node_events(old, new)
        case "AssignedPod":
            return pod_events(old, new)
        case _:
            return own_events(old, new)


def _hints(
    event: ClusterEvent, pod: Pod, old: ApiObject | None, new: ApiObject | None
) -> dict[str, str]:
    return {
        str(rule): _shown(answer(test, pod, old, new))
        for rule, test in registered_for(event).items()
        if rule not in LEFT_OUT
    }


def _shown(found: QueueingHint) -> str:
    return f"{found.hint} (error: {found.complaint})" if found.complaint else str(found.hint)
