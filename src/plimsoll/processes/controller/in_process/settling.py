"""Brings calls of provisioners that were begun to an end: recorded, or deleted and forgotten.

What an intent says is carried out only after the server itself was asked for the claim and for all
volumes: an intent by itself authorises no deletion.
"""

import logging

from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.provisioning.in_process.intents import (
    IntentStep,
    after_failed_undo,
    after_suspicion,
    after_undone,
    asset_name,
    decide_given_up,
    decide_intent,
    is_asset_recorded,
    is_given_up,
    is_served_by_other,
)
from plimsoll.decide.provisioning.intents import Intent, IntentState, may_be_given_up
from plimsoll.decide.provisioning.recorded import OtherLeaders
from plimsoll.processes.controller.in_process.intents import InProcessIntents
from plimsoll.processes.controller.in_process.operations import OperationVerdict
from plimsoll.processes.controller.in_process.provisioners.protocol import ProvisionerError
from plimsoll.processes.controller.in_process.volume_operation import OperationContext
from plimsoll.wire.kind import documents, typed

log = logging.getLogger(__name__)

ALL_VOLUMES = documents(typed(PersistentVolume).resource)


class IntentSettling:
    def __init__(self, context: OperationContext, intents: InProcessIntents) -> None:
        self._context = context
        self._intents = intents

    async def settle(self, uid: str) -> OperationVerdict:
        """Until nothing is left to do, or the claim is to be provisioned for. Raises KubeError."""
        verdict = OperationVerdict.DONE
        while (intent := self._intents.find(uid)) is not None:
            claim = await self._context.find_claim(intent.claim_key)
            step = await self._next_step(intent, claim)
            if step is IntentStep.FORGET:
                await self._intents.drop(uid)
            elif step is not IntentStep.UNDO:
                return verdict
            elif not await self._undo(intent, claim) and not await self._gives_up(intent, claim):
                return OperationVerdict.TRY_AGAIN
            verdict = OperationVerdict.LOOK_AGAIN
        return verdict

    async def settle_given_up(self, name: str) -> OperationVerdict:
        """What was given up, beside what comes next for its claim. Raises KubeError."""
        intent = self._intents.find_given_up(name)
        if intent is None or await self._intents.has_ended(name):
            return OperationVerdict.DONE
        if intent.state.is_open and not is_given_up(intent):
            # An earlier controller stored it too late: the claim has gone on.
            intent = await self._intents.enter_given_up(name, IntentState.UNDOING)
        volumes = (await self._context.tools.client.list(ALL_VOLUMES)).items
        step = decide_given_up(intent, is_recorded=is_asset_recorded(intent, volumes))
        if step is IntentStep.LEAVE:
            return OperationVerdict.DONE
        if step is IntentStep.UNDO:
            if self._has_another_led(self._intents.other_leaders_of_given_up(name)):
                await self._intents.enter_given_up(name, IntentState.SUSPECT)
                await self._context.enact(after_suspicion(intent))
                return OperationVerdict.DONE
            if not await self._delete(intent):
                return OperationVerdict.TRY_AGAIN
        await self._intents.settle_given_up(intent)
        return OperationVerdict.LOOK_AGAIN

    async def _next_step(self, intent: Intent, claim: PersistentVolumeClaim | None) -> IntentStep:
        if await self._intents.is_deleted(intent.uid):
            # An administrator has cleaned up.
            return IntentStep.FORGET
        volumes = (await self._context.tools.client.list(ALL_VOLUMES)).items
        return decide_intent(
            intent,
            claim,
            is_recorded=is_asset_recorded(intent, volumes),
            is_served=is_served_by_other(intent, volumes),
            is_node_gone=self._context.has_lost_node(claim),
        )

    async def _undo(self, intent: Intent, claim: PersistentVolumeClaim | None) -> bool:
        """False: it has to be tried again."""
        if self._has_another_led(self._intents.other_leaders(intent.uid)):
            await self._intents.suspect(intent.uid)
            await self._context.enact(after_suspicion(intent))
            return True
        await self._intents.enter(intent.uid, IntentState.UNDOING)
        if not await self._delete(intent):
            return False
        await self._intents.enter(intent.uid, IntentState.UNDONE)
        is_node_gone = self._context.has_lost_node(claim)
        await self._context.enact(after_undone(intent, claim, is_node_gone=is_node_gone))
        return True

    async def _gives_up(self, intent: Intent, claim: PersistentVolumeClaim | None) -> bool:
        """Whether the asset is deleted beside what comes next for the claim. Raises KubeError."""
        return may_be_given_up(intent, claim) and await self._intents.give_up(intent.uid)

    async def _delete(self, intent: Intent) -> bool:
        """False: it has to be tried again."""
        try:
            await self._context.delete_asset(intent.driver, asset_name(intent))
        except ProvisionerError as error:
            await self._context.enact(after_failed_undo(intent, error.message))
            return False
        facts = {"claim": str(intent.claim_key), "volume": intent.volume_name}
        log.info("provisioning rolled back", extra=facts)
        return True

    def _has_another_led(self, others: OtherLeaders) -> bool:
        """Whether a program that knows no intents may have recorded what they name.

        Only a controller makes and records assets of a provisioner inside it. Without an election
        it is the only one, and so was the one before it.
        """
        is_elected = self._context.tools.fence.epoch is not None
        return is_elected and others is OtherLeaders.BETWEEN
