"""Grows and modifies volumes as their claims ask for it.

`decide.csi.resizing` and `decide.csi.modifying` for every claim whose volume a known driver serves.
What is remembered of failures only spares useless retries: a restart loses it without harm.
"""

from collections.abc import Iterable
from datetime import timedelta

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.storage import VolumeAttributesClass
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.cache.store import StoreChange
from plimsoll.decide.csi.devices import device_of_volume
from plimsoll.decide.csi.modifying import (
    Modify,
    decide_modification,
    decide_modified,
    decide_not_modified,
)
from plimsoll.decide.csi.resizing import (
    Expanded,
    ExpandOnController,
    LeaveToNode,
    ResizeHistory,
    ResizeReason,
    ResizingDriver,
    decide_not_resized,
    decide_resize,
    decide_resized,
)
from plimsoll.decide.csi.steps import Failure, NotAsked, is_final, is_infeasible
from plimsoll.decide.provisioning.calls import CallFailed, Code
from plimsoll.enact.volume_capability import capability_message
from plimsoll.processes.controller.csi.csi_loop import NO_DRIVERS, CsiLoop, CsiSettings
from plimsoll.processes.controller.csi.drivers import KnownDriver
from plimsoll.processes.controller.csi.infeasible_retry import InfeasibleRetry
from plimsoll.reconcile.indexes import PODS_BY_CLAIM, claims_of
from plimsoll.reconcile.loop import Tools
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.gen import csi_pb2 as csi

CLAIMS_BY_ATTRIBUTES_CLASS = "attributes class"


