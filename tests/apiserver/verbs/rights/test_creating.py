"""Who may change objects of a kind creates none with it."""

from collections.abc import AsyncIterator

import pytest

from tests.apiserver.access.people import a_person, allow, guarded
from tests.apiserver.api import MAPS, Api

LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with guarded() as api:
        yield api


def rule(group: str, resource: str, *verbs: str) -> dict[str, list[str]]:
    return {"verbs": list(verbs), "apiGroups": [group], "resources": [resource]}


async def test_to_create_by_applying_needs_the_right_to_create(api: Api) -> None:
    await allow(api, "panda", rule("", "configmaps", "patch"), name="patches")
    panda = a_person(api, "panda")
    wanted = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}

    refused = await panda.apply(f"{MAPS}/a", wanted)
    await allow(api, "panda", rule("", "configmaps", "create"), name="creates")
    created = await panda.apply(f"{MAPS}/a", wanted)

    assert (refused.status, created.status) == (403, 201)
    assert refused.document["message"].startswith(
        'configmaps "a" is forbidden: User "panda" cannot create resource "configmaps" in API '
        'group "" in the namespace "default"'
    )


async def test_to_apply_to_what_is_there_needs_no_right_to_create(api: Api) -> None:
    await allow(api, "panda", rule("", "configmaps", "patch"))
    await api.create("a")
    wanted = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"b": ""}}

    reply = await a_person(api, "panda").apply(f"{MAPS}/a", wanted)

    assert (reply.status, reply.document["data"]["b"]) == (200, "")


async def test_to_create_by_replacing_needs_the_right_to_create(api: Api) -> None:
    await allow(api, "panda", rule("coordination.k8s.io", "leases", "update"), name="updates")
    panda, lease = a_person(api, "panda"), {"metadata": {"name": "a"}}

    refused = await panda.ask("PUT", f"{LEASES}/a", lease)
    await allow(api, "panda", rule("coordination.k8s.io", "leases", "create"), name="creates")
    created = await panda.ask("PUT", f"{LEASES}/a", lease)

    assert (refused.status, created.status) == (403, 201)
