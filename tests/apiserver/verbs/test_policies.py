"""Writes pass the policies that are bound, whichever way they come."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from plimsoll.api.registry import Document
from plimsoll.wire.transport import Request
from tests.apiserver.admission.policies.objects import (
    BINDINGS,
    POLICIES,
    a_binding,
    a_policy,
    a_rule,
)
from tests.apiserver.api import MAPS, Api, Reply, a_map, serving
from tests.apiserver.audit.test_trail import ask, audited, entries

PODS = "/api/v1/namespaces/default/pods"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TOYS = "/apis/example.com/v1/namespaces/default/toys"


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with serving() as api:
        yield api


async def bind(api: Api, policy: Document, *actions: str, **binding: Any) -> None:
    """Store a policy and a binding of it."""
    made = await api.ask("POST", POLICIES, policy)
    assert made.status == 201, made
    bound = await api.ask(
        "POST", BINDINGS, a_binding(policy["metadata"]["name"], *actions, **binding)
    )
    assert bound.status == 201, bound


def denied(reply: Reply, why: str, policy: str = "p") -> bool:
    said = f"ValidatingAdmissionPolicy '{policy}' with binding '{policy}-binding' denied request: "
    return bool(reply.document.get("message", "").endswith(said + why))


async def test_a_write_that_a_policy_denies_is_refused_and_not_stored(api: Api) -> None:
    await bind(api, a_policy("p", "object.data.text == 'good'"))

    refused = await api.ask("POST", MAPS, a_map("a", "bad"))

    said = (
        "ValidatingAdmissionPolicy 'p' with binding 'p-binding' denied request: "
        "failed expression: object.data.text == 'good'"
    )
    assert (refused.status, refused.document["reason"]) == (422, "Invalid")
    assert refused.document["message"] == f'configmaps "a" is forbidden: {said}'
    assert refused.document["details"]["causes"] == [{"message": said}]
    assert (await api.get("a")).status == 404
    assert (await api.ask("POST", MAPS, a_map("b", "good"))).status == 201


async def test_a_policy_without_a_binding_is_not_asked(api: Api) -> None:
    assert (await api.ask("POST", POLICIES, a_policy("p", "false"))).status == 201
    assert (await api.ask("POST", MAPS, a_map("a"))).status == 201


async def test_updates_patches_and_dry_runs_pass_policies(api: Api) -> None:
    await api.create("a", "good")
    await bind(api, a_policy("p", "object.data.text == 'good'"))

    for method, body in (("PUT", a_map("a", "bad")), ("PATCH", {"data": {"text": "bad"}})):
        assert (await api.ask(method, f"{MAPS}/a", body)).status == 422
    assert (await api.ask("POST", MAPS, a_map("b", "bad"), dryRun="All")).status == 422
    assert (await api.get("a")).document["data"] == {"text": "good"}


async def test_an_applied_object_passes_policies(api: Api) -> None:
    await bind(api, a_policy("p", "object.data.text == 'good'"))
    applied = a_map("a", "bad") | {"kind": "ConfigMap", "apiVersion": "v1"}
    response = await api.transport.request(
        Request(
            method="PATCH",
            path=f"{MAPS}/a",
            query=(("fieldManager", "me"),),
            headers={"content-type": "application/apply-patch+yaml"},
            body=msgspec.json.encode(applied),
        )
    )
    assert response.status == 422


async def test_a_deletion_is_judged_by_the_object_that_would_go(api: Api) -> None:
    await api.create("kept")
    await api.create("free")
    await bind(api, a_policy("p", "object != null || oldObject.metadata.name != 'kept'"))

    assert (await api.ask("DELETE", f"{MAPS}/kept")).status == 422
    assert (await api.ask("DELETE", f"{MAPS}/free")).status == 200


async def test_objects_of_a_collection_are_deleted_until_a_policy_refuses(api: Api) -> None:
    for name in ("a", "kept", "z"):
        await api.create(name)
    await bind(api, a_policy("p", "oldObject == null || oldObject.metadata.name != 'kept'"))

    assert (await api.ask("DELETE", MAPS)).status == 422
    assert (await api.list()).names == ["kept", "z"]


async def test_a_binding_that_warns_lets_the_write_pass(api: Api) -> None:
    await bind(api, a_policy("p", "object.data.text == 'good'"), "Warn")

    made = await api.ask("POST", MAPS, a_map("a", "bad"))

    assert made.status == 201
    said = (
        "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p-binding': "
        "failed expression: object.data.text == 'good'"
    )
    assert made.warnings == (f'299 - "{said}"',)


async def test_policies_do_not_apply_to_policies_and_bindings(api: Api) -> None:
    everything = a_rule("*", group="*", apiGroups=["*"], apiVersions=["*"])
    await bind(api, a_policy("p", "false", rule=everything))

    assert (await api.ask("POST", MAPS, a_map("a"))).status == 422
    assert (await api.ask("DELETE", f"{BINDINGS}/p-binding")).status == 200
    assert (await api.ask("POST", MAPS, a_map("a"))).status == 201


async def test_a_changed_policy_counts_from_the_next_write_on(api: Api) -> None:
    await bind(api, a_policy("p", "false"))
    assert (await api.ask("POST", MAPS, a_map("a"))).status == 422

    changed = {"spec": {"validations": [{"expression": "true"}]}}
    assert (await api.ask("PATCH", f"{POLICIES}/p", changed)).status == 200

    assert (await api.ask("POST", MAPS, a_map("a"))).status == 201


async def test_custom_resources_are_judged_in_the_version_that_a_policy_names(api: Api) -> None:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [
        {"name": name, "served": True, "storage": name == "v1", "schema": schema}
        for name in ("v1", "v2")
    ]
    names = {"plural": "toys", "singular": "toy", "kind": "Toy"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}
    made = await api.ask(
        "POST", DEFINITIONS, {"metadata": {"name": "toys.example.com"}, "spec": spec}
    )
    assert made.status == 201, made
    rule = a_rule("toys", group="example.com")
    await bind(
        api,
        a_policy("p", "object.apiVersion == 'example.com/v1' && object.size < 3", rule=rule),
    )

    for version in ("v1", "v2"):
        path = TOYS.replace("v1", version)
        head = {"apiVersion": f"example.com/{version}", "kind": "Toy"}
        small = head | {"metadata": {"name": f"small-{version}"}, "size": 2}
        large = head | {"metadata": {"name": f"large-{version}"}, "size": 3}
        assert (await api.ask("POST", path, small)).status == 201
        assert (await api.ask("POST", path, large)).status == 422


async def test_bindings_evictions_and_scales_show_what_is_written(api: Api) -> None:
    pod = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    assert (await api.ask("POST", PODS, pod)).status == 201
    rule = a_rule("pods/binding", "pods/eviction")
    validation = {
        "expression": "object.kind == request.kind.kind && request.subResource == 'none'",
        "messageExpression": "object.kind + ' of ' + request.name",
    }
    await bind(api, a_policy("p", rule=rule, validations=[validation]))

    target = {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n"}}
    assert denied(await api.ask("POST", f"{PODS}/a/binding", target), "Binding of a")
    evicted = await api.ask("POST", f"{PODS}/a/eviction", {"metadata": {"name": "a"}})
    assert denied(evicted, "Eviction of a")
    assert "nodeName" not in (await api.ask("GET", f"{PODS}/a")).document["spec"]


async def test_a_policy_that_needs_long_is_evaluated_all_the_same(api: Api) -> None:
    text = "object.data.all(a, object.data.all(b, size(a) + size(b) < 100))"
    await bind(api, a_policy("p", text))
    large = {"metadata": {"name": "a"}, "data": {f"k{n}": "v" for n in range(100)}}
    assert (await api.ask("POST", MAPS, large)).status == 201
    large["metadata"]["name"], large["data"]["k" * 100] = "b", "v"
    assert (await api.ask("POST", MAPS, large)).status == 422


async def test_a_policy_that_needs_too_long_fails(api: Api) -> None:
    deep = "object.data.all(a, object.data.all(b, object.data.all(c, a + b + c != '')))"
    await bind(api, a_policy("p", deep))
    large = {"metadata": {"name": "a"}, "data": {f"k{n}": "v" for n in range(100)}}

    refused = await api.ask("POST", MAPS, large)

    assert refused.status == 422
    assert "running out of cost budget" in refused.document["message"]


async def test_writes_at_once_all_pass_policies(api: Api) -> None:
    await bind(api, a_policy("p", "object.data.text != 'bad'"))
    texts = ["good", "bad"] * 5
    replies = await asyncio.gather(
        *(api.ask("POST", MAPS, a_map(f"m{n}", text)) for n, text in enumerate(texts))
    )
    assert [reply.status for reply in replies] == [201, 422] * 5


async def test_audit_entries_tell_failures_and_annotations(tmp_path: Path) -> None:
    async with audited(tmp_path) as server:
        policy = a_policy(
            "p",
            "object.data.text == 'good'",
            auditAnnotations=[{"key": "text", "valueExpression": "'is ' + object.data.text"}],
        )
        assert await ask(server, "POST", POLICIES, policy) == 201
        assert await ask(server, "POST", BINDINGS, a_binding("p", "Audit", "Deny")) == 201
        assert await ask(server, "POST", MAPS, a_map("a", "good")) == 201
        assert await ask(server, "POST", MAPS, a_map("b", "bad")) == 422

    notes = [
        entry["annotations"]
        for entry in entries(tmp_path, verb="create", stage="ResponseComplete")
        if entry["objectRef"]["resource"] == "configmaps"
    ]
    assert [note["p/text"] for note in notes] == ["is good", "is bad"]
    key = "validation.policy.admission.k8s.io/validation_failure"
    assert key not in notes[0]
    assert json.loads(notes[1][key]) == [
        {
            "message": "failed expression: object.data.text == 'good'",
            "policy": "p",
            "binding": "p-binding",
            "expressionIndex": 0,
            "validationActions": ["Audit", "Deny"],
        }
    ]


async def test_the_finalizers_of_a_namespace_pass_policies(api: Api) -> None:
    assert (await api.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})).status == 201
    rule = a_rule("namespaces/finalize", operations=["UPDATE"])
    await bind(api, a_policy("p", "false", rule=rule))
    body = {"metadata": {"name": "n"}, "spec": {"finalizers": ["example.com/other"]}}

    refused = await api.ask("PUT", "/api/v1/namespaces/n/finalize", body)

    assert denied(refused, "failed expression: false")
    kept = await api.ask("GET", "/api/v1/namespaces/n")
    assert kept.document["spec"]["finalizers"] == ["kubernetes"]
