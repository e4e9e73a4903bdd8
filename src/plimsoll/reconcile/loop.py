"""What all control loops have in common: a queue of keys, and observe, decide, enact for each.

A loop is level-triggered: the queue carries keys and nothing else, a reconcile looks at the present
state only, running it twice is harmless, missing an event only costs time. A write that is
overtaken, refused or unclear puts the key back with a growing delay.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import TypeVar

from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.cache.store import StoreChange
from plimsoll.decide.plan import Plan
from plimsoll.enact.enactor import Done, Enactor, Outcome, Overtaken
from plimsoll.reconcile.observed import Observed
from plimsoll.runtime.backoff import Backoff
from plimsoll.runtime.clock import Clock
from plimsoll.runtime.ids import Ids
from plimsoll.runtime.leading.fence import Fence
from plimsoll.runtime.metrics import Metrics
from plimsoll.runtime.workqueue import WorkQueue
from plimsoll.wire.errors import KubeError
from plimsoll.wire.kube import KubeClient

log = logging.getLogger(__name__)

T = TypeVar("T", bound=ApiObject)

RETRY = Backoff(first=timedelta(milliseconds=50), limit=timedelta(minutes=5))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What a loop works with; the same for all loops of the process."""

    client: KubeClient
    observed: Observed
    enactor: Enactor
    clock: Clock
    ids: Ids
    chance: Random
    metrics: Metrics
    fence: Fence
    """What `client` asks before it writes; a loop that acts by other means asks it as well."""

    async def show(self, plan: Plan) -> Outcome:
        """Carry out a plan; what was written is shown to all loops at once."""
        outcome = await self.enactor.enact(plan)
        if isinstance(outcome, Done):
            self.observed.written(outcome.left)
        return outcome


class Loop(ABC):
    """One control loop. Name the kinds and indexes in `__init__`; `reconcile` does the work."""

    name: str
    workers: int = 4

    def __init__(self, tools: Tools) -> None:
        self.tools = tools
        self.queue: WorkQueue[ObjectKey] = WorkQueue(tools.clock, tools.chance, RETRY)
        self._in_work: dict[ObjectKey, bool] = {}
        """Keys that are being reconciled, and whether a plan for them has gone well."""

    @property
    def depth(self) -> int:
        """How many objects wait to be looked at."""
        return len(self.queue)

    @abstractmethod
    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        """Bring one object closer to what it should be; when to look again without a change."""

    def add_changed(self, change: StoreChange[T]) -> None:
        """A handler for changes of the kind that this loop is about."""
        self.queue.add(change.key)

    async def enact(self, key: ObjectKey, plan: Plan) -> Outcome:
        """Carry out a plan for a key; what was written is shown to all loops at once. After a
        failure the delay grows until a reconcile has gone well as a whole."""
        if plan.writes:
            log.debug("decided", extra={"loop": self.name, "key": str(key), "why": plan.reason})
        outcome = await self.tools.enactor.enact(plan)
        match outcome:
            case Done(left=left):
                self.tools.observed.written(left)
                if key in self._in_work:
                    self._in_work[key] = True
                else:
                    self.queue.forget(key)
            case Overtaken():
                # The watch brings what overtook us; the delay is for when it has done so already.
                self.queue.add_rate_limited(key)
            case _:
                self.queue.add_rate_limited(key)
        for other in plan.wake:
            self.queue.add(other)
        if plan.recheck_after is not None:
            self.queue.add_after(key, plan.recheck_after)
        return outcome

    async def run(self) -> None:
        """Never returns; cancel it."""
        async with asyncio.TaskGroup() as group:
            for number in range(self.workers):
                group.create_task(self._work(), name=f"{self.name} {number}")

    async def _work(self) -> None:
        while True:
            key = await self.queue.get()
            failures = self.queue.failures(key)
            self._in_work[key] = False
            try:
                again = await self.reconcile(key)
                if again is not None:
                    self.queue.add_after(key, again)
            except KubeError as error:
                log.warning(
                    "reconcile failed",
                    extra={"loop": self.name, "key": str(key), "error": str(error)},
                )
                self.queue.add_rate_limited(key)
            finally:
                if self._in_work.pop(key) and self.queue.failures(key) <= failures:
                    self.queue.forget(key)
                self.queue.done(key)
