"""Which VolumeAttachments are created and deleted, by the rules of kube-controller-manager.

A device, that is what a CSI driver knows by a handle, is wanted on a node by the pods there. It is
attached by a VolumeAttachment, which the driver's attacher carries out (`attaching`), and detached
by deleting that object, but never under a running pod: no pod may want it, and the node must not
report it in use. Only when the node is broken and its agent has been silent for long, or an
administrator vouches for it by the out-of-service taint, is it detached all the same. A
device for one node at a time goes to the next node only when no attachment to another is left,
whatever state it is in.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

import msgspec

from plimsoll.api.core import AttachedVolume, Node
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.api.storage import CSIDriver, VolumeAttachment
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.claims.protection import is_for_pod
from plimsoll.decide.cluster.lost_nodes import OUT_OF_SERVICE
from plimsoll.decide.csi.devices import Device
from plimsoll.decide.plan import (
    NOTHING,
    Create,
    Delete,
    Emit,
    EventType,
    Patch,
    Plan,
    Write,
)
from plimsoll.decide.resources import ATTACHMENTS, NODES
from plimsoll.decide.statuses import status_patch

UNMOUNT_DEADLINE = timedelta(minutes=6)
"""How long a broken node may take to say that it does not use a device any more."""
SHARED_MODES = frozenset({"ReadWriteMany", "ReadOnlyMany"})
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class AttachDetachReason(StrEnum):
    CHANGED = "AttachmentsChanged"
    WAITING = "WaitingForNode"
    """A node or another loop has to do something first."""


def needs_attaching(driver: CSIDriver | None) -> bool:
    """A driver that says nothing about it wants its volumes attached."""
    return driver is None or driver.spec.attach_required is not False


def wants_volumes(pod: Pod) -> bool:
    """Whether the pod is on a node and has containers that run or may still be started."""
    if not pod.spec.node_name or pod.is_finished:
        return False
    has_containers = pod.status.container_statuses or pod.status.init_container_statuses
    return not pod.is_being_deleted or bool(has_containers)


def uses_claim(pod: Pod, claim: PersistentVolumeClaim) -> bool:
    for volume in pod.spec.volumes:
        if pod.claim_of(volume) == claim.key:
            return volume.ephemeral is None or is_for_pod(claim, pod)
    return False


def is_bound_pair(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    reference = volume.spec.claim_ref
    return (
        claim.status.phase == "Bound"
        and claim.spec.volume_name == volume.name
        and reference is not None
        and reference.uid == claim.uid
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedAttachment:
    """What is to be attached, as it is called and described."""

    device: Device
    name: str
    """For users: that of the volume."""
    source: Document
    is_shared: bool
    """Whether several nodes may have it at a time."""

    @classmethod
    def volume(cls, device: Device, volume: PersistentVolume) -> "WantedAttachment":
        modes = volume.spec.access_modes
        return cls(
            device=device,
            name=volume.name,
            source={"persistentVolumeName": volume.name},
            is_shared=not modes or bool(SHARED_MODES.intersection(modes)),
        )

    @classmethod
    def inline(cls, device: Device) -> "WantedAttachment":
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "csi": {"driver": device.driver, "volumeHandle": device.handle},
        }
        return cls(
            device=device,
            name=f"{device.driver}-{device.handle}",
            source={"inlineVolumeSpec": spec},
            is_shared=False,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachmentSite:
    """One node, as far as it matters to one device."""

    name: str
    node: Node | None = None
    """None: not known."""
    pods: tuple[Pod, ...] = ()
    """Those that want the device here."""
    attachment: VolumeAttachment | None = None
    unwanted_for: timedelta = timedelta()

    @property
    def is_attached(self) -> bool:
        found = self.attachment
        return found is not None and found.status.attached and not found.is_being_deleted

    def reports_use(self, device: Device) -> bool:
        """A node that is not known may well use it."""
        return self.node is None or device.unique_name in self.node.status.volumes_in_use

    def lists(self, device: Device) -> bool:
        """Whether the node was told that the device is there."""
        listed = self.node.status.volumes_attached if self.node is not None else ()
        return any(volume.name == device.unique_name for volume in listed)

    @property
    def is_broken(self) -> bool:
        return self.node is None or not self.node.is_ready

    @property
    def is_out_of_service(self) -> bool:
        taints = self.node.spec.taints if self.node is not None else ()
        return any(taint.key == OUT_OF_SERVICE for taint in taints)


def decide_attachments(wanted: WantedAttachment, sites: Sequence[AttachmentSite]) -> Plan:
    """Detach first: what is detached here may be waited for there."""
    writes: list[Write] = []
    recheck: list[timedelta] = []
    for site in sorted(sites, key=lambda site: site.name):
        if not site.pods:
            writes += _ended(wanted.device, site, recheck)
    for site in _in_order_of_arrival(sites):
        writes += _begun(wanted, site, sites)
    if writes:
        return Plan(
            reason=AttachDetachReason.CHANGED,
            writes=tuple(writes),
            recheck_after=min(recheck, default=None),
        )
    if recheck:
        return Plan(reason=AttachDetachReason.WAITING, recheck_after=min(recheck))
    return NOTHING


# Detaching


def _ended(device: Device, site: AttachmentSite, recheck: list[timedelta]) -> list[Write]:
    found = site.attachment
    if found is None or found.is_being_deleted:
        # Even if a user deleted it: the node should not believe that the device is still there.
        return _unlisted(device, site)
    if found.name != device.attachment_name(site.name):
        return []  # another program made it, for its own reasons
    if not may_detach(device, site):
        if site.is_broken:
            recheck.append(UNMOUNT_DEADLINE - site.unwanted_for)
        return []
    # The node learns first: nothing is mounted there any more from then on.
    delete = Delete(resource=ATTACHMENTS, key=found.key, uid=found.uid)
    return [*_unlisted(device, site), delete]


def may_detach(device: Device, site: AttachmentSite) -> bool:
    if not site.reports_use(device) or site.is_out_of_service:
        return True
    return site.is_broken and site.unwanted_for >= UNMOUNT_DEADLINE


def is_forced(device: Device, site: AttachmentSite) -> bool:
    """Whether the device is detached although the node reports it in use."""
    return site.reports_use(device) and may_detach(device, site)


def _unlisted(device: Device, site: AttachmentSite) -> list[Write]:
    if site.node is None or not site.lists(device):
        return []
    kept = [v for v in site.node.status.volumes_attached if v.name != device.unique_name]
    return [_node_patch(site.node, kept)]


# Attaching


def _in_order_of_arrival(sites: Iterable[AttachmentSite]) -> list[AttachmentSite]:
    """The node that was first gets a device that only one node can have."""

    def arrival(site: AttachmentSite) -> tuple[datetime, str]:
        times = [pod.metadata.creation_timestamp or LONG_AGO for pod in site.pods]
        return min(times), site.name

    return sorted((site for site in sites if site.pods), key=arrival)


def _begun(
    wanted: WantedAttachment, site: AttachmentSite, sites: Sequence[AttachmentSite]
) -> list[Write]:
    found = site.attachment
    if found is not None:
        return [] if found.is_being_deleted else _progress(wanted, site, found)
    if site.node is None:
        return []
    others = [other for other in sites if other.attachment is not None]
    if others and not wanted.is_shared:
        return _refusals(wanted, site, others)
    if not wanted.is_shared and _in_order_of_arrival(sites)[0] is not site:
        return []
    return [
        *_unlisted(wanted.device, site),
        Create(resource=ATTACHMENTS, document=_attachment(wanted, site)),
    ]


def _progress(
    wanted: WantedAttachment, site: AttachmentSite, found: VolumeAttachment
) -> list[Write]:
    if found.status.attached:
        if site.node is None or site.lists(wanted.device):
            return []
        entry = AttachedVolume(name=wanted.device.unique_name)
        message = f'AttachVolume.Attach succeeded for volume "{wanted.name}" '
        return [
            _node_patch(site.node, [*site.node.status.volumes_attached, entry]),
            *_events(site.pods, EventType.NORMAL, "SuccessfulAttachVolume", message),
        ]
    withdrawn = _unlisted(wanted.device, site)
    error = found.status.attach_error
    if error is None:
        return withdrawn
    message = f'AttachVolume.Attach failed for volume "{wanted.name}" : {error.message}'
    return [*withdrawn, *_events(site.pods, EventType.WARNING, "FailedAttachVolume", message)]


def _refusals(
    wanted: WantedAttachment, site: AttachmentSite, others: Sequence[AttachmentSite]
) -> list[Write]:
    """Each pod is told which pods have the device; those in other namespaces are only counted."""
    holders = [other for other in others if other.is_attached]
    if not holders:
        return []
    users = sorted((pod for holder in holders for pod in holder.pods), key=lambda pod: pod.key)
    writes: list[Write] = []
    for pod in site.pods:
        near = [user.name for user in users if user.namespace == pod.namespace]
        message = f'Multi-Attach error for volume "{wanted.name}" {_explained(near, users)}'
        writes += _events((pod,), EventType.WARNING, "FailedAttachVolume", message)
    return writes


def _explained(near: Sequence[str], users: Sequence[Pod]) -> str:
    far = len(users) - len(near)
    if not users:
        return "Volume is already exclusively attached to one node and can't be attached to another"
    if not near:
        return f"Volume is already used by {far} pod(s) in different namespaces"
    elsewhere = f" and {far} pod(s) in different namespaces" if far else ""
    return f"Volume is already used by pod(s) {', '.join(near)}{elsewhere}"


def _attachment(wanted: WantedAttachment, site: AttachmentSite) -> Document:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": wanted.device.attachment_name(site.name)},
        "spec": {
            "attacher": wanted.device.driver,
            "nodeName": site.name,
            "source": wanted.source,
        },
    }


def _node_patch(node: Node, attached: Sequence[AttachedVolume]) -> Patch:
    listed = [{"name": volume.name, "devicePath": volume.device_path} for volume in attached]
    return status_patch(NODES, node, {"volumesAttached": listed or None})


def _events(pods: Iterable[Pod], type_: EventType, reason: str, message: str) -> list[Write]:
    return [
        Emit(
            regarding={
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": msgspec.to_builtins(pod.metadata),
            },
            type=type_,
            reason=reason,
            message=message,
        )
        for pod in sorted(pods, key=lambda pod: pod.key)
    ]
