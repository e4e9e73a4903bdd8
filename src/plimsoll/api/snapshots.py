"""The three kinds of the snapshot controller, which come as custom resources."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from plimsoll.api.meta import ApiObject, ApiStruct, ObjectReference

DEFAULT_SNAPSHOT_CLASS_ANNOTATION = "snapshot.storage.kubernetes.io/is-default-class"


class SnapshotError(ApiStruct, frozen=True, kw_only=True):
    time: datetime | None = None
    message: str = ""


class SnapshotSource(ApiStruct, frozen=True, kw_only=True):
    """A claim to take the snapshot of, or a content that exists already."""

    persistent_volume_claim_name: str | None = None
    volume_snapshot_content_name: str | None = None


class SnapshotSpec(ApiStruct, frozen=True, kw_only=True):
    source: SnapshotSource = SnapshotSource()
    volume_snapshot_class_name: str | None = None


class SnapshotStatus(ApiStruct, frozen=True, kw_only=True):
    bound_volume_snapshot_content_name: str | None = None
    creation_time: datetime | None = None
    ready_to_use: bool | None = None
    restore_size: str | None = None
    error: SnapshotError | None = None


class VolumeSnapshot(ApiObject, frozen=True, kw_only=True):
    spec: SnapshotSpec = SnapshotSpec()
    status: SnapshotStatus | None = None

    @property
    def is_ready(self) -> bool:
        return self.status is not None and self.status.ready_to_use is True


class ContentSource(ApiStruct, frozen=True, kw_only=True):
    volume_handle: str | None = None
    snapshot_handle: str | None = None


class ContentSpec(ApiStruct, frozen=True, kw_only=True):
    volume_snapshot_ref: ObjectReference = ObjectReference()
    deletion_policy: str = ""
    driver: str = ""
    source: ContentSource = ContentSource()
    source_volume_mode: str | None = None
    volume_snapshot_class_name: str | None = None


class ContentStatus(ApiStruct, frozen=True, kw_only=True):
    """`creation_time` counts nanoseconds, `restore_size` bytes: drivers report them so."""

    snapshot_handle: str | None = None
    creation_time: int | None = None
    restore_size: int | None = None
    ready_to_use: bool | None = None
    error: SnapshotError | None = None


class VolumeSnapshotContent(ApiObject, frozen=True, kw_only=True):
    spec: ContentSpec = ContentSpec()
    status: ContentStatus | None = None


class VolumeSnapshotClass(ApiObject, frozen=True, kw_only=True):
    driver: str = ""
    deletion_policy: str = ""
    parameters: Mapping[str, str] = msgspec.field(default_factory=dict)

    @property
    def is_default(self) -> bool:
        return self.annotations.get(DEFAULT_SNAPSHOT_CLASS_ANNOTATION) == "true"
