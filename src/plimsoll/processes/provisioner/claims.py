"""The loop that provisions volumes for claims: decide, call the driver, store the volume.

A call that may still be running at the driver is repeated, even when its claim is gone, until the
answer is final. A volume that could not be stored is stored later, without another call.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

from plimsoll.api.meta import ObjectKey
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.cache.store import StoreChange
from plimsoll.decide.plan import NOTHING, Patch, Plan
from plimsoll.decide.provisioning.calls import (
    CallFailed,
    Code,
    CreateOutcome,
    Deleted,
)
from plimsoll.decide.provisioning.claims import (
    after_obstacle,
    after_unread,
    after_unread_secret,
    decide_call,
    decide_claim,
)
from plimsoll.decide.provisioning.failures import ProvisioningState
from plimsoll.decide.provisioning.holds import HOLD, hold_of
from plimsoll.decide.provisioning.intents import (
    LEAVES_NOTHING,
    Intent,
    IntentState,
    after_repeated,
    after_unread_intent,
    bounded,
    held_back,
    is_waiting,
    recorded_claim,
    refused,
    requested_name,
    undoing,
)
from plimsoll.decide.provisioning.outcomes import (
    after_cleanup,
    after_create,
    after_saved,
    after_unsaved,
    before_cleanup,
)
from plimsoll.decide.provisioning.protection import SNAPSHOTS
from plimsoll.decide.provisioning.recorded import is_recorded
from plimsoll.decide.provisioning.steps import (
    NOTHING_KNOWN,
    AfterCreate,
    Call,
    ClaimMemory,
    ClaimStep,
    CleanUp,
    Compete,
    Delay,
    Ignore,
    IgnoreReason,
    Prepare,
    ProvisioningRecord,
    Refuse,
    Reschedule,
    StartOver,
)
from plimsoll.decide.provisioning.topology.selected_node import selected_node_of
from plimsoll.decide.provisioning.view import ProvisioningContext
from plimsoll.enact.enactor import Done, Obstacle, Outcome, Overtaken
from plimsoll.processes.provisioner.given_up import GivenUpCalls
from plimsoll.processes.provisioner.messages import record_of
from plimsoll.processes.provisioner.operation_metrics import AfterFailure
from plimsoll.processes.provisioner.races import Races
from plimsoll.processes.provisioner.sidecar import Pace, SecretUnreadableError, Sidecar
from plimsoll.processes.provisioner.view import ProvisionerCaches, needs, read_for
from plimsoll.reconcile.intents import STRAYS_EVERY, IntentBook, IntentSettings
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.runtime.workqueue import WorkQueue
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import typed

log = logging.getLogger(__name__)

CLAIMS, VOLUMES = typed(PersistentVolumeClaim), typed(PersistentVolume)
BY_CLASS = "by class"

AnyStep = ClaimStep | ProvisioningRecord | CleanUp
INTENT_ENDS = frozenset({IgnoreReason.PROVISIONED_ALREADY, IgnoreReason.ROLLED_BACK})
CLAIM_ENDS = frozenset({IgnoreReason.GONE, IgnoreReason.BOUND})


@dataclass(frozen=True, slots=True)
class Unsaved:
    """A volume that exists and is not stored yet."""

    record: ProvisioningRecord
    begun: float


class Claims(Loop):
    name = "claims"

    def __init__(
        self, tools: Tools, *, sidecar: Sidecar, pace: Pace, intents: IntentSettings
    ) -> None:
        super().__init__(tools)
        self._intents = IntentBook(tools.client, intents, sidecar.metrics.intents_open, tools.fence)
        self.workers = pace.workers
        self.queue = WorkQueue(tools.clock, tools.chance, pace.retries)
        self._sidecar = sidecar
        self._caches = ProvisionerCaches(tools.observed, sidecar.decisions)
        self._races = Races(tools, sidecar)
        self._given_up = GivenUpCalls(
            tools, sidecar=sidecar, intents=self._intents, on_settled=self._settled
        )
        self._memory: dict[str, ClaimMemory] = {}
        """By the uid of the claim."""
        self._unsaved: dict[str, Unsaved] = {}
        self._uids: dict[ObjectKey, set[str]] = {}
        """Those that something is remembered of, by the name that their claims have, or had."""
        self._begun: dict[str, float] = {}
        """When a volume was first wanted."""
        self._caches.claims.index(BY_CLASS, lambda claim: (claim.storage_class,))
        self._caches.claims.on_change(self.add_changed)
        self._caches.classes.on_change(lambda change: self._class_changed(change.key.name))
        self._caches.volumes.on_change(self._volume_changed)

    def _volume_changed(self, change: StoreChange[PersistentVolume]) -> None:
        """A claim whose volume is deleted before it took it needs another one."""
        if change.after is None and change.before is not None and change.before.spec.claim:
            self.queue.add(change.before.spec.claim)

    def _class_changed(self, name: str) -> None:
        """A class that came, or came anew, may be what claims wait for."""
        if self._caches.claims.informer is None or not self._caches.claims.informer.has_synced:
            return
        for key in self._caches.claims.view().by(BY_CLASS, name):
            self.queue.add(key)

    async def run(self) -> None:
        if not self._sidecar.decisions.is_compatible:
            await self._inherit()
        async with asyncio.TaskGroup() as group:
            group.create_task(super().run(), name="claims")
            group.create_task(self._given_up.run(), name="calls given up")
            if not self._sidecar.decisions.is_compatible:
                group.create_task(self._look_for_strays(), name="stray intents")

    async def _inherit(self) -> None:
        """What earlier processes began is known before anything else is begun."""
        found = await self._intents.load()
        await self._intents.announce(self._sidecar.decisions.driver)
        self._take_over(found)

    async def _look_for_strays(self) -> None:
        while True:
            await self.tools.clock.sleep(STRAYS_EVERY)
            try:
                self._take_over(await self._intents.load_strays())
            except KubeError as error:
                log.warning("stray intents not looked for", extra={"why": str(error)})

    def _take_over(self, found: list[Intent]) -> None:
        for intent in self._intents.given_up:
            self._given_up.add(intent)
        for intent in found:
            self._uids.setdefault(intent.claim_key, set()).add(intent.uid)
            if intent.state.is_open:
                self._memory[intent.uid] = ClaimMemory(in_progress=intent.recorded_claim)
                log.info("intent found", extra={"claim": str(intent.claim_key)})
            self.queue.add(intent.claim_key)

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        claim = self._caches.claims.view().get(key)
        if claim is not None:
            self._uids.setdefault(key, set()).add(claim.uid)
        delays = []
        for uid in sorted(self._uids.get(key, ())):
            current = claim if claim is not None and claim.uid == uid else None
            delays.append(await self._advance(key, current, uid))
            self._tidy(key, current, uid)
        return min((delay for delay in delays if delay is not None), default=None)

    def _tidy(self, key: ObjectKey, claim: PersistentVolumeClaim | None, uid: str) -> None:
        """Forget a claim that is gone, unless a call for it is still under way."""
        memory = self._memory.get(uid, NOTHING_KNOWN)
        if claim is None and memory.in_progress is None:
            self._memory.pop(uid, None)
            self._begun.pop(uid, None)
        if uid in self._memory or uid in self._unsaved or uid in self._begun:
            return
        if self._intents.find(uid) is not None:
            return
        self._uids[key].discard(uid)
        if not self._uids[key]:
            del self._uids[key]
            self.queue.forget(key)

    async def _advance(
        self, key: ObjectKey, claim: PersistentVolumeClaim | None, uid: str
    ) -> timedelta | None:
        if uid in self._unsaved:
            await self._save(key, uid, self._unsaved[uid])
            return None
        if (wait := self._intents.wait(uid)) is not None:
            return wait
        self._begun.setdefault(uid, self.tools.clock.monotonic())
        context = self._sidecar.context(self._caches.view())
        step: AnyStep | StartOver | None = await self._settle(key, uid)
        if step is None:
            step, context = await self._decide(claim, self._memory.get(uid, NOTHING_KNOWN))
        if not isinstance(step, Compete):
            self._races.forget(uid)
        again: timedelta | None = None
        while step is not None:
            self._remember(uid, step.memory)
            if isinstance(step, StartOver):
                await self._show(step.plan)
                current = await self.tools.client.find(CLAIMS, key)
                is_same = current is not None and current.uid == uid
                step, context = await self._decide(current if is_same else None, step.memory)
            else:
                step, again = await self._follow(key, uid, step, context)
        return again

    async def _decide(
        self, claim: PersistentVolumeClaim | None, memory: ClaimMemory
    ) -> tuple[ClaimStep, ProvisioningContext]:
        """What no cache holds is read only for claims that are ours to provision now."""
        subject = memory.in_progress or claim
        is_stored = subject is not None and self._intents.find_open(subject.uid) is not None
        context = self._sidecar.context(self._caches.view(), is_call_stored=is_stored)
        if claim is not None and self._is_waiting(claim):
            return Ignore(reason=IgnoreReason.HELD, memory=memory), context
        step = decide_claim(claim, memory, context)
        if isinstance(step, Ignore | Delay | Compete) or subject is None or not needs(subject):
            return step, context
        try:
            read = await read_for(subject, self.tools.client)
        except KubeError as error:
            return after_unread(subject, memory, str(error)), context
        context = replace(context, view=self._caches.view(read))
        return decide_claim(claim, memory, context), context

    def _is_waiting(self, claim: PersistentVolumeClaim) -> bool:
        is_compatible = self._sidecar.decisions.is_compatible
        return not is_compatible and is_waiting(claim, self._intents.find(claim.uid))

    def _remember(self, uid: str, memory: ClaimMemory) -> None:
        if memory == NOTHING_KNOWN:
            self._memory.pop(uid, None)
        else:
            self._memory[uid] = memory

    async def _follow(
        self, key: ObjectKey, uid: str, step: AnyStep, context: ProvisioningContext
    ) -> tuple[AnyStep | StartOver | None, timedelta | None]:
        """Carry out one step. Returns the next step, or when to look at the claim again."""
        match step:
            case Ignore():
                await self._show(step.plan)
                await self._forget_intent(uid, step)
                self.queue.forget(key)
                self._begun.pop(uid, None)
                return None, step.recheck_after
            case Delay():
                return None, step.until - self._sidecar.now()
            case Refuse() | Reschedule():
                await self._refused(key, step)
                await self._tell_scheduler(key, uid, step)
                return None, None
            case Prepare():
                return await self._attempt(step, context), None
            case CleanUp():
                return await self._clean_up(step), None
            case Compete():
                remember = partial(self._remember, uid)
                return None, await self._races.run(step, self._caches, remember)
            case ProvisioningRecord():
                await self._show(step.plan)
                if await self._hold_back(key, step):
                    return None, None
                begun = self._begun.pop(uid, self.tools.clock.monotonic())
                if not self._sidecar.decisions.is_compatible:
                    step = step.with_token(self._sidecar.capacity.token_for_volume())
                await self._save(key, uid, Unsaved(step, begun))
                return None, None

    async def _hold_back(self, key: ObjectKey, record: ProvisioningRecord) -> bool:
        """Whether the volume waits for others of its pod."""
        claim, made = record.claim, record.made
        intent = self._intents.find(claim.uid)
        if not record.hold or made is None or intent is None:
            return False
        if not await self._intents.hold_back(held_back(intent, record.hold, made)):
            return False
        self._remember(claim.uid, replace(record.memory, in_progress=claim))
        self.queue.forget(key)
        return True

    async def _tell_scheduler(self, key: ObjectKey, uid: str, step: Refuse | Reschedule) -> None:
        """Say that a claim which is held gets no volume here. If there may be one, it is asked for
        again first."""
        claim = self._caches.claims.view().get(key)
        hold = hold_of(claim) if claim is not None and claim.uid == uid else None
        decisions = self._sidecar.decisions
        if claim is None or hold is None or decisions.is_compatible:
            return
        is_final = step.failure.state in (ProvisioningState.FINISHED, ProvisioningState.RESCHEDULE)
        if not is_final or self._intents.find_open(uid) is not None:
            return
        intent = Intent(
            driver=decisions.driver,
            claim=recorded_claim(claim),
            volume_name=f"pvc-{uid}",
            number=self._intents.next_number(uid),
            selected_node=selected_node_of(claim),
            node=self._intents.node,
        )
        await self._intents.begin(refused(intent, hold.id, step.failure.message))
        self.queue.forget(key)

    async def _refused(self, key: ObjectKey, step: Refuse | Reschedule) -> None:
        outcome = await self._show(step.plan)
        claim = self._caches.claims.view().get(key)
        class_ = claim.storage_class if claim else ""
        self._sidecar.metrics.not_provisioned(class_, _source_of(claim))
        then = AfterFailure.RESCHEDULED if isinstance(step, Reschedule) else AfterFailure.RETRIED
        self._sidecar.metrics.refused(step.failure.problem, then)
        if step.failure.state is not ProvisioningState.NO_CHANGE and class_:
            self._sidecar.capacity.refused(class_)
        if isinstance(step, Refuse) or not isinstance(outcome, Done):
            self.queue.add_rate_limited(key)
        else:
            # Another node is another beginning.
            self.queue.forget(key)

    async def _attempt(self, prepare: Prepare, context: ProvisioningContext) -> AnyStep | StartOver:
        outcome = await self._show(prepare.plan)
        if not isinstance(outcome, Done) and not _is_tolerable(outcome):
            return after_obstacle(prepare, outcome.error.message)
        try:
            secrets = await self._sidecar.read_secret(prepare.attempt.secret)
        except SecretUnreadableError as error:
            return after_unread_secret(prepare, str(error))
        if not await self._is_still_held(prepare):
            return StartOver(plan=NOTHING, memory=prepare.memory)
        step: Call | AnyStep = decide_call(prepare, context)
        while isinstance(step, Call):
            step = await self._call(step, secrets)
        return step

    async def _is_still_held(self, prepare: Prepare) -> bool:
        """False: the scheduler has changed its mind since the cache was filled."""
        claim = prepare.attempt.claim
        if HOLD not in claim.annotations or prepare.memory.in_progress is not None:
            return True
        current = await self.tools.client.find(CLAIMS, claim.key)
        if current is None or current.uid != claim.uid:
            return False
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
            made = await self._sidecar.repeat(step.recorded, secrets)
        else:
            made = await self._sidecar.create(step.call, secrets)
        if isinstance(made, CallFailed) and made.code in LEAVES_NOTHING:
            await self._intents.refused(claim.uid)
        # What the claim is now decides whether the volume is wanted: no cache is asked.
        current = await self.tools.client.find(CLAIMS, claim.key)
        # The source carries our mark by now, which is to be taken off again.
        read = await read_for(claim, self.tools.client)
        return after_create(step, made, current, self._sidecar.context(self._caches.view(read)))

    async def _intended(self, step: Call) -> Call:
        """The same call, once it is durable that the driver is asked. Raises KubeError."""
        attempt, uid = step.attempt, step.attempt.claim.uid
        if self._sidecar.decisions.is_compatible or step.is_search:
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

    async def _settle(self, key: ObjectKey, uid: str) -> AnyStep | StartOver | None:
        """What is to be done about a call that was begun; None: what is to be done anyway."""
        intent = self._intents.find_open(uid)
        if intent is None:
            return None
        # No cache is asked: what is not wanted any more is deleted.
        claim = await self.tools.client.find(CLAIMS, key)
        if is_waiting(claim, intent):
            memory = ClaimMemory(in_progress=intent.recorded_claim)
            return Ignore(reason=IgnoreReason.HELD, memory=memory)
        is_wanted = intent.is_wanted_by(claim) and intent.state is not IntentState.UNDOING
        if is_wanted and not self._may_be_served(intent):
            return None
        stored = await self.tools.client.list(VOLUMES)
        if is_recorded(intent.asset, stored.items):
            return Ignore(reason=IgnoreReason.PROVISIONED_ALREADY)
        is_served = any(volume.name == intent.volume_name for volume in stored.items)
        waiting = None if is_served else _same(claim, uid)
        if intent.state in (IntentState.UNDOING, IntentState.MADE):
            return replace(undoing(intent, intent.volume_id), wanted_by=waiting)
        if await self._gives_up(uid, waiting):
            return StartOver(plan=NOTHING, memory=NOTHING_KNOWN)
        return await self._ask_again(intent, waiting)

    def _may_be_served(self, intent: Intent) -> bool:
        """Whether a volume of the name is there, which may be another one than was asked for."""
        return bool(intent.number) and self._caches.view().volume(intent.volume_name) is not None

    async def _gives_up(self, uid: str, claim: PersistentVolumeClaim | None) -> bool:
        """Whether what was begun is undone beside what comes next for the claim: a pod waits, and
        the driver may not answer for long. Raises KubeError."""
        if claim is None or hold_of(claim) is None or self._sidecar.decisions.is_compatible:
            return False
        intent = await self._intents.give_up(uid)
        if intent is not None:
            self._given_up.add(intent)
        return intent is not None

    def _settled(self, intent: Intent) -> None:
        """Nothing is left of an attempt that was given up; its number may have to be kept."""
        self._uids.setdefault(intent.claim_key, set()).add(intent.uid)
        self._sidecar.capacity.refused(intent.recorded_claim.storage_class)
        self.queue.add(intent.claim_key)

    async def _ask_again(
        self, intent: Intent, claim: PersistentVolumeClaim | None
    ) -> AnyStep | StartOver:
        """The volume is not wanted, and whether there is one is not known. `claim` waits for
        another one; None: it does not."""
        try:
            secrets = await self._sidecar.read_secret(intent.secret_reference)
        except SecretUnreadableError as error:
            return after_unread_intent(intent, str(error))
        outcome = await self._sidecar.repeat(intent.request, secrets)
        if isinstance(outcome, CallFailed) and outcome.code in LEAVES_NOTHING:
            await self._intents.refused(intent.uid)
        if isinstance(outcome, CallFailed) and outcome.code is Code.ALREADY_EXISTS:
            await self._intents.enter(intent.uid, IntentState.STUCK)
        return after_repeated(intent, outcome, claim)

    async def _forget_intent(self, uid: str, step: Ignore) -> None:
        """There is nothing to settle any more, or no claim that could ask for another volume."""
        if step.reason in INTENT_ENDS or (
            step.reason in CLAIM_ENDS and self._intents.find_open(uid) is None
        ):
            await self._intents.drop(uid)

    async def _clean_up(self, step: CleanUp) -> AnyStep | StartOver:
        # A volume that was recorded may be in use: no cache is asked.
        stored = await self.tools.client.list(VOLUMES)
        uid = step.claim.uid
        number = known.number if (known := self._intents.find(uid)) else 0
        checked = before_cleanup(step, stored.items, self._sidecar.decisions, number=number)
        if not isinstance(checked, CleanUp):
            return checked
        await self._intents.enter(uid, IntentState.UNDOING, step.call.volume_id)
        may_be_recorded = self._intents.may_be_recorded(uid)
        outcome = await self._sidecar.undo(step, may_be_recorded=may_be_recorded)
        if isinstance(outcome, Ignore):
            await self._intents.suspect(uid)
            # The claim never had it, and gets another one.
            return StartOver(plan=outcome.plan, memory=NOTHING_KNOWN)
        if isinstance(outcome, Deleted):
            await self._intents.enter(uid, IntentState.UNDONE)
        elif await self._gives_up(uid, step.wanted_by):
            return StartOver(plan=NOTHING, memory=NOTHING_KNOWN)
        self._sidecar.capacity.refused(step.claim.storage_class)
        return after_cleanup(step, outcome)

    async def _save(self, key: ObjectKey, uid: str, unsaved: Unsaved) -> None:
        self._unsaved[uid] = unsaved
        record = unsaved.record
        outcome = await self._show(record.creation)
        if not isinstance(outcome, Done):
            stored = await self._find_stored(record, outcome)
            if stored is None:
                await self._show(after_unsaved(record, outcome.error.message))
                self.queue.add_rate_limited(key)
                return
            if not self._is_told_by(stored, record):
                await self._give_back(key, uid, record)
                return
        await self._intents.drop(uid)
        del self._unsaved[uid]
        self.queue.forget(key)
        self._told(record, self.tools.clock.monotonic() - unsaved.begun)
        await self._show(after_saved(record, self._caches.claims.view().get(key)))

    async def _find_stored(
        self, record: ProvisioningRecord, outcome: Overtaken | Obstacle
    ) -> PersistentVolume | None:
        """What the claim has under the name: an earlier attempt may have reached the server
        although no answer came back."""
        if outcome.error.failure is not Failure.ALREADY_EXISTS:
            return None
        stored = await self.tools.client.find(VOLUMES, ObjectKey("", record.name))
        reference = stored.spec.claim_ref if stored else None
        is_of_claim = reference is not None and reference.uid == record.claim.uid
        return stored if is_of_claim else None

    def _is_told_by(self, stored: PersistentVolume, record: ProvisioningRecord) -> bool:
        """False: another program has recorded a volume of its own for the claim."""
        intent = self._intents.find(record.claim.uid)
        if intent is None:
            return True
        return is_recorded(replace(intent.asset, volume_id=record.volume_id), (stored,))

    async def _give_back(self, key: ObjectKey, uid: str, record: ProvisioningRecord) -> None:
        """The claim has another volume. Raises KubeError."""
        await self._intents.enter(uid, IntentState.UNDOING, record.volume_id)
        del self._unsaved[uid]
        self._remember(uid, replace(record.memory, in_progress=record.claim))
        self.queue.add(key)

    def _told(self, record: ProvisioningRecord, seconds: float) -> None:
        claim, volume = record.claim, from_document(PersistentVolume, record.volume)
        self._sidecar.metrics.provisioned(claim.storage_class, _source_of(claim), seconds)
        self._sidecar.capacity.provisioned(volume)

    async def _show(self, plan: Plan) -> Outcome:
        """Carry out a plan; what was written is shown to all loops at once."""
        outcome = await self.tools.enactor.enact(plan)
        if isinstance(outcome, Done):
            self.tools.observed.written(outcome.left)
        return outcome


def _same(claim: PersistentVolumeClaim | None, uid: str) -> PersistentVolumeClaim | None:
    return claim if claim is not None and claim.uid == uid else None


def _is_tolerable(outcome: Overtaken | Obstacle) -> bool:
    """Older installations do not grant the finalizer on snapshots."""
    is_forbidden = outcome.error.failure is Failure.FORBIDDEN
    return is_forbidden and isinstance(outcome.write, Patch) and outcome.write.resource == SNAPSHOTS


def _source_of(claim: PersistentVolumeClaim | None) -> str:
    source = claim.spec.data_source if claim else None
    return source.kind if source else ""
