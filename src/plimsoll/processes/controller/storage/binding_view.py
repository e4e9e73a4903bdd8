"""What binding decisions look at, backed by this process's caches."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.storage import StorageClass, VolumeAttachment
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.cache.store import View
from plimsoll.decide.claims.match import Search
from plimsoll.decide.claims.volume_index import VolumeIndex
from plimsoll.processes.controller.in_process.provisioners.registry import Registry
from plimsoll.reconcile.indexes import PODS_BY_CLAIM, claims_of
from plimsoll.reconcile.observed import Cached, Observed

VOLUMES_BY_CLAIM = "claim"
CLAIMS_WITHOUT_VOLUME = "class, without a volume"
ATTACHMENTS_BY_VOLUME = "volume"


@dataclass(frozen=True, slots=True, kw_only=True)
class BindingClusterView:
    """Implements `decide.claims.view.ClaimsAndVolumes`; of use until the next wait only."""

    claims: View[PersistentVolumeClaim]
    volumes: View[PersistentVolume]
    classes: View[StorageClass]
    nodes: View[Node]
    pods: View[Pod]
    attachments: View[VolumeAttachment]
    index: VolumeIndex
    reserved: Mapping[str, ObjectKey]
    """Volumes that are being given to a claim at this moment, before a write shows it."""
    provisioners: Registry
    provisions_dynamically: bool

    def claim(self, key: ObjectKey) -> PersistentVolumeClaim | None:
        return self.claims.get(key)

    def volume(self, name: str) -> PersistentVolume | None:
        return self.volumes.get(ObjectKey("", name))

    def candidates(self, search: Search) -> Iterable[PersistentVolume]:
        return (
            volume
            for volume in self.index.candidates(search)
            if self.reserved.get(volume.name, search.claim) == search.claim
        )

    def offers(self, access_modes: Iterable[str]) -> bool:
        return self.index.offers(access_modes)

    def storage_class(self, name: str) -> StorageClass | None:
        return self.classes.get(ObjectKey("", name))

    def storage_classes(self) -> Iterable[StorageClass]:
        return self.classes.objects.values()

    def node(self, name: str) -> Node | None:
        return self.nodes.get(ObjectKey("", name))

    def all_nodes(self) -> Iterable[Node]:
        return self.nodes.objects.values()

    def pods_using(self, claim: ObjectKey) -> Iterable[Pod]:
        return self.pods.by(PODS_BY_CLAIM, str(claim)).values()

    def attached_to(self, volume: str) -> list[str]:
        """The nodes that it is attached to, or on its way to."""
        found = self.attachments.by(ATTACHMENTS_BY_VOLUME, volume).values()
        return sorted({attachment.spec.node_name for attachment in found})


class BindingCaches:
    """The kinds that binding observes, and the volumes sorted for matching."""

    def __init__(self, observed: Observed) -> None:
        self.claims: Cached[PersistentVolumeClaim] = observed.of(PersistentVolumeClaim)
        self.volumes: Cached[PersistentVolume] = observed.of(PersistentVolume)
        self.classes: Cached[StorageClass] = observed.of(StorageClass)
        self.nodes: Cached[Node] = observed.of(Node)
        self.pods: Cached[Pod] = observed.of(Pod)
        self.attachments: Cached[VolumeAttachment] = observed.of(VolumeAttachment)
        self.pods.index(PODS_BY_CLAIM, claims_of)
        self.claims.index(CLAIMS_WITHOUT_VOLUME, _class_while_without_volume)
        self.volumes.index(VOLUMES_BY_CLAIM, _claim_of)
        self.attachments.index(ATTACHMENTS_BY_VOLUME, lambda attachment: attachment.volume_names)

    def view(
        self,
        index: VolumeIndex,
        reserved: Mapping[str, ObjectKey],
        provisioners: Registry,
        *,
        provisions_dynamically: bool,
    ) -> BindingClusterView:
        return BindingClusterView(
            claims=self.claims.view(),
            volumes=self.volumes.view(),
            classes=self.classes.view(),
            nodes=self.nodes.view(),
            pods=self.pods.view(),
            attachments=self.attachments.view(),
            index=index,
            reserved=reserved,
            provisioners=provisioners,
            provisions_dynamically=provisions_dynamically,
        )


def _class_while_without_volume(claim: PersistentVolumeClaim) -> Iterable[str]:
    return () if claim.spec.volume_name else (claim.storage_class,)


def _claim_of(volume: PersistentVolume) -> Iterable[str]:
    claim = volume.spec.claim
    return () if claim is None else (str(claim),)
