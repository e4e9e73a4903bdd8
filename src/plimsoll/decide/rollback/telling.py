"""Events about a rollback, and the annotations of the claim that is created again."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import msgspec

from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import CLAIM_PROTECTION, ROLLED_BACK
from plimsoll.decide.claims.writes import identity
from plimsoll.decide.plan import Create, Emit, EventType, Plan, Write
from plimsoll.decide.resources import CLAIMS
from plimsoll.decide.rollback.objections import RollbackView
from plimsoll.decide.rollback.records import RollbackRecord, UnusedProof
from plimsoll.decide.rollback.relocation import Relocation


class RollbackReason(StrEnum):
    """The reasons of events."""

    REHEARSED = "RollbackRehearsed"
    """A dry run: nothing was changed."""
    BEGUN = "RollbackBegun"
    """A pod cannot run where its unused volumes are: they are taken back."""
    WAITS = "RollbackWaits"
    """A pod was put on a node meanwhile, or a finalizer holds the claim, which goes after that."""
    PUT_BACK = "RollbackPutBack"
    """Something speaks against it after all: everything is as it was before."""
    KEPT = "RollbackKeptVolume"
    """It is not certain that no pod has used the volume: its data stays."""
    DONE = "RolledBack"
    """The unused volume is gone, and the claim waits for another one."""


class Audit(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a claim that was created again says of the volume before."""

    volume: str
    times: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    begun_at: str
    why: str
    proof: UnusedProof


def audit_of(annotation: str) -> Audit | None:
    """None: there is none, or a tenant has written something else there."""
    try:
        return msgspec.json.decode(annotation, type=Audit)
    except (msgspec.DecodeError, RecursionError):
        return None


def proof_sentence(record: RollbackRecord) -> str:
    match record.proof:
        case UnusedProof.DRIVER:
            return "its driver has never published it, and would refuse to delete it otherwise"
        case UnusedProof.WATCHED:
            return f"no pod has had a node that reaches it since it was made (watch {record.watch})"


def tell_plan(relocation: Relocation, records: Sequence[RollbackRecord]) -> Plan:
    """A dry run: what would be done, in order, and why each proof holds."""
    pod, first = relocation.pod, records[0]
    steps = [f"volume {record.volume_name} is retained" for record in records]
    if first.deletes_pod:
        steps.append(f"pod {pod.name} is deleted, which its owner replaces")
    for record in records:
        steps += [
            f"claim {record.claim_key.name} is deleted",
            f"volume {record.volume_name} is deleted ({proof_sentence(record)})",
            f"claim {record.claim_key.name} is created again"
            + ("" if record.recreates_claim else " by its controller"),
        ]
    message = (
        f"This pod cannot run: {relocation.why} It could on node {relocation.node} without "
        f"volumes that no pod has used. This is a dry run; otherwise {', then '.join(steps)}."
    )
    told: list[Write] = [_about_pod(pod, RollbackReason.REHEARSED, message)]
    for record in records:
        about = (
            f"Volume {record.volume_name} keeps pod {pod.name} from node {relocation.node} and is "
            f"unused: {proof_sentence(record)}. This is a dry run; otherwise it is taken back."
        )
        told.append(_about_claim(record, RollbackReason.REHEARSED, about))
    return Plan(reason=RollbackReason.REHEARSED, writes=tuple(told))


def tell_begun(record: RollbackRecord) -> Emit:
    message = (
        f"Pod {record.pod_key.name} cannot run: {record.why} It can on node {record.node} without "
        f"volume {record.volume_name}, which is unused: {proof_sentence(record)}. "
        "So the volume is taken back and the claim made anew."
    )
    return _about_claim(record, RollbackReason.BEGUN, message)


def tell_put_back(record: RollbackRecord, why: str) -> Emit:
    message = f"Volume {record.volume_name} is not taken back: {why}. It is as it was before."
    return _about_claim(record, RollbackReason.PUT_BACK, message)


def tell_waiting(
    record: RollbackRecord, claim: PersistentVolumeClaim, pods: list[str]
) -> Emit | None:
    """None: it will go by itself."""
    others = [each for each in claim.metadata.finalizers if each != CLAIM_PROTECTION]
    message = f"Volume {record.volume_name} was about to be taken back"
    if pods:
        message += (
            f" when pod {', '.join(pods)} got a node. The claim is deleted when the pod is; delete "
            "the pod to go on."
        )
    elif others:
        message += (
            f". The claim is deleted when its finalizers are off; {', '.join(others)} has to be "
            "taken off by the program that put it on."
        )
    else:
        return None
    return Emit(
        regarding=identity(claim),
        type=EventType.WARNING,
        reason=RollbackReason.WAITS,
        message=message,
    )


def tell_kept(record: RollbackRecord, why: str, *, was_used: bool) -> tuple[Write, ...]:
    """On both, the claim, which users look at, and the volume, which administrators do."""
    told = (
        f"Volume {record.volume_name} ({record.volume_id} at driver {record.driver}) was to be "
        f"taken back and is kept: {why}. Its data stays until an administrator decides"
    )
    rest = "; the claim is not made anew, since another volume would be empty" if was_used else ""
    volume: Document = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": record.volume_name, "uid": record.volume_uid},
    }
    return (
        _about_claim(record, RollbackReason.KEPT, f"{told}{rest}."),
        _emit(volume, RollbackReason.KEPT, f"{told}{rest}."),
    )


def tell_done(record: RollbackRecord, created: Document | None) -> Emit:
    """`created`: the claim as the server has made it anew; None: that is left to a controller."""
    message = (
        f"Volume {record.volume_name}, which no pod has used, was taken back: pod "
        f"{record.pod_key.name} could not run where it was."
    )
    if created is None:
        return _about_claim(record, RollbackReason.DONE, message, type_=EventType.NORMAL)
    return _emit(created, RollbackReason.DONE, message, EventType.NORMAL)


def created_claim(record: RollbackRecord, view: RollbackView) -> tuple[Write, ...]:
    """Creates the claim anew, with what was taken back, unless there is one or will be."""
    if view.claim is not None or not record.recreates_claim:
        return ()
    return (Create(resource=CLAIMS, document=_audited(record)),)


def _audited(record: RollbackRecord) -> Document:
    audit = Audit(
        volume=record.volume_name,
        times=record.times,
        begun_at=record.begun_at,
        why=record.why,
        proof=record.proof,
    )
    metadata = record.claim["metadata"]
    annotations = {
        **(metadata.get("annotations") or {}),
        ROLLED_BACK: msgspec.json.encode(audit).decode(),
    }
    return {**record.claim, "metadata": {**metadata, "annotations": annotations}}


def _about_claim(
    record: RollbackRecord,
    reason: RollbackReason,
    message: str,
    type_: EventType = EventType.WARNING,
) -> Emit:
    key = record.claim_key
    claim: Document = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"namespace": key.namespace, "name": key.name, "uid": record.claim_uid},
    }
    return _emit(claim, reason, message, type_)


def _about_pod(pod: Pod, reason: RollbackReason, message: str) -> Emit:
    metadata = {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid}
    return _emit({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}, reason, message)


def _emit(
    regarding: Document,
    reason: RollbackReason,
    message: str,
    type_: EventType = EventType.WARNING,
) -> Emit:
    return Emit(regarding=regarding, type=type_, reason=reason, message=message)