class Resizer(CsiLoop):
    name = "resizer"
    workers = 10

    def __init__(self, tools: Tools, settings: CsiSettings = NO_DRIVERS) -> None:
        super().__init__(tools, settings)
        observed = tools.observed
        self._claims = observed.of(PersistentVolumeClaim)
        self._volumes = observed.of(PersistentVolume)
        self._classes = observed.of(VolumeAttributesClass)
        self._pods = observed.of(Pod)
        self._pods.index(PODS_BY_CLAIM, claims_of)
        self._claims.index(CLAIMS_BY_ATTRIBUTES_CLASS, _attributes_class)
        self._claims.on_change(self._claim_changed)
        self._volumes.on_change(self._volume_changed)
        self._classes.on_change(self._class_changed)
        self._pods.on_change(self._pod_changed)
        self._failed_for_good: set[ObjectKey] = set()
        self._refused_in_use: set[ObjectKey] = set()
        self._infeasible_sizes = InfeasibleRetry(tools.clock)
        self._infeasible_classes = InfeasibleRetry(tools.clock)

    # Which objects have to be looked at

    def _claim_changed(self, change: StoreChange[PersistentVolumeClaim]) -> None:
        """That a condition was noted down is no reason to try again at once."""
        before, after = change.before, change.after
        if after is None:
            self._forget(change.key)
        elif before is None or _essence(before) != _essence(after):
            self.queue.add(change.key)

    def _volume_changed(self, change: StoreChange[PersistentVolume]) -> None:
        volume = change.after
        if volume is not None and volume.spec.claim is not None:
            self.queue.add(volume.spec.claim)

    def _class_changed(self, change: StoreChange[VolumeAttributesClass]) -> None:
        for key in self._claims.view().by(CLAIMS_BY_ATTRIBUTES_CLASS, change.key.name):
            self.queue.add(key)

    def _pod_changed(self, change: StoreChange[Pod]) -> None:
        for pod in (change.before, change.after):
            for claim in pod.claims if pod is not None else ():
                if claim in self._refused_in_use:
                    self.queue.add(claim)

    def driver_came(self, name: str) -> None:
        for volume in self._volumes.view().objects.values():
            device = device_of_volume(volume)
            if device is not None and device.driver == name and volume.spec.claim is not None:
                self.queue.add(volume.spec.claim)

    def _forget(self, key: ObjectKey) -> None:
        self._failed_for_good.discard(key)
        self._refused_in_use.discard(key)
        self._infeasible_sizes.forget(key)
        self._infeasible_classes.forget(key)

    # One claim

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        found = self._found(key)
        if found is not None and await self._resize(*found):
            found = self._found(key)
            if found is not None:
                await self._modify(*found)
        return None

    def _found(
        self, key: ObjectKey
    ) -> tuple[PersistentVolumeClaim, PersistentVolume, KnownDriver] | None:
        claim = self._claims.view().get(key)
        if claim is None or not claim.spec.volume_name:
            return None
        volume = self._volumes.view().get(ObjectKey("", claim.spec.volume_name))
        device = device_of_volume(volume) if volume is not None else None
        driver = self.drivers.find(device.driver) if device is not None else None
        return None if volume is None or driver is None else (claim, volume, driver)

    # Its size

    async def _resize(
        self, claim: PersistentVolumeClaim, volume: PersistentVolume, driver: KnownDriver
    ) -> bool:
        """False when there was a failure: one thing after the other."""
        facts = _facts(driver)
        if facts is None:
            return True
        key, now = claim.key, self.tools.clock.now()
        step = decide_resize(claim, volume, facts, self._history(key), now=now)
        if step.plan.reason in (ResizeReason.IN_USE, ResizeReason.FAILED):
            await self.failed(key, step.plan)
            return False
        if not await self.record(key, step.plan):
            return False
        if step.call is None:
            return True
        # With what has just been written about it.
        claim = self._claims.view().get(key) or claim
        match await self._expanded(driver, step.call):
            case Expanded() as done:
                self._forget(key)
                plan = decide_resized(claim, volume, done, self.tools.clock.now())
                await self.succeeded(key, plan)
                return True
            case failure:
                self._remember(key, failure)
                now = self.tools.clock.now()
                await self.failed(key, decide_not_resized(claim, volume, facts, failure, now=now))
                return False

    def _history(self, key: ObjectKey) -> ResizeHistory:
        users = self._pods.view().by(PODS_BY_CLAIM, str(key)).values()
        return ResizeHistory(
            failed_for_good=key in self._failed_for_good,
            refused_in_use=key in self._refused_in_use,
            is_used=any(not pod.is_finished for pod in users),
            retry_in=self._infeasible_sizes.retry_in(key),
        )

    def _remember(self, key: ObjectKey, failure: Failure) -> None:
        self._forget(key)
        if is_final(failure):
            self._failed_for_good.add(key)
        if is_infeasible(failure):
            self._infeasible_sizes.put_off(key)
        if isinstance(failure, CallFailed) and failure.code is Code.FAILED_PRECONDITION:
            self._refused_in_use.add(key)

    async def _expanded(
        self, driver: KnownDriver, call: ExpandOnController | LeaveToNode
    ) -> Expanded | Failure:
        if isinstance(call, LeaveToNode):
            return Expanded(size_bytes=call.size_bytes, node_has_to_grow=True)
        answer = await self.driver_calls.call(
            driver,
            methods.CONTROLLER_EXPAND_VOLUME,
            lambda secrets: csi.ControllerExpandVolumeRequest(
                volume_id=call.handle,
                capacity_range=csi.CapacityRange(required_bytes=call.size_bytes),
                volume_capability=capability_message(call.capability),
                secrets=secrets,
            ),
            call.secret,
        )
        match answer:
            case CallFailed() | NotAsked():
                return answer
            case _:
                # A driver that does not say how large it is has kept its word at least.
                size = max(answer.capacity_bytes, call.size_bytes)
                return Expanded(size_bytes=size, node_has_to_grow=answer.node_expansion_required)

    # Its attributes

    async def _modify(
        self, claim: PersistentVolumeClaim, volume: PersistentVolume, driver: KnownDriver
    ) -> None:
        if "MODIFY_VOLUME" not in driver.controller:
            return
        key, name = claim.key, claim.spec.volume_attributes_class_name or ""
        step = decide_modification(
            claim,
            volume,
            self._classes.view().get(ObjectKey("", name)),
            retry_in=self._infeasible_classes.retry_in(key),
            now=self.tools.clock.now(),
        )
        if not await self.record(key, step.plan) or step.call is None:
            return
        claim = self._claims.view().get(key) or claim
        failure = await self._modified(driver, step.call)
        if failure is None:
            self._infeasible_classes.forget(key)
            await self.succeeded(key, decide_modified(claim, volume, step.call.target))
            return
        if is_infeasible(failure):
            self._infeasible_classes.put_off(key)
        await self.failed(key, decide_not_modified(claim, failure, self.tools.clock.now()))

    async def _modified(self, driver: KnownDriver, call: Modify) -> Failure | None:
        answer = await self.driver_calls.call(
            driver,
            methods.CONTROLLER_MODIFY_VOLUME,
            lambda secrets: csi.ControllerModifyVolumeRequest(
                volume_id=call.handle, mutable_parameters=call.parameters, secrets=secrets
            ),
        )
        return answer if isinstance(answer, CallFailed | NotAsked) else None


def _facts(driver: KnownDriver) -> ResizingDriver | None:
    """None for a driver whose volumes keep their size."""
    controller_expands = "EXPAND_VOLUME" in driver.controller
    if not controller_expands and "EXPAND_VOLUME" not in driver.node:
        return None
    return ResizingDriver(
        name=driver.name,
        controller_expands=controller_expands,
        finer_modes="SINGLE_NODE_MULTI_WRITER" in driver.controller,
    )


def _attributes_class(claim: PersistentVolumeClaim) -> Iterable[str]:
    name = claim.spec.volume_attributes_class_name
    return (name,) if name else ()


def _essence(claim: PersistentVolumeClaim) -> tuple[object, ...]:
    status = claim.status
    return (
        claim.uid,
        claim.spec,
        status.phase,
        status.capacity,
        status.allocated_resources,
        status.allocated_resource_statuses,
        status.current_volume_attributes_class_name,
        status.modify_volume_status,
    )
