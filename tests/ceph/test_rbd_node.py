import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest

from plimsoll.processes.driver.backends.ceph.records.writer_leases import WriterLeases
from plimsoll.processes.driver.backends.rbd.backend import RbdBackend
from plimsoll.processes.driver.settings import Mounts, NodeSettings
from plimsoll.wire.ceph.connection import PoolScope
from plimsoll.wire.ceph.errors import CephError, CephFailure
from plimsoll.wire.ceph.images import NewImage, RbdImages
from plimsoll.wire.ceph.objects import ObjectWrite, RadosObjects
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.errors import DriverError, DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi, pools_pb2
from tests.ceph import guardian
from tests.ceph.connections import connected
from tests.ceph.interrupted_calls import JournalGround, journal_ground
from tests.ceph.loopback_cluster import POOLS, LoopbackCluster
from tests.ceph.rbd_drivers import CLASS, NODE, rbd_driver
from tests.ceph.staging import publish, stage, take_back
from tests.processes.driver.drivers import MIB, ZONE, Running
from tests.processes.driver.node.ground import may_resize_ext4

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


async def create(driver: Running, *, mib: int = 32, **how: object) -> str:
    volume = await driver.create("data", mib=mib, zones=["zone-a"], parameters=CLASS, **how)
    return volume.volume_id


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
        assert blocks_bytes(target) > 48 * MIB
        await take_back(driver, volume_id, staged, target)
        await driver.delete(volume_id)


@pytest.mark.parametrize(
    ("fs_type", "mib"),
    [pytest.param("ext4", 32, marks=may_resize_ext4), ("xfs", 320), ("btrfs", 256)],
)
@pytest.mark.usefixtures("ground")
async def test_a_file_system_grows_while_a_pod_uses_it(
    cluster: LoopbackCluster, directory: Path, fs_type: str, mib: int
) -> None:
    """A file that is open all the time has the same content afterwards, and there is more room."""
    staged, target = directory / "staged", directory / "target"
    before, after = os.urandom(8 * MIB), os.urandom(8 * MIB)
    async with rbd_driver(cluster, directory, mounts=Mounts.REAL) as driver:
        volume_id = await create(driver, mib=mib, fs_type=fs_type)
        await stage(driver, volume_id, staged, fs_type=fs_type)
        await publish(driver, volume_id, staged, target)
        with (target / "file").open("w+b", buffering=0) as file:
            file.write(before)
            os.fsync(file)
            size = blocks_bytes(target)
            assert await driver.expand(volume_id, mib + 64) == mib + 64
            grow = csi.NodeExpandVolumeRequest(volume_id=volume_id, volume_path=str(target))
            await driver.call(m.NODE_EXPAND_VOLUME, grow)
            assert size + 48 * MIB < blocks_bytes(target) <= (mib + 64) * MIB
            file.write(after)
            os.fsync(file)
        assert (target / "file").read_bytes() == before + after
        await take_back(driver, volume_id, staged, target)
        await stage(driver, volume_id, staged, fs_type=fs_type)
        await publish(driver, volume_id, staged, target)
        assert (target / "file").read_bytes() == before + after
        await take_back(driver, volume_id, staged, target)
        await driver.delete(volume_id)


def blocks_bytes(place: Path) -> int:
    sizes = os.statvfs(place)
    return sizes.f_blocks * sizes.f_frsize


@pytest.mark.usefixtures("ground")
async def test_where_ext4_cannot_grow_while_it_is_used_the_next_stage_does_it(
    cluster: LoopbackCluster, directory: Path
) -> None:
    """Without CAP_SYS_RESOURCE; with it, the first call does it already."""
    staged, target = directory / "staged", directory / "target"
    async with rbd_driver(cluster, directory, mounts=Mounts.REAL) as driver:
        volume_id = await create(driver)
        await stage(driver, volume_id, staged)
        await publish(driver, volume_id, staged, target)
        (target / "file").write_text("kept")
        assert await driver.expand(volume_id, 64) == 64
        grow = csi.NodeExpandVolumeRequest(volume_id=volume_id, volume_path=str(target))
        with contextlib.suppress(DriverError):
            await driver.call(m.NODE_EXPAND_VOLUME, grow)
        await take_back(driver, volume_id, staged, target)
        await stage(driver, volume_id, staged)
        await publish(driver, volume_id, staged, target)
        assert blocks_bytes(target) > 48 * MIB
        assert (target / "file").read_text() == "kept"
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


