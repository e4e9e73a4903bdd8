"""Settles calls of attempts that were given up, beside the next attempts for the same claims.

A driver that does not answer for one attempt, or does not delete its volume, keeps no pod waiting:
the next attempt has another name. That the attempt is to be undone is stored before the next one
begins. Its volume is deleted by the same rules as any other that is not wanted. It is told by its
handle, since the next attempt is recorded under the same name.
"""

import logging
from collections.abc import Callable
from datetime import timedelta

from plimsoll.api.meta import ObjectKey
from plimsoll.api.volumes import PersistentVolume
from plimsoll.decide.plan import Plan
from plimsoll.decide.provisioning.calls import CallFailed, Code, Deleted
from plimsoll.decide.provisioning.intents import (
    Intent,
    IntentState,
    after_repeated,
    after_unread_intent,
    undoing,
)
from plimsoll.decide.provisioning.outcomes import after_cleanup
from plimsoll.decide.provisioning.recorded import is_recorded
from plimsoll.decide.provisioning.steps import CleanUp, Ignore, Refuse
from plimsoll.processes.provisioner.sidecar import SecretUnreadableError, Sidecar
from plimsoll.reconcile.intents import IntentBook
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.wire.kind import typed

log = logging.getLogger(__name__)

VOLUMES = typed(PersistentVolume)


class GivenUpCalls(Loop):
    """Its keys have the names of leases."""

    name = "given-up-calls"

    def __init__(
        self,
        tools: Tools,
        *,
        sidecar: Sidecar,
        intents: IntentBook,
        on_settled: Callable[[Intent], None],
    ) -> None:
        super().__init__(tools)
        self._sidecar = sidecar
        self._intents = intents
        self._on_settled = on_settled

    def add(self, intent: Intent) -> None:
        self.queue.add(ObjectKey("", intent.name))

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        intent = self._intents.find_given_up(key.name)
        if intent is None or intent.state is IntentState.SUSPECT:
            return None
        if (wait := self._intents.wait_for_given_up(key.name)) is not None:
            return wait
        if await self._intents.has_ended(key.name):
            return None
        step = undoing(intent, intent.volume_id) if intent.volume_id else await self._ask(intent)
        match step:
            case CleanUp():
                await self._delete(key, intent, step)
            case Ignore():
                await self._settle(key, intent)
            case Refuse():
                await self._try_again(key, step.plan)
        return None

    async def _ask(self, intent: Intent) -> CleanUp | Refuse | Ignore:
        """What the driver made, if it made something."""
        try:
            secrets = await self._sidecar.read_secret(intent.secret_reference)
        except SecretUnreadableError as error:
            return after_unread_intent(intent, str(error))
        outcome = await self._sidecar.ask_again(intent, secrets)
        is_taken = isinstance(outcome, CallFailed) and outcome.code is Code.ALREADY_EXISTS
        if is_taken and intent.state is not IntentState.STUCK:
            await self._intents.enter_given_up(intent.name, IntentState.STUCK)
        step = after_repeated(intent, outcome)
        assert isinstance(step, CleanUp | Refuse | Ignore)  # noqa: S101 - no claim waits for it
        return step

    async def _delete(self, key: ObjectKey, intent: Intent, step: CleanUp) -> None:
        volume_id = step.call.volume_id
        undoing = IntentState.UNDOING
        intent = await self._intents.enter_given_up(intent.name, undoing, volume_id)
        # A volume that was recorded may be in use: no cache is asked.
        stored = await self.tools.client.list(VOLUMES)
        if is_recorded(intent.asset, stored.items):
            await self._settle(key, intent)
            return
        others = self._intents.other_leaders_of_given_up(intent.name)
        outcome = await self._sidecar.undo(step, others)
        match outcome:
            case Ignore():
                await self._intents.enter_given_up(intent.name, IntentState.SUSPECT)
                await self.tools.enactor.enact(outcome.plan)
            case Deleted():
                facts = {"claim": str(intent.claim_key), "volume": volume_id}
                log.info("volume given back", extra=facts)
                await self._settle(key, intent)
            case CallFailed():
                failed = after_cleanup(step, outcome)
                await self._try_again(key, failed.plan)

    async def _settle(self, key: ObjectKey, intent: Intent) -> None:
        await self._intents.settle_given_up(intent.name)
        self.queue.forget(key)
        self._on_settled(intent)

    async def _try_again(self, key: ObjectKey, plan: Plan) -> None:
        await self.tools.enactor.enact(plan)
        self.queue.add_rate_limited(key)
