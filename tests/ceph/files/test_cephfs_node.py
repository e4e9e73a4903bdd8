import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from plimsoll.processes.driver.backends.cephfs.fuse_clients import FuseClient, read_client
from plimsoll.processes.driver.settings import Mounts, NodeSettings
from plimsoll.wire.ceph.files.filesystem import CephFilesystem
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.csi.gen import csi_pb2 as csi
from tests.ceph import guardian
from tests.ceph.cluster_filesystem import ClusterFilesystem
from tests.ceph.files.cephfs_drivers import CLASS, NODE, cephfs_driver
from tests.ceph.files.filesystems import files, written_until_refused
from tests.ceph.files.test_cephfs_controller import journal
from tests.processes.driver.drivers import MIB, Running, capability

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")

SECONDS = 30.0


@pytest.fixture
def directory(filesystem: ClusterFilesystem) -> Path:
    """Below that of the cluster: should a test be killed, its mounts go with the cluster."""
    made = filesystem.cluster.directory / "driver"
    made.mkdir(exist_ok=True)
    return made


@pytest.fixture
async def fs(filesystem: ClusterFilesystem, directory: Path) -> AsyncIterator[CephFilesystem]:
    async with files(filesystem) as made:
        yield made
        assert await made.names("/plimsoll/volumes") == ()
        assert await made.names("/plimsoll/removed") == ()
    assert guardian.mounts(directory) == []


@pytest.fixture
async def driver(
    filesystem: ClusterFilesystem,
    directory: Path,
    fs: CephFilesystem,  # noqa: ARG001 - looks afterwards whether all was given back
) -> AsyncIterator[Running]:
    async with cephfs_driver(filesystem, directory, mounts=Mounts.REAL) as made:
        yield made


@pytest.fixture
def staged(directory: Path) -> Path:
    return directory / "staged"


@pytest.fixture
def target(directory: Path) -> Path:
    return directory / "pods" / "one"


async def create(driver: Running, **how: object) -> str:
    volume = await driver.create("data", mib=32, zones=["zone-a"], parameters=CLASS, **how)
    return volume.volume_id


async def stage(driver: Running, volume_id: str, staged: Path) -> None:
    os.makedirs(staged, exist_ok=True)  # noqa: PTH103 - the loop waits for nothing else here
    request = csi.NodeStageVolumeRequest(
        volume_id=volume_id, staging_target_path=str(staged), volume_capability=capability()
    )
    await driver.call(m.NODE_STAGE_VOLUME, request)


async def publish(driver: Running, volume_id: str, staged: Path, target: Path) -> None:
    request = csi.NodePublishVolumeRequest(
        volume_id=volume_id,
        staging_target_path=str(staged),
        target_path=str(target),
        volume_capability=capability(),
    )
    await driver.call(m.NODE_PUBLISH_VOLUME, request)


async def use(driver: Running, volume_id: str, staged: Path, target: Path) -> None:
    await stage(driver, volume_id, staged)
    await publish(driver, volume_id, staged, target)


async def take_back(driver: Running, volume_id: str, staged: Path, target: Path) -> None:
    unpublish = csi.NodeUnpublishVolumeRequest(volume_id=volume_id, target_path=str(target))
    await driver.call(m.NODE_UNPUBLISH_VOLUME, unpublish)
    unstage = csi.NodeUnstageVolumeRequest(volume_id=volume_id, staging_target_path=str(staged))
    await driver.call(m.NODE_UNSTAGE_VOLUME, unstage)


async def stats(driver: Running, volume_id: str, path: Path) -> csi.NodeGetVolumeStatsResponse:
    request = csi.NodeGetVolumeStatsRequest(volume_id=volume_id, volume_path=str(path))
    return await driver.call(m.NODE_GET_VOLUME_STATS, request)


def client(directory: Path) -> FuseClient:
    (file,) = (directory / "cephfs" / "clients").iterdir()
    found = read_client(file)
    assert found is not None
    return found


async def test_a_pod_sees_a_volume_of_its_size_and_what_it_wrote_comes_back(
    driver: Running, staged: Path, target: Path
) -> None:
    volume_id = await create(driver)
    await use(driver, volume_id, staged, target)
    await use(driver, volume_id, staged, target)
    (target / "f").write_text("written")
    usage = (await stats(driver, volume_id, target)).usage[0]
    assert usage.total == 32 * MIB
    taken = await asyncio.to_thread(written_until_refused, target)
    assert taken >= 28
    assert await driver.expand(volume_id, taken + 64) == taken + 64
    await asyncio.to_thread((target / "more").write_bytes, b"x" * 16 * MIB)
    await take_back(driver, volume_id, staged, target)
    await take_back(driver, volume_id, staged, target)
    await use(driver, volume_id, staged, target)
    assert (target / "f").read_text() == "written"
    await take_back(driver, volume_id, staged, target)
    await driver.delete(volume_id)


async def test_a_volume_that_was_deleted_elsewhere_is_taken_away_from_the_node(
    driver: Running, filesystem: ClusterFilesystem, directory: Path, target: Path
) -> None:
    """As after a pod was deleted by force: it still writes when its volume goes."""
    volume_id, staged = await create(driver), directory / "staged"
    await use(driver, volume_id, staged, target)
    process = client(directory)
    held = os.open(target / "f", os.O_WRONLY | os.O_CREAT)
    os.write(held, b"x" * MIB)
    async with cephfs_driver(filesystem, directory / "second") as other:
        await other.delete(volume_id)
    # Nor does the journal keep the client: its node may have died, and never come to unmount it.
    assert await journal(filesystem) == []
    os.write(held, b"more")
    began = time.monotonic()
    with pytest.raises(DriverError, match=r"busy"):
        await take_back(driver, volume_id, staged, target)
    os.close(held)
    await take_back(driver, volume_id, staged, target)
    await take_back(driver, volume_id, staged, target)
    assert time.monotonic() - began < SECONDS
    assert (guardian.mounts(directory), process.is_alive) == ([], False)


