"""What an attacher does about one VolumeAttachment: it calls the driver and writes the status.

Which attachments there are is decided in `attach_detach`.

Before a driver is asked to publish, the attachment carries our finalizer and the driver's name of
the node: however the call ends, the attachment stays until the driver has unpublished. The
volume carries the finalizer as well, since the driver must be told its handle then. A driver that
knows nothing of publishing has nothing to do: its attachments count as carried out at once.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from plimsoll.api.meta import wire_time
from plimsoll.api.registry import Document
from plimsoll.api.storage import CSINode, VolumeAttachment
from plimsoll.api.volumes import CsiSource, PersistentVolume, SecretReference, VolumeSpec
from plimsoll.decide.csi.capability import parse_capability
from plimsoll.decide.csi.in_tree import translated
from plimsoll.decide.csi.steps import (
    Failure,
    NotAsked,
    Step,
    code_number,
)
from plimsoll.decide.finalizers import add_finalizer, remove_finalizer, set_finalizers
from plimsoll.decide.plan import NOTHING, Patch, Plan, Write
from plimsoll.decide.provisioning.calls import VolumeCapability
from plimsoll.decide.resources import ATTACHMENTS, VOLUMES
from plimsoll.decide.statuses import status_patch_of_any_version

NODE_ID = "csi.alpha.kubernetes.io/node-id"
"""On an attachment: what the driver calls the node, should the node be gone by then."""
MESSAGE_LIMIT_BYTES = 1024
"""What the API takes as the message of an error."""


class AttachmentReason(StrEnum):
    PUBLISHING = "PublishingVolume"
    """The driver is about to be asked to make the volume available on the node."""
    ATTACHED = "VolumePublished"
    """The driver has done so, or has nothing to do."""
    FAILED = "PublishingFailed"
    """The driver could not be asked, or refused; it is asked again."""
    DETACHED = "VolumeUnpublished"
    """The driver has nothing on the node any more: the attachment may go."""
    VOLUME_RELEASED = "VolumeReleased"
    """A volume that is being deleted is attached nowhere: the attacher lets it go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachingDriver:
    name: str
    publishes: bool = True
    publishes_read_only: bool = False
    finer_modes: bool = False

    @property
    def finalizer(self) -> str:
        name = re.sub("[^a-zA-Z0-9-]", "-", self.name)
        return f"external-attacher/{name}{'X' if name.endswith('-') else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerPublish:
    handle: str
    node_id: str
    capability: VolumeCapability
    read_only: bool = False
    context: Mapping[str, str] = field(default_factory=dict)
    secret: SecretReference | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerUnpublish:
    handle: str
    node_id: str
    secret: SecretReference | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachmentContext:
    """What an attachment is about."""

    driver: AttachingDriver
    now: datetime
    volume: PersistentVolume | None = None
    """The one that the attachment names, if it names one and it exists."""
    csi_node: CSINode | None = None


AttachStep = Step[ControllerPublish | ControllerUnpublish]


def decide_attachment(attachment: VolumeAttachment, context: AttachmentContext) -> AttachStep:
    if attachment.is_being_deleted:
        return _detach(attachment, context)
    if attachment.status.attached:
        return Step()
    if not context.driver.publishes:
        return Step(plan=decide_attached(attachment, {}))
    try:
        publish = _publish(attachment, context)
    except ValueError as error:
        return Step(plan=decide_not_attached(attachment, NotAsked(str(error)), context.now))
    writes = [
        *_held_volume(context),
        *_held_attachment(attachment, context.driver, publish.node_id),
    ]
    return Step(plan=Plan(reason=AttachmentReason.PUBLISHING, writes=tuple(writes)), call=publish)


def _publish(attachment: VolumeAttachment, context: AttachmentContext) -> ControllerPublish:
    """Raises ValueError for what cannot be attached."""
    spec = _spec(attachment, context.volume)
    if context.volume is not None and context.volume.is_being_deleted:
        raise ValueError(f'PersistentVolume "{context.volume.name}" is marked for deletion')
    source = _source(spec)
    return ControllerPublish(
        handle=source.volume_handle,
        node_id=_node_id(attachment, context, recalled=False),
        capability=parse_capability(spec, finer_modes=context.driver.finer_modes),
        # A driver without this capability must not be asked for it.
        read_only=source.read_only and context.driver.publishes_read_only,
        context=source.volume_attributes,
        secret=source.controller_publish_secret_ref,
    )


def _spec(attachment: VolumeAttachment, volume: PersistentVolume | None) -> VolumeSpec:
    named = attachment.spec.source
    if named.inline_volume_spec is not None:
        return named.inline_volume_spec
    if volume is None:
        raise ValueError(f'persistentvolume "{named.persistent_volume_name}" not found')
    return translated(volume).spec


def _source(spec: VolumeSpec) -> CsiSource:
    if spec.csi is None:
        raise ValueError("the volume is not one of a CSI driver")
    return spec.csi


