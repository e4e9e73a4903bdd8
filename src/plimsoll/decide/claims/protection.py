"""Finalizers that keep claims in use and bound volumes from vanishing under their users.

A claim that is being deleted keeps its finalizer for as long as a pod on a node names it, finished
or not: the node may still have it mounted, and its agent starts no pod whose claim is on its way
out. A pod without a node is no obstacle for the same reason. A volume keeps its finalizer while it
is bound.
"""

from collections.abc import Iterable
from enum import StrEnum

from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import Pod
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import CLAIM_PROTECTION, VOLUME_PROTECTION
from plimsoll.decide.plan import NOTHING, Patch, Plan, ResourceName
from plimsoll.decide.resources import CLAIMS, VOLUMES

BOUND = "Bound"


class ProtectionReason(StrEnum):
    PROTECTED = "Protected"
    """The finalizer was missing and is added."""
    IN_USE = "InUse"
    """The object is being deleted, and has to wait for its users."""
    RELEASED = "NoLongerInUse"
    """The object is being deleted and is not in use: the finalizer goes."""


def decide_claim_protection(claim: PersistentVolumeClaim, pods: Iterable[Pod]) -> Plan:
    """`pods` are those that may use it, at least all that do.

    A plan that releases the claim must rest on pods that the server listed after the claim was
    marked for deletion: no pod is put on a node with such a claim from then on, but one may have
    been before without a watch having told.
    """
    if not claim.is_being_deleted:
        return _protect(claim, CLAIMS, CLAIM_PROTECTION)
    if CLAIM_PROTECTION not in claim.metadata.finalizers:
        return NOTHING
    if any(holds(pod, claim) for pod in pods):
        return Plan(reason=ProtectionReason.IN_USE)
    return _release(claim, CLAIMS, CLAIM_PROTECTION)


def holds(pod: Pod, claim: PersistentVolumeClaim) -> bool:
    """Whether the pod keeps a claim from being deleted."""
    if not pod.spec.node_name or pod.namespace != claim.namespace:
        return False
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim:
            if volume.persistent_volume_claim.claim_name == claim.name:
                return True
        elif pod.claim_of(volume) == claim.key and is_for_pod(claim, pod) and not is_shut_down(pod):
            return True
    return False


def is_for_pod(claim: PersistentVolumeClaim, pod: Pod) -> bool:
    """Whether the claim was made for an ephemeral volume of this very pod."""
    owner = claim.metadata.controller
    return owner is not None and owner.uid == pod.uid and claim.namespace == pod.namespace


def is_shut_down(pod: Pod) -> bool:
    """Its node is done with it, or it was deleted by force; only finalizers may still hold it.

    Those may in turn wait for the pod's own claims, which therefore must not wait for the pod.
    """
    return pod.is_being_deleted and pod.metadata.deletion_grace_period_seconds == 0


def decide_volume_protection(volume: PersistentVolume) -> Plan:
    if not volume.is_being_deleted:
        return _protect(volume, VOLUMES, VOLUME_PROTECTION)
    if VOLUME_PROTECTION not in volume.metadata.finalizers:
        return NOTHING
    if volume.status.phase == BOUND:
        return Plan(reason=ProtectionReason.IN_USE)
    return _release(volume, VOLUMES, VOLUME_PROTECTION)


def _protect(object_: ApiObject, resource: ResourceName, finalizer: str) -> Plan:
    finalizers = object_.metadata.finalizers
    if finalizer in finalizers:
        return NOTHING
    writes = (_with_finalizers(object_, resource, (*finalizers, finalizer)),)
    return Plan(reason=ProtectionReason.PROTECTED, writes=writes)


def _release(object_: ApiObject, resource: ResourceName, finalizer: str) -> Plan:
    others = tuple(name for name in object_.metadata.finalizers if name != finalizer)
    return Plan(
        reason=ProtectionReason.RELEASED, writes=(_with_finalizers(object_, resource, others),)
    )


def _with_finalizers(
    object_: ApiObject, resource: ResourceName, finalizers: tuple[str, ...]
) -> Patch:
    """A merge patch replaces the whole list, so it must meet the list that was seen."""
    return Patch(
        resource=resource,
        key=object_.key,
        patch={"metadata": {"finalizers": list(finalizers)}},
        version=object_.metadata.resource_version,
        uid=object_.uid,
    )
