"""Which volumes are never taken back, and why.

`find_lasting` looks at the volume, its claim and its class, all of which watches show; it keeps
most volumes out. `find_uses` looks at everything else that may name the volume, as the server says
at this moment.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from plimsoll.api.core import Node
from plimsoll.api.pods import Pod
from plimsoll.api.snapshots import VolumeSnapshot, VolumeSnapshotContent
from plimsoll.api.storage import StorageClass, VolumeAttachment
from plimsoll.api.volumes import DataSource, PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import (
    BIND_COMPLETED,
    PROVISIONED_BY,
    RETAINED_BY,
    ROLLBACK,
    UNUSED_VOLUMES,
)
from plimsoll.decide.claims.match import is_reachable
from plimsoll.decide.claims.reclaim import ReclaimPolicy
from plimsoll.decide.claims.writes import VolumePhase
from plimsoll.decide.provisioning.request.sources import CLAIM_KIND
from plimsoll.decide.provisioning.volume import DELETION_SECRET_NAME, DELETION_SECRET_NAMESPACE

CHANGES = frozenset(
    {
        "Resizing",
        "FileSystemResizePending",
        "ControllerResizeError",
        "NodeResizeError",
        "ModifyingVolume",
        "ModifyVolumeError",
    }
)
"""Conditions of a claim whose volume is being changed."""


class RollbackObjection(StrEnum):
    """Why a volume is not taken back; each ends a sentence about it."""

    NO_CONSENT = "its class does not let unused volumes be taken back"
    BINDS_AT_ONCE = "its class does not wait for a pod: the next volume could be anywhere"
    NOT_MADE_FOR_CLAIM = "it was not made for this claim by a CSI driver"
    NOT_BOUND = "it is not bound to the claim"
    IS_RETAINED = "its reclaim policy is not Delete"
    IS_LEAVING = "it or its claim is being deleted"
    HAS_CONTENT = "it was filled with data when it was made"
    IS_CHANGING = "its size or its attributes are being changed"
    DELETION_UNKNOWN = "it does not say which secret its deletion needs"
    IS_PINNED_NOWHERE = "it can be reached from every node"
    ON_A_NODE = "a pod that names its claim has a node that reaches it"
    IS_ATTACHED = "it is attached to a node"
    HAS_SNAPSHOT = "a snapshot names it"
    HAS_CLONE = "another claim is made from it"
    HAS_TWIN = "another volume object is about the same storage"


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackView:
    """What the server itself just said: a delayed watch must not cost users their data."""

    volume: PersistentVolume | None
    claim: PersistentVolumeClaim | None
    """Of the name that the volume gives; it may be another one by now."""
    claims: Sequence[PersistentVolumeClaim] = ()
    """All there are."""
    pods: Sequence[Pod] = ()
    """All of the claim's namespace."""
    nodes: Mapping[str, Node] = field(default_factory=dict)
    attachments: Sequence[VolumeAttachment] = ()
    snapshots: Sequence[VolumeSnapshot] = ()
    """All of the claim's namespace."""
    contents: Sequence[VolumeSnapshotContent] = ()
    volumes: Sequence[PersistentVolume] = ()
    """All there are."""


def find_lasting(
    volume: PersistentVolume, claim: PersistentVolumeClaim, storage_class: StorageClass | None
) -> RollbackObjection | None:
    """Nothing that comes and goes with pods."""
    consent = storage_class.annotations.get(ROLLBACK) if storage_class is not None else None
    checks = {
        RollbackObjection.NO_CONSENT: consent != UNUSED_VOLUMES,
        RollbackObjection.BINDS_AT_ONCE: (
            storage_class is not None and not storage_class.waits_for_consumer
        ),
        RollbackObjection.IS_RETAINED: (
            volume.spec.persistent_volume_reclaim_policy != ReclaimPolicy.DELETE
            or RETAINED_BY in volume.annotations
        ),
    }
    found = next((objection for objection, applies in checks.items() if applies), None)
    return found or find_mismatch(volume, claim)


