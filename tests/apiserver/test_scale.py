"""The scale subresource: a document of its own, which changes one field of a workload."""

from typing import Any

import msgspec
import pytest

from plimsoll.api.registry import Document
from plimsoll.wire.transport import Request, Response
from tests.apiserver.api import Api

SETS = "/apis/apps/v1/namespaces/default/replicasets"
A_SET = {
    "metadata": {"name": "a"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "a"}},
        "template": {
            "metadata": {"labels": {"app": "a"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    },
}


@pytest.fixture(autouse=True)
async def workload(api: Api) -> None:
    assert (await api.ask("POST", SETS, A_SET)).status == 201


def a_scale(replicas: Any, **changes: Any) -> Document:
    scale = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "a"}}
    return scale | {"spec": {"replicas": replicas}} | changes


async def apply(api: Api, manager: str, scale: Document, **query: str) -> Response:
    return await api.transport.request(
        Request(
            method="PATCH",
            path=f"{SETS}/a/scale",
            query=(("fieldManager", manager), *query.items()),
            headers={"content-type": "application/apply-patch+yaml"},
            body=msgspec.json.encode(scale),
        )
    )


async def owners(api: Api) -> list[tuple[str, str, str]]:
    """Who owns the number of replicas."""
    shown = await api.ask("GET", f"{SETS}/a")
    return [
        (entry["manager"], entry["operation"], entry.get("subresource", ""))
        for entry in shown.document["metadata"]["managedFields"]
        if "f:replicas" in entry["fieldsV1"].get("f:spec", {})
    ]


@pytest.mark.parametrize(
    ("scale", "status"),
    [
        pytest.param(a_scale(2, kind="Foo"), 400, id="another kind"),
        pytest.param(a_scale(2, apiVersion="autoscaling/v2"), 400, id="another version"),
        pytest.param(a_scale("two"), 400, id="a text for a number"),
        pytest.param(a_scale(2, metadata={"name": "b"}), 400, id="of another object"),
        pytest.param(a_scale(2, metadata={}), 400, id="without a name"),
        pytest.param(a_scale(2, metadata={"name": "a", "uid": "u"}), 409, id="another uid"),
        pytest.param(a_scale(-1), 422, id="less than none"),
        pytest.param({"metadata": {"name": "a"}, "spec": {"replicas": 2}}, 200, id="untyped"),
    ],
)
async def test_a_scale_that_is_put_must_be_the_scale_of_the_workload(
    api: Api, scale: Document, status: int
) -> None:
    reply = await api.ask("PUT", f"{SETS}/a/scale", scale)
    assert reply.status == status


@pytest.mark.parametrize(
    ("patch", "status"),
    [
        ({"kind": "Foo"}, 422),
        ({"spec": {"replicas": "two"}}, 422),
        ({"metadata": {"name": "b"}}, 400),
        ({"spec": {"replicas": 3}}, 200),
    ],
)
async def test_a_patched_scale_is_checked_like_any_patched_object(
    api: Api, patch: Document, status: int
) -> None:
    reply = await api.ask("PATCH", f"{SETS}/a/scale", patch)
    assert reply.status == status


async def test_unknown_fields_of_a_scale_are_warned_of(api: Api) -> None:
    reply = await api.ask("PUT", f"{SETS}/a/scale", a_scale(2, colour="red"))
    assert reply.status == 200
    assert "colour" in reply.warnings[0]


async def test_an_applied_scale_makes_its_manager_the_owner_of_the_number(api: Api) -> None:
    conflict = await apply(api, "x", a_scale(4))
    assert conflict.status == 409
    taken = await apply(api, "x", a_scale(4), force="true")
    assert (taken.status, msgspec.json.decode(taken.body)["spec"]) == (200, {"replicas": 4})
    assert await owners(api) == [("x", "Apply", "scale")]


async def test_two_who_apply_the_same_number_both_own_it(api: Api) -> None:
    await apply(api, "x", a_scale(4), force="true")
    await apply(api, "y", a_scale(4))
    assert sorted(await owners(api)) == [("x", "Apply", "scale"), ("y", "Apply", "scale")]


async def test_an_applier_that_mentions_no_number_any_more_scales_to_none(api: Api) -> None:
    await apply(api, "x", a_scale(4), force="true")
    response = await apply(api, "x", a_scale(4) | {"spec": {}})
    assert (response.status, msgspec.json.decode(response.body)["spec"]) == (200, {})
    assert await owners(api) == []
