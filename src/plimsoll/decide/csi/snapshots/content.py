"""What a driver is asked for about one content: take the snapshot, look after it, delete it.

Before the driver is asked to take a snapshot, the content says so, and says it until the driver has
given an answer that is final. Until then the content cannot go: the driver could create a snapshot
that no object records. A content only ever goes with its snapshot, except one that no snapshot has
bound: data is not deleted because an object was.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from plimsoll.api.meta import wire_time
from plimsoll.api.registry import Document
from plimsoll.api.snapshots import ContentStatus, VolumeSnapshotClass, VolumeSnapshotContent
from plimsoll.api.volumes import SecretReference
from plimsoll.decide.annotations import YES
from plimsoll.decide.csi.snapshots.names import (
    BEING_CREATED,
    BEING_DELETED,
    CONTENT_BOUND,
    CONTENTS,
    DELETE,
    SECRET_NAME,
    SECRET_NAMESPACE,
    is_prepared,
)
from plimsoll.decide.csi.snapshots.parameters import (
    SNAPSHOTTER_LIST,
    metadata_parameters,
    parse_driver_parameters,
    parse_secret,
)
from plimsoll.decide.csi.steps import (
    Failure,
    NotAsked,
    Step,
    is_final,
    warned,
)
from plimsoll.decide.finalizers import add_finalizer, remove_finalizer
from plimsoll.decide.plan import NOTHING, Patch, Plan, Write
from plimsoll.decide.statuses import status_patch_of_any_version


class SnapshotContentReason(StrEnum):
    """Why something was written about a content."""

    PROTECTED = "ContentProtected"
    """A finalizer keeps it for as long as the driver may have something for it."""
    TAKING = "TakingSnapshot"
    """The driver is about to be asked for the snapshot."""
    TAKEN = "SnapshotTaken"
    """The driver has it; the status says whether it can be used already."""
    FAILED = "TakingSnapshotFailed"
    """The driver could not be asked, or refused; it is asked again."""
    DELETED = "SnapshotDeleted"
    """The driver has deleted it, or keeps it by policy: the content may go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeSnapshot:
    name: str
    volume_handle: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    secret: SecretReference | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FindSnapshot:
    handle: str
    secret: SecretReference | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteSnapshot:
    handle: str
    secret: SecretReference | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """`created_at` counts nanoseconds; zero where the driver does not say, like the size."""

    handle: str
    is_ready: bool
    created_at: int = 0
    size_bytes: int = 0


ContentCall = TakeSnapshot | FindSnapshot | DeleteSnapshot
ContentStep = Step[ContentCall]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentContext:
    """What a decision about one content depends on besides the content."""

    now: datetime
    class_: VolumeSnapshotClass | None = None
    """The one that it names, if it exists."""
    tells_metadata: bool = False
    """Whether the driver is told which snapshot and content it works for."""


def decide_protection(content: VolumeSnapshotContent) -> Plan:
    """What is to be done for every driver, also for those of other snapshotters."""
    finalizers = content.metadata.finalizers
    is_bound = bool(content.spec.volume_snapshot_ref.uid)
    if content.is_being_deleted or not is_bound or CONTENT_BOUND in finalizers:
        return NOTHING
    patch = add_finalizer(CONTENTS, content, CONTENT_BOUND)
    return Plan(reason=SnapshotContentReason.PROTECTED, writes=(patch,))


def decide_content(content: VolumeSnapshotContent, context: ContentContext) -> ContentStep:
    status = content.status
    if may_go(content):
        return _deleted(content)
    if not content.spec.volume_snapshot_ref.uid:
        return Step()  # no snapshot asks for it yet
    if status is not None and status.ready_to_use is True:
        return Step(plan=_answered(content))
    try:
        return _found(content, context) if is_prepared(content) else _take(content, context)
    except ValueError as error:
        return Step(plan=decide_not_taken(content, NotAsked(str(error)), context.now))


def may_go(content: VolumeSnapshotContent) -> bool:
    if not content.is_being_deleted:
        return False
    if is_prepared(content) and not content.spec.volume_snapshot_ref.uid:
        return True
    return BEING_CREATED not in content.annotations and BEING_DELETED in content.annotations


def _deleted(content: VolumeSnapshotContent) -> ContentStep:
    if CONTENT_BOUND not in content.metadata.finalizers:
        return Step()
    handle = content.status.snapshot_handle if content.status is not None else None
    if content.spec.deletion_policy != DELETE or handle is None:
        return Step(plan=_let_go(content))
    return Step(call=DeleteSnapshot(handle=handle, secret=_secret(content)))


def _let_go(content: VolumeSnapshotContent) -> Plan:
    release = remove_finalizer(CONTENTS, content, CONTENT_BOUND)
    return Plan(reason=SnapshotContentReason.DELETED, writes=(release,))


def _answered(content: VolumeSnapshotContent) -> Plan:
    if BEING_CREATED not in content.annotations:
        return NOTHING
    return Plan(reason=SnapshotContentReason.TAKEN, writes=(_marked(content, None),))