def find_mismatch(
    volume: PersistentVolume, claim: PersistentVolumeClaim
) -> RollbackObjection | None:
    """The same without what a rollback changes itself: the reclaim policy."""
    checks = {
        RollbackObjection.NOT_MADE_FOR_CLAIM: not _is_made_for(volume, claim),
        RollbackObjection.NOT_BOUND: not _is_bound(volume, claim),
        RollbackObjection.IS_LEAVING: volume.is_being_deleted or claim.is_being_deleted,
        RollbackObjection.HAS_CONTENT: (
            claim.spec.data_source is not None or claim.spec.data_source_ref is not None
        ),
        RollbackObjection.IS_CHANGING: _is_changing(claim),
        RollbackObjection.DELETION_UNKNOWN: not (
            {DELETION_SECRET_NAME, DELETION_SECRET_NAMESPACE} <= volume.annotations.keys()
        ),
        RollbackObjection.IS_PINNED_NOWHERE: volume.spec.required_nodes is None,
    }
    return next((objection for objection, applies in checks.items() if applies), None)


def _is_made_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """By its name: a volume that was kept and given to another claim has data of the first one."""
    driver = volume.spec.csi.driver if volume.spec.csi else ""
    is_driver_s = bool(driver) and volume.annotations.get(PROVISIONED_BY) == driver
    return is_driver_s and bool(claim.uid) and volume.name.endswith(claim.uid)


def _is_bound(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    return (
        claim.spec.volume_name == volume.name
        and BIND_COMPLETED in claim.annotations
        and volume.spec.claim == claim.key
        and volume.spec.claim_uid == claim.uid
        and volume.status.phase == VolumePhase.BOUND
    )


def _is_changing(claim: PersistentVolumeClaim) -> bool:
    status = claim.status
    return bool(
        status.allocated_resource_statuses
        or status.modify_volume_status
        or claim.spec.requested_bytes > status.capacity_bytes
        or any(condition.type in CHANGES and condition.holds for condition in status.conditions)
    )


def find_uses(volume: PersistentVolume, view: RollbackView) -> Iterator[RollbackObjection]:
    """Everything that names the volume, or its claim, but for pods without a node."""
    if any(may_use(pod, volume, view.nodes) for pod in view.pods):
        yield RollbackObjection.ON_A_NODE
    if any(volume.name in attachment.volume_names for attachment in view.attachments):
        yield RollbackObjection.IS_ATTACHED
    if _has_snapshot(volume, view):
        yield RollbackObjection.HAS_SNAPSHOT
    if any(_is_from(claim, volume) for claim in view.claims):
        yield RollbackObjection.HAS_CLONE
    if any(_are_twins(volume, other) for other in view.volumes):
        yield RollbackObjection.HAS_TWIN


def may_use(pod: Pod, volume: PersistentVolume, nodes: Mapping[str, Node]) -> bool:
    """Whether the pod may have, or get, the volume on its node, if it has one.

    Nodes refuse volumes that they do not reach: a pod elsewhere, with a claim of the same name,
    uses the volume of a later claim.
    """
    if not pod.spec.node_name or volume.spec.claim not in pod.claims:
        return False
    node = nodes.get(pod.spec.node_name)
    return node is None or is_reachable(volume, node.labels)


def _has_snapshot(volume: PersistentVolume, view: RollbackView) -> bool:
    claim, source = volume.spec.claim, volume.spec.csi
    return any(
        claim is not None
        and snapshot.namespace == claim.namespace
        and snapshot.spec.source.persistent_volume_claim_name == claim.name
        for snapshot in view.snapshots
    ) or any(
        source is not None
        and content.spec.driver == source.driver
        and content.spec.source.volume_handle == source.volume_handle
        for content in view.contents
    )


def _are_twins(volume: PersistentVolume, other: PersistentVolume) -> bool:
    """Pods may write by way of the other: its claim, and its attachments, are others."""
    return other.uid != volume.uid and storage_of(volume) == storage_of(other) is not None


def storage_of(volume: PersistentVolume) -> tuple[str, str] | None:
    """What it is at its driver."""
    source = volume.spec.csi
    return None if source is None else (source.driver, source.volume_handle)


def _is_from(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    references = (claim.spec.data_source, claim.spec.data_source_ref)
    return any(_names(reference, claim.namespace, volume) for reference in references)


def _names(reference: DataSource | None, namespace: str, volume: PersistentVolume) -> bool:
    if reference is None or reference.kind != CLAIM_KIND or volume.spec.claim is None:
        return False
    return volume.spec.claim == (reference.namespace or namespace, reference.name)
