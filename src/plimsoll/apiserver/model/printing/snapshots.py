"""The snapshot kinds, with the columns of their definitions: what is missing is null, not blank."""

from datetime import datetime
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.printing.ages import since


def snapshot_cells(snapshot: Document, now: datetime) -> list[Any]:
    spec, status = snapshot.get("spec") or {}, snapshot.get("status") or {}
    source = spec.get("source") or {}
    taken_at = status.get("creationTime")
    return [
        snapshot["metadata"].get("name", ""),
        status.get("readyToUse"),
        source.get("persistentVolumeClaimName"),
        source.get("volumeSnapshotContentName"),
        status.get("restoreSize"),
        spec.get("volumeSnapshotClassName"),
        status.get("boundVolumeSnapshotContentName"),
        since(taken_at, now) if taken_at else None,
        since(snapshot["metadata"].get("creationTimestamp"), now),
    ]


def content_cells(content: Document, now: datetime) -> list[Any]:
    spec, status = content.get("spec") or {}, content.get("status") or {}
    reference = spec.get("volumeSnapshotRef") or {}
    return [
        content["metadata"].get("name", ""),
        status.get("readyToUse"),
        status.get("restoreSize"),
        spec.get("deletionPolicy"),
        spec.get("driver"),
        spec.get("volumeSnapshotClassName"),
        reference.get("name"),
        reference.get("namespace"),
        since(content["metadata"].get("creationTimestamp"), now),
    ]


def class_cells(snapshot_class: Document, now: datetime) -> list[Any]:
    return [
        snapshot_class["metadata"].get("name", ""),
        snapshot_class.get("driver"),
        snapshot_class.get("deletionPolicy"),
        since(snapshot_class["metadata"].get("creationTimestamp"), now),
    ]
