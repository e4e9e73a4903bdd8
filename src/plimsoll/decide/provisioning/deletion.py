"""Deleting what is behind a volume, once no claim needs it.

The provisioner that the volume's annotation names deletes it, or if there is none, its driver's
provisioner: only if the reclaim policy says so, the volume is released and it is attached nowhere.
The asset goes first, then the volume in the API, then the finalizer. After an interruption the
provisioner begins again at the front.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from plimsoll.api.volumes import CsiSource, PersistentVolume, SecretReference
from plimsoll.decide.annotations import EXTERNAL_DELETION, MIGRATED_TO, PROVISIONED_BY
from plimsoll.decide.claims.reasons import BindingReason
from plimsoll.decide.claims.writes import VolumePhase, patch_of, warning
from plimsoll.decide.plan import NOTHING, Delete, Patch, Plan
from plimsoll.decide.provisioning.calls import (
    CallFailed,
    Deleted,
    DeleteOutcome,
    DeleteVolumeCall,
)
from plimsoll.decide.provisioning.failures import Problem, ProvisioningFailure, RefusalError, refuse
from plimsoll.decide.provisioning.preparation import check_capabilities
from plimsoll.decide.provisioning.request.secrets import PROVISIONER, Names, find_secret
from plimsoll.decide.provisioning.settings import ProvisionerSettings
from plimsoll.decide.provisioning.topology.node_affinity import is_reachable, reach_complaint
from plimsoll.decide.provisioning.view import ProvisioningContext
from plimsoll.decide.provisioning.volume import DELETION_SECRET_NAME, DELETION_SECRET_NAMESPACE
from plimsoll.decide.resources import VOLUMES

DELETE, RETAIN, RECYCLE = "Delete", "Retain", "Recycle"


class KeepReason(StrEnum):
    OTHER_PROVISIONER = "OtherProvisioner"
    """Another provisioner created the volume and deletes it."""
    OTHER_NODE = "OtherNode"
    """Our node does not reach it: the provisioner of another node deletes it."""
    NOT_RELEASED = "NotReleased"
    """Its claim still has it, or it never had one."""
    POLICY = "PolicyKeepsIt"
    """Its reclaim policy is not Delete."""
    DELETED_ALREADY = "DeletedAlready"
    """Our finalizer is off: the rest is for other programs to do."""
    MARKED = "FinalizerSetOrTakenOff"
    """Our finalizer was put on, or taken off because the policy keeps the volume."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    reason: KeepReason
    plan: Plan = NOTHING
    """Puts our finalizer on, or takes it off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveVolume:
    """Ask the driver, then `after_delete`."""

    volume: PersistentVolume
    call: DeleteVolumeCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Enact the plan, which tells what is wrong, and decide again after a backoff."""

    failure: ProvisioningFailure
    plan: Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """Enact the plan, which deletes the volume, then `release_volume` on what is left of it."""

    plan: Plan


def decide_volume(
    volume: PersistentVolume, context: ProvisioningContext
) -> Keep | RemoveVolume | Retry:
    if not _is_ours(volume, context.settings):
        return Keep(reason=KeepReason.OTHER_PROVISIONER)
    if reason := _find_reason_to_keep(volume):
        mark = _mark(volume)
        plan = Plan(reason=KeepReason.MARKED, writes=(mark,)) if mark else NOTHING
        return Keep(reason=reason, plan=plan)
    try:
        call = _delete_call(volume, context)
    except RefusalError as refusal:
        return _failed(volume, refusal.failure)
    if call is None:
        return Keep(reason=KeepReason.OTHER_NODE)
    return RemoveVolume(volume=volume, call=call)


def _is_ours(volume: PersistentVolume, settings: ProvisionerSettings) -> bool:
    csi, annotations = volume.spec.csi, volume.annotations
    if PROVISIONED_BY in annotations:
        makers = {annotations[PROVISIONED_BY], annotations.get(MIGRATED_TO)}
    elif csi is not None:
        makers = {csi.driver}
    else:
        makers = {annotations.get(MIGRATED_TO)}
    return settings.driver in makers


