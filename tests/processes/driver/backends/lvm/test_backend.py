"""Against real lvm2, on loop devices."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from grpc import StatusCode

from plimsoll.processes.driver.backends.lvm.backend import LvmBackend, make
from plimsoll.processes.driver.backends.lvm.kernel import device_of as device_named
from plimsoll.processes.driver.backends.protocol import BackendRequest, Charges, DeviceSource
from plimsoll.processes.driver.controller.placement import (
    ANYWHERE,
    find_larger_place,
    find_place,
    largest_place,
)
from plimsoll.processes.driver.records import (
    RecordPhase,
    SnapshotRecord,
    VolumeMode,
    VolumePlacement,
    VolumeRecord,
)
from plimsoll.processes.driver.settings import BackendSettings
from plimsoll.wire.csi.errors import CsiStatusError
from tests.processes.driver.backends.lvm.disks import (
    EXTENT,
    NODE,
    Group,
    needs_device_mapper,
    needs_lvm,
    volume_group,
    without_device_mapper,
)

pytestmark = needs_lvm
NOTHING = Charges(promised={}, unmade={})
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

Found = tuple[Group, BackendSettings]


@pytest.fixture
def found(tmp_path: Path) -> Iterator[Found]:
    with volume_group(tmp_path, [12, 8, 8]) as made:
        yield made


async def opened(settings: BackendSettings) -> LvmBackend:
    backend = make(settings)
    await backend.settle([], [])
    return backend


def a_request(**parameters: str) -> BackendRequest:
    return BackendRequest(
        parameters=parameters, mutable_parameters={}, mode=VolumeMode.FILESYSTEM, fs_type=""
    )


async def largest(backend: LvmBackend, **parameters: str) -> int:
    """In extents."""
    layout = backend.layout(a_request(**parameters))
    return largest_place(await backend.pools(NOTHING), layout, ANYWHERE) // EXTENT


async def a_record(
    backend: LvmBackend, extents: int, *, name: str = "lvm-1", **parameters: str
) -> VolumeRecord:
    layout = backend.layout(a_request(**parameters))
    size = extents * EXTENT
    place = find_place(await backend.pools(NOTHING), layout, ANYWHERE, size)
    assert place is not None
    return VolumeRecord(
        id=name,
        name=f"pvc of {name}",
        size_bytes=size,
        mode=VolumeMode.FILESYSTEM,
        parameters=parameters,
        placement=place,
        phase=RecordPhase.MAKING,
        created_at=NOON,
    )


async def made(
    backend: LvmBackend, extents: int, *, name: str = "lvm-1", **parameters: str
) -> VolumeRecord:
    record = await a_record(backend, extents, name=name, **parameters)
    await backend.make(record, None)
    return record


def charges(*records: VolumeRecord) -> Charges:
    promised: dict[str, int] = {}
    for record in records:
        for part in record.placement.parts:
            promised[part.extent] = promised.get(part.extent, 0) + part.bytes
    return Charges(promised=promised, unmade={})


async def free(backend: LvmBackend, promised: Charges = NOTHING) -> list[int]:
    """In extents, by device."""
    (pool,) = await backend.pools(promised)
    return [extent.free_bytes // EXTENT for extent in pool.extents]


async def test_the_group_is_a_pool_of_its_disks(found: Found) -> None:
    backend = await opened(found[1])
    (pool,) = await backend.pools(NOTHING)
    assert pool.name == f"{NODE}/{found[0].lvm.group}"
    assert pool.topology == ({"topology.lvm.plimsoll.dev/node": NODE},)
    assert [extent.total_bytes // EXTENT for extent in pool.extents] == [12, 8, 8]
    assert await free(backend) == [12, 8, 8]


async def test_a_linear_volume_lies_where_it_was_promised_to(found: Found) -> None:
    backend = await opened(found[1])
    volume = await made(backend, 18)
    by_extent = {part.extent: part.bytes // EXTENT for part in volume.placement.parts}
    (pool,) = await backend.pools(charges(volume))
    for extent in pool.extents:
        taken = (extent.total_bytes - extent.free_bytes) // EXTENT
        assert taken == by_extent.get(extent.name, 0)


async def test_a_striped_volume_lies_on_so_many_disks(found: Found) -> None:
    group, settings = found
    backend = await opened(settings)
    await made(backend, 6, name="lvm-1", layout="striped")
    await made(backend, 4, name="lvm-2", layout="striped", stripes="2")
    assert len(group.lies_on("lvm-1")) == 3
    assert len(group.lies_on("lvm-2")) == 2


async def test_room_between_other_volumes_is_used_to_the_last_extent(found: Found) -> None:
    group, settings = found
    backend = await opened(settings)
    for number in range(6):
        device = group.lvm.disks[0]
        group.make_foreign(f"f{number}", "--extents", "2", group.lvm.group, device)
    for number in (0, 2, 4):
        group.run("lvremove", "--yes", f"{group.lvm.group}/f{number}")
    assert await free(backend) == [6, 8, 8]
    await made(backend, 18, name="lvm-1", layout="striped")
    await made(backend, 4, name="lvm-2")
    assert await free(backend) == [0, 0, 0]


async def test_volumes_made_at_the_same_time_do_not_get_in_each_others_way(found: Found) -> None:
    backend = await opened(found[1])
    layout = backend.layout(a_request())
    records: list[VolumeRecord] = []
    for number in range(7):
        place = find_place(await backend.pools(charges(*records)), layout, ANYWHERE, 4 * EXTENT)
        assert place is not None
        first = await a_record(backend, 4, name=f"lvm-{number}")
        records.append(msgspec.structs.replace(first, placement=place))
    assert await free(backend, charges(*records)) == [0, 0, 0]
    async with asyncio.TaskGroup() as group:
        for record in records:
            group.create_task(backend.make(record, None))
    assert found[0].names() == {f"lvm-{number}" for number in range(7)}


async def test_promised_room_is_charged_once_while_a_volume_is_made(found: Found) -> None:
    backend = await opened(found[1])
    record = await a_record(backend, 5)
    before = await free(backend, charges(record))
    await backend.make(record, None)
    assert before == await free(backend, charges(record)) == [7, 8, 8]


async def test_what_another_program_took_meanwhile_is_a_lack_of_room(found: Found) -> None:
    group, settings = found
    backend = await opened(settings)
    record = await a_record(backend, 12)
    group.make_foreign("other", "--extents", "4", group.lvm.group, group.lvm.disks[0])
    with pytest.raises(CsiStatusError) as refusal:
        await backend.make(record, None)
    assert refusal.value.code is StatusCode.RESOURCE_EXHAUSTED
    assert group.names() == {"other"}


async def test_making_and_removing_can_be_repeated(found: Found) -> None:
    group, settings = found
    backend = await opened(settings)
    record = await made(backend, 3)
    await backend.make(record, None)
    assert group.names() == {"lvm-1"}
    await backend.remove(record)
    await backend.remove(record)
    assert group.names() == set()
    assert await free(backend) == [12, 8, 8]


async def test_volumes_are_tagged_with_id_and_escaped_name(found: Found) -> None:
    group, settings = found
    backend = await opened(settings)
    await made(backend, 1)
    marks = group.tags("lvm-1")
    assert {"plimsoll", "plimsoll.id=lvm-1", "plimsoll.name=pvc+20of+20lvm-1"} <= set(marks)


async def test_a_volume_grows_where_it_was_promised_to(found: Found) -> None:
    backend = await opened(found[1])
    for parameters, before, after in (
        ({"layout": "linear"}, 4, 14),
        ({"layout": "striped"}, 3, 6),
        ({"layout": "striped", "stripes": "2"}, 2, 4),
    ):
        volume = await made(backend, before, **parameters)
        request = replace(a_request(**parameters), extents=len(volume.placement.parts))
        layout = backend.layout(request)
        pools = await backend.pools(charges(volume))
        place = find_larger_place(pools, layout, volume.placement, after * EXTENT)
        assert place is not None
        larger = msgspec.structs.replace(volume, placement=place)
        expected = await free(backend, charges(larger))
        await backend.grow(larger, after * EXTENT)
        await backend.grow(larger, after * EXTENT)
        assert await free(backend, charges(larger)) == expected == await free(backend)
        assert sum(expected) == 28 - after
        await backend.remove(larger)


async def test_growing_a_volume_that_is_gone_is_refused(found: Found) -> None:
    backend = await opened(found[1])
    record = await a_record(backend, 2)
    with pytest.raises(CsiStatusError) as refusal:
        await backend.grow(record, 4 * EXTENT)
    assert refusal.value.code is StatusCode.NOT_FOUND


@without_device_mapper
async def test_on_start_only_volumes_of_ours_without_a_record_are_removed(found: Found) -> None:
    """Nothing can have been written to them, so nothing is lost."""
    group, settings = found
    backend = await opened(settings)
    kept = await made(backend, 2, name="lvm-kept")
    await made(backend, 2, name="lvm-orphan")
    group.make_foreign("foreign", "--extents", "2", group.lvm.group)
    group.make_foreign(
        "lvm-others",
        *("--addtag", "plimsoll", "--addtag", "plimsoll.id=lvm-others"),
        *("--addtag", "plimsoll.owner=another", "--extents", "2", group.lvm.group),
    )
    await make(settings).settle([kept], [])
    assert group.names() == {"lvm-kept", "foreign", "lvm-others"}


async def test_finished_volumes_whose_records_are_lost_stay_where_they_could_be_written(
    found: Found, monkeypatch: pytest.MonkeyPatch
) -> None:
    group, settings = found
    backend = await opened(settings)
    record = await made(backend, 2, name="lvm-written")
    await made(backend, 2, name="lvm-unfinished")
    mark = ("lvchange", "--addtag", "plimsoll.unfinished", f"{group.lvm.group}/lvm-unfinished")
    group.run(*mark)
    monkeypatch.setattr(backend, "_why_no_devices", "")
    await backend.settle([], [])
    assert group.names() == {record.id}


async def test_a_driver_whose_records_are_lost_removes_nothing(
    found: Found, tmp_path: Path
) -> None:
    group, settings = found
    await made(await opened(settings), 2)
    (tmp_path / "data" / "lvm" / "owner").unlink()
    await make(settings).settle([], [])
    assert group.names() == {"lvm-1"}


async def test_a_foreign_volume_of_the_same_name_is_never_touched(found: Found) -> None:
    group, settings = found
    backend = await opened(settings)
    record = await a_record(backend, 2)
    group.make_foreign("lvm-1", "--extents", "1", group.lvm.group)
    with pytest.raises(CsiStatusError) as refusal:
        await backend.make(record, None)
    assert refusal.value.code is StatusCode.INTERNAL
    await backend.remove(record)
    assert group.names() == {"lvm-1"}


async def test_a_volume_that_is_gone_is_reported_as_abnormal(found: Found) -> None:
    backend = await opened(found[1])
    record = await made(backend, 2)
    assert not (await backend.condition(record)).abnormal
    await backend.remove(record)
    assert (await backend.condition(record)).abnormal


async def test_devices_are_called_as_lvm_calls_them(found: Found) -> None:
    group, settings = found
    await made(await opened(settings), 1, name="lvm-a-b")
    path = f"{group.lvm.group}/lvm-a-b"
    told = group.run("lvs", "--noheadings", "--options", "lv_dm_path", path).strip()
    assert str(device_named(group.lvm.group, "lvm-a-b")) == told


async def test_the_disks_that_are_there_count_for_striping_not_those_at_the_start(
    found: Found,
) -> None:
    group, settings = found
    backend = await opened(settings)
    group.run("vgreduce", group.lvm.group, group.lvm.disks[2])
    await backend.pools(NOTHING)
    assert backend.layout(a_request(layout="striped")).shares == 2


@without_device_mapper
async def test_without_device_mapper_what_needs_it_is_refused_with_the_reason(
    found: Found,
) -> None:
    backend = await opened(found[1])
    record = await made(backend, 2)
    assert not backend.features.node_service
    assert not backend.features.snapshots
    assert not backend.features.clones
    assert backend.opened(record, NODE) is None
    for attempt in (backend.open(record, NODE), backend.make(record, record)):
        with pytest.raises(CsiStatusError, match="device-mapper is not usable here"):
            await attempt
    with pytest.raises(CsiStatusError, match="device-mapper is not usable here"):
        backend.layout(a_request(layout="mirrored"))


@needs_device_mapper
async def test_a_volume_becomes_a_device_that_keeps_what_is_written(found: Found) -> None:
    backend = await opened(found[1])
    record = await made(backend, 2, layout="striped", stripes="2")
    await write(backend, record, b"kept")
    assert (await content(backend, record)).startswith(b"kept")


@needs_device_mapper
async def test_a_mirrored_volume_takes_what_was_promised_on_two_disks(found: Found) -> None:
    group, settings = found
    backend = await opened(settings)
    most = await largest(backend, layout="mirrored")
    record = await made(backend, most, layout="mirrored")
    assert await free(backend) == await free(backend, charges(record))
    assert sum(await free(backend)) == 28 - 2 * most - 2
    assert len(group.lies_on("lvm-1")) == 2


@needs_device_mapper
async def test_snapshots_and_clones_are_copies_that_outlive_their_origin(found: Found) -> None:
    backend = await opened(found[1])
    origin = await made(backend, 2)
    await write(backend, origin, b"as it was")
    place = (await a_record(backend, 2)).placement
    snapshot = a_snapshot(origin, place)
    await backend.snapshot(snapshot, origin)
    await backend.remove(origin)
    clone = await a_record(backend, 3, name="lvm-3")
    await backend.make(clone, snapshot)
    await backend.remove_snapshot(snapshot)
    assert (await content(backend, clone)).startswith(b"as it was")


@needs_device_mapper
async def test_a_new_volume_shows_nothing_of_a_used_one(found: Found) -> None:
    backend = await opened(found[1])
    record = await made(backend, 28)
    await write(backend, record, b"secret" * EXTENT)
    await backend.remove(msgspec.structs.replace(record, first_published_at=NOON))
    again = await made(backend, 28, name="lvm-2")
    assert b"secret" not in await content(backend, again)


async def write(backend: LvmBackend, record: VolumeRecord, text: bytes) -> None:
    (await device_of(backend, record)).write_bytes(text)
    await backend.close(record, NODE)


async def content(backend: LvmBackend, record: VolumeRecord) -> bytes:
    found = (await device_of(backend, record)).read_bytes()
    await backend.close(record, NODE)
    return found


async def device_of(backend: LvmBackend, record: VolumeRecord) -> Path:
    source = await backend.open(record, NODE)
    assert isinstance(source, DeviceSource)
    return source.devices[0]


async def test_a_volume_is_no_smaller_than_its_file_system_needs(found: Found) -> None:
    backend = await opened(found[1])
    smallest = {
        fs_type: backend.layout(replace(a_request(), fs_type=fs_type)).minimum_bytes // EXTENT
        for fs_type in ("", "ext4", "xfs")
    }
    assert smallest == {"": 2, "ext4": 2, "xfs": 300}
    with pytest.raises(CsiStatusError, match="ntfs"):
        backend.layout(replace(a_request(), fs_type="ntfs"))


def a_snapshot(origin: VolumeRecord, place: VolumePlacement) -> SnapshotRecord:
    return SnapshotRecord(
        id="lvm-2",
        name="snapshot",
        volume_id=origin.id,
        size_bytes=origin.size_bytes,
        mode=origin.mode,
        placement=place,
        phase=RecordPhase.MAKING,
        created_at=NOON,
    )
