"""Settles calls that were begun: by this process, or by one before it that an intent tells of.

What the claim still wants is left to the loop that provisions. What it does not want is deleted,
unless it is recorded or may have been; if the driver has not told what there is, it is asked again.
"""

from dataclasses import replace

from plimsoll.api.meta import ObjectKey
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.plan import NOTHING
from plimsoll.decide.provisioning.calls import CallFailed, Code, Deleted
from plimsoll.decide.provisioning.intents import (
    LEAVES_NOTHING,
    Intent,
    IntentState,
    after_repeated,
    after_unread_intent,
    is_waiting,
    may_be_given_up,
    undoing,
)
from plimsoll.decide.provisioning.outcomes import after_cleanup, before_cleanup
from plimsoll.decide.provisioning.recorded import is_recorded
from plimsoll.decide.provisioning.steps import (
    NOTHING_KNOWN,
    ClaimMemory,
    ClaimStep,
    CleanUp,
    Ignore,
    IgnoreReason,
    ProvisioningRecord,
    StartOver,
)
from plimsoll.processes.provisioner.claims.call_context import CallContext
from plimsoll.processes.provisioner.claims.given_up import GivenUpCalls
from plimsoll.processes.provisioner.sidecar import SecretUnreadableError
from plimsoll.wire.kind import typed

CLAIMS, VOLUMES = typed(PersistentVolumeClaim), typed(PersistentVolume)

AnyStep = ClaimStep | ProvisioningRecord | CleanUp


class BegunCalls:
    def __init__(self, context: CallContext, given_up: GivenUpCalls) -> None:
        self._tools = context.tools
        self._sidecar = context.sidecar
        self._intents = context.intents
        self._caches = context.caches
        self._given_up = given_up

    async def settle(self, key: ObjectKey, uid: str) -> AnyStep | StartOver | None:
        """What is to be done about a call that was begun; None: what is to be done anyway."""
        intent = self._intents.find_open(uid)
        if intent is None:
            return None
        if intent.state is IntentState.STUCK and await self._intents.is_deleted(uid):
            # An administrator has looked at what is there.
            await self._intents.drop(uid)
            return StartOver(plan=NOTHING, memory=NOTHING_KNOWN)
        # No cache is asked: what is not wanted any more is deleted.
        claim = await self._tools.client.find(CLAIMS, key)
        if is_waiting(claim, intent):
            memory = ClaimMemory(in_progress=intent.recorded_claim)
            return Ignore(reason=IgnoreReason.HELD, memory=memory)
        is_wanted = intent.is_wanted_by(claim) and intent.state is not IntentState.UNDOING
        is_seen = self._caches.view().volume(intent.volume_name) is not None
        names_volume = claim is not None and bool(claim.spec.volume_name)
        if is_wanted and not (is_seen or names_volume):
            return None
        stored = await self._tools.client.list(VOLUMES)
        if is_recorded(intent.asset, stored.items):
            return Ignore(reason=IgnoreReason.PROVISIONED_ALREADY)
        # By another volume of the name than was asked for.
        is_served = any(volume.name == intent.volume_name for volume in stored.items)
        if is_wanted and not (is_served or (is_seen and not intent.asset.is_named_alike)):
            return None
        waiting = None if is_served else _same(claim, uid)
        if intent.state in (IntentState.UNDOING, IntentState.MADE):
            return replace(undoing(intent, intent.volume_id), wanted_by=waiting)
        if await self._gives_up(uid, waiting):
            return StartOver(plan=NOTHING, memory=NOTHING_KNOWN)
        return await self._ask_again(intent, waiting)

    async def _gives_up(self, uid: str, claim: PersistentVolumeClaim | None) -> bool:
        """Whether what was begun is undone beside what comes next for the claim: a pod waits, and
        the driver may not answer for long. Raises KubeError."""
        begun = self._intents.find(uid)
        if begun is None or not may_be_given_up(begun, claim):
            return False
        if self._sidecar.decisions.is_compatible:
            return False
        intent = await self._intents.give_up(uid)
        if intent is not None:
            self._given_up.add(intent)
        return intent is not None

    async def _ask_again(
        self, intent: Intent, claim: PersistentVolumeClaim | None
    ) -> AnyStep | StartOver:
        """The volume is not wanted, and whether there is one is not known. `claim` waits for
        another one; None: it does not."""
        try:
            secrets = await self._sidecar.read_secret(intent.secret_reference)
        except SecretUnreadableError as error:
            return after_unread_intent(intent, str(error))
        outcome = await self._sidecar.ask_again(intent, secrets)
        if isinstance(outcome, CallFailed) and outcome.code in LEAVES_NOTHING:
            await self._intents.refused(intent.uid)
        if isinstance(outcome, CallFailed) and outcome.code is Code.ALREADY_EXISTS:
            await self._intents.enter(intent.uid, IntentState.STUCK)
        return after_repeated(intent, outcome, claim)

    async def clean_up(self, step: CleanUp) -> AnyStep | StartOver:
        # A volume that was recorded may be in use: no cache is asked.
        stored = await self._tools.client.list(VOLUMES)
        uid = step.claim.uid
        number = known.number if (known := self._intents.find(uid)) else 0
        checked = before_cleanup(step, stored.items, self._sidecar.decisions, number=number)
        if not isinstance(checked, CleanUp):
            return checked
        await self._intents.enter(uid, IntentState.UNDOING, step.call.volume_id)
        outcome = await self._sidecar.undo(step, self._intents.other_leaders(uid))
        if isinstance(outcome, Ignore):
            await self._intents.suspect(uid)
            # The claim never had it, and gets another one.
            return StartOver(plan=outcome.plan, memory=NOTHING_KNOWN)
        if isinstance(outcome, Deleted):
            await self._intents.enter(uid, IntentState.UNDONE)
        elif await self._gives_up(uid, step.wanted_by):
            return StartOver(plan=NOTHING, memory=NOTHING_KNOWN)
        self._sidecar.capacity.undone(step.claim.storage_class)
        return after_cleanup(step, outcome)


def _same(claim: PersistentVolumeClaim | None, uid: str) -> PersistentVolumeClaim | None:
    return claim if claim is not None and claim.uid == uid else None
