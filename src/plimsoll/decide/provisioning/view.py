"""What provisioning decisions look at, without saying how it is found.

A process backs these protocols by its caches; what it does not cache (snapshots, their contents,
attributes classes) it may read before it asks for a decision.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.snapshots import VolumeSnapshot, VolumeSnapshotContent
from plimsoll.api.storage import CSINode, StorageClass, VolumeAttachment, VolumeAttributesClass
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.provisioning.settings import ProvisionerSettings


class Places(Protocol):
    """Where volumes could be."""

    def node(self, name: str) -> Node | None: ...

    def nodes(self) -> Iterable[Node]: ...

    def csi_node(self, name: str) -> CSINode | None: ...

    def csi_nodes(self) -> Iterable[CSINode]: ...


class ProvisionerView(Places, Protocol):
    def storage_class(self, name: str) -> StorageClass | None: ...

    def attributes_class(self, name: str) -> VolumeAttributesClass | None: ...

    def claim(self, key: ObjectKey) -> PersistentVolumeClaim | None: ...

    def volume(self, name: str) -> PersistentVolume | None: ...

    def snapshot(self, key: ObjectKey) -> VolumeSnapshot | None: ...

    def snapshot_content(self, name: str) -> VolumeSnapshotContent | None: ...

    def attachments_of(self, volume: str) -> Iterable[VolumeAttachment]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvisioningContext:
    """All that a decision about one object depends on besides the object."""

    view: ProvisionerView
    settings: ProvisionerSettings
    now: datetime
    is_call_stored: bool = False
    """An open intent has the call that was begun for the claim: it is repeated as it was."""
