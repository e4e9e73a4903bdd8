"""The way of a volume into a pod: wait, announce, stage, publish, expand, one step at a time.

A device that has to be attached is announced in the node's status before anything is done with
it, and is touched only while the node's status lists it as attached in a version that has the
announcement. The attach/detach controller takes the entry away first and then looks for the
announcement: so no device is detached under a mount.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from plimsoll.api.core import Node
from plimsoll.api.meta import find_condition
from plimsoll.api.pods import Pod
from plimsoll.api.quantity import parse_bytes
from plimsoll.api.storage import CSIDriver, VolumeAttachment
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.csi.attach_detach import needs_attaching
from plimsoll.decide.csi.devices import Device
from plimsoll.decide.csi.resizing import ResizeCondition, ResizeProgress
from plimsoll.decide.node.actual_state import (
    EPHEMERAL,
    PERSISTENT,
    ActualState,
    PublishedPlace,
    PublishedVolume,
    StagedVolume,
)
from plimsoll.decide.node.desired_volumes import CsiVolume, DesiredVolume, OwnVolume, Unready
from plimsoll.decide.node.features import NodeFeatures

ATTACH_DEADLINE = timedelta(seconds=30)
"""That a volume is not attached yet is reported only when it takes longer."""
NODE_RESIZES = frozenset({ResizeProgress.NODE_PENDING, ResizeProgress.NODE_IN_PROGRESS})


class VolumeWaitReason(StrEnum):
    """Why a pod does not get its volume yet."""

    VOLUME = "VolumeNotReady"
    """Its claim is not bound, its volume is missing or cannot be reached from this node."""
    DRIVER = "DriverNotRegistered"
    """Its driver has not registered on this node."""
    ANNOUNCEMENT = "UseNotReported"
    """The node has yet to report that it is going to use the device."""
    ATTACHMENT = "NotAttached"
    """The device is not attached to this node yet."""
    LIFECYCLE = "LifecycleNotSupported"
    """The driver does not serve volumes of this kind, inline or persistent."""
    TOKENS = "TokensNotSupported"
    """The driver wants tokens of service accounts, which this node does not hand out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    why: VolumeWaitReason
    message: str
    is_news: bool = True
    """Whether the user should hear about it now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStage:
    volume: CsiVolume
    entry: StagedVolume
    publish_context: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePublish:
    volume: CsiVolume
    entry: PublishedVolume
    staged: StagedVolume | None = None
    publish_context: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpandOnNode:
    volume: CsiVolume
    claim: PersistentVolumeClaim
    entry: PublishedVolume
    staged: StagedVolume | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepareVolume:
    """A volume that needs no driver: a directory, or a link."""

    volume: OwnVolume
    place: PublishedPlace


@dataclass(frozen=True, slots=True)
class Ready:
    """The pod can use it."""

    is_grown: bool = True
    """False: it could not be brought to its new size yet, but can be used."""


READY = Ready()
Step = Wait | NodeStage | NodePublish | ExpandOnNode | PrepareVolume | Ready


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedNode:
    """What is known around one pod at one moment."""

    node: Node
    actual: ActualState = field(default_factory=ActualState)
    prepared: frozenset[PublishedPlace] = frozenset()
    """Volumes without a driver that are in place."""
    registered: Mapping[str, NodeFeatures] = field(default_factory=dict)
    """By the driver's name."""
    drivers: Mapping[str, CSIDriver] = field(default_factory=dict)
    attachments: Mapping[str, VolumeAttachment] = field(default_factory=dict)
    """By name."""


def next_step(pod: Pod, wanted: DesiredVolume, observed: ObservedNode, now: datetime) -> Step:
    match wanted:
        case Unready(name=name, message=message):
            published = observed.actual.published.get(PublishedPlace(pod.uid, name))
            if published is not None and published.sure:
                # It was ready once: a claim that is to be deleted later is not taken from its pod.
                return READY
            return Wait(why=VolumeWaitReason.VOLUME, message=message)
        case OwnVolume():
            place = PublishedPlace(pod.uid, wanted.name)
            if place in observed.prepared:
                return READY
            return PrepareVolume(volume=wanted, place=place)
        case CsiVolume():
            return _of_driver(pod, wanted, observed, now)


def find_other_claim(
    seen: PersistentVolumeClaim, current: PersistentVolumeClaim | None
) -> Wait | None:
    """Whether the pod has to wait because the node has not seen what its claim is now.

    A claim that was deleted and made anew has another volume: the old one would keep what the pod
    writes, and be deleted with it. kubelet reads claims from the server as well.
    """
    if current is not None and current.uid == seen.uid and not current.is_being_deleted:
        return None
    what = "is being deleted" if current is not None and current.uid == seen.uid else "was deleted"
    message = f'claim "{seen.name}" {what}, which this node has yet to see'
    return Wait(why=VolumeWaitReason.VOLUME, message=message, is_news=False)


