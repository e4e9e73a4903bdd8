"""Volumes as images, with each file system and without one."""

import asyncio
import hashlib
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from plimsoll.processes.driver.node import filesystems
from plimsoll.runtime.commands import run
from plimsoll.runtime.files.mountinfo import find_mount, read_mounts
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.gen import csi_pb2 as csi
from tests.processes.driver.node.ground import (
    MIB,
    Ground,
    a_local_driver,
    left_mounted,
    may_resize_ext4,
    needs_root,
    needs_root_and,
)

SIZES = {"ext4": 16, "xfs": 300, "btrfs": 256}
KINDS = [
    pytest.param(fs_type, id=fs_type, marks=needs_root_and(f"mkfs.{fs_type}")) for fs_type in SIZES
]
GROWING = [
    pytest.param("ext4", id="ext4", marks=may_resize_ext4),
    pytest.param("xfs", id="xfs", marks=needs_root_and("mkfs.xfs", "xfs_growfs")),
    pytest.param("btrfs", id="btrfs", marks=needs_root_and("mkfs.btrfs", "btrfs")),
]
IMAGE = {"type": "image"}

pytestmark = needs_root


@pytest.fixture
async def ground(ground_dir: Path) -> AsyncIterator[Ground]:
    async with a_local_driver(ground_dir) as found:
        yield found


def total_bytes(path: Path) -> int:
    found = os.statvfs(path)
    return found.f_blocks * found.f_frsize


async def identity(device_or_image: Path) -> str:
    found = await run(["blkid", "-p", "-o", "value", "-s", "UUID", device_or_image])
    return found.stdout.strip()


@pytest.mark.parametrize("fs_type", KINDS)
async def test_what_was_written_is_there_after_unstaging(ground: Ground, fs_type: str) -> None:
    volume = await ground.create(mib=SIZES[fs_type], fs_type=fs_type)
    target = await ground.use(volume, fs_type=fs_type)
    mount = find_mount(read_mounts(), target)
    assert mount is not None
    assert mount.fs_type == fs_type
    content = os.urandom(MIB)
    (target / "file").write_bytes(content)
    await ground.leave(volume)
    await ground.until_detached()
    assert left_mounted(ground.directory) == []
    again = await ground.use(volume, fs_type=fs_type)
    assert (
        hashlib.sha256((again / "file").read_bytes()).digest() == hashlib.sha256(content).digest()
    )


@pytest.mark.parametrize("fs_type", KINDS)
async def test_the_room_of_a_volume_is_really_taken_and_kept(ground: Ground, fs_type: str) -> None:
    size = SIZES[fs_type]
    volume = await ground.create(mib=size, fs_type=fs_type)
    (image,) = ground.images(volume)
    assert image.stat().st_blocks * 512 >= size * MIB
    target = await ground.use(volume, fs_type=fs_type)
    (target / "file").write_bytes(bytes(MIB))
    (target / "file").unlink()
    await ground.leave(volume)
    await ground.use(volume, fs_type=fs_type)
    assert image.stat().st_blocks * 512 >= size * MIB


@pytest.mark.parametrize("fs_type", GROWING)
async def test_a_file_system_in_use_grows(ground: Ground, fs_type: str) -> None:
    size = SIZES[fs_type]
    volume = await ground.create(mib=size, fs_type=fs_type)
    target = await ground.use(volume, fs_type=fs_type)
    (target / "file").write_text("content")
    before = total_bytes(target)
    await ground.expand(volume, 2 * size)
    assert await ground.node_expand(volume) == 2 * size * MIB
    assert total_bytes(target) - before > size * MIB * 0.8
    assert (target / "file").read_text() == "content"
    assert ground.record(volume).filesystem_bytes == 2 * size * MIB


