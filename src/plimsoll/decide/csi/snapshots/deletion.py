"""What is deleted with a VolumeSnapshot, and when the claim it was taken of loses its finalizer."""

from collections.abc import Iterable
from datetime import timedelta
from enum import StrEnum

from plimsoll.api.snapshots import VolumeSnapshot, VolumeSnapshotContent
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import YES
from plimsoll.decide.csi.snapshots.names import (
    BEING_DELETED,
    CLAIM_AS_SOURCE,
    CONTENTS,
    DELETE,
    SNAPSHOT_AS_SOURCE,
    SNAPSHOT_BOUND,
    SNAPSHOTS,
    content_name,
    points_back,
)
from plimsoll.decide.csi.snapshots.view import SnapshotView
from plimsoll.decide.csi.steps import warned
from plimsoll.decide.finalizers import remove_finalizer, set_finalizers
from plimsoll.decide.plan import NOTHING, Delete, Patch, Plan, Write
from plimsoll.decide.resources import CLAIMS

OURS = (SNAPSHOT_AS_SOURCE, SNAPSHOT_BOUND)
ASK_AGAIN = timedelta(seconds=15)


class SnapshotDeletionReason(StrEnum):
    """Why something was written about a snapshot that is being deleted."""

    BEING_RESTORED = "SnapshotBeingRestored"
    """A volume is being provisioned from it: it stays until that is done."""
    ENDED = "SnapshotEnded"
    """Its content is told, and deleted where that is the policy; what held it lets go."""
    SOURCE_RELEASED = "SnapshotSourceReleased"
    """No snapshot is being taken of the claim any more."""


def decide_deletion(snapshot: VolumeSnapshot, view: SnapshotView) -> Plan:
    if not set(OURS).intersection(snapshot.metadata.finalizers):
        return NOTHING
    content = _bound_content(snapshot, view)
    if content is not None and view.restoring:
        message = "Snapshot is being used to restore a PVC"
        said = warned(snapshot, "SnapshotDeletePending", message)
        return Plan(
            reason=SnapshotDeletionReason.BEING_RESTORED, writes=(said,), recheck_after=ASK_AGAIN
        )
    goes_along = content is not None and content.spec.deletion_policy == DELETE
    writes = _content_told(content, goes_along=goes_along)
    kept = {SNAPSHOT_BOUND} if goes_along else set()
    gone = set(OURS) - kept
    left = [name for name in snapshot.metadata.finalizers if name not in gone]
    if len(left) < len(snapshot.metadata.finalizers):
        writes.append(set_finalizers(SNAPSHOTS, snapshot, left))
    return Plan(reason=SnapshotDeletionReason.ENDED, writes=tuple(writes)) if writes else NOTHING


def _bound_content(snapshot: VolumeSnapshot, view: SnapshotView) -> VolumeSnapshotContent | None:
    """Nothing is done about a content that serves another snapshot."""
    status = snapshot.status
    name = status.bound_volume_snapshot_content_name if status is not None else None
    if name is None and snapshot.spec.source.persistent_volume_claim_name is not None:
        # It may have been made without the snapshot having been told.
        name = content_name(snapshot)
    content = view.content(name) if name else None
    return content if content is not None and points_back(content, snapshot) else None


def _content_told(content: VolumeSnapshotContent | None, *, goes_along: bool) -> list[Write]:
    if content is None:
        return []
    writes: list[Write] = []
    if BEING_DELETED not in content.annotations:
        patch = {"metadata": {"annotations": {BEING_DELETED: YES}}}
        writes.append(Patch(resource=CONTENTS, key=content.key, patch=patch, uid=content.uid))
    if goes_along and not content.is_being_deleted:
        writes.append(Delete(resource=CONTENTS, key=content.key, uid=content.uid))
    return writes


def decide_source(claim: PersistentVolumeClaim, snapshots: Iterable[VolumeSnapshot]) -> Plan:
    """`snapshots` are those that were, or are to be, taken of the claim."""
    finalizers = claim.metadata.finalizers
    if CLAIM_AS_SOURCE not in finalizers or any(not each.is_ready for each in snapshots):
        return NOTHING
    release = remove_finalizer(CLAIMS, claim, CLAIM_AS_SOURCE)
    return Plan(reason=SnapshotDeletionReason.SOURCE_RELEASED, writes=(release,))
