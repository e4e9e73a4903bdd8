import pytest

from plimsoll.api.volumes import CsiSource, VolumeSpec
from plimsoll.decide.csi.capability import parse_capability
from plimsoll.decide.provisioning.calls import Block, Mount

ONCE, ROX, RWX, POD = "ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"


@pytest.mark.parametrize(
    ("modes", "plain", "finer"),
    [
        pytest.param((ONCE,), "SINGLE_NODE_WRITER", "SINGLE_NODE_MULTI_WRITER", id="one-node"),
        pytest.param((POD,), "SINGLE_NODE_WRITER", "SINGLE_NODE_SINGLE_WRITER", id="one-pod"),
        pytest.param((ROX,), "MULTI_NODE_READER_ONLY", "MULTI_NODE_READER_ONLY", id="readers"),
        pytest.param(
            (ONCE, ROX, RWX), "MULTI_NODE_MULTI_WRITER", "MULTI_NODE_MULTI_WRITER", id="widest"
        ),
    ],
)
def test_the_widest_mode_stands_for_all(modes: tuple[str, ...], plain: str, finer: str) -> None:
    spec = VolumeSpec(access_modes=modes)
    assert parse_capability(spec, finer_modes=False).access_mode == plain
    assert parse_capability(spec, finer_modes=True).access_mode == finer


@pytest.mark.parametrize("modes", [(), (POD, ONCE), (ROX, ONCE)], ids=["none", "pod", "readers"])
def test_modes_that_do_not_go_together_are_refused(modes: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"AccessMode|access modes|ReadWriteOnce"):
        parse_capability(VolumeSpec(access_modes=modes), finer_modes=False)


def test_a_device_has_no_file_system() -> None:
    source = CsiSource(driver="d", volume_handle="h", fs_type="xfs")
    spec = VolumeSpec(access_modes=(ONCE,), csi=source, mount_options=("noatime",))
    assert parse_capability(spec, finer_modes=False).access == Mount("xfs", ("noatime",))
    block = VolumeSpec(access_modes=(ONCE,), csi=source, volume_mode="Block")
    assert parse_capability(block, finer_modes=False).access == Block()
