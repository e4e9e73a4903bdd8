"""A volume is on as many nodes as its access mode allows, a node has as many as it can."""

import pytest

from plimsoll.processes.driver.backends.pools.faults import Fail, FaultyCall
from plimsoll.processes.driver.settings import NodeSettings
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.errors import DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi
from tests.processes.driver.drivers import (
    NODES,
    TWO_ZONES,
    AccessMode,
    Running,
    a_driver,
    attach_request,
    capability,
)

WRONG = DriverFailure.WRONG_STATE
READERS = AccessMode.MULTI_NODE_READER_ONLY
ONE_WRITER = AccessMode.MULTI_NODE_SINGLE_WRITER
WRITERS = AccessMode.MULTI_NODE_MULTI_WRITER


async def nodes_of(running: Running, volume_id: str) -> list[str]:
    request = csi.ControllerGetVolumeRequest(volume_id=volume_id)
    answer = await running.call(m.CONTROLLER_GET_VOLUME, request)
    return list(answer.status.published_node_ids)


async def cannot_attach(running: Running, request: csi.ControllerPublishVolumeRequest) -> str:
    return await running.refused(m.CONTROLLER_PUBLISH_VOLUME, request)


async def test_attaching_twice_is_attaching_once() -> None:
    async with a_driver() as running:
        volume = await running.create(mib=1)
        first = await running.attach(volume.volume_id)
        assert await running.attach(volume.volume_id) == first
        assert dict(first.publish_context) == {"node": "node-a", "pools": "only"}
        assert await nodes_of(running, volume.volume_id) == ["node-a"]


async def test_a_volume_for_one_node_is_on_one_node() -> None:
    async with a_driver() as running:
        volume = await running.create(mib=1)
        await running.attach(volume.volume_id)
        elsewhere = attach_request(volume.volume_id, "node-b")
        assert await cannot_attach(running, elsewhere) is WRONG
        await running.detach(volume.volume_id)
        await running.attach(volume.volume_id, "node-b")
        assert await nodes_of(running, volume.volume_id) == ["node-b"]


async def test_how_a_volume_is_attached_does_not_change_by_asking_again() -> None:
    async with a_driver() as running:
        volume = await running.create(mib=1)
        await running.attach(volume.volume_id)
        read_only = attach_request(volume.volume_id, read_only=True)
        assert await cannot_attach(running, read_only) is DriverFailure.NAME_TAKEN


@pytest.mark.parametrize(
    ("mode", "first_reads", "second_reads", "is_allowed"),
    [
        (WRITERS, False, False, True),
        (READERS, False, False, True),
        (ONE_WRITER, False, False, False),
        (ONE_WRITER, False, True, True),
        (ONE_WRITER, True, False, True),
        (AccessMode.SINGLE_NODE_MULTI_WRITER, True, True, False),
    ],
    ids=["writers", "readers", "two of one writer", "reader", "late writer", "one node"],
)
async def test_a_second_node_is_allowed_by_the_access_mode(
    mode: AccessMode.Mode, *, first_reads: bool, second_reads: bool, is_allowed: bool
) -> None:
    async with a_driver() as running:
        volume = await running.create(mib=1, mode=mode)
        await running.attach(volume.volume_id, mode=mode, read_only=first_reads)
        second = attach_request(volume.volume_id, "node-b", mode=mode, read_only=second_reads)
        if is_allowed:
            await running.call(m.CONTROLLER_PUBLISH_VOLUME, second)
            assert await nodes_of(running, volume.volume_id) == ["node-a", "node-b"]
        else:
            assert await cannot_attach(running, second) is WRONG


async def test_a_node_takes_no_more_volumes_than_it_can() -> None:
    nodes = (NodeSettings(id="node-a", max_volumes=2),)
    async with a_driver(nodes=nodes) as running:
        ids = [(await running.create(f"data-{n}", mib=1)).volume_id for n in range(3)]
        await running.attach(ids[0])
        await running.attach(ids[1])
        await running.attach(ids[1])
        full = await cannot_attach(running, attach_request(ids[2]))
        assert full is DriverFailure.OUT_OF_CAPACITY
        await running.detach(ids[0])
        await running.attach(ids[2])


async def test_a_volume_is_attached_only_where_it_can_be_reached() -> None:
    async with a_driver(*TWO_ZONES) as running:
        volume = await running.create(mib=1, zones=["a"])
        assert await cannot_attach(running, attach_request(volume.volume_id, "node-b")) is WRONG
        both = await running.create("both", mib=1, parameters={"domains": "2"})
        for node in NODES:
            await running.attach(both.volume_id, node.id, mode=WRITERS)


async def test_without_a_node_a_volume_is_detached_everywhere() -> None:
    async with a_driver() as running:
        volume = await running.create(mib=1, mode=WRITERS)
        for node in NODES:
            await running.attach(volume.volume_id, node.id, mode=WRITERS)
        await running.detach(volume.volume_id, "")
        assert await nodes_of(running, volume.volume_id) == []
        await running.detach("none")


async def test_an_attempt_that_fails_is_no_attachment() -> None:
    async with a_driver() as running:
        volume = await running.create(mib=1)
        running.backend.faults.set(Fail(call=FaultyCall.ATTACH))
        failed = await cannot_attach(running, attach_request(volume.volume_id))
        assert failed is DriverFailure.GAVE_UP
        assert await nodes_of(running, volume.volume_id) == []


async def test_what_makes_no_sense_is_refused() -> None:
    async with a_driver() as running:
        volume = await running.create(mib=1)
        unknown = DriverFailure.NOT_FOUND
        bare = csi.ControllerPublishVolumeRequest(volume_id=volume.volume_id, node_id="node-a")
        assert await cannot_attach(running, bare) is DriverFailure.REJECTED
        block = attach_request(volume.volume_id, block=True)
        assert await cannot_attach(running, block) is DriverFailure.REJECTED
        assert await cannot_attach(running, attach_request("none")) is unknown
        stranger = attach_request(volume.volume_id, "stranger")
        assert await cannot_attach(running, stranger) is unknown
        bare.node_id = ""
        bare.volume_capability.CopyFrom(capability())
        assert await cannot_attach(running, bare) is DriverFailure.REJECTED
