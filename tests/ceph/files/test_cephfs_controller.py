import asyncio
import json
import signal
import time
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path

import pytest

from plimsoll.decide.ceph.volume_ids import decompose_volume_id
from plimsoll.wire.ceph.connection import PoolScope
from plimsoll.wire.ceph.files.filesystem import CephFilesystem
from plimsoll.wire.ceph.objects import RadosObjects
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.errors import DriverError, DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi
from tests.ceph.cluster_filesystem import DATA_POOLS, METADATA_POOL, ClusterFilesystem
from tests.ceph.connections import LIMITS, connected
from tests.ceph.files.cephfs_drivers import CLASS, cephfs_driver
from tests.ceph.files.filesystems import access, files
from tests.ceph.journal_keys import passing_keys
from tests.processes.driver.drivers import MIB, ZONE, Running

A, B = DATA_POOLS["zone-a"], DATA_POOLS["zone-b"]
SECONDS = 30.0
FOLDERS = ("volumes", "removed", "snapshots", "copies")


@pytest.fixture
async def fs(filesystem: ClusterFilesystem) -> AsyncIterator[CephFilesystem]:
    """In the end nothing is left in the file system, and nothing in the journal."""
    async with files(filesystem) as made:
        yield made
        for folder in FOLDERS:
            assert await made.names(f"/plimsoll/{folder}") == ()
    assert await journal(filesystem) == []


async def journal(filesystem: ClusterFilesystem) -> list[str]:
    """Its keys, and its objects that belong to volumes."""
    directories = ("csi.volumes.default", "csi.snaps.default")
    async with connected(filesystem.cluster, LIMITS, access(filesystem)) as connection:
        objects = RadosObjects(connection, PoolScope(pool=METADATA_POOL, namespace="csi"))
        names = await objects.names()
        found = [name for name in names if name not in directories]
        for name in set(names) & set(directories):
            found += await passing_keys(objects, name)
        return sorted(found)


@pytest.fixture
async def driver(
    filesystem: ClusterFilesystem,
    fs: CephFilesystem,  # noqa: ARG001 - looks afterwards whether all was given back
    tmp_path: Path,
) -> AsyncIterator[Running]:
    async with cephfs_driver(filesystem, tmp_path) as made:
        yield made


async def create(
    driver: Running, name: str = "data", mib: int = 64, **wanted: object
) -> csi.Volume:
    zones = wanted.pop("zones", ("zone-a",))
    return await driver.create(name, mib=mib, zones=zones, parameters=CLASS, **wanted)


def directory_of(volume: csi.Volume) -> str:
    return f"/plimsoll/volumes/csi-vol-{decompose_volume_id(volume.volume_id).uuid}"


def zones_of(volume: csi.Volume) -> list[str]:
    return [topology.segments[ZONE] for topology in volume.accessible_topology]


async def free_mib(driver: Running, zone: str) -> int:
    return (await driver.capacity(zone, CLASS)).maximum_volume_size.value // MIB


@pytest.mark.parametrize("zone", DATA_POOLS)
async def test_a_volume_is_a_directory_whose_content_goes_to_its_zone(
    driver: Running, fs: CephFilesystem, filesystem: ClusterFilesystem, zone: str
) -> None:
    volume = await create(driver, zones=(zone,))
    assert zones_of(volume) == [zone]
    assert await create(driver, zones=(zone,)) == volume
    facts = await fs.facts(directory_of(volume))
    assert (facts.pool, facts.quota_bytes) == (DATA_POOLS[zone], 64 * MIB)
    uuid = decompose_volume_id(volume.volume_id).uuid
    kept = await journal(filesystem)
    assert {f"csi.volume.{uuid}", "csi.volume.data"} <= set(kept)
    await driver.delete(volume.volume_id)
    await driver.delete(volume.volume_id)


