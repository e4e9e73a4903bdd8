import asyncio
import contextlib
from collections.abc import Awaitable
from datetime import timedelta
from random import Random
from typing import Any, TypeVar

import msgspec
import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import resources_by_path
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.runtime.clock import SteppedClock
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import Upserted, documents, typed
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.parameters import (
    Deletion,
    Selection,
    WatchFrom,
    WriteOptions,
    json_patch,
    merge_patch,
    strategic_patch,
)
from plimsoll.wire.transport import Request, Response
from tests.garbage import garbage_of_waiting
from tests.wire.scripted import ScriptedTransport, answer, refusal

NODES = documents(resources_by_path()["", "v1", "nodes"])
CLAIMS = typed(PersistentVolumeClaim)
DATA = ObjectKey("ns", "data")

T = TypeVar("T")


def client(transport: ScriptedTransport, clock: SteppedClock | None = None) -> KubeClient:
    return KubeClient(transport, clock=clock or SteppedClock(), chance=Random(0), manager="me")


async def sent(answers: list[Response], ask: Any) -> list[tuple[str, str, Any]]:
    """(method, target, decoded body) of every request that `ask(client)` makes."""
    transport = ScriptedTransport(*answers)
    await ask(client(transport))
    return [
        (r.method, r.target, msgspec.json.decode(r.body) if r.body else None)
        for r in transport.requests
    ]


async def test_an_object_is_read_as_its_type() -> None:
    found = answer(body={"metadata": {"namespace": "ns", "name": "data"}})
    transport = ScriptedTransport(found)
    claim = await client(transport).get(CLAIMS, DATA)
    assert claim.key == DATA
    assert transport.requests[0].path == "/api/v1/namespaces/ns/persistentvolumeclaims/data"


async def test_an_object_that_does_not_exist_can_be_asked_for() -> None:
    assert await client(ScriptedTransport(refusal(404, "NotFound"))).find(CLAIMS, DATA) is None
    with pytest.raises(KubeError, match="no"):
        await client(ScriptedTransport(refusal(403, "Forbidden"))).find(CLAIMS, DATA)


async def test_a_list_is_read_page_by_page() -> None:
    pages = [
        answer(
            body={
                "metadata": {"resourceVersion": "5", "continue": "c1"},
                "items": [{"metadata": {"name": "a"}}],
            }
        ),
        answer(body={"metadata": {"resourceVersion": "5"}, "items": [{"metadata": {"name": "b"}}]}),
    ]
    transport = ScriptedTransport(*pages)
    page = await client(transport).list(NODES, Selection(labels="zone=a"))
    assert [item["metadata"]["name"] for item in page.items] == ["a", "b"]
    assert page.resource_version == "5"
    assert [r.target for r in transport.requests] == [
        "/api/v1/nodes?labelSelector=zone%3Da&limit=500",
        "/api/v1/nodes?labelSelector=zone%3Da&limit=500&continue=c1",
    ]


async def test_writes_name_their_manager_and_carry_the_document() -> None:
    node = {"metadata": {"name": "n1"}}
    assert await sent([answer(201)], lambda c: c.create(NODES, node)) == [
        ("POST", "/api/v1/nodes?fieldManager=me", node)
    ]
    assert await sent([answer()], lambda c: c.update(NODES, node)) == [
        ("PUT", "/api/v1/nodes/n1?fieldManager=me", node)
    ]
    assert await sent([answer()], lambda c: c.update_status(NODES, node)) == [
        ("PUT", "/api/v1/nodes/n1/status?fieldManager=me", node)
    ]
    rehearsal = WriteOptions(is_rehearsal=True)
    assert await sent([answer()], lambda c: c.create(NODES, node, rehearsal)) == [
        ("POST", "/api/v1/nodes?fieldManager=me&dryRun=All", node)
    ]


@pytest.mark.parametrize(
    ("patch", "content_type"),
    [
        (merge_patch({"a": None}), "application/merge-patch+json"),
        (strategic_patch({"a": 1}), "application/strategic-merge-patch+json"),
        (json_patch([{"op": "remove", "path": "/a"}]), "application/json-patch+json"),
    ],
)
async def test_a_patch_says_of_which_form_it_is(patch: Any, content_type: str) -> None:
    transport = ScriptedTransport(answer())
    await client(transport).patch(NODES, ObjectKey("", "n1"), patch)
    assert transport.requests[0].method == "PATCH"
    assert transport.requests[0].headers["content-type"] == content_type


async def test_a_deletion_carries_its_preconditions() -> None:
    deletion = Deletion(uid="u", resource_version="4", grace_period_seconds=0, propagation="Orphan")
    [(method, target, body)] = await sent([answer()], lambda c: c.delete(CLAIMS, DATA, deletion))
    assert (method, target) == ("DELETE", "/api/v1/namespaces/ns/persistentvolumeclaims/data")
    assert body["preconditions"] == {"uid": "u", "resourceVersion": "4"}
    assert body["gracePeriodSeconds"] == 0
    assert body["propagationPolicy"] == "Orphan"

    [(_, _, plain)] = await sent([answer()], lambda c: c.delete(CLAIMS, DATA))
    assert plain == {"kind": "DeleteOptions", "apiVersion": "v1"}


