"""Short snapshot objects; each is as its own controller would have left it."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from plimsoll.api.meta import ObjectMeta, ObjectReference
from plimsoll.api.snapshots import (
    ContentSource,
    ContentSpec,
    ContentStatus,
    SnapshotSource,
    SnapshotSpec,
    SnapshotStatus,
    VolumeSnapshot,
    VolumeSnapshotClass,
    VolumeSnapshotContent,
)
from plimsoll.api.volumes import ClaimStatus, PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.csi.snapshots.view import SnapshotView
from plimsoll.decide.plan import Emit, Patch, Plan
from tests.builders import DRIVER, a_claim, a_volume

NOW = datetime(2030, 1, 1, tzinfo=UTC)
BOUND = "snapcontent-uid-s"


def a_snapshot(
    *,
    content: str | None = None,
    class_name: str | None = "snap",
    status: SnapshotStatus | None = None,
    **metadata: Any,
) -> VolumeSnapshot:
    source = SnapshotSource(
        persistent_volume_claim_name=None if content else "data",
        volume_snapshot_content_name=content,
    )
    return VolumeSnapshot(
        metadata=ObjectMeta(
            name="s", namespace="default", uid="uid-s", resource_version="5", **metadata
        ),
        spec=SnapshotSpec(source=source, volume_snapshot_class_name=class_name),
        status=status,
    )


def a_content(
    *,
    name: str = BOUND,
    prepared: bool = False,
    uid: str = "uid-s",
    policy: str = "Delete",
    status: ContentStatus | None = None,
    **metadata: Any,
) -> VolumeSnapshotContent:
    source = ContentSource(snapshot_handle="old") if prepared else ContentSource(volume_handle="h")
    return VolumeSnapshotContent(
        metadata=ObjectMeta(name=name, uid=f"uid-{name}", resource_version="7", **metadata),
        spec=ContentSpec(
            volume_snapshot_ref=ObjectReference(namespace="default", name="s", uid=uid),
            deletion_policy=policy,
            driver=DRIVER,
            source=source,
            volume_snapshot_class_name=None if prepared else "snap",
        ),
        status=status,
    )


def a_class(name: str = "snap", *, default: bool = False, **facts: Any) -> VolumeSnapshotClass:
    key = "snapshot.storage.kubernetes.io/is-default-class"
    annotations = {key: "true"} if default else {}
    known = {"driver": DRIVER, "deletion_policy": "Delete"} | facts
    metadata = ObjectMeta(name=name, annotations=annotations)
    return VolumeSnapshotClass(metadata=metadata, **known)


def a_bound_claim(**metadata: Any) -> PersistentVolumeClaim:
    claim = a_claim(volume="volume-1")
    return msgspec.structs.replace(
        claim,
        metadata=msgspec.structs.replace(claim.metadata, **metadata),
        status=ClaimStatus(phase="Bound"),
    )


def its_volume() -> PersistentVolume:
    return a_volume(claim=a_claim())


def a_view(*contents: VolumeSnapshotContent, **facts: Any) -> SnapshotView:
    by_name = {content.name: content for content in contents}
    known: dict[str, Any] = {
        "classes": (a_class(),),
        "claim": a_bound_claim(),
        "volume": its_volume(),
    }
    return SnapshotView(now=NOW, content=by_name.get, **(known | facts))


def patches(plan: Plan) -> list[Any]:
    return [write.patch for write in plan.writes if isinstance(write, Patch)]


def events(plan: Plan) -> list[str]:
    return [write.reason for write in plan.writes if isinstance(write, Emit)]