@pytest.mark.parametrize(
    "parameters",
    [
        pytest.param({}, id="no-pool"),
        pytest.param(CLASS | {"encrypted": "true"}, id="encrypted"),
        pytest.param(CLASS | {"overcommit": "lots"}, id="no-factor"),
        pytest.param(CLASS | {"fsName": "another"}, id="another-file-system"),
        pytest.param(CLASS | {"topologyConstrainedPools": "[]"}, id="no-pools"),
    ],
)
async def test_a_class_that_cannot_be_is_refused(
    driver: Running, parameters: dict[str, str]
) -> None:
    answer = await driver.cannot_create(mib=1, parameters=parameters)
    assert answer is DriverFailure.REJECTED


async def test_a_pool_that_the_file_system_does_not_have_has_no_room(driver: Running) -> None:
    pools = json.dumps([{"poolName": "rbd-zone-a"}])
    answer = await driver.cannot_create(mib=1, parameters={"topologyConstrainedPools": pools})
    assert answer is DriverFailure.OUT_OF_CAPACITY


async def test_capacity_is_that_of_the_zone_less_what_is_promised(driver: Running) -> None:
    before = await free_mib(driver, "zone-a")
    beside = await free_mib(driver, "zone-b")
    assert before > 2000
    volume = await create(driver, mib=1024)
    assert before - 1034 < await free_mib(driver, "zone-a") <= before - 1014
    assert abs(await free_mib(driver, "zone-b") - beside) < 10
    await driver.delete(volume.volume_id)


async def test_a_zone_with_a_quota_has_no_more_room_than_that(
    filesystem: ClusterFilesystem, driver: Running
) -> None:
    cluster = filesystem.cluster
    with cluster.quota(A, 100 * MIB):
        cluster.wait_for_quota(A, 100 * MIB)
        assert await free_mib(driver, "zone-a") in (99, 100)
        refused = await driver.cannot_create(mib=200, zones=["zone-a"], parameters=CLASS)
        assert refused is DriverFailure.OUT_OF_CAPACITY


async def test_a_class_promises_by_its_own_factor(
    filesystem: ClusterFilesystem, driver: Running
) -> None:
    cluster, thin = filesystem.cluster, CLASS | {"overcommit": "2.5"}
    with cluster.quota(A, 100 * MIB):
        cluster.wait_for_quota(A, 100 * MIB)
        found = await driver.capacity("zone-a", thin)
        assert found.maximum_volume_size.value // MIB in (249, 250)
        volume = await driver.create("large", mib=200, zones=["zone-a"], parameters=thin)
        found = await driver.capacity("zone-a", thin)
        assert found.maximum_volume_size.value // MIB in (49, 50)
        assert await free_mib(driver, "zone-a") == 0
        assert await driver.expand(volume.volume_id, 240) == 240
        await driver.delete(volume.volume_id)


async def test_a_dead_zone_has_no_room_and_its_volumes_can_be_deleted(
    filesystem: ClusterFilesystem, driver: Running
) -> None:
    kept = await create(driver, "kept")
    with filesystem.cluster.dead_zone("zone-a"):
        assert await free_mib(driver, "zone-a") == 0
        began = time.monotonic()
        refused = await driver.cannot_create(mib=8, zones=["zone-a"], parameters=CLASS)
        assert refused is DriverFailure.OUT_OF_CAPACITY
        other = await create(driver, "other", zones=("zone-b",))
        await driver.delete(other.volume_id)
        await driver.delete(kept.volume_id)
        assert time.monotonic() - began < SECONDS


async def test_volumes_are_deleted_while_the_storage_of_their_zone_is_killed(
    filesystem: ClusterFilesystem, driver: Running
) -> None:
    """Metadata is in other zones too: a call may be given up, and the next one ends it."""
    volumes = [(await create(driver, f"data-{number}")).volume_id for number in range(6)]
    calls = [asyncio.create_task(driver.delete(volume_id)) for volume_id in volumes]
    await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
    with filesystem.cluster.dead_zone("zone-a"):
        ended = await asyncio.gather(*calls, return_exceptions=True)
        for volume_id, end in zip(volumes, ended, strict=True):
            if end is not None:
                assert "did not answer in time" in str(end)
                await driver.delete(volume_id)
        assert await driver.volume_ids() == []


