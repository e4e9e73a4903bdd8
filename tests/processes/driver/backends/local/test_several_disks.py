"""Volumes over several disks: what they cost, and what they survive."""

import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from plimsoll.wire.csi import methods as m
from tests.processes.driver.node.ground import (
    MIB,
    Ground,
    a_local_driver,
    left_mounted,
    needs_root_and,
)

MIRRORED = {"layout": "mirrored"}
STRIPED = {"layout": "striped"}

pytestmark = needs_root_and("mkfs.btrfs", "btrfs")


@pytest.fixture
async def ground(ground_dir: Path) -> AsyncIterator[Ground]:
    async with a_local_driver(ground_dir, disks=2) as found:
        yield found


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def fill(directory: Path) -> str:
    (directory / "file").write_bytes(os.urandom(20 * MIB))
    return digest(directory / "file")


async def test_a_mirrored_volume_survives_the_loss_of_either_image(ground: Ground) -> None:
    for number in range(2):
        volume = await ground.create(f"data-{number}", mib=256, parameters=MIRRORED)
        written = fill(await ground.use(volume))
        await ground.leave(volume)
        ground.images(volume)[number].unlink()
        target = await ground.use(volume)
        assert digest(target / "file") == written
        condition = (await ground.stats(volume, target)).volume_condition
        assert condition.abnormal
        assert "one of two copies is lost" in condition.message
        (target / "more").write_text("it can still be written to")
        await ground.leave(volume)
        target = await ground.use(volume)
        assert (target / "more").exists()
        await ground.leave(volume)
        await ground.delete(volume)
    await ground.until_detached()
    assert left_mounted(ground.directory) == []


async def test_both_images_lost_are_a_lost_volume(ground: Ground) -> None:
    volume = await ground.create(mib=256, parameters=MIRRORED)
    for image in ground.images(volume):
        image.unlink()
    assert await ground.refused(m.NODE_STAGE_VOLUME, ground.stage_request(volume)) == "INTERNAL"
    assert "its data with it" in ground.messages[-1]


async def test_a_mirrored_volume_takes_twice_the_room(ground: Ground) -> None:
    linear = await ground.capacity({"type": "image"})
    mirrored = await ground.capacity(MIRRORED)
    assert linear.available_capacity == 2 * mirrored.available_capacity
    await ground.create(mib=256, parameters=MIRRORED)
    after = await ground.capacity({"type": "image"})
    assert linear.available_capacity - after.available_capacity == 512 * MIB


async def test_a_striped_volume_may_be_larger_than_each_of_its_disks(ground: Ground) -> None:
    linear = await ground.capacity({"type": "image"})
    striped = await ground.capacity(STRIPED)
    assert striped.maximum_volume_size.value == 2 * linear.maximum_volume_size.value
    volume = await ground.create(mib=512, parameters=STRIPED)
    written = fill(await ground.use(volume))
    await ground.leave(volume)
    assert digest(await ground.use(volume) / "file") == written
    await ground.leave(volume)
    ground.images(volume)[0].unlink()
    assert await ground.refused(m.NODE_STAGE_VOLUME, ground.stage_request(volume)) == "INTERNAL"


@pytest.mark.parametrize(
    ("parameters", "mib"),
    [pytest.param(MIRRORED, 256, id="mirrored"), pytest.param(STRIPED, 512, id="striped")],
)
async def test_copies_are_used_beside_their_origin_and_grow(
    ground: Ground, parameters: dict[str, str], mib: int
) -> None:
    volume = await ground.create(mib=mib, parameters=parameters)
    target = await ground.use(volume)
    written = fill(target)
    snapshot = await ground.take_snapshot(volume)
    fill(target)
    restored = await ground.create(
        "restored", mib=mib + 64, snapshot=snapshot, parameters=parameters
    )
    copy = await ground.use(restored)
    assert digest(copy / "file") == written
    before = os.statvfs(copy).f_blocks
    await ground.expand(restored, mib + 128)
    await ground.node_expand(restored)
    assert os.statvfs(copy).f_blocks > before
    for name in (volume, restored):
        await ground.leave(name)
    assert digest(await ground.use(restored) / "file") == written


async def test_a_volume_that_lost_an_image_is_neither_copied_nor_grown(ground: Ground) -> None:
    volume = await ground.create(mib=256, parameters=MIRRORED)
    ground.images(volume)[1].unlink()
    wanted = {"volume": volume, "parameters": MIRRORED}
    assert await ground.cannot_create("copy", **wanted) == "FAILED_PRECONDITION"
    request = m.CONTROLLER_EXPAND_VOLUME.request(volume_id=volume)
    request.capacity_range.required_bytes = 300 * MIB
    assert await ground.refused(m.CONTROLLER_EXPAND_VOLUME, request) == "FAILED_PRECONDITION"


async def test_one_disk_is_not_enough(ground_dir: Path) -> None:
    async with a_local_driver(ground_dir, disks=1) as ground:
        assert (await ground.capacity(MIRRORED)).available_capacity == 0
        refused = await ground.cannot_create(mib=256, parameters=MIRRORED)
        assert refused == "RESOURCE_EXHAUSTED"
