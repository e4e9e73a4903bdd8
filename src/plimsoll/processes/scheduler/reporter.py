"""Writes what users are to be told, beside the scheduling. Of two conditions the newer counts.

A condition that another writer overtook is written once more, on what the pod is then: the pod may
not be tried again for a long time. One that fails otherwise is left to the next attempt.
"""

import asyncio
import logging
from dataclasses import dataclass, replace

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.decide.plan import Emit, Plan
from plimsoll.enact.enactor import Enactor, Overtaken
from plimsoll.processes.scheduler.events import (
    PodRefusal,
    not_scheduled,
    refused_status,
    scheduled,
)
from plimsoll.wire.errors import KubeError
from plimsoll.wire.kind import typed
from plimsoll.wire.kube import KubeClient

log = logging.getLogger(__name__)

WORKERS = 4
REPEATS = 5
"""How often a condition is written that others overtake."""
POD = typed(Pod)


@dataclass(frozen=True, slots=True)
class PodReport:
    plan: Plan
    refused: Pod | None = None
    """The pod that has no node."""
    refusal: PodRefusal | None = None


class Reporter:
    def __init__(self, enactor: Enactor, client: KubeClient) -> None:
        self._enactor = enactor
        self._client = client
        self._reports: dict[ObjectKey, PodReport] = {}
        self._being_written: set[ObjectKey] = set()
        self._changed = asyncio.Event()

    def scheduled(self, pod: Pod, node: str) -> None:
        self._put(pod.key, PodReport(scheduled(pod, node)))

    def not_scheduled(self, pod: Pod, refusal: PodRefusal) -> None:
        plan = not_scheduled(pod, refusal, self._client.clock.now())
        self._put(pod.key, PodReport(plan, pod, refusal))

    def tell(self, key: ObjectKey, plan: Plan) -> None:
        """`key` is of the pod, or of another object that no pod can be mistaken for."""
        self._put(key, PodReport(plan))

    def _put(self, key: ObjectKey, report: PodReport) -> None:
        before = self._reports.pop(key, None)
        writes = before.plan.writes if before else ()
        told = tuple(write for write in writes if isinstance(write, Emit))
        plan = replace(report.plan, writes=told + report.plan.writes)
        self._reports[key] = replace(report, plan=plan)
        self._changed.set()

    async def run(self) -> None:
        """Never returns; cancel it."""
        self._being_written.clear()
        async with asyncio.TaskGroup() as group:
            for number in range(WORKERS):
                group.create_task(self._work(), name=f"reporter {number}")

    async def _work(self) -> None:
        while True:
            while (key := self._next()) is not None:
                report = self._reports.pop(key)
                self._being_written.add(key)
                log.debug("decided", extra={"object": str(key), "why": report.plan.reason})
                try:
                    await self._write(key, report)
                finally:
                    self._being_written.discard(key)
            self._changed.clear()
            await self._changed.wait()

    def _next(self) -> ObjectKey | None:
        """What is told of one object is written one after the other."""
        waiting = (key for key in self._reports if key not in self._being_written)
        return next(waiting, None)

    async def _write(self, key: ObjectKey, report: PodReport) -> None:
        outcome, repeats = await self._enactor.enact(report.plan), 0
        while isinstance(outcome, Overtaken) and repeats < REPEATS and key not in self._reports:
            plan = await self._decide_again(report)
            if plan is None:
                return
            outcome, repeats = await self._enactor.enact(plan), repeats + 1

    async def _decide_again(self, report: PodReport) -> Plan | None:
        """The condition for the pod as it is now. None: it has a node by now, or is gone."""
        if report.refused is None or report.refusal is None:
            return None
        try:
            pod = await self._client.get(POD, report.refused.key)
        except KubeError as error:
            log.debug(
                "condition not written", extra={"pod": str(report.refused.key), "error": str(error)}
            )
            return None
        if pod.uid != report.refused.uid or pod.spec.node_name:
            return None
        writes = refused_status(pod, report.refusal, self._client.clock.now())
        return Plan(reason=report.refusal.why, writes=writes)
