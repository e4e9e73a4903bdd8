"""Volumes grow as far as there is room, never shrink, and take new settings while in use."""

import pytest

from plimsoll.processes.driver.backends.pools.faults import Fail, FaultyCall, When
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.errors import DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi
from tests.processes.driver.drivers import (
    MIB,
    TWO_ZONES,
    Running,
    a_driver,
    capability,
    expand_request,
)


async def cannot_expand(
    running: Running, volume_id: str, mib: int, limit: int = 0
) -> DriverFailure:
    return await running.refused(m.CONTROLLER_EXPAND_VOLUME, expand_request(volume_id, mib, limit))


async def modify(running: Running, volume_id: str, **parameters: str) -> None:
    request = csi.ControllerModifyVolumeRequest(volume_id=volume_id, mutable_parameters=parameters)
    await running.call(m.CONTROLLER_MODIFY_VOLUME, request)


async def test_a_volume_grows_and_asking_again_changes_nothing() -> None:
    async with a_driver() as running:
        volume = await running.create(mib=5)
        assert await running.expand(volume.volume_id, 50) == 50
        assert await running.expand(volume.volume_id, 50) == 50
        assert await running.expand(volume.volume_id, 20) == 50
        assert await running.free_mib() == {"only": 974}


async def test_a_file_system_must_grow_on_the_node_a_block_device_need_not() -> None:
    async with a_driver() as running:
        for name, block in (("files", False), ("device", True)):
            volume = await running.create(name, mib=5, block=block)
            request = expand_request(volume.volume_id, 6)
            answer = await running.call(m.CONTROLLER_EXPAND_VOLUME, request)
            assert answer.node_expansion_required is not block


async def test_a_volume_does_not_shrink() -> None:
    async with a_driver() as running:
        volume = await running.create(mib=50)
        assert await cannot_expand(running, volume.volume_id, 5, 10) is DriverFailure.REJECTED


async def test_there_must_be_room_where_the_volume_is() -> None:
    """A size without room is none that the driver may still be at work on: it can be given up."""
    async with a_driver(*TWO_ZONES) as running:
        volume = await running.create(mib=1000, zones=["a"])
        full = await cannot_expand(running, volume.volume_id, 1025)
        assert full is DriverFailure.REJECTED
        assert await running.expand(volume.volume_id, 1024) == 1024
        assert await running.free_mib() == {"a": 0, "b": 1024}


async def test_a_volume_in_two_domains_grows_in_both() -> None:
    async with a_driver(*TWO_ZONES) as running:
        volume = await running.create(mib=10, parameters={"domains": "2"})
        await running.expand(volume.volume_id, 24)
        assert await running.free_mib() == {"a": 1000, "b": 1000}


@pytest.mark.parametrize("when", When)
async def test_an_attempt_that_fails_gives_the_room_back(when: When) -> None:
    async with a_driver() as running:
        volume = await running.create(mib=10)
        running.backend.faults.set(Fail(call=FaultyCall.EXPAND, when=when))
        assert await cannot_expand(running, volume.volume_id, 20) is DriverFailure.GAVE_UP
        assert await running.free_mib() == {"only": 1014}
        assert await running.expand(volume.volume_id, 20) == 20


async def test_what_makes_no_sense_is_rejected() -> None:
    async with a_driver() as running:
        volume = await running.create(mib=10)
        no_range = csi.ControllerExpandVolumeRequest(volume_id=volume.volume_id)
        other_mode = expand_request(volume.volume_id, 20)
        other_mode.volume_capability.CopyFrom(capability(block=True))
        for request in (no_range, other_mode, expand_request("", 5)):
            refusal = await running.refused(m.CONTROLLER_EXPAND_VOLUME, request)
            assert refusal is DriverFailure.REJECTED
        assert await cannot_expand(running, "none", 5) is DriverFailure.NOT_FOUND


async def test_settings_change_one_by_one() -> None:
    async with a_driver() as running:
        volume = await running.create(mib=10, mutable={"iops": "100"})
        await modify(running, volume.volume_id, throughput="7")
        await modify(running, volume.volume_id, iops="200")
        record = await running.driver.volume(volume.volume_id)
        assert record.mutable_parameters == {"iops": "200", "throughput": "7"}


async def test_settings_that_cannot_be_are_refused_and_change_nothing() -> None:
    async with a_driver() as running:
        volume = await running.create(mib=10, mutable={"iops": "100"})
        running.backend.faults.set(Fail(call=FaultyCall.MODIFY))
        for parameters, expected in (
            ({"iops": "200"}, DriverFailure.GAVE_UP),
            ({"iops": "many"}, DriverFailure.REJECTED),
            ({"colour": "red"}, DriverFailure.REJECTED),
        ):
            request = csi.ControllerModifyVolumeRequest(
                volume_id=volume.volume_id, mutable_parameters=parameters
            )
            assert await running.refused(m.CONTROLLER_MODIFY_VOLUME, request) is expected
        assert (await running.driver.volume(volume.volume_id)).mutable_parameters == {"iops": "100"}
        assert volume.capacity_bytes == 10 * MIB
