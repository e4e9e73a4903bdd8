"""The same bytes, rules and identities as over the network; nothing mutable is shared."""

import asyncio
from datetime import timedelta

import msgspec
import pytest

from plimsoll.apiserver.access.users import ANONYMOUS
from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.apiserver.storage.store import MemoryStore
from plimsoll.apiserver.upkeep.bootstrap import reconcile_bootstrap_roles
from plimsoll.runtime.clock import SteppedClock, settle
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.transport import Request, StreamedResponse
from tests.apiserver.api import MAPS, Api, a_map, serving
from tests.apiserver.stores import SlowStore

WATCH = Request(method="GET", path=MAPS, query=(("watch", "true"),))


def creating(name: str, timeout: timedelta | None = None) -> Request:
    body = msgspec.json.encode(a_map(name) | {"colour": "red"})
    return Request(method="POST", path=MAPS, body=body, timeout=timeout)


async def test_refusals_and_warnings_arrive_as_over_http(api: Api) -> None:
    made = await api.transport.request(creating("a"))
    assert (made.status, made.headers["content-type"]) == (201, "application/json")
    assert made.headers["warning"].startswith('299 - "unknown field')
    again = await api.transport.request(creating("a"))
    assert msgspec.json.decode(again.body)["reason"] == "AlreadyExists"


async def test_the_caller_is_who_the_transport_says(api: Api) -> None:
    stranger = InProcessTransport(api.server, ANONYMOUS)
    refused = await stranger.request(Request(method="GET", path=MAPS))
    assert refused.status == 403
    assert "system:anonymous" in msgspec.json.decode(refused.body)["message"]
    await reconcile_bootstrap_roles(api.server.cluster)
    assert (await stranger.request(Request(method="GET", path="/readyz"))).status == 200


async def test_a_watch_ends_for_the_server_when_the_caller_leaves(api: Api) -> None:
    async with api.transport.stream(WATCH) as response:
        await api.create("a")
        line = await anext(response.lines)
        assert msgspec.json.decode(line)["type"] == "ADDED"
        assert not line.endswith(b"\n")
        assert api.server.cluster.hub.number() == 1
    assert api.server.cluster.hub.number() == 0


async def test_a_watch_is_poured_into_a_receiver_as_its_changes_become_durable(api: Api) -> None:
    await api.create("a")
    heads: list[StreamedResponse] = []
    lines: list[bytes] = []
    limited = Request(method="GET", path=MAPS, query=(("watch", "true"), ("timeoutSeconds", "60")))
    pouring = asyncio.create_task(api.transport.pour(limited, heads.append, lines.append))
    await settle()
    await api.create("b")
    assert [head.status for head in heads] == [200]
    assert [msgspec.json.decode(line)["object"]["metadata"]["name"] for line in lines] == ["a", "b"]
    assert not any(line.endswith(b"\n") for line in lines)

    clock = api.server.cluster.clock
    assert isinstance(clock, SteppedClock)
    clock.advance(timedelta(seconds=61))
    await pouring
    assert api.server.cluster.hub.number() == 0


async def test_watches_of_one_change_are_sent_the_same_line(api: Api) -> None:
    told: list[list[bytes]] = [[], []]
    pours = [api.transport.pour(WATCH, lambda _head: None, each.append) for each in told]
    tasks = [asyncio.create_task(pour) for pour in pours]
    await settle()
    await api.create("a")
    [[one], [other]] = told
    assert one is other
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert api.server.cluster.hub.number() == 0


async def test_a_watch_that_is_refused_has_a_body_and_no_lines(api: Api) -> None:
    refused = Request(method="GET", path=MAPS, query=(("watch", "1"), ("limit", "x")))
    async with api.transport.stream(refused) as response:
        assert response.status in (200, 400)
    unknown = Request(method="GET", path="/api/v1/nothing", query=(("watch", "true"),))
    async with api.transport.stream(unknown) as response:
        assert response.status == 404
        assert msgspec.json.decode(response.body)["kind"] == "Status"
        assert [line async for line in response.lines] == []


async def test_a_watch_asked_for_as_a_request_is_a_mistake_that_leaves_nothing_open(
    api: Api,
) -> None:
    with pytest.raises(ValueError, match="stream"):
        await api.transport.request(WATCH)
    assert api.server.cluster.hub.number() == 0


async def test_an_answer_that_does_not_come_in_time_leaves_the_outcome_unknown(
    clock: SteppedClock,
) -> None:
    store = SlowStore(MemoryStore())
    async with serving(store, clock) as api:
        store.hold()
        create = asyncio.ensure_future(
            api.transport.request(creating("a", timeout=timedelta(seconds=5)))
        )
        await store.arrival()
        clock.advance(timedelta(seconds=5))
        await settle()
        with pytest.raises(KubeError) as unknown:
            await create
        assert unknown.value.failure is Failure.UNKNOWN_OUTCOME
        store.release()
        # The caller gave up waiting, and the write was under way all the same.
        await api.create("b")
        assert (await api.list()).names == ["a", "b"]


async def test_many_clients_at_once_get_what_they_asked_for(api: Api) -> None:
    replies = await asyncio.gather(*(api.create(f"m-{n}", str(n)) for n in range(100)))
    revisions = {reply.revision for reply in replies}
    assert len(revisions) == 100
    assert (await api.list()).revision == max(revisions)