async def test_a_pod_is_bound_by_its_binding() -> None:
    pod = ObjectKey("ns", "web-0")
    [(method, target, body)] = await sent([answer(201)], lambda c: c.bind(pod, "n1", uid="u"))
    assert method == "POST"
    assert target == "/api/v1/namespaces/ns/pods/web-0/binding?fieldManager=me"
    assert body["target"]["name"] == "n1"
    assert body["metadata"]["uid"] == "u"


async def finished(clock: SteppedClock, work: Awaitable[T]) -> T:
    task = asyncio.ensure_future(work)
    await clock.run(timedelta(minutes=10))
    return await task


async def test_what_the_server_turned_away_is_asked_again_when_it_said() -> None:
    clock = SteppedClock()
    transport = ScriptedTransport(
        refusal(429, "TooManyRequests", retry_after="5"),
        refusal(503, "ServiceUnavailable", retry_after="1"),
        answer(201, {"metadata": {"name": "n1"}}),
    )
    task = asyncio.ensure_future(
        client(transport, clock).create(NODES, {"metadata": {"name": "n1"}})
    )
    await clock.run(timedelta(seconds=4))
    assert len(transport.requests) == 1
    await clock.run(timedelta(seconds=10))
    assert (await task)["metadata"]["name"] == "n1"
    assert len(transport.requests) == 3


async def test_a_write_that_may_have_happened_is_not_repeated() -> None:
    clock = SteppedClock()
    transport = ScriptedTransport(refusal(500, "ServerTimeout", retry_after="1"))
    with pytest.raises(KubeError) as caught:
        await finished(clock, client(transport, clock).create(NODES, {"metadata": {}}))
    assert caught.value.failure is Failure.TIMEOUT
    assert len(transport.requests) == 1


async def test_a_read_is_repeated_even_then() -> None:
    clock = SteppedClock()
    transport = ScriptedTransport(refusal(500, "ServerTimeout", retry_after="1"), answer(200, {}))
    await finished(clock, client(transport, clock).get(NODES, ObjectKey("", "n1")))
    assert len(transport.requests) == 2


async def test_a_server_that_is_always_busy_is_given_up_on() -> None:
    clock = SteppedClock()
    transport = ScriptedTransport(*[refusal(429, "TooManyRequests", retry_after="1")] * 20)
    with pytest.raises(KubeError) as caught:
        await finished(clock, client(transport, clock).get(NODES, ObjectKey("", "n1")))
    assert caught.value.failure is Failure.TOO_MANY_REQUESTS
    assert len(transport.requests) < 10


async def test_a_broken_connection_is_the_callers_business() -> None:
    broken = KubeError(Failure.UNKNOWN_OUTCOME, "gone")
    with pytest.raises(KubeError) as caught:
        await client(ScriptedTransport(broken)).create(NODES, {"metadata": {}})
    assert caught.value is broken


async def test_an_answer_that_cannot_be_read_is_an_unknown_outcome() -> None:
    transport = ScriptedTransport(Response(status=200, body=b"<html>"))
    with pytest.raises(KubeError) as caught:
        await client(transport).get(NODES, ObjectKey("", "n1"))
    assert caught.value.failure is Failure.UNKNOWN_OUTCOME


async def test_a_watch_gives_events_one_by_one() -> None:
    lines = [
        msgspec.json.encode({"type": "ADDED", "object": {"metadata": {"name": n}}}) for n in "ab"
    ]
    transport = ScriptedTransport(answer(), lines=lines)
    start = WatchFrom(resource_version="5", timeout=timedelta(seconds=30))
    async with client(transport).watch(NODES, start, Selection(fields="x=y")) as events:
        names = [e.object["metadata"]["name"] async for e in events if isinstance(e, Upserted)]
    assert names == ["a", "b"]
    assert dict(transport.requests[0].query) == {
        "fieldSelector": "x=y",
        "watch": "true",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "30",
        "resourceVersion": "5",
    }


async def test_a_refused_watch_raises_what_the_server_said() -> None:
    transport = ScriptedTransport(refusal(410, "Expired", "too old"))
    with pytest.raises(KubeError, match="too old") as caught:
        async with client(transport).watch(NODES, WatchFrom(resource_version="1")):
            pass
    assert caught.value.failure is Failure.GONE


async def test_anything_can_be_read_raw() -> None:
    transport = ScriptedTransport(Response(status=200, body=b"ok"))
    assert await client(transport).raw_get("/readyz", {"verbose": "1"}) == b"ok"
    assert transport.requests[0].target == "/readyz?verbose=1"


def test_a_request_knows_whether_it_only_reads() -> None:
    assert Request(method="GET", path="/").is_read
    assert not Request(method="PATCH", path="/").is_read


async def test_a_refusal_leaves_no_garbage() -> None:
    """A circle of error and frame would keep the answer until the collector comes."""

    async def ask() -> None:
        with contextlib.suppress(KubeError):
            await client(ScriptedTransport(refusal(403, "Forbidden"))).get(CLAIMS, DATA)

    await ask()
    assert await garbage_of_waiting(ask) == 0
