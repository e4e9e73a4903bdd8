"""A driver in the same event loop answers as one behind a socket would."""

import asyncio
from datetime import timedelta
from typing import cast

import pytest
from grpc import StatusCode

from plimsoll.runtime.clock import SteppedClock, settle
from plimsoll.wire.csi.errors import CsiStatusError, DriverError, DriverFailure
from plimsoll.wire.csi.inprocess import InProcessCsi
from plimsoll.wire.csi.transport import Metadata

ECHO, REFUSE, HANG, BREAK = (f"/csi.v1.Controller/{n}" for n in ("Echo", "Refuse", "Hang", "Break"))
DEADLINE = timedelta(seconds=10)


async def echo(request: bytes, _: Metadata) -> bytes:
    return request[::-1]


async def refuse(request: bytes, _: Metadata) -> bytes:
    raise CsiStatusError(StatusCode[request.decode()], "as you like it")


async def hang(_request: bytes, _: Metadata) -> bytes:
    await asyncio.Event().wait()
    return b""


async def break_down(_request: bytes, _: Metadata) -> bytes:
    raise ZeroDivisionError


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
def transport(clock: SteppedClock) -> InProcessCsi:
    return InProcessCsi({ECHO: echo, REFUSE: refuse, HANG: hang, BREAK: break_down}, clock)


async def test_bytes_go_there_and_back(transport: InProcessCsi) -> None:
    assert await transport.call(ECHO, b"abc", within=DEADLINE) == b"cba"


async def test_nothing_mutable_is_shared(clock: SteppedClock) -> None:
    kept: list[bytes] = []

    async def keep(request: bytes, _: Metadata) -> bytes:
        kept.append(request)
        return cast("bytes", bytearray(b"answer"))

    mine = bytearray(b"request")
    transport = InProcessCsi({ECHO: keep}, clock)
    answer = await transport.call(ECHO, cast("bytes", mine), within=DEADLINE)
    mine[:] = b"changed"
    assert (kept, type(answer)) == ([b"request"], bytes)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("RESOURCE_EXHAUSTED", DriverFailure.OUT_OF_CAPACITY),
        ("ABORTED", DriverFailure.BUSY),
        ("INTERNAL", DriverFailure.GAVE_UP),
    ],
)
async def test_a_refusal_arrives_as_what_it_means(
    transport: InProcessCsi, code: str, expected: DriverFailure
) -> None:
    with pytest.raises(DriverError) as refused:
        await transport.call(REFUSE, code.encode(), within=DEADLINE)
    assert (refused.value.failure, refused.value.detail) == (expected, "as you like it")


async def test_a_call_that_the_driver_does_not_know_is_unsupported(transport: InProcessCsi) -> None:
    with pytest.raises(DriverError) as unknown:
        await transport.call("/csi.v1.Node/Dance", b"", within=DEADLINE)
    assert unknown.value.failure is DriverFailure.UNSUPPORTED


async def test_a_deadline_passes_by_the_clock_and_leaves_the_outcome_unknown(
    transport: InProcessCsi, clock: SteppedClock
) -> None:
    call = asyncio.ensure_future(transport.call(HANG, b"", within=DEADLINE))
    await settle()
    clock.advance(DEADLINE)
    with pytest.raises(DriverError) as late:
        await call
    assert late.value.failure is DriverFailure.UNKNOWN_OUTCOME


async def test_a_bug_in_a_driver_is_not_dressed_up_as_an_answer(transport: InProcessCsi) -> None:
    with pytest.raises(ZeroDivisionError):
        await transport.call(BREAK, b"", within=DEADLINE)


async def test_a_closed_transport_reaches_no_server(transport: InProcessCsi) -> None:
    await transport.close()
    with pytest.raises(DriverError) as closed:
        await transport.call(ECHO, b"", within=DEADLINE)
    assert closed.value.failure is DriverFailure.UNREACHABLE


async def test_a_call_without_a_permit_does_not_reach_the_driver(clock: SteppedClock) -> None:
    reached: list[bytes] = []

    async def keep(request: bytes, _: Metadata) -> bytes:
        reached.append(request)
        return b""

    def refused() -> Metadata:
        raise PermissionError

    with pytest.raises(PermissionError):
        await InProcessCsi({ECHO: keep}, clock).call(ECHO, b"", within=DEADLINE, permit=refused)
    assert reached == []


async def test_what_the_permit_says_travels_with_the_call(clock: SteppedClock) -> None:
    async def answer(_: bytes, metadata: Metadata) -> bytes:
        return metadata["key"].encode()

    transport = InProcessCsi({ECHO: answer}, clock)
    permit = {"key": "value"}.copy
    assert await transport.call(ECHO, b"", within=DEADLINE, permit=permit) == b"value"
