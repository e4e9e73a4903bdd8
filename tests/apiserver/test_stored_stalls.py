"""No small request holds the event loop because of what is stored beside the object it is about."""

import asyncio
import gc
import sys
import weakref
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
import pytest_asyncio

from plimsoll.apiserver.access.users import User
from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.apiserver.main import TURN_SECONDS, make_server, running
from plimsoll.apiserver.server import ApiServer
from plimsoll.apiserver.storage.revisions import HistoryLimits
from plimsoll.apiserver.storage.sqlite_store import SqliteStore
from plimsoll.runtime.clock import SystemClock
from plimsoll.runtime.ids import seeded_ids
from plimsoll.wire.transport import Request
from tests.apiserver.api import MAPS, a_map
from tests.apiserver.stalls import UNITS, get, patch, post, stall_of

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SHARES = "/apis/example.com/v1/namespaces/default/shares"
ROLES = "/apis/rbac.authorization.k8s.io/v1"
TRIES = 4
"""A request that holds the loop does so each time."""


@pytest_asyncio.fixture
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ApiServer]:
    """With a thread for large work, as the real one has it."""
    turn_seconds = sys.getswitchinterval()
    sys.setswitchinterval(TURN_SECONDS)
    store = SqliteStore(tmp_path_factory.mktemp("stored") / "objects.db")
    made = make_server(store, SystemClock(), seeded_ids(1), HistoryLimits())
    async with running(made):
        yield made
    sys.setswitchinterval(turn_seconds)


@pytest.fixture
def client(server: ApiServer) -> InProcessTransport:
    return InProcessTransport(server)


def a_definition(plural: str, fields: int = 1, versions: int = 1) -> Any:
    spec = {"type": "object", "properties": {f"f{n}": {"type": "string"} for n in range(fields)}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    served = [
        {"name": f"v{n + 1}", "served": True, "storage": n == 0, "schema": schema}
        for n in range(versions)
    ]
    names = {"plural": plural, "singular": f"{plural}s", "kind": plural.title()}
    return {
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": names,
            "versions": served,
        },
    }


async def create(client: InProcessTransport, path: str, bodies: Sequence[Any]) -> None:
    for start in range(0, len(bodies), 100):
        requests = (client.request(post(path, body)) for body in bodies[start : start + 100])
        for response in await asyncio.gather(*requests):
            assert response.status == 201, response.body[:500]


async def least_stall(
    client: InProcessTransport, requests: Sequence[Request], before: Sequence[Request] = ()
) -> float:
    """Of requests that are the same work; `before` each of them goes one that undoes what the
    server may remember of the last."""
    least = float("inf")
    for number, request in enumerate(requests):
        if before:
            assert (await client.request(before[number])).status == 200
        response, _, stall = await stall_of(request, client)
        assert response.status < 300, response.body[:500]
        least = min(least, stall)
        if least < UNITS:
            break
    return least


def relabelled(name: str) -> list[Request]:
    """Each of them changes what is served."""
    return [
        patch(f"{DEFINITIONS}/{name}", "merge-patch+json", {"metadata": {"labels": {"a": str(n)}}})
        for n in range(TRIES)
    ]


@pytest.mark.parametrize("path", ["/openapi/v3", "/openapi/v2"])
async def test_documents_of_many_definitions_are_made_beside_the_event_loop(
    path: str, client: InProcessTransport
) -> None:
    await create(client, DEFINITIONS, [a_definition(f"p{n}", versions=3) for n in range(130)])
    changes = relabelled("p1.example.com")
    assert await least_stall(client, [get(path)] * TRIES, before=changes) < UNITS


async def test_a_large_definition_is_compiled_beside_the_event_loop(
    client: InProcessTransport,
) -> None:
    await create(client, DEFINITIONS, [a_definition("shares", fields=20_000)])
    objects = [
        post(SHARES, {"apiVersion": "example.com/v1", "kind": "Shares", "metadata": {"name": name}})
        for name in "abcd"
    ]
    changes = relabelled("shares.example.com")
    assert await least_stall(client, objects, before=changes) < UNITS
    assert await least_stall(client, [get(SHARES)] * TRIES, before=changes) < UNITS


async def test_nothing_is_kept_of_what_a_definition_was_before(
    server: ApiServer, client: InProcessTransport
) -> None:
    await create(client, DEFINITIONS, [a_definition("shares")])
    versions = []
    for change in relabelled("shares.example.com"):
        assert (await client.request(get(SHARES))).status == 200
        assert (await client.request(get("/openapi/v3"))).status == 200
        found = server.cluster.custom.find("example.com", "v1", "shares")
        versions.append(weakref.ref(found.served))  # type: ignore[union-attr]  # it is served
        del found
        await client.request(change)
    await client.request(get("/openapi/v3"))
    gc.collect()
    assert not any(version() for version in versions)


async def test_many_quotas_are_counted_beside_the_event_loop(client: InProcessTransport) -> None:
    hard = {"configmaps": "100000", "secrets": "100", "pods": "10"}
    quotas = [{"metadata": {"name": f"q-{n}"}, "spec": {"hard": hard}} for n in range(1500)]
    await create(client, "/api/v1/namespaces/default/resourcequotas", quotas)
    maps = [post(MAPS, a_map(f"m-{n}")) for n in range(TRIES)]
    assert await least_stall(client, maps) < UNITS


async def test_many_rules_of_a_user_are_listed_beside_the_event_loop(
    server: ApiServer, client: InProcessTransport
) -> None:
    rules = [{"verbs": ["get"], "apiGroups": [""], "resources": [f"r{n}"]} for n in range(14_000)]
    large = [{"metadata": {"name": f"r{n}"}, "rules": rules} for n in range(4)]
    await create(client, f"{ROLES}/clusterroles", large)
    group = "rbac.authorization.k8s.io"
    role = {"kind": "ClusterRole", "apiGroup": group}
    subject = {"kind": "User", "name": "ann", "apiGroup": group}
    everything = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
    await create(
        client, f"{ROLES}/clusterroles", [{"metadata": {"name": "s"}, "rules": everything}]
    )
    bindings = [
        {"metadata": {"name": name}, "roleRef": role | {"name": name}, "subjects": [subject]}
        for name in ("r0", "r1", "r2", "r3", "s")
    ]
    await create(client, f"{ROLES}/clusterrolebindings", bindings)
    ann = InProcessTransport(server, User(name="ann"))
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    review = post(path, {"spec": {"namespace": "default"}})
    assert b'"r13999"' in (await ann.request(review)).body
    assert await least_stall(ann, [review] * TRIES) < UNITS


async def test_defaults_that_multiply_are_filled_in_beside_the_event_loop(
    client: InProcessTransport,
) -> None:
    node: Any = {"type": "string", "default": "a"}
    for _ in range(7):
        item = {"type": "object", "properties": {"n": node}}
        node = {"type": "array", "default": [{}] * 10, "items": item}
    definition = a_definition("shares")
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"] = {"type": "object", "properties": {"n": node}}
    await create(client, DEFINITIONS, [definition])
    body = {"apiVersion": "example.com/v1", "kind": "Shares", "metadata": {"name": "a"}, "spec": {}}
    stalls = []
    for _ in range(TRIES):
        response, _, stall = await stall_of(post(SHARES, body), client)
        assert response.status == 413
        stalls.append(stall)
    assert min(stalls) < UNITS
