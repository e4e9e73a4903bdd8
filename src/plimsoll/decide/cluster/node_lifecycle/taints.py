"""The taints that a node's conditions call for.

A condition keeps new pods away by a NoSchedule taint, at once. That a node is not ready also ends
the pods on it, by a NoExecute taint: this one only if the zone allows it (`zones`), since to end
the pods of very many nodes at a time would be the greater harm.
"""

from datetime import datetime
from enum import StrEnum

from plimsoll.api.core import Node, Taint
from plimsoll.api.meta import find_condition, wire_time
from plimsoll.api.registry import Document
from plimsoll.decide.cluster.node_lifecycle.health import READY
from plimsoll.decide.plan import NOTHING, Patch, Plan
from plimsoll.decide.resources import NODES

NO_SCHEDULE, NO_EXECUTE = "NoSchedule", "NoExecute"
NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
BY_CONDITION = {
    (READY, "False"): NOT_READY,
    (READY, "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
}
OURS = frozenset({*BY_CONDITION.values(), UNSCHEDULABLE})


class TaintReason(StrEnum):
    CHANGED = "TaintsChanged"
    """A node's taints are made to say what its conditions say."""


class EvictionLeave(StrEnum):
    """Whether the pods of a node that is not ready may be ended."""

    GRANTED = "Granted"
    """The zone allows it."""
    WAITING = "Waiting"
    """Not yet; a taint that is there already stays."""
    HALTED = "Halted"
    """No node is ready: what is broken is most likely not the nodes. Nothing is ended."""


def decide_taints(node: Node, leave: EvictionLeave, now: datetime) -> Plan:
    before = node.spec.taints
    wanted = _no_schedule(node) | _no_execute(node, leave)
    kept = [taint for taint in before if not _is_ours(taint) or _identity(taint) in wanted]
    present = {_identity(taint) for taint in kept}
    added = [
        Taint(key=key, effect=effect, time_added=now)
        for key, effect in sorted(wanted)
        if (key, effect) not in present
    ]
    if not added and len(kept) == len(before):
        return NOTHING
    patch = Patch(
        resource=NODES,
        key=node.key,
        patch={"spec": {"taints": [_document(taint) for taint in (*kept, *added)] or None}},
        version=node.metadata.resource_version,
        uid=node.uid,
    )
    return Plan(reason=TaintReason.CHANGED, writes=(patch,))


Identity = tuple[str, str]
"""Key and effect: a node has at most one taint of each."""


def _identity(taint: Taint) -> Identity:
    return taint.key, taint.effect


def _is_ours(taint: Taint) -> bool:
    if taint.effect == NO_EXECUTE:
        return taint.key in (NOT_READY, UNREACHABLE)
    return taint.effect == NO_SCHEDULE and taint.key in OURS


def _no_schedule(node: Node) -> set[Identity]:
    conditions = node.status.conditions
    found = {BY_CONDITION.get((condition.type, condition.status)) for condition in conditions}
    if node.spec.unschedulable:
        found.add(UNSCHEDULABLE)
    if find_condition(conditions, READY) is None and has_taint(node, NOT_READY, NO_SCHEDULE):
        # A node that has just registered: it has not said yet that it is ready.
        found.add(NOT_READY)
    return {(key, NO_SCHEDULE) for key in found if key is not None}


def _no_execute(node: Node, leave: EvictionLeave) -> set[Identity]:
    key = unready_taint(node)
    if key is None or leave is EvictionLeave.HALTED:
        return set()
    if leave is EvictionLeave.GRANTED or is_given_up(node):
        return {(key, NO_EXECUTE)}
    return set()


def unready_taint(node: Node) -> str | None:
    """What a node that is not ready is tainted with; one that never reported is waited for."""
    ready = find_condition(node.status.conditions, READY)
    return BY_CONDITION.get((READY, ready.status)) if ready is not None else None


def has_taint(node: Node, key: str, effect: str) -> bool:
    return any(_identity(taint) == (key, effect) for taint in node.spec.taints)


def is_given_up(node: Node) -> bool:
    """Whether its pods are being ended already, for either of the two reasons."""
    return has_taint(node, NOT_READY, NO_EXECUTE) or has_taint(node, UNREACHABLE, NO_EXECUTE)


def _document(taint: Taint) -> Document:
    texts = {"key": taint.key, "value": taint.value, "effect": taint.effect}
    document: Document = {name: text for name, text in texts.items() if text}
    if taint.time_added is not None:
        document["timeAdded"] = wire_time(taint.time_added)
    return document
