import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from plimsoll.decide.ceph.journal.copying import begin_copy
from plimsoll.decide.ceph.journal.operations import (
    RadosAnswer,
    RadosOperation,
    WriteRadosObject,
)
from plimsoll.decide.ceph.journal.places import ImagePlace
from plimsoll.decide.ceph.volume_ids import compose_volume_id, decompose_volume_id
from plimsoll.processes.driver.backends.rbd.backend import RbdBackend
from plimsoll.wire.ceph.connection import PoolScope
from plimsoll.wire.ceph.errors import CephError, CephFailure
from plimsoll.wire.ceph.objects import ObjectWrite, RadosObjects
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.errors import CsiStatusError, DriverError, DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi, pools_pb2
from tests.ceph.interrupted_calls import Crash, JournalGround, journal_ground
from tests.ceph.loopback_cluster import JOURNAL, POOLS, LoopbackCluster
from tests.ceph.rbd_drivers import CLASS, rbd_driver
from tests.processes.driver.drivers import MIB, ZONE, Running, expand_request

A, B = POOLS["zone-a"], POOLS["zone-b"]
SECONDS = 30.0


@pytest.fixture
async def ground(cluster: LoopbackCluster) -> AsyncIterator[JournalGround]:
    async with journal_ground(cluster) as made:
        yield made
        await made.assert_empty()


@pytest.fixture
async def driver(
    cluster: LoopbackCluster,
    ground: JournalGround,  # noqa: ARG001 - looks afterwards whether all was given back
    tmp_path: Path,
) -> AsyncIterator[Running]:
    async with rbd_driver(cluster, tmp_path) as made:
        yield made


async def create(
    driver: Running, name: str = "data", mib: int = 64, **wanted: object
) -> csi.Volume:
    zones = wanted.pop("zones", ("zone-a",))
    return await driver.create(name, mib=mib, zones=zones, parameters=CLASS, **wanted)


async def refused(driver: Running, mib: int = 64) -> DriverFailure:
    """Why zone a takes no such volume."""
    return await driver.cannot_create(mib=mib, zones=["zone-a"], parameters=CLASS)


def zones_of(volume: csi.Volume) -> list[str]:
    return [topology.segments[ZONE] for topology in volume.accessible_topology]


async def free_mib(driver: Running, zone: str) -> int:
    return (await driver.capacity(zone, CLASS)).maximum_volume_size.value // MIB


@pytest.mark.parametrize("zone", POOLS)
async def test_a_volume_is_made_in_the_pool_of_its_zone(
    driver: Running, ground: JournalGround, zone: str
) -> None:
    volume = await create(driver, zones=(zone,))
    assert zones_of(volume) == [zone]
    assert await create(driver, zones=(zone,)) == volume
    own = decompose_volume_id(volume.volume_id)
    assert own.cluster_id == ground.cluster.fsid
    assert own.pool_id == ground.pools[POOLS[zone]].id
    contents = await ground.contents()
    assert contents.images == {POOLS[zone]: [f"csi-vol-{own.uuid}"]}
    record = f"plimsoll.record.{own.pool_id:016x}/{own.uuid}"
    assert contents.directory.keys() == {"csi.volume.data", record}
    await driver.delete(volume.volume_id)
    await driver.delete(volume.volume_id)


async def test_the_first_preferred_zone_is_taken(driver: Running) -> None:
    volume = await create(driver, zones=tuple(POOLS), preferred=("zone-c", "zone-a", "zone-b"))
    assert zones_of(volume) == ["zone-c"]
    await driver.delete(volume.volume_id)


async def test_a_class_without_zones_has_one_pool(driver: Running, ground: JournalGround) -> None:
    volume = await driver.create("data", mib=8, parameters={"pool": B})
    assert zones_of(volume) == []
    assert (await ground.contents()).images.keys() == {B}
    await driver.delete(volume.volume_id)


@pytest.mark.parametrize(
    "parameters",
    [
        pytest.param(CLASS | {"encrypted": "true"}, id="encrypted"),
        pytest.param(CLASS | {"topologyConstrainedPools": "[]"}, id="no-pools"),
        pytest.param(CLASS | {"imageFeatures": "teleport"}, id="unknown-feature"),
    ],
)
async def test_a_class_that_cannot_be_is_refused(
    driver: Running, parameters: dict[str, str]
) -> None:
    answer = await driver.cannot_create(mib=1, parameters=parameters)
    assert answer is DriverFailure.REJECTED


