import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.processes.driver.node.ground import (
    MIB,
    Ground,
    a_local_driver,
    left_mounted,
    needs_root,
)

MEMORY = {"medium": "memory"}

pytestmark = needs_root


@pytest.fixture
async def ground(ground_dir: Path) -> AsyncIterator[Ground]:
    async with a_local_driver(ground_dir, memory_bytes=64 * MIB) as found:
        yield found


async def test_it_holds_exactly_what_was_promised(ground: Ground) -> None:
    volume = await ground.create(mib=16, parameters=MEMORY)
    target = await ground.use(volume)
    (target / "file").write_bytes(bytes(16 * MIB))
    with pytest.raises(OSError, match="No space left"):
        (target / "more").write_bytes(bytes(4096))
    usage = (await ground.stats(volume, target)).usage[0]
    assert (usage.total, usage.used, usage.available) == (16 * MIB, 16 * MIB, 0)


async def test_it_survives_unstaging_and_a_restart_of_the_driver(ground_dir: Path) -> None:
    async with a_local_driver(ground_dir, memory_bytes=64 * MIB) as ground:
        volume = await ground.create(mib=16, parameters=MEMORY)
        (await ground.use(volume) / "file").write_text("content")
        await ground.leave(volume)
    async with a_local_driver(ground_dir, memory_bytes=64 * MIB) as ground:
        assert (await ground.use(volume) / "file").read_text() == "content"
        await ground.leave(volume)
        await ground.delete(volume)
        assert left_mounted(ground_dir) == []


async def test_it_is_lost_with_the_machine_and_says_so(ground: Ground) -> None:
    volume = await ground.create(mib=16, parameters=MEMORY)
    target = await ground.use(volume)
    (target / "file").write_text("content")
    await ground.leave(volume)
    _forget_memory(ground.directory)
    record = ground.record(volume)
    assert (await ground.driver.backend.condition(record)).abnormal
    assert list((await ground.use(volume)).iterdir()) == []
    assert not (await ground.driver.backend.condition(record)).abnormal


def _forget_memory(directory: Path) -> None:
    for path in left_mounted(directory):
        subprocess.run(["umount", path], check=True, timeout=10)


async def test_the_budget_of_the_node_is_kept(ground: Ground) -> None:
    await ground.create(mib=48, parameters=MEMORY)
    assert (await ground.capacity(MEMORY)).maximum_volume_size.value == 16 * MIB
    refused = await ground.cannot_create("other", mib=17, parameters=MEMORY)
    assert refused == "RESOURCE_EXHAUSTED"
    await ground.create("other", mib=16, parameters=MEMORY)
    assert (await ground.capacity(MEMORY)).available_capacity == 0


async def test_it_grows_in_use(ground: Ground) -> None:
    volume = await ground.create(mib=16, parameters=MEMORY)
    target = await ground.use(volume)
    (target / "file").write_bytes(bytes(16 * MIB))
    await ground.expand(volume, 32)
    assert await ground.node_expand(volume) == 32 * MIB
    found = os.statvfs(target)
    assert found.f_blocks * found.f_frsize == 32 * MIB
    (target / "more").write_bytes(bytes(16 * MIB))


async def test_snapshots_and_clones_are_in_memory_too(ground: Ground) -> None:
    volume = await ground.create(mib=16, parameters=MEMORY)
    target = await ground.use(volume)
    (target / "file").write_text("before")
    snapshot = await ground.take_snapshot(volume)
    (target / "file").write_text("after")
    restored = await ground.create("restored", snapshot=snapshot, parameters=MEMORY)
    assert (await ground.use(restored) / "file").read_text() == "before"
    assert (await ground.capacity(MEMORY)).available_capacity == 16 * MIB
    await ground.delete_snapshot(snapshot)
    for name in (volume, restored):
        await ground.leave(name)
        await ground.delete(name)
    assert left_mounted(ground.directory) == []
