"""A list that is sent in pieces has the same bytes as one that is sent whole."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from plimsoll.apiserver.main import make_server, running
from plimsoll.apiserver.storage.revisions import HistoryLimits
from plimsoll.apiserver.storage.sqlite_store import SqliteStore
from plimsoll.runtime.clock import SteppedClock
from plimsoll.runtime.ids import seeded_ids
from plimsoll.wire.transport import Request
from tests.apiserver.api import MAPS, Api, a_map


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    """With threads and a disk, as in the real server."""
    store = SqliteStore(tmp_path / "objects.db")
    server = make_server(store, SteppedClock(), seeded_ids(1), HistoryLimits())
    async with running(server):
        api = Api(server)
        await asyncio.gather(*(api.create(f"m-{n}", "x" * 1000) for n in range(300)))
        yield api


@pytest.mark.parametrize(
    "accept",
    [
        "application/json",
        "application/yaml",
        "application/json;as=Table;v=v1;g=meta.k8s.io",
        "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
        "application/yaml;as=Table;v=v1;g=meta.k8s.io",
    ],
)
async def test_a_long_list_says_what_its_pages_say(api: Api, accept: str) -> None:
    async def listed(**query: str) -> dict[str, Any]:
        request = Request(
            method="GET", path=MAPS, query=tuple(query.items()), headers={"accept": accept}
        )
        answer = await api.transport.request(request)
        read = yaml.safe_load if "yaml" in accept else msgspec.json.decode
        document: dict[str, Any] = read(answer.body)
        return document

    whole = await listed()
    members = "rows" if "Table" in accept else "items"
    pages: list[object] = []
    token = ""
    while len(pages) < len(whole[members]):
        page = await listed(limit="20", **({"continue": token} if token else {}))
        pages += page[members]
        token = page["metadata"].get("continue", "")
        assert page | {"metadata": 0, members: 0} == whole | {"metadata": 0, members: 0}
    assert pages == whole[members]
    assert token == ""


async def test_a_large_write_is_answered_with_its_own_revision(api: Api) -> None:
    large = a_map("large", "x" * 100_000)
    replies = await asyncio.gather(
        api.ask("POST", MAPS, large), *(api.create(f"n-{n}") for n in range(20))
    )
    assert len({reply.revision for reply in replies}) == 21
    assert (await api.get("large")).revision == replies[0].revision


async def test_large_writes_to_one_object_follow_each_other(api: Api) -> None:
    await api.create("one")
    patches = [{"data": {f"k{n}": "x" * 40_000}} for n in range(8)]
    replies = await asyncio.gather(
        *(api.ask("PATCH", f"{MAPS}/one", patch) for patch in patches),
        *(api.ask("PATCH", f"{MAPS}/one", {"data": {f"s{n}": "x"}}) for n in range(8)),
    )
    assert {reply.status for reply in replies} == {200}
    data = (await api.get("one")).document["data"]
    assert len(data) == 17


async def test_deleting_a_long_collection_deletes_each_object_once(api: Api) -> None:
    async with api.watch(resourceVersion=str((await api.list(limit="1")).revision)) as watch:
        reply = await api.ask("DELETE", MAPS)
        assert (reply.status, len(reply.names)) == (200, 300)
        assert (await api.list()).names == []
        seen = await watch.seen()
    assert sorted(seen) == sorted(("DELETED", f"m-{n}") for n in range(300))