@pytest.mark.parametrize("fs_type", KINDS)
async def test_a_volume_that_grew_while_unused_is_grown_when_staged(
    ground: Ground, fs_type: str
) -> None:
    size = SIZES[fs_type]
    volume = await ground.create(mib=size, fs_type=fs_type)
    target = await ground.use(volume, fs_type=fs_type)
    (target / "file").write_text("content")
    before = total_bytes(target)
    await ground.leave(volume)
    await ground.expand(volume, 2 * size)
    target = await ground.use(volume, fs_type=fs_type)
    assert total_bytes(target) - before > size * MIB * 0.8
    assert (target / "file").read_text() == "content"


@pytest.mark.parametrize("fs_type", KINDS)
async def test_a_snapshot_holds_what_was_there_and_can_be_used_beside_its_origin(
    ground: Ground, fs_type: str
) -> None:
    size = SIZES[fs_type]
    volume = await ground.create(mib=size, fs_type=fs_type)
    target = await ground.use(volume, fs_type=fs_type)
    (target / "file").write_text("before")
    snapshot = await ground.take_snapshot(volume)
    (target / "file").write_text("after")
    restored = await ground.create("restored", snapshot=snapshot, fs_type=fs_type)
    assert (await ground.use(restored, fs_type=fs_type) / "file").read_text() == "before"
    assert (target / "file").read_text() == "after"
    (image,), (copy,) = ground.images(volume), ground.images(restored)
    assert await identity(image) != await identity(copy)


@pytest.mark.parametrize("fs_type", KINDS)
async def test_a_clone_may_be_larger(ground: Ground, fs_type: str) -> None:
    size = SIZES[fs_type]
    volume = await ground.create(mib=size, fs_type=fs_type)
    target = await ground.use(volume, fs_type=fs_type)
    (target / "file").write_text("content")
    clone = await ground.create("clone", mib=2 * size, volume=volume, fs_type=fs_type)
    cloned = await ground.use(clone, fs_type=fs_type)
    assert (cloned / "file").read_text() == "content"
    assert total_bytes(cloned) - total_bytes(target) > size * MIB * 0.8
    again = await ground.create("again", volume=clone, fs_type=fs_type)
    assert (await ground.use(again, fs_type=fs_type) / "file").read_text() == "content"


async def test_snapshots_taken_at_once_do_not_disturb_each_other(ground: Ground) -> None:
    volume = await ground.create(mib=16)
    target = await ground.use(volume)
    (target / "file").write_text("content")
    async with asyncio.TaskGroup() as tasks:
        taken = [tasks.create_task(ground.take_snapshot(volume, f"s{n}")) for n in range(3)]
    (target / "other").write_text("nothing is frozen any more")
    restored = await ground.create("restored", snapshot=taken[2].result())
    assert (await ground.use(restored) / "file").read_text() == "content"


async def test_a_copy_of_a_volume_that_was_never_used_is_empty_and_usable(ground: Ground) -> None:
    volume = await ground.create(mib=16)
    clone = await ground.create("clone", volume=volume)
    (await ground.use(clone) / "file").write_text("content")


async def test_a_copy_has_the_type_of_its_origin(ground: Ground) -> None:
    volume = await ground.create(mib=16, parameters={"type": "directory"})
    wanted = {"volume": volume, "parameters": IMAGE}
    assert await ground.cannot_create("clone", **wanted) == "INVALID_ARGUMENT"


async def test_an_interrupted_mkfs_is_not_taken_for_a_file_system(ground: Ground) -> None:
    volume = await ground.create(mib=16)
    (image,) = ground.images(volume)
    # As much of a file system as can be recognised, and no more.
    await run(["mkfs.ext4", "-q", "-F", image])
    with image.open("r+b") as file:
        file.seek(2048)
        file.write(os.urandom(8 * MIB))
    assert await filesystems.content_of(image) == "ext4"
    (await ground.use(volume) / "file").write_text("content")


async def test_a_vanished_file_system_is_not_replaced_by_an_empty_one(ground: Ground) -> None:
    volume = await ground.create(mib=16)
    await ground.use(volume)
    await ground.leave(volume)
    (image,) = ground.images(volume)
    with image.open("r+b") as file:
        file.write(bytes(16 * MIB))
    assert await ground.refused(m.NODE_STAGE_VOLUME, ground.stage_request(volume)) == "INTERNAL"
    assert "has vanished" in ground.messages[-1]
    await ground.until_detached()


