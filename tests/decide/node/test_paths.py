from pathlib import PurePosixPath

from plimsoll.decide.csi.devices import Device
from plimsoll.decide.node.actual_state import PublishedPlace, PublishedVolume, StagedVolume
from plimsoll.decide.node.paths import NodeLayout, inline_handle

LAYOUT = NodeLayout(PurePosixPath("/node"))
DEVICE = Device("disk.example.com", "handle")
PLACE = PublishedPlace("uid", "pv")


def test_file_systems_are_where_kubelet_has_them() -> None:
    staged = LAYOUT.staging_path(StagedVolume(device=DEVICE, name="pv"))
    head, digest, tail = staged.rsplit("/", 2)
    assert head == "/node/plugins/kubernetes.io/csi/disk.example.com"
    assert (len(digest), tail) == (64, "globalmount")
    target = LAYOUT.target_path(PublishedVolume(place=PLACE, device=DEVICE))
    assert target == "/node/pods/uid/volumes/kubernetes.io~csi/pv/mount"


def test_devices_are_where_kubelet_has_them() -> None:
    base = "/node/plugins/kubernetes.io/csi/volumeDevices"
    staged = StagedVolume(device=DEVICE, name="pv", is_block=True)
    assert LAYOUT.staging_path(staged) == f"{base}/staging/pv"
    published = PublishedVolume(place=PLACE, device=DEVICE, is_block=True)
    assert LAYOUT.target_path(published) == f"{base}/publish/pv/uid"
    assert str(LAYOUT.device_data("pv")) == f"{base}/pv/data"
    link = "/node/pods/uid/volumeDevices/kubernetes.io~csi/pv"
    assert str(LAYOUT.device_link(PLACE)) == link


def test_an_inline_volume_has_a_handle_of_its_own_in_every_pod() -> None:
    assert inline_handle("uid", "scratch").startswith("csi-")
    assert inline_handle("uid", "scratch") != inline_handle("other", "scratch")
    assert inline_handle("uid", "scratch") == inline_handle("uid", "scratch")
