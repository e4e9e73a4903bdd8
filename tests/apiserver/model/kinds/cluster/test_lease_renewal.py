"""A renewal of a lease is the lease that the way of all writes would have made."""

from datetime import timedelta
from random import Random
from typing import Any

import msgspec
import pytest

from plimsoll.api.registry import Document
from plimsoll.runtime.clock import SteppedClock
from plimsoll.wire.transport import Request
from tests.apiserver.api import Api

LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
ONE = f"{LEASES}/one"
TIMES = [
    *("2024-01-01T00:00:01.000001Z", "2024-01-01T00:00:02.000000Z", "2024-01-01T00:00:03.5Z"),
    *("2024-01-01T01:00:04.000000+01:00", "0001-01-01T00:00:00.000000Z", "never", 5, None),
]
WRITERS = ("node", "other", "third")


async def sent(api: Api, method: str, raw: bytes, **query: str) -> tuple[int, Any]:
    media_type = "application/json" if method == "PUT" else "application/merge-patch+json"
    response = await api.transport.request(
        Request(
            method=method,
            path=ONE,
            query=tuple(query.items()),
            headers={"content-type": media_type},
            body=raw,
        )
    )
    return response.status, msgspec.json.decode(response.body)


def versionless(answer: tuple[int, Any]) -> tuple[int, Any]:
    status, document = answer
    document.get("metadata", {}).pop("resourceVersion", None)
    return status, document


async def same_both_ways(api: Api, method: str, body: Any, writer: str) -> Document:
    """A dry run goes the way of all writes."""
    raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
    tried = await sent(api, method, raw, fieldManager=writer, dryRun="All")
    done = await sent(api, method, raw, fieldManager=writer)
    assert versionless(done) == versionless(tried)
    held: Document = (await api.ask("GET", ONE)).document
    return held


def chosen_spec(chance: Random, held: Document) -> Document:
    spec: Document = {"renewTime": chance.choice(TIMES[:2])}
    if chance.random() < 0.7:
        spec["holderIdentity"] = held["spec"].get("holderIdentity", "me")
    if chance.random() < 0.3:
        others: list[Document] = [
            {"holderIdentity": "you"},
            {"leaseDurationSeconds": chance.choice([40, True, 0, "40"])},
            {"renewTime": chance.choice(TIMES)},
            {"leaseTransitions": None},
            {"unknown": 1},
        ]
        spec |= chance.choice(others)
    return spec


def chosen_update(chance: Random, held: Document) -> Document:
    body = msgspec.json.decode(msgspec.json.encode(held))
    body["spec"] |= chosen_spec(chance, held)
    if chance.random() < 0.3:
        change = chance.choice(["version", "labels", "owners", "kind", "extra"])
        match change:
            case "version":
                body["metadata"]["resourceVersion"] = chance.choice(["", "1", "x"])
            case "labels":
                body["metadata"]["labels"] = {"a": str(chance.randrange(3))}
            case "owners":
                del body["metadata"]["managedFields"]
            case "kind":
                del body["kind"]
            case _:
                body["extra"] = {}
    return dict(body)


@pytest.mark.parametrize("seed", range(8))
async def test_a_renewal_is_what_the_way_of_all_writes_would_have_made(api: Api, seed: int) -> None:
    chance = Random(seed)
    spec = {"holderIdentity": "me", "leaseDurationSeconds": 1, "renewTime": TIMES[0]}
    created = await api.ask("POST", LEASES, {"metadata": {"name": "one"}, "spec": spec})
    held = created.document
    clock = api.server.cluster.clock
    assert isinstance(clock, SteppedClock)
    for _ in range(60):
        clock.advance(timedelta(seconds=chance.randrange(3)))
        writer = chance.choices(WRITERS, (8, 1, 1))[0]
        if chance.random() < 0.5:
            held = await same_both_ways(api, "PUT", chosen_update(chance, held), writer)
        else:
            held = await same_both_ways(api, "PATCH", {"spec": chosen_spec(chance, held)}, writer)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"spec":{"renewTime":"%s","renewTime":"%s"}}', id="a field twice"),
        pytest.param(b'{"spec":{"renew\\u0054ime":"%s","renewTime":"%s"}}', id="escaped"),
        pytest.param(b'{"spec":null,"spec":{"renewTime":"%s"},"metadata":%s}', id="more members"),
        pytest.param(b"[%s%s]", id="a list"),
        pytest.param(b"{%s%s", id="not JSON"),
    ],
)
async def test_bodies_that_are_no_plain_renewal_are_read_as_ever(api: Api, body: bytes) -> None:
    spec = {"holderIdentity": "me", "renewTime": TIMES[0]}
    await api.ask("POST", LEASES, {"metadata": {"name": "one"}, "spec": spec})
    first = b'{"spec":{"renewTime":"2024-01-01T00:00:01.100000Z"}}'
    await same_both_ways(api, "PATCH", first, "node")
    new = b"2024-01-01T00:00:02.000000Z"
    await same_both_ways(api, "PATCH", body % (new, new), "node")


async def test_a_renewal_by_the_manager_that_owns_it_changes_two_times_and_nothing_else(
    api: Api,
) -> None:
    spec = {"holderIdentity": "me", "renewTime": TIMES[0]}
    await api.ask("POST", LEASES, {"metadata": {"name": "one"}, "spec": spec}, fieldManager="node")
    before = (await api.ask("GET", ONE)).document
    clock = api.server.cluster.clock
    assert isinstance(clock, SteppedClock)
    clock.advance(timedelta(seconds=1))
    after = await api.ask("PATCH", ONE, {"spec": {"renewTime": TIMES[1]}}, fieldManager="node")
    (entry,) = before["metadata"]["managedFields"]
    entry["time"] = "2024-01-01T00:00:01Z"
    before["spec"]["renewTime"] = TIMES[1]
    before["metadata"]["resourceVersion"] = str(after.revision)
    assert after.document == before == (await api.ask("GET", ONE)).document
