"""A driver on a busy machine takes a connection at once and shakes hands late.

How long gRPC waits for that is a setting with a misleading name, and its clock cannot be stepped.
Time is measured by another channel instead: it begins after ours, with a limit of 100 ms, and when
it has given up, ours must still be waiting.
"""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import grpc
import grpc.aio
import pytest

from plimsoll.wire.csi.errors import DriverError, DriverFailure
from plimsoll.wire.csi.grpc_transport import GrpcTransport
from plimsoll.wire.csi.transport import NO_METADATA, Metadata

METHOD = "/csi.v1.Controller/Echo"
DEADLINE = timedelta(minutes=1)
IMPATIENT = (
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.enable_http_proxy", 0),
)
ATTEMPTS = 2
SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""The least that HTTP/2 lets a server say: with this, a connection stands."""
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEAD_BYTES, KIND, HEADERS = 9, 3, 1


class Door:
    """A socket that accepts every connection and says nothing by itself."""

    def __init__(self, path: Path) -> None:
        self.address = f"unix://{path}"
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.setblocking(False)
        self._socket.bind(str(path))
        self._socket.listen()

    async def comer(self) -> socket.socket:
        """The next who connects and has begun to speak."""
        comer, _ = await asyncio.get_running_loop().sock_accept(self._socket)
        comer.setblocking(False)
        await received(comer, len(PREFACE))
        return comer

    def close(self) -> None:
        self._socket.close()


async def received(comer: socket.socket, size: int) -> bytes:
    """So many bytes, or fewer at the end of the connection."""
    found = b""
    while len(found) < size:
        more = await asyncio.get_running_loop().sock_recv(comer, size - len(found))
        if not more:
            break
        found += more
    return found


async def has_gone(comer: socket.socket) -> None:
    while await asyncio.get_running_loop().sock_recv(comer, 1 << 16):
        pass


async def shakes_hands_and_calls(comer: socket.socket) -> bool:
    """Whether the client is still there, and sends its call."""
    try:
        await asyncio.get_running_loop().sock_sendall(comer, SETTINGS)
    except ConnectionError:
        return False
    return await calls(comer)


async def calls(comer: socket.socket) -> bool:
    """Whether a call is sent before the connection ends."""
    while len(head := await received(comer, HEAD_BYTES)) == HEAD_BYTES:
        if head[KIND] == HEADERS:
            return True
        await received(comer, int.from_bytes(head[:3]))
    return False


@pytest.fixture
def doors(tmp_path: Path) -> Iterator[tuple[Door, Door]]:
    with closing(Door(tmp_path / "ours")) as ours, closing(Door(tmp_path / "other")) as other:
        yield ours, other


async def give_up(door: Door) -> None:
    """Return when a channel with gRPC's shortest limit has given up so many attempts."""
    async with grpc.aio.insecure_channel(door.address, options=IMPATIENT) as channel:
        for _ in range(ATTEMPTS):
            channel.get_state(try_to_connect=True)
            with closing(await door.comer()) as comer:
                await has_gone(comer)


async def test_a_driver_that_is_slow_to_shake_hands_is_waited_for(
    doors: tuple[Door, Door],
) -> None:
    door, other = doors
    transport = GrpcTransport(door.address)
    async with asyncio.timeout(DEADLINE.total_seconds()):
        call = asyncio.ensure_future(transport.call(METHOD, b"", within=DEADLINE))
        with closing(await door.comer()) as comer:
            await give_up(other)
            assert await shakes_hands_and_calls(comer)
        with pytest.raises(DriverError) as lost:
            await call
        assert lost.value.failure is not DriverFailure.UNREACHABLE
        await transport.close()


async def test_the_permit_is_asked_when_the_connection_stands(doors: tuple[Door, Door]) -> None:
    """A process may be stopped while it connects; nothing of its call has been sent by then."""
    door, _ = doors
    may_call = True

    def permit() -> Metadata:
        if not may_call:
            raise PermissionError
        return NO_METADATA

    transport = GrpcTransport(door.address)
    async with asyncio.timeout(DEADLINE.total_seconds()):
        call = asyncio.ensure_future(transport.call(METHOD, b"", within=DEADLINE, permit=permit))
        with closing(await door.comer()) as comer:
            may_call = False
            await asyncio.get_running_loop().sock_sendall(comer, SETTINGS)
            with pytest.raises(PermissionError):
                await call
            await transport.close()
            assert not await calls(comer)
