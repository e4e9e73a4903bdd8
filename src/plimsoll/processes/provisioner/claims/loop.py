"""The loop that provisions volumes for claims: decide, call the driver, store the volume.

A call that may still be running at the driver is repeated, even when its claim is gone, until the
answer is final. A volume that could not be stored is stored later, without another call.
"""

import asyncio
import logging
from dataclasses import replace
from datetime import timedelta
from functools import partial

from plimsoll.api.meta import ObjectKey
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.cache.store import StoreChange
from plimsoll.decide.provisioning.claims import after_unread, decide_claim
from plimsoll.decide.provisioning.failures import ProvisioningState
from plimsoll.decide.provisioning.holds import hold_of
from plimsoll.decide.provisioning.intents import (
    Intent,
    held_back,
    is_waiting,
    recorded_claim,
    refused,
)
from plimsoll.decide.provisioning.steps import (
    NOTHING_KNOWN,
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
from plimsoll.enact.enactor import Done
from plimsoll.processes.provisioner.claims.attempts import ProvisioningAttempts
from plimsoll.processes.provisioner.claims.begun_calls import AnyStep, BegunCalls
from plimsoll.processes.provisioner.claims.call_context import CallContext
from plimsoll.processes.provisioner.claims.given_up import GivenUpCalls
from plimsoll.processes.provisioner.claims.races import Races
from plimsoll.processes.provisioner.claims.unsaved_volumes import Unsaved, UnsavedVolumes
from plimsoll.processes.provisioner.operation_metrics import AfterFailure, source_of
from plimsoll.processes.provisioner.sidecar import Pace, Sidecar
from plimsoll.processes.provisioner.view import ProvisionerCaches, needs, read_for
from plimsoll.reconcile.intents import STRAYS_EVERY, IntentBook, IntentSettings
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.runtime.workqueue import WorkQueue
from plimsoll.wire.errors import KubeError
from plimsoll.wire.kind import typed

log = logging.getLogger(__name__)


CLAIMS, VOLUMES = typed(PersistentVolumeClaim), typed(PersistentVolume)
BY_CLASS = "by class"

INTENT_ENDS = frozenset({IgnoreReason.PROVISIONED_ALREADY, IgnoreReason.ROLLED_BACK})
CLAIM_ENDS = frozenset({IgnoreReason.GONE, IgnoreReason.BOUND})


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
        context = CallContext(
            tools=tools, sidecar=sidecar, intents=self._intents, caches=self._caches
        )
        self._attempts = ProvisioningAttempts(context, self._remember)
        self._begun_calls = BegunCalls(context, self._given_up)
        self._unsaved = UnsavedVolumes(context, self.queue, self._remember)
        self._memory: dict[str, ClaimMemory] = {}
        """By the uid of the claim."""
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
            await self._unsaved.save(key, uid)
            if uid not in self._unsaved:
                self.queue.add(key)  # claim and volume may have changed while it waited
            return None
        if (wait := self._intents.wait(uid)) is not None:
            return wait
        self._begun.setdefault(uid, self.tools.clock.monotonic())
        context = self._sidecar.context(self._caches.view())
        step: AnyStep | StartOver | None = await self._begun_calls.settle(key, uid)
        if step is None:
            step, context = await self._decide(claim, self._memory.get(uid, NOTHING_KNOWN))
        if not isinstance(step, Compete):
            self._races.forget(uid)
        again: timedelta | None = None
        while step is not None:
            self._remember(uid, step.memory)
            if isinstance(step, StartOver):
                await self.tools.show(step.plan)
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
                await self.tools.show(step.plan)
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
                return await self._attempts.make(step, context), None
            case CleanUp():
                return await self._begun_calls.clean_up(step), None
            case Compete():
                remember = partial(self._remember, uid)
                return None, await self._races.run(step, self._caches, remember)
            case ProvisioningRecord():
                await self._record(key, uid, step)
                return None, None

    async def _record(self, key: ObjectKey, uid: str, step: ProvisioningRecord) -> None:
        """The volume is there. It is stored, or waits for others of its pod."""
        if self._sidecar.decisions.is_compatible:
            await self.tools.show(step.plan)
        if await self._hold_back(key, step):
            return
        begun = self._begun.pop(uid, self.tools.clock.monotonic())
        if not self._sidecar.decisions.is_compatible:
            step = step.with_token(self._sidecar.capacity.token_for_volume())
        await self._unsaved.begin(key, uid, Unsaved(step, begun))

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
        again first. What was said of an earlier attempt refuses no later one."""
        claim = self._caches.claims.view().get(key)
        hold = hold_of(claim) if claim is not None and claim.uid == uid else None
        was_held = hold_of(step.subject) if step.subject is not None else None
        decisions = self._sidecar.decisions
        if claim is None or hold is None or was_held is None or decisions.is_compatible:
            return
        if hold.id != was_held.id:
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
        outcome = await self.tools.show(step.plan)
        claim = self._caches.claims.view().get(key)
        class_ = claim.storage_class if claim else ""
        self._sidecar.metrics.not_provisioned(class_, source_of(claim))
        then = AfterFailure.RESCHEDULED if isinstance(step, Reschedule) else AfterFailure.RETRIED
        self._sidecar.metrics.refused(step.failure.problem, then)
        if step.failure.state is not ProvisioningState.NO_CHANGE and class_:
            self._sidecar.capacity.refused(class_)
        if isinstance(step, Refuse) or not isinstance(outcome, Done):
            self.queue.add_rate_limited(key)
        else:
            # Another node is another beginning.
            self.queue.forget(key)

    def _settled(self, intent: Intent) -> None:
        """Nothing is left of an attempt that was given up; its number may have to be kept."""
        self._uids.setdefault(intent.claim_key, set()).add(intent.uid)
        self._sidecar.capacity.undone(intent.recorded_claim.storage_class)
        self.queue.add(intent.claim_key)

    async def _forget_intent(self, uid: str, step: Ignore) -> None:
        """There is nothing to settle any more, or no claim that could ask for another volume."""
        if step.reason in INTENT_ENDS or (
            step.reason in CLAIM_ENDS and self._intents.find_open(uid) is None
        ):
            await self._intents.drop(uid)
