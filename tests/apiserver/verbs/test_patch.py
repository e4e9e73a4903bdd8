"""What patches may do to the type of an object, and how they are refused."""

from typing import Any

import msgspec
import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.verbs.patch import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH
from plimsoll.wire.transport import Request
from tests.apiserver.api import MAPS, Api

Outcome = tuple[int, str | None]
DONE: Outcome = (200, None)
INVALID: Outcome = (422, "patch")
BAD: Outcome = (400, None)


async def patched(api: Api, media_type: str, body: Any) -> Outcome:
    await api.create("a")
    response = await api.transport.request(
        Request(
            method="PATCH",
            path=f"{MAPS}/a",
            headers={"content-type": media_type},
            body=msgspec.json.encode(body),
        )
    )
    document = msgspec.json.decode(response.body)
    causes = document.get("details", {}).get("causes", [])
    return response.status, causes[0]["field"] if causes else None


@pytest.mark.parametrize(
    ("body", "merge", "strategic"),
    [
        pytest.param({"kind": "Secret"}, INVALID, DONE, id="another kind"),
        pytest.param({"apiVersion": "v2"}, INVALID, DONE, id="another version"),
        pytest.param({"kind": None}, DONE, DONE, id="no kind"),
        pytest.param({"apiVersion": ""}, BAD, DONE, id="no version"),
        pytest.param({"kind": 5}, INVALID, INVALID, id="a number for a kind"),
    ],
)
async def test_a_patch_cannot_make_an_object_one_of_another_kind(
    api: Api, body: Any, merge: Outcome, strategic: Outcome
) -> None:
    assert await patched(api, MERGE_PATCH, body) == merge
    await api.delete("a")
    assert await patched(api, STRATEGIC_PATCH, body) == strategic


async def test_a_json_patch_of_the_kind_is_refused_like_a_merge_patch(api: Api) -> None:
    operation = {"op": "replace", "path": "/kind", "value": "Secret"}
    assert await patched(api, JSON_PATCH, [operation]) == INVALID


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "/, Kind="),
        ({"apiVersion": "v1", "kind": "Pod"}, "/v1, Kind=Pod"),
        ({"apiVersion": "apps/v1", "kind": "ConfigMap"}, "apps/v1, Kind=ConfigMap"),
    ],
)
async def test_what_is_applied_as_another_kind_is_named_as_the_real_server_names_it(
    api: Api, body: Document, said: str
) -> None:
    reply = await api.apply(f"{MAPS}/a", body)
    assert (reply.status, reply.document["message"]) == (400, f"invalid object type: {said}")


WHOLE_OBJECTS: dict[str, tuple[str, Document]] = {
    "a lease": (
        "/apis/coordination.k8s.io/v1/namespaces/default/leases",
        {"spec": {"holderIdentity": "me", "renewTime": "2024-01-01T01:00:00.000001+01:00"}},
    ),
    "a node": (
        "/api/v1/nodes",
        {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}, "status": {}},
    ),
    "a pod": (
        "/api/v1/namespaces/default/pods",
        {
            "spec": {
                "containers": [
                    {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1000m"}}}
                ],
                "volumes": [{"name": "v", "emptyDir": {}}],
            }
        },
    ),
    "a claim": (
        "/api/v1/namespaces/default/persistentvolumeclaims",
        {
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1024Mi"}},
            }
        },
    ),
}


@pytest.mark.parametrize(("place", "body"), WHOLE_OBJECTS.values(), ids=WHOLE_OBJECTS.keys())
async def test_a_patch_leaves_what_it_does_not_mention_as_the_server_shows_it(
    api: Api, place: str, body: Document
) -> None:
    created = await api.ask("POST", place, {"metadata": {"name": "a"}} | body)
    changed = await api.ask("PATCH", f"{place}/a", {"metadata": {"labels": {"app": "new"}}})
    assert (created.status, changed.status) == (201, 200)
    for member in created.document.keys() - {"metadata"}:
        assert changed.document[member] == created.document[member]
    sent_back = await api.ask("PUT", f"{place}/a", changed.document)
    assert sent_back.document == changed.document


async def test_a_patch_is_complained_about_where_it_says_something_unknown(api: Api) -> None:
    await api.create("a")
    changed = await api.ask("PATCH", f"{MAPS}/a", {"unheard": 1, "data": {"text": "new"}})
    assert (changed.status, changed.document["data"]) == (200, {"text": "new"})
    assert changed.warnings == ('299 - "unknown field \\"unheard\\""',)
    assert "unheard" not in changed.document
