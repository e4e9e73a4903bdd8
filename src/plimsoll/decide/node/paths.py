"""Where things are below a node's directory.

The layout is kubelet's, so that drivers, and people who know it, find what they look for:

    pods/<uid>/volumes/kubernetes.io~csi/<volume>/mount           a published file system
    pods/<uid>/volumes/kubernetes.io~csi/<volume>/vol_data.json   what it is
    pods/<uid>/volumeDevices/kubernetes.io~csi/<volume>           a published device, as a link
    plugins/kubernetes.io/csi/<driver>/<hash>/globalmount         a staged file system
    plugins/kubernetes.io/csi/<driver>/<hash>/vol_data.json
    plugins/kubernetes.io/csi/volumeDevices/staging/<volume>      a staged device
    plugins/kubernetes.io/csi/volumeDevices/publish/<volume>/<uid>
    plugins/kubernetes.io/csi/volumeDevices/<volume>/data/vol_data.json
"""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import PurePosixPath

from plimsoll.decide.csi.devices import PLUGIN, Device
from plimsoll.decide.node.actual_state import PublishedPlace, PublishedVolume, StagedVolume

CSI_DIRECTORY = PLUGIN.replace("/", "~")
DATA_FILE = "vol_data.json"
MOUNT = "mount"
GLOBAL_MOUNT = "globalmount"
DEVICES = "volumeDevices"
STAGING, PUBLISH = "staging", "publish"


@dataclass(frozen=True, slots=True)
class NodeLayout:
    root: PurePosixPath

    @property
    def pods(self) -> PurePosixPath:
        return self.root / "pods"

    @property
    def plugins(self) -> PurePosixPath:
        return self.root / "plugins" / PLUGIN

    def pod(self, uid: str) -> PurePosixPath:
        return self.pods / uid

    def own_volume(self, place: PublishedPlace, plugin: str) -> PurePosixPath:
        """Of a volume that no driver serves, such as an emptyDir."""
        return self.pod(place.pod) / "volumes" / f"kubernetes.io~{plugin}" / place.name

    # File systems

    def volume(self, place: PublishedPlace) -> PurePosixPath:
        return self.pod(place.pod) / "volumes" / CSI_DIRECTORY / place.name

    def mount(self, place: PublishedPlace) -> PurePosixPath:
        return self.volume(place) / MOUNT

    def global_directory(self, device: Device) -> PurePosixPath:
        digest = sha256(device.handle.encode()).hexdigest()
        return self.plugins / device.driver / digest

    # Devices

    def device_link(self, place: PublishedPlace) -> PurePosixPath:
        return self.pod(place.pod) / DEVICES / CSI_DIRECTORY / place.name

    def device_data(self, name: str) -> PurePosixPath:
        return self.plugins / DEVICES / name / "data"

    def device_file(self, place: PublishedPlace) -> PurePosixPath:
        return self.plugins / DEVICES / PUBLISH / place.name / place.pod

    def device_staging(self, name: str) -> PurePosixPath:
        return self.plugins / DEVICES / STAGING / name

    # What drivers are told

    def staging_path(self, staged: StagedVolume) -> str:
        if staged.is_block:
            return str(self.device_staging(staged.name))
        return str(self.global_directory(staged.device) / GLOBAL_MOUNT)

    def target_path(self, published: PublishedVolume) -> str:
        if published.is_block:
            return str(self.device_file(published.place))
        return str(self.mount(published.place))


def inline_handle(pod_uid: str, volume: str) -> str:
    """How a driver knows a volume that lives and dies with its pod."""
    return f"csi-{sha256(f'{pod_uid}{volume}'.encode()).hexdigest()}"
