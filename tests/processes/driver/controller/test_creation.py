"""One volume for one name, of an honest size, where it was wanted, or a refusal that says why."""

import asyncio
from typing import Any

import pytest

from plimsoll.processes.driver.backends.pools.faults import Fail, FaultyCall, Hang, When
from plimsoll.runtime.clock import settle
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.errors import DriverError, DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi, pools_pb2
from tests.processes.driver.drivers import (
    MIB,
    TWO_ZONES,
    ZONE,
    AccessMode,
    a_driver,
    create_request,
)

REJECTED, TAKEN = DriverFailure.REJECTED, DriverFailure.NAME_TAKEN


async def test_a_volume_is_as_large_as_asked_rounded_up() -> None:
    async with a_driver() as running:
        request = create_request("data")
        request.capacity_range.required_bytes = 5 * MIB + 1
        volume = (await running.call(m.CREATE_VOLUME, request)).volume
        assert volume.capacity_bytes == 6 * MIB


async def test_without_a_size_there_is_a_default_one() -> None:
    async with a_driver() as running:
        assert (await running.create("a")).capacity_bytes == 1024 * MIB


async def test_without_a_size_the_limit_is_kept() -> None:
    async with a_driver() as running:
        assert (await running.create("a", limit=10)).capacity_bytes == 10 * MIB


async def test_a_limit_that_rounding_cannot_keep_is_refused() -> None:
    async with a_driver() as running:
        request = create_request("data")
        request.capacity_range.required_bytes = 5 * MIB + 1
        request.capacity_range.limit_bytes = 5 * MIB + 2
        assert await running.refused(m.CREATE_VOLUME, request) is REJECTED
        assert await running.volume_ids() == []


async def test_the_same_call_gives_the_same_volume() -> None:
    async with a_driver() as running:
        first, second = await running.create(mib=5), await running.create(mib=5)
        assert first == second
        assert await running.free_mib() == {"only": 1019}


@pytest.mark.parametrize(
    "other",
    [
        {"mib": 7},
        {"mib": 1, "limit": 4},
        {"mib": 5, "block": True},
        {"mib": 5, "fs_type": "xfs"},
        {"mib": 5, "parameters": {"kind": "fast"}},
        {"mib": 5, "mutable": {"iops": "5"}},
        {"mib": 5, "zones": ["b"]},
    ],
    ids=["larger", "smaller", "mode", "file system", "parameters", "mutable", "place"],
)
async def test_a_name_is_taken_for_requests_that_want_something_else(other: dict[str, Any]) -> None:
    fast = {**TWO_ZONES[0], "kind": "fast"}
    async with a_driver(fast) as running:
        await running.create(mib=5)
        assert await running.cannot_create(**other) is TAKEN


async def test_a_volume_that_fits_a_wider_range_is_the_same_one() -> None:
    async with a_driver() as running:
        first = await running.create(mib=5)
        assert await running.create(mib=3, limit=8) == first


async def test_content_of_another_origin_takes_the_name() -> None:
    async with a_driver() as running:
        origin = await running.create("origin", mib=5)
        await running.create("data", mib=5)
        assert await running.cannot_create("data", mib=5, volume=origin.volume_id) is TAKEN


async def test_no_room_is_said_and_nothing_is_left() -> None:
    async with a_driver() as running:
        with pytest.raises(
            DriverError, match=r"needs 1074790400 bytes, the largest .* has 1073741824"
        ):
            await running.create(mib=1025)
        assert await running.free_mib() == {"only": 1024}


async def test_a_volume_goes_where_it_is_required() -> None:
    async with a_driver(*TWO_ZONES) as running:
        volume = await running.create(mib=5, zones=["b"])
        assert [dict(t.segments) for t in volume.accessible_topology] == [{ZONE: "b"}]
        assert await running.cannot_create("big", mib=1020, zones=["b"]) is (
            DriverFailure.OUT_OF_CAPACITY
        )
        assert await running.cannot_create("far", mib=1, zones=["c"]) is (
            DriverFailure.OUT_OF_CAPACITY
        )


async def test_the_first_preference_with_room_wins() -> None:
    async with a_driver(*TWO_ZONES) as running:
        both = {"zones": ["a", "b"], "preferred": ["b", "a"]}
        await running.create("one", mib=1000, **both)
        await running.create("two", mib=100, **both)
        assert await running.free_mib() == {"a": 924, "b": 24}


