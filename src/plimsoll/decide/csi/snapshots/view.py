"""What decisions about one snapshot see of the cluster at one moment."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from plimsoll.api.snapshots import VolumeSnapshotClass, VolumeSnapshotContent
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotView:
    now: datetime
    content: Callable[[str], VolumeSnapshotContent | None]
    """By name."""
    classes: tuple[VolumeSnapshotClass, ...] = ()
    claim: PersistentVolumeClaim | None = None
    """The one that the snapshot is to be taken of, if it exists."""
    volume: PersistentVolume | None = None
    """The one that this claim names."""
    restoring: tuple[PersistentVolumeClaim, ...] = ()
    """Claims whose volume is being provisioned from the snapshot."""

    def find_class(self, name: str) -> VolumeSnapshotClass | None:
        return next((each for each in self.classes if each.name == name), None)
