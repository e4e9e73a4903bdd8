"""What becomes of an object whose owners are gone or on their way out.

An object is deleted when none of its owners is left. Every step rests on what the server itself
just said about the object and each of its owners, uid included, and is made on exactly that version
of the object. So no object is lost because the watch lags, an owner was created anew under the same
name, or a new owner was added. `ownership_graph` says which objects to examine.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec

from plimsoll.api.meta import ObjectKey, ObjectMeta, OwnerReference
from plimsoll.api.registry import Document
from plimsoll.decide.cluster.ownership_graph import FOREGROUND, ORPHAN, BadReference, GraphObject
from plimsoll.decide.plan import (
    NOTHING,
    Delete,
    Emit,
    EventType,
    Patch,
    Plan,
    ResourceName,
    Write,
)

INVALID_NAMESPACE = "OwnerRefInvalidNamespace"


class GarbageVerdict(StrEnum):
    """What the server says about the owner that a reference names."""

    SOLID = "Solid"
    """It exists, and does not wait for its dependents."""
    ABSENT = "Absent"
    """There is none, or a namesake with another uid."""
    AWAITING = "AwaitingDependents"
    """It is being deleted, and goes after its dependents."""
    IMPOSSIBLE = "Impossible"
    """A namespaced owner of an object without a namespace: it cannot be looked up."""


class GarbageReason(StrEnum):
    OWNED = "Owned"
    REFERENCES_PRUNED = "ReferencesPruned"
    """Some owner is left; the references to the others go."""
    COLLECTED = "Collected"
    """No owner is left."""
    COLLECTED_FIRST = "CollectedBeforeItsOwner"
    """An owner waits for it, and it has dependents to wait for itself."""
    DEPENDENTS_GONE = "DependentsGone"
    DEPENDENTS_REMAIN = "DependentsRemain"
    ORPHANED = "DependentsOrphaned"


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """An object that the server was just asked about."""

    resource: ResourceName
    metadata: ObjectMeta

    @property
    def key(self) -> ObjectKey:
        return ObjectKey(self.metadata.namespace, self.metadata.name)


def verdict_on_owner(reference: OwnerReference, owner: ObjectMeta | None) -> GarbageVerdict:
    """`owner` is what bears the owner's name at the moment."""
    if owner is None or owner.uid != reference.uid:
        return GarbageVerdict.ABSENT
    if owner.deletion_timestamp is not None and FOREGROUND in owner.finalizers:
        return GarbageVerdict.AWAITING
    return GarbageVerdict.SOLID


def decide_garbage(
    item: Examined, verdicts: Sequence[GarbageVerdict], dependents: Sequence[GraphObject]
) -> Plan:
    """`verdicts` are about the item's owner references, in their order."""
    references = item.metadata.owner_references
    if not references or GarbageVerdict.IMPOSSIBLE in verdicts:
        return NOTHING
    solid = [
        r
        for r, verdict in zip(references, verdicts, strict=True)
        if verdict is GarbageVerdict.SOLID
    ]
    if len(solid) == len(references):
        return Plan(reason=GarbageReason.OWNED)
    if solid:
        pruned = _references_patch(item.resource, GraphObject.of("", "", item.metadata), solid)
        return Plan(reason=GarbageReason.REFERENCES_PRUNED, writes=(pruned,))
    if GarbageVerdict.AWAITING in verdicts and dependents:
        return Plan(
            reason=GarbageReason.COLLECTED_FIRST, writes=_foreground_deletion(item, dependents)
        )
    return Plan(reason=GarbageReason.COLLECTED, writes=(_deletion(item, _policy(item)),))


def _policy(item: Examined) -> str:
    """The finalizers that an earlier deletion set say what shall happen to its dependents."""
    if ORPHAN in item.metadata.finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in item.metadata.finalizers else "Background"


def _deletion(item: Examined, policy: str) -> Delete:
    return Delete(
        resource=item.resource,
        key=item.key,
        uid=item.metadata.uid,
        version=item.metadata.resource_version,
        propagation=policy,
    )


def _foreground_deletion(item: Examined, dependents: Sequence[GraphObject]) -> tuple[Write, ...]:
    """A dependent that waits for dependents itself may wait for this very object in the end: the
    circle is broken by letting no owner wait for this one."""
    if not any(dependent.awaits_dependents for dependent in dependents):
        return (_deletion(item, "Foreground"),)
    free = [
        msgspec.structs.replace(reference, block_owner_deletion=False)
        for reference in item.metadata.owner_references
    ]
    patch = _references_patch(item.resource, GraphObject.of("", "", item.metadata), free)
    # The patch changes the version, so the deletion can only insist on the uid.
    deletion = Delete(
        resource=item.resource, key=item.key, uid=item.metadata.uid, propagation="Foreground"
    )
    return (patch, deletion)


def decide_waiting_owner(item: Examined, blocking: Sequence[GraphObject]) -> Plan:
    """An owner that goes after its dependents; `blocking` are those it has to wait for."""
    if FOREGROUND not in item.metadata.finalizers:
        return NOTHING
    if not blocking:
        return Plan(reason=GarbageReason.DEPENDENTS_GONE, writes=(_without(item, FOREGROUND),))
    awaited = tuple(ObjectKey("", known.uid) for known in blocking if not known.awaits_dependents)
    return Plan(reason=GarbageReason.DEPENDENTS_REMAIN, wake=awaited)


def decide_orphaning(
    item: Examined, dependents: Sequence[tuple[ResourceName, GraphObject]]
) -> Plan:
    """An owner that goes without its dependents: it may go once none of them names it any more."""
    if ORPHAN not in item.metadata.finalizers:
        return NOTHING
    freed = tuple(
        _references_patch(
            resource, known, [ref for ref in known.owners if ref.uid != item.metadata.uid]
        )
        for resource, known in dependents
    )
    return Plan(reason=GarbageReason.ORPHANED, writes=(*freed, _without(item, ORPHAN)))


def _references_patch(
    resource: ResourceName, known: GraphObject, references: Sequence[OwnerReference]
) -> Patch:
    kept: Any = [msgspec.to_builtins(reference) for reference in references]
    return Patch(
        resource=resource,
        key=ObjectKey(known.identity.namespace, known.identity.name),
        patch={"metadata": {"ownerReferences": kept or None}},
        version=known.version,
        uid=known.uid,
    )


def _without(item: Examined, finalizer: str) -> Patch:
    others = [name for name in item.metadata.finalizers if name != finalizer]
    return Patch(
        resource=item.resource,
        key=item.key,
        patch={"metadata": {"finalizers": others}},
        version=item.metadata.resource_version,
        uid=item.metadata.uid,
    )


def bad_reference_event(bad: BadReference) -> Emit:
    dependent = bad.dependent
    regarding: Document = {
        "apiVersion": dependent.api_version,
        "kind": dependent.kind,
        "metadata": {
            "namespace": dependent.namespace,
            "name": dependent.name,
            "uid": dependent.uid,
        },
    }
    return Emit(
        regarding=regarding,
        type=EventType.WARNING,
        reason=INVALID_NAMESPACE,
        message=bad.message,
    )
