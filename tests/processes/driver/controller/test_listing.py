"""Lists come in pages that nothing shifts."""

from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.errors import DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi
from tests.processes.driver.drivers import Running, a_driver


async def page(running: Running, most: int, token: str = "") -> tuple[list[str], str]:
    request = csi.ListVolumesRequest(max_entries=most, starting_token=token)
    answer = await running.call(m.LIST_VOLUMES, request)
    return [entry.volume.volume_id for entry in answer.entries], answer.next_token


async def test_pages_follow_each_other_in_the_order_of_making() -> None:
    async with a_driver() as running:
        made = [(await running.create(f"data-{n}", mib=1)).volume_id for n in range(5)]
        first, token = await page(running, 2)
        second, token = await page(running, 2, token)
        third, end = await page(running, 2, token)
        assert (first + second + third, end) == (made, "")


async def test_what_is_deleted_or_added_between_pages_shifts_nothing() -> None:
    async with a_driver() as running:
        made = [(await running.create(f"data-{n}", mib=1)).volume_id for n in range(4)]
        _, token = await page(running, 2)
        await running.delete(made[1])
        added = (await running.create("late", mib=1)).volume_id
        rest, _ = await page(running, 10, token)
        assert rest == [*made[2:], added]


async def test_a_token_that_was_never_given_is_refused() -> None:
    async with a_driver() as running:
        for token in ("invalid-token", "7", "-1", "٣"):
            request = csi.ListVolumesRequest(starting_token=token)
            assert await running.refused(m.LIST_VOLUMES, request) is DriverFailure.BUSY
        negative = csi.ListVolumesRequest(max_entries=-1)
        assert await running.refused(m.LIST_VOLUMES, negative) is DriverFailure.REJECTED


async def test_a_volume_tells_where_it_is_attached_and_how_it_is() -> None:
    async with a_driver() as running:
        volume = await running.create(mib=1)
        await running.attach(volume.volume_id)
        request = csi.ControllerGetVolumeRequest(volume_id=volume.volume_id)
        answer = await running.call(m.CONTROLLER_GET_VOLUME, request)
        assert answer.volume == volume
        assert list(answer.status.published_node_ids) == ["node-a"]
        assert not answer.status.volume_condition.abnormal
        unknown = csi.ControllerGetVolumeRequest(volume_id="none")
        assert await running.refused(m.CONTROLLER_GET_VOLUME, unknown) is DriverFailure.NOT_FOUND


async def test_snapshots_are_listed_by_source_and_by_id() -> None:
    async with a_driver() as running:
        one, two = await running.create("one", mib=1), await running.create("two", mib=1)
        first = await running.take_snapshot(one.volume_id, "first")
        second = await running.take_snapshot(two.volume_id, "second")

        async def listed(snapshot_id: str = "", source_volume_id: str = "") -> list[str]:
            request = csi.ListSnapshotsRequest(
                snapshot_id=snapshot_id, source_volume_id=source_volume_id
            )
            answer = await running.call(m.LIST_SNAPSHOTS, request)
            return [entry.snapshot.snapshot_id for entry in answer.entries]

        assert await listed() == [first.snapshot_id, second.snapshot_id]
        assert await listed(source_volume_id=two.volume_id) == [second.snapshot_id]
        assert await listed(snapshot_id=first.snapshot_id) == [first.snapshot_id]
        assert await listed(snapshot_id="none") == []
        request = csi.GetSnapshotRequest(snapshot_id=first.snapshot_id)
        assert (await running.call(m.GET_SNAPSHOT, request)).snapshot == first