async def test_without_a_metadata_server_a_call_is_an_error_within_seconds(
    filesystem: ClusterFilesystem, driver: Running
) -> None:
    kept = await create(driver, "kept")
    with filesystem.unserved():
        began = time.monotonic()
        with pytest.raises(DriverError, match="file system csi did not answer in time"):
            await create(driver, "new")
        assert time.monotonic() - began < 2 * SECONDS
        with pytest.raises(DriverError, match="file system csi did not answer in time"):
            await driver.delete(kept.volume_id)
    again = await create(driver, "new")
    await driver.delete(again.volume_id)
    await driver.delete(kept.volume_id)


async def test_volumes_are_made_while_the_active_metadata_server_is_killed(
    filesystem: ClusterFilesystem, driver: Running
) -> None:
    made: dict[str, str] = {}
    with filesystem.without_active():
        until = time.monotonic() + 3 * SECONDS
        while len(made) < 5:
            name = f"data-{len(made)}"
            try:
                made[name] = (await create(driver, name)).volume_id
            except DriverError as error:
                told = str(error)
                if "did not answer in time" not in told or time.monotonic() > until:
                    raise
    assert sorted(await driver.volume_ids()) == sorted(made.values())
    for volume_id in made.values():
        await driver.delete(volume_id)


@pytest.mark.both_bindings
async def test_a_snapshot_and_a_clone_outlive_their_volume(
    driver: Running, fs: CephFilesystem
) -> None:
    volume = await create(driver)
    snapshot = await driver.take_snapshot(volume.volume_id)
    assert await driver.take_snapshot(volume.volume_id) == snapshot
    clone = await create(driver, "clone", volume=volume.volume_id, zones=("zone-b",))
    await driver.delete(volume.volume_id)
    restored = await create(driver, "restored", snapshot=snapshot.snapshot_id)
    for made, pool in ((clone, B), (restored, A)):
        assert (await fs.facts(directory_of(made))).pool == pool
        await driver.delete(made.volume_id)
    request = csi.DeleteSnapshotRequest(snapshot_id=snapshot.snapshot_id)
    await driver.call(m.DELETE_SNAPSHOT, request)
    await driver.call(m.DELETE_SNAPSHOT, request)


async def test_a_volume_grows(driver: Running, fs: CephFilesystem) -> None:
    volume = await create(driver)
    assert await driver.expand(volume.volume_id, 128) == 128
    assert (await fs.facts(directory_of(volume))).quota_bytes == 128 * MIB
    await driver.delete(volume.volume_id)


async def test_another_driver_finds_the_volume_by_its_id(
    filesystem: ClusterFilesystem, driver: Running, tmp_path: Path
) -> None:
    volume = await create(driver)
    (tmp_path / "other").mkdir()
    async with cephfs_driver(filesystem, tmp_path / "other") as other:
        assert await create(other) == volume
        await other.delete(volume.volume_id)
    assert await driver.volume_ids() == []


async def test_without_monitors_a_driver_starts_and_all_calls_fail_together_within_seconds(
    filesystem: ClusterFilesystem, tmp_path: Path
) -> None:
    """Each attempt to connect takes five seconds; calls share one instead of waiting in line."""
    with filesystem.cluster.without("mon.a", signal.SIGSTOP):
        began = time.monotonic()
        async with cephfs_driver(filesystem, tmp_path) as driver:
            calls: list[Awaitable[object]] = [
                *(create(driver, f"data-{number}") for number in range(8)),
                driver.capacity("zone-a", CLASS),
                driver.call(m.LIST_VOLUMES, csi.ListVolumesRequest()),
            ]
            ended = await asyncio.gather(*calls, return_exceptions=True)
            assert time.monotonic() - began < SECONDS * 0.6
    for failure in ended:
        assert isinstance(failure, DriverError)
        assert "did not answer in time; look at `ceph health`" in str(failure)
