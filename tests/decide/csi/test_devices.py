"""Which devices volumes are, and what they are called."""

from hashlib import sha256

from hypothesis import given, strategies as st

from plimsoll.api.pods import PodVolume
from plimsoll.api.volumes import CsiSource, GcePersistentDisk
from plimsoll.decide.csi.devices import Device, device_of_volume, inline_device
from tests.builders import DRIVER, a_volume

DEVICE = Device(DRIVER, "volume-1")


def test_an_attachment_is_named_after_handle_driver_and_node() -> None:
    expected = sha256(b"volume-1local.plimsoll.devnode-1").hexdigest()
    assert DEVICE.attachment_name("node-1") == f"csi-{expected}"
    assert DEVICE.unique_name == "kubernetes.io/csi/local.plimsoll.dev^volume-1"


def test_which_devices_volumes_are() -> None:
    assert device_of_volume(a_volume()) == DEVICE
    disk = PodVolume(name="x", gce_persistent_disk=GcePersistentDisk(pd_name="d"))
    assert inline_device(disk) == Device(
        "pd.csi.storage.gke.io", "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"
    )
    assert inline_device(PodVolume(name="x")) is None


@given(
    driver=st.text("abc.-", min_size=1, max_size=6),
    handle=st.text("abc^/#", min_size=1, max_size=6),
)
def test_a_device_is_found_again_by_its_name(driver: str, handle: str) -> None:
    device = Device(driver, handle)
    assert Device.parse(str(device)) == device
    assert Device.of(CsiSource(driver=driver, volume_handle=handle)) == device
