"""What a snapshot says about itself: what its content says, or why there is none."""

from datetime import UTC, datetime

from plimsoll.api.meta import wire_time
from plimsoll.api.registry import Document
from plimsoll.api.snapshots import (
    ContentStatus,
    SnapshotError,
    SnapshotStatus,
    VolumeSnapshot,
    VolumeSnapshotContent,
)
from plimsoll.decide.csi.snapshots.names import SNAPSHOTS
from plimsoll.decide.csi.steps import size_text, told, warned
from plimsoll.decide.plan import Write
from plimsoll.decide.statuses import status_patch_of_any_version

NANOSECONDS = 1_000_000_000


def complaint(
    snapshot: VolumeSnapshot, reason: str, message: str, now: datetime, *, unready: bool = True
) -> list[Write]:
    """An error in the status, and the event about it; nothing when it was said before."""
    status = snapshot.status or SnapshotStatus()
    if status.error is not None and status.error.message == message:
        return []
    patch: Document = {"error": {"message": message, "time": wire_time(now)}}
    if unready:
        patch["readyToUse"] = False
    return [
        status_patch_of_any_version(SNAPSHOTS, snapshot, patch),
        warned(snapshot, reason, message),
    ]


def told_by_content(snapshot: VolumeSnapshot, content: VolumeSnapshotContent) -> list[Write]:
    """The snapshot's status as its content has it; nothing when it is so already."""
    before = snapshot.status or SnapshotStatus()
    known = content.status or ContentStatus()
    patch = _facts(before, known)
    if before.bound_volume_snapshot_content_name is None:
        patch["boundVolumeSnapshotContentName"] = content.name
    if not patch:
        return []
    writes: list[Write] = [status_patch_of_any_version(SNAPSHOTS, snapshot, patch)]
    if "creationTime" in patch:
        message = f"Snapshot {snapshot.key} was successfully created by the CSI driver."
        writes.append(told(snapshot, "SnapshotCreated", message))
    if patch.get("readyToUse"):
        writes.append(told(snapshot, "SnapshotReady", f"Snapshot {snapshot.key} is ready to use."))
    return writes


def _facts(before: SnapshotStatus, known: ContentStatus) -> Document:
    patch: Document = {}
    if before.creation_time is None and known.creation_time is not None:
        at = datetime.fromtimestamp(known.creation_time // NANOSECONDS, UTC)
        patch["creationTime"] = wire_time(at)
    if before.ready_to_use is not (known.ready_to_use is True):
        patch["readyToUse"] = known.ready_to_use is True
    if known.restore_size and before.restore_size in (None, "0"):
        patch["restoreSize"] = size_text(known.restore_size)
    if _text(before.error) != _text(known.error):
        patch["error"] = _error(known.error)
    return patch


def _text(error: SnapshotError | None) -> str | None:
    return None if error is None else error.message


def _error(error: SnapshotError | None) -> Document | None:
    if error is None:
        return None
    time = {} if error.time is None else {"time": wire_time(error.time)}
    return {"message": error.message} | time
