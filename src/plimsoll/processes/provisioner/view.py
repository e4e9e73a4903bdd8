"""What provisioning decisions see: the caches, and the few objects that are read for one claim."""

from collections.abc import Iterable
from dataclasses import dataclass

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.snapshots import VolumeSnapshot, VolumeSnapshotContent
from plimsoll.api.storage import CSINode, StorageClass, VolumeAttachment, VolumeAttributesClass
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.provisioning.settings import ProvisionerSettings
from plimsoll.reconcile.observed import Observed
from plimsoll.wire.kind import typed
from plimsoll.wire.kube import KubeClient

SNAPSHOTS = typed(VolumeSnapshot)
CONTENTS = typed(VolumeSnapshotContent)
ATTRIBUTES_CLASSES = typed(VolumeAttributesClass)
SNAPSHOT_KIND = "VolumeSnapshot"
BY_VOLUME = "by volume"


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What no cache holds: read for one claim, at the time it is decided about."""

    attributes_class: VolumeAttributesClass | None = None
    snapshot: VolumeSnapshot | None = None
    content: VolumeSnapshotContent | None = None


NOTHING_READ = Read()


def needs(claim: PersistentVolumeClaim) -> bool:
    """Whether there is something to be read for it."""
    spec = claim.spec
    source = spec.data_source or spec.data_source_ref
    return bool(spec.volume_attributes_class_name) or (
        source is not None and source.kind == SNAPSHOT_KIND
    )


async def read_for(claim: PersistentVolumeClaim | None, client: KubeClient) -> Read:
    """Raises KubeError; what does not exist is None."""
    if claim is None:
        return NOTHING_READ
    spec, attributes, snapshot, content = claim.spec, None, None, None
    if spec.volume_attributes_class_name:
        key = ObjectKey("", spec.volume_attributes_class_name)
        attributes = await client.find(ATTRIBUTES_CLASSES, key)
    source = spec.data_source or spec.data_source_ref
    if source is not None and source.kind == SNAPSHOT_KIND:
        namespace = source.namespace or claim.namespace
        snapshot = await client.find(SNAPSHOTS, ObjectKey(namespace, source.name))
    bound = (
        snapshot.status.bound_volume_snapshot_content_name if snapshot and snapshot.status else ""
    )
    if bound:
        content = await client.find(CONTENTS, ObjectKey("", bound))
    return Read(attributes_class=attributes, snapshot=snapshot, content=content)


class ProvisionerCaches:
    """The kinds that a provisioner watches: only those that its driver makes it need."""

    def __init__(self, observed: Observed, settings: ProvisionerSettings) -> None:
        self.claims = observed.of(PersistentVolumeClaim)
        self.volumes = observed.of(PersistentVolume)
        self.classes = observed.of(StorageClass)
        sees_nodes = settings.supports_topology and settings.node is None
        self.nodes = observed.of(Node) if sees_nodes else None
        self.csi_nodes = observed.of(CSINode) if sees_nodes else None
        self.attachments = observed.of(VolumeAttachment) if settings.sees_attachments else None
        if self.attachments is not None:
            self.attachments.index(BY_VOLUME, lambda attachment: attachment.volume_names)

    def view(self, read: Read = NOTHING_READ) -> "CachedView":
        return CachedView(self, read)


class CachedView:
    """Implements ProvisionerView."""

    def __init__(self, caches: ProvisionerCaches, read: Read) -> None:
        self._caches = caches
        self._read = read

    def node(self, name: str) -> Node | None:
        return self._caches.nodes.view().get(ObjectKey("", name)) if self._caches.nodes else None

    def nodes(self) -> Iterable[Node]:
        return self._caches.nodes.view().objects.values() if self._caches.nodes else ()

    def csi_node(self, name: str) -> CSINode | None:
        found = self._caches.csi_nodes
        return found.view().get(ObjectKey("", name)) if found else None

    def csi_nodes(self) -> Iterable[CSINode]:
        found = self._caches.csi_nodes
        return found.view().objects.values() if found else ()

    def storage_class(self, name: str) -> StorageClass | None:
        return self._caches.classes.view().get(ObjectKey("", name))

    def claim(self, key: ObjectKey) -> PersistentVolumeClaim | None:
        return self._caches.claims.view().get(key)

    def volume(self, name: str) -> PersistentVolume | None:
        return self._caches.volumes.view().get(ObjectKey("", name))

    def attachments_of(self, volume: str) -> Iterable[VolumeAttachment]:
        found = self._caches.attachments
        return found.view().by(BY_VOLUME, volume).values() if found else ()

    def attributes_class(self, name: str) -> VolumeAttributesClass | None:
        found = self._read.attributes_class
        return found if found is not None and found.name == name else None

    def snapshot(self, key: ObjectKey) -> VolumeSnapshot | None:
        found = self._read.snapshot
        return found if found is not None and found.key == key else None

    def snapshot_content(self, name: str) -> VolumeSnapshotContent | None:
        found = self._read.content
        return found if found is not None and found.name == name else None
