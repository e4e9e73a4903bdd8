"""The loop that makes volumes for claims: decide, ask the driver, store what it made.

What may still be running at the driver is asked for again, even when its claim is gone, until the
answer is final; a volume that could not be stored is stored later, and is not asked for again.
"""

import logging
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

from plimsoll.api.meta import ObjectKey
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.plan import Patch, Plan
from plimsoll.decide.provisioning.calls import Deleted, DeleteOutcome
from plimsoll.decide.provisioning.claims import (
    after_obstacle,
    after_unread_secret,
    decide_call,
    decide_claim,
)
from plimsoll.decide.provisioning.failures import State
from plimsoll.decide.provisioning.outcomes import after_cleanup, after_create, after_saved
from plimsoll.decide.provisioning.protection import SNAPSHOTS
from plimsoll.decide.provisioning.steps import (
    NOTHING_KNOWN,
    Call,
    ClaimMemory,
    ClaimStep,
    CleanUp,
    Compete,
    Delay,
    Ignore,
    Prepare,
    Record,
    Refuse,
    Reschedule,
)
from plimsoll.decide.provisioning.view import Context
from plimsoll.enact.enactor import Done, Obstacle, Outcome, Overtaken
from plimsoll.processes.provisioner.races import Races
from plimsoll.processes.provisioner.sidecar import Pace, SecretUnreadableError, Sidecar
from plimsoll.processes.provisioner.view import Caches, read_for
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.runtime.workqueue import WorkQueue
from plimsoll.wire.errors import Failure
from plimsoll.wire.kind import typed

log = logging.getLogger(__name__)

CLAIMS = typed(PersistentVolumeClaim)
BY_CLASS = "by class"

AnyStep = ClaimStep | Record | CleanUp


@dataclass(frozen=True, slots=True)
class Unsaved:
    """A volume that was made and is not stored yet."""

    record: Record
    begun: float