async def test_another_file_system_than_the_volumes_is_refused(ground: Ground) -> None:
    volume = await ground.create(mib=16)
    request = ground.stage_request(volume, fs_type="xfs")
    assert await ground.refused(m.NODE_STAGE_VOLUME, request) == "INVALID_ARGUMENT"
    await ground.until_detached()


async def test_a_lost_image_is_told(ground: Ground) -> None:
    volume = await ground.create(mib=16)
    ground.images(volume)[0].unlink()
    answer = await ground.call(
        m.CONTROLLER_GET_VOLUME, csi.ControllerGetVolumeRequest(volume_id=volume)
    )
    assert answer.status.volume_condition.abnormal
    assert await ground.refused(m.NODE_STAGE_VOLUME, ground.stage_request(volume)) == "INTERNAL"


async def test_a_block_volume_is_a_device(ground: Ground) -> None:
    volume = await ground.create(mib=4, block=True)
    target = await ground.use(volume, block=True)
    assert stat.S_ISBLK(target.stat().st_mode)
    content = os.urandom(4096)
    with target.open("r+b") as device:
        device.write(content)
    usage = (await ground.stats(volume, target)).usage
    assert [item.total for item in usage] == [4 * MIB]
    await ground.leave(volume)
    assert not target.exists()
    assert not list(ground.staging(volume).iterdir())
    await ground.until_detached()
    again = await ground.use(volume, block=True)
    with again.open("rb") as device:
        assert device.read(4096) == content


async def test_a_block_volume_grows_in_use(ground: Ground) -> None:
    volume = await ground.create(mib=4, block=True)
    target = await ground.use(volume, block=True)
    await ground.expand(volume, 8)
    with target.open("rb") as device:
        assert device.seek(0, os.SEEK_END) == 8 * MIB


async def test_a_read_only_device_cannot_be_written_to(ground: Ground) -> None:
    volume = await ground.create(mib=4, block=True)
    await ground.stage(volume, block=True)
    target = await ground.publish(volume, read_only=True, block=True)
    with pytest.raises(PermissionError), target.open("r+b", buffering=0) as device:
        device.write(bytes(4096))
    writing = ground.publish_request(volume, "other", block=True)
    assert await ground.refused(m.NODE_PUBLISH_VOLUME, writing) == "FAILED_PRECONDITION"
    await ground.unpublish(volume)
    writable = await ground.publish(volume, block=True)
    with writable.open("r+b", buffering=0) as device:
        device.write(bytes(4096))


async def test_a_block_snapshot_is_the_same_bit_for_bit(ground: Ground) -> None:
    volume = await ground.create(mib=4, block=True)
    target = await ground.use(volume, block=True)
    content = os.urandom(MIB)
    with target.open("r+b") as device:
        device.write(content)
    snapshot = await ground.take_snapshot(volume)
    restored = await ground.create("restored", snapshot=snapshot, block=True)
    copy = await ground.use(restored, block=True)
    with copy.open("rb") as device:
        assert device.read(MIB) == content


async def test_a_volume_is_used_as_what_it_was_made_as(ground: Ground) -> None:
    volume = await ground.create(mib=16)
    request = ground.stage_request(volume, block=True)
    assert await ground.refused(m.NODE_STAGE_VOLUME, request) == "INVALID_ARGUMENT"


async def test_deleting_gives_the_room_back(ground: Ground) -> None:
    before = (await ground.capacity(IMAGE)).available_capacity
    volume = await ground.create(mib=64)
    snapshot = await ground.take_snapshot(volume)
    taken = before - (await ground.capacity(IMAGE)).available_capacity
    assert taken == 128 * MIB
    await ground.delete_snapshot(snapshot)
    await ground.delete(volume)
    assert (await ground.capacity(IMAGE)).available_capacity == before
    assert list(ground.directory.glob("disk-0/*/*")) == []
