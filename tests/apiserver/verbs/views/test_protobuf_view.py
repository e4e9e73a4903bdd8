"""Answers to clients that take protobuf say the same as those in JSON."""

from typing import Any

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model import protobuf
from plimsoll.apiserver.model.schema import round_trip, schema_name
from plimsoll.apiserver.storage.revisions import HistoryLimits
from plimsoll.runtime.clock import SteppedClock, settle
from plimsoll.wire.transport import Request, Response
from tests.apiserver.api import MAPS, Api, serving

PROTOBUF = "application/vnd.kubernetes.protobuf"
PARTIAL = ";as=PartialObjectMetadata{};g=meta.k8s.io;v={}"
SNAPSHOTS = "/apis/snapshot.storage.k8s.io/v1/namespaces/default/volumesnapshots"
PIECES = 300


async def asked(
    api: Api, path: str, *, method: str = "GET", body: bytes = b"", accept: str = PROTOBUF
) -> Response:
    headers = {"accept": accept, "content-type": PROTOBUF if body else "application/json"}
    path, _, query = path.partition("?")
    pairs = tuple((n, v) for n, _, v in (pair.partition("=") for pair in query.split("&") if pair))
    return await api.transport.request(
        Request(method=method, path=path, headers=headers, query=pairs, body=body)
    )


def read(response: Response) -> Document:
    assert response.headers["content-type"] == PROTOBUF
    return protobuf.decode(response.body)


def frames(data: bytes) -> list[tuple[str, Document]]:
    found = []
    while data:
        size = int.from_bytes(data[:4], "big")
        event = protobuf.raw_event(data[4 : 4 + size])
        found.append((event[0], protobuf.decode(event[1])))
        data = data[4 + size :]
    return found


async def test_an_object_is_the_same_in_both_formats(api: Api) -> None:
    await api.create("a", "some text", tier="web")

    found = read(await asked(api, f"{MAPS}/a"))

    shown = round_trip(schema_name("", "v1", "ConfigMap"), found).document
    assert shown == (await api.get("a")).document


@pytest.mark.parametrize("number", [0, 1, PIECES])
async def test_a_list_is_the_same_in_both_formats(api: Api, number: int) -> None:
    for index in range(number):
        await api.create(f"m-{index}", "x" * 1000)

    found = read(await asked(api, MAPS))

    listed = (await api.list()).document
    assert found["metadata"] == listed["metadata"]
    schema = schema_name("", "v1", "ConfigMap")
    items = [round_trip(schema, item).document for item in found.get("items", [])]
    assert items == listed["items"]


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_metadata_alone_are_listed(api: Api, version: str) -> None:
    await api.create("a", "secret of mine")

    found = read(await asked(api, MAPS, accept=PROTOBUF + PARTIAL.format("List", version)))

    assert found["kind"] == "PartialObjectMetadataList"
    assert [item["metadata"]["name"] for item in found["items"]] == ["a"]
    assert "data" not in found["items"][0]


async def test_a_watch_sends_frames(api: Api) -> None:
    await api.create("a", "one")
    request = Request(
        method="GET",
        path=MAPS,
        headers={"accept": f"{PROTOBUF};stream=watch,application/json;stream=watch"},
        query=(("watch", "true"), ("timeoutSeconds", "1")),
    )
    async with api.transport.stream(request) as response:
        assert response.headers["content-type"] == f"{PROTOBUF};stream=watch"
        first = frames(await anext(response.lines))
        await api.change("a", "two")
        await settle()
        second = frames(await anext(response.lines))

    assert [(kind, item["data"]) for kind, item in first + second] == [
        ("ADDED", {"text": "one"}),
        ("MODIFIED", {"text": "two"}),
    ]


async def test_a_watch_from_long_ago_tells_so_in_a_frame(clock: SteppedClock) -> None:
    async with serving(clock=clock, limits=HistoryLimits(changes=2)) as api:
        revisions = [(await api.create(name)).revision for name in "abcd"]
        await api.server.cluster.revisions.compact()
        query = (("watch", "true"), ("resourceVersion", str(revisions[0])))
        request = Request(method="GET", path=MAPS, headers={"accept": PROTOBUF}, query=query)
        async with api.transport.stream(request) as response:
            [(kind, status)] = frames(await anext(response.lines))

    assert (kind, status["kind"], status["code"]) == ("ERROR", "Status", 410)


async def test_writes_are_answered_in_protobuf(api: Api) -> None:
    new = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}, "data": {"k": "v"}}

    made = await asked(api, MAPS, method="POST", body=protobuf.encode(new))
    gone = await asked(api, f"{MAPS}/a", method="DELETE")

    assert (made.status, read(made)["data"]) == (201, {"k": "v"})
    assert (gone.status, read(gone)["status"]) == (200, "Success")


async def test_refusals_are_told_in_protobuf(api: Api) -> None:
    response = await asked(api, f"{MAPS}/missing")

    assert response.status == 404
    assert read(response)["reason"] == "NotFound"


async def test_a_review_is_answered_in_protobuf(api: Api) -> None:
    kind = {"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"}
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"

    found = read(await asked(api, path, method="POST", body=protobuf.encode(kind)))

    assert found["status"]["userInfo"]["username"] == "admin"


async def test_discovery_is_told_in_protobuf(api: Api) -> None:
    found = read(await asked(api, "/apis/apps/v1"))

    assert "deployments" in [resource["name"] for resource in found["resources"]]


@pytest.mark.parametrize(
    ("accept", "told"),
    [
        pytest.param(f"{PROTOBUF},application/json", "application/json", id="json-as-well"),
        pytest.param(PROTOBUF, None, id="protobuf-alone"),
        pytest.param(PROTOBUF + PARTIAL.format("List", "v1"), PROTOBUF, id="metadata"),
    ],
)
async def test_custom_kinds_have_no_messages(api: Api, accept: str, told: Any) -> None:
    response = await asked(api, SNAPSHOTS, accept=accept)

    assert response.status == (406 if told is None else 200)
    if told is not None:
        assert response.headers["content-type"] == told


async def test_a_custom_object_in_protobuf_is_of_an_unsupported_type(api: Api) -> None:
    claim = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}}

    body = protobuf.encode(claim)
    response = await asked(api, SNAPSHOTS, method="POST", body=body, accept="application/json")

    assert response.status == 415


async def test_tables_are_never_told_in_protobuf(api: Api) -> None:
    table = ";as=Table;g=meta.k8s.io;v=v1"
    accept = f"{PROTOBUF}{table},application/json{table}"

    only = await asked(api, MAPS, accept=f"{PROTOBUF}{table}")
    either = await asked(api, MAPS, accept=accept)

    assert only.status == 406
    assert either.headers["content-type"] == "application/json"
