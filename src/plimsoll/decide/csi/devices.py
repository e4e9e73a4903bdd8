"""What a CSI driver knows by a handle, whichever object names it.

Nodes and attachments are about devices, not about volume objects: several of those may mean the
same device, and a device may outlive them.
"""

from dataclasses import dataclass
from hashlib import sha256

from plimsoll.api.pods import PodVolume
from plimsoll.api.volumes import CsiSource, PersistentVolume
from plimsoll.decide.csi.in_tree import inline_source, translated

PLUGIN = "kubernetes.io/csi"


@dataclass(frozen=True, slots=True, order=True)
class Device:
    driver: str
    handle: str

    def __str__(self) -> str:
        return f"{self.driver}^{self.handle}"

    @classmethod
    def parse(cls, text: str) -> "Device":
        driver, _, handle = text.partition("^")
        return cls(driver, handle)

    @classmethod
    def of(cls, source: CsiSource | None) -> "Device | None":
        if source is None or not source.driver or not source.volume_handle:
            return None
        return cls(source.driver, source.volume_handle)

    @property
    def unique_name(self) -> str:
        """How nodes name it in their status."""
        return f"{PLUGIN}/{self}"

    def attachment_name(self, node: str) -> str:
        """The same wherever it is computed: a second attachment cannot be created."""
        digest = sha256(f"{self.handle}{self.driver}{node}".encode()).hexdigest()
        return f"csi-{digest}"


def device_of_volume(volume: PersistentVolume) -> Device | None:
    """Volumes of plugins that were handed over to drivers count as those of the drivers."""
    try:
        return Device.of(translated(volume).spec.csi)
    except ValueError:
        return None


def inline_device(volume: PodVolume) -> Device | None:
    """Of a disk that the pod names itself. What a driver makes inside the pod is never attached."""
    try:
        return Device.of(inline_source(volume))
    except ValueError:
        return None
