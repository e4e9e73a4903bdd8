"""One attempt to provision a volume: its intent is stored first, then the driver is called."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.plan import NOTHING, Patch
from plimsoll.decide.provisioning.calls import CallFailed, CreateOutcome
from plimsoll.decide.provisioning.claims import (
    after_obstacle,
    after_unread_secret,
    decide_call,
)
from plimsoll.decide.provisioning.holds import HOLD, hold_of
from plimsoll.decide.provisioning.intents import (
    LEAVES_NOTHING,
    Intent,
    IntentState,
    bounded,
    recorded_claim,
    requested_name,
)
from plimsoll.decide.provisioning.outcomes import after_create, answer_of
from plimsoll.decide.provisioning.protection import SNAPSHOTS
from plimsoll.decide.provisioning.steps import (
    AfterCreate,
    Call,
    ClaimMemory,
    Prepare,
    StartOver,
)
from plimsoll.decide.provisioning.topology.selected_node import selected_node_of
from plimsoll.decide.provisioning.view import ProvisioningContext
from plimsoll.enact.enactor import Done, Obstacle, Overtaken
from plimsoll.processes.provisioner.claims.begun_calls import AnyStep
from plimsoll.processes.provisioner.claims.call_context import CallContext
from plimsoll.processes.provisioner.messages import record_of
from plimsoll.processes.provisioner.sidecar import SecretUnreadableError
from plimsoll.processes.provisioner.view import read_for
from plimsoll.wire.errors import Failure
from plimsoll.wire.kind import typed

CLAIMS = typed(PersistentVolumeClaim)


class ProvisioningAttempts:
    def __init__(self, context: CallContext, remember: Callable[[str, ClaimMemory], None]) -> None:
        """`remember` is told by the uid of a claim what is known of it."""
        self._tools = context.tools
        self._sidecar = context.sidecar
        self._intents = context.intents
        self._caches = context.caches
        self._remember = remember

    async def make(self, prepare: Prepare, context: ProvisioningContext) -> AnyStep | StartOver:
        outcome = await self._tools.show(prepare.plan)
        if not isinstance(outcome, Done) and not _is_tolerable(outcome):
            return after_obstacle(prepare, outcome.error.message)
        try:
            secrets = await self._sidecar.read_secret(prepare.attempt.secret)
        except SecretUnreadableError as error:
            return after_unread_secret(prepare, str(error))
        if not await self._is_still_wanted(prepare):
            return StartOver(plan=NOTHING, memory=prepare.memory)
        step: Call | AnyStep = decide_call(prepare, context)
        while isinstance(step, Call):
            step = await self._call(step, secrets)
        return step

    async def _is_still_wanted(self, prepare: Prepare) -> bool:
        """False: since the cache was filled the claim has got a volume, which may be deleted by
        now, or is gone, or the scheduler has changed its mind."""
        claim = prepare.attempt.claim
        if prepare.memory.in_progress is not None:
            return True
        if self._sidecar.decisions.is_compatible and HOLD not in claim.annotations:
            return True
        current = await self._tools.client.find(CLAIMS, claim.key)
        if current is None or current.uid != claim.uid or current.spec.volume_name:
            return False
        if HOLD not in claim.annotations:
            return True
        return (hold_of(current), selected_node_of(current)) == (
            hold_of(claim),
            selected_node_of(claim),
        )

    async def _call(self, step: Call, secrets: Mapping[str, str]) -> AfterCreate:
        claim = step.attempt.claim
        step = await self._intended(step)
        # Until the answer is judged, a volume may exist that only this process knows of.
        self._remember(claim.uid, replace(step.memory, in_progress=claim))
        known = self._intents.find_open(claim.uid)
        made: CreateOutcome
        if known is not None and known.state is IntentState.MADE and known.made is not None:
            made = known.made.created
        elif step.recorded is not None:
            made = await self._sidecar.repeat(
                step.recorded, secrets, selected_node=step.attempt.selected_node
            )
        else:
            made = await self._sidecar.create(
                step.call, secrets, selected_node=step.attempt.selected_node
            )
        made = answer_of(step, made)
        if isinstance(made, CallFailed) and made.code in LEAVES_NOTHING:
            await self._intents.refused(claim.uid)
        # What the claim is now decides whether the volume is wanted: no cache is asked.
        current = await self._tools.client.find(CLAIMS, claim.key)
        # The source carries our mark by now, which is to be taken off again.
        read = await read_for(claim, self._tools.client)
        return after_create(step, made, current, self._sidecar.context(self._caches.view(read)))

    async def _intended(self, step: Call) -> Call:
        """The same call, once it is durable that the driver is asked. Raises KubeError."""
        attempt, uid = step.attempt, step.attempt.claim.uid
        if self._sidecar.decisions.is_compatible or step.taken is not None:
            return step
        known = self._intents.find_open(uid)
        if known is not None and step.memory.in_progress is not None:
            attempt = replace(attempt, selected_node=known.selected_node)
            return replace(step, attempt=attempt, recorded=known.request)
        number = self._intents.next_number(uid)
        call = replace(step.call, name=requested_name(attempt.volume_name, number))
        secret = attempt.secret
        intent = Intent(
            driver=self._sidecar.decisions.driver,
            claim=recorded_claim(attempt.claim),
            volume_name=attempt.volume_name,
            number=number,
            selected_node=attempt.selected_node,
            request=record_of(call),
            hold=hold.id if (hold := hold_of(attempt.claim)) else "",
            secret={"namespace": secret.namespace, "name": secret.name} if secret else {},
            node=self._intents.node,
        )
        await self._intents.begin(bounded(intent))
        return replace(step, call=call)


def _is_tolerable(outcome: Overtaken | Obstacle) -> bool:
    """Older installations do not grant the finalizer on snapshots."""
    is_forbidden = outcome.error.failure is Failure.FORBIDDEN
    return is_forbidden and isinstance(outcome.write, Patch) and outcome.write.resource == SNAPSHOTS
