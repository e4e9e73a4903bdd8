"""The loop that provisions volumes for claims: decide, call the driver, store the volume.

A call that may still be running at the driver is repeated, even when its claim is gone, until the
answer is final. A volume that could not be stored is stored later, without another call.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

from plimsoll.api.meta import ObjectKey
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.cache.store import StoreChange
from plimsoll.decide.plan import Patch, Plan
from plimsoll.decide.provisioning.calls import Deleted, DeleteOutcome
from plimsoll.decide.provisioning.claims import (
    after_obstacle,
    after_unread,
    after_unread_secret,
    decide_call,
    decide_claim,
)
from plimsoll.decide.provisioning.failures import ProvisioningState
from plimsoll.decide.provisioning.outcomes import (
    after_cleanup,
    after_create,
    after_saved,
    after_unsaved,
    before_cleanup,
)
from plimsoll.decide.provisioning.protection import SNAPSHOTS
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
    Prepare,
    ProvisioningRecord,
    Refuse,
    Reschedule,
    StartOver,
)
from plimsoll.decide.provisioning.view import ProvisioningContext
from plimsoll.enact.enactor import Done, Obstacle, Outcome, Overtaken
from plimsoll.processes.provisioner.operation_metrics import AfterFailure
from plimsoll.processes.provisioner.races import Races
from plimsoll.processes.provisioner.sidecar import Pace, SecretUnreadableError, Sidecar
from plimsoll.processes.provisioner.view import ProvisionerCaches, needs, read_for
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.runtime.workqueue import WorkQueue
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import typed

CLAIMS, VOLUMES = typed(PersistentVolumeClaim), typed(PersistentVolume)
BY_CLASS = "by class"

AnyStep = ClaimStep | ProvisioningRecord | CleanUp


@dataclass(frozen=True, slots=True)
class Unsaved:
    """A volume that exists and is not stored yet."""

    record: ProvisioningRecord
    begun: float


class Claims(Loop):
    name = "claims"

    def __init__(self, tools: Tools, *, sidecar: Sidecar, pace: Pace) -> None:
        super().__init__(tools)
        self.workers = pace.workers
        self.queue = WorkQueue(tools.clock, tools.chance, pace.retries)
        self._sidecar = sidecar
        self._caches = ProvisionerCaches(tools.observed, sidecar.decisions)
        self._races = Races(tools, sidecar)
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
        self._begun.setdefault(uid, self.tools.clock.monotonic())
        first, context = await self._decide(claim, self._memory.get(uid, NOTHING_KNOWN))
        if not isinstance(first, Compete):
            self._races.forget(uid)
        step: AnyStep | StartOver | None = first
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
        context = self._sidecar.context(self._caches.view())
        step = decide_claim(claim, memory, context)
        subject = memory.in_progress or claim
        if isinstance(step, Ignore | Delay | Compete) or subject is None or not needs(subject):
            return step, context
        try:
            read = await read_for(subject, self.tools.client)
        except KubeError as error:
            return after_unread(subject, memory, str(error)), context
        context = self._sidecar.context(self._caches.view(read))
        return decide_claim(claim, memory, context), context

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
                self.queue.forget(key)
                self._begun.pop(uid, None)
                return None, step.recheck_after
            case Delay():
                return None, step.until - self._sidecar.now()
            case Refuse() | Reschedule():
                await self._refused(key, step)
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
                begun = self._begun.pop(uid, self.tools.clock.monotonic())
                await self._save(key, uid, Unsaved(step, begun))
                return None, None

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

    async def _attempt(self, prepare: Prepare, context: ProvisioningContext) -> AnyStep:
        outcome = await self._show(prepare.plan)
        if not isinstance(outcome, Done) and not _is_tolerable(outcome):
            return after_obstacle(prepare, outcome.error.message)
        try:
            secrets = await self._sidecar.read_secret(prepare.attempt.secret)
        except SecretUnreadableError as error:
            return after_unread_secret(prepare, str(error))
        step: Call | AnyStep = decide_call(prepare, context)
        while isinstance(step, Call):
            step = await self._call(step, secrets)
        return step

    async def _call(self, step: Call, secrets: Mapping[str, str]) -> AfterCreate:
        claim = step.attempt.claim
        # Until the answer is judged, a volume may exist that only this process knows of.
        self._remember(claim.uid, replace(step.memory, in_progress=claim))
        made = await self._sidecar.create(step.call, secrets)
        # What the claim is now decides whether the volume is wanted: no cache is asked.
        current = await self.tools.client.find(CLAIMS, claim.key)
        # The source carries our mark by now, which is to be taken off again.
        read = await read_for(claim, self.tools.client)
        return after_create(step, made, current, self._sidecar.context(self._caches.view(read)))

    async def _clean_up(self, step: CleanUp) -> AnyStep | StartOver:
        # A volume that was recorded may be in use: no cache is asked.
        stored = await self.tools.client.list(VOLUMES)
        checked = before_cleanup(step, stored.items, self._sidecar.decisions)
        if not isinstance(checked, CleanUp):
            return checked
        outcome = await self._delete(step)
        self._sidecar.capacity.refused(step.claim.storage_class)
        return after_cleanup(step, outcome)

    async def _delete(self, step: CleanUp) -> DeleteOutcome:
        outcome = await self._sidecar.delete(step.call)
        for _ in range(step.tries - 1):
            if isinstance(outcome, Deleted):
                break
            outcome = await self._sidecar.delete(step.call)
        return outcome

    async def _save(self, key: ObjectKey, uid: str, unsaved: Unsaved) -> None:
        self._unsaved[uid] = unsaved
        record = unsaved.record
        outcome = await self._show(record.creation)
        if not isinstance(outcome, Done) and not await self._is_stored(record, outcome):
            await self._show(after_unsaved(record, outcome.error.message))
            self.queue.add_rate_limited(key)
            return
        del self._unsaved[uid]
        self.queue.forget(key)
        self._told(record, self.tools.clock.monotonic() - unsaved.begun)
        await self._show(after_saved(record, self._caches.claims.view().get(key)))

    async def _is_stored(self, record: ProvisioningRecord, outcome: Overtaken | Obstacle) -> bool:
        """An earlier attempt may have reached the server although no answer came back."""
        if outcome.error.failure is not Failure.ALREADY_EXISTS:
            return False
        stored = await self.tools.client.find(VOLUMES, ObjectKey("", record.name))
        reference = stored.spec.claim_ref if stored else None
        return reference is not None and reference.uid == record.claim.uid

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


def _is_tolerable(outcome: Overtaken | Obstacle) -> bool:
    """Older installations do not grant the finalizer on snapshots."""
    is_forbidden = outcome.error.failure is Failure.FORBIDDEN
    return is_forbidden and isinstance(outcome.write, Patch) and outcome.write.resource == SNAPSHOTS


def _source_of(claim: PersistentVolumeClaim | None) -> str:
    source = claim.spec.data_source if claim else None
    return source.kind if source else ""
