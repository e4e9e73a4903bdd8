"""Calls with typed messages, whatever they travel over."""

from datetime import timedelta

import pytest

from plimsoll.wire.csi.client import WITHIN, CsiClient
from plimsoll.wire.csi.errors import DriverError, DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.methods import CREATE_VOLUME, GET_PLUGIN_INFO
from plimsoll.wire.csi.transport import Permit, permit_always


class Recorder:
    """A transport that gives one answer and remembers what it was asked."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self.asked: list[tuple[str, bytes, timedelta]] = []
        self.is_closed = False

    async def call(
        self, method: str, request: bytes, *, within: timedelta, permit: Permit = permit_always
    ) -> bytes:
        del permit
        self.asked.append((method, request, within))
        return self._answer

    async def close(self) -> None:
        self.is_closed = True


async def test_messages_become_bytes_and_bytes_messages() -> None:
    answer = csi.CreateVolumeResponse(volume=csi.Volume(volume_id="x"))
    transport = Recorder(answer.SerializeToString())
    request = csi.CreateVolumeRequest(name="data")
    assert await CsiClient(transport).call(CREATE_VOLUME, request) == answer
    raw = request.SerializeToString()
    assert transport.asked == [("/csi.v1.Controller/CreateVolume", raw, WITHIN)]


async def test_a_call_may_have_its_own_deadline() -> None:
    transport = Recorder(b"")
    client = CsiClient(transport, within=timedelta(seconds=3))
    request = csi.GetPluginInfoRequest()
    await client.call(GET_PLUGIN_INFO, request)
    await client.call(GET_PLUGIN_INFO, request, within=timedelta(seconds=7))
    assert [within.total_seconds() for _, _, within in transport.asked] == [3, 7]


async def test_an_answer_that_cannot_be_read_leaves_the_outcome_open() -> None:
    client = CsiClient(Recorder(b"\xff\xff\xff"))
    with pytest.raises(DriverError) as failed:
        await client.call(CREATE_VOLUME, csi.CreateVolumeRequest(name="data"))
    assert failed.value.failure is DriverFailure.UNKNOWN_OUTCOME


async def test_closing_closes_what_it_travels_over() -> None:
    transport = Recorder(b"")
    await CsiClient(transport).close()
    assert transport.is_closed
