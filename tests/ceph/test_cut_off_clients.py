"""rbd-fuse on a node whose client Ceph has on its blocklist, or that a driver left half-way.

rbd-fuse does not notice that it is blocked: it asks the same again, for ever, and each process that
looks into its directory waits with it.
"""

import asyncio
import os
import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from plimsoll.processes.driver.backends.ceph.records.writer_leases import parse_lease
from plimsoll.processes.driver.backends.rbd.backend import RbdBackend
from plimsoll.processes.driver.backends.rbd.fuse_devices import FuseDevices
from plimsoll.processes.driver.backends.rbd.fuse_processes import kill_all_at
from plimsoll.processes.driver.settings import Mounts
from plimsoll.runtime.clock import SystemClock
from plimsoll.runtime.commands import CommandError, run
from plimsoll.wire.csi.errors import DriverError
from tests.ceph import guardian
from tests.ceph.connections import access
from tests.ceph.interrupted_calls import JournalGround, journal_ground
from tests.ceph.loopback_cluster import POOLS, LoopbackCluster
from tests.ceph.rbd_drivers import CLASS, NODE, rbd_driver
from tests.ceph.staging import publish, stage, take_back
from tests.processes.driver.drivers import Running

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")

SECONDS = 60.0


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
    assert list(guardian.processes(directory)) == []


async def create(driver: Running) -> str:
    volume = await driver.create("data", mib=32, zones=["zone-a"], parameters=CLASS)
    return volume.volume_id


async def image_in(ground: JournalGround) -> str:
    (image,) = await ground.images(POOLS["zone-a"]).names()
    return image


async def block_client(cluster: LoopbackCluster, driver: Running, volume_id: str) -> None:
    backend = driver.driver.backend
    assert isinstance(backend, RbdBackend)
    stored = await backend.records.volumes.stored(volume_id)
    assert stored
    lease = parse_lease(stored.writer)
    assert lease
    cluster.command("osd blocklist", blocklistop="add", addr=lease.address)


async def until_unwatched(ground: JournalGround) -> None:
    images, image = ground.images(POOLS["zone-a"]), await image_in(ground)
    while await images.watchers(image):  # noqa: ASYNC110 - Ceph does not tell
        await asyncio.sleep(0.1)


def write_through(path: Path, text: str) -> None:
    with path.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file)


async def test_a_volume_whose_client_was_blocked_is_given_back_and_staged_again(
    cluster: LoopbackCluster, ground: JournalGround, directory: Path
) -> None:
    staged, target = directory / "staged", directory / "target"
    async with rbd_driver(cluster, directory, mounts=Mounts.REAL) as driver:
        volume_id = await create(driver)
        await stage(driver, volume_id, staged)
        await publish(driver, volume_id, staged, target)
        await asyncio.to_thread(write_through, target / "file", "kept")
        await block_client(cluster, driver, volume_id)
        await until_unwatched(ground)
        began = time.monotonic()
        await take_back(driver, volume_id, staged, target)
        await stage(driver, volume_id, staged)
        assert time.monotonic() - began < SECONDS
        await publish(driver, volume_id, staged, target)
        assert (target / "file").read_text() == "kept"
        await take_back(driver, volume_id, staged, target)
        await driver.delete(volume_id)


async def test_what_a_node_has_published_stays_old_after_it_was_cut_off_until_its_pods_end(
    cluster: LoopbackCluster, ground: JournalGround, directory: Path
) -> None:
    """Another node may have written to the volume since: nothing new is let in to what is old."""
    staged, target = directory / "staged", directory / "target"
    async with rbd_driver(cluster, directory, mounts=Mounts.REAL) as driver:
        volume_id = await create(driver)
        await stage(driver, volume_id, staged)
        await publish(driver, volume_id, staged, target)
        await block_client(cluster, driver, volume_id)
        await until_unwatched(ground)
        for call in (
            publish(driver, volume_id, staged, directory / "more"),
            stage(driver, volume_id, staged),
        ):
            with pytest.raises(DriverError, match="was cut off from Ceph on node node-1"):
                await call
        await take_back(driver, volume_id, staged, target)
        await driver.delete(volume_id)


async def test_a_volume_that_was_only_staged_when_the_node_was_cut_off_is_staged_anew(
    cluster: LoopbackCluster, ground: JournalGround, directory: Path
) -> None:
    """As when its next pod comes to the node before kubelet has unstaged it: kubelet never will."""
    staged, target = directory / "staged", directory / "target"
    async with rbd_driver(cluster, directory, mounts=Mounts.REAL) as driver:
        volume_id = await create(driver)
        await stage(driver, volume_id, staged)
        await block_client(cluster, driver, volume_id)
        await until_unwatched(ground)
        with pytest.raises(DriverError, match="was cut off from Ceph on node node-1"):
            await publish(driver, volume_id, staged, target)
        await stage(driver, volume_id, staged)
        await publish(driver, volume_id, staged, target)
        await asyncio.to_thread(write_through, target / "file", "written")
        await take_back(driver, volume_id, staged, target)
        await driver.delete(volume_id)