def _node_id(attachment: VolumeAttachment, context: AttachmentContext, *, recalled: bool) -> str:
    node, name = attachment.spec.node_name, context.driver.name
    entry = context.csi_node.find_driver(name) if context.csi_node is not None else None
    if entry is not None:
        return entry.node_id
    if recalled and NODE_ID in attachment.annotations:
        return attachment.annotations[NODE_ID]
    if context.csi_node is None:
        raise ValueError(f'csinode.storage.k8s.io "{node}" not found')
    raise ValueError(f"CSINode {node} does not contain driver {name}")


def _held_volume(context: AttachmentContext) -> list[Write]:
    volume, finalizer = context.volume, context.driver.finalizer
    if volume is None or finalizer in volume.metadata.finalizers:
        return []
    return [add_finalizer(VOLUMES, volume, finalizer)]


def _held_attachment(
    attachment: VolumeAttachment, driver: AttachingDriver, node_id: str
) -> list[Write]:
    metadata: Document = {}
    finalizers = attachment.metadata.finalizers
    if driver.finalizer not in finalizers:
        metadata["finalizers"] = [*finalizers, driver.finalizer]
    if attachment.annotations.get(NODE_ID) != node_id:
        metadata["annotations"] = {NODE_ID: node_id}
    if not metadata:
        return []
    return [
        Patch(
            resource=ATTACHMENTS,
            key=attachment.key,
            patch={"metadata": metadata},
            version=attachment.metadata.resource_version,
            uid=attachment.uid,
        )
    ]


def decide_attached(attachment: VolumeAttachment, context: Mapping[str, str]) -> Plan:
    """`context` is what the node needs to know to use the volume."""
    metadata = dict.fromkeys(attachment.status.attachment_metadata) | dict(context)
    status: Document = {"attached": True, "attachmentMetadata": metadata or None}
    if attachment.status.attach_error is not None:
        status["attachError"] = None
    return Plan(
        reason=AttachmentReason.ATTACHED,
        writes=(status_patch_of_any_version(ATTACHMENTS, attachment, status),),
    )


def decide_not_attached(attachment: VolumeAttachment, failure: Failure, now: datetime) -> Plan:
    before = attachment.status.attach_error
    error: Document = {"message": _shortened(str(failure)), "time": wire_time(now)}
    number = code_number(failure)
    if number is not None:
        error["errorCode"] = number
    elif before is not None and before.error_code is not None:
        error["errorCode"] = None
    return _failed(attachment, {"attachError": error}, before.message if before else None)


def decide_not_detached(attachment: VolumeAttachment, failure: Failure, now: datetime) -> Plan:
    before = attachment.status.detach_error
    error = {"message": _shortened(str(failure)), "time": wire_time(now)}
    return _failed(attachment, {"detachError": error}, before.message if before else None)


def _failed(attachment: VolumeAttachment, status: Document, told: str | None) -> Plan:
    """The same complaint is not written down again and again."""
    (error,) = status.values()
    if error["message"] == told:
        return Plan(reason=AttachmentReason.FAILED)
    return Plan(
        reason=AttachmentReason.FAILED,
        writes=(status_patch_of_any_version(ATTACHMENTS, attachment, status),),
    )


def _shortened(message: str) -> str:
    return message.encode()[:MESSAGE_LIMIT_BYTES].decode(errors="ignore")


# Detaching


def _detach(attachment: VolumeAttachment, context: AttachmentContext) -> AttachStep:
    if context.driver.finalizer not in attachment.metadata.finalizers:
        return Step()
    if not context.driver.publishes:
        return Step(plan=decide_detached(attachment, context.driver))
    try:
        source = _source(_spec(attachment, context.volume))
        unpublish = ControllerUnpublish(
            handle=source.volume_handle,
            node_id=_node_id(attachment, context, recalled=True),
            secret=source.controller_publish_secret_ref,
        )
    except ValueError as error:
        return Step(plan=decide_not_detached(attachment, NotAsked(str(error)), context.now))
    return Step(call=unpublish)


def decide_detached(attachment: VolumeAttachment, driver: AttachingDriver) -> Plan:
    """The finalizer goes first: without it, the driver is not called a second time."""
    left = [name for name in attachment.metadata.finalizers if name != driver.finalizer]
    writes: list[Write] = [set_finalizers(ATTACHMENTS, attachment, left)]
    if left:
        status = {"attached": False, "attachmentMetadata": None, "detachError": None}
        writes.append(status_patch_of_any_version(ATTACHMENTS, attachment, status))
    return Plan(reason=AttachmentReason.DETACHED, writes=tuple(writes))


def decide_volume(
    volume: PersistentVolume, attachments: Iterable[VolumeAttachment], driver: AttachingDriver
) -> Plan:
    """`attachments` are those that name the volume. None is made for it while it is deleted."""
    finalizers = volume.metadata.finalizers
    if not volume.is_being_deleted or driver.finalizer not in finalizers or any(attachments):
        return NOTHING
    release = remove_finalizer(VOLUMES, volume, driver.finalizer)
    return Plan(reason=AttachmentReason.VOLUME_RELEASED, writes=(release,))
