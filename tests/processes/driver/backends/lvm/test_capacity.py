"""What the driver says of its room, asked through CSI, against what lvm2 then really makes."""

from pathlib import Path
from random import Random

import pytest

from plimsoll.wire.csi.errors import DriverError, DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi
from tests.processes.driver.backends.lvm.callers import Caller, a_driver
from tests.processes.driver.backends.lvm.disks import (
    EXTENT,
    needs_device_mapper,
    needs_lvm,
    volume_group,
    without_device_mapper,
)

pytestmark = needs_lvm
Parameters = dict[str, str]

CLASSES: tuple[Parameters, ...] = (
    {},
    {"layout": "striped"},
    {"layout": "striped", "stripes": "2"},
)


async def prove_capacity(caller: Caller, parameters: Parameters) -> None:
    """The largest volume can be made, and none that is larger by one unit."""
    capacity = await caller.capacity(parameters)
    largest = capacity.maximum_volume_size.value
    with pytest.raises(DriverError) as refused:
        await caller.create(parameters, largest + 1)
    assert refused.value.failure is DriverFailure.OUT_OF_CAPACITY
    # Our own words: lvm2 was not even asked.
    assert "the largest volume there is room for" in refused.value.detail
    if not largest:
        return
    made = await caller.create(parameters, largest)
    assert made.capacity_bytes == largest
    # Stripes on some of the disks may leave room on one that has no partner any more.
    rest = (await caller.capacity(parameters)).available_capacity
    assert rest <= capacity.available_capacity - largest
    assert rest == 0 or "stripes" in parameters
    await caller.delete(made.volume_id)


@pytest.mark.parametrize("seed", range(3))
async def test_capacity_is_what_can_then_be_made(tmp_path: Path, seed: int) -> None:
    chance = Random(seed)
    sizes = [chance.randint(3, 14) for _ in range(3)]
    with volume_group(tmp_path, sizes) as (group, settings):
        async with a_driver(settings) as caller:
            volumes: list[csi.Volume] = []
            for _ in range(6):
                await self_willed_step(caller, chance, volumes)
                await prove_capacity(caller, chance.choice(CLASSES))
            assert group.names() == {volume.volume_id for volume in volumes}


async def self_willed_step(caller: Caller, chance: Random, volumes: list[csi.Volume]) -> None:
    """Whatever users do: make, grow, delete; what there is no room for is refused."""
    deed = chance.choice(("make", "make", "grow", "delete"))
    size = chance.randint(1, 9) * EXTENT
    try:
        if deed == "make" or not volumes:
            volumes.append(await caller.create(chance.choice(CLASSES), size))
        elif deed == "grow":
            chosen = chance.choice(volumes)
            await caller.expand(chosen.volume_id, chosen.capacity_bytes + size)
        else:
            gone = volumes.pop(chance.randrange(len(volumes)))
            await caller.delete(gone.volume_id)
    except DriverError as refused:
        expected = DriverFailure.REJECTED if deed == "grow" else DriverFailure.OUT_OF_CAPACITY
        if refused.failure is not expected:
            raise


async def test_all_of_a_group_can_be_used(tmp_path: Path) -> None:
    with volume_group(tmp_path, [7, 5]) as (_, settings):
        async with a_driver(settings) as caller:
            for parameters, most in (({}, 12), ({"layout": "striped"}, 10)):
                capacity = await caller.capacity(parameters)
                assert capacity.maximum_volume_size.value == most * EXTENT
                await prove_capacity(caller, parameters)


async def test_sizes_are_rounded_up_to_whole_extents_and_stripes(tmp_path: Path) -> None:
    with volume_group(tmp_path, [8, 8, 8]) as (_, settings):
        async with a_driver(settings) as caller:
            linear = await caller.create({}, EXTENT + 1)
            striped = await caller.create({"layout": "striped"}, EXTENT + 1)
            assert linear.capacity_bytes == 2 * EXTENT
            assert striped.capacity_bytes == 3 * EXTENT


async def test_more_stripes_than_disks_have_no_room_here(tmp_path: Path) -> None:
    with volume_group(tmp_path, [8, 8]) as (_, settings):
        async with a_driver(settings) as caller:
            capacity = await caller.capacity({"layout": "striped", "stripes": "3"})
            assert capacity.available_capacity == 0
            assert capacity.maximum_volume_size.value == 0


async def test_a_striped_volume_grows_as_it_was_made_after_a_disk_was_added(
    tmp_path: Path,
) -> None:
    with volume_group(tmp_path, [8, 8, 8]) as (group, settings):
        group.run("vgreduce", group.lvm.group, group.lvm.disks[2])
        async with a_driver(settings) as caller:
            volume = await caller.create({"layout": "striped"}, 4 * EXTENT)
            group.run("vgextend", group.lvm.group, group.lvm.disks[2])
            await caller.capacity({})
            await caller.expand(volume.volume_id, 7 * EXTENT)
            assert group.lies_on(volume.volume_id) == set(group.lvm.disks[:2])
            await prove_capacity(caller, {"layout": "striped"})


async def test_a_group_that_may_hold_no_more_volumes_has_no_room(tmp_path: Path) -> None:
    with volume_group(tmp_path, [8, 8]) as (group, settings):
        async with a_driver(settings) as caller:
            group.run("vgchange", "--logicalvolume", "1", group.lvm.group)
            await caller.create({}, EXTENT)
            assert (await caller.capacity({})).available_capacity == 0
            await prove_capacity(caller, {})


@needs_device_mapper
async def test_mirrored_capacity_is_what_can_then_be_made(tmp_path: Path) -> None:
    with volume_group(tmp_path, [9, 7, 4]) as (_, settings):
        async with a_driver(settings) as caller:
            await caller.create({"layout": "mirrored"}, 2 * EXTENT)
            await prove_capacity(caller, {"layout": "mirrored"})


@without_device_mapper
async def test_without_device_mapper_there_is_no_room_for_mirrored_volumes(tmp_path: Path) -> None:
    with volume_group(tmp_path, [9, 7]) as (_, settings):
        async with a_driver(settings) as caller:
            assert (await caller.capacity({"layout": "mirrored"})).available_capacity == 0
            with pytest.raises(DriverError, match="device-mapper is not usable here") as refused:
                await caller.create({"layout": "mirrored"}, EXTENT)
            assert refused.value.failure is DriverFailure.OUT_OF_CAPACITY
