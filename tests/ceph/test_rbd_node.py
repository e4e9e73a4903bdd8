import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from plimsoll.processes.driver.settings import Mounts
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.errors import DriverError, DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi
from tests.ceph import guardian
from tests.ceph.interrupted_calls import JournalGround, journal_ground
from tests.ceph.loopback_cluster import LoopbackCluster
from tests.ceph.rbd_drivers import CLASS, rbd_driver
from tests.processes.driver.drivers import MIB, Running, capability

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")


@pytest.fixture
def directory(cluster: LoopbackCluster) -> Path:
    """Below that of the cluster: should a test be killed, its mounts go with the cluster."""
    made = cluster.directory / "driver"
    made.mkdir(exist_ok=True)
    return made


@pytest.fixture
async def ground(cluster: LoopbackCluster, directory: Path) -> AsyncIterator[JournalGround]:
    async with journal_ground(cluster) as made:
        yield made
        await made.assert_empty()
    assert guardian.mounts(directory) == []
    assert guardian.loop_devices(directory) == []


async def create(driver: Running, **how: object) -> str:
    volume = await driver.create("data", mib=32, zones=["zone-a"], parameters=CLASS, **how)
    return volume.volume_id


async def stage(driver: Running, volume_id: str, place: Path, *, block: bool = False) -> None:
    os.makedirs(place, exist_ok=True)  # noqa: PTH103 - the loop waits for nothing else here
    request = csi.NodeStageVolumeRequest(
        volume_id=volume_id,
        staging_target_path=str(place),
        volume_capability=capability(block=block),
    )
    await driver.call(m.NODE_STAGE_VOLUME, request)


async def publish(
    driver: Running, volume_id: str, staged: Path, target: Path, *, block: bool = False
) -> None:
    request = csi.NodePublishVolumeRequest(
        volume_id=volume_id,
        staging_target_path=str(staged),
        target_path=str(target),
        volume_capability=capability(block=block),
    )
    await driver.call(m.NODE_PUBLISH_VOLUME, request)


async def take_back(driver: Running, volume_id: str, staged: Path, target: Path) -> None:
    unpublish = csi.NodeUnpublishVolumeRequest(volume_id=volume_id, target_path=str(target))
    await driver.call(m.NODE_UNPUBLISH_VOLUME, unpublish)
    unstage = csi.NodeUnstageVolumeRequest(volume_id=volume_id, staging_target_path=str(staged))
    await driver.call(m.NODE_UNSTAGE_VOLUME, unstage)


async def delete(driver: Running, volume_id: str) -> None:
    """A client that was killed has the image open until its watch times out."""
    until = time.monotonic() + 30
    while True:
        try:
            return await driver.delete(volume_id)
        except DriverError as error:
            if error.failure is not DriverFailure.WRONG_STATE or time.monotonic() > until:
                raise
        await asyncio.sleep(0.2)


async def test_what_a_pod_writes_is_there_when_it_comes_back(
    cluster: LoopbackCluster, ground: JournalGround, directory: Path
) -> None:
    """Also in a driver that was started anew, and in a volume that has grown meanwhile."""
    staged, target = directory / "staged", directory / "target"
    async with rbd_driver(cluster, directory, mounts=Mounts.REAL) as driver:
        volume_id = await create(driver)
        await stage(driver, volume_id, staged)
        await stage(driver, volume_id, staged)
        await publish(driver, volume_id, staged, target)
        (target / "file").write_text("kept")
        await take_back(driver, volume_id, staged, target)
        assert (await ground.contents()).images
    async with rbd_driver(cluster, directory, mounts=Mounts.REAL) as driver:
        assert await driver.expand(volume_id, 64) == 64
        await stage(driver, volume_id, staged)
        await publish(driver, volume_id, staged, target)
        assert (target / "file").read_text() == "kept"
        sizes = os.statvfs(target)
        assert sizes.f_blocks * sizes.f_frsize > 48 * MIB
        await take_back(driver, volume_id, staged, target)
        await driver.delete(volume_id)


@pytest.mark.usefixtures("ground")
async def test_a_driver_that_is_started_anew_finds_what_is_in_use(
    cluster: LoopbackCluster, directory: Path
) -> None:
    staged, target = directory / "staged", directory / "target"
    async with rbd_driver(cluster, directory, mounts=Mounts.REAL) as driver:
        volume_id = await create(driver)
        await stage(driver, volume_id, staged)
        await publish(driver, volume_id, staged, target)
        (target / "file").write_text("kept")
    async with rbd_driver(cluster, directory, mounts=Mounts.REAL) as driver:
        assert (target / "file").read_text() == "kept"
        await take_back(driver, volume_id, staged, target)
        await delete(driver, volume_id)


@pytest.mark.usefixtures("ground")
async def test_a_block_volume_is_a_device(cluster: LoopbackCluster, directory: Path) -> None:
    staged, target = directory / "staged", directory / "device"
    async with rbd_driver(cluster, directory, mounts=Mounts.REAL) as driver:
        volume_id = await create(driver, block=True)
        await stage(driver, volume_id, staged, block=True)
        await publish(driver, volume_id, staged, target, block=True)
        with target.open("r+b", buffering=0) as device:
            device.write(b"data" * 128)
            os.fsync(device)
        with target.open("rb", buffering=0) as device:
            assert device.read(4) == b"data"
        await take_back(driver, volume_id, staged, target)
        await driver.delete(volume_id)


@pytest.mark.usefixtures("ground")
async def test_after_rbd_fuse_was_killed_the_volume_can_be_staged_again(
    cluster: LoopbackCluster, directory: Path
) -> None:
    staged, target = directory / "staged", directory / "target"
    async with rbd_driver(cluster, directory, mounts=Mounts.REAL) as driver:
        volume_id = await create(driver)
        await stage(driver, volume_id, staged)
        await publish(driver, volume_id, staged, target)
        (target / "file").write_text("kept")
        os.sync()
        for pid in guardian.processes(directory):
            os.kill(pid, signal.SIGKILL)
        await take_back(driver, volume_id, staged, target)
        await stage(driver, volume_id, staged)
        await publish(driver, volume_id, staged, target)
        assert (target / "file").read_text() == "kept"
        await take_back(driver, volume_id, staged, target)
        await delete(driver, volume_id)
