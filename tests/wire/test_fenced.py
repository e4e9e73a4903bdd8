"""Once the leadership may be over nothing is written, whichever way a write takes."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from random import Random

import pytest
from aiohttp import web

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import resources_by_path
from plimsoll.runtime.clock import SteppedClock
from plimsoll.runtime.leading.fence import Fence
from plimsoll.wire.errors import Failure, FencedError
from plimsoll.wire.fenced import FencedTransport, check_fence
from plimsoll.wire.http import HttpTransport
from plimsoll.wire.kind import documents
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.limited import LimitedTransport
from plimsoll.wire.parameters import Selection, WriteOptions, merge_patch
from plimsoll.wire.transport import Request, Response
from tests.wire.scripted import ScriptedTransport, answer, refusal
from tests.wire.test_http import POST, access, serving

NODES = documents(resources_by_path()["", "v1", "nodes"])
KEY = ObjectKey("", "n")
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
PODS = ObjectKey("default", "p")

WRITES: dict[str, Callable[[KubeClient], Awaitable[object]]] = {
    "create": lambda client: client.create(NODES, NODE),
    "update": lambda client: client.update(NODES, NODE),
    "status": lambda client: client.update_status(NODES, NODE),
    "patch": lambda client: client.patch(NODES, KEY, merge_patch({}), WriteOptions()),
    "delete": lambda client: client.delete(NODES, KEY),
    "delete-collection": lambda client: client.delete_collection(NODES, Selection()),
    "bind": lambda client: client.bind(PODS, "n"),
}


def a_client(clock: SteppedClock, fence: Fence, inner: ScriptedTransport) -> KubeClient:
    return KubeClient(inner, clock=clock, chance=Random(1)).fenced(fence)


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
async def test_no_write_leaves_after_the_lease(
    write: Callable[[KubeClient], Awaitable[object]],
) -> None:
    clock, inner = SteppedClock(), ScriptedTransport(answer(body=NODE))
    fence = Fence(clock)
    fence.extend(10)
    client = a_client(clock, fence, inner)
    clock.advance(timedelta(seconds=10))

    with pytest.raises(FencedError) as refused:
        await write(client)

    assert refused.value.failure is Failure.FENCED
    assert refused.value.is_certain
    assert not refused.value.is_passing
    assert inner.requests == []


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
async def test_writes_pass_while_the_lease_is_held(
    write: Callable[[KubeClient], Awaitable[object]],
) -> None:
    clock, inner = SteppedClock(), ScriptedTransport(answer(body=NODE))
    fence = Fence(clock)
    fence.extend(10)

    await write(a_client(clock, fence, inner))

    assert len(inner.requests) == 1


async def test_reading_is_always_allowed() -> None:
    clock, inner = SteppedClock(), ScriptedTransport(answer(body=NODE))

    assert await a_client(clock, Fence(clock), inner).get(NODES, KEY) == NODE


async def test_a_write_that_is_repeated_asks_each_time() -> None:
    clock = SteppedClock()
    fence = Fence(clock)
    fence.extend(10)

    class Slow(ScriptedTransport):
        async def request(self, request: Request) -> Response:
            clock.advance(timedelta(seconds=30))
            return await super().request(request)

    inner = Slow(refusal(429, retry_after="0"), answer(body=NODE))
    client = KubeClient(inner, clock=clock, chance=Random(1)).fenced(fence)
    creating = asyncio.ensure_future(client.create(NODES, NODE))
    await clock.run(timedelta(minutes=1))

    with pytest.raises(FencedError):
        await creating
    assert len(inner.requests) == 1


async def test_a_write_that_waited_for_its_connection_asks_again_before_it_is_sent() -> None:
    """As when the process is stopped while it connects, or waits for its turn."""
    seen: list[str] = []

    def handler(request: web.BaseRequest) -> web.Response:
        seen.append(request.method)
        return web.Response(body=b"{}")

    clock = SteppedClock()
    fence = Fence(clock)
    async with serving(handler) as url, HttpTransport(access(url)) as http:

        class Stopped(LimitedTransport):
            async def _turn(self) -> None:
                clock.advance(timedelta(seconds=20))

        fence.extend(10)
        slow = FencedTransport(Stopped(http, clock, per_second=0, burst=1), fence)
        with pytest.raises(FencedError):
            await slow.request(POST)
        assert seen == []

        fresh = Fence.left_open(clock)
        await FencedTransport(http, fresh).request(POST)
        fresh.close()
        with pytest.raises(FencedError):
            await http.request(_permitted(fresh))
        assert seen == ["POST"], "the second would have used the same connection"


def _permitted(fence: Fence) -> Request:
    return Request(
        method="POST", path="/api/v1/nodes", body=b"{}", permit=lambda: check_fence(fence, "again")
    )
