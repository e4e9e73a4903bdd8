"""What to do about a volume: confirm its binding, take it back, or release and reclaim it."""

from dataclasses import dataclass, replace

import msgspec

from plimsoll.api.registry import Document
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import EXTERNAL_DELETION, INTERNAL_DELETION, PROVISIONED_BY
from plimsoll.decide.claims.match import has_other_volume_mode
from plimsoll.decide.claims.operations import DecideAgain, Decision, ReadClaim
from plimsoll.decide.claims.reasons import BindingReason
from plimsoll.decide.claims.reclaim import ReclaimPolicy, decide_reclaim
from plimsoll.decide.claims.view import ClaimsAndVolumes, Provisioners
from plimsoll.decide.claims.writes import (
    VolumePhase,
    existing,
    finalizers_patch,
    patch_of,
    set_volume_phase,
    unbind_volume,
    warning,
)
from plimsoll.decide.csi.migration import find_driver, is_in_tree, migration_patch
from plimsoll.decide.plan import Plan

GIVEN_UP = (VolumePhase.RELEASED, VolumePhase.FAILED)


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What the server itself said about the claim that a volume names; None: there is none."""

    claim: PersistentVolumeClaim | None


def decide_volume(
    volume: PersistentVolume, view: ClaimsAndVolumes, confirmed: Confirmed | None = None
) -> Decision:
    """`confirmed` answers the `ReadClaim` of an earlier decision about the same volume."""
    if metadata := _care_patch(volume, view.provisioners):
        write = patch_of(volume, {"metadata": metadata})
        return Decision(
            plan=Plan(reason=BindingReason.MIGRATION_NOTED, writes=(write,)),
            operation=DecideAgain(),
        )
    reference = volume.spec.claim_ref
    if reference is None or not reference.uid:
        return _in_phase(volume, VolumePhase.AVAILABLE, BindingReason.AVAILABLE)
    known = view.claim(reference.key) if confirmed is None else confirmed.claim
    if known is not None and known.uid == reference.uid:
        return _decide_claimed(volume, known, view)
    is_news = known is not None or volume.status.phase not in GIVEN_UP
    if is_news and confirmed is None:
        return Decision(
            plan=Plan(reason=BindingReason.CLAIM_SEEMS_GONE), operation=ReadClaim(reference.key)
        )
    return _decide_release(volume, view)


def _decide_claimed(
    volume: PersistentVolume, claim: PersistentVolumeClaim, view: ClaimsAndVolumes
) -> Decision:
    if claim.spec.volume_name == volume.name:
        return _in_phase(volume, VolumePhase.BOUND, BindingReason.BOUND)
    if not claim.spec.volume_name:
        return _decide_incomplete(volume, claim)
    is_for_this_claim_only = (
        PROVISIONED_BY in volume.annotations
        and volume.spec.persistent_volume_reclaim_policy == ReclaimPolicy.DELETE
    )
    if is_for_this_claim_only:
        return _decide_release(volume, view)
    return Decision(plan=Plan(reason=BindingReason.UNBOUND, writes=unbind_volume(volume)))


def _decide_incomplete(volume: PersistentVolume, claim: PersistentVolumeClaim) -> Decision:
    """The claim finishes this: it alone knows whether it still wants the volume."""
    if not has_other_volume_mode(claim, volume):
        return Decision(plan=Plan(reason=BindingReason.BINDING_IS_INCOMPLETE, wake=(claim.key,)))
    to_volume = (
        f'Cannot bind PersistentVolume to requested PersistentVolumeClaim "{claim.name}" '
        "due to incompatible volumeMode."
    )
    to_claim = (
        f'Cannot bind PersistentVolume "{volume.name}" to requested PersistentVolumeClaim '
        "due to incompatible volumeMode."
    )
    events = (
        warning(volume, BindingReason.VOLUME_MISMATCH, to_volume),
        warning(claim, BindingReason.VOLUME_MISMATCH, to_claim),
    )
    return Decision(plan=Plan(reason=BindingReason.VOLUME_MISMATCH, writes=events))


def _decide_release(volume: PersistentVolume, view: ClaimsAndVolumes) -> Decision:
    """A failure stays visible while reclaiming is tried again."""
    if volume.status.phase in GIVEN_UP:
        return decide_reclaim(volume, view)
    release = existing(set_volume_phase(volume, VolumePhase.RELEASED))
    status = msgspec.structs.replace(volume.status, phase=VolumePhase.RELEASED.value, message="")
    decision = decide_reclaim(msgspec.structs.replace(volume, status=status), view)
    return replace(decision, plan=replace(decision.plan, writes=release + decision.plan.writes))


def _in_phase(volume: PersistentVolume, phase: VolumePhase, reason: BindingReason) -> Decision:
    return Decision(plan=Plan(reason=reason, writes=existing(set_volume_phase(volume, phase))))


def _care_patch(volume: PersistentVolume, provisioners: Provisioners) -> Document:
    """How the metadata has to change to name the program that deletes the volume."""
    provisioner = volume.annotations.get(PROVISIONED_BY)
    if provisioner is None:
        return {}
    patch: Document = {}
    if annotations := migration_patch(volume.annotations, provisioner):
        patch["annotations"] = annotations
    return patch | finalizers_patch(volume, _finalizers(volume, provisioner, provisioners))


def _finalizers(
    volume: PersistentVolume, provisioner: str, provisioners: Provisioners
) -> list[str]:
    """A finalizer holds a volume only while some provisioner will delete it."""
    current = list(volume.metadata.finalizers)
    if find_driver(provisioner):
        return [finalizer for finalizer in current if finalizer != INTERNAL_DELETION]
    if not is_in_tree(provisioner) and provisioners.find(provisioner) is None:
        return current
    unwanted = {EXTERNAL_DELETION}
    # The API adds no finalizer to what is being deleted. For in-tree plugins the patch is sent all
    # the same, as kube-controller-manager does: no loop of ours deletes such a volume.
    is_too_late = volume.is_being_deleted and not is_in_tree(provisioner)
    match volume.spec.persistent_volume_reclaim_policy:
        case ReclaimPolicy.DELETE if INTERNAL_DELETION not in current and not is_too_late:
            current.append(INTERNAL_DELETION)
        case ReclaimPolicy.RETAIN | ReclaimPolicy.RECYCLE:
            unwanted.add(INTERNAL_DELETION)
        case _:
            pass
    return [finalizer for finalizer in current if finalizer not in unwanted]
