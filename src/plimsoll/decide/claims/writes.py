"""The single writes that bind, unbind and tell of it, each left out where nothing would change.

All are merge patches on the version that the decision saw.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from plimsoll.api.quantity import parse_quantity
from plimsoll.api.registry import Document
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    PRE_RESIZE_CAPACITY,
    YES,
)
from plimsoll.decide.claims.match import is_kept_for, size_of
from plimsoll.decide.claims.reasons import BindingReason
from plimsoll.decide.plan import Emit, EventType, Patch, Write
from plimsoll.decide.resources import CLAIMS, VOLUMES

STATUS = "status"
STORAGE = "storage"


class ClaimPhase(StrEnum):
    PENDING = "Pending"
    BOUND = "Bound"
    LOST = "Lost"


class VolumePhase(StrEnum):
    AVAILABLE = "Available"
    BOUND = "Bound"
    RELEASED = "Released"
    FAILED = "Failed"


def existing(*writes: Write | None) -> tuple[Write, ...]:
    return tuple(write for write in writes if write is not None)


def patch_of(
    target: PersistentVolume | PersistentVolumeClaim, patch: Document, subresource: str = ""
) -> Patch:
    return Patch(
        resource=VOLUMES if isinstance(target, PersistentVolume) else CLAIMS,
        key=target.key,
        patch=patch,
        version=target.metadata.resource_version,
        subresource=subresource,
    )


def annotate(
    target: PersistentVolume | PersistentVolumeClaim, annotations: Mapping[str, str | None]
) -> Patch | None:
    """None as a value removes the annotation."""
    if not annotations:
        return None
    return patch_of(target, {"metadata": {"annotations": dict(annotations)}})


def normal(
    regarding: PersistentVolume | PersistentVolumeClaim, reason: BindingReason, message: str
) -> Emit:
    return Emit(
        regarding=identity(regarding), type=EventType.NORMAL, reason=reason, message=message
    )


def warning(
    regarding: PersistentVolume | PersistentVolumeClaim, reason: BindingReason, message: str
) -> Emit:
    return Emit(
        regarding=identity(regarding), type=EventType.WARNING, reason=reason, message=message
    )


def identity(target: PersistentVolume | PersistentVolumeClaim) -> Document:
    metadata = {
        "namespace": target.namespace,
        "name": target.name,
        "uid": target.uid,
        "resourceVersion": target.metadata.resource_version,
    }
    return {
        "apiVersion": "v1",
        "kind": type(target).__name__,
        "metadata": {name: value for name, value in metadata.items() if value},
    }


def reference_to(claim: PersistentVolumeClaim) -> Document:
    """What a volume's `claimRef` says about the claim."""
    itself = identity(claim)
    reference: Document = itself.pop("metadata")
    return itself | reference


def bind_volume(volume: PersistentVolume, claim: PersistentVolumeClaim) -> Patch | None:
    """Let the volume name the claim. A volume that a user kept for it stays marked as theirs."""
    patch: Document = {}
    current = volume.spec.claim_ref
    if current is None or (current.key, current.uid) != (claim.key, claim.uid):
        # The reference is replaced as a whole: no field of the old one may shine through.
        left_over = {"fieldPath": None, "resourceVersion": None} if current else {}
        patch["spec"] = {"claimRef": left_over | reference_to(claim)}
    is_ours = not is_kept_for(volume, claim.key, claim.uid)
    if is_ours and BOUND_BY_CONTROLLER not in volume.annotations:
        patch["metadata"] = {"annotations": {BOUND_BY_CONTROLLER: YES}}
    return patch_of(volume, patch) if patch else None


