"""Simulated volumes are real enough: files and devices that keep what was written."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from plimsoll.processes.driver.backends.protocol import DirectorySource
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.errors import DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi
from tests.processes.driver.drivers import MIB, ONE_POOL, Running, a_driver, capability


def stage_request(volume_id: str, path: Path) -> csi.NodeStageVolumeRequest:
    return csi.NodeStageVolumeRequest(
        volume_id=volume_id, staging_target_path=str(path), volume_capability=capability()
    )


async def abnormal(running: Running, volume_id: str) -> bool:
    request = csi.ControllerGetVolumeRequest(volume_id=volume_id)
    answer = await running.call(m.CONTROLLER_GET_VOLUME, request)
    return answer.status.volume_condition.abnormal


async def test_a_copy_has_the_content_of_its_origin_and_goes_its_own_way(tmp_path: Path) -> None:
    async with a_driver(directory=tmp_path) as running:
        origin = await running.create("origin", mib=5)
        file = tmp_path / "volumes" / origin.volume_id / "file"
        file.write_text("precious")
        copy = await running.create("copy", volume=origin.volume_id)
        file.write_text("changed")
        await running.delete(origin.volume_id)
        copied = tmp_path / "volumes" / copy.volume_id / "file"
        assert copied.read_text() == "precious"


async def test_a_block_volume_has_its_size_and_takes_no_room_on_disk(tmp_path: Path) -> None:
    async with a_driver(directory=tmp_path) as running:
        volume = await running.create(mib=64, block=True)
        image = tmp_path / "volumes" / f"{volume.volume_id}.img"
        assert (image.stat().st_size, image.stat().st_blocks) == (64 * MIB, 0)
        image.write_bytes(b"precious")
        await running.expand(volume.volume_id, 128)
        assert image.stat().st_size == 128 * MIB
        copy = await running.create("copy", volume=volume.volume_id, block=True)
        copied = tmp_path / "volumes" / f"{copy.volume_id}.img"
        assert copied.stat().st_size == 128 * MIB
        with copied.open("rb") as content:
            assert content.read(8) == b"precious"


async def test_volumes_outlive_the_loss_of_their_records(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with a_driver(directory=tmp_path) as running:
        volume = await running.create(mib=5)
        block = await running.create("block", mib=5, block=True)
    kept = [
        tmp_path / "volumes" / volume.volume_id,
        tmp_path / "volumes" / f"{block.volume_id}.img",
    ]
    (kept[0] / "file").write_text("precious")
    (tmp_path / "volumes" / ".half.new").mkdir()
    (tmp_path / "driver.db").unlink()
    async with a_driver(directory=tmp_path):
        assert sorted((tmp_path / "volumes").iterdir()) == sorted(kept)
        assert (kept[0] / "file").read_text() == "precious"
    told = {r.__dict__["path"] for r in caplog.records if r.message.endswith("record kept")}
    assert told == {str(path) for path in kept}


async def test_a_volume_whose_files_are_gone_is_abnormal(tmp_path: Path) -> None:
    async with a_driver(directory=tmp_path) as running:
        volume = await running.create(mib=5)
        assert not await abnormal(running, volume.volume_id)
        (tmp_path / "volumes" / volume.volume_id).rmdir()
        assert await abnormal(running, volume.volume_id)
        await running.delete(volume.volume_id)


async def test_a_node_reaches_a_volume_only_once_it_is_attached(tmp_path: Path) -> None:
    async with a_driver(directory=tmp_path) as running:
        volume = await running.create(mib=5)
        request = stage_request(volume.volume_id, tmp_path / "staging")
        assert await running.refused(m.NODE_STAGE_VOLUME, request) is DriverFailure.WRONG_STATE
        await running.attach(volume.volume_id)
        record = await running.driver.volume(volume.volume_id)
        path = tmp_path / "volumes" / volume.volume_id
        assert await running.backend.open(record, "node-a") == DirectorySource(path=path)
        assert running.backend.opened(record, "node-a") == DirectorySource(path=path)


async def test_a_slow_pool_takes_its_time() -> None:
    async with a_driver({**ONE_POOL[0], "latency": "5s"}) as running:
        creating = asyncio.ensure_future(running.create(mib=1))
        await running.clock.run(timedelta(seconds=4))
        assert not creating.done()
        await running.clock.run(timedelta(seconds=2))
        assert (await creating).capacity_bytes == MIB