async def test_a_class_without_a_pool_is_refused_where_the_driver_has_none_either(
    cluster: LoopbackCluster, tmp_path: Path
) -> None:
    async with rbd_driver(cluster, tmp_path, pool="") as driver:
        assert await driver.cannot_create(mib=1, parameters={}) is DriverFailure.REJECTED


async def test_a_pool_that_ceph_does_not_have_has_no_room(driver: Running) -> None:
    pools = json.dumps([{"poolName": "missing"}])
    answer = await driver.cannot_create(
        mib=1, parameters={"pool": A, "topologyConstrainedPools": pools}
    )
    assert answer is DriverFailure.OUT_OF_CAPACITY


@pytest.mark.both_bindings
async def test_capacity_is_that_of_the_zone_less_what_is_promised(driver: Running) -> None:
    before = await free_mib(driver, "zone-a")
    beside = await free_mib(driver, "zone-b")
    assert before > 2000
    volume = await create(driver, mib=1024)
    assert before - 1034 < await free_mib(driver, "zone-a") <= before - 1014
    assert abs(await free_mib(driver, "zone-b") - beside) < 10
    await driver.delete(volume.volume_id)


async def test_pools_are_listed_where_the_class_says_that_they_are(driver: Running) -> None:
    request = pools_pb2.ListPoolsRequest()
    request.classes.add(name="ceph", parameters=CLASS)
    request.accessible_topology.segments[ZONE] = "zone-b"
    answer = await driver.call(m.LIST_POOLS, request)
    listed = {pool.name: pool for pool in answer.pools if pool.costs}
    assert listed.keys() == {B}
    assert listed[B].accessible_topology[0].segments == {ZONE: "zone-b"}


async def test_a_zone_with_a_quota_has_no_more_room_than_that(
    cluster: LoopbackCluster, driver: Running
) -> None:
    with cluster.quota(A, 100 * MIB):
        cluster.wait_for_quota(A, 100 * MIB)
        assert await free_mib(driver, "zone-a") in (99, 100)
        assert await refused(driver, mib=200) is DriverFailure.OUT_OF_CAPACITY


async def listed_mib(driver: Running, **classes: Mapping[str, str]) -> int:
    """What is free in the pool of zone a, as far as each of the classes goes."""
    request = pools_pb2.ListPoolsRequest()
    for name, parameters in classes.items():
        request.classes.add(name=name, parameters=parameters)
    answer = await driver.call(m.LIST_POOLS, request)
    (pool,) = (each for each in answer.pools if each.name == A)
    assert [cost.class_name for cost in pool.costs] == sorted(classes)
    (extent,) = pool.free_extents
    return extent.free_bytes // MIB


