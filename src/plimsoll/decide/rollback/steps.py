"""What is done next for one rollback, by its record and by what the server says at this moment.

The order, each step safe to repeat and safe to be the last for a while:

1. the record is stored;
2. the volume gets policy Retain, our finalizer, and the name of the rollback; its claim is marked,
   so that schedulers and nodes take no pod with it any more;
3. the pod is deleted, if its owner creates another one;
4. nothing else names the volume or its claim;
5. the claim is deleted; 6. then the volume object, which our finalizer holds: no claim can be bound
   to it any more;
7. no pod has had a node that reaches the volume since it was made;
8. the driver deletes the volume, our finalizer goes, and the claim is created again.

A doubt before 6 puts everything back. A doubt after it keeps the volume, with policy Retain.
"""

from dataclasses import dataclass
from typing import assert_never

from plimsoll.api.pods import Pod
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import RETAINED_BY, ROLLBACK, ROLLING_BACK
from plimsoll.decide.claims.reclaim import ReclaimPolicy
from plimsoll.decide.claims.writes import VolumePhase, existing, patch_of
from plimsoll.decide.plan import Create, Delete, Patch, Plan, Write
from plimsoll.decide.resources import CLAIMS, PODS, VOLUMES
from plimsoll.decide.rollback.objections import RollbackView, find_mismatch, find_uses
from plimsoll.decide.rollback.records import RollbackRecord, RollbackState, UnusedProof
from plimsoll.decide.rollback.telling import (
    RollbackReason,
    created_claim,
    tell_kept,
    tell_put_back,
    tell_waiting,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeWrites:
    """Enact the plan, then look again."""

    plan: Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class EnterState:
    """Store the state, then look again; the plan, which only tells, comes after it."""

    state: RollbackState
    plan: Plan | None = None
    was_used: bool = False


@dataclass(frozen=True, slots=True)
class CheckProof:
    """Step 7: have it proven that no pod has used the volume, then `after_proof`."""


@dataclass(frozen=True, slots=True)
class DeleteAsset:
    """Step 8: ask the driver, then `after_deletion`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitForClaim:
    """The claim is on its way out, and a pod may hold it; or it is there again, and not bound."""

    plan: Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """Enact the plan; then the record goes."""

    plan: Plan
    is_put_back: bool = False


@dataclass(frozen=True, slots=True)
class LeaveAlone:
    """An administrator has to look at the volume. Nothing is done until it is gone."""


RollbackStep = MakeWrites | EnterState | CheckProof | DeleteAsset | WaitForClaim | End | LeaveAlone


def next_step(record: RollbackRecord, view: RollbackView) -> RollbackStep:
    match record.state:
        case RollbackState.RETAINING:
            return _while_retaining(record, view)
        case RollbackState.RELEASING:
            return _while_releasing(record, view)
        case RollbackState.DELETING:
            return _while_deleting(record, view)
        case RollbackState.KEPT:
            return _while_kept(record, view)
        case _:
            assert_never(record.state)


def _while_retaining(record: RollbackRecord, view: RollbackView) -> RollbackStep:
    volume, claim = _volume(record, view), _claim(record, view)
    if volume is None or claim is None:
        return _put_back(record, view, "the volume or its claim is gone")
    if not is_retained_by(record, volume):
        if volume.metadata.resource_version != record.volume_version:
            return _put_back(record, view, "the volume was changed meanwhile")
        return MakeWrites(plan=Plan(reason=RollbackReason.BEGUN, writes=(_retain(record, volume),)))
    if doubt := _doubt(volume, claim, view):
        return _put_back(record, view, doubt)
    if ROLLING_BACK not in claim.annotations:
        return MakeWrites(plan=Plan(reason=RollbackReason.BEGUN, writes=(_mark(record, claim),)))
    return EnterState(state=RollbackState.RELEASING)


def _while_releasing(record: RollbackRecord, view: RollbackView) -> RollbackStep:
    volume, claim = _volume(record, view), _claim(record, view)
    if volume is None and claim is None:
        # Another hand has taken our finalizer off.
        return End(plan=Plan(reason=RollbackReason.DONE, writes=created_claim(record, view)))
    if volume is None or not is_retained_by(record, volume):
        return _put_back(record, view, "the volume was changed meanwhile")
    if claim is None:
        return _without_claim(record, volume, view)
    if claim.is_being_deleted:
        holders = [pod.name for pod in view.pods if _holds(pod, claim)]
        told = tell_waiting(record, claim, holders)
        plan = Plan(reason=RollbackReason.WAITS, writes=existing(told))
        return WaitForClaim(plan=plan)
    if doubt := _doubt(volume, claim, view):
        return _put_back(record, view, doubt)
    pod = _pod(record, view)
    if pod is not None and record.deletes_pod and not pod.is_being_deleted:
        return MakeWrites(plan=Plan(reason=RollbackReason.BEGUN, writes=(_delete_pod(pod),)))
    return MakeWrites(plan=Plan(reason=RollbackReason.BEGUN, writes=(_delete_claim(claim),)))


def _without_claim(
    record: RollbackRecord, volume: PersistentVolume, view: RollbackView
) -> RollbackStep:
    """The claim is gone: no new pod gets at the volume. One that has it already shows here."""
    if volume.is_being_deleted:
        return CheckProof()
    uses = [*find_uses(volume, view)]
    if view.claim is not None and view.claim.spec.volume_name == volume.name:
        why = str(uses[0]) if uses else "another claim asks for it"
        return _bind_again(record, volume, view, why)
    if uses and view.claim is None:
        return _bind_again(record, volume, view, str(uses[0]))
    return MakeWrites(plan=Plan(reason=RollbackReason.BEGUN, writes=(_delete_volume(volume),)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """Why it is not certain that no pod has used a volume."""

    why: str
    """Goes on with what is said of the volume."""
    is_use: bool = False
    """A pod was seen that could use it. Otherwise only the proof is missing."""


def after_proof(record: RollbackRecord, view: RollbackView, doubt: Doubt | None) -> RollbackStep:
    """None: it is proven that no pod has used the volume."""
    volume = _volume(record, view)
    if record.proof is UnusedProof.DRIVER:
        # It knows better than any list, and is asked under the lock that publishing takes.
        return EnterState(state=RollbackState.DELETING)
    uses = [] if volume is None else [*find_uses(volume, view)]
    if uses:
        return keep(record, str(uses[0]), was_used=True)
    if doubt is not None:
        return keep(record, doubt.why, was_used=doubt.is_use)
    return EnterState(state=RollbackState.DELETING)


def keep(record: RollbackRecord, why: str, *, was_used: bool) -> EnterState:
    """The volume stays, also against the will of the record."""
    plan = Plan(reason=RollbackReason.KEPT, writes=tell_kept(record, why, was_used=was_used))
    return EnterState(state=RollbackState.KEPT, plan=plan, was_used=was_used)


def _while_deleting(record: RollbackRecord, view: RollbackView) -> RollbackStep:
    volume = _volume(record, view)
    if volume is None or ROLLBACK not in volume.metadata.finalizers:
        # What others hold it by is theirs to take off: the data is gone.
        return End(plan=Plan(reason=RollbackReason.DONE, writes=created_claim(record, view)))
    if not (volume.is_being_deleted and is_retained_by(record, volume) and _is_of(record, volume)):
        # A record by itself never authorises a deletion.
        return keep(record, "the volume was changed meanwhile", was_used=False)
    return DeleteAsset()


def after_deletion(volume: PersistentVolume) -> MakeWrites:
    """The driver has deleted the volume; `volume` is what the server has of it now."""
    return MakeWrites(plan=Plan(reason=RollbackReason.DONE, writes=(_release(volume),)))


def _while_kept(record: RollbackRecord, view: RollbackView) -> RollbackStep:
    """While it was used, the record has the only copy of what the claim was."""
    if not record.was_used:
        return End(plan=Plan(reason=RollbackReason.KEPT, writes=created_claim(record, view)))
    is_gone = _volume(record, view) is None
    return End(plan=Plan(reason=RollbackReason.KEPT)) if is_gone else LeaveAlone()


# What there is


def is_retained_by(record: RollbackRecord, volume: PersistentVolume) -> bool:
    """Whether the volume is as this rollback made it, and not as another writer did."""
    return (
        volume.annotations.get(RETAINED_BY) == record.name
        and volume.spec.persistent_volume_reclaim_policy == ReclaimPolicy.RETAIN
        and ROLLBACK in volume.metadata.finalizers
    )


def _is_of(record: RollbackRecord, volume: PersistentVolume) -> bool:
    source = volume.spec.csi
    return source is not None and (source.driver, source.volume_handle) == (
        record.driver,
        record.volume_id,
    )


def _volume(record: RollbackRecord, view: RollbackView) -> PersistentVolume | None:
    is_it = view.volume is not None and view.volume.uid == record.volume_uid
    return view.volume if is_it else None


def _claim(record: RollbackRecord, view: RollbackView) -> PersistentVolumeClaim | None:
    is_it = view.claim is not None and view.claim.uid == record.claim_uid
    return view.claim if is_it else None


def _pod(record: RollbackRecord, view: RollbackView) -> Pod | None:
    return next((pod for pod in view.pods if pod.uid == record.pod_uid), None)


def _holds(pod: Pod, claim: PersistentVolumeClaim) -> bool:
    return bool(pod.spec.node_name) and claim.key in pod.claims


def _doubt(volume: PersistentVolume, claim: PersistentVolumeClaim, view: RollbackView) -> str:
    doubt = find_mismatch(volume, claim) or next(find_uses(volume, view), None)
    return str(doubt) if doubt else ""


# What is written


def _retain(record: RollbackRecord, volume: PersistentVolume) -> Patch:
    return _patch_volume(
        volume,
        policy=ReclaimPolicy.RETAIN,
        retained_by=record.name,
        finalizers=[*volume.metadata.finalizers, ROLLBACK],
    )


def _patch_volume(
    volume: PersistentVolume,
    *,
    policy: ReclaimPolicy,
    retained_by: str | None,
    finalizers: list[str],
) -> Patch:
    return Patch(
        resource=VOLUMES,
        key=volume.key,
        patch={
            "metadata": {
                "annotations": {RETAINED_BY: retained_by},
                "finalizers": finalizers or None,
            },
            "spec": {"persistentVolumeReclaimPolicy": policy.value},
        },
        version=volume.metadata.resource_version,
        uid=volume.uid,
    )


def _mark(record: RollbackRecord, claim: PersistentVolumeClaim) -> Patch:
    return patch_of(claim, {"metadata": {"annotations": {ROLLING_BACK: record.name}}})


def _delete_pod(pod: Pod) -> Delete:
    return Delete(resource=PODS, key=pod.key, uid=pod.uid, version=pod.metadata.resource_version)


def _delete_claim(claim: PersistentVolumeClaim) -> Delete:
    return Delete(
        resource=CLAIMS, key=claim.key, uid=claim.uid, version=claim.metadata.resource_version
    )


def _delete_volume(volume: PersistentVolume) -> Delete:
    return Delete(
        resource=VOLUMES, key=volume.key, uid=volume.uid, version=volume.metadata.resource_version
    )


def _release(volume: PersistentVolume) -> Patch:
    left = [name for name in volume.metadata.finalizers if name != ROLLBACK]
    return Patch(
        resource=VOLUMES,
        key=volume.key,
        patch={"metadata": {"finalizers": left or None}},
        version=volume.metadata.resource_version,
        uid=volume.uid,
    )


def _put_back(record: RollbackRecord, view: RollbackView, why: str) -> End:
    """Only what this rollback has changed itself, and no other writer after it."""
    volume, claim = _volume(record, view), _claim(record, view)
    writes: list[Write | None] = []
    if volume is not None and is_retained_by(record, volume):
        writes.append(_restore(volume))
    elif volume is not None and ROLLBACK in volume.metadata.finalizers:
        # Another writer has changed the volume since: only what would hold it for ever is ours.
        writes.append(_release(volume))
    if claim is not None and claim.annotations.get(ROLLING_BACK) == record.name:
        writes.append(patch_of(claim, {"metadata": {"annotations": {ROLLING_BACK: None}}}))
    writes.append(tell_put_back(record, why))
    return End(
        plan=Plan(reason=RollbackReason.PUT_BACK, writes=existing(*writes)), is_put_back=True
    )


def _restore(volume: PersistentVolume) -> Patch:
    left = [name for name in volume.metadata.finalizers if name != ROLLBACK]
    return _patch_volume(volume, policy=ReclaimPolicy.DELETE, retained_by=None, finalizers=left)


def _bind_again(
    record: RollbackRecord, volume: PersistentVolume, view: RollbackView, why: str
) -> RollbackStep:
    """The claim is gone, the volume is not, and it may have been used: they are brought together.

    The claim asks for the volume by name. Only then is the volume kept for the claim by name, and
    only when it is bound again does it get its policy back: its provisioner would take a volume
    that is released, and is to be deleted, for one that no claim needs.
    """
    claim = view.claim
    if claim is None:
        spec = {**record.claim["spec"], "volumeName": volume.name}
        created = Create(resource=CLAIMS, document={**record.claim, "spec": spec})
        return MakeWrites(plan=Plan(reason=RollbackReason.PUT_BACK, writes=(created,)))
    if volume.spec.claim_uid not in ("", claim.uid):
        patch = {"spec": {"claimRef": {"uid": None, "resourceVersion": None}}}
        kept = patch_of(volume, patch)
        return MakeWrites(plan=Plan(reason=RollbackReason.PUT_BACK, writes=(kept,)))
    if volume.status.phase != VolumePhase.BOUND or volume.spec.claim_uid != claim.uid:
        return WaitForClaim(plan=Plan(reason=RollbackReason.PUT_BACK))
    writes = (_restore(volume), tell_put_back(record, why))
    return End(plan=Plan(reason=RollbackReason.PUT_BACK, writes=writes), is_put_back=True)
