"""When a NoExecute taint ends a pod.

A pod that does not tolerate a taint goes at once, one that tolerates it for some seconds goes
after these. They count from when the taint was added, or from when the pod got its node if that
was later: both are in the objects, so a restart of the controller neither shortens the time nor
begins it anew.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from plimsoll.api.core import Node, Taint
from plimsoll.api.meta import Condition, find_condition
from plimsoll.api.pods import Pod, Toleration
from plimsoll.decide.cluster.lost_nodes import DISRUPTION
from plimsoll.decide.cluster.node_lifecycle.taints import NO_EXECUTE
from plimsoll.decide.plan import Delete, Emit, Patch, Plan, Write
from plimsoll.decide.statuses import status_patch, with_conditions
from plimsoll.decide.workloads.owned import POD, told

AT_ONCE = datetime(1970, 1, 1, tzinfo=UTC)
TAINT_MANAGER_EVICTION = "TaintManagerEviction"


class TaintEvictionReason(StrEnum):
    DUE = "TaintNotTolerated"
    """The pod does not tolerate a NoExecute taint of its node, or has tolerated it long enough."""
    CANCELLED = "EvictionCancelled"
    """The taint that would have ended the pod is gone, or tolerated now."""


def no_execute_taints(node: Node) -> tuple[Taint, ...]:
    return tuple(taint for taint in node.spec.taints if taint.effect == NO_EXECUTE)


def eviction_time(pod: Pod, taints: Iterable[Taint], noticed_at: datetime) -> datetime | None:
    """None: the pod may stay. `noticed_at` stands for the time of taints that carry none."""
    times: list[datetime | None] = []
    for taint in taints:
        toleration = _toleration(pod, taint)
        if toleration is None:
            return AT_ONCE
        if toleration.toleration_seconds is not None:
            since = max(taint.time_added or noticed_at, _on_node_since(pod))
            times.append(_after(since, toleration.toleration_seconds))
    return min((time for time in times if time is not None), default=None)


def _toleration(pod: Pod, taint: Taint) -> Toleration | None:
    return next((each for each in pod.spec.tolerations if each.tolerates(taint)), None)


def _after(since: datetime, seconds: int) -> datetime | None:
    """None: beyond the calendar is for ever."""
    if seconds <= 0:
        return AT_ONCE
    try:
        return since + timedelta(seconds=seconds)
    except OverflowError:
        return None


def _on_node_since(pod: Pod) -> datetime:
    scheduled = find_condition(pod.status.conditions, "PodScheduled")
    at = scheduled.last_transition_time if scheduled is not None and scheduled.holds else None
    return at or pod.metadata.creation_timestamp or AT_ONCE


def decide_taint_eviction(pod: Pod, now: datetime) -> Plan:
    """For a pod whose time has come."""
    writes: list[Write] = []
    before = find_condition(pod.status.conditions, DISRUPTION)
    if before is None or not before.holds:
        writes.append(_marked(pod, now))
    writes.append(Delete(resource=POD.resource, key=pod.key, uid=pod.uid))
    writes.append(_told(pod, f"Marking for deletion Pod {pod.key}"))
    return Plan(reason=TaintEvictionReason.DUE, writes=tuple(writes))


def decide_cancelled_eviction(pod: Pod) -> Plan:
    event = _told(pod, f"Cancelling deletion of Pod {pod.key}")
    return Plan(reason=TaintEvictionReason.CANCELLED, writes=(event,))


def _told(pod: Pod, message: str) -> Emit:
    return told(POD, pod, TAINT_MANAGER_EVICTION, message)


def _marked(pod: Pod, now: datetime) -> Patch:
    condition = Condition(
        type=DISRUPTION,
        status="True",
        reason="DeletionByTaintManager",
        message="Taint manager: deleting due to NoExecute taint",
        observed_generation=pod.metadata.generation,
        last_transition_time=now,
    )
    conditions = with_conditions(pod.status.conditions, [condition])
    return status_patch(POD.resource, pod, {"conditions": conditions})
