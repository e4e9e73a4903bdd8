"""Copies of images: equal to the byte, as cheap as their data, and charged in full."""

import asyncio
import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

from plimsoll.processes.driver.backends.local.files import copy_file, reserve
from plimsoll.processes.driver.backends.local.shared_blocks import (
    counted_twice,
    covered,
    shared_ranges,
)
from plimsoll.processes.driver.backends.local.sparse_copies import copy_data, data_ranges
from tests.processes.driver.node.ground import (
    MIB,
    Ground,
    a_file_system,
    a_local_driver,
    needs_root_and,
)

BLOCK = 4096
LONG = timedelta(minutes=1)
BLOCKS = {"type": "image"}
SHARING = [
    pytest.param(fs_type, mib, id=fs_type, marks=needs_root_and(f"mkfs.{fs_type}"))
    for fs_type, mib in (("xfs", 400), ("btrfs", 400))
]


def data_bytes(path: Path) -> int:
    with path.open("rb") as file:
        return sum(end - start for start, end in data_ranges(file.fileno()))


def a_sparse_file(path: Path, seed: int, size: int) -> None:
    chance = Random(seed)
    with path.open("wb") as file:
        file.truncate(size)
        for _ in range(chance.randint(0, 12)):
            file.seek(chance.randrange(size // BLOCK) * BLOCK)
            file.write(chance.randbytes(min(BLOCK * chance.randint(1, 9), size - file.tell())))


@pytest.mark.parametrize("seed", range(12))
async def test_a_copy_is_equal_wherever_the_data_lies(tmp_path: Path, seed: int) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    a_sparse_file(source, seed, 4 * MIB)
    await reserve(target, 6 * MIB)
    await copy_file(source, target, 4 * MIB)
    copied = target.read_bytes()
    assert copied[: 4 * MIB] == source.read_bytes()
    assert copied[4 * MIB :] == bytes(2 * MIB)
    assert target.stat().st_blocks * 512 >= 6 * MIB


async def test_room_that_was_never_written_to_is_not_copied(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    await reserve(source, 64 * MIB)
    with source.open("r+b") as file:
        file.seek(32 * MIB)
        file.write(os.urandom(MIB))
    await reserve(target, 64 * MIB)
    await copy_file(source, target, 64 * MIB)
    assert data_bytes(target) == data_bytes(source) == MIB
    assert target.read_bytes() == source.read_bytes()


async def test_a_cancelled_copy_has_stopped_when_the_caller_goes_on(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    with source.open("wb") as file:
        for _ in range(64):
            file.write(os.urandom(MIB))
    target.write_bytes(b"")
    copying = asyncio.ensure_future(copy_data(source, target, within=LONG))
    await asyncio.to_thread(has_begun, target)
    copying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await copying
    found = target.stat()
    assert found.st_size < 64 * MIB
    await asyncio.to_thread(os.sync)
    assert target.stat().st_mtime_ns == found.st_mtime_ns


def has_begun(target: Path) -> None:
    while not target.stat().st_size:
        pass


async def test_a_copy_that_takes_too_long_says_so(tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(bytes(64 * MIB))
    (tmp_path / "target").touch()
    with pytest.raises(OSError, match="copying took too long"):
        await copy_data(tmp_path / "source", tmp_path / "target", within=timedelta())


@pytest.mark.parametrize(
    ("ranges", "length"),
    [
        pytest.param([], 0, id="none"),
        pytest.param([(0, 5), (10, 12)], 7, id="apart"),
        pytest.param([(0, 5), (0, 5), (0, 5)], 5, id="the-same"),
        pytest.param([(0, 5), (3, 8), (4, 6)], 8, id="overlapping"),
    ],
)
def test_bytes_that_several_ranges_cover_count_once(
    ranges: list[tuple[int, int]], length: int
) -> None:
    assert covered(ranges) == length


@pytest.fixture
def sharing_disk(ground_dir: Path, fs_type: str, mib: int) -> Iterator[Path]:
    """A disk of its own on which files can share blocks."""
    with a_file_system(ground_dir / "shared.img", mib * MIB, fs_type) as place:
        yield place


@pytest.mark.parametrize(("fs_type", "mib"), SHARING)
async def test_blocks_are_shared_until_they_are_written_to(sharing_disk: Path) -> None:
    source, target = sharing_disk / "source", sharing_disk / "target"
    source.write_bytes(os.urandom(16 * MIB))
    await reserve(target, 20 * MIB)
    await copy_file(source, target, 16 * MIB)
    os.sync()
    assert target.read_bytes()[: 16 * MIB] == source.read_bytes()
    assert sum(end - start for start, end in shared_ranges(target)) == 16 * MIB
    assert counted_twice([source, target]) == 16 * MIB
    with target.open("r+b") as file:
        file.write(os.urandom(4 * MIB))
        os.fsync(file.fileno())
    assert counted_twice([source, target]) == 12 * MIB


async def fill(ground: Ground, volume: str, mib: int) -> None:
    device = await ground.use(volume, block=True)
    with device.open("r+b") as file:
        for _ in range(mib):
            file.write(os.urandom(MIB))
        os.fsync(file.fileno())
    await ground.leave(volume)


@pytest.mark.parametrize(("fs_type", "mib"), SHARING[:1])
async def test_a_copy_that_shares_blocks_is_charged_in_full(sharing_disk: Path) -> None:
    async with a_local_driver(sharing_disk, size_bytes=None) as ground:
        volume = await ground.create(mib=64, parameters=BLOCKS, block=True)
        await fill(ground, volume, 64)
        before = (await ground.capacity(BLOCKS, block=True)).maximum_volume_size.value
        clone = await ground.create("clone", mib=64, parameters=BLOCKS, block=True, volume=volume)
        os.sync()
        after = (await ground.capacity(BLOCKS, block=True)).maximum_volume_size.value
        assert 60 * MIB <= before - after <= 68 * MIB
        # All that is left is promised, and every volume can still be written in full.
        rest = await ground.create("rest", size_bytes=after, parameters=BLOCKS, block=True)
        for each, size in ((volume, 64), (clone, 64), (rest, after // MIB)):
            await fill(ground, each, size)
