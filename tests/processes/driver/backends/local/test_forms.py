import pytest

from plimsoll.processes.driver.backends.local.forms import Defaults, layout_of, parse_form
from plimsoll.processes.driver.backends.protocol import BackendRequest, VolumeLayout
from plimsoll.processes.driver.records import VolumeMode
from plimsoll.wire.csi.errors import CsiStatusError

MIB = 1024**2
ROOT = Defaults(privileged=True, stripes=3)
NOT_ROOT = Defaults(privileged=False, stripes=2)
POOLS = frozenset({"alpha/disks"})


def a_request(
    mode: VolumeMode | None = VolumeMode.FILESYSTEM, fs_type: str = "", **parameters: str
) -> BackendRequest:
    return BackendRequest(parameters=parameters, mutable_parameters={}, mode=mode, fs_type=fs_type)


def layout(wanted: BackendRequest, defaults: Defaults = ROOT) -> VolumeLayout:
    return layout_of(parse_form(wanted, defaults), POOLS)


def refusal(wanted: BackendRequest, defaults: Defaults = ROOT) -> str:
    with pytest.raises(CsiStatusError) as refused:
        parse_form(wanted, defaults)
    return refused.value.detail


@pytest.mark.parametrize(
    ("wanted", "cost"),
    [
        pytest.param(a_request(type="directory"), (1, 1, 4096, 4096), id="directory"),
        pytest.param(a_request(medium="memory"), (1, 1, 4096, 4096), id="memory"),
        pytest.param(a_request(), (1, 1, 4096, 2 * MIB), id="ext4-is-usual"),
        pytest.param(a_request(None), (1, 1, 4096, 2 * MIB), id="capacity-without-capability"),
        pytest.param(a_request(fs_type="xfs"), (1, 1, 4096, 300 * MIB), id="xfs"),
        pytest.param(a_request(fsType="btrfs"), (1, 1, 4096, 256 * MIB), id="btrfs-by-class"),
        pytest.param(a_request(VolumeMode.BLOCK), (1, 1, 4096, 4096), id="block"),
        pytest.param(a_request(layout="mirrored"), (2, 2, MIB, 256 * MIB), id="mirrored"),
        pytest.param(a_request(layout="striped"), (1, 3, 3 * MIB, 768 * MIB), id="over-all-disks"),
        pytest.param(
            a_request(layout="striped", stripes="2"),
            (1, 2, 2 * MIB, 512 * MIB),
            id="over-two-disks",
        ),
    ],
)
def test_what_a_class_costs(wanted: BackendRequest, cost: tuple[int, int, int, int]) -> None:
    found = layout(wanted)
    assert (found.copies, found.shares, found.unit_bytes, found.minimum_bytes) == cost


def test_without_root_directories_are_usual() -> None:
    assert layout(a_request(), NOT_ROOT).minimum_bytes == 4096


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        pytest.param(
            a_request(colour="red"), "unknown colour; known are type, medium", id="unknown"
        ),
        pytest.param(a_request(type="tape"), "known are directory, image", id="unknown-type"),
        pytest.param(a_request(layout="heap"), "known are linear, striped, mirrored", id="layout"),
        pytest.param(a_request(fs_type="ntfs"), "known are ext4, xfs, btrfs", id="file-system"),
        pytest.param(
            a_request(fs_type="xfs", fsType="ext4"), "the class says ext4", id="contradiction"
        ),
        pytest.param(
            a_request(VolumeMode.BLOCK, layout="mirrored"), "device-mapper", id="mirrored-block"
        ),
        pytest.param(
            a_request(VolumeMode.BLOCK, layout="striped"), "device-mapper", id="striped-block"
        ),
        pytest.param(
            a_request(VolumeMode.BLOCK, type="directory"), "needs type: image", id="block-directory"
        ),
        pytest.param(
            a_request(VolumeMode.BLOCK, medium="memory"), "needs type: image", id="block-memory"
        ),
        pytest.param(
            a_request(fs_type="ext4", layout="mirrored"), "is done by btrfs", id="raid-ext4"
        ),
        pytest.param(
            a_request(type="directory", layout="striped"), "needs type: image", id="striped"
        ),
        pytest.param(a_request(type="image", medium="memory"), "no type: image", id="memory-image"),
        pytest.param(
            a_request(type="directory", fs_type="xfs"), "none of its own", id="directory-xfs"
        ),
        pytest.param(
            a_request(layout="striped", stripes="1"), "no number from 2 to", id="one-stripe"
        ),
        pytest.param(a_request(stripes="2"), "is for layout: striped", id="stripes-without-need"),
    ],
)
def test_what_cannot_be_is_refused_with_a_remedy(wanted: BackendRequest, text: str) -> None:
    assert text in refusal(wanted)


@pytest.mark.parametrize(
    "wanted", [a_request(type="image"), a_request(medium="memory")], ids=("image", "memory")
)
def test_what_needs_root_says_so(wanted: BackendRequest) -> None:
    assert "needs root" in refusal(wanted, NOT_ROOT)
