"""What binding decisions look at, without saying how it is found.

A process backs these protocols by its caches and indexes. Everything that one decision asks must
come from the same moment; what this process itself wrote should be in it already, although writes
based on an older view only run into a conflict.
"""

from collections.abc import Iterable
from typing import Protocol

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.storage import StorageClass
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.claims.match import Search


class ProvisionerFacts(Protocol):
    """What decisions have to know of a provisioner that runs inside this process."""

    @property
    def name(self) -> str: ...

    @property
    def takes_mount_options(self) -> bool: ...

    @property
    def recycles(self) -> bool: ...

    def objection(self, claim: PersistentVolumeClaim, storage_class: StorageClass) -> str:
        """Why it refuses such a claim of such a class on every node; empty if it does not."""
        ...


class Provisioners(Protocol):
    """The provisioners inside this process. All others are external."""

    def find(self, name: str) -> ProvisionerFacts | None: ...

    def find_for_source(self, volume: PersistentVolume) -> ProvisionerFacts | None:
        """The one that knows this kind of volume, even if another provisioner created it."""
        ...


class ClaimsAndVolumes(Protocol):
    @property
    def provisioners(self) -> Provisioners: ...

    @property
    def provisions_dynamically(self) -> bool:
        """Whether claims may be provisioned for, inside this process or outside."""
        ...

    def claim(self, key: ObjectKey) -> PersistentVolumeClaim | None: ...

    def volume(self, name: str) -> PersistentVolume | None: ...

    def candidates(self, search: Search) -> Iterable[PersistentVolume]:
        """Volumes that may suit a claim, best first, as `VolumeIndex.candidates` gives them."""
        ...

    def offers(self, access_modes: Iterable[str]) -> bool:
        """Whether any volume, free or not and of any class, has all of these access modes."""
        ...

    def storage_class(self, name: str) -> StorageClass | None: ...

    def storage_classes(self) -> Iterable[StorageClass]: ...

    def node(self, name: str) -> Node | None: ...

    def pods_using(self, claim: ObjectKey) -> Iterable[Pod]:
        """The pods that name the claim, or will get it for an ephemeral volume."""
        ...
