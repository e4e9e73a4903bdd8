"""File systems on loop devices, as root."""

import os
from pathlib import Path

import pytest

from plimsoll.processes.driver.node import loop_devices
from plimsoll.processes.driver.node.filesystems import (
    EXT4,
    MINIMUM_BYTES,
    content_of,
    make,
)
from plimsoll.runtime.commands import CommandError, run
from tests.processes.driver.node.ground import needs_root_and

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root has loop devices")

SIZE = 8 << 20


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "disk"
    made.touch()
    os.truncate(made, SIZE)
    return made


async def test_a_device_with_nothing_on_it_is_told_from_one_with_a_file_system(file: Path) -> None:
    device = await loop_devices.attach_new(file)
    try:
        assert await content_of(device) == ""
        await make(EXT4, [device])
        assert await content_of(device) == EXT4
    finally:
        await run(["losetup", "--detach", device])


async def test_a_device_that_cannot_be_read_is_an_error_and_not_empty(file: Path) -> None:
    """Nothing is behind it any more, so every read is an I/O error."""
    device = await loop_devices.attach_new(file)
    try:
        os.truncate(file, 0)
        with pytest.raises(CommandError, match="Input/output error"):
            await content_of(device)
    finally:
        await run(["losetup", "--detach", device])


@pytest.mark.parametrize(
    "fs_type",
    [pytest.param(each, marks=needs_root_and(f"mkfs.{each}")) for each in sorted(MINIMUM_BYTES)],
)
async def test_a_file_system_of_which_only_the_beginning_can_be_read_is_still_one(
    file: Path, fs_type: str
) -> None:
    """blkid, which looks at the end as well, says that there is nothing."""
    os.truncate(file, MINIMUM_BYTES[fs_type] + SIZE)
    device = await loop_devices.attach_new(file)
    try:
        await make(fs_type, [device])
        os.truncate(file, 1 << 20)
        with pytest.raises(CommandError, match="failed with code 2"):
            await run(["blkid", "--probe", device])
        assert await content_of(device) == fs_type
    finally:
        await run(["losetup", "--detach", device])