def _marked(content: VolumeSnapshotContent, mark: str | None) -> Patch:
    patch = {"metadata": {"annotations": {BEING_CREATED: mark}}}
    return Patch(resource=CONTENTS, key=content.key, patch=patch, uid=content.uid)


def _secret(content: VolumeSnapshotContent) -> SecretReference | None:
    name, namespace = (content.annotations.get(key) for key in (SECRET_NAME, SECRET_NAMESPACE))
    return SecretReference(name=name, namespace=namespace) if name and namespace else None


def _take(content: VolumeSnapshotContent, context: ContentContext) -> ContentStep:
    """Only another call tells whether the snapshot is ready."""
    if context.class_ is None:
        name = content.spec.volume_snapshot_class_name
        raise ValueError(
            f"failed to take snapshot {content.name} without a snapshot class"
            if name is None
            else f'volumesnapshotclass.snapshot.storage.k8s.io "{name}" not found'
        )
    parameters = parse_driver_parameters(context.class_.parameters)
    if context.tells_metadata:
        parameters |= metadata_parameters(content)
    call = TakeSnapshot(
        name=f"snapshot-{content.spec.volume_snapshot_ref.uid}",
        volume_handle=content.spec.source.volume_handle or "",
        parameters=parameters,
        secret=_secret(content),
    )
    marks = () if BEING_CREATED in content.annotations else (_marked(content, YES),)
    return Step(plan=Plan(reason=SnapshotContentReason.TAKING, writes=marks), call=call)


def _found(content: VolumeSnapshotContent, context: ContentContext) -> ContentStep:
    parameters = context.class_.parameters if context.class_ is not None else {}
    secret = parse_secret(SNAPSHOTTER_LIST, parameters, content.name)
    handle = content.spec.source.snapshot_handle or ""
    return Step(call=FindSnapshot(handle=handle, secret=secret))


# Afterwards


def decide_taken(content: VolumeSnapshotContent, taken: Taken, now: datetime) -> Plan:
    before = content.status or ContentStatus()
    status: Document = {}
    if before.snapshot_handle is None:
        status["snapshotHandle"] = taken.handle
    if before.ready_to_use is not taken.is_ready:
        status["readyToUse"] = taken.is_ready
    if before.creation_time is None:
        status["creationTime"] = taken.created_at or int(now.timestamp()) * 1_000_000_000
    if before.restore_size is None and taken.size_bytes:
        status["restoreSize"] = taken.size_bytes
    if before.error is not None and (taken.is_ready or before.snapshot_handle is None):
        status["error"] = None
    writes: list[Write] = [status_patch_of_any_version(CONTENTS, content, status)] if status else []
    if BEING_CREATED in content.annotations:
        writes.append(_marked(content, None))
    return Plan(reason=SnapshotContentReason.TAKEN, writes=tuple(writes)) if writes else NOTHING


def decide_not_taken(content: VolumeSnapshotContent, failure: Failure, now: datetime) -> Plan:
    writes: list[Write] = []
    if BEING_CREATED in content.annotations and is_final(failure):
        writes.append(_marked(content, None))
    reason, message = _told(content, failure)
    error = content.status.error if content.status is not None else None
    if error is None or error.message != message:
        status = {
            "readyToUse": False,
            "error": {"message": message, "time": wire_time(now)},
        }
        writes.append(status_patch_of_any_version(CONTENTS, content, status))
        writes.append(warned(content, reason, message))
    return Plan(reason=SnapshotContentReason.FAILED, writes=tuple(writes))


def _told(content: VolumeSnapshotContent, failure: Failure) -> tuple[str, str]:
    if is_prepared(content):
        why = f'failed to list snapshot for content {content.name}: "{failure}"'
        return (
            "SnapshotContentCheckandUpdateFailed",
            f"Failed to check and update snapshot content: {why}",
        )
    handle = content.spec.source.volume_handle
    return (
        "SnapshotCreationFailed",
        f'Failed to create snapshot: failed to take snapshot of the volume {handle}: "{failure}"',
    )


def decide_deleted(content: VolumeSnapshotContent) -> Plan:
    """The handle goes first: the driver is not asked for what it has deleted."""
    cleared = dict.fromkeys(("snapshotHandle", "readyToUse", "creationTime", "restoreSize"))
    let_go = _let_go(content)
    patch = status_patch_of_any_version(CONTENTS, content, cleared)
    return Plan(reason=SnapshotContentReason.DELETED, writes=(patch, *let_go.writes))


def decide_not_deleted(content: VolumeSnapshotContent, failure: Failure) -> Plan:
    """What went wrong may say more than users should read: the log has it."""
    message = (
        "Failed to get snapshot credentials"
        if isinstance(failure, NotAsked)
        else "Failed to delete snapshot"
    )
    return Plan(
        reason=SnapshotContentReason.FAILED,
        writes=(warned(content, "SnapshotDeleteError", message),),
    )
