"""The cluster as one node sees it, for the plain rules.

They look at every volume and capacity of a class; here they find only those that are about the
node, or kept for one of the pod's claims. The answers are the same, without the rest.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.selectors.label import LabelSelectorSpec
from plimsoll.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    StorageClass,
    VolumeAttachment,
)
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.pod_terms import Labels
from plimsoll.decide.scheduling.view import WorkloadKey

NO_LABEL_VALUE = "no node has this"


@dataclass(frozen=True, slots=True)
class NodeView:
    columns: Columns
    slot: int
    claims: tuple[ObjectKey, ...]

    def all_nodes(self) -> Sequence[Node]:
        return self.columns.all_nodes()

    def namespace_labels(self, name: str) -> Labels | None:
        return self.columns.namespace_labels(name)

    def services_selecting(self, pod: Pod) -> Sequence[Labels]:
        return self.columns.services_selecting(pod)

    def workload_selector(self, key: WorkloadKey) -> LabelSelectorSpec | None:
        return self.columns.workload_selector(key)

    def claim(self, key: ObjectKey) -> PersistentVolumeClaim | None:
        return self.columns.claim(key)

    def volume(self, name: str) -> PersistentVolume | None:
        return self.columns.volume(name)

    def volumes_of_class(self, name: str) -> Sequence[PersistentVolume]:
        volumes = self.columns.volumes.by_class.get(name)
        if volumes is None:
            return ()
        found = {volume.name: volume for key in self.claims for volume in volumes.kept_for(key)}
        for volume in volumes.reaching(self.slot):
            found[volume.name] = volume
        return [volume for _, volume in sorted(found.items())]

    def storage_class(self, name: str) -> StorageClass | None:
        return self.columns.storage_class(name)

    def csi_driver(self, name: str) -> CSIDriver | None:
        return self.columns.csi_driver(name)

    def csi_node(self, node: str) -> CSINode | None:
        return self.columns.csi_node(node)

    def capacities_of_class(self, name: str) -> Sequence[CSIStorageCapacity]:
        """Where none is about the node, one that stands for all: by which labels they tell nodes
        apart is all that matters then."""
        capacity = self.columns.capacity.by_class.get(name)
        if capacity is None:
            return ()
        found = capacity.covering(self.slot)
        return found or (_about_no_node(name, capacity.keys),)

    def attachments_to(self, node: str) -> Sequence[VolumeAttachment]:
        return self.columns.attachments_to(node)

    def pods_on(self, node: str) -> Sequence[Pod]:
        return self.columns.pods_on(node)

    def is_claim_in_use(self, key: ObjectKey) -> bool:
        return self.columns.is_claim_in_use(key)


def _about_no_node(class_name: str, keys: Iterable[str]) -> CSIStorageCapacity:
    """With these labels in its topology, and values that no node can have."""
    topology = LabelSelectorSpec(match_labels=dict.fromkeys(keys, NO_LABEL_VALUE))
    return CSIStorageCapacity(
        storage_class_name=class_name, node_topology=topology if topology.match_labels else None
    )