OTHER = NodeSettings(id="node-2", topology={ZONE: "zone-b"})


@pytest.mark.usefixtures("ground")
async def test_a_volume_moves_to_another_node_when_the_first_has_given_it_back(
    cluster: LoopbackCluster, directory: Path
) -> None:
    one, two = directory / "one", directory / "two"
    async with (
        rbd_driver(cluster, one, mounts=Mounts.REAL) as first,
        rbd_driver(cluster, two, mounts=Mounts.REAL, node=OTHER) as second,
    ):
        volume_id = await create(first)
        await stage(first, volume_id, one / "staged")
        await publish(first, volume_id, one / "staged", one / "target")
        (one / "target" / "file").write_text("kept")
        with pytest.raises(DriverError, match="open on node node-1"):
            await stage(second, volume_id, two / "staged")
        with pytest.raises(DriverError, match="is in use"):
            await second.delete(volume_id)
        await take_back(first, volume_id, one / "staged", one / "target")
        await stage(second, volume_id, two / "staged")
        await publish(second, volume_id, two / "staged", two / "target")
        assert (two / "target" / "file").read_text() == "kept"
        await take_back(second, volume_id, two / "staged", two / "target")
        await first.delete(volume_id)


@pytest.mark.usefixtures("ground")
async def test_another_node_gets_the_volume_of_one_that_died(
    cluster: LoopbackCluster, directory: Path
) -> None:
    one, two = directory / "one", directory / "two"
    async with (
        rbd_driver(cluster, one, mounts=Mounts.REAL) as first,
        rbd_driver(cluster, two, mounts=Mounts.REAL, node=OTHER) as second,
    ):
        volume_id = await create(first)
        await stage(first, volume_id, one / "staged")
        await publish(first, volume_id, one / "staged", one / "target")
        write_through(one / "target" / "file")
        for pid in guardian.processes(one):
            os.kill(pid, signal.SIGKILL)
        await stage_in_the_end(second, volume_id, two / "staged")
        await publish(second, volume_id, two / "staged", two / "target")
        assert (two / "target" / "file").read_bytes() == b"data"
        await take_back(first, volume_id, one / "staged", one / "target")
        assert await where_written(second, volume_id) == "open on node node-2"
        await take_back(second, volume_id, two / "staged", two / "target")
        await delete(second, volume_id)


@pytest.mark.usefixtures("ground")
async def test_a_node_that_was_cut_off_cannot_write_when_another_has_its_volume(
    cluster: LoopbackCluster, directory: Path
) -> None:
    async with (
        connected(cluster) as cut_off,
        rbd_driver(cluster, directory / "one") as first,
        rbd_driver(cluster, directory, mounts=Mounts.REAL, node=OTHER) as second,
    ):
        volume_id = await create(first)
        images = RbdImages(cut_off, PoolScope(pool=POOLS["zone-a"]))
        (image,) = await images.names()
        leases = lease_book(first)
        volume = await first.driver.volume(volume_id)
        await leases.take(volume, NODE)
        await leases.confirm(volume, NODE.id, await cut_off.address())
        await images.grow(image, 48 * MIB)
        await stage(second, volume_id, directory / "staged")
        with pytest.raises(CephError) as refused:
            await images.grow(image, 64 * MIB)
        assert refused.value.failure is CephFailure.FENCED
        unstage = csi.NodeUnstageVolumeRequest(
            volume_id=volume_id, staging_target_path=str(directory / "staged")
        )
        await second.call(m.NODE_UNSTAGE_VOLUME, unstage)
        await second.delete(volume_id)


