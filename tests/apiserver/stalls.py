"""How long a request holds the event loop of a server.

A heartbeat runs in the server's event loop. What counts between two beats is the processor time of
the whole process, so that a busy machine does not matter, and it is compared with a fixed piece of
work that is measured in the same run.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.wire.transport import Request, Response

UNITS = 5
"""A unit takes about 12 ms on the machine this was written on; the promise there is 50 ms. The rest
is for other programs that take memory bandwidth away from the server."""

JSON = "application/json"


def post(path: str, body: Any, media_type: str = JSON) -> Request:
    content = body if isinstance(body, bytes) else msgspec.json.encode(body)
    return Request(method="POST", path=path, headers={"content-type": media_type}, body=content)


def patch(path: str, media_type: str, body: Any) -> Request:
    manager = (("fieldManager", "attacker"),)
    headers = {"content-type": f"application/{media_type}"}
    content = msgspec.json.encode(body)
    return Request(method="PATCH", path=path, query=manager, headers=headers, body=content)


def get(path: str, accept: str = JSON, **query: str) -> Request:
    return Request(method="GET", path=path, query=tuple(query.items()), headers={"accept": accept})


def unit_of_work() -> float:
    """The processor time of a fixed piece of work: the best of three."""

    def once() -> float:
        began, total = time.process_time(), 0
        for number in range(200_000):
            total += number * number % 7
        return time.process_time() - began

    return min(once() for _ in range(3))


@asynccontextmanager
async def heartbeat() -> AsyncIterator[list[float]]:
    """Processor time between any two beats."""
    gaps: list[float] = []

    async def beat() -> None:
        last = time.process_time()
        while True:
            await asyncio.sleep(0.001)
            now = time.process_time()
            gaps.append(now - last)
            last = now

    task = asyncio.ensure_future(beat())
    await asyncio.sleep(0.01)
    gaps.clear()
    try:
        yield gaps
        await asyncio.sleep(0.01)
    finally:
        task.cancel()


async def stall_of(request: Request, client: InProcessTransport) -> tuple[Response, float, float]:
    """The answer, the work it took, and the longest that the event loop was held, in units as they
    are at this time: before or after it, whichever is slower."""
    unit = unit_of_work()
    async with heartbeat() as gaps:
        began = time.process_time()
        response = await client.request(request)
        took = time.process_time() - began
    return response, took, max(gaps) / max(unit, unit_of_work())
