"""Names that all programs which work on snapshots share: finalizers, annotations, contents."""

from plimsoll.api.snapshots import VolumeSnapshot, VolumeSnapshotContent
from plimsoll.decide.plan import ResourceName

GROUP = "snapshot.storage.k8s.io"
SNAPSHOTS = ResourceName(GROUP, "v1", "volumesnapshots")
CONTENTS = ResourceName(GROUP, "v1", "volumesnapshotcontents")

PREFIX = "snapshot.storage.kubernetes.io"
CONTENT_BOUND = f"{PREFIX}/volumesnapshotcontent-bound-protection"
SNAPSHOT_BOUND = f"{PREFIX}/volumesnapshot-bound-protection"
"""On a snapshot: its content, which is deleted with it, must go first."""
SNAPSHOT_AS_SOURCE = f"{PREFIX}/volumesnapshot-as-source-protection"
"""On a snapshot: a volume is being provisioned from it until this goes."""
CLAIM_AS_SOURCE = f"{PREFIX}/pvc-as-source-protection"
"""On a claim: a snapshot of it is being taken."""

BEING_DELETED = f"{PREFIX}/volumesnapshot-being-deleted"
"""On a content: its snapshot goes, so the driver may be asked to delete what it keeps."""
BEING_CREATED = f"{PREFIX}/volumesnapshot-being-created"
"""On a content: the driver was asked, and has not given an answer that is final."""
SECRET_NAME = f"{PREFIX}/deletion-secret-name"
SECRET_NAMESPACE = f"{PREFIX}/deletion-secret-namespace"

DELETE = "Delete"


def content_name(snapshot: VolumeSnapshot) -> str:
    """The same wherever it is computed: a second content cannot be created."""
    return f"snapcontent-{snapshot.uid}"


def points_back(content: VolumeSnapshotContent, snapshot: VolumeSnapshot) -> bool:
    """Whether the content is bound to this very snapshot."""
    reference = content.spec.volume_snapshot_ref
    return reference.key == snapshot.key and reference.uid == snapshot.uid


def is_prepared(content: VolumeSnapshotContent) -> bool:
    """A user created the content for a snapshot that the driver has already."""
    return content.spec.source.snapshot_handle is not None
