"""Mount options on real mounts: what is refused, and that a mount is found however it was made."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from plimsoll.runtime.commands import run
from plimsoll.runtime.files.mountinfo import find_mount, read_mounts
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.gen import csi_pb2 as csi
from tests.processes.driver.drivers import capability
from tests.processes.driver.node.ground import (
    Ground,
    a_local_driver,
    left_mounted,
    needs_root,
    needs_root_and,
    wanted_volume,
)

pytestmark = needs_root
INVALID = "INVALID_ARGUMENT"
KINDS = [
    pytest.param(fs_type, mib, id=fs_type, marks=needs_root_and(f"mkfs.{fs_type}"))
    for fs_type, mib in (("ext4", 16), ("xfs", 300), ("btrfs", 256))
]


@pytest.fixture
async def ground(ground_dir: Path) -> AsyncIterator[Ground]:
    async with a_local_driver(ground_dir) as found:
        yield found


async def test_a_class_with_an_option_that_is_not_allowed_gets_no_volume(ground: Ground) -> None:
    request = wanted_volume("data", mib=16)
    request.volume_capabilities[0].mount.mount_flags.append("noatime,loop")
    assert await ground.refused(m.CREATE_VOLUME, request) == INVALID
    assert "mount option 'loop' is not allowed for ext4; allowed are acl" in ground.messages[-1]
    assert not list(ground.directory.glob("disk-*/volumes/*"))


async def test_a_volume_is_not_confirmed_for_an_option_that_is_not_allowed(ground: Ground) -> None:
    volume = await ground.create(mib=16)
    wanted = capability()
    wanted.mount.mount_flags.append("loop")
    request = csi.ValidateVolumeCapabilitiesRequest(volume_id=volume, volume_capabilities=[wanted])
    answer = await ground.call(m.VALIDATE_VOLUME_CAPABILITIES, request)
    assert not answer.HasField("confirmed")
    assert "mount option 'loop' is not allowed for ext4" in answer.message


@pytest.mark.parametrize("parameters", [{"type": "image"}, {"type": "directory"}])
async def test_nothing_is_left_of_a_stage_that_was_refused(
    ground: Ground, parameters: dict[str, str]
) -> None:
    volume = await ground.create(mib=16, parameters=parameters)
    request = ground.stage_request(volume, ["loop"])
    assert await ground.refused(m.NODE_STAGE_VOLUME, request) == INVALID
    assert "mount option 'loop' is not allowed" in ground.messages[-1]
    assert left_mounted(ground.directory) == []
    await ground.until_detached()


async def test_a_volume_of_memory_has_the_size_that_was_promised(ground_dir: Path) -> None:
    async with a_local_driver(ground_dir, memory_bytes=1 << 30) as ground:
        volume = await ground.create(mib=16, parameters={"medium": "memory"})
        request = ground.stage_request(volume, ["size=1g"])
        assert await ground.refused(m.NODE_STAGE_VOLUME, request) == INVALID


@pytest.mark.parametrize(("fs_type", "mib"), KINDS)
async def test_options_that_are_allowed_hold(ground: Ground, fs_type: str, mib: int) -> None:
    volume = await ground.create(mib=mib, fs_type=fs_type)
    staged = await ground.stage(volume, ["noatime,nodev", "ro"], fs_type=fs_type)
    mount = find_mount(read_mounts(), staged)
    assert mount is not None
    assert {"noatime", "nodev", "ro"} <= mount.options


@pytest.mark.parametrize(("fs_type", "mib"), KINDS)
async def test_a_volume_behind_a_second_loop_device_is_in_use_until_it_is_unstaged(
    ground: Ground, fs_type: str, mib: int
) -> None:
    """As drivers mounted it that let `loop` pass."""
    volume = await ground.create(mib=mib, fs_type=fs_type)
    staged = await ground.stage(volume, fs_type=fs_type)
    (device,) = ground.devices()
    await run(["umount", staged])
    await run(["mount", "-t", fs_type, "-o", "loop", device, staged])

    deletion = csi.DeleteVolumeRequest(volume_id=volume)
    assert await ground.refused(m.DELETE_VOLUME, deletion) == "FAILED_PRECONDITION"
    assert str(staged) in ground.messages[-1]
    target = await ground.publish(volume, fs_type=fs_type)
    (target / "file").write_text("content")
    await ground.leave(volume)
    assert left_mounted(ground.directory) == []
    await ground.until_detached()
    await ground.delete(volume)
    assert ground.images(volume) == []


async def test_what_is_not_the_volume_is_not_unmounted_with_it(ground: Ground) -> None:
    volume = await ground.create(mib=16)
    place = ground.staging(volume)
    place.mkdir(parents=True)
    await run(["mount", "-t", "tmpfs", "other", place])
    request = csi.NodeUnstageVolumeRequest(volume_id=volume, staging_target_path=str(place))
    assert await ground.refused(m.NODE_UNSTAGE_VOLUME, request) == "FAILED_PRECONDITION"
    assert "something else is mounted" in ground.messages[-1]
    assert left_mounted(ground.directory) == [str(place)]
