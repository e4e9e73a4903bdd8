"""Requests in turn, at a rate."""

import asyncio
from datetime import timedelta

import pytest

from plimsoll.runtime.clock import SteppedClock
from plimsoll.wire.limited import LimitedTransport
from plimsoll.wire.transport import Request
from tests.wire.scripted import ScriptedTransport, answer

ENOUGH = 40


def a_transport(
    clock: SteppedClock, per_second: float, burst: int
) -> tuple[LimitedTransport, ScriptedTransport]:
    inner = ScriptedTransport(*(answer() for _ in range(ENOUGH)))
    return LimitedTransport(inner, clock, per_second=per_second, burst=burst), inner


def a_request(number: int) -> Request:
    return Request(method="GET", path=f"/{number}")


async def send(transport: LimitedTransport, count: int) -> list[asyncio.Future[object]]:
    return [asyncio.ensure_future(transport.request(a_request(n))) for n in range(count)]


@pytest.mark.parametrize(
    ("per_second", "burst", "sent_by_second"),
    [
        pytest.param(5, 10, [10, 15, 20, 20], id="a-burst-then-the-rate"),
        pytest.param(1, 5, [5, 6, 7, 8], id="slowly"),
        pytest.param(0.5, 1, [1, 1, 2, 2], id="less-than-one-a-second"),
        pytest.param(0, 1, [20, 20, 20, 20], id="without-a-limit"),
        pytest.param(10, 0, [1, 11, 20, 20], id="a-burst-of-nothing-is-one"),
    ],
)
async def test_requests_keep_to_the_rate(
    per_second: float, burst: int, sent_by_second: list[int]
) -> None:
    clock = SteppedClock()
    transport, inner = a_transport(clock, per_second, burst)
    waiting = await send(transport, 20)
    seen = []
    for _ in sent_by_second:
        await clock.run(timedelta())
        seen.append(len(inner.requests))
        await clock.run(timedelta(seconds=1))
    assert seen == sent_by_second
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_who_came_first_goes_first() -> None:
    clock = SteppedClock()
    transport, inner = a_transport(clock, 2, 1)
    await asyncio.gather(*await send(transport, 6), clock.run(timedelta(seconds=10)))
    assert [request.path for request in inner.requests] == [f"/{n}" for n in range(6)]


async def test_a_long_rest_is_worth_one_burst_and_no_more() -> None:
    clock = SteppedClock()
    transport, inner = a_transport(clock, 5, 3)
    await clock.run(timedelta(hours=1))
    waiting = await send(transport, 10)
    await clock.run(timedelta())
    assert len(inner.requests) == 3
    await asyncio.gather(*waiting, clock.run(timedelta(seconds=10)))


async def test_a_caller_that_gives_up_waiting_sends_nothing() -> None:
    clock = SteppedClock()
    transport, inner = a_transport(clock, 1, 1)
    first, second = await send(transport, 2)
    await clock.run(timedelta())
    second.cancel()
    await asyncio.gather(first, second, clock.run(timedelta(seconds=5)), return_exceptions=True)
    assert [request.path for request in inner.requests] == ["/0"]


async def test_streams_take_their_turn_too() -> None:
    clock = SteppedClock()
    transport, inner = a_transport(clock, 1, 1)
    await transport.request(a_request(0))

    async def watch() -> int:
        async with transport.stream(a_request(1)) as response:
            return response.status

    watching = asyncio.ensure_future(watch())
    await clock.run(timedelta(milliseconds=900))
    assert len(inner.requests) == 1
    await clock.run(timedelta(milliseconds=200))
    assert await watching == 200
    await transport.close()
    assert inner.is_closed
