import subprocess
from pathlib import Path
from uuid import UUID

import pytest

from plimsoll.processes.driver.backends.local.btrfs_identity import crc32c, renew_identity
from tests.processes.driver.node.ground import MIB, needs_root_and

FIRST = UUID("11111111-1111-4111-8111-111111111111")
SECOND = UUID("22222222-2222-4222-8222-222222222222")


def test_the_checksum_is_castagnolis() -> None:
    assert crc32c(b"123456789") == 0xE3069283


def test_what_is_no_btrfs_is_left_alone(tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(bytes(MIB))
    with pytest.raises(ValueError, match="is no btrfs file system"):
        renew_identity([image], FIRST)
    assert image.read_bytes() == bytes(MIB)


@needs_root_and("mkfs.btrfs", "btrfs")
def test_the_identity_can_be_renewed_again_and_again(tmp_path: Path) -> None:
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(128 * MIB)
    subprocess.run(["mkfs.btrfs", "-q", image], check=True, timeout=60, capture_output=True)
    for identity in (FIRST, SECOND):
        renew_identity([image], identity)
        checked = subprocess.run(
            ["btrfs", "check", image], check=True, timeout=60, capture_output=True, text=True
        )
        assert f"UUID: {identity}" in checked.stdout
        assert "no error found" in checked.stdout
