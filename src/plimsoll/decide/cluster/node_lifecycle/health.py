"""Whether a node is alive, and what is written about one that is not.

A node is heard of when its lease is renewed, or when its status carries a new heartbeat. For how
long it has been silent is measured on the observer's own monotonic clock: the times that nodes
write are compared with those that they wrote before, never with the local clock. So no node is
given up because its clock is wrong.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import structs

from plimsoll.api.core import Lease, Node
from plimsoll.api.meta import Condition, find_condition
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.decide.plan import NOTHING, Emit, EventType, Patch, Plan, Write
from plimsoll.decide.resources import NODES
from plimsoll.decide.statuses import status_patch, with_conditions
from plimsoll.decide.workloads.owned import POD, about

READY = "Ready"
AGENT_CONDITIONS = (READY, "MemoryPressure", "DiskPressure", "PIDPressure")
"""What only kubelet can know."""
NODE_NOT_READY = "NodeNotReady"


class NodeHealthReason(StrEnum):
    """Why a node's status, or that of its pods, is written."""

    SILENT = "NodeStatusUnknown"
    """The node renews neither its lease nor its status."""
    NEVER_HEARD = "NodeStatusNeverUpdated"
    """kubelet has never reported this condition."""
    PODS_UNREADY = "PodsOfSilentNode"
    """Pods of a node that is silent are not ready, as far as can be known."""


MESSAGES = {
    NodeHealthReason.SILENT: "Kubelet stopped posting node status.",
    NodeHealthReason.NEVER_HEARD: "Kubelet never posted node status.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LastSign:
    """When a node was last heard of, and what it said then."""

    heard_at: float
    """On the observer's monotonic clock, in seconds."""
    heartbeat: datetime | None
    """As the node wrote it."""
    has_reported: bool
    """Whether it has a Ready condition at all."""
    renewed: datetime | None
    """As the node wrote it into its lease."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GracePeriods:
    running: timedelta = timedelta(seconds=50)
    """For how long a node may be silent."""
    starting: timedelta = timedelta(seconds=60)
    """For how long one that has never reported its status may be silent."""


def last_sign(known: LastSign | None, node: Node, lease: Lease | None, now: float) -> LastSign:
    """What is known of the node after this look at it; one that is new was heard of just now."""
    ready = find_condition(node.status.conditions, READY)
    heartbeat = ready.last_heartbeat_time if ready is not None else None
    renewed = lease.spec.renew_time if lease is not None else None
    has_reported = ready is not None
    if (
        known is not None
        and has_reported == known.has_reported
        and heartbeat == known.heartbeat
        and renewed in (None, known.renewed)
    ):
        return known
    return LastSign(heard_at=now, heartbeat=heartbeat, has_reported=has_reported, renewed=renewed)


def is_silent(sign: LastSign, grace: GracePeriods, now: float) -> bool:
    period = grace.running if sign.has_reported else grace.starting
    return now - sign.heard_at > period.total_seconds()


def decide_silence(node: Node, now: datetime) -> Plan:
    """The status of a node that is silent: what kubelet said last is not known to hold."""
    changed = [c for c in (_unknown(node, type_, now) for type_ in AGENT_CONDITIONS) if c]
    if not changed:
        return NOTHING
    conditions = with_conditions(node.status.conditions, changed)
    patch = status_patch(NODES, node, {"conditions": conditions})
    told = (status_event(node, NODE_NOT_READY),) if node.is_ready else ()
    return Plan(reason=NodeHealthReason.SILENT, writes=(patch, *told))


def _unknown(node: Node, type_: str, now: datetime) -> Condition | None:
    """None: it is said already."""
    before = find_condition(node.status.conditions, type_)
    if before is None:
        never = NodeHealthReason.NEVER_HEARD
        return Condition(
            type=type_,
            status="Unknown",
            reason=never,
            message=MESSAGES[never],
            last_heartbeat_time=node.metadata.creation_timestamp,
            last_transition_time=now,
        )
    if before.status == "Unknown":
        return None
    return structs.replace(
        before,
        status="Unknown",
        reason=NodeHealthReason.SILENT.value,
        message=MESSAGES[NodeHealthReason.SILENT],
        last_transition_time=now,
    )


def is_unknown(node: Node) -> bool:
    ready = find_condition(node.status.conditions, READY)
    return ready is not None and ready.status == "Unknown"


def decide_pods_unready(pods: Iterable[Pod], now: datetime) -> Plan:
    """For the pods of a node whose state is unknown: controllers that wait for ready pods, or count
    them, must not rely on what the node said before."""
    writes: list[Write] = []
    for pod in sorted(pods, key=lambda pod: pod.key):
        if pod.is_ready:
            writes += (_unready(pod, now), _told(pod))
    return Plan(reason=NodeHealthReason.PODS_UNREADY, writes=tuple(writes)) if writes else NOTHING


def _unready(pod: Pod, now: datetime) -> Patch:
    """Why it was ready does not hold any more; which generation the node saw does."""
    before = find_condition(pod.status.conditions, READY)
    unready = Condition(
        type=READY,
        status="False",
        observed_generation=before.observed_generation if before is not None else 0,
        last_transition_time=now,
    )
    conditions = with_conditions(pod.status.conditions, [unready])
    return status_patch(POD.resource, pod, {"conditions": conditions})


def _told(pod: Pod) -> Emit:
    return Emit(
        regarding=about(POD, pod),
        type=EventType.WARNING,
        reason=NODE_NOT_READY,
        message="Node is not ready",
    )


# Events about nodes


def _node_reference(name: str, uid: str) -> Document:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": uid}}


def status_event(node: Node, status: str) -> Emit:
    return Emit(
        regarding=_node_reference(node.name, node.uid),
        type=EventType.NORMAL,
        reason=status,
        message=f"Node {node.name} status is now: {status}",
    )


def registered(name: str, uid: str) -> Emit:
    return _event(name, uid, "RegisteredNode", f"Registered Node {name} in Controller")


def removed(name: str, uid: str) -> Emit:
    return _event(name, uid, "RemovingNode", f"Removing Node {name} from Controller")


def _event(name: str, uid: str, reason: str, what: str) -> Emit:
    return Emit(
        regarding=_node_reference(name, uid),
        type=EventType.NORMAL,
        reason=reason,
        message=f"Node {name} event: {what}",
    )
