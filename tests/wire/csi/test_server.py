"""The socket of a driver: who may use it, what a caller hears, and what a killed process left."""

import asyncio
import logging
import socket
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from plimsoll.runtime.clock import SteppedClock
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.errors import DriverError, DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.grpc_transport import GrpcTransport
from plimsoll.wire.csi.methods import DELETE_VOLUME, GET_PLUGIN_INFO, PROBE
from plimsoll.wire.csi.refusals import failed_precondition
from plimsoll.wire.csi.server import (
    EndpointError,
    answering,
    fail_when_removed,
    listening,
    socket_path,
)

DEADLINE = timedelta(seconds=20)


async def info(_request: csi.GetPluginInfoRequest) -> csi.GetPluginInfoResponse:
    return csi.GetPluginInfoResponse(name="driver.example", vendor_version="1")


async def refuse(request: csi.DeleteVolumeRequest) -> csi.DeleteVolumeResponse:
    raise failed_precondition(f"volume {request.volume_id}: is in use")


async def break_down(_request: csi.ProbeRequest) -> csi.ProbeResponse:
    raise RuntimeError("the password is hunter2")


HANDLERS = dict(
    [
        answering(GET_PLUGIN_INFO, info),
        answering(DELETE_VOLUME, refuse),
        answering(PROBE, break_down),
    ]
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "below" / "csi.sock"


def client_of(path: Path) -> CsiClient:
    return CsiClient(GrpcTransport(f"unix://{path}"), within=DEADLINE)


def is_there(path: Path) -> bool:
    return path.exists()


def remove(path: Path) -> None:
    path.unlink()


def is_private(path: Path) -> bool:
    return path.stat().st_mode & 0o077 == 0


async def name_at(path: Path) -> str:
    client = client_of(path)
    try:
        return (await client.call(GET_PLUGIN_INFO, csi.GetPluginInfoRequest())).name
    finally:
        await client.close()


async def test_calls_are_answered_as_long_as_the_socket_is_there(path: Path) -> None:
    async with listening(f"unix://{path}", HANDLERS):
        assert await name_at(path) == "driver.example"
    assert not is_there(path)
    with pytest.raises(DriverError) as failed:
        await name_at(path)
    assert failed.value.failure is DriverFailure.UNREACHABLE


async def test_only_the_owner_may_connect(path: Path) -> None:
    async with listening(str(path), HANDLERS):
        assert is_private(path)


async def test_a_refusal_arrives_with_its_reason(path: Path) -> None:
    async with listening(str(path), HANDLERS):
        client = client_of(path)
        with pytest.raises(DriverError, match="volume x: is in use") as failed:
            await client.call(DELETE_VOLUME, csi.DeleteVolumeRequest(volume_id="x"))
        assert failed.value.failure is DriverFailure.WRONG_STATE
        await client.close()


async def test_a_bug_is_logged_and_its_text_stays_here(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with listening(str(path), HANDLERS):
        client = client_of(path)
        with caplog.at_level(logging.ERROR), pytest.raises(DriverError) as failed:
            await client.call(PROBE, csi.ProbeRequest())
        await client.close()
    assert failed.value.failure is DriverFailure.GAVE_UP
    assert "hunter2" not in str(failed.value)
    assert [record.message for record in caplog.records] == ["call failed"]


async def test_an_unknown_call_is_not_supported(path: Path) -> None:
    async with listening(str(path), {}):
        with pytest.raises(DriverError) as failed:
            await name_at(path)
        assert failed.value.failure is DriverFailure.UNSUPPORTED


async def test_what_is_no_message_is_refused(path: Path) -> None:
    async with listening(str(path), HANDLERS):
        transport = GrpcTransport(f"unix://{path}")
        with pytest.raises(DriverError, match="cannot be read") as failed:
            await transport.call(DELETE_VOLUME.name, b"\xff\xff\xff", within=DEADLINE)
        assert failed.value.failure is DriverFailure.REJECTED
        await transport.close()


async def test_the_socket_of_a_killed_process_is_replaced(path: Path) -> None:
    path.parent.mkdir()
    with closing(socket.socket(socket.AF_UNIX)) as left:
        left.bind(str(path))
    async with listening(str(path), HANDLERS):
        assert await name_at(path) == "driver.example"


async def test_the_socket_of_another_server_is_not_replaced(path: Path) -> None:
    async with listening(str(path), HANDLERS):
        with pytest.raises(EndpointError, match="another process answers there already"):
            async with listening(str(path), {}):
                pass
        assert await name_at(path) == "driver.example"


async def test_a_server_hears_of_it_when_its_socket_is_removed(path: Path) -> None:
    clock = SteppedClock()
    async with listening(str(path), HANDLERS):
        looking = asyncio.ensure_future(fail_when_removed([str(path)], clock))
        await clock.run(timedelta(minutes=1))
        assert not looking.done()
        remove(path)
        await clock.run(timedelta(seconds=5))
        with pytest.raises(EndpointError, match=r"csi\.sock: the socket was removed; start again"):
            await looking


async def test_a_file_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(EndpointError, match="something else than a socket"):
        async with listening(str(tmp_path), HANDLERS):
            pass
    assert is_there(tmp_path)


@pytest.mark.parametrize(
    "endpoint", ["csi.sock", "tcp://127.0.0.1:1234", "", "unix:///" + "x" * 120]
)
def test_what_is_no_socket_is_refused(endpoint: str) -> None:
    with pytest.raises(EndpointError, match="endpoint"):
        socket_path(endpoint)


@pytest.mark.parametrize("endpoint", ["/run/x.sock", "unix:/run/x.sock", "unix:///run/x.sock"])
def test_a_socket_may_be_written_in_three_ways(endpoint: str) -> None:
    assert socket_path(endpoint) == Path("/run/x.sock")


async def test_a_call_under_way_may_finish(path: Path) -> None:
    entered, leave = asyncio.Event(), asyncio.Event()

    async def slow(request: csi.GetPluginInfoRequest) -> csi.GetPluginInfoResponse:
        entered.set()
        await leave.wait()
        return await info(request)

    serving = listening(str(path), dict([answering(GET_PLUGIN_INFO, slow)]))
    await serving.__aenter__()
    calling = asyncio.ensure_future(name_at(path))
    await entered.wait()
    closing_ = asyncio.ensure_future(serving.__aexit__(None, None, None))
    leave.set()
    assert await calling == "driver.example"
    await closing_
