"""What users are told of their pods: an event, and the condition PodScheduled.

The sentences are those that users of kubectl know, with the number of nodes that each is about. Our
own codes follow in brackets.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import msgspec

from plimsoll.api.meta import Condition, find_condition, wire_time
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.decide.plan import Emit, EventType, Patch, Plan
from plimsoll.decide.resources import PODS
from plimsoll.decide.scheduling.kernel import NoNode
from plimsoll.decide.scheduling.policy import scheduler_of
from plimsoll.decide.scheduling.reasons import Reason

POD_SCHEDULED = "PodScheduled"


class SchedulingEventReason(StrEnum):
    """Reasons of events."""

    SCHEDULED = "Scheduled"
    FAILED_SCHEDULING = "FailedScheduling"
    PREEMPTED = "Preempted"
    """The pod left its node for a more important one."""
    PLACEMENT_UNREADABLE = "PlacementUnreadable"
    """What a class or a pod says about the placement of volumes is ignored."""


class PodScheduledReason(StrEnum):
    """Reasons of the condition PodScheduled=False."""

    UNSCHEDULABLE = "Unschedulable"
    SCHEDULER_ERROR = "SchedulerError"
    """The attempt came to no decision, or the decision could not be carried out."""


def refusal_text(refused: NoNode) -> str:
    return refused.message if refused.nodes else "no nodes available to schedule pods"


def with_code(sentence: str, reason: Reason | None) -> str:
    return sentence if reason is None else f"{sentence} [{reason}]"


def scheduled(pod: Pod, node: str) -> Plan:
    message = f"Successfully assigned {pod.key} to {node}"
    emit = Emit(
        regarding=identity_of(pod),
        type=EventType.NORMAL,
        reason=SchedulingEventReason.SCHEDULED,
        message=message,
        reporter=scheduler_of(pod),
    )
    return Plan(reason=SchedulingEventReason.SCHEDULED, writes=(emit,))


@dataclass(frozen=True, slots=True)
class PodRefusal:
    """What a pod without a node is told."""

    why: PodScheduledReason
    message: str
    nominated: str | None = None
    """The node that it is promised, empty if none is any more; None: that does not change."""


def not_scheduled(pod: Pod, refusal: PodRefusal, now: datetime) -> Plan:
    emit = Emit(
        regarding=identity_of(pod),
        type=EventType.WARNING,
        reason=SchedulingEventReason.FAILED_SCHEDULING,
        message=refusal.message,
        reporter=scheduler_of(pod),
    )
    return Plan(reason=refusal.why, writes=(emit, *refused_status(pod, refusal, now)))


def refused_status(pod: Pod, refusal: PodRefusal, now: datetime) -> tuple[Patch, ...]:
    """None: the pod says the same already."""
    status = _changed_status(pod, refusal, now)
    if not status:
        return ()
    patch = Patch(
        resource=PODS,
        key=pod.key,
        patch={"status": status},
        version=pod.metadata.resource_version,
        uid=pod.uid,
        subresource="status",
    )
    return (patch,)


def _changed_status(pod: Pod, refusal: PodRefusal, now: datetime) -> Document:
    """Empty: it says the same already."""
    status: Document = {}
    conditions = _conditions(pod, refusal.why, refusal.message, now)
    if conditions is not None:
        status["conditions"] = conditions
    if refusal.nominated is not None and refusal.nominated != pod.status.nominated_node_name:
        status["nominatedNodeName"] = refusal.nominated or None
    return status


def _conditions(
    pod: Pod, why: PodScheduledReason, message: str, now: datetime
) -> list[Document] | None:
    """The whole list, which is replaced as one; None: it says the same already."""
    before = find_condition(pod.status.conditions, POD_SCHEDULED)
    told = {"type": POD_SCHEDULED, "status": "False", "reason": why.value, "message": message}
    if before is not None and all(told[name] == getattr(before, name) for name in told):
        return None
    since = before.last_transition_time if before and before.status == "False" else None
    whole: Document = {**told, "lastTransitionTime": wire_time(since or now)}
    if pod.metadata.generation:
        whole["observedGeneration"] = pod.metadata.generation
    others = [each for each in pod.status.conditions if each.type != POD_SCHEDULED]
    return [*map(_document, others), whole]


def _document(condition: Condition) -> Document:
    document: Document = msgspec.to_builtins(condition)
    times = {
        "lastTransitionTime": condition.last_transition_time,
        "lastProbeTime": condition.last_probe_time,
    }
    return document | {name: wire_time(at) for name, at in times.items() if at is not None}


def identity_of(pod: Pod) -> Document:
    """For events about the pod."""
    metadata = {
        "name": pod.name,
        "namespace": pod.namespace,
        "uid": pod.uid,
        "resourceVersion": pod.metadata.resource_version,
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