@pytest.mark.parametrize("block", [False, True], ids=["mount", "block"])
async def test_a_volume_that_was_deleted_elsewhere_is_taken_away_from_a_node_that_was_cut_off(
    cluster: LoopbackCluster, ground: JournalGround, directory: Path, *, block: bool
) -> None:
    staged, target = directory / "staged", directory / "target"
    async with (
        rbd_driver(cluster, directory, mounts=Mounts.REAL) as driver,
        rbd_driver(cluster, directory / "other") as other,
    ):
        volume = await driver.create(
            "data", mib=32, zones=["zone-a"], parameters=CLASS, block=block
        )
        volume_id = volume.volume_id
        await stage(driver, volume_id, staged, block=block)
        await publish(driver, volume_id, staged, target, block=block)
        await block_client(cluster, driver, volume_id)
        await until_unwatched(ground)
        await other.delete(volume_id)
        async with asyncio.timeout(SECONDS):
            await take_back(driver, volume_id, staged, target)
            await take_back(driver, volume_id, staged, target)
        assert not target.exists()


async def test_a_driver_that_died_while_it_opened_an_image_stages_it_the_next_time(
    cluster: LoopbackCluster, ground: JournalGround, directory: Path
) -> None:
    """rbd-fuse was started, and nothing came after that."""
    staged, target = directory / "staged", directory / "target"
    async with rbd_driver(cluster, directory, mounts=Mounts.REAL) as driver:
        volume_id = await create(driver)
        backend = driver.driver.backend
        assert isinstance(backend, RbdBackend)
        await backend.records.leases.take(await driver.driver.volume(volume_id), NODE)
    devices = FuseDevices(directory / "rbd", access(cluster), SystemClock())
    device = await devices.open(POOLS["zone-a"], await image_in(ground))
    await run(["losetup", "--detach", device])
    async with rbd_driver(cluster, directory, mounts=Mounts.REAL) as driver:
        async with asyncio.timeout(SECONDS):
            await stage(driver, volume_id, staged)
            await publish(driver, volume_id, staged, target)
        (target / "file").write_text("written")
        await take_back(driver, volume_id, staged, target)
        await driver.delete(volume_id)


@pytest.mark.usefixtures("ground")
async def test_the_directory_of_a_driver_may_be_behind_a_link(
    cluster: LoopbackCluster, directory: Path
) -> None:
    linked = directory / "linked"
    linked.unlink(missing_ok=True)
    (directory / "real").mkdir(exist_ok=True)
    linked.symlink_to(directory / "real")
    staged, target = directory / "staged", directory / "target"
    async with rbd_driver(cluster, linked, mounts=Mounts.REAL) as driver:
        volume_id = await create(driver)
        await stage(driver, volume_id, staged)
        await stage(driver, volume_id, staged)
        await publish(driver, volume_id, staged, target)
        await take_back(driver, volume_id, staged, target)
        await driver.delete(volume_id)


async def kill_fuse(directory: Path) -> None:
    (place,) = (directory / "rbd" / "images").iterdir()
    await kill_all_at(place.resolve(), "rbd-fuse", SystemClock())


async def make_btrfs(directory: Path) -> None:
    """It looks at all loop devices of the machine."""
    file = directory / "btrfs"
    await run(["truncate", "--size=128M", file])
    await run(["mkfs.btrfs", "--quiet", "--force", file])
    await run(["rm", file])


@pytest.mark.skipif(shutil.which("mkfs.btrfs") is None, reason="needs mkfs.btrfs")
@pytest.mark.usefixtures("ground")
async def test_a_dead_mount_is_taken_down_on_a_start_and_its_volume_is_staged_again(
    cluster: LoopbackCluster, directory: Path
) -> None:
    staged, target = directory / "staged", directory / "target"
    async with rbd_driver(cluster, directory, mounts=Mounts.REAL) as driver:
        volume_id = await create(driver)
        await stage(driver, volume_id, staged)
        await publish(driver, volume_id, staged, target)
        await asyncio.to_thread(write_through, target / "file", "kept")
    await kill_fuse(directory)
    with pytest.raises(CommandError, match="Transport endpoint is not connected"):
        await make_btrfs(directory)
    async with rbd_driver(cluster, directory, mounts=Mounts.REAL) as driver:
        await make_btrfs(directory)
        with pytest.raises(DriverError, match="unpublish and unstage it first"):
            await publish(driver, volume_id, staged, directory / "more")
        await take_back(driver, volume_id, staged, target)
        await stage(driver, volume_id, staged)
        await publish(driver, volume_id, staged, target)
        assert (target / "file").read_text() == "kept"
        await take_back(driver, volume_id, staged, target)
        await driver.delete(volume_id)
