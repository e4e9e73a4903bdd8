"""Calls over a real gRPC server on a real unix socket."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from datetime import timedelta
from pathlib import Path

import grpc
import grpc.aio
import pytest

from plimsoll.wire.csi.errors import DriverError, DriverFailure
from plimsoll.wire.csi.grpc_transport import GrpcTransport

ECHO, INFLATE, REFUSE, LAMENT_AT_LENGTH, HANG = (
    f"/csi.v1.Controller/{name}" for name in ("Echo", "Inflate", "Refuse", "Lament", "Hang")
)
LAMENT = "a command of the driver said: " + "no" * 500_000
DEADLINE = timedelta(seconds=10)
Context = grpc.aio.ServicerContext[bytes, bytes]


class Driver:
    def __init__(self) -> None:
        self.hanging = asyncio.Event()
        self.calls = 0

    async def echo(self, request: bytes, _context: Context) -> bytes:
        self.calls += 1
        return request[::-1]

    async def inflate(self, request: bytes, _context: Context) -> bytes:
        return request * 6_000_000

    async def refuse(self, request: bytes, context: Context) -> bytes:
        await context.abort(grpc.StatusCode[request.decode()], "as you like it")

    async def lament(self, _request: bytes, context: Context) -> bytes:
        await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, LAMENT)

    async def hang(self, _request: bytes, _context: Context) -> bytes:
        self.hanging.set()
        await asyncio.Event().wait()
        return b""

    def handlers(self) -> grpc.GenericRpcHandler:
        methods = {
            "Echo": self.echo,
            "Inflate": self.inflate,
            "Refuse": self.refuse,
            "Lament": self.lament,
            "Hang": self.hang,
        }
        return grpc.method_handlers_generic_handler(
            "csi.v1.Controller",
            {name: grpc.unary_unary_rpc_method_handler(m) for name, m in methods.items()},
        )


@asynccontextmanager
async def listening(driver: Driver, address: str) -> AsyncIterator[grpc.aio.Server]:
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((driver.handlers(),))
    server.add_insecure_port(address)
    await server.start()
    try:
        yield server
    finally:
        await server.stop(None)


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"unix://{tmp_path}/csi.sock"


@pytest.fixture
async def driver(address: str) -> AsyncIterator[Driver]:
    driver = Driver()
    async with listening(driver, address):
        yield driver


@pytest.fixture
async def transport(address: str) -> AsyncIterator[GrpcTransport]:
    transport = GrpcTransport(address)
    yield transport
    await transport.close()


async def failure(transport: GrpcTransport, method: str, request: bytes = b"") -> DriverError:
    with pytest.raises(DriverError) as failed:
        await transport.call(method, request, within=DEADLINE)
    return failed.value


async def test_bytes_go_there_and_back_as_they_are(
    driver: Driver, transport: GrpcTransport
) -> None:
    assert await transport.call(ECHO, b"\x00\xffabc", within=DEADLINE) == b"cba\xff\x00"
    assert driver.calls == 1


@pytest.mark.usefixtures("driver")
async def test_an_answer_larger_than_usual_is_no_lack_of_room(
    transport: GrpcTransport,
) -> None:
    assert len(await transport.call(INFLATE, b"x", within=DEADLINE)) == 6_000_000


async def test_a_driver_can_be_reached_over_tcp() -> None:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    async with listening(Driver(), address):
        transport = GrpcTransport(address)
        assert await transport.call(ECHO, b"ab", within=DEADLINE) == b"ba"
        await transport.close()


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("RESOURCE_EXHAUSTED", DriverFailure.OUT_OF_CAPACITY),
        ("INVALID_ARGUMENT", DriverFailure.REJECTED),
        ("ABORTED", DriverFailure.BUSY),
        ("UNAVAILABLE", DriverFailure.UNKNOWN_OUTCOME),
    ],
)
@pytest.mark.usefixtures("driver")
async def test_a_refusal_arrives_as_what_it_means(
    transport: GrpcTransport, code: str, expected: DriverFailure
) -> None:
    error = await failure(transport, REFUSE, code.encode())
    assert (error.failure, error.detail) == (expected, "as you like it")


@pytest.mark.usefixtures("driver")
async def test_a_refusal_with_a_long_text_is_no_lack_of_room(transport: GrpcTransport) -> None:
    error = await failure(transport, LAMENT_AT_LENGTH)
    assert (error.failure, error.detail) == (DriverFailure.UNKNOWN_OUTCOME, LAMENT)


@pytest.mark.usefixtures("driver")
async def test_a_call_that_the_driver_does_not_know_is_unsupported(
    transport: GrpcTransport,
) -> None:
    assert (await failure(transport, "/csi.v1.Node/Dance")).failure is DriverFailure.UNSUPPORTED


async def test_a_deadline_that_passes_leaves_the_outcome_unknown(
    driver: Driver, transport: GrpcTransport
) -> None:
    with pytest.raises(DriverError) as late:
        await transport.call(HANG, b"", within=timedelta(seconds=0.2))
    assert late.value.failure is DriverFailure.UNKNOWN_OUTCOME
    assert driver.hanging.is_set()


async def test_a_driver_that_is_not_there_has_surely_done_nothing(
    transport: GrpcTransport, address: str
) -> None:
    error = await failure(transport, ECHO)
    assert (error.failure, error.is_certain) == (DriverFailure.UNREACHABLE, True)
    assert address in str(error)


async def test_a_driver_that_dies_in_the_middle_of_a_call_may_have_done_something(
    transport: GrpcTransport, address: str
) -> None:
    driver = Driver()
    async with listening(driver, address) as server:
        call = asyncio.ensure_future(failure(transport, HANG))
        await driver.hanging.wait()
        await server.stop(None)
        error = await call
    assert (error.failure, error.is_certain) == (DriverFailure.UNKNOWN_OUTCOME, False)


async def reached_again(transport: GrpcTransport) -> bytes:
    while True:
        with suppress(DriverError):
            return await transport.call(ECHO, b"ab", within=DEADLINE)
        await asyncio.sleep(0.05)


async def known_failure(transport: GrpcTransport) -> DriverFailure:
    """Calls cannot know their outcome until gRPC tells that the connection is broken."""
    told = DriverFailure.UNKNOWN_OUTCOME
    while told is DriverFailure.UNKNOWN_OUTCOME:
        told = (await failure(transport, ECHO)).failure
    return told


async def test_a_driver_that_comes_back_is_found_again(
    transport: GrpcTransport, address: str
) -> None:
    async with listening(Driver(), address):
        await transport.call(ECHO, b"", within=DEADLINE)
    async with asyncio.timeout(DEADLINE.total_seconds()):
        assert await known_failure(transport) is DriverFailure.UNREACHABLE
    async with listening(Driver(), address), asyncio.timeout(DEADLINE.total_seconds()):
        assert await reached_again(transport) == b"ba"


@pytest.mark.usefixtures("driver")
async def test_a_closed_transport_sends_nothing(address: str) -> None:
    transport = GrpcTransport(address)
    await transport.close()
    assert (await failure(transport, ECHO)).failure is DriverFailure.UNREACHABLE
