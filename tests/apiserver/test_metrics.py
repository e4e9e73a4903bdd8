"""What monitoring reads: kube-apiserver's names and labels."""

import asyncio
from pathlib import Path

import pytest

from plimsoll.apiserver.storage.sqlite_store import SqliteStore
from plimsoll.apiserver.storage.store import MemoryStore
from tests.apiserver.api import MAPS, Api, serving
from tests.apiserver.stores import SlowStore


async def lines(api: Api, *parts: str) -> list[str]:
    text: bytes = (await api.ask("GET", "/metrics")).document
    return [
        line
        for line in text.decode().splitlines()
        if not line.startswith("#") and all(part in line for part in parts)
    ]


@pytest.mark.parametrize(
    ("method", "path", "labels"),
    [
        ("POST", MAPS, ('verb="POST"', 'scope="resource"', 'code="201"')),
        ("GET", f"{MAPS}/a", ('verb="GET"', 'scope="resource"', 'code="404"')),
        ("GET", MAPS, ('verb="LIST"', 'scope="namespace"', 'code="200"')),
        ("GET", "/api/v1/configmaps", ('verb="LIST"', 'scope="cluster"', 'code="200"')),
        ("DELETE", MAPS, ('verb="DELETECOLLECTION"', 'scope="namespace"', 'code="200"')),
    ],
)
async def test_a_request_is_counted_by_what_it_was_and_how_it_went(
    api: Api, method: str, path: str, labels: tuple[str, ...]
) -> None:
    body = {"metadata": {"name": "a"}} if method == "POST" else None
    await api.ask(method, path, body)
    resource = ('resource="configmaps"', 'version="v1"', 'component="apiserver"')
    [counted] = await lines(api, "apiserver_request_total{", *resource, *labels)
    assert counted.endswith(" 1.0")
    timed = await lines(api, "apiserver_request_duration_seconds_count{", *resource, *labels[:2])
    assert [line.rpartition(" ")[2] for line in timed] == ["1.0"]


async def test_paths_that_clients_make_up_do_not_become_labels(api: Api) -> None:
    await api.ask("GET", "/made/up/1")
    await api.ask("GET", "/made/up/2")
    assert await lines(api, "made") == []
    [counted] = await lines(api, "apiserver_request_total{", 'code="404"')
    assert counted.endswith(" 2.0")


async def test_objects_and_watches_are_told_by_resource(api: Api) -> None:
    await api.create("a")
    async with api.watch():
        [watching] = await lines(api, "apiserver_longrunning_requests{", 'resource="configmaps"')
    [objects] = await lines(api, "apiserver_resource_objects{", 'resource="configmaps"')
    [stored] = await lines(api, 'apiserver_storage_objects{resource="configmaps"}')
    assert [line.rpartition(" ")[2] for line in (watching, objects, stored)] == ["1.0"] * 3


async def test_the_time_until_changes_are_durable_is_told(api: Api) -> None:
    await api.create("a")
    await api.delete("a")
    for operation in ("update", "delete"):
        parts = (f'operation="{operation}"', 'resource="configmaps"')
        [counted] = await lines(api, "etcd_request_duration_seconds_count{", *parts)
        assert counted.endswith(" 1.0")


async def test_the_process_tells_of_itself(api: Api) -> None:
    for name in ("process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds"):
        assert len(await lines(api, name)) == 1


async def in_flight(api: Api) -> dict[str, float]:
    found = await lines(api, "apiserver_current_inflight_requests{")
    return {line.split('"')[1]: float(line.rpartition(" ")[2]) for line in found}


async def test_requests_count_for_as_long_as_they_wait_for_their_answers() -> None:
    store = SlowStore(MemoryStore())
    async with serving(store) as api, api.watch():
        # The request for the metrics is one of them.
        assert await in_flight(api) == {"readOnly": 1, "mutating": 0}
        store.hold()
        creating = asyncio.ensure_future(api.create("a"))
        await store.arrival()
        assert await in_flight(api) == {"readOnly": 1, "mutating": 1}
        store.release()
        await creating
        assert await in_flight(api) == {"readOnly": 1, "mutating": 0}


async def test_a_request_that_is_refused_is_not_in_flight_any_more(api: Api) -> None:
    assert (await api.ask("POST", MAPS, [])).status == 400
    assert await in_flight(api) == {"readOnly": 1, "mutating": 0}


async def test_events_are_counted_for_every_watch_that_is_sent_them(api: Api) -> None:
    await api.create("a")
    async with api.watch() as one, api.watch() as another:
        for watching in (one, another):
            assert await watching.seen() == [("ADDED", "a")]
        await api.delete("a")
        for watching in (one, another):
            assert await watching.seen() == [("DELETED", "a")]
        labels = ('group=""', 'version="v1"', 'resource="configmaps"')
        [counted] = await lines(api, "apiserver_watch_events_total{", *labels)
    assert counted.endswith(" 4.0")


async def test_bookmarks_are_events_as_well(api: Api) -> None:
    asked = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    async with api.watch(allowWatchBookmarks="true", **asked) as watching:
        assert [kind for kind, _ in await watching.events()] == ["BOOKMARK"]
    [counted] = await lines(api, "apiserver_watch_events_total{", 'resource="configmaps"')
    assert counted.endswith(" 1.0")


async def test_the_size_of_the_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "log"
    async with serving(SqliteStore(path)) as api:
        [before] = await lines(api, "apiserver_storage_size_bytes{")
        await api.create("a", "x" * 200_000)
        [after] = await lines(api, "apiserver_storage_size_bytes{")
    grown = float(after.rpartition(" ")[2]) - float(before.rpartition(" ")[2])
    assert grown >= 200_000
