"""What patches may do to the type of an object, and how they are refused."""

from typing import Any

import msgspec
import pytest

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