async def test_without_a_requirement_a_volume_is_where_a_node_reaches_it() -> None:
    nowhere = {"name": "a-far", "size": "10Gi", "topology": {"zone": "nobody"}}
    async with a_driver(nowhere, *TWO_ZONES) as running:
        volume = await running.create(mib=5)
        assert volume.accessible_topology[0].segments[ZONE] in "ab"


async def test_a_volume_in_two_domains_takes_room_in_both() -> None:
    async with a_driver(*TWO_ZONES) as running:
        volume = await running.create(mib=10, parameters={"domains": "2"}, zones=["a"])
        segments = [dict(t.segments) for t in volume.accessible_topology]
        assert segments == [{ZONE: "a"}, {ZONE: "b"}]
        assert await running.free_mib() == {"a": 1014, "b": 1014}


async def test_a_volume_reachable_from_everywhere_names_no_place() -> None:
    async with a_driver() as running:
        assert (await running.create(zones=["a"])).accessible_topology == []


@pytest.mark.parametrize(
    "request_",
    [
        csi.CreateVolumeRequest(),
        csi.CreateVolumeRequest(name="no-capabilities"),
        create_request("x" * 129),
        create_request("line\nbreak"),
        create_request("data", mib=5, limit=4),
        create_request("data", mib=-1),
        create_request("data", mode=AccessMode.UNKNOWN),
        create_request("data", parameters={"colour": "red"}),
        create_request("data", parameters={"pool": "none"}),
        create_request("data", parameters={"domains": "no"}),
        create_request("data", mutable={"colour": "red"}),
        create_request("data", mutable={"iops": "many"}),
    ],
    ids=lambda request: str(request)[:40].replace("\n", " "),
)
async def test_what_makes_no_sense_is_rejected(request_: csi.CreateVolumeRequest) -> None:
    async with a_driver() as running:
        assert await running.refused(m.CREATE_VOLUME, request_) is REJECTED
        assert await running.volume_ids() == []


async def test_what_a_provisioner_adds_about_the_claim_is_no_parameter() -> None:
    async with a_driver() as running:
        first = await running.create(mib=5, parameters={"csi.storage.k8s.io/pvc/name": "data"})
        assert await running.create(mib=5) == first


async def test_a_copy_is_as_large_as_its_origin() -> None:
    async with a_driver() as running:
        origin = await running.create("origin", mib=50)
        copy = await running.create("copy", volume=origin.volume_id)
        assert copy.capacity_bytes == 50 * MIB
        assert copy.content_source.volume.volume_id == origin.volume_id
        too_small = await running.cannot_create("small", limit=40, volume=origin.volume_id)
        assert too_small is REJECTED
        assert await running.cannot_create("x", volume="none") is DriverFailure.NOT_FOUND
        assert await running.cannot_create("x", volume=origin.volume_id, block=True) is REJECTED


async def test_fifty_calls_at_once_make_one_volume() -> None:
    async with a_driver() as running:
        calls = [running.create(mib=5) for _ in range(50)]
        answers = await asyncio.gather(*calls, return_exceptions=True)
        made = {answer.volume_id for answer in answers if isinstance(answer, csi.Volume)}
        refusals = {answer.failure for answer in answers if isinstance(answer, DriverError)}
        assert len(made) == 1
        assert refusals <= {DriverFailure.BUSY}
        assert await running.free_mib() == {"only": 1019}


async def test_many_names_at_once_never_take_more_than_there_is() -> None:
    async with a_driver() as running:
        calls = [running.create(f"data-{number}", mib=100) for number in range(30)]
        answers = await asyncio.gather(*calls, return_exceptions=True)
        made = [answer for answer in answers if isinstance(answer, csi.Volume)]
        refusals = {a.failure for a in answers if isinstance(a, DriverError)}
        assert (len(made), refusals) == (10, {DriverFailure.OUT_OF_CAPACITY})


async def test_a_caller_that_goes_away_finds_its_volume_later() -> None:
    async with a_driver() as running:
        running.backend.faults.set(Hang(call=FaultyCall.CREATE))
        calling = asyncio.ensure_future(running.create(mib=5))
        await settle()
        calling.cancel()
        assert await running.cannot_create(mib=5) is DriverFailure.BUSY
        assert await running.volume_ids() == []
        await running.release()
        (only,) = await running.volume_ids()
        assert (await running.create(mib=5)).volume_id == only


