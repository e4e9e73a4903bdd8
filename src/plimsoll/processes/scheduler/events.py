"""What users are told of their pods: an event, and the condition PodScheduled.

The sentences are those that users of kubectl know, with the number of nodes that each is about. Our
own codes follow in brackets.
"""

import asyncio
import logging
from dataclasses import replace
from datetime import datetime
from enum import StrEnum

import msgspec

from plimsoll.api.meta import Condition, ObjectKey, find_condition, wire_time
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.decide.plan import Emit, EventType, Patch, Plan
from plimsoll.decide.resources import PODS
from plimsoll.decide.scheduling.kernel import NoNode
from plimsoll.decide.scheduling.reasons import Reason
from plimsoll.enact.enactor import Enactor
from plimsoll.runtime.clock import Clock

log = logging.getLogger(__name__)

POD_SCHEDULED = "PodScheduled"
WORKERS = 4


class SchedulingEventReason(StrEnum):
    """Reasons of events."""

    SCHEDULED = "Scheduled"
    FAILED_SCHEDULING = "FailedScheduling"


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
        regarding=_identity(pod),
        type=EventType.NORMAL,
        reason=SchedulingEventReason.SCHEDULED,
        message=message,
    )
    return Plan(reason=SchedulingEventReason.SCHEDULED, writes=(emit,))


def not_scheduled(pod: Pod, why: PodScheduledReason, message: str, now: datetime) -> Plan:
    emit = Emit(
        regarding=_identity(pod),
        type=EventType.WARNING,
        reason=SchedulingEventReason.FAILED_SCHEDULING,
        message=message,
    )
    conditions = _conditions(pod, why, message, now)
    if conditions is None:
        return Plan(reason=why, writes=(emit,))
    patch = Patch(
        resource=PODS,
        key=pod.key,
        patch={"status": {"conditions": conditions}},
        version=pod.metadata.resource_version,
        uid=pod.uid,
        subresource="status",
    )
    return Plan(reason=why, writes=(emit, patch))


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


def _identity(pod: Pod) -> Document:
    metadata = {
        "name": pod.name,
        "namespace": pod.namespace,
        "uid": pod.uid,
        "resourceVersion": pod.metadata.resource_version,
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}


class Reporter:
    """Writes what is to be told, beside the scheduling. Of two conditions the newer counts.

    One that cannot be written is not tried again: the next attempt brings a fresh one.
    """

    def __init__(self, enactor: Enactor, clock: Clock) -> None:
        self._enactor = enactor
        self._clock = clock
        self._plans: dict[ObjectKey, Plan] = {}
        self._changed = asyncio.Event()

    def scheduled(self, pod: Pod, node: str) -> None:
        self._add(pod, scheduled(pod, node))

    def not_scheduled(self, pod: Pod, why: PodScheduledReason, message: str) -> None:
        self._add(pod, not_scheduled(pod, why, message, self._clock.now()))

    def _add(self, pod: Pod, plan: Plan) -> None:
        before = self._plans.pop(pod.key, None)
        told = tuple(write for write in before.writes if isinstance(write, Emit)) if before else ()
        self._plans[pod.key] = replace(plan, writes=told + plan.writes)
        self._changed.set()

    async def run(self) -> None:
        """Never returns; cancel it."""
        async with asyncio.TaskGroup() as group:
            for number in range(WORKERS):
                group.create_task(self._work(), name=f"reporter {number}")

    async def _work(self) -> None:
        while True:
            while self._plans:
                key = next(iter(self._plans))
                plan = self._plans.pop(key)
                log.debug("decided", extra={"pod": str(key), "why": plan.reason})
                await self._enactor.enact(plan)
            self._changed.clear()
            await self._changed.wait()
