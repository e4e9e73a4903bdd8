"""Which objects belong to a workload: by owner reference, not by labels alone.

A workload adopts an object that matches its selector and has no controller. It releases one of its
own that matches no longer. It takes nothing from another controller, and while it is being deleted
it takes nothing at all.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from msgspec import structs

from plimsoll.api.meta import ApiObject, OwnerReference
from plimsoll.api.registry import Document
from plimsoll.decide.plan import NOTHING, Create, Delete, Emit, EventType, Patch, Plan, ResourceName
from plimsoll.decide.resources import PODS

T = TypeVar("T", bound=ApiObject)

REVISIONS = ResourceName("apps", "v1", "controllerrevisions")
REPLICA_SETS = ResourceName("apps", "v1", "replicasets")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A kind of object that owns others."""

    api_version: str
    kind: str
    resource: ResourceName

    def owns(self, reference: OwnerReference) -> bool:
        """Whether the reference is to this kind, in whatever version of its group."""
        group = reference.api_version.rpartition("/")[0]
        return reference.kind == self.kind and group == self.resource.group


STATEFUL_SET = Workload(
    api_version="apps/v1",
    kind="StatefulSet",
    resource=ResourceName("apps", "v1", "statefulsets"),
)
REPLICA_SET = Workload(api_version="apps/v1", kind="ReplicaSet", resource=REPLICA_SETS)
DEPLOYMENT = Workload(
    api_version="apps/v1", kind="Deployment", resource=ResourceName("apps", "v1", "deployments")
)
DAEMON_SET = Workload(
    api_version="apps/v1", kind="DaemonSet", resource=ResourceName("apps", "v1", "daemonsets")
)
JOB = Workload(api_version="batch/v1", kind="Job", resource=ResourceName("batch", "v1", "jobs"))
CRON_JOB = Workload(
    api_version="batch/v1", kind="CronJob", resource=ResourceName("batch", "v1", "cronjobs")
)
POD = Workload(api_version="v1", kind="Pod", resource=PODS)


class OwnershipReason(StrEnum):
    CHANGED = "OwnershipChanged"
    """Objects are adopted, or let go of."""


def controller_reference(workload: Workload, owner: ApiObject) -> OwnerReference:
    return OwnerReference(
        api_version=workload.api_version,
        kind=workload.kind,
        name=owner.name,
        uid=owner.uid,
        controller=True,
        block_owner_deletion=True,
    )


def reference_document(reference: OwnerReference) -> Document:
    fields = {
        "apiVersion": reference.api_version,
        "kind": reference.kind,
        "name": reference.name,
        "uid": reference.uid,
        "controller": reference.controller,
        "blockOwnerDeletion": reference.block_owner_deletion,
    }
    return {name: value for name, value in fields.items() if value is not None}


def with_owners(
    resource: ResourceName, object_: ApiObject, owners: Iterable[OwnerReference]
) -> Patch:
    """A merge patch replaces the whole list, so it must meet the list that was seen."""
    return Patch(
        resource=resource,
        key=object_.key,
        patch={"metadata": {"ownerReferences": [reference_document(owner) for owner in owners]}},
        version=object_.metadata.resource_version,
        uid=object_.uid,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership(Generic[T]):
    members: tuple[T, ...]
    """What belongs to the workload already, by name."""
    plan: Plan = NOTHING
    adopts: bool = False
    """The plan makes objects its own: look first whether the owner itself still exists."""


def decide_membership(
    owner: ApiObject,
    candidates: Iterable[T],
    *,
    of: tuple[Workload, ResourceName],
    matches: Callable[[T], bool],
) -> Membership[T]:
    """`candidates`: all that it owns, and all in its namespace without a controller."""
    workload, resource = of
    members: list[T] = []
    writes: list[Patch] = []
    adopts = False
    for candidate in sorted(candidates, key=lambda object_: object_.key):
        controller = candidate.metadata.controller
        if controller is None:
            if _may_adopt(owner, candidate) and matches(candidate):
                adopts = True
                writes.append(_adoption(resource, candidate, controller_reference(workload, owner)))
        elif controller.uid == owner.uid:
            if matches(candidate):
                members.append(candidate)
            elif not owner.is_being_deleted:
                writes.append(_release(resource, candidate, owner))
    plan = Plan(reason=OwnershipReason.CHANGED, writes=tuple(writes)) if writes else NOTHING
    return Membership(members=tuple(members), plan=plan, adopts=adopts)


def _may_adopt(owner: ApiObject, orphan: ApiObject) -> bool:
    is_leaving = owner.is_being_deleted or orphan.is_being_deleted
    return not is_leaving and owner.namespace == orphan.namespace


def _adoption(resource: ResourceName, orphan: ApiObject, reference: OwnerReference) -> Patch:
    others = (o for o in orphan.metadata.owner_references if o.uid != reference.uid)
    return with_owners(resource, orphan, (*others, reference))


def _release(resource: ResourceName, member: ApiObject, owner: ApiObject) -> Patch:
    others = (o for o in member.metadata.owner_references if o.uid != owner.uid)
    return with_owners(resource, member, others)


def about(workload: Workload, owner: ApiObject) -> Document:
    """As much of the owner as an event needs."""
    metadata = owner.metadata
    return {
        "apiVersion": workload.api_version,
        "kind": workload.kind,
        "metadata": {
            "namespace": metadata.namespace,
            "name": metadata.name,
            "uid": metadata.uid,
            "resourceVersion": metadata.resource_version,
        },
    }


def told(workload: Workload, owner: ApiObject, reason: str, message: str) -> Emit:
    return Emit(
        regarding=about(workload, owner), type=EventType.NORMAL, reason=reason, message=message
    )


def warned(workload: Workload, owner: ApiObject, reason: str, message: str) -> Emit:
    return Emit(
        regarding=about(workload, owner), type=EventType.WARNING, reason=reason, message=message
    )


def creation(resource: ResourceName, document: Document) -> Create:
    return Create(resource=resource, document=document)


def deletion(resource: ResourceName, object_: ApiObject) -> Delete:
    """Of this very object, not of a namesake made since."""
    return Delete(resource=resource, key=object_.key, uid=object_.uid)


def seen_as_leaving(object_: T) -> T:
    """The object as it will look once the watch has brought our deletion of it."""
    metadata = object_.metadata
    at = metadata.deletion_timestamp or metadata.creation_timestamp
    return structs.replace(object_, metadata=structs.replace(metadata, deletion_timestamp=at))
