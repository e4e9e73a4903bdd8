"""What becomes of a released volume: it is retained, deleted, or recycled for the next claim.

The controller deletes only what its own provisioners created. A volume of a CSI driver is left to
the provisioner beside the driver, which decides in `decide.provisioning.deletion`.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from plimsoll.api.pods import Pod
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import INTERNAL_DELETION, MIGRATED_TO, PROVISIONED_BY
from plimsoll.decide.claims.operations import (
    Decision,
    DeleteBacking,
    DeleteOutcome,
    Failed,
    Finished,
    InUse,
    Recycle,
    RecycleOutcome,
)
from plimsoll.decide.claims.reasons import BindingReason
from plimsoll.decide.claims.view import ClaimsAndVolumes, ProvisionerFacts, Provisioners
from plimsoll.decide.claims.writes import (
    VolumePhase,
    existing,
    finalizers_patch,
    normal,
    patch_of,
    set_volume_phase,
    unbind_volume,
    warning,
)
from plimsoll.decide.csi.migration import is_in_tree
from plimsoll.decide.plan import Delete, Plan, Write
from plimsoll.decide.resources import VOLUMES


class ReclaimPolicy(StrEnum):
    RETAIN = "Retain"
    DELETE = "Delete"
    RECYCLE = "Recycle"


@dataclass(frozen=True, slots=True)
class NoDeleter:
    """No provisioner that could delete the volume is known, although one should be."""

    message: str


def decide_reclaim(volume: PersistentVolume, view: ClaimsAndVolumes) -> Decision:
    """For a released volume. Reclaiming that failed is tried again with each decision."""
    if volume.annotations.get(MIGRATED_TO):
        return Decision(plan=Plan(reason=BindingReason.LEFT_TO_DRIVER))
    match volume.spec.persistent_volume_reclaim_policy:
        case ReclaimPolicy.RETAIN:
            return Decision(plan=Plan(reason=BindingReason.RETAINED))
        case ReclaimPolicy.RECYCLE:
            return _decide_recycling(volume, view)
        case ReclaimPolicy.DELETE:
            return _decide_deletion(volume, view.provisioners)
        case _:
            message = "Volume has unrecognized PersistentVolumeReclaimPolicy"
            return Decision(
                plan=_failed(volume, BindingReason.VOLUME_UNKNOWN_RECLAIM_POLICY, message)
            )


def is_released(volume: PersistentVolume, claim: PersistentVolumeClaim | None) -> bool:
    """Whether the volume may still be reclaimed: to be asked again right before it is done.

    `claim` is the one of the name that the volume gives, if there is one.
    """
    reference = volume.spec.claim_ref
    if reference is None or not reference.uid:
        return False
    if claim is None or claim.uid != reference.uid:
        return True
    return claim.spec.volume_name not in ("", volume.name)


def has_ended(pod: Pod) -> bool:
    """No container of the pod runs any more, or the pod was deleted before any ran."""
    started = pod.status.container_statuses or pod.status.init_container_statuses
    return pod.is_finished or (pod.is_being_deleted and not started)


def find_deleter(
    volume: PersistentVolume, provisioners: Provisioners
) -> ProvisionerFacts | NoDeleter | None:
    """The provisioner that deletes the volume; None: an external one does."""
    if name := volume.annotations.get(PROVISIONED_BY):
        if found := provisioners.find(name):
            return found
        return NoDeleter(f"no volume plugin matched name: {name}") if is_in_tree(name) else None
    if MIGRATED_TO in volume.annotations or volume.spec.csi is not None:
        return None
    return provisioners.find_for_source(volume) or NoDeleter(
        f'error getting deleter volume plugin for volume "{volume.name}": no volume plugin matched'
    )


def _decide_deletion(volume: PersistentVolume, provisioners: Provisioners) -> Decision:
    deleter = find_deleter(volume, provisioners)
    if deleter is None:
        return Decision(plan=Plan(reason=BindingReason.LEFT_TO_DRIVER))
    if isinstance(deleter, NoDeleter):
        return Decision(plan=_failed(volume, BindingReason.VOLUME_FAILED_DELETE, deleter.message))
    return Decision(
        plan=Plan(reason=BindingReason.DELETING),
        operation=DeleteBacking(volume=volume, provisioner=deleter.name),
    )


def _decide_recycling(volume: PersistentVolume, view: ClaimsAndVolumes) -> Decision:
    claim = volume.spec.claim
    users = [] if claim is None else [pod for pod in view.pods_using(claim) if not has_ended(pod)]
    # Where a claim of that name exists again, it is that claim which the pods use, not the volume.
    if users and claim is not None and view.claim(claim) is None:
        names = ",".join(sorted({str(pod.key) for pod in users}))
        event = normal(
            volume, BindingReason.VOLUME_FAILED_RECYCLE, f"Volume is used by pods: {names}"
        )
        return Decision(plan=Plan(reason=BindingReason.VOLUME_FAILED_RECYCLE, writes=(event,)))
    recycler = view.provisioners.find_for_source(volume)
    if recycler is None or not recycler.recycles:
        message = "No recycler plugin found for the volume!"
        return Decision(plan=_failed(volume, BindingReason.VOLUME_FAILED_RECYCLE, message))
    return Decision(
        plan=Plan(reason=BindingReason.RECYCLING),
        operation=Recycle(volume=volume, provisioner=recycler.name),
    )


def after_delete(volume: PersistentVolume, outcome: DeleteOutcome) -> Plan:
    """`volume` is its newest known version, not the one that the deletion began with."""
    match outcome:
        case Finished():
            return Plan(reason=BindingReason.DELETED, writes=_deletion(volume))
        case InUse(message):
            event = normal(volume, BindingReason.VOLUME_DELETE, message)
            return Plan(reason=BindingReason.VOLUME_DELETE, writes=(event,))
        case Failed(message):
            return _failed(volume, BindingReason.VOLUME_FAILED_DELETE, message)
        case _:
            assert_never(outcome)


def after_recycle(
    volume: PersistentVolume, outcome: RecycleOutcome, released: PersistentVolume
) -> Plan:
    """`volume` is its newest known version, `released` the one that the recycling began with.

    Where the volume no longer names the claim that released it, its freedom was written already:
    another claim may have the volume by now.
    """
    if volume.spec.claim_uid != released.spec.claim_uid:
        return Plan(reason=BindingReason.VOLUME_RECYCLED)
    match outcome:
        case Finished():
            event = normal(volume, BindingReason.VOLUME_RECYCLED, "Volume recycled")
            return Plan(
                reason=BindingReason.VOLUME_RECYCLED, writes=(event, *unbind_volume(volume))
            )
        case Failed(message):
            return _failed(
                volume, BindingReason.VOLUME_FAILED_RECYCLE, f"Recycle failed: {message}"
            )
        case _:
            assert_never(outcome)


def _deletion(volume: PersistentVolume) -> tuple[Write, ...]:
    finalizers = [name for name in volume.metadata.finalizers if name != INTERNAL_DELETION]
    metadata = finalizers_patch(volume, finalizers)
    release = patch_of(volume, {"metadata": metadata}) if metadata else None
    return existing(release, Delete(resource=VOLUMES, key=volume.key, uid=volume.uid))


def _failed(volume: PersistentVolume, reason: BindingReason, message: str) -> Plan:
    """The event is emitted once, not at every retry."""
    if volume.status.phase == VolumePhase.FAILED:
        return Plan(reason=reason)
    status = set_volume_phase(volume, VolumePhase.FAILED, message)
    return Plan(reason=reason, writes=existing(status, warning(volume, reason, message)))
