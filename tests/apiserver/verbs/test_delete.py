"""Objects go at once, after a grace period, or when their last finalizer is gone."""

from datetime import timedelta
from typing import Any

import pytest

from plimsoll.api.registry import Document
from plimsoll.runtime.clock import SteppedClock
from tests.apiserver.api import MAPS, Api, a_map

PODS = "/api/v1/namespaces/default/pods"


def a_pod(name: str, node: str = "") -> dict[str, Any]:
    container = {"name": "c", "image": "i"}
    spec = {"containers": [container]} | ({"nodeName": node} if node else {})
    return {"metadata": {"name": name}, "spec": spec}


async def test_a_plain_object_goes_at_once(api: Api) -> None:
    await api.create("a")
    await api.delete("a")
    assert (await api.get("a")).status == 404
    assert (await api.ask("DELETE", f"{MAPS}/a")).status == 404


async def test_a_finalizer_keeps_an_object_until_it_is_taken_away(api: Api) -> None:
    body = a_map("a")
    body["metadata"]["finalizers"] = ["example.com/hold"]
    await api.ask("POST", MAPS, body)
    async with api.watch(resourceVersion=str((await api.list()).revision)) as watching:
        held = await api.delete("a")
        assert held.document["metadata"]["deletionTimestamp"]
        assert await watching.seen() == [("MODIFIED", "a")]
        taken = await api.ask("POST", MAPS, a_map("a"))
        assert (taken.status, "being deleted" in taken.document["message"]) == (409, True)
        freed = await api.ask("PATCH", f"{MAPS}/a", {"metadata": {"finalizers": None}})
        assert freed.status == 200
        assert await watching.seen() == [("DELETED", "a")]
    assert (await api.get("a")).status == 404


@pytest.mark.parametrize("precondition", ["uid", "resourceVersion"])
async def test_a_precondition_that_does_not_hold_keeps_the_object(
    api: Api, precondition: str
) -> None:
    meta = (await api.create("a")).document["metadata"]
    for value, status in (("12345", 409), (meta[precondition], 200)):
        body = {"preconditions": {precondition: value}}
        assert (await api.ask("DELETE", f"{MAPS}/a", body)).status == status


async def test_a_pod_on_a_node_is_given_time_and_can_be_hurried(
    api: Api, clock: SteppedClock
) -> None:
    await api.ask("POST", PODS, a_pod("p", "node-1"))
    deleted = await api.ask("DELETE", f"{PODS}/p")
    meta = deleted.document["metadata"]
    assert meta["deletionGracePeriodSeconds"] == 30
    due = clock.now() + timedelta(seconds=30)
    assert meta["deletionTimestamp"] == due.strftime("%Y-%m-%dT%H:%M:%SZ")
    longer = await api.ask("DELETE", f"{PODS}/p", gracePeriodSeconds="60")
    assert longer.document["metadata"] == meta
    assert (await api.ask("DELETE", f"{PODS}/p", gracePeriodSeconds="0")).status == 200
    assert (await api.ask("GET", f"{PODS}/p")).status == 404


async def test_a_pod_without_a_node_goes_at_once(api: Api) -> None:
    await api.ask("POST", PODS, a_pod("p"))
    assert (await api.ask("DELETE", f"{PODS}/p")).status == 200
    assert (await api.ask("GET", f"{PODS}/p")).status == 404


async def test_a_selection_can_be_deleted_and_each_deletion_is_told(api: Api) -> None:
    for name in "abcd":
        await api.create(name, app="ours" if name in "ac" else "theirs")
    async with api.watch(resourceVersion=str((await api.list()).revision)) as watching:
        gone = await api.ask("DELETE", MAPS, labelSelector="app=ours")
        assert gone.names == ["a", "c"]
        assert await watching.seen() == [("DELETED", "a"), ("DELETED", "c")]
    assert (await api.list()).names == ["b", "d"]


async def test_of_a_collection_no_more_is_deleted_than_one_page(api: Api) -> None:
    for name in "abc":
        await api.create(name)

    first = await api.ask("DELETE", MAPS, limit="2")
    left = await api.list()
    token = first.document["metadata"]["continue"]
    second = await api.ask("DELETE", MAPS, **{"limit": "2", "continue": token})

    assert (first.names, left.names, second.names) == (["a", "b"], ["c"], ["c"])
    assert (await api.list()).names == []


async def test_a_page_that_begins_at_an_unreadable_token_deletes_nothing(api: Api) -> None:
    await api.create("a")

    assert (await api.ask("DELETE", MAPS, **{"continue": "nowhere"})).status == 400
    assert (await api.list()).names == ["a"]


async def test_collections_of_all_namespaces_cannot_be_deleted_at_once(api: Api) -> None:
    await api.create("a")
    assert (await api.ask("DELETE", "/api/v1/configmaps")).status == 405
    assert (await api.list()).names == ["a"]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"propagationPolicy": "Sideways"}, id="unknown-policy"),
        pytest.param(
            {"propagationPolicy": "Orphan", "orphanDependents": True}, id="two-ways-to-say-it"
        ),
        pytest.param({"dryRun": ["Some"]}, id="half-a-dry-run"),
    ],
)
async def test_options_that_make_no_sense_are_refused_and_nothing_is_deleted(
    api: Api, body: dict[str, Any]
) -> None:
    await api.create("a")
    assert (await api.ask("DELETE", f"{MAPS}/a", body)).status == 422
    assert (await api.get("a")).status == 200


async def test_a_deleted_name_can_be_used_again_by_another_object(api: Api) -> None:
    first = await api.create("a")
    await api.delete("a")
    second = await api.create("a")
    assert second.document["metadata"]["uid"] != first.document["metadata"]["uid"]


@pytest.mark.parametrize(
    "grace",
    [
        "9223372036854775807",
        "999999999999",
        "-9223372036854775808",
        "99999999",
    ],
)
async def test_an_endless_grace_period_is_refused_or_taken_but_never_a_crash(
    api: Api, grace: str
) -> None:
    await api.ask("POST", PODS, a_pod("p", "node-1"))
    assert (await api.ask("DELETE", f"{PODS}/p", gracePeriodSeconds=grace)).status < 500


@pytest.mark.parametrize(
    ("options", "status"),
    [
        pytest.param({"orphanDependents": False}, 202, id="not-to-orphan-in-the-old-way"),
        pytest.param({"propagationPolicy": "Foreground"}, 200, id="in-the-foreground"),
        pytest.param({}, 200, id="nothing-said"),
    ],
)
async def test_a_deletion_that_waits_is_accepted_where_the_client_asked_in_the_old_way(
    api: Api, options: Document, status: int
) -> None:
    held = a_map("a")
    held["metadata"]["finalizers"] = ["example.com/wait"]
    await api.ask("POST", MAPS, held)
    reply = await api.ask("DELETE", f"{MAPS}/a", options)
    assert (reply.status, reply.document["kind"]) == (status, "ConfigMap")
