"""Finalizers that keep the sources of volumes while volumes are provisioned from them.

They are set before the driver is called. A snapshot's is taken off as soon as the volume is
recorded (csi-provisioner does it as soon as it is made: then a volume that another process has to
record is never asked for again if the snapshot is deleted meanwhile); a
claim's when the claim is to be deleted and no clone of it is pending. What is left over, because a
provisioner stopped half-way or a claim was deleted, is swept.
"""

from collections.abc import Iterable
from enum import StrEnum

from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.snapshots import VolumeSnapshot
from plimsoll.api.volumes import DataSource, PersistentVolumeClaim
from plimsoll.decide.claims.writes import ClaimPhase
from plimsoll.decide.finalizers import add_finalizer, remove_finalizer
from plimsoll.decide.plan import NOTHING, Patch, Plan, ResourceName
from plimsoll.decide.provisioning.request.sources import (
    CLAIM_KIND,
    CLONE_PROTECTION,
    SNAPSHOT_GROUP,
    SNAPSHOT_KIND,
    SNAPSHOT_PROTECTION,
    ResolvedSource,
    SourceKind,
)
from plimsoll.decide.provisioning.view import ProvisionerView
from plimsoll.decide.resources import CLAIMS

SNAPSHOTS = ResourceName(SNAPSHOT_GROUP, "v1", "volumesnapshots")


class SourceProtectionReason(StrEnum):
    CLONING = "CloningInProgress"
    """A claim is to be deleted, but a clone of it is still pending."""
    RELEASED = "SourceReleased"
    """No volume is provisioned from it any more, so the finalizer is taken off."""


def protect(source: ResolvedSource | None, view: ProvisionerView) -> Patch | None:
    """Marks the source; None if it is marked, or there is none."""
    if source is None:
        return None
    if source.kind is SourceKind.CLAIM:
        claim = view.claim(source.key)
        return None if claim is None else _marked(CLAIMS, claim, CLONE_PROTECTION)
    snapshot = view.snapshot(source.key)
    return None if snapshot is None else _marked(SNAPSHOTS, snapshot, SNAPSHOT_PROTECTION)


def release_snapshot(claim: PersistentVolumeClaim, view: ProvisionerView) -> Patch | None:
    """Takes our finalizer off the snapshot once the volume exists.

    A snapshot that is named by dataSourceRef is left to the sweep.
    """
    source = claim.spec.data_source
    if source is None or source.kind != SNAPSHOT_KIND:
        return None
    snapshot = view.snapshot(ObjectKey(claim.namespace, source.name))
    return None if snapshot is None else _unmarked_snapshot(snapshot)


def decide_release(claim: PersistentVolumeClaim, view: ProvisionerView) -> Plan:
    release = release_snapshot(claim, view)
    if release is None:
        return NOTHING
    return Plan(reason=SourceProtectionReason.RELEASED, writes=(release,))


def decide_cloned_claim(
    claim: PersistentVolumeClaim, neighbours: Iterable[PersistentVolumeClaim]
) -> Plan:
    """For a claim that is being deleted; `neighbours` are the claims of its namespace."""
    if not claim.is_being_deleted or CLONE_PROTECTION not in claim.metadata.finalizers:
        return NOTHING
    if any(_is_pending_clone(neighbour, claim) for neighbour in neighbours):
        return Plan(reason=SourceProtectionReason.CLONING)
    release = remove_finalizer(CLAIMS, claim, CLONE_PROTECTION)
    return Plan(reason=SourceProtectionReason.RELEASED, writes=(release,))


def decide_sweep(
    snapshots: Iterable[VolumeSnapshot], claims: Iterable[PersistentVolumeClaim]
) -> Plan:
    """Takes the mark off all snapshots that no unfinished claim is to be filled from."""
    in_use = {key for claim in claims if (key := _unfinished_source(claim)) is not None}
    released = [
        _unmarked_snapshot(snapshot) for snapshot in snapshots if snapshot.key not in in_use
    ]
    writes = tuple(write for write in released if write is not None)
    return Plan(reason=SourceProtectionReason.RELEASED, writes=writes) if writes else NOTHING


def _is_pending_clone(claim: PersistentVolumeClaim, source: PersistentVolumeClaim) -> bool:
    sources = (claim.spec.data_source, claim.spec.data_source_ref)
    return claim.status.phase == ClaimPhase.PENDING and any(
        reference is not None and reference.kind == CLAIM_KIND and reference.name == source.name
        for reference in sources
    )


def _unfinished_source(claim: PersistentVolumeClaim) -> ObjectKey | None:
    if claim.status.phase not in ("", ClaimPhase.PENDING):
        return None
    for reference in (claim.spec.data_source, claim.spec.data_source_ref):
        if reference is not None and _names_snapshot(reference):
            return ObjectKey(reference.namespace or claim.namespace, reference.name)
    return None


def _names_snapshot(reference: DataSource) -> bool:
    return reference.kind == SNAPSHOT_KIND and reference.api_group in (None, SNAPSHOT_GROUP)


def _marked(resource: ResourceName, source: ApiObject, mark: str) -> Patch | None:
    if mark in source.metadata.finalizers:
        return None
    return add_finalizer(resource, source, mark)


def _unmarked_snapshot(snapshot: VolumeSnapshot) -> Patch | None:
    if SNAPSHOT_PROTECTION not in snapshot.metadata.finalizers:
        return None
    return remove_finalizer(SNAPSHOTS, snapshot, SNAPSHOT_PROTECTION)