async def test_two_nodes_write_to_one_volume_and_see_what_the_other_wrote(
    driver: Running, filesystem: ClusterFilesystem, directory: Path, target: Path
) -> None:
    volume_id, staged = await create(driver), directory / "staged"
    await use(driver, volume_id, staged, target)
    second = directory / "second"
    node = NodeSettings(id="node-2", topology=NODE.topology)
    second.mkdir(exist_ok=True)
    async with cephfs_driver(filesystem, second, mounts=Mounts.REAL, node=node) as other:
        await use(other, volume_id, second / "staged", second / "pod")
        (target / "f").write_text("from the first")
        assert (second / "pod" / "f").read_text() == "from the first"
        (second / "pod" / "f").write_text("from the second")
        assert (target / "f").read_text() == "from the second"
        await take_back(other, volume_id, second / "staged", second / "pod")
    assert (target / "f").read_text() == "from the second"
    await take_back(driver, volume_id, staged, target)
    await driver.delete(volume_id)


async def test_a_volume_that_is_in_use_is_not_deleted(
    driver: Running, staged: Path, target: Path
) -> None:
    volume_id = await create(driver)
    await use(driver, volume_id, staged, target)
    with pytest.raises(DriverError, match="mounted at"):
        await driver.delete(volume_id)
    await take_back(driver, volume_id, staged, target)
    await driver.delete(volume_id)


async def test_a_snapshot_and_a_clone_have_what_was_written_and_synced(
    driver: Running, staged: Path, target: Path
) -> None:
    volume_id = await create(driver)
    await use(driver, volume_id, staged, target)
    (target / "f").write_text("at the moment")
    os.sync()
    snapshot = await driver.take_snapshot(volume_id)
    (target / "f").write_text("later")
    os.sync()
    clone = await driver.create("clone", mib=32, parameters=CLASS, volume=volume_id)
    old = await driver.create("old", mib=32, parameters=CLASS, snapshot=snapshot.snapshot_id)
    await take_back(driver, volume_id, staged, target)
    await driver.delete(volume_id)
    for made, text in ((clone, "later"), (old, "at the moment")):
        await use(driver, made.volume_id, staged, target)
        assert (target / "f").read_text() == text
        await take_back(driver, made.volume_id, staged, target)
        await driver.delete(made.volume_id)
    await driver.call(
        m.DELETE_SNAPSHOT, csi.DeleteSnapshotRequest(snapshot_id=snapshot.snapshot_id)
    )


async def test_a_client_that_was_killed_is_replaced_when_the_volume_is_published_again(
    driver: Running, directory: Path, staged: Path, target: Path
) -> None:
    volume_id = await create(driver)
    await use(driver, volume_id, staged, target)
    held = os.open(target / "f", os.O_WRONLY | os.O_CREAT)
    os.write(held, b"synced")
    os.fsync(held)
    os.kill(client(directory).pid, signal.SIGKILL)
    told = (await stats(driver, volume_id, target)).volume_condition
    assert told.abnormal
    assert "ceph-fuse has died" in told.message
    began = time.monotonic()
    await publish(driver, volume_id, staged, target)
    assert (target / "f").read_bytes() == b"synced"
    (target / "f").write_text("by the new client")
    assert time.monotonic() - began < SECONDS
    await take_back(driver, volume_id, staged, target)
    await driver.delete(volume_id)


async def test_a_volume_is_taken_back_while_no_metadata_server_answers(
    driver: Running, filesystem: ClusterFilesystem, staged: Path, target: Path
) -> None:
    volume_id = await create(driver)
    await use(driver, volume_id, staged, target)
    with filesystem.unserved():
        began = time.monotonic()
        with pytest.raises(DriverError, match="did not answer in time"):
            await publish(driver, volume_id, staged, target.with_name("two"))
        await take_back(driver, volume_id, staged, target)
        with pytest.raises(DriverError, match="did not answer in time"):
            await stage(driver, volume_id, staged)
        assert time.monotonic() - began < 2 * SECONDS
    await driver.delete(volume_id)


async def test_a_volume_in_a_dead_zone_is_not_staged(
    driver: Running, filesystem: ClusterFilesystem, staged: Path, target: Path
) -> None:
    volume_id = await create(driver)
    with filesystem.cluster.dead_zone("zone-a"):
        # The pools over all zones take a moment to do without this one.
        told = ""
        for _ in range(5):
            began = time.monotonic()
            with pytest.raises(DriverError, match="did not answer in time") as caught:
                await stage(driver, volume_id, staged)
            assert time.monotonic() - began < SECONDS
            told = str(caught.value)
            if "csi-zone-a did" in told:
                break
        assert "csi-zone-a did" in told
    await use(driver, volume_id, staged, target)
    await take_back(driver, volume_id, staged, target)
    await driver.delete(volume_id)


async def test_reads_and_writes_go_on_after_the_active_metadata_server_was_killed(
    driver: Running, filesystem: ClusterFilesystem, staged: Path, target: Path
) -> None:
    volume_id = await create(driver)
    await use(driver, volume_id, staged, target)

    def work() -> list[str]:
        for number in range(20):
            (target / f"f{number}").write_text(f"text {number}")
        os.sync()
        return [(target / f"f{number}").read_text() for number in range(20)]

    with filesystem.without_active():
        async with asyncio.timeout(2 * SECONDS):
            written = await asyncio.to_thread(work)
    assert written == [f"text {number}" for number in range(20)]
    await take_back(driver, volume_id, staged, target)
    await driver.delete(volume_id)
