"""Claims on which an earlier version of the controller left a finalizer while it provisioned.

Today an intent is stored instead (`intents`), which the owner of a claim cannot take off. A claim
that still has the finalizer may have an asset that no volume tells of: it keeps the finalizer until
its volume is stored, the provisioner has refused, or the asset is deleted again.
"""

from dataclasses import dataclass
from enum import StrEnum

from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import BETA_STORAGE_PROVISIONER, STORAGE_PROVISIONER
from plimsoll.decide.claims.reasons import BindingReason
from plimsoll.decide.claims.view import ClaimsAndVolumes
from plimsoll.decide.claims.writes import warning
from plimsoll.decide.finalizers import remove_finalizer
from plimsoll.decide.plan import Plan
from plimsoll.decide.provisioning.in_process.provision import volume_name_for
from plimsoll.decide.resources import CLAIMS

GUARD = "plimsoll.dev/provisioning"
"""Finalizer of claims for which an asset may exist that is not recorded yet."""


class UnrecordedAssetReason(StrEnum):
    RECORDED = "ProvisioningRecorded"
    """The volume is stored: from here on it is the volume that must not be forgotten."""
    UNDONE = "ProvisioningUndone"
    """Nothing was created, or it was deleted again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteUnrecorded:
    """Delete the asset that may exist under this name."""

    claim: PersistentVolumeClaim
    provisioner: str
    volume_name: str


def is_guarded(claim: PersistentVolumeClaim) -> bool:
    return GUARD in claim.metadata.finalizers


def lift_guard(claim: PersistentVolumeClaim, reason: UnrecordedAssetReason) -> Plan:
    if not is_guarded(claim):
        return Plan(reason=reason)
    return Plan(reason=reason, writes=(remove_finalizer(CLAIMS, claim, GUARD),))


def decide_guard(
    claim: PersistentVolumeClaim, view: ClaimsAndVolumes
) -> Plan | DeleteUnrecorded | None:
    """None: nothing was begun, or it is still wanted."""
    if not is_guarded(claim):
        return None
    name = volume_name_for(claim)
    if view.volume(name) is not None:
        return lift_guard(claim, UnrecordedAssetReason.RECORDED)
    if not (claim.is_being_deleted or claim.spec.volume_name):
        return None
    annotations = claim.annotations
    provisioner = annotations.get(STORAGE_PROVISIONER) or annotations.get(BETA_STORAGE_PROVISIONER)
    return DeleteUnrecorded(claim=claim, provisioner=provisioner or "", volume_name=name)


def after_failed_deletion(operation: DeleteUnrecorded, error: str) -> Plan:
    message = (
        f"Error cleaning up what may have been provisioned for claim {operation.claim.key} as "
        f"{operation.volume_name} by '{operation.provisioner}': {error}. It is tried again; once "
        f"you have cleaned up yourself, remove the finalizer {GUARD}."
    )
    event = warning(operation.claim, BindingReason.PROVISIONING_CLEANUP_FAILED, message)
    return Plan(reason=BindingReason.PROVISIONING_CLEANUP_FAILED, writes=(event,))
