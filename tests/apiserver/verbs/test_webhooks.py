"""Writes pass real webhooks over TLS, and are refused or changed by them."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.webhooks.calls import WebhookEndpoint
from plimsoll.apiserver.admission.webhooks.endpoints import find_endpoint
from plimsoll.runtime.clock import SteppedClock, settle
from plimsoll.wire.webhooks.client import HttpWebhookClient
from tests.apiserver.api import MAPS, Api, Reply, serving
from tests.apiserver.hooks import (
    CONFIGURATIONS,
    DEFINITIONS,
    SERVICE_NAME,
    Hook,
    a_configuration,
    adding,
    adding_label,
    patched,
)


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with serving(webhooks=HttpWebhookClient()) as api:
        yield api


async def configure(api: Api, kind: str, configuration: Document) -> Reply:
    reply = await api.ask("POST", CONFIGURATIONS.format(kind), configuration)
    assert reply.status == 201, reply
    return reply


async def post(api: Api, name: str, **query: str) -> Reply:
    return await api.ask("POST", MAPS, {"metadata": {"name": name}, "data": {"a": "1"}}, **query)


async def test_a_refusal_is_told_to_the_client(api: Api, tmp_path: Path) -> None:
    def decide(_: Document) -> Document:
        return {"allowed": False, "status": {"message": "not today", "code": 409}}

    async with Hook(tmp_path, decide).running() as hook:
        await configure(api, "validating", a_configuration("no", hook))
        reply = await post(api, "a")

    assert reply.status == 409
    expected = 'admission webhook "no.example.com" denied the request: not today'
    assert reply.document["message"] == expected
    assert (await api.get("a")).status == 404


async def test_a_webhook_is_asked_in_the_first_version_it_names_that_there_is(
    api: Api, tmp_path: Path
) -> None:
    def decide(_: Document) -> Document:
        patch = adding("b", "2")["patch"]
        return {"uid": "of another question", "patch": patch}

    async with Hook(tmp_path, decide).running() as hook:
        versions = ["v2", "v1beta1", "v1"]
        configuration = a_configuration("old", hook, admissionReviewVersions=versions)
        await configure(api, "mutating", configuration)
        reply = await post(api, "a")

    assert hook.versions == ["admission.k8s.io/v1beta1"]
    assert (reply.status, reply.document["data"]) == (201, {"a": "1", "b": "2"})


async def test_a_webhook_is_told_who_asks_for_what(api: Api, tmp_path: Path) -> None:
    async with Hook(tmp_path, lambda _: {"warnings": ["careful"]}).running() as hook:
        await configure(api, "validating", a_configuration("see", hook))
        created = await post(api, "a", dryRun="All")
        await post(api, "a")
        await api.change("a", "2")
        deleted = await api.ask("DELETE", f"{MAPS}/a")

    assert created.warnings == ('299 - "careful"',)
    assert deleted.status == 200
    assert [asked["operation"] for asked in hook.asked] == ["CREATE", "CREATE", "UPDATE", "DELETE"]
    dry, first, second, last = hook.asked
    assert (dry["dryRun"], first["dryRun"]) == (True, False)
    assert first["object"]["data"] == {"a": "1"}
    assert first["oldObject"] is None
    assert first["resource"] == {"group": "", "version": "v1", "resource": "configmaps"}
    assert first["userInfo"]["username"] == "admin"
    assert second["oldObject"]["data"] == {"a": "1"}
    assert last["object"] is None
    assert last["oldObject"]["metadata"]["name"] == "a"


async def test_webhooks_change_the_object_one_after_the_other(api: Api, tmp_path: Path) -> None:
    def decide(request: Document) -> Document:
        seen = request["object"]["data"]
        return (
            adding("second", "after " + seen["first"]) if "first" in seen else adding("first", "x")
        )

    async with Hook(tmp_path, decide).running() as hook:
        await configure(api, "mutating", a_configuration("one", hook))
        await configure(api, "mutating", a_configuration("two", hook))
        reply = await post(api, "a")

    assert reply.status == 201
    assert reply.document["data"] == {"a": "1", "first": "x", "second": "after x"}
    assert hook.asked[0]["object"]["metadata"]["uid"] == reply.document["metadata"]["uid"]


async def test_a_webhook_is_asked_again_if_needed(api: Api, tmp_path: Path) -> None:
    def decide(request: Document) -> Document:
        seen = request["object"]["data"]
        return adding("last", ",".join(sorted(seen)))

    async with Hook(tmp_path, decide).running() as hook:
        again = a_configuration("one", hook, reinvocationPolicy="IfNeeded")
        await configure(api, "mutating", again)
        other = Hook(tmp_path, lambda _: adding("more", "y"))
        async with other.running():
            await configure(api, "mutating", a_configuration("two", other))
            reply = await post(api, "a")

    assert reply.document["data"]["last"] == "a,last,more"
    assert (len(hook.asked), len(other.asked)) == (2, 1)


@pytest.mark.parametrize(("policy", "status"), [("Fail", 500), ("Ignore", 201)])
async def test_the_failure_policy_decides_when_there_is_no_answer(
    api: Api, tmp_path: Path, policy: str, status: int
) -> None:
    async with Hook(tmp_path, lambda _: {"sleep": True}).running() as hook:
        slow = a_configuration("slow", hook, failurePolicy=policy)
        await configure(api, "validating", slow)
        reply = await post(api, "a")

    assert reply.status == status
    if status == 500:
        assert 'failed calling webhook "slow.example.com"' in reply.document["message"]


async def test_a_certificate_that_is_not_trusted_is_a_failure(api: Api, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Hook(tmp_path / "other", lambda _: {})
    async with Hook(tmp_path, lambda _: {}).running() as hook:
        client = {"url": hook.url, "caBundle": other.ca_bundle}
        await configure(api, "validating", a_configuration("x", hook, clientConfig=client))
        reply = await post(api, "a")

    assert reply.status == 500
    assert hook.asked == []


async def test_a_service_with_an_external_name_is_called(api: Api, tmp_path: Path) -> None:
    async with Hook(tmp_path, lambda _: {}).running() as hook:
        service = {
            "metadata": {"name": "hook"},
            "spec": {"type": "ExternalName", "externalName": "localhost"},
        }
        place = {"namespace": "default", "name": "hook", "path": "/admit", "port": hook.port}
        client = {"service": place, "caBundle": hook.ca_bundle}
        await configure(api, "validating", a_configuration("x", hook, clientConfig=client))
        early = await post(api, "early")
        made = await api.ask("POST", "/api/v1/namespaces/default/services", service)
        late = await post(api, "late")

    assert made.status == 201, made
    assert (early.status, late.status) == (500, 201), late
    assert 'service "hook" not found' in early.document["message"]


async def test_a_service_is_found_by_its_endpoint_slices(api: Api) -> None:
    service = {"metadata": {"name": "hook"}, "spec": {"ports": [{"name": "web", "port": 443}]}}
    places = {
        "metadata": {"name": "hook-1", "labels": {"kubernetes.io/service-name": "hook"}},
        "addressType": "IPv4",
        "endpoints": [
            {"addresses": ["10.0.0.1"], "conditions": {"ready": False}},
            {"addresses": ["10.0.0.2"]},
        ],
        "ports": [{"name": "metrics", "port": 9090}, {"name": "web", "port": 8443}],
    }
    slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
    await api.ask("POST", "/api/v1/namespaces/default/services", service)
    assert (await api.ask("POST", slices, places)).status == 201
    client = {"service": {"namespace": "default", "name": "hook", "path": "/admit"}}

    found = find_endpoint(client, api.server.cluster.reader)

    assert found == WebhookEndpoint("https://10.0.0.2:8443/admit", SERVICE_NAME)


async def test_selectors_say_which_objects_are_shown(api: Api, tmp_path: Path) -> None:
    selected = {"matchLabels": {"tier": "web"}}
    async with Hook(tmp_path, lambda _: {}).running() as hook:
        await configure(api, "validating", a_configuration("x", hook, objectSelector=selected))
        await api.create("a", "", tier="web")
        await api.create("b", "", tier="db")
        elsewhere = a_configuration("y", hook, namespaceSelector=selected)
        await configure(api, "validating", elsewhere)
        await api.create("c", "", tier="db")

    assert [asked["name"] for asked in hook.asked] == ["a"]


def a_map_with(*, name: str, **data: str) -> Document:
    return {"metadata": {"name": name}, "data": data}


def conditions(*expressions: str) -> dict[str, Any]:
    names = enumerate(expressions)
    return {"matchConditions": [{"name": f"c{n}", "expression": text} for n, text in names]}


MISSING = "object.data.missing == 'x'"


async def test_a_webhook_is_asked_where_all_of_its_match_conditions_hold(
    api: Api, tmp_path: Path
) -> None:
    wanted = conditions("object.data.tier == 'web'", "request.userInfo.username != 'robot'")
    async with Hook(tmp_path, lambda _: adding("seen", "yes")).running() as hook:
        await configure(api, "mutating", a_configuration("x", hook, **wanted))
        asked = await api.ask("POST", MAPS, a_map_with(tier="web", name="a"))
        passed = await api.ask("POST", MAPS, a_map_with(tier="db", name="b"))

    assert asked.document["data"] == {"tier": "web", "seen": "yes"}
    assert passed.document["data"] == {"tier": "db"}
    assert [each["name"] for each in hook.asked] == ["a"]


async def test_what_one_webhook_changes_is_seen_by_the_conditions_of_the_next(
    api: Api, tmp_path: Path
) -> None:
    async with Hook(tmp_path, lambda _: adding("tier", "web")).running() as hook:
        await configure(api, "mutating", a_configuration("a", hook))
        later = a_configuration("b", hook, **conditions("object.data.?tier.orValue('') == 'web'"))
        await configure(api, "mutating", later)
        await post(api, "m")

    assert len(hook.asked) == 2


@pytest.mark.parametrize(
    ("said", "status"),
    [
        pytest.param({"failurePolicy": "Fail"}, 403, id="fails-closed"),
        pytest.param({"failurePolicy": "Ignore"}, 201, id="is-ignored"),
        pytest.param({"failurePolicy": "Fail"} | conditions(MISSING, "false"), 201, id="false"),
    ],
)
async def test_a_condition_that_cannot_be_evaluated_counts_by_the_failure_policy(
    api: Api, tmp_path: Path, said: Document, status: int
) -> None:
    async with Hook(tmp_path, lambda _: {"allowed": False}).running() as hook:
        made = a_configuration("x", hook, **(conditions(MISSING) | said))
        await configure(api, "validating", made)
        reply = await post(api, "m")

    assert (reply.status, hook.asked) == (status, [])
    if status == 403:
        assert reply.document["message"] == (
            "configmaps \"m\" is forbidden: expression 'object.data.missing == 'x'' resulted in "
            "error: no such key: missing"
        )


@pytest.mark.parametrize(
    ("policy", "asked"),
    [
        pytest.param("Equivalent", [("v1", "example.com/v1", "v2")], id="equivalent"),
        pytest.param("Exact", [], id="exact"),
    ],
)
async def test_a_webhook_for_one_version_of_a_custom_resource_is_asked_about_the_others(
    api: Api, tmp_path: Path, policy: str, asked: list[tuple[str, str, str]]
) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    versions = [
        {
            "name": name,
            "served": True,
            "storage": name == "v1",
            "schema": {"openAPIV3Schema": schema},
        }
        for name in ("v1", "v2")
    ]
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}
    definition = {"metadata": {"name": "widgets.example.com"}, "spec": spec}
    assert (await api.ask("POST", DEFINITIONS, definition)).status == 201
    rules = [
        {
            "operations": ["CREATE"],
            "apiGroups": ["example.com"],
            "apiVersions": ["v1"],
            "resources": ["widgets"],
        }
    ]
    async with Hook(tmp_path, lambda _: adding_label("seen")).running() as hook:
        made = a_configuration("x", hook, matchPolicy=policy, rules=rules)
        await configure(api, "mutating", made)
        widget = {"apiVersion": "example.com/v2", "kind": "Widget", "metadata": {"name": "a"}}
        reply = await api.ask("POST", "/apis/example.com/v2/namespaces/default/widgets", widget)

    assert reply.document["apiVersion"] == "example.com/v2"
    assert ("labels" in reply.document["metadata"]) == bool(asked)
    assert [
        (each["kind"]["version"], each["object"]["apiVersion"], each["requestKind"]["version"])
        for each in hook.asked
    ] == asked


async def test_a_webhook_is_told_the_options_of_the_client(api: Api, tmp_path: Path) -> None:
    async with Hook(tmp_path, lambda _: {}).running() as hook:
        await configure(api, "validating", a_configuration("x", hook))
        await post(api, "m", fieldManager="me", fieldValidation="Strict")
        preconditions = {"uid": (await api.get("m")).document["metadata"]["uid"]}
        options = {"propagationPolicy": "Foreground", "preconditions": preconditions}
        await api.ask("DELETE", f"{MAPS}/m", options)

    head = {"apiVersion": "meta.k8s.io/v1"}
    assert [each["options"] for each in hook.asked] == [
        head | {"kind": "CreateOptions", "fieldManager": "me", "fieldValidation": "Strict"},
        head | {"kind": "DeleteOptions"} | options,
    ]


async def test_a_webhook_may_change_how_far_something_is_scaled(api: Api, tmp_path: Path) -> None:
    sets = "/apis/apps/v1/namespaces/default/replicasets"
    labels = {"app": "a"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    assert (await api.ask("POST", sets, {"metadata": {"name": "a"}, "spec": spec})).status == 201
    rules = [
        {
            "operations": ["UPDATE"],
            "apiGroups": ["apps"],
            "apiVersions": ["v1"],
            "resources": ["replicasets/scale"],
        }
    ]
    fewer = patched({"op": "replace", "path": "/spec/replicas", "value": 2})
    async with Hook(tmp_path, lambda _: fewer).running() as hook:
        await configure(api, "mutating", a_configuration("x", hook, rules=rules))
        scale = {"metadata": {"name": "a"}, "spec": {"replicas": 9}}
        reply = await api.ask("PUT", f"{sets}/a/scale", scale)
        hook.decide = lambda _: patched({"op": "replace", "path": "/spec/replicas", "value": -1})
        refused = await api.ask("PUT", f"{sets}/a/scale", scale)

    assert reply.document["spec"] == {"replicas": 2}
    assert refused.status == 422
    assert (await api.ask("GET", f"{sets}/a")).document["spec"]["replicas"] == 2


async def test_each_object_of_a_collection_is_asked_for(api: Api, tmp_path: Path) -> None:
    def decide(request: Document) -> Document:
        return {"allowed": request["name"] != "keep" or request["operation"] != "DELETE"}

    async with Hook(tmp_path, decide).running() as hook:
        for name in ("a", "keep"):
            await api.create(name)
        await configure(api, "validating", a_configuration("x", hook))
        reply = await api.ask("DELETE", MAPS)

    assert reply.status == 403
    assert (await api.list()).names == ["keep"]


async def test_writes_of_others_go_on_while_a_webhook_thinks(api: Api, tmp_path: Path) -> None:
    async with Hook(tmp_path, lambda _: {}).running() as hook:
        await configure(api, "validating", a_configuration("x", hook))
        replies = await asyncio.gather(*(post(api, f"m-{number}") for number in range(10)))

    assert {reply.status for reply in replies} == {201}
    assert sorted((await api.list()).names) == sorted(f"m-{number}" for number in range(10))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        pytest.param({"name": "short"}, "webhooks[0].name", id="name"),
        pytest.param({"sideEffects": "Some"}, "webhooks[0].sideEffects", id="side-effects"),
        pytest.param({"timeoutSeconds": 31}, "webhooks[0].timeoutSeconds", id="seconds"),
        pytest.param(
            {"clientConfig": {"url": "http://a/"}}, "webhooks[0].clientConfig.url", id="no-tls"
        ),
        pytest.param({"clientConfig": {}}, "webhooks[0].clientConfig", id="no-client"),
        pytest.param(
            {"matchConditions": [{"name": "a", "expression": "object.size("}]},
            "webhooks[0].matchConditions[0].expression",
            id="expression",
        ),
        pytest.param(
            {"matchConditions": [{"name": "a", "expression": "params.x"}]},
            "webhooks[0].matchConditions[0].expression",
            id="a-name-that-only-policies-have",
        ),
        pytest.param(
            {"matchConditions": [{"expression": "true"}]},
            "webhooks[0].matchConditions[0].name",
            id="condition-without-a-name",
        ),
        pytest.param(
            {"admissionReviewVersions": ["v2"]},
            "webhooks[0].admissionReviewVersions",
            id="versions",
        ),
        pytest.param(
            {"admissionReviewVersions": []},
            "webhooks[0].admissionReviewVersions",
            id="no-versions",
        ),
        pytest.param(
            {"admissionReviewVersions": ["v1", "v1"]},
            "webhooks[0].admissionReviewVersions[1]",
            id="version-twice",
        ),
    ],
)
async def test_a_configuration_that_makes_no_sense_is_refused(
    api: Api, tmp_path: Path, change: Document, field: str
) -> None:
    configuration = a_configuration("x", Hook(tmp_path, lambda _: {}), **change)

    reply = await api.ask("POST", CONFIGURATIONS.format("validating"), configuration)

    assert reply.status == 422
    assert field in [cause["field"] for cause in reply.document["details"]["causes"]]


@pytest.mark.parametrize(
    "plural",
    ["mutatingadmissionpolicies", "mutatingadmissionpolicybindings"],
)
async def test_policies_that_change_objects_are_refused_by_name(api: Api, plural: str) -> None:
    path = f"/apis/admissionregistration.k8s.io/v1/{plural}"
    reply = await api.ask("POST", path, {"metadata": {"name": "a"}, "spec": {}})

    assert reply.status == 422, reply
    assert "not supported" in reply.document["message"]
    assert (await api.ask("GET", path)).document["items"] == []


async def test_webhooks_change_and_keep_custom_resources(api: Api, tmp_path: Path) -> None:
    snapshots = "/apis/snapshot.storage.k8s.io/v1/namespaces/default/volumesnapshots"
    concerned = {
        "operations": ["*"],
        "apiGroups": ["snapshot.storage.k8s.io"],
        "apiVersions": ["v1"],
        "resources": ["volumesnapshots"],
    }

    def decide(asked: Document) -> Document:
        if asked["operation"] == "DELETE":
            return {"allowed": False}
        return patched(
            {"op": "add", "path": "/spec/volumeSnapshotClassName", "value": "fast"},
            {"op": "add", "path": "/spec/unknown", "value": 1},
        )

    snapshot = {
        "metadata": {"name": "s"},
        "spec": {"source": {"persistentVolumeClaimName": "a"}},
    }
    async with Hook(tmp_path, decide).running() as hook:
        await configure(api, "mutating", a_configuration("m", hook, rules=[concerned]))
        created = await api.ask("POST", snapshots, snapshot)
        refused = await api.ask("DELETE", f"{snapshots}/s")

        assert created.document["spec"]["volumeSnapshotClassName"] == "fast"
        assert "unknown" not in created.document["spec"]
        assert refused.status == 403
        # With their definition they go, whatever webhooks say of each of them.
        definition = f"{DEFINITIONS}/volumesnapshots.snapshot.storage.k8s.io"
        await api.ask("DELETE", definition)
        await settle()
        assert (await api.ask("GET", definition)).status == 404
        assert [asked["operation"] for asked in hook.asked] == ["CREATE", "DELETE"]


async def test_webhooks_are_told_the_user_and_kind_of_what_is_written(
    api: Api, tmp_path: Path
) -> None:
    rule = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"]}
    async with Hook(tmp_path, lambda _: {"warnings": ["seen"]}).running() as hook:
        rules = [rule | {"resources": ["pods/eviction", "pods/binding", "namespaces"]}]
        await configure(api, "validating", a_configuration("see", hook, rules=rules))
        container = {"name": "c", "image": "i"}
        pods = "/api/v1/namespaces/default/pods"
        await api.ask(
            "POST", pods, {"metadata": {"name": "p"}, "spec": {"containers": [container]}}
        )
        target = {"kind": "Node", "name": "n"}
        binding = {"metadata": {"name": "p"}, "target": target}
        bound = await api.ask("POST", f"{pods}/p/binding", binding)
        evicted = await api.ask("POST", f"{pods}/p/eviction", {"metadata": {"name": "p"}})
        made = await api.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "new"}})

    kinds = [asked["kind"]["kind"] for asked in hook.asked]
    assert kinds == ["Binding", "Eviction", "Namespace"]
    assert [asked["object"]["kind"] for asked in hook.asked] == kinds
    assert [asked["namespace"] for asked in hook.asked] == ["default", "default", "new"]
    for reply in (bound, evicted, made):
        assert (reply.status, reply.warnings) == (201, ('299 - "seen"',))


async def test_warnings_about_a_deletion_are_told_whatever_the_answer_is(
    api: Api, tmp_path: Path
) -> None:
    def decide(request: Document) -> Document:
        return {"allowed": request["name"] != "kept", "warnings": ["careful"]}

    async with Hook(tmp_path, decide).running() as hook:
        for name in ("kept", "gone"):
            await post(api, name)
        await configure(api, "validating", a_configuration("see", hook))
        gone = await api.ask("DELETE", f"{MAPS}/gone")
        kept = await api.ask("DELETE", f"{MAPS}/kept")

    assert (gone.status, gone.warnings) == (200, ('299 - "careful"',))
    assert (kept.status, kept.warnings) == (403, ('299 - "careful"',))


async def test_what_a_webhook_changes_passes_the_plugins_again(api: Api, tmp_path: Path) -> None:
    def decide(request: Document) -> Document:
        if "priorityClassName" in request["object"]["spec"]:
            return {}
        name = "system-node-critical" if request["name"] == "good" else "missing"
        value = {"op": "add", "path": "/spec/priorityClassName", "value": name}
        return patched(value, {"op": "remove", "path": "/spec/priority"})

    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"]}
    async with Hook(tmp_path, decide).running() as hook:
        rules = [rule | {"resources": ["pods"]}]
        await configure(api, "mutating", a_configuration("class", hook, rules=rules))
        spec = {"containers": [{"name": "c", "image": "i"}]}
        good, bad = [
            await api.ask(
                "POST",
                "/api/v1/namespaces/kube-system/pods",
                {"metadata": {"name": name}, "spec": spec},
            )
            for name in ("good", "bad")
        ]

    assert (good.status, good.document["spec"]["priority"]) == (201, 2_000_001_000)
    assert bad.status == 403
    assert "no PriorityClass with name missing was found" in bad.document["message"]


async def test_a_webhook_is_told_how_long_it_has(api: Api, tmp_path: Path) -> None:
    async with Hook(tmp_path, lambda _: {}).running() as hook:
        await configure(api, "validating", a_configuration("see", hook, timeoutSeconds=7))
        await post(api, "a")
        await post(api, "b", timeout="3s")
        for unreadable in ("soon", "9" * 17 + "h"):
            assert (await post(api, "c", timeout=unreadable)).status == 400

    assert hook.times == ["7s", "3s"]


async def test_webhooks_have_no_more_time_than_the_request(tmp_path: Path) -> None:
    clock = SteppedClock()

    def decide(_: Document) -> Document:
        clock.advance(timedelta(seconds=4))
        return {}

    client = HttpWebhookClient()
    async with (
        serving(clock=clock, webhooks=client) as api,
        Hook(tmp_path, decide).running() as hook,
    ):
        for name in ("one", "two", "three"):
            configuration = a_configuration(name, hook, timeoutSeconds=9, failurePolicy="Ignore")
            await configure(api, "mutating", configuration)
        late = await post(api, "a", timeout="6s")
        asked = len(hook.asked)
        done = await post(api, "b", timeout="30s")

    assert (late.status, late.document["reason"], asked) == (504, "Timeout", 2)
    assert done.status == 201
    assert hook.times[:2] == ["6s", "2s"]