@pytest.mark.parametrize("when", When)
async def test_an_attempt_that_fails_leaves_nothing(when: When) -> None:
    async with a_driver() as running:
        running.backend.faults.set(Fail(call=FaultyCall.CREATE, when=when))
        assert await running.cannot_create(mib=5) is DriverFailure.GAVE_UP
        assert await running.free_mib() == {"only": 1024}
        assert (await running.create(mib=5)).capacity_bytes == 5 * MIB


@pytest.mark.parametrize("code", ["INTERNAL", "RESOURCE_EXHAUSTED"])
async def test_remains_that_could_not_be_removed_are_removed_by_the_next_call(code: str) -> None:
    """Whatever kept them from being removed: the caller may not forget the attempt."""
    async with a_driver() as running:
        running.backend.faults.set(
            Fail(call=FaultyCall.CREATE), Fail(call=FaultyCall.DELETE, code=code, times=2)
        )
        assert await running.cannot_create(mib=5) is DriverFailure.UNKNOWN_OUTCOME
        assert await running.cannot_create(mib=5) is DriverFailure.UNKNOWN_OUTCOME
        assert await running.free_mib() == {"only": 1019}
        await running.create(mib=7)
        assert await running.free_mib() == {"only": 1017}


async def test_a_deleted_volume_gives_its_room_back_and_may_be_deleted_again() -> None:
    async with a_driver() as running:
        volume = await running.create(mib=5)
        await running.delete(volume.volume_id)
        await running.delete(volume.volume_id)
        assert await running.free_mib() == {"only": 1024}
        assert (await running.create(mib=5)).volume_id != volume.volume_id


async def test_an_attached_volume_is_not_deleted() -> None:
    async with a_driver() as running:
        volume = await running.create(mib=5)
        await running.attach(volume.volume_id)
        request = csi.DeleteVolumeRequest(volume_id=volume.volume_id)
        assert await running.refused(m.DELETE_VOLUME, request) is DriverFailure.WRONG_STATE


async def test_a_volume_that_was_ever_published_is_not_deleted_as_unused() -> None:
    async with a_driver() as running:
        used, unused = await running.create("used", mib=1), await running.create("not", mib=1)
        await running.driver.record_first_publish(used.volume_id)
        asked = [
            pools_pb2.DeleteNeverPublishedRequest(volume_id=volume.volume_id)
            for volume in (used, unused)
        ]
        refusal = await running.refused(m.DELETE_NEVER_PUBLISHED, asked[0])
        assert refusal is DriverFailure.WRONG_STATE
        await running.call(m.DELETE_NEVER_PUBLISHED, asked[1])
        assert await running.volume_ids() == [used.volume_id]
        await running.delete(used.volume_id)
        assert await running.volume_ids() == []


async def test_a_driver_tells_of_each_volume_whether_a_pod_can_have_written_to_it() -> None:
    async with a_driver() as running:
        used, attached = await running.create("used", mib=1), await running.create("held", mib=1)
        unused = await running.create("not", mib=1)
        await running.driver.record_first_publish(used.volume_id)
        await running.attach(attached.volume_id)
        uses = [
            await running.call(
                m.GET_VOLUME_USE, pools_pb2.GetVolumeUseRequest(volume_id=volume.volume_id)
            )
            for volume in (used, attached, unused)
        ]
        assert [use.was_published for use in uses] == [True, False, False]
        assert [bool(use.in_use) for use in uses] == [False, True, False]
        assert len(await running.volume_ids()) == 3


async def test_a_driver_tells_nothing_of_a_volume_that_it_does_not_know() -> None:
    async with a_driver() as running:
        request = pools_pb2.GetVolumeUseRequest(volume_id="of-another")
        assert await running.refused(m.GET_VOLUME_USE, request) is DriverFailure.NOT_FOUND


async def test_an_origin_is_not_deleted_while_it_is_being_copied() -> None:
    async with a_driver() as running:
        origin = await running.create("origin", mib=5)
        running.backend.faults.set(Hang(call=FaultyCall.CREATE))
        copying = asyncio.ensure_future(running.create("copy", volume=origin.volume_id))
        await settle()
        request = csi.DeleteVolumeRequest(volume_id=origin.volume_id)
        assert await running.refused(m.DELETE_VOLUME, request) is DriverFailure.BUSY
        await running.release()
        await copying
        await running.delete(origin.volume_id)
