"""What a driver finds when it starts after a crash, and what it does about it."""

import subprocess
from pathlib import Path

import msgspec
import pytest

from plimsoll.processes.driver.backends.local.backend import make
from plimsoll.processes.driver.node.loop_devices import attach
from plimsoll.processes.driver.records import RecordPhase
from plimsoll.processes.driver.settings import BackendSettings, Disk, NodeSettings, SetupError
from tests.processes.driver.node.ground import (
    MIB,
    a_file_system,
    a_local_driver,
    left_mounted,
    needs_root,
)

pytestmark = needs_root


async def test_what_was_being_made_is_cleared_away(ground_dir: Path) -> None:
    async with a_local_driver(ground_dir) as ground:
        volume = await ground.create(mib=16)
        making = msgspec.structs.replace(ground.record(volume), phase=RecordPhase.MAKING)
        ground.driver.ledger.volumes.put(making)
        await attach(_half_made(ground_dir / "disk-0" / "volumes" / "half.img.new"))
    async with a_local_driver(ground_dir) as ground:
        await ground.until_detached()
        assert ground.images("*") == []
        assert (await ground.capacity({})).available_capacity == 2048 * MIB


def _half_made(path: Path) -> Path:
    path.write_bytes(bytes(MIB))
    return path


async def test_a_device_that_no_volume_uses_is_let_go(ground_dir: Path) -> None:
    async with a_local_driver(ground_dir) as ground:
        volume = await ground.create(mib=16)
        await attach(ground.images(volume)[0])
    async with a_local_driver(ground_dir) as ground:
        await ground.until_detached()
        await ground.use(volume)


async def test_what_is_in_use_stays_in_use(ground_dir: Path) -> None:
    async with a_local_driver(ground_dir) as ground:
        volume = await ground.create(mib=16)
        target = await ground.use(volume)
        (target / "file").write_text("content")
    async with a_local_driver(ground_dir) as ground:
        assert (target / "file").read_text() == "content"
        await ground.use(volume)
        assert len(ground.devices()) == 1
        await ground.leave(volume)
        await ground.until_detached()


async def test_a_stage_that_was_interrupted_is_completed(ground_dir: Path) -> None:
    async with a_local_driver(ground_dir) as ground:
        volume = await ground.create(mib=16)
        staging = await ground.stage(volume)
        (staging / "file").write_text("content")
        # Mounted, but not recorded: as if the crash came in between.
        record = msgspec.structs.replace(ground.record(volume), filesystem_bytes=8 * MIB)
        ground.driver.ledger.volumes.put(record)
        await ground.unstage(volume)
    async with a_local_driver(ground_dir) as ground:
        target = await ground.use(volume)
        assert (target / "file").read_text() == "content"
        assert ground.record(volume).filesystem_bytes == 16 * MIB


async def test_a_file_system_that_a_dead_driver_held_still_is_thawed(ground_dir: Path) -> None:
    async with a_local_driver(ground_dir) as ground:
        volume = await ground.create(mib=16)
        target = await ground.use(volume)
        _freeze(target)
    async with a_local_driver(ground_dir) as ground:
        (target / "file").write_text("this would hang otherwise")


def _freeze(path: Path) -> None:
    subprocess.run(["fsfreeze", "--freeze", path], check=True, timeout=10)


async def test_mounts_without_a_record_go_and_their_data_stays(ground_dir: Path) -> None:
    async with a_local_driver(ground_dir) as ground:
        volume = await ground.create(mib=16)
        target = await ground.use(volume)
        (target / "file").write_text("content")
        ground.driver.ledger.volumes.drop(volume)
    async with a_local_driver(ground_dir) as ground:
        await ground.until_detached()
        assert left_mounted(ground_dir) == []
        assert len(ground.images(volume)) == 1


async def test_a_disk_that_was_taken_away_does_not_keep_the_driver_from_starting(
    ground_dir: Path,
) -> None:
    async with a_local_driver(ground_dir, disks=2) as ground:
        for number in range(2):
            await ground.create(f"data-{number}", mib=1500)
        volumes = ground.driver.ledger.volumes.all()
    gone = next(v for v in volumes if v.placement.parts[0].extent.endswith("disk-1"))
    async with a_local_driver(ground_dir, disks=1) as ground:
        assert (await ground.driver.backend.condition(gone)).abnormal


def test_one_disk_serves_one_node(tmp_path: Path) -> None:
    disk = Disk(path=tmp_path / "disk", create=True)
    nodes = (NodeSettings(id="a", disks=(disk,)), NodeSettings(id="b", disks=(disk,)))
    with pytest.raises(SetupError, match="is given twice"):
        make(BackendSettings(driver_name="d", data_dir=tmp_path / "data", nodes=nodes))


def test_a_disk_has_one_driver(tmp_path: Path) -> None:
    nodes = (NodeSettings(id="a", disks=(Disk(path=tmp_path / "disk", create=True),)),)
    for _ in range(2):
        make(BackendSettings(driver_name="d", data_dir=tmp_path / "data", nodes=nodes))
    with pytest.raises(SetupError, match="belongs to a driver with another --data-dir"):
        make(BackendSettings(driver_name="d", data_dir=tmp_path / "other", nodes=nodes))


def test_a_disk_that_cannot_be_written_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    nodes = (NodeSettings(id="a", disks=(Disk(path=tmp_path / "file"),)),)
    with pytest.raises(SetupError, match="give a directory that can be written to"):
        make(BackendSettings(driver_name="d", data_dir=tmp_path / "data", nodes=nodes))


def test_a_disk_that_does_not_exist_is_refused_and_not_made(tmp_path: Path) -> None:
    nodes = (NodeSettings(id="a", disks=(Disk(path=tmp_path / "nosuch"),)),)
    with pytest.raises(
        SetupError, match="nosuch: does not exist; mount it there, or give --create"
    ):
        make(BackendSettings(driver_name="d", data_dir=tmp_path / "data", nodes=nodes))
    assert not (tmp_path / "nosuch").exists()


def test_a_disk_that_is_no_mount_point_is_warned_about(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "disk").mkdir()
    nodes = (NodeSettings(id="a", disks=(Disk(path=tmp_path / "disk"),)),)
    make(BackendSettings(driver_name="d", data_dir=tmp_path / "data", nodes=nodes))
    assert "disk is no mount point" in caplog.text


@needs_root
def test_a_disk_that_is_mounted_is_no_matter(
    ground_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with a_file_system(ground_dir / "disk.img", 16 << 20) as disk:
        nodes = (NodeSettings(id="a", disks=(Disk(path=disk),)),)
        make(BackendSettings(driver_name="d", data_dir=ground_dir / "data", nodes=nodes))
    assert caplog.text == ""
