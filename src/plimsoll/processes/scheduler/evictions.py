"""Tells pods to leave a node that a more important pod is to have, beside the scheduling.

Each victim first gets the condition DisruptionTarget, so that its controller and its user can see
why, then it is deleted. The last victim is deleted after all others: its end is what wakes the
waiting pod. Nothing is remembered elsewhere: a scheduler that starts after a crash sees which pods
are leaving, and decides anew.
"""

import logging
from collections.abc import Sequence

from plimsoll.api.meta import wire_time
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.decide.plan import Emit, EventType, Patch, Plan
from plimsoll.decide.resources import PODS
from plimsoll.decide.scheduling.policy import scheduler_of
from plimsoll.decide.scheduling.preemption.eligibility import BY_SCHEDULER, DISRUPTION_TARGET
from plimsoll.decide.scheduling.preemption.preemptor import Preemption
from plimsoll.enact.enactor import Enactor
from plimsoll.processes.scheduler.events import SchedulingEventReason, identity_of
from plimsoll.processes.scheduler.state import SchedulerState
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import typed
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.parameters import Deletion, WriteOptions, strategic_patch

log = logging.getLogger(__name__)

POD = typed(Pod)
STATUS = WriteOptions(subresource="status")


class Evictions:
    def __init__(self, client: KubeClient, enactor: Enactor, state: SchedulerState) -> None:
        self._client = client
        self._enactor = enactor
        self._state = state
        self._victims: dict[str, tuple[Pod, ...]] = {}
        """By the uid of the pod for which they leave."""

    def is_under_way(self, pod: Pod) -> bool:
        """Whether pods are being told to leave for it, and the watch has not shown that of all."""
        return any(map(self._is_staying, self._victims.get(pod.uid, ())))

    def _is_staying(self, victim: Pod) -> bool:
        seen = self._state.stores.pod(victim.key)
        return seen is not None and seen.uid == victim.uid and not seen.is_being_deleted

    def begin(self, pod: Pod, preemption: Preemption) -> None:
        """From now on, and until the watch shows that the victims are leaving, it is under way."""
        self._victims = {
            uid: victims
            for uid, victims in self._victims.items()
            if any(map(self._is_staying, victims))
        }
        self._victims[pod.uid] = preemption.evicted

    async def carry_out(self, pod: Pod, preemption: Preemption) -> bool:
        """Whether every victim was told to leave. If not, the pod must be tried again."""
        try:
            await self._take_back(preemption.losers)
            for victim in reversed(preemption.evicted):
                await self._evict(victim, pod, preemption.node)
        except KubeError as error:
            fields = {"pod": str(pod.key), "node": preemption.node, "failure": error.failure}
            log.warning("eviction failed", extra={**fields, "error": str(error)})
            self._victims.pop(pod.uid, None)
            return False
        return True

    async def _take_back(self, losers: Sequence[Pod]) -> None:
        """Less important pods are no longer promised the node."""
        for loser in losers:
            patch = Patch(
                resource=PODS,
                key=loser.key,
                patch={"status": {"nominatedNodeName": None}},
                uid=loser.uid,
                subresource="status",
            )
            await self._enactor.enact(Plan(reason=BY_SCHEDULER, writes=(patch,)))

    async def _evict(self, victim: Pod, pod: Pod, node: str) -> None:
        if not self._is_staying(victim):
            return
        try:
            patch = strategic_patch(self._told(victim, pod))
            await self._client.patch(POD, victim.key, patch, STATUS)
            await self._client.delete(POD, victim.key, Deletion(uid=victim.uid))
        except KubeError as error:
            if error.failure is not Failure.NOT_FOUND:
                # Also after a conflict: the victim may be there, and was not told to leave.
                raise
            return
        log.info("pod evicted", extra={"pod": str(victim.key), "for": str(pod.key), "node": node})
        await self._enactor.enact(evicted(victim, pod, node))

    def _told(self, victim: Pod, pod: Pod) -> Document:
        name = scheduler_of(pod)
        condition: Document = {
            "type": DISRUPTION_TARGET,
            "status": "True",
            "reason": BY_SCHEDULER,
            "message": f"{name}: preempting to accommodate a higher priority pod",
            "lastTransitionTime": wire_time(self._client.clock.now()),
        }
        if victim.metadata.generation:
            condition["observedGeneration"] = victim.metadata.generation
        return {"metadata": {"uid": victim.uid}, "status": {"conditions": [condition]}}


def evicted(victim: Pod, pod: Pod, node: str) -> Plan:
    """What the victim's user is told."""
    emit = Emit(
        regarding=identity_of(victim),
        type=EventType.NORMAL,
        reason=SchedulingEventReason.PREEMPTED,
        message=f"Preempted by pod {pod.uid} on node {node}",
        reporter=scheduler_of(pod),
    )
    return Plan(reason=SchedulingEventReason.PREEMPTED, writes=(emit,))
