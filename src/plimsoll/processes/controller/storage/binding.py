"""Binds claims and volumes, has volumes provisioned, and reclaims them: `decide.claims` for both.

Claims and volumes share one queue: a key with a namespace is a claim, one without is a volume.
Decisions are made on the caches; what cannot be undone is confirmed by the server first. Every 15
seconds everything is looked at again but bound pairs that have not changed, and at once what a new
volume or class may help.
"""

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import assert_never

from plimsoll.api.meta import ObjectKey
from plimsoll.api.storage import StorageClass
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.cache.store import StoreChange
from plimsoll.decide.claims.claim import decide_claim
from plimsoll.decide.claims.operations import (
    DecideAgain,
    Decision,
    DeleteBacking,
    Provision,
    ReadClaim,
    Recycle,
    RefuseClaim,
)
from plimsoll.decide.claims.reasons import BindingReason
from plimsoll.decide.claims.volume import Confirmed, decide_volume
from plimsoll.decide.claims.volume_index import VolumeIndex
from plimsoll.decide.claims.writes import VolumePhase
from plimsoll.decide.plan import Patch, Plan
from plimsoll.decide.provisioning.in_process.intents import (
    IntentStep,
    Settle,
    SettleGivenUp,
    decide_intent,
)
from plimsoll.decide.provisioning.in_process.unrecorded_assets import DeleteUnrecorded, decide_guard
from plimsoll.decide.resources import VOLUMES
from plimsoll.enact.enactor import Done
from plimsoll.processes.controller.in_process.calls import ProvisionerCalls
from plimsoll.processes.controller.in_process.intents import (
    InProcessIntents,
    InProcessIntentSettings,
)
from plimsoll.processes.controller.in_process.operation_metrics import ControllerOperationMetrics
from plimsoll.processes.controller.in_process.operations import Operations, OperationVerdict, Work
from plimsoll.processes.controller.in_process.provisioners.registry import Registry
from plimsoll.processes.controller.in_process.provisioning import Provisioning
from plimsoll.processes.controller.in_process.reclaiming import Reclaiming
from plimsoll.processes.controller.in_process.volume_operation import OperationContext
from plimsoll.processes.controller.storage.binding_view import (
    CLAIMS_WITHOUT_VOLUME,
    VOLUMES_BY_CLAIM,
    BindingCaches,
    BindingClusterView,
)
from plimsoll.processes.controller.storage.object_metrics import DefaultClassMetrics, ObjectCounts
from plimsoll.reconcile.intents import STRAYS_EVERY
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.wire.errors import KubeError

log = logging.getLogger(__name__)

RESYNC = timedelta(seconds=15)
NEW_CHANCE_WITHIN = timedelta(seconds=1)
"""Claims that wait are looked at together after a new volume or class, not once for each."""
MOST_STEPS = 10
"""Of one look at an object; decisions settle after two or three."""
USUAL_INTENTS = InProcessIntentSettings()


@dataclass(frozen=True, slots=True)
class AgreedPair:
    """A claim and its volume in certain versions."""

    claim: PersistentVolumeClaim
    volume: PersistentVolume

    def is_still_in(self, view: BindingClusterView) -> bool:
        """Whether both are as they were: a store keeps an object that does not change."""
        claims, volumes = view.claims.objects, view.volumes.objects
        return (
            claims.get(self.claim.key) is self.claim and volumes.get(self.volume.key) is self.volume
        )


VolumeOperation = (
    Provision | RefuseClaim | DeleteBacking | Recycle | DeleteUnrecorded | Settle | SettleGivenUp
)


