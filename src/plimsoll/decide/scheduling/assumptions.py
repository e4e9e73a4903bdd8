"""Objects as they will be once our writes have landed, until the watch shows what became of them.

An assumption is made on a version of an object and is worth something only as long as that is the
newest: any other version that is observed, or the end of the object, replaces it. The object that a
write returned has a new version and is not assumed: until the watch brings it, the assumption
stands in for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    StorageClass,
    VolumeAttachment,
)
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.claims.writes import CLAIMS, VOLUMES
from plimsoll.decide.scheduling.view import ClusterView

T = TypeVar("T", bound=ApiObject)


class Assumed(Generic[T]):
    """The assumptions about objects of one kind; `plural` is what messages call them."""

    def __init__(self, plural: str) -> None:
        self._plural = plural
        self._objects: dict[ObjectKey, T] = {}

    def __len__(self) -> int:
        return len(self._objects)

    def shown(self, observed: T) -> T:
        """What is to be believed of an object that was observed like this."""
        assumed = self._objects.get(observed.key)
        return assumed if assumed is not None and _is_same_version(assumed, observed) else observed

    def assume(self, object_: T, observed: T | None) -> str:
        """Believe in the object. Returns why not, if the newest one is not what it was made of."""
        if observed is None:
            return f'{self._plural} "{object_.key}" not found'
        if not _is_same_version(object_, observed):
            return (
                f'"{object_.key}" is out of sync (stored: {observed.metadata.resource_version}, '
                f"assume: {object_.metadata.resource_version})"
            )
        self._objects[object_.key] = object_
        return ""

    def restore(self, object_: T) -> None:
        """No longer believe in the object; what somebody else assumed meanwhile stays."""
        assumed = self._objects.get(object_.key)
        if assumed is not None and _is_same_version(assumed, object_):
            del self._objects[object_.key]

    def observe(self, key: ObjectKey, observed: T | None) -> None:
        """The watch has shown this; None: that the object is gone."""
        assumed = self._objects.get(key)
        if assumed is not None and (observed is None or not _is_same_version(assumed, observed)):
            del self._objects[key]

    def by_key(self) -> Mapping[ObjectKey, T]:
        return dict(sorted(self._objects.items()))


def _is_same_version(left: ApiObject, right: ApiObject) -> bool:
    return left.metadata.resource_version == right.metadata.resource_version


@dataclass(frozen=True, slots=True)
class Assumptions:
    volumes: Assumed[PersistentVolume] = field(default_factory=lambda: Assumed(VOLUMES.plural))
    claims: Assumed[PersistentVolumeClaim] = field(default_factory=lambda: Assumed(CLAIMS.plural))


@dataclass(frozen=True, slots=True)
class AssumingView:
    """A view with our assumptions made true. Classes of volumes are those that were observed."""

    observed: ClusterView
    assumptions: Assumptions

    def claim(self, key: ObjectKey) -> PersistentVolumeClaim | None:
        claim = self.observed.claim(key)
        return None if claim is None else self.assumptions.claims.shown(claim)

    def volume(self, name: str) -> PersistentVolume | None:
        volume = self.observed.volume(name)
        return None if volume is None else self.assumptions.volumes.shown(volume)

    def volumes_of_class(self, name: str) -> Sequence[PersistentVolume]:
        return [*map(self.assumptions.volumes.shown, self.observed.volumes_of_class(name))]

    def storage_class(self, name: str) -> StorageClass | None:
        return self.observed.storage_class(name)

    def csi_driver(self, name: str) -> CSIDriver | None:
        return self.observed.csi_driver(name)

    def csi_node(self, node: str) -> CSINode | None:
        return self.observed.csi_node(node)

    def capacities_of_class(self, name: str) -> Sequence[CSIStorageCapacity]:
        return self.observed.capacities_of_class(name)

    def attachments_to(self, node: str) -> Sequence[VolumeAttachment]:
        return self.observed.attachments_to(node)

    def pods_on(self, node: str) -> Sequence[Pod]:
        return self.observed.pods_on(node)

    def is_claim_in_use(self, key: ObjectKey) -> bool:
        return self.observed.is_claim_in_use(key)