class Claims(Loop):
    name = "claims"

    def __init__(self, tools: Tools, *, sidecar: Sidecar, pace: Pace) -> None:
        super().__init__(tools)
        self.workers = pace.workers
        self.queue = WorkQueue(tools.clock, tools.chance, pace.retries)
        self._sidecar = sidecar
        self._caches = Caches(tools.observed, sidecar.decisions)
        self._races = Races(tools, sidecar)
        self._memory: dict[str, ClaimMemory] = {}
        """By the uid of the claim."""
        self._unsaved: dict[str, Unsaved] = {}
        self._gone: dict[ObjectKey, set[str]] = {}
        """Uids that something may be under way for, by the name that their claims had."""
        self._begun: dict[str, float] = {}
        self._caches.claims.index(BY_CLASS, lambda claim: (claim.storage_class,))
        self._caches.claims.on_change(self.add_changed)
        self._caches.classes.on_change(lambda change: self._class_changed(change.key.name))

    def _class_changed(self, name: str) -> None:
        """A class that came, or came anew, may be what claims wait for."""
        if self._caches.claims.informer is None or not self._caches.claims.informer.has_synced:
            return
        for key in self._caches.claims.view().by(BY_CLASS, name):
            self.queue.add(key)

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        claim = self._caches.claims.view().get(key)
        uids = {claim.uid} if claim is not None else set()
        again: timedelta | None = None
        for uid in sorted(self._gone.get(key, set()) | uids):
            current = claim if claim is not None and claim.uid == uid else None
            after = await self._advance(key, current, uid)
            again = after if again is None else min(again, after or again)
        return again

    async def _advance(
        self, key: ObjectKey, claim: PersistentVolumeClaim | None, uid: str
    ) -> timedelta | None:
        if uid in self._unsaved:
            await self._save(key, uid, self._unsaved[uid])
            return None
        memory = self._memory.get(uid, NOTHING_KNOWN)
        self._begun.setdefault(uid, self.tools.clock.monotonic())
        read = await read_for(claim or memory.in_progress, self.tools.client)
        context = self._sidecar.context(self._caches.view(read))
        step: AnyStep | None = decide_claim(claim, memory, context)
        again: timedelta | None = None
        while step is not None:
            self._remember(key, uid, step.memory)
            step, again = await self._follow(key, uid, step, context)
        return again

    def _remember(self, key: ObjectKey, uid: str, memory: ClaimMemory) -> None:
        if memory == NOTHING_KNOWN:
            self._memory.pop(uid, None)
        else:
            self._memory[uid] = memory
        if memory.in_progress is not None or uid in self._unsaved:
            self._gone.setdefault(key, set()).add(uid)
        elif key in self._gone:
            self._gone[key].discard(uid)
            if not self._gone[key]:
                del self._gone[key]

    async def _follow(
        self, key: ObjectKey, uid: str, step: AnyStep, context: Context
    ) -> tuple[AnyStep | None, timedelta | None]:
        """What comes next, and when to look again if nothing does."""
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
                return after_cleanup(step, await self._clean_up(step)), None
            case Compete():
                remember = partial(self._remember, key, uid)
                return None, await self._races.run(step, self._caches, remember)
            case Record():
                await self._show(step.plan)
                begun = self._begun.pop(uid, self.tools.clock.monotonic())
                await self._save(key, uid, Unsaved(step, begun))
                return None, None

    async def _refused(self, key: ObjectKey, step: Refuse | Reschedule) -> None:
        outcome = await self._show(step.plan)
        claim = self._caches.claims.view().get(key)
        class_ = claim.storage_class if claim else ""
        self._sidecar.metrics.not_provisioned(class_, _source_of(claim))
        if step.failure.state is not State.NO_CHANGE and class_:
            self._sidecar.room.refused(class_)
        if isinstance(step, Refuse) or not isinstance(outcome, Done):
            self.queue.add_rate_limited(key)

    async def _attempt(self, prepare: Prepare, context: Context) -> AnyStep:
        outcome = await self._show(prepare.plan)
        if not isinstance(outcome, Done) and not _is_tolerable(outcome):
            return after_obstacle(prepare, outcome.error.message)
        try:
            secrets = await self._sidecar.read_secret(prepare.attempt.secret)
        except SecretUnreadableError as error:
            return after_unread_secret(prepare, str(error))
        step = decide_call(prepare, context)
        if not isinstance(step, Call):
            return step
        claim = step.attempt.claim
        # Until the answer was judged, something may be there that nobody else knows of.
        self._remember(claim.key, claim.uid, replace(step.memory, in_progress=claim))
        made = await self._sidecar.create(step.call, secrets)
        # What the claim is now decides whether the volume is wanted: no cache is asked.
        current = await self.tools.client.find(CLAIMS, claim.key)
        return after_create(step, made, current, replace(context, now=self._sidecar.now()))

    async def _clean_up(self, step: CleanUp) -> DeleteOutcome:
        outcome = await self._sidecar.delete(step.call)
        for _ in range(step.tries - 1):
            if isinstance(outcome, Deleted):
                break
            outcome = await self._sidecar.delete(step.call)
        return outcome

    async def _save(self, key: ObjectKey, uid: str, unsaved: Unsaved) -> None:
        self._unsaved[uid] = unsaved
        self._remember(key, uid, self._memory.get(uid, NOTHING_KNOWN))
        record = unsaved.record
        outcome = await self._show(record.creation)
        if not isinstance(outcome, Done) and not _is_stored(outcome):
            log.warning(
                "volume not stored",
                extra={"claim": str(key), "volume": record.volume["metadata"]["name"]},
            )
            self.queue.add_rate_limited(key)
            return
        del self._unsaved[uid]
        self._remember(key, uid, self._memory.get(uid, NOTHING_KNOWN))
        self.queue.forget(key)
        self._told(record, self.tools.clock.monotonic() - unsaved.begun)
        await self._show(after_saved(record, self._caches.claims.view().get(key)))

    def _told(self, record: Record, seconds: float) -> None:
        claim, volume = record.claim, from_document(PersistentVolume, record.volume)
        self._sidecar.metrics.provisioned(claim.storage_class, _source_of(claim), seconds)
        self._sidecar.room.provisioned(volume)

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


def _is_stored(outcome: Overtaken | Obstacle) -> bool:
    """Under this name there is only ever the claim's own volume."""
    return outcome.error.failure is Failure.ALREADY_EXISTS


def _source_of(claim: PersistentVolumeClaim | None) -> str:
    source = claim.spec.data_source if claim else None
    return source.kind if source else ""
