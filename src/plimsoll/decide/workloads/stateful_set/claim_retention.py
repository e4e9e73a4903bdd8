"""persistentVolumeClaimRetentionPolicy: which object owns the claims of a StatefulSet.

A claim is deleted with its owner. With `whenDeleted: Delete` the set owns the claims of the pods
that it should have. With `whenScaled: Delete` a pod that is to go owns its claims, so that they are
deleted when it is gone and not earlier. All other claims stay: data is never deleted because of an
owner that another controller has set.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto

from plimsoll.api.meta import ApiObject, OwnerReference
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.api.workloads import RetentionPolicy, StatefulSet
from plimsoll.decide.plan import Emit, Write
from plimsoll.decide.resources import CLAIMS
from plimsoll.decide.workloads.owned import (
    POD,
    STATEFUL_SET,
    Workload,
    controller_reference,
    warned,
    with_owners,
)

RETAIN, DELETE = "Retain", "Delete"


class ClaimOwner(Enum):
    NONE = auto()
    SET = auto()
    POD = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """The pod that uses a claim, made already or about to be."""

    pod: ApiObject
    is_condemned: bool


def policy_of(set_: StatefulSet) -> RetentionPolicy:
    given = set_.spec.persistent_volume_claim_retention_policy or RetentionPolicy()
    return RetentionPolicy(
        when_deleted=given.when_deleted or RETAIN, when_scaled=given.when_scaled or RETAIN
    )


def claim_owner(policy: RetentionPolicy, *, is_condemned: bool) -> ClaimOwner:
    if policy.when_scaled == DELETE and is_condemned:
        return ClaimOwner.POD
    return ClaimOwner.SET if policy.when_deleted == DELETE else ClaimOwner.NONE


def owners_of_new_claim(set_: StatefulSet) -> tuple[OwnerReference, ...]:
    if claim_owner(policy_of(set_), is_condemned=False) is ClaimOwner.SET:
        return (controller_reference(STATEFUL_SET, set_),)
    return ()


def is_stale(set_: StatefulSet, claim: PersistentVolumeClaim, pod: ApiObject) -> bool:
    """The claim is about to follow an earlier pod of this name: no new pod may use it."""
    return policy_of(set_).when_scaled == DELETE and _names_another(claim, POD, pod)


def decide_claim_owner(
    set_: StatefulSet, claim: PersistentVolumeClaim, holder: Holder
) -> tuple[Write, ...]:
    wanted = claim_owner(policy_of(set_), is_condemned=holder.is_condemned)
    if wanted is ClaimOwner.NONE and not claim.metadata.owner_references:
        return ()  # the usual case, looked at for every pod of the set
    is_taken = _has_other_controller(set_, claim, holder.pod)
    if _is_up_to_date(set_, claim, holder, is_taken=is_taken):
        return ()
    ours = {(STATEFUL_SET.kind, set_.name), (POD.kind, holder.pod.name)}
    references = [o for o in claim.metadata.owner_references if (o.kind, o.name) not in ours]
    if is_taken:
        return (_conflict(set_, claim), with_owners(CLAIMS, claim, references))
    match wanted:
        case ClaimOwner.SET:
            references.append(controller_reference(STATEFUL_SET, set_))
        case ClaimOwner.POD:
            references.append(controller_reference(POD, holder.pod))
        case ClaimOwner.NONE:
            pass
    return (with_owners(CLAIMS, claim, references),)


def conflict_warnings(
    set_: StatefulSet, claims: Iterable[PersistentVolumeClaim], holder: Holder
) -> list[Emit]:
    """For claims that the policy cannot be applied to: another controller owns them."""
    taken = (claim for claim in claims if _has_other_controller(set_, claim, holder.pod))
    return [_conflict(set_, claim) for claim in taken]


def _conflict(set_: StatefulSet, claim: PersistentVolumeClaim) -> Emit:
    message = (
        f"PersistentVolumeClaim {claim.name} has a conflicting OwnerReference that acts as a "
        "managing controller, the retention policy is ignored for this claim"
    )
    return warned(STATEFUL_SET, set_, "ConflictingController", message)


def _is_up_to_date(
    set_: StatefulSet, claim: PersistentVolumeClaim, holder: Holder, *, is_taken: bool
) -> bool:
    if _names_another(claim, STATEFUL_SET, set_) or _names_another(claim, POD, holder.pod):
        # What an earlier set or pod of this name owned is left to the garbage collector.
        return True
    has_set, has_pod = _is_owned_by(claim, set_), _is_owned_by(claim, holder.pod)
    if is_taken:
        return not has_set and not has_pod
    if any(not owner.controller for owner in _ours(claim, set_, holder.pod)):
        return False
    wanted = claim_owner(policy_of(set_), is_condemned=holder.is_condemned)
    return has_set == (wanted is ClaimOwner.SET) and has_pod == (wanted is ClaimOwner.POD)


def _has_other_controller(set_: StatefulSet, claim: PersistentVolumeClaim, pod: ApiObject) -> bool:
    policy = policy_of(set_)
    if policy.when_scaled == RETAIN and policy.when_deleted == RETAIN:
        return False
    if _names_another(claim, STATEFUL_SET, set_) or _names_another(claim, POD, pod):
        return True
    controller = claim.metadata.controller
    return controller is not None and controller.uid not in (set_.uid, pod.uid)


def _names_another(claim: PersistentVolumeClaim, workload: Workload, owner: ApiObject) -> bool:
    """A reference to one of this name that is not this one: it was deleted since."""
    return any(
        workload.owns(reference) and reference.name == owner.name and reference.uid != owner.uid
        for reference in claim.metadata.owner_references
    )


def _is_owned_by(claim: PersistentVolumeClaim, owner: ApiObject) -> bool:
    return any(reference.uid == owner.uid for reference in claim.metadata.owner_references)


def _ours(
    claim: PersistentVolumeClaim, set_: StatefulSet, pod: ApiObject
) -> tuple[OwnerReference, ...]:
    ours = (set_.uid, pod.uid)
    return tuple(o for o in claim.metadata.owner_references if o.uid in ours)
