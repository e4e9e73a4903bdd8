"""Carries out attachments: `decide.csi.attaching` for every attachment of a driver that we know.

Attachments and volumes share one queue: a key in the namespace `volumes`, which no attachment has,
is a volume.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import assert_never

import msgspec

from plimsoll.api.meta import ObjectKey
from plimsoll.api.storage import CSINode, VolumeAttachment
from plimsoll.api.volumes import PersistentVolume
from plimsoll.cache.store import StoreChange
from plimsoll.decide.csi.attaching import (
    AttachingDriver,
    AttachmentContext,
    AttachmentReason,
    ControllerPublish,
    ControllerUnpublish,
    decide_attached,
    decide_attachment,
    decide_detached,
    decide_not_attached,
    decide_not_detached,
    decide_volume,
)
from plimsoll.decide.csi.steps import NotAsked
from plimsoll.decide.provisioning.calls import CallFailed
from plimsoll.enact.volume_capability import capability_message
from plimsoll.processes.controller.csi.csi_loop import NO_DRIVERS, CsiLoop, CsiSettings
from plimsoll.processes.controller.csi.drivers import KnownDriver
from plimsoll.reconcile.loop import Tools
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.gen import csi_pb2 as csi

VOLUMES = "volumes"
BY_VOLUME, BY_NODE, BY_DRIVER = "attached volume", "attached node", "attacher"


class CsiAttacher(CsiLoop):
    name = "csi-attacher"
    workers = 10

    def __init__(self, tools: Tools, settings: CsiSettings = NO_DRIVERS) -> None:
        super().__init__(tools, settings)
        observed = tools.observed
        self._attachments = observed.of(VolumeAttachment)
        self._volumes = observed.of(PersistentVolume)
        self._nodes = observed.of(CSINode)
        self._attachments.index(BY_VOLUME, lambda attachment: attachment.volume_names)
        self._attachments.index(BY_NODE, lambda found: [found.spec.node_name])
        self._attachments.index(BY_DRIVER, lambda found: [found.spec.attacher])
        self._attachments.on_change(self._attachment_changed)
        self._volumes.on_change(self._volume_changed)
        self._nodes.on_change(self._node_changed)

    # Which objects have to be looked at

    def _attachment_changed(self, change: StoreChange[VolumeAttachment]) -> None:
        """That an error was noted down is no reason to try again at once."""
        before, after = change.before, change.after
        if before is None or after is None or _essence(before) != _essence(after):
            self.queue.add(change.key)
        if before is not None and after is None:
            for name in before.volume_names:
                self.queue.add(ObjectKey(VOLUMES, name))

    def _volume_changed(self, change: StoreChange[PersistentVolume]) -> None:
        self.queue.add(ObjectKey(VOLUMES, change.key.name))
        if change.before is None:
            self._add(BY_VOLUME, change.key.name)

    def _node_changed(self, change: StoreChange[CSINode]) -> None:
        self._add(BY_NODE, change.key.name)

    def driver_came(self, name: str) -> None:
        self._add(BY_DRIVER, name)
        for key in self._volumes.view().objects:
            self.queue.add(ObjectKey(VOLUMES, key.name))

    def _add(self, index: str, value: str) -> None:
        for key in self._attachments.view().by(index, value):
            self.queue.add(key)

    # One attachment, or one volume

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        if key.namespace == VOLUMES:
            await self._release(key)
            return None
        attachment = self._attachments.view().get(key)
        driver = self.drivers.find(attachment.spec.attacher) if attachment is not None else None
        if attachment is None or driver is None:
            return None
        step = decide_attachment(attachment, self._context(attachment, driver))
        if step.call is None and step.plan.reason == AttachmentReason.FAILED:
            await self.failed(key, step.plan)
            return None
        if not await self.record(key, step.plan):
            return None
        match step.call:
            case ControllerPublish() as publish:
                await self._publish(attachment, driver, publish)
            case ControllerUnpublish() as unpublish:
                await self._unpublish(attachment, driver, unpublish)
            case None:
                self.queue.forget(key)
            case _:
                assert_never(step.call)
        return None

    def _context(self, attachment: VolumeAttachment, driver: KnownDriver) -> AttachmentContext:
        names = attachment.volume_names
        volume = self._volumes.view().get(ObjectKey("", names[0])) if names else None
        return AttachmentContext(
            driver=_facts(driver),
            now=self.tools.clock.now(),
            volume=volume,
            csi_node=self._nodes.view().get(ObjectKey("", attachment.spec.node_name)),
        )

    async def _publish(
        self, attachment: VolumeAttachment, driver: KnownDriver, publish: ControllerPublish
    ) -> None:
        answer = await self.driver_calls.call(
            driver,
            methods.CONTROLLER_PUBLISH_VOLUME,
            lambda secrets: csi.ControllerPublishVolumeRequest(
                volume_id=publish.handle,
                node_id=publish.node_id,
                volume_capability=capability_message(publish.capability),
                readonly=publish.read_only,
                volume_context=publish.context,
                secrets=secrets,
            ),
            publish.secret,
        )
        match answer:
            case CallFailed() | NotAsked() as failure:
                plan = decide_not_attached(attachment, failure, self.tools.clock.now())
                await self.failed(attachment.key, plan)
            case _:
                plan = decide_attached(attachment, dict(answer.publish_context))
                await self.succeeded(attachment.key, plan)

    async def _unpublish(
        self, attachment: VolumeAttachment, driver: KnownDriver, unpublish: ControllerUnpublish
    ) -> None:
        answer = await self.driver_calls.call(
            driver,
            methods.CONTROLLER_UNPUBLISH_VOLUME,
            lambda secrets: csi.ControllerUnpublishVolumeRequest(
                volume_id=unpublish.handle, node_id=unpublish.node_id, secrets=secrets
            ),
            unpublish.secret,
        )
        match answer:
            case CallFailed() | NotAsked() as failure:
                plan = decide_not_detached(attachment, failure, self.tools.clock.now())
                await self.failed(attachment.key, plan)
            case _:
                await self.succeeded(attachment.key, decide_detached(attachment, _facts(driver)))

    async def _release(self, key: ObjectKey) -> None:
        volume = self._volumes.view().get(ObjectKey("", key.name))
        if volume is None or not volume.is_being_deleted:
            return
        attachments = list(self._attachments.view().by(BY_VOLUME, key.name).values())
        for driver in self._drivers_holding(volume):
            if not await self.record(key, decide_volume(volume, attachments, _facts(driver))):
                return

    def _drivers_holding(self, volume: PersistentVolume) -> Iterable[KnownDriver]:
        for driver in self.drivers.all():
            if _facts(driver).finalizer in volume.metadata.finalizers:
                yield driver


def _facts(driver: KnownDriver) -> AttachingDriver:
    return AttachingDriver(
        name=driver.name,
        publishes="PUBLISH_UNPUBLISH_VOLUME" in driver.controller,
        publishes_read_only="PUBLISH_READONLY" in driver.controller,
        finer_modes="SINGLE_NODE_MULTI_WRITER" in driver.controller,
    )


def _essence(attachment: VolumeAttachment) -> tuple[object, ...]:
    status = msgspec.structs.replace(attachment.status, attach_error=None, detach_error=None)
    metadata = attachment.metadata
    return (
        attachment.uid,
        status,
        metadata.deletion_timestamp,
        metadata.finalizers,
        metadata.annotations,
    )
