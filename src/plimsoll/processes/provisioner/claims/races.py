"""Provisioners on every node and a claim that waits for no pod: which of them takes it.

After a wait of random length the provisioner checks that no other was faster and that its driver
has capacity. Then it selects its own node; the API server lets one of all nodes through.
"""

from collections.abc import Callable
from datetime import timedelta

from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.provisioning.calls import (
    CallFailed,
    CapacityOutcome,
    CapacityReport,
    GetCapacityCall,
)
from plimsoll.decide.provisioning.node_deployment import (
    OwnershipAttempt,
    OwnershipQuestion,
    TakeOver,
    after_capacity,
    after_lost_race,
    after_unanswered,
    ask_capacity,
    decide_candidacy,
    race_delay,
)
from plimsoll.decide.provisioning.steps import ClaimMemory, Compete, Ignore
from plimsoll.decide.provisioning.view import ProvisioningContext
from plimsoll.enact.enactor import Done
from plimsoll.processes.provisioner import messages
from plimsoll.processes.provisioner.sidecar import SecretUnreadableError, Sidecar
from plimsoll.processes.provisioner.view import ProvisionerCaches, read_for
from plimsoll.reconcile.loop import Tools
from plimsoll.runtime.clock import NO_TIME
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.kind import typed

CLAIMS = typed(PersistentVolumeClaim)
SOON = timedelta(milliseconds=1)


class Races:
    def __init__(self, tools: Tools, sidecar: Sidecar) -> None:
        self._tools = tools
        self._sidecar = sidecar
        self._due: dict[str, float] = {}
        """By the uid of a claim, when we may try to take it."""

    def forget(self, uid: str) -> None:
        """Forget the race for this claim: there is none, or not now."""
        self._due.pop(uid, None)

    async def run(
        self, compete: Compete, caches: ProvisionerCaches, remember: Callable[[ClaimMemory], None]
    ) -> timedelta | None:
        """One step; when to look at the claim again: at once if it is ours now.

        It never sleeps: claims that are ours already must not wait behind this one.
        """
        uid = compete.claim.uid
        due = self._due.get(uid)
        if due is None:
            return self._wait(compete)
        left = timedelta(seconds=due - self._tools.clock.monotonic())
        if left > NO_TIME:
            return left
        self.forget(uid)
        # A faster provisioner's write may not have reached the cache yet.
        claim = await self._tools.client.find(CLAIMS, compete.claim.key)
        read = await read_for(claim, self._tools.client)
        context = self._sidecar.context(caches.view(read))
        step = await self._judged(decide_candidacy(compete, claim, context), context)
        remember(step.memory)
        if isinstance(step, Ignore):
            return step.recheck_after
        outcome = await self._tools.enactor.enact(step.plan)
        if isinstance(outcome, Done):
            self._tools.observed.written(outcome.left)
            return SOON
        lost = after_lost_race(compete)
        remember(lost.memory)
        return self._wait(lost)

    def _wait(self, compete: Compete) -> timedelta:
        node = self._sidecar.decisions.node
        if node is None:
            raise ValueError("only provisioners that run on a node compete for claims")
        delay = race_delay(node, compete.memory.lost_races, self._tools.chance.random())
        self._due[compete.claim.uid] = self._tools.clock.monotonic() + delay.total_seconds()
        return delay

    async def _judged(
        self, step: OwnershipQuestion | TakeOver | Ignore, context: ProvisioningContext
    ) -> TakeOver | Ignore:
        if not isinstance(step, OwnershipQuestion):
            return step
        try:
            await self._sidecar.read_secret(step.attempt.secret)
        except SecretUnreadableError:
            return after_unanswered(step, context)
        next_: OwnershipAttempt | TakeOver | Ignore = ask_capacity(step, context)
        while isinstance(next_, OwnershipAttempt):
            next_ = after_capacity(next_, await self._free_capacity(next_.calls[0]), context)
        return next_

    async def _free_capacity(self, call: GetCapacityCall) -> CapacityOutcome:
        try:
            request = messages.get_capacity(call)
            answer = await self._sidecar.link.call(methods.GET_CAPACITY, request)
        except DriverError as error:
            failure: CallFailed = messages.failed(error)
            return failure
        return CapacityReport(answer.available_capacity)