class Binding(Loop):
    name = "binding"
    workers = 8

    def __init__(
        self,
        tools: Tools,
        provisioners: Registry | None = None,
        *,
        provisions: bool = True,
        intents: InProcessIntentSettings = USUAL_INTENTS,
    ) -> None:
        """`provisions`: whether claims may be provisioned for, inside this process or outside."""
        super().__init__(tools)
        self._caches = BindingCaches(tools.observed)
        self._index = VolumeIndex()
        self._registry = provisioners or Registry()
        self._provisions = provisions
        self._reserved: dict[str, ObjectKey] = {}
        self._being_reclaimed: set[str] = set()
        """Their finalizers are being taken off: a reconcile now would put them back."""
        self._agreed: dict[ObjectKey, AgreedPair] = {}
        """By claim and by volume: pairs about which there was nothing left to do."""
        self._classes_with_news: set[str] = set()
        self._news = asyncio.Event()
        self._operations = Operations(tools.clock, tools.chance)
        self._calls = ProvisionerCalls(tools.clock, tools.fence, intents.call_limit)
        context = OperationContext(
            tools=tools,
            calls=self._calls,
            registry=self._registry,
            view=self._view,
            metrics=ControllerOperationMetrics(tools.metrics, tools.clock),
        )
        self._intents = InProcessIntents(
            tools, intents, self._registry.names, context.metrics.intents_open
        )
        self._provisioning = Provisioning(context, self._intents)
        self._reclaiming = Reclaiming(context)
        self._context = context
        self._caches.claims.on_change(self._claim_changed)
        self._caches.volumes.on_change(self._volume_changed)
        self._caches.classes.on_change(self._class_changed)
        self._has_begun = False
        self._default_class_metrics = DefaultClassMetrics(tools.metrics)
        tools.metrics.registry.register(ObjectCounts(self._all_claims, self._all_volumes))

    def _view(self) -> BindingClusterView:
        return self._caches.view(
            self._index,
            self._reserved,
            self._registry,
            provisions_dynamically=self._provisions,
        )

    def _all_claims(self) -> Iterable[PersistentVolumeClaim]:
        return self._caches.claims.view().objects.values() if self._has_begun else ()

    def _all_volumes(self) -> Iterable[PersistentVolume]:
        return self._caches.volumes.view().objects.values() if self._has_begun else ()

    # What changed

    def _claim_changed(self, change: StoreChange[PersistentVolumeClaim]) -> None:
        if not self._has_begun:
            return
        if change.after is not None:
            self.queue.add(change.key)
            return
        self._agreed.pop(change.key, None)
        if self._intents.of(change.key):
            self.queue.add(change.key)
        for volume in self._caches.volumes.view().by(VOLUMES_BY_CLAIM, str(change.key)):
            self.queue.add(volume)

    def _volume_changed(self, change: StoreChange[PersistentVolume]) -> None:
        if change.after is None:
            self._agreed.pop(change.key, None)
            self._index.remove(change.key.name)
        else:
            self._index.put(change.after)
        if self._has_begun:
            self._look_around(change)

    def _look_around(self, change: StoreChange[PersistentVolume]) -> None:
        if change.after is not None:
            self.queue.add(change.key)
            if change.after.status.phase == VolumePhase.AVAILABLE:
                self._tell_waiting(change.after.storage_class)
        for volume in (change.before, change.after):
            if volume is not None and volume.spec.claim is not None:
                self.queue.add(volume.spec.claim)

    def _class_changed(self, change: StoreChange[StorageClass]) -> None:
        if change.after is not None:
            self._tell_waiting(change.key.name)
            self._tell_waiting("")  # it may have become the default

    def _tell_waiting(self, storage_class: str) -> None:
        self._classes_with_news.add(storage_class)
        self._news.set()

    # The loop

    async def run(self) -> None:
        # What earlier controllers began is known before anything else is begun.
        await self._intents.load()
        if self._provisions:
            await self._intents.announce()
        self._has_begun = True
        self._look_at_everything()
        async with asyncio.TaskGroup() as group:
            group.create_task(super().run(), name="reconcile")
            group.create_task(self._operations.run(), name="operations")
            group.create_task(self._calls.run(), name="calls of provisioners")
            group.create_task(self._resync(), name="resync")
            group.create_task(self._pass_news_on(), name="news")
            group.create_task(self._look_for_strays(), name="stray intents")

    async def _look_for_strays(self) -> None:
        while True:
            await self.tools.clock.sleep(STRAYS_EVERY)
            try:
                strays = await self._intents.load_strays()
            except KubeError as error:
                log.warning("stray intents not looked for", extra={"why": str(error)})
                continue
            for claim in strays:
                log.info("intent found", extra={"claim": str(claim)})
                self.queue.add(claim)

    async def _resync(self) -> None:
        while True:
            await self.tools.clock.sleep(RESYNC)
            self._look_at_everything()

    def _look_at_everything(self) -> None:
        """Volumes first: nothing is provisioned for a claim that a user created a volume for.

        All but bound pairs that are as they were when nothing was left to do about them: nothing
        else is asked about these, and there are thousands.
        """
        view = self._view()
        for object_ in (*self._all_volumes(), *self._all_claims()):
            key = object_.key
            agreed = self._agreed.get(key)
            if agreed is None or not agreed.is_still_in(view):
                self.queue.add(key)
        for claim in self._intents.claims:
            self.queue.add(claim)

    async def _pass_news_on(self) -> None:
        while True:
            await self._news.wait()
            await self.tools.clock.sleep(NEW_CHANCE_WITHIN)
            self._news.clear()
            classes, self._classes_with_news = self._classes_with_news, set()
            claims = self._caches.claims.view()
            for name in sorted(classes):
                for key in claims.by(CLAIMS_WITHOUT_VOLUME, name):
                    self.queue.add(key)

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        if self._has_to_wait(key):
            return None
        confirmed: Confirmed | None = None
        for _ in range(MOST_STEPS):
            decision = self._decide(key, confirmed)
            if decision is None or self._agrees(key, decision):
                return None
            if isinstance(decision, DeleteUnrecorded):
                self._begin(key, decision)
                return None
            if isinstance(decision.operation, ReadClaim):
                # Nothing to carry out, so nothing that counts as a success before the answer: each
                # question that fails has to make the pause before the next one longer.
                confirmed = Confirmed(await self._context.find_claim(decision.operation.key))
                continue
            if not await self._carry_out(key, decision):
                return None
            match decision.operation:
                case DecideAgain():
                    confirmed = None
                case Provision() | RefuseClaim() | DeleteBacking() | Recycle() as operation:
                    self._begin(key, operation)
                    return None
                case None:
                    return None
                case _:
                    assert_never(decision.operation)
        log.error("decisions without an end", extra={"key": str(key)})
        self.queue.add_rate_limited(key)
        return None

    def _agrees(self, key: ObjectKey, decision: Decision | DeleteUnrecorded) -> bool:
        """Whether claim and volume are bound and nothing is left to do; that is remembered."""
        pair = self._bound_pair(key) if _is_agreement(decision) else None
        if pair is None:
            return False
        self._agreed[key] = pair
        self.queue.forget(key)
        return True

    def _bound_pair(self, key: ObjectKey) -> "AgreedPair | None":
        """The claim and the volume that name each other, of which the key is one."""
        view = self._view()
        if key.namespace:
            claim = view.claim(key)
            volume = None if claim is None else view.volume(claim.spec.volume_name)
        else:
            volume = view.volume(key.name)
            named = None if volume is None else volume.spec.claim
            claim = None if named is None else view.claim(named)
        if claim is None or volume is None or claim.spec.volume_name != volume.name:
            return None
        return AgreedPair(claim, volume)

    def _has_to_wait(self, key: ObjectKey) -> bool:
        """For an operation, which has the object looked at again."""
        if key.namespace:
            return self._settle(key)
        if key.name not in self._being_reclaimed:
            return False
        self._operations.ask_again(key.name)
        return True

    def _settle(self, key: ObjectKey) -> bool:
        """Go on with what was begun for claims of this name; whether the claim has to wait for it.

        The server itself is asked before anything is deleted.
        """
        view, has_to_wait = self._view(), False
        claim = view.claim(key)
        for intent in self._intents.of(key):
            is_its_claim = claim is not None and claim.uid == intent.uid
            if (delay := self._intents.wait(intent.uid)) is not None:
                self.queue.add_after(key, delay)
                has_to_wait |= is_its_claim
                continue
            is_recorded = view.volume(intent.volume_name) is not None
            is_node_gone = self._context.has_lost_node(claim)
            step = decide_intent(intent, claim, is_recorded=is_recorded, is_node_gone=is_node_gone)
            if step not in (IntentStep.GO_ON, IntentStep.WAIT):
                self._begin(key, Settle(intent))
            has_to_wait |= is_its_claim and step in (IntentStep.UNDO, IntentStep.LEAVE)
        self._settle_given_up(key)
        return has_to_wait

    def _settle_given_up(self, key: ObjectKey) -> None:
        """What is deleted beside the next attempts for claims of this name."""
        for intent in self._intents.given_up_of(key):
            if (delay := self._intents.wait_for_given_up(intent.name)) is not None:
                self.queue.add_after(key, delay)
            else:
                self._begin(key, SettleGivenUp(intent))

    def _decide(
        self, key: ObjectKey, confirmed: Confirmed | None
    ) -> Decision | DeleteUnrecorded | None:
        view = self._view()
        if not key.namespace:
            volume = view.volume(key.name)
            return None if volume is None else decide_volume(volume, view, confirmed)
        claim = view.claim(key)
        if claim is None:
            return None
        match decide_guard(claim, view):
            case Plan() as lift:
                return Decision(plan=lift, operation=DecideAgain())
            case DeleteUnrecorded() as deletion:
                return deletion
            case None:
                return decide_claim(claim, view)

    async def _carry_out(self, key: ObjectKey, decision: Decision) -> bool:
        """True when every write went through."""
        if decision.complaint:
            # Nothing that another attempt would change; the next resync says it again.
            log.warning("decision incomplete", extra={"key": str(key), "why": decision.complaint})
        taken = [] if not key.namespace else _volumes_written(decision.plan)
        for name in taken:
            self._reserved[name] = key
        try:
            is_written = isinstance(await self.enact(key, decision.plan), Done)
        finally:
            for name in taken:
                self._reserved.pop(name, None)
        if decision.plan.reason == BindingReason.DEFAULT_CLASS_ASSIGNED:
            self._default_class_metrics.count(is_written=is_written)
        return is_written

    def _begin(
        self,
        key: ObjectKey,
        operation: VolumeOperation,
    ) -> None:
        volume, work = self._work_of(operation)
        self._operations.begin(
            volume,
            work,
            lambda delay: self.queue.add_after(key, delay),
            provisioner=_provisioner_of(operation),
        )

    def _work_of(self, operation: VolumeOperation) -> tuple[str, Work]:
        match operation:
            case Provision():
                return operation.volume_name, lambda: self._provisioning.provision(operation)
            case RefuseClaim():
                return operation.volume_name, lambda: self._provisioning.refuse(operation)
            case Settle(intent):
                return intent.volume_name, lambda: self._provisioning.settle(operation)
            case SettleGivenUp(intent):
                # The next attempt has an operation for the volume.
                return intent.name, lambda: self._provisioning.settle_given_up(operation)
            case DeleteUnrecorded():
                return operation.volume_name, lambda: self._provisioning.delete_unrecorded(
                    operation
                )
            case DeleteBacking():
                return operation.volume.name, lambda: self._delete(operation)
            case Recycle():
                return operation.volume.name, lambda: self._reclaiming.recycle(operation)
            case _:
                assert_never(operation)

    async def _delete(self, operation: DeleteBacking) -> OperationVerdict:
        name = operation.volume.name
        self._being_reclaimed.add(name)
        try:
            return await self._reclaiming.delete(operation)
        finally:
            self._being_reclaimed.discard(name)


def _provisioner_of(operation: VolumeOperation) -> str:
    match operation:
        case Settle(intent) | SettleGivenUp(intent):
            return intent.driver
        case _:
            return operation.provisioner


def _is_agreement(decision: Decision | DeleteUnrecorded) -> bool:
    if isinstance(decision, DeleteUnrecorded) or decision.operation or decision.complaint:
        return False
    return decision.plan == Plan(reason=BindingReason.BOUND)


def _volumes_written(plan: Plan) -> list[str]:
    """The volumes that a claim takes: no other claim may get them while they are written."""
    writes = (write for write in plan.writes if isinstance(write, Patch))
    return [write.key.name for write in writes if write.resource == VOLUMES]