def lease_book(running: Running) -> WriterLeases:
    backend = running.driver.backend
    assert isinstance(backend, RbdBackend)
    return backend.records.leases


async def where_written(running: Running, volume_id: str) -> str:
    return await lease_book(running).where_written(await running.driver.volume(volume_id))


async def stage_in_the_end(driver: Running, volume_id: str, place: Path) -> None:
    """Ceph tells only after a while that a client does not answer any more."""
    until = time.monotonic() + 60
    while True:
        try:
            return await stage(driver, volume_id, place)
        except DriverError as error:
            if "open on node" not in str(error) or time.monotonic() > until:
                raise
        await asyncio.sleep(0.5)


def write_through(path: Path) -> None:
    with path.open("wb") as file:
        file.write(b"data")
        file.flush()
        os.fsync(file)


@pytest.mark.usefixtures("ground")
async def test_a_volume_of_ceph_csi_is_found_published_and_deleted(
    cluster: LoopbackCluster, ground: JournalGround, directory: Path
) -> None:
    volume_id = await made_by_ceph_csi(ground)
    staged, target = directory / "staged", directory / "target"
    async with rbd_driver(cluster, directory, mounts=Mounts.REAL, clusterId="ceph") as driver:
        await stage(driver, volume_id, staged)
        await publish(driver, volume_id, staged, target)
        (target / "file").write_text("ours")
        await take_back(driver, volume_id, staged, target)
        assert await driver.expand(volume_id, 64) == 64
        request = pools_pb2.DeleteNeverPublishedRequest(volume_id=volume_id)
        with pytest.raises(DriverError, match="was published"):
            await driver.call(m.DELETE_NEVER_PUBLISHED, request)
        await driver.delete(volume_id)


@pytest.mark.usefixtures("ground")
async def test_a_claim_whose_volume_ceph_csi_made_finds_it_before_and_after_it_is_used(
    cluster: LoopbackCluster, ground: JournalGround, directory: Path
) -> None:
    volume_id = await made_by_ceph_csi(ground)
    staged, older = directory / "staged", POOLS["zone-a"]
    async with rbd_driver(
        cluster, directory, mounts=Mounts.REAL, clusterId="ceph", olderJournals=older
    ) as driver:

        async def again() -> csi.Volume:
            return await driver.create("pvc-old", mib=32, zones=["zone-a"], parameters=CLASS)

        first = await again()
        assert first.volume_id == volume_id
        assert [dict(each.segments) for each in first.accessible_topology] == [{ZONE: "zone-a"}]
        await stage(driver, volume_id, staged, block=True)
        await take_back(driver, volume_id, staged, directory / "target")
        assert await driver.cannot_create("pvc-old", mib=32, zones=["zone-a"], parameters=CLASS)
        used = await driver.create(
            "pvc-old", mib=32, zones=["zone-a"], parameters=CLASS, block=True
        )
        assert used == first
        await driver.delete(volume_id)


async def made_by_ceph_csi(ground: JournalGround) -> str:
    """An image with its keys as ceph-csi leaves them: the journal is in the pool of the image."""
    uuid, pool = str(uuid4()), ground.pools[POOLS["zone-a"]]
    objects = RadosObjects(ground.connection, PoolScope(pool=pool.name))
    image = f"csi-vol-{uuid}"
    await ground.images(pool.name).create(NewImage(name=image, size_bytes=32 * MIB))
    keys = {"csi.volname": "pvc-old", "csi.imagename": image, "csi.imageid": "1"}
    await objects.write(f"csi.volume.{uuid}", ObjectWrite(values=keys))
    await objects.write("csi.volumes.default", ObjectWrite(values={"csi.volume.pvc-old": uuid}))
    return f"0001-0004-ceph-{pool.id:016x}-{uuid}"
