"""Capacity reported is what can then really be created, on file systems that are really that small.

Each case makes, grows, fills and deletes volumes at random, and asks in between: the largest volume
reported must be creatable, really holding that much, and the next larger one must not.
"""

import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from random import Random

import pytest

from plimsoll.processes.driver.backends.protocol import BackendRequest
from plimsoll.processes.driver.records import VolumeMode
from tests.processes.driver.node.ground import (
    MIB,
    Ground,
    a_file_system,
    a_local_driver,
    needs_root,
    needs_root_and,
)

SMALL = 256 * MIB
DIRECTORY = {"type": "directory"}
IMAGE = {"type": "image"}
MEMORY = {"medium": "memory"}
MIRRORED = {"layout": "mirrored"}
BTRFS = needs_root_and("mkfs.btrfs", "btrfs")
CLASSES = [
    pytest.param(DIRECTORY, (2, SMALL), id="directories"),
    pytest.param(IMAGE, (2, SMALL), id="images"),
    pytest.param(MEMORY, (1, SMALL), id="memory"),
    pytest.param(MIRRORED, (2, 5 * SMALL), id="mirrored", marks=BTRFS),
    pytest.param({"layout": "striped"}, (2, 5 * SMALL), id="striped", marks=BTRFS),
]

pytestmark = needs_root


class Churn:
    """Volumes come and go; what is in them is written, to various degrees."""

    def __init__(self, ground: Ground, parameters: Mapping[str, str], chance: Random) -> None:
        self._ground = ground
        self._parameters = parameters
        self._chance = chance
        self._volumes: list[str] = []
        self._number = 0

    async def turn(self) -> None:
        largest = (await self._ground.capacity(self._parameters)).maximum_volume_size.value
        if self._volumes and (self._chance.random() < 0.4 or not largest):
            volume = self._volumes.pop(self._chance.randrange(len(self._volumes)))
            await self._ground.delete(volume)
        else:
            volume = await self.make(self._chance.randint(1, max(1, largest // 2)))
            self._write_into(volume)

    async def make(self, size_bytes: int) -> str:
        self._number += 1
        volume = await self._ground.create(
            f"v{self._number}", size_bytes=size_bytes, parameters=self._parameters
        )
        self._volumes.append(volume)
        return volume

    async def cannot_make(self, size_bytes: int) -> str:
        return await self._ground.cannot_create(
            "too-large", size_bytes=size_bytes, parameters=self._parameters
        )

    def _write_into(self, volume: str) -> None:
        """Of directories the driver knows only by looking how full they are."""
        record = self._ground.record(volume)
        for directory in self._ground.directory.glob(f"disk-*/volumes/{volume}"):
            used = self._chance.randint(0, record.size_bytes)
            (directory / "file").write_bytes(bytes(used))

    async def fill(self) -> int:
        """Make the largest again and again; what was made in all."""
        total = 0
        while largest := (await self._ground.capacity(self._parameters)).maximum_volume_size.value:
            await self.make(largest)
            total += largest
        return total


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("parameters", "disks"), CLASSES)
async def test_the_largest_volume_reported_can_be_made_and_no_larger_one(
    ground_dir: Path, parameters: dict[str, str], disks: tuple[int, int], seed: int
) -> None:
    count, size = disks
    with ExitStack() as mounted:
        for number in range(count):
            mounted.enter_context(a_file_system(ground_dir / f"disk-{number}.fs", size))
        async with a_local_driver(
            ground_dir, disks=count, size_bytes=None, memory_bytes=SMALL
        ) as ground:
            unit = ground.driver.backend.layout(a_request(parameters)).unit_bytes
            churn = Churn(ground, parameters, Random(seed))
            for _ in range(6):
                await churn.turn()
                answer = await ground.capacity(parameters)
                largest = answer.maximum_volume_size.value
                assert await churn.cannot_make(largest + unit) == "RESOURCE_EXHAUSTED"
                if largest:
                    volume = await churn.make(largest)
                    assert ground.record(volume).size_bytes == largest
            available = (await ground.capacity(parameters)).available_capacity
            assert await churn.fill() == available
            for volume in [record.id for record in ground.driver.ledger.volumes.all()]:
                await ground.delete(volume)


def a_request(parameters: Mapping[str, str]) -> BackendRequest:
    return BackendRequest(
        parameters=parameters, mutable_parameters={}, mode=VolumeMode.FILESYSTEM, fs_type=""
    )


async def test_directories_can_be_filled_to_what_was_promised_them(ground_dir: Path) -> None:
    with a_file_system(ground_dir / "disk-0.fs", SMALL):
        async with a_local_driver(ground_dir, size_bytes=None) as ground:
            churn = Churn(ground, DIRECTORY, Random(0))
            largest = (await ground.capacity(DIRECTORY)).maximum_volume_size.value
            share = largest // 3 // 4096 * 4096
            volumes = [await churn.make(share) for _ in range(3)]
            for volume in volumes:
                target = await ground.use(volume)
                (target / "file").write_bytes(bytes(ground.record(volume).size_bytes - 8192))
                os.sync()
                await ground.leave(volume)


async def test_what_others_put_on_the_disk_is_not_promised(ground_dir: Path) -> None:
    with a_file_system(ground_dir / "disk-0.fs", SMALL) as disk:
        async with a_local_driver(ground_dir, size_bytes=None) as ground:
            before = (await ground.capacity(IMAGE)).available_capacity
            (disk / "foreign").write_bytes(bytes(100 * MIB))
            os.sync()
            after = (await ground.capacity(IMAGE)).available_capacity
            assert 100 * MIB <= before - after < 102 * MIB


async def test_a_limit_holds_even_if_the_disk_has_more(ground_dir: Path) -> None:
    async with a_local_driver(ground_dir, size_bytes=64 * MIB) as ground:
        await ground.create(mib=48)
        assert (await ground.capacity(IMAGE)).available_capacity == 16 * MIB
        assert await ground.cannot_create("other", mib=17) == "RESOURCE_EXHAUSTED"


async def test_disks_on_one_file_system_do_not_promise_its_room_twice(ground_dir: Path) -> None:
    with a_file_system(ground_dir / "disks.fs", SMALL) as both:
        for number in range(2):
            (both / f"disk-{number}").mkdir()
            (ground_dir / f"disk-{number}").symlink_to(both / f"disk-{number}")
        async with a_local_driver(ground_dir, disks=2, size_bytes=None) as ground:
            answer = await ground.capacity(IMAGE)
            assert answer.available_capacity < SMALL
            total = await Churn(ground, IMAGE, Random(0)).fill()
            assert total == answer.available_capacity
            for volume in [record.id for record in ground.driver.ledger.volumes.all()]:
                await ground.delete(volume)
