"""Paths of the old form of watches, `/api/v1/watch/…`, are for watches alone."""

from collections.abc import AsyncIterator

import pytest

from tests.apiserver.access.people import a_person, allow, guarded
from tests.apiserver.api import Api, a_map

OLD_MAPS = "/api/v1/watch/namespaces/default/configmaps"
READ = {"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["configmaps"]}
ALL = {"verbs": ["*"], "apiGroups": [""], "resources": ["configmaps"]}
WRITES = [("POST", ""), ("PUT", "/a"), ("PATCH", "/a"), ("DELETE", "/a"), ("DELETE", "")]


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with guarded() as api:
        yield api


@pytest.mark.parametrize(("method", "place"), WRITES)
async def test_who_may_watch_cannot_write_by_the_path_of_a_watch(
    api: Api, method: str, place: str
) -> None:
    await allow(api, "panda", READ)
    await api.create("a")

    reply = await a_person(api, "panda").ask(method, OLD_MAPS + place, a_map("a", "other"))

    assert reply.status == 403
    held = await api.ask("GET", "/api/v1/namespaces/default/configmaps/a")
    assert held.document["data"]["text"] == ""


@pytest.mark.parametrize(("method", "place"), WRITES)
async def test_who_may_write_cannot_do_it_there_either(api: Api, method: str, place: str) -> None:
    await allow(api, "panda", ALL)
    await api.create("a")

    reply = await a_person(api, "panda").ask(method, OLD_MAPS + place, a_map("a", "other"))

    assert reply.status == 405