async def test_each_class_promises_by_its_own_factor_and_all_hold_the_same_promises(
    cluster: LoopbackCluster, driver: Running
) -> None:
    thin = CLASS | {"overcommit": "2.5"}

    async def free() -> tuple[int, int]:
        """For the class without a factor, and for the other one; pools are listed alike."""
        found = [await driver.capacity("zone-a", each) for each in (CLASS, thin)]
        mib = [each.maximum_volume_size.value // MIB for each in found]
        assert [await listed_mib(driver, thick=CLASS), await listed_mib(driver, thin=thin)] == mib
        # Together they have what either may promise, in whatever order volumes are asked for.
        assert await listed_mib(driver, thick=CLASS, thin=thin) == min(mib)
        return mib[0], mib[1]

    with cluster.quota(A, 100 * MIB):
        cluster.wait_for_quota(A, 100 * MIB)
        assert await free() in ((99, 249), (100, 250))
        answer = await driver.cannot_create(mib=260, zones=["zone-a"], parameters=thin)
        assert answer is DriverFailure.OUT_OF_CAPACITY
        small = await create(driver, "small", mib=20)
        volume = await driver.create("large", mib=180, zones=["zone-a"], parameters=thin)
        assert await free() in ((0, 49), (0, 50))
        assert await refused(driver, mib=8) is DriverFailure.OUT_OF_CAPACITY
        # A volume grows, as it was made, by the factor of its class.
        assert await driver.expand(volume.volume_id, 200) == 200
        grown = expand_request(small.volume_id, 24)
        answer = await driver.refused(m.CONTROLLER_EXPAND_VOLUME, grown)
        assert answer is DriverFailure.REJECTED
        for each in (small, volume):
            await driver.delete(each.volume_id)


async def test_a_class_whose_data_is_in_another_pool_has_the_room_of_that(driver: Running) -> None:
    parameters = {"pool": A, "dataPool": B}
    here, there = await free_mib(driver, "zone-a"), await free_mib(driver, "zone-b")
    found = (await driver.capacity("", parameters)).maximum_volume_size.value // MIB
    assert abs(found - there) < 10
    request = pools_pb2.ListPoolsRequest()
    request.classes.add(name="ceph", parameters=parameters)
    answer = await driver.call(m.LIST_POOLS, request)
    assert [pool.name for pool in answer.pools if pool.costs] == [B]
    volume = await driver.create("data", mib=1024, parameters=parameters)
    assert abs(await free_mib(driver, "zone-a") - here) < 10
    found = (await driver.capacity("", parameters)).maximum_volume_size.value // MIB
    assert there - 1034 < found <= there - 1014
    await driver.delete(volume.volume_id)


async def test_volumes_are_listed_while_a_zone_with_many_of_them_is_dead(
    cluster: LoopbackCluster, driver: Running, tmp_path: Path
) -> None:
    """One after the other they would take minutes."""
    lost = [create(driver, f"lost-{number}", mib=1, block=True) for number in range(20)]
    lost_ids = {volume.volume_id for volume in await asyncio.gather(*lost)}
    other = await create(driver, "other", zones=("zone-b",))

    async def conditions(of: Running) -> dict[str, csi.VolumeCondition]:
        request = csi.ListVolumesRequest()
        answer = await of.client.call(m.LIST_VOLUMES, request, within=timedelta(seconds=SECONDS))
        return {each.volume.volume_id: each.status.volume_condition for each in answer.entries}

    # A driver that has not made them sees them as the first one does.
    async with rbd_driver(cluster, tmp_path / "second") as second:
        for each in (driver, second):
            assert not any(told.abnormal for told in (await conditions(each)).values())
    with cluster.dead_zone("zone-a"):
        told = await conditions(driver)
        assert {id_ for id_, condition in told.items() if condition.abnormal} == lost_ids
        for id_ in lost_ids:
            assert "pool rbd-zone-a did not answer in time" in told[id_].message
    async with asyncio.timeout(SECONDS):
        while any(each.abnormal for each in (await conditions(driver)).values()):
            pass
    await asyncio.gather(*(driver.delete(volume_id) for volume_id in (*lost_ids, other.volume_id)))


async def test_a_dead_zone_has_no_room_and_others_go_on(
    cluster: LoopbackCluster, driver: Running
) -> None:
    kept = await create(driver, "kept")
    with cluster.dead_zone("zone-a"):
        assert await free_mib(driver, "zone-a") == 0
        began = time.monotonic()
        assert await refused(driver) is DriverFailure.OUT_OF_CAPACITY
        volume = await create(driver, zones=("zone-b",))
        with pytest.raises(DriverError, match="pool rbd-zone-a did not answer in time"):
            await driver.delete(kept.volume_id)
        assert time.monotonic() - began < SECONDS
    for made in (kept, volume):
        await driver.delete(made.volume_id)


@pytest.mark.both_bindings
async def test_a_volume_grows(driver: Running, ground: JournalGround) -> None:
    volume = await create(driver)
    assert await driver.expand(volume.volume_id, 128) == 128
    ((pool, (image,)),) = (await ground.contents()).images.items()
    assert (await ground.images(pool).facts(image)).size_bytes == 128 * MIB
    await driver.delete(volume.volume_id)


@pytest.mark.both_bindings
async def test_snapshots_and_copies_outlive_what_they_were_taken_of(
    driver: Running, ground: JournalGround
) -> None:
    volume = await create(driver)
    await ground.write(A, volume.volume_id, b"then")
    snapshot = await driver.take_snapshot(volume.volume_id)
    assert await driver.take_snapshot(volume.volume_id) == snapshot
    await ground.write(A, volume.volume_id, b"now!")
    clone = await create(driver, "clone", volume=volume.volume_id)
    await driver.delete(volume.volume_id)
    restored = await create(
        driver, "restored", mib=96, zones=("zone-b",), snapshot=snapshot.snapshot_id
    )
    assert await ground.read(A, clone.volume_id) == b"now!"
    assert await ground.read(B, restored.volume_id) == b"then"
    request = csi.DeleteSnapshotRequest(snapshot_id=snapshot.snapshot_id)
    await driver.call(m.DELETE_SNAPSHOT, request)
    for made in (clone, restored):
        await driver.delete(made.volume_id)


@pytest.mark.both_bindings
async def test_calls_for_one_name_at_the_same_time_make_one_volume(
    driver: Running, ground: JournalGround
) -> None:
    calls = [create(driver, zones=(zone,)) for zone in ("zone-a", "zone-b") * 3]
    ended = await asyncio.gather(*calls, return_exceptions=True)
    made = {end.volume_id for end in ended if isinstance(end, csi.Volume)}
    assert len(made) == 1
    assert sum(map(len, (await ground.contents()).images.values())) == 1
    await driver.delete(made.pop())


async def test_a_driver_finds_the_volumes_of_another_one(
    cluster: LoopbackCluster, ground: JournalGround, tmp_path: Path
) -> None:
    async with (
        rbd_driver(cluster, tmp_path / "first") as first,
        rbd_driver(cluster, tmp_path / "second") as second,
    ):
        volume = await create(first)
        assert await create(second) == volume
        assert await second.volume_ids() == [volume.volume_id]
        assert await second.expand(volume.volume_id, 128) == 128
        assert (await create(first, mib=128)).capacity_bytes == 128 * MIB
        await second.delete(volume.volume_id)
        await first.delete(volume.volume_id)
        assert await first.volume_ids() == []
        await ground.assert_empty()


async def test_a_volume_is_the_same_by_each_name_of_its_cluster(
    cluster: LoopbackCluster, ground: JournalGround, tmp_path: Path
) -> None:
    async with (
        rbd_driver(cluster, tmp_path / "first") as first,
        rbd_driver(cluster, tmp_path / "second", clusterId="ceph") as second,
    ):
        volume = await create(first)
        own = decompose_volume_id(volume.volume_id)
        other = compose_volume_id(replace(own, cluster_id="ceph"))
        assert await second.expand(other, 128) == 128
        assert await second.expand(volume.volume_id, 192) == 192
        assert await second.volume_ids() == [volume.volume_id]
        await second.delete(other)
        assert await first.volume_ids() == []
        await ground.assert_empty()


async def test_a_repeated_call_is_answered_while_the_zone_of_the_volume_is_down(
    cluster: LoopbackCluster, driver: Running, tmp_path: Path
) -> None:
    volume = await create(driver)
    async with rbd_driver(cluster, tmp_path / "second") as second:
        with cluster.dead_zone("zone-a"):
            assert await create(second) == volume
            assert await second.volume_ids() == [volume.volume_id]
    await driver.delete(volume.volume_id)


async def test_what_one_driver_promises_another_one_does_not_promise_again(
    cluster: LoopbackCluster, driver: Running, tmp_path: Path
) -> None:
    before = await free_mib(driver, "zone-a")
    volume = await create(driver, mib=1024)
    async with rbd_driver(cluster, tmp_path / "second") as second:
        assert before - 1034 < await free_mib(second, "zone-a") <= before - 1014
    await driver.delete(volume.volume_id)


@pytest.mark.both_bindings
async def test_of_two_changes_at_the_same_time_one_begins_again(
    cluster: LoopbackCluster, driver: Running, tmp_path: Path
) -> None:
    volume = await create(driver)
    async with rbd_driver(cluster, tmp_path / "second") as second:
        seen = await driver.driver.volume(volume.volume_id)
        await second.expand(volume.volume_id, 128)
        with pytest.raises(CsiStatusError, match="another call for it is under way"):
            await driver.driver.records.volumes.put(seen)
        assert (await driver.driver.volume(volume.volume_id)).size_bytes == 128 * MIB
    await driver.delete(volume.volume_id)


async def test_ids_that_no_driver_made_up_lead_nowhere(driver: Running) -> None:
    for id_ in ("rbd-1", "x" * 100):
        await driver.delete(id_)


async def test_a_volume_of_another_cluster_is_not_taken_for_deleted(driver: Running) -> None:
    with pytest.raises(DriverError, match="is of cluster ffff"):
        await driver.delete("0001-0024-" + "f" * 36 + "-0000000000000001-" + "0" * 36)


async def test_a_class_with_a_pool_that_is_not_there_stops_no_other(driver: Running) -> None:
    volume = await create(driver)
    await driver.capacity("zone-a", {"pool": "typo"})
    assert await driver.volume_ids() == [volume.volume_id]
    await driver.delete(volume.volume_id)


async def test_a_record_that_cannot_be_read_stops_no_call_for_others(
    driver: Running, ground: JournalGround
) -> None:
    bad = f"plimsoll.record.{ground.pools[A].id:016x}/{'0' * 36}"
    directory = RadosObjects(ground.connection, PoolScope(pool=JOURNAL))
    await directory.write("csi.volumes.default", ObjectWrite(values={bad: "{}", f"{bad}0": "{"}))
    volume = await create(driver)
    assert await driver.volume_ids() == [volume.volume_id]
    assert await free_mib(driver, "zone-a") > 0
    await driver.delete(volume.volume_id)
    await directory.write("csi.volumes.default", ObjectWrite(removed=(bad, f"{bad}0")))


async def test_what_becomes_of_a_volume_is_written_also_if_the_answer_to_its_making_was_lost(
    driver: Running, ground: JournalGround
) -> None:
    with answers_lost(driver, after="plimsoll.making.data"):
        await driver.cannot_create(mib=64, zones=["zone-a"], parameters=CLASS)
    volume = await create(driver)
    await driver.driver.record_first_publish(volume.volume_id)
    assert '"firstPublishedAt":"' in "".join((await ground.contents()).directory.values())
    await driver.delete(volume.volume_id)
    assert await driver.volume_ids() == []


@contextmanager
def answers_lost(running: Running, *, after: str) -> Iterator[None]:
    """Of the write that takes this key away: it is carried out, and fails."""
    backend = running.driver.backend
    assert isinstance(backend, RbdBackend)
    runner = backend.cluster.runner
    carried_out = runner._carried_out  # noqa: SLF001 - where answers arrive

    async def lose(operation: RadosOperation) -> RadosAnswer:
        answer = await carried_out(operation)
        if isinstance(operation, WriteRadosObject) and operation.removed == (after,):
            raise CephError(CephFailure.TIMED_OUT, "pool journal")
        return answer

    runner._carried_out = lose  # type: ignore[method-assign]  # noqa: SLF001 - for the block
    try:
        yield
    finally:
        runner._carried_out = carried_out  # type: ignore[method-assign]  # noqa: SLF001 - as it was


async def test_what_an_interrupted_copy_left_does_not_keep_its_source(
    driver: Running, ground: JournalGround
) -> None:
    volume = await create(driver)
    ((pool, (image,)),) = (await ground.contents()).images.items()
    await ground.images(pool).take_snapshot(image, "plimsoll-for-csi-vol-1")
    await driver.delete(volume.volume_id)


async def test_what_an_interrupted_copy_took_of_its_source_is_cleared_away_on_a_start(
    cluster: LoopbackCluster, ground: JournalGround, tmp_path: Path
) -> None:
    async with rbd_driver(cluster, tmp_path) as driver:
        volume = await create(driver)
    ((pool, (image,)),) = (await ground.contents()).images.items()
    own = decompose_volume_id(volume.volume_id)
    source = ImagePlace(pool=ground.pools[pool], uuid=own.uuid, name=image)
    await ground.runner(Crash()).run(begin_copy(ground.journal, "csi-vol-1", source))
    await ground.images(pool).take_snapshot(image, "plimsoll-for-csi-vol-1")
    async with rbd_driver(cluster, tmp_path) as driver:
        assert (await ground.images(pool).facts(image)).snapshots == ()
        await driver.delete(volume.volume_id)