def _of_driver(pod: Pod, volume: CsiVolume, observed: ObservedNode, now: datetime) -> Step:
    place = PublishedPlace(pod.uid, volume.name)
    published = observed.actual.published.get(place)
    staged = observed.actual.staged.get(volume.device)
    features = observed.registered.get(volume.device.driver)
    if published is not None and published.sure:
        return _grown(volume, published, staged, features)
    if features is None:
        return Wait(why=VolumeWaitReason.DRIVER, message=_not_registered(volume))
    blocked = (
        _lifecycle_problem(volume, observed)
        or _token_problem(volume, observed)
        or _attachment_problem(pod, volume, observed, now)
    )
    if blocked is not None:
        return blocked
    context = _publish_context(volume, observed)
    if features.stages and not volume.is_inline and (staged is None or not staged.sure):
        entry = StagedVolume(device=volume.device, name=volume.name, is_block=volume.is_block)
        return NodeStage(volume=volume, entry=entry, publish_context=context)
    return NodePublish(
        volume=volume,
        entry=PublishedVolume(
            place=place,
            device=volume.device,
            is_block=volume.is_block,
            lifecycle=EPHEMERAL if volume.is_inline else PERSISTENT,
        ),
        staged=staged,
        publish_context=context,
    )


def _not_registered(volume: CsiVolume) -> str:
    return (
        f'MountVolume.SetUp failed for volume "{volume.name}" : driver name '
        f"{volume.device.driver} not found in the list of registered CSI drivers"
    )


def _lifecycle_problem(volume: CsiVolume, observed: ObservedNode) -> Wait | None:
    """A driver serves persistent volumes alone unless it says otherwise."""
    driver = observed.drivers.get(volume.device.driver)
    if driver is None and not volume.is_inline:
        return None
    modes = (driver.spec.volume_lifecycle_modes if driver else ()) or (PERSISTENT,)
    mode = EPHEMERAL if volume.is_inline else PERSISTENT
    if mode in modes:
        return None
    message = (
        f'MountVolume.SetUp failed for volume "{volume.name}" : driver '
        f"{volume.device.driver} does not support {mode} volumes; its CSIDriver lists "
        f"{', '.join(modes)}"
    )
    return Wait(why=VolumeWaitReason.LIFECYCLE, message=message)


def _token_problem(volume: CsiVolume, observed: ObservedNode) -> Wait | None:
    driver = observed.drivers.get(volume.device.driver)
    if driver is None or not driver.spec.token_requests:
        return None
    message = (
        f'MountVolume.SetUp failed for volume "{volume.name}" : driver {volume.device.driver} '
        "asks for service account tokens, which plimsoll node does not hand out"
    )
    return Wait(why=VolumeWaitReason.TOKENS, message=message)


# Attachment


def must_be_attached(volume: CsiVolume, drivers: Mapping[str, CSIDriver]) -> bool:
    return not volume.is_inline and needs_attaching(drivers.get(volume.device.driver))


def find_attachment(device: Device, observed: ObservedNode) -> VolumeAttachment | None:
    """The one by which the device is attached to the node at this moment."""
    found = observed.attachments.get(device.attachment_name(observed.node.name))
    if found is None or found.is_being_deleted or not found.status.attached:
        return None
    return found


def _attachment_problem(
    pod: Pod, volume: CsiVolume, observed: ObservedNode, now: datetime
) -> Wait | None:
    if not must_be_attached(volume, observed.drivers):
        return None
    name = volume.device.unique_name
    since = pod.status.start_time
    is_overdue = since is not None and now - since >= ATTACH_DEADLINE
    if name not in observed.node.status.volumes_in_use:
        message = f'volume "{volume.name}" is about to be reported as in use'
        return Wait(why=VolumeWaitReason.ANNOUNCEMENT, message=message, is_news=False)
    listed = any(name == entry.name for entry in observed.node.status.volumes_attached)
    if listed and find_attachment(volume.device, observed) is not None:
        return None
    message = (
        f'Unable to attach or mount volume "{volume.name}": '
        f'it is not attached to node "{observed.node.name}" yet'
    )
    return Wait(why=VolumeWaitReason.ATTACHMENT, message=message, is_news=is_overdue)


def _publish_context(volume: CsiVolume, observed: ObservedNode) -> Mapping[str, str]:
    if not must_be_attached(volume, observed.drivers):
        return {}
    found = find_attachment(volume.device, observed)
    return found.status.attachment_metadata if found is not None else {}


# Growing


def _grown(
    volume: CsiVolume,
    published: PublishedVolume,
    staged: StagedVolume | None,
    features: NodeFeatures | None,
) -> ExpandOnNode | Ready:
    claim = volume.claim
    if claim is None or volume.is_read_only:
        return READY
    if not waits_for_node(claim) or parse_bytes(volume.capacity) <= claim.status.capacity_bytes:
        return READY
    if features is None:
        return Ready(is_grown=False)  # the driver has yet to register, as after a restart
    if not features.expands:
        return READY
    return ExpandOnNode(volume=volume, claim=claim, entry=published, staged=staged)


def waits_for_node(claim: PersistentVolumeClaim) -> bool:
    """The volume has grown, and what is on it has yet to."""
    pending = find_condition(claim.status.conditions, ResizeCondition.FILE_SYSTEM_PENDING)
    if pending is not None and pending.holds:
        return True
    return claim.status.allocated_resource_statuses.get("storage", "") in NODE_RESIZES
