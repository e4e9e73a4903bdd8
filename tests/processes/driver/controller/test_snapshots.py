"""Snapshots take room of their own and outlive what they were taken of."""

from pathlib import Path

from plimsoll.processes.driver.backends.pools.faults import Fail, FaultyCall, When
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.errors import DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi
from tests.processes.driver.drivers import MIB, TWO_ZONES, Running, a_driver


async def refusal(running: Running, volume_id: str, name: str = "backup") -> DriverFailure:
    request = csi.CreateSnapshotRequest(source_volume_id=volume_id, name=name)
    return await running.refused(m.CREATE_SNAPSHOT, request)


async def test_a_snapshot_is_whole_and_made_once() -> None:
    async with a_driver() as running:
        volume = await running.create(mib=5)
        first = await running.take_snapshot(volume.volume_id)
        assert await running.take_snapshot(volume.volume_id) == first
        assert (first.size_bytes, first.ready_to_use) == (5 * MIB, True)
        assert first.creation_time.ToDatetime() == running.clock.now().replace(tzinfo=None)
        assert await running.free_mib() == {"only": 1014}


async def test_a_name_belongs_to_one_volume() -> None:
    async with a_driver() as running:
        one, two = await running.create("one", mib=1), await running.create("two", mib=1)
        await running.take_snapshot(one.volume_id)
        assert await refusal(running, two.volume_id) is DriverFailure.NAME_TAKEN
        assert await refusal(running, "none", "other") is DriverFailure.NOT_FOUND
        assert await refusal(running, "", "other") is DriverFailure.REJECTED
        assert await refusal(running, one.volume_id, "") is DriverFailure.REJECTED


async def test_a_snapshot_needs_room_beside_the_volume() -> None:
    async with a_driver(*TWO_ZONES) as running:
        volume = await running.create(mib=600, zones=["a"])
        assert await refusal(running, volume.volume_id) is DriverFailure.OUT_OF_CAPACITY
        assert await running.free_mib() == {"a": 424, "b": 1024}


async def test_a_volume_in_two_domains_has_its_snapshot_in_both() -> None:
    async with a_driver(*TWO_ZONES) as running:
        volume = await running.create(mib=100, parameters={"domains": "2"})
        await running.take_snapshot(volume.volume_id)
        assert await running.free_mib() == {"a": 824, "b": 824}


async def test_content_comes_back_from_a_snapshot_of_a_deleted_volume(tmp_path: Path) -> None:
    async with a_driver(directory=tmp_path) as running:
        volume = await running.create(mib=5)
        (tmp_path / "volumes" / volume.volume_id / "file").write_text("precious")
        snapshot = await running.take_snapshot(volume.volume_id)
        await running.delete(volume.volume_id)
        restored = await running.create("restored", snapshot=snapshot.snapshot_id)
        assert restored.content_source.snapshot.snapshot_id == snapshot.snapshot_id
        content = tmp_path / "volumes" / restored.volume_id / "file"
        assert content.read_text() == "precious"


async def test_a_deleted_snapshot_gives_its_room_back() -> None:
    async with a_driver() as running:
        volume = await running.create(mib=5)
        snapshot = await running.take_snapshot(volume.volume_id)
        request = csi.DeleteSnapshotRequest(snapshot_id=snapshot.snapshot_id)
        await running.call(m.DELETE_SNAPSHOT, request)
        await running.call(m.DELETE_SNAPSHOT, request)
        assert await running.free_mib() == {"only": 1019}


async def test_an_attempt_that_fails_leaves_nothing() -> None:
    async with a_driver() as running:
        volume = await running.create(mib=5)
        for when in When:
            running.backend.faults.set(Fail(call=FaultyCall.SNAPSHOT, when=when))
            assert await refusal(running, volume.volume_id) is DriverFailure.GAVE_UP
        assert await running.free_mib() == {"only": 1019}
        await running.take_snapshot(volume.volume_id)


async def test_remains_that_could_not_be_removed_are_removed_by_the_next_call() -> None:
    async with a_driver() as running:
        volume = await running.create(mib=5)
        running.backend.faults.set(
            Fail(call=FaultyCall.SNAPSHOT),
            Fail(call=FaultyCall.DELETE_SNAPSHOT, code="RESOURCE_EXHAUSTED"),
        )
        assert await refusal(running, volume.volume_id) is DriverFailure.UNKNOWN_OUTCOME
        await running.take_snapshot(volume.volume_id)
        assert await running.free_mib() == {"only": 1014}