def _mark(volume: PersistentVolume) -> Patch | None:
    """A bound volume gets our finalizer if it will be ours to delete; a kept one loses it."""
    finalizers, policy = volume.metadata.finalizers, volume.spec.persistent_volume_reclaim_policy
    is_marked = EXTERNAL_DELETION in finalizers
    if policy in (RETAIN, RECYCLE) and is_marked:
        return _unmarked(volume)
    is_bound = volume.status.phase == VolumePhase.BOUND and not volume.is_being_deleted
    if policy == DELETE and is_bound and not is_marked:
        return patch_of(volume, {"metadata": {"finalizers": [*finalizers, EXTERNAL_DELETION]}})
    return None


def _unmarked(volume: PersistentVolume) -> Patch:
    left = [name for name in volume.metadata.finalizers if name != EXTERNAL_DELETION]
    return patch_of(volume, {"metadata": {"finalizers": left or None}})


def _find_reason_to_keep(volume: PersistentVolume) -> KeepReason | None:
    if volume.is_being_deleted and EXTERNAL_DELETION not in volume.metadata.finalizers:
        return KeepReason.DELETED_ALREADY
    if volume.status.phase != VolumePhase.RELEASED:
        return KeepReason.NOT_RELEASED
    if volume.spec.persistent_volume_reclaim_policy != DELETE:
        return KeepReason.POLICY
    return None


def _delete_call(volume: PersistentVolume, context: ProvisioningContext) -> DeleteVolumeCall | None:
    """None: a provisioner on another node does it. Raises RefusalError."""
    settings, csi = context.settings, volume.spec.csi
    if csi is None:
        refuse(Problem.NOT_CSI, "invalid CSI PV")
    if settings.node is not None:
        required, segment = volume.spec.required_nodes, settings.node.segment
        if complaint := reach_complaint(required, segment):
            refuse(Problem.AFFINITY, f"checking volume affinity failed: {complaint}")
        if not is_reachable(required, segment):
            return None
    check_capabilities(settings)
    return _checked_call(volume, csi, context)


def _checked_call(
    volume: PersistentVolume, csi: CsiSource, context: ProvisioningContext
) -> DeleteVolumeCall:
    secret = _find_deletion_secret(volume, context)
    if context.settings.sees_attachments:
        nodes = sorted(
            attachment.spec.node_name for attachment in context.view.attachments_of(volume.name)
        )
        if nodes:
            refuse(
                Problem.STILL_ATTACHED,
                f"persistentvolume {volume.name} is still attached to node {nodes[0]}",
            )
    return DeleteVolumeCall(volume_id=csi.volume_handle, secret=secret)


def _find_deletion_secret(
    volume: PersistentVolume, context: ProvisioningContext
) -> SecretReference | None:
    """From the volume; an older volume does not name it, then from what its class says today."""
    name = volume.annotations.get(DELETION_SECRET_NAME)
    namespace = volume.annotations.get(DELETION_SECRET_NAMESPACE)
    if name is not None and namespace is not None:
        is_named = bool(name and namespace)
        return SecretReference(name=name, namespace=namespace) if is_named else None
    class_ = context.view.storage_class(volume.storage_class) if volume.storage_class else None
    reference = volume.spec.claim_ref
    if class_ is None or reference is None:
        return None
    names = Names(
        volume=volume.name,
        claim=reference.name,
        namespace=reference.namespace,
        annotations={},
    )
    return find_secret(PROVISIONER, class_.parameters, names)


def after_delete(volume: PersistentVolume, outcome: DeleteOutcome) -> Removed | Retry:
    match outcome:
        case Deleted():
            deletion = Delete(resource=VOLUMES, key=volume.key, uid=volume.uid)
            return Removed(plan=Plan(reason=BindingReason.DELETED, writes=(deletion,)))
        case CallFailed():
            failure = ProvisioningFailure(problem=Problem.DRIVER_REFUSED, message=str(outcome))
            return _failed(volume, failure)
        case _:
            assert_never(outcome)


def release_volume(volume: PersistentVolume | None) -> Plan:
    """`volume` is what the API still has of it after its deletion; None if it is gone."""
    if volume is None or EXTERNAL_DELETION not in volume.metadata.finalizers:
        return NOTHING
    return Plan(reason=BindingReason.DELETED, writes=(_unmarked(volume),))


def _failed(volume: PersistentVolume, failure: ProvisioningFailure) -> Retry:
    event = warning(volume, BindingReason.VOLUME_FAILED_DELETE, failure.message)
    return Retry(
        failure=failure, plan=Plan(reason=BindingReason.VOLUME_FAILED_DELETE, writes=(event,))
    )