def unbind_volume(volume: PersistentVolume) -> tuple[Write, ...]:
    """Take a binding back; what a user kept for a claim by name stays kept by name."""
    if BOUND_BY_CONTROLLER in volume.annotations:
        spec = patch_of(
            volume,
            {
                "metadata": {"annotations": {BOUND_BY_CONTROLLER: None}},
                "spec": {"claimRef": None},
            },
        )
    else:
        spec = patch_of(volume, {"spec": {"claimRef": {"uid": None}}})
    return existing(spec, set_volume_phase(volume, VolumePhase.AVAILABLE))


def set_volume_phase(
    volume: PersistentVolume, phase: VolumePhase, message: str = ""
) -> Patch | None:
    if volume.status.phase == phase:
        return None
    status: Document = {"phase": phase.value}
    if message or volume.status.message:
        status["message"] = message or None
    return patch_of(volume, {"status": status}, STATUS)


def bind_claim(claim: PersistentVolumeClaim, volume: PersistentVolume) -> Patch | None:
    patch: Document = {}
    annotations: dict[str, str] = {}
    if claim.spec.volume_name != volume.name:
        patch["spec"] = {"volumeName": volume.name}
        if BOUND_BY_CONTROLLER not in claim.annotations:
            annotations[BOUND_BY_CONTROLLER] = YES
    if BIND_COMPLETED not in claim.annotations:
        annotations[BIND_COMPLETED] = YES
    if annotations:
        patch["metadata"] = {"annotations": annotations}
    return patch_of(claim, patch) if patch else None


def set_claim_unbound(claim: PersistentVolumeClaim, phase: ClaimPhase) -> Patch | None:
    """The phase of a claim without a volume; nothing of a former volume is left in the status."""
    current = claim.status
    status: Document = {} if current.phase == phase else {"phase": phase.value}
    if current.access_modes:
        status["accessModes"] = None
    if current.capacity:
        status["capacity"] = None
    if current.current_volume_attributes_class_name is not None:
        status["currentVolumeAttributesClassName"] = None
    return patch_of(claim, {"status": status}, STATUS) if status else None


def set_claim_bound(claim: PersistentVolumeClaim, volume: PersistentVolume) -> Patch | None:
    """Raises ValueError if the volume does not say how large it is.

    Size and attributes class are copied only when the claim becomes bound: later they belong to
    the loops that resize and modify the volume.
    """
    current = claim.status
    status: Document = {}
    if current.phase != ClaimPhase.BOUND:
        status["phase"] = ClaimPhase.BOUND.value
        if capacity := _capacity_patch(claim, volume):
            status["capacity"] = capacity
    if current.access_modes != volume.spec.access_modes:
        status["accessModes"] = list(volume.spec.access_modes) or None
    attributes_class = volume.spec.volume_attributes_class_name
    if (
        current.phase == ClaimPhase.PENDING
        and current.current_volume_attributes_class_name != attributes_class
    ):
        status["currentVolumeAttributesClassName"] = attributes_class
    return patch_of(claim, {"status": status}, STATUS) if status else None


def _capacity_patch(claim: PersistentVolumeClaim, volume: PersistentVolume) -> dict[str, Any]:
    capacity, current = volume.spec.capacity, claim.status.capacity
    if STORAGE not in capacity:
        raise ValueError(f'PersistentVolume "{volume.name}" is without a storage capacity')
    if PRE_RESIZE_CAPACITY in volume.annotations:
        return {STORAGE: _usable_size(volume)}
    if STORAGE in current and size_of(current) == size_of(capacity):
        return {}
    return dict.fromkeys(current) | dict(capacity)


def _usable_size(volume: PersistentVolume) -> str:
    annotated = volume.annotations[PRE_RESIZE_CAPACITY]
    try:
        parse_quantity(annotated)
    except ValueError:
        return volume.spec.capacity[STORAGE]
    return annotated


def finalizers_patch(volume: PersistentVolume, finalizers: Iterable[str]) -> Document:
    """The part of a metadata patch that makes these the volume's finalizers; empty if they are."""
    wanted = tuple(finalizers)
    return {} if wanted == volume.metadata.finalizers else {"finalizers": list(wanted) or None}
