"""Custom resources from the creation of their definition to its end, as clients see them."""

import msgspec
import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.access.users import User
from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.apiserver.storage.store import MemoryStore
from plimsoll.runtime.clock import settle
from plimsoll.wire.transport import Request, Response
from tests.apiserver.api import Api, Reply, serving

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PROTOBUF = "application/vnd.kubernetes.protobuf"
RIGHTS = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
SPEC: Document = {
    "type": "object",
    "properties": {
        "size": {"type": "integer", "minimum": 1},
        "mode": {"type": "string", "default": "a"},
        "replicas": {"type": "integer"},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}


def a_schema(spec: Document) -> Document:
    status = {"type": "object", "properties": {"replicas": {"type": "integer"}}}
    properties = {"spec": spec, "status": status}
    return {"openAPIV3Schema": {"type": "object", "properties": properties}}


def a_version(name: str = "v1", spec: Document = SPEC, **more: object) -> Document:
    is_first = name == "v1"
    return {"name": name, "served": True, "storage": is_first, "schema": a_schema(spec)} | more


def a_definition(*versions: Document, **names: object) -> Document:
    return {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"} | names,
            "versions": list(versions) or [a_version()],
        },
    }


def a_widget(name: str = "a", **spec: object) -> Document:
    return {"metadata": {"name": name}, "spec": spec}


async def define(api: Api, *versions: Document, **names: object) -> Reply:
    reply = await api.ask("POST", DEFINITIONS, a_definition(*versions, **names))
    assert reply.status == 201, reply.document
    return reply


async def make(api: Api, name: str = "a", **spec: object) -> Document:
    reply = await api.ask("POST", WIDGETS, a_widget(name, **spec))
    assert reply.status == 201, reply.document
    document: Document = reply.document
    return document


def causes(reply: Reply) -> list[tuple[str, str]]:
    assert reply.status == 422, reply.document
    return [(c["field"], c["message"]) for c in reply.document["details"]["causes"]]


async def raw(api: Api, path: str, kind: str, body: bytes = b"") -> Response:
    headers = {"content-type": kind, "accept": kind}
    method = "POST" if body else "GET"
    asked = Request(method=method, path=path, headers=headers, body=body)
    return await api.transport.request(asked)


async def test_a_kind_is_served_as_soon_as_its_definition_is_answered(api: Api) -> None:
    assert (await api.ask("GET", WIDGETS)).status == 404
    created = await define(api)
    assert created.document["status"]["conditions"] is None
    assert (await api.ask("GET", WIDGETS)).document["items"] == []
    shown = await api.ask("GET", f"{DEFINITIONS}/widgets.example.com")
    conditions = {c["type"]: c["status"] for c in shown.document["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}


async def test_unknown_fields_are_dropped_and_told_and_defaults_are_filled_in(api: Api) -> None:
    await define(api)
    reply = await api.ask("POST", WIDGETS, a_widget(size=1, other=2, free={"x": {"y": None}}))
    assert reply.document["spec"] == {"size": 1, "mode": "a", "free": {"x": {"y": None}}}
    assert 'unknown field \\"spec.other\\"' in reply.warnings[0]
    strict = await api.ask("POST", WIDGETS, a_widget("b", other=2), fieldValidation="Strict")
    assert (strict.status, strict.document["message"]) == (
        400,
        'strict decoding error: unknown field "spec.other"',
    )


async def test_objects_from_before_get_the_defaults_of_a_changed_definition(api: Api) -> None:
    await define(api)
    await make(api, size=1, replicas=2)
    spec = SPEC["properties"] | {"color": {"type": "string", "default": "red"}}
    spec = {"type": "object", "properties": {k: v for k, v in spec.items() if k != "replicas"}}
    change = {"spec": {"versions": [a_version(spec=spec)]}}
    assert (await api.ask("PATCH", f"{DEFINITIONS}/widgets.example.com", change)).status == 200
    shown = await api.ask("GET", f"{WIDGETS}/a")
    assert shown.document["spec"] == {"size": 1, "mode": "a", "color": "red"}
    assert (await api.ask("GET", WIDGETS)).document["items"][0]["spec"]["color"] == "red"
    changed = await api.ask("PATCH", f"{WIDGETS}/a", {"spec": {"size": 2}})
    assert changed.document["spec"] == {"size": 2, "mode": "a", "color": "red"}


async def test_every_version_shows_the_same_objects_in_its_own_form(api: Api) -> None:
    second = {"type": "object", "properties": {"size": {"type": "integer"}}}
    await define(api, a_version(), a_version("v1beta1", second, deprecated=True))
    await make(api, size=3)
    other = WIDGETS.replace("/v1/", "/v1beta1/")
    shown = await api.ask("GET", f"{other}/a")
    assert shown.document["apiVersion"] == "example.com/v1beta1"
    assert shown.document["spec"] == {"size": 3}
    assert "example.com/v1beta1 Widget is deprecated" in shown.warnings[0]
    assert (await api.ask("GET", "/apis/example.com")).document["preferredVersion"] == {
        "groupVersion": "example.com/v1",
        "version": "v1",
    }


async def test_fields_that_are_named_selectable_can_be_selected_by(api: Api) -> None:
    await define(api, a_version(selectableFields=[{"jsonPath": ".spec.mode"}]))
    await make(api, "a", mode="x")
    await make(api, "b", mode="y")
    assert (await api.ask("GET", WIDGETS, fieldSelector="spec.mode=y")).names == ["b"]
    refused = await api.ask("GET", WIDGETS, fieldSelector="spec.size=1")
    assert refused.status == 400
    async with api.watch(WIDGETS, fieldSelector="spec.mode=x") as watching:
        assert await watching.seen() == [("ADDED", "a")]
        await api.ask("PATCH", f"{WIDGETS}/b", {"spec": {"mode": "x"}})
        await api.ask("PATCH", f"{WIDGETS}/a", {"spec": {"mode": "z"}})
        assert await watching.seen() == [("ADDED", "b"), ("DELETED", "a")]


async def test_scale_changes_the_number_at_the_named_place(api: Api) -> None:
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    await define(api, a_version(subresources={"status": {}, "scale": scale}))
    await make(api, replicas=1)
    shown = await api.ask("GET", f"{WIDGETS}/a/scale")
    assert (shown.document["kind"], shown.document["spec"]) == ("Scale", {"replicas": 1})
    changed = await api.ask("PATCH", f"{WIDGETS}/a/scale", {"spec": {"replicas": 4}})
    assert changed.document["spec"] == {"replicas": 4}
    widget = await api.ask("GET", f"{WIDGETS}/a")
    assert widget.document["spec"]["replicas"] == 4
    assert widget.document["metadata"]["generation"] == 2


async def test_a_number_of_replicas_that_is_not_set_is_set_by_way_of_the_scale(api: Api) -> None:
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    await define(api, a_version(subresources={"status": {}, "scale": scale}))
    await make(api)
    before = await api.ask("GET", f"{WIDGETS}/a/scale")
    nothing = await api.ask("PATCH", f"{WIDGETS}/a/scale", {"spec": {}})
    changed = await api.ask("PATCH", f"{WIDGETS}/a/scale", {"spec": {"replicas": 4}})
    assert (before.status, nothing.status, changed.status) == (500, 400, 200)
    assert nothing.document["message"] == (
        'the spec replicas field ".spec.replicas" cannot be empty'
    )
    widget = await api.ask("GET", f"{WIDGETS}/a")
    assert widget.document["spec"]["replicas"] == 4


async def test_rules_are_evaluated_with_what_was_there_before(api: Api) -> None:
    size = SPEC["properties"]["size"] | {
        "x-kubernetes-validations": [
            {"rule": "self >= oldSelf", "message": "a widget never shrinks"}
        ]
    }
    rule = {
        "rule": "!has(self.replicas) || self.replicas <= 5",
        "messageExpression": "'at most 5, not %d'.format([self.replicas])",
        "fieldPath": ".replicas",
        "reason": "FieldValueForbidden",
    }
    spec = SPEC | {
        "properties": SPEC["properties"] | {"size": size},
        "x-kubernetes-validations": [rule],
    }
    await define(api, a_version(spec=spec))
    await make(api, size=2)
    path = f"{WIDGETS}/a"
    assert (await api.ask("PATCH", path, {"spec": {"size": 3}})).status == 200
    assert causes(await api.ask("PATCH", path, {"spec": {"size": 1}})) == [
        ("spec.size", "Invalid value: 1: a widget never shrinks")
    ]
    assert causes(await api.ask("PATCH", path, {"spec": {"replicas": 6}})) == [
        ("spec.replicas", "Forbidden: at most 5, not 6")
    ]


async def test_a_rule_that_cannot_be_evaluated_is_refused_with_its_definition(api: Api) -> None:
    spec = SPEC | {"x-kubernetes-validations": [{"rule": "self.missing > 1"}]}
    reply = await api.ask("POST", DEFINITIONS, a_definition(a_version(spec=spec)))
    [(field, message)] = causes(reply)
    assert field == (
        "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule"
    )
    assert "compilation failed: undefined field 'missing'" in message


async def test_conversion_by_webhook_is_refused_by_name(api: Api) -> None:
    definition = a_definition()
    definition["spec"]["conversion"] = {
        "strategy": "Webhook",
        "webhook": {"clientConfig": {"url": "https://x"}, "conversionReviewVersions": ["v1"]},
    }
    [(field, message)] = causes(await api.ask("POST", DEFINITIONS, definition))
    assert field == "spec.conversion.strategy"
    assert "calls no conversion webhooks" in message


async def test_a_name_that_is_taken_is_got_when_its_owner_goes(api: Api) -> None:
    await define(api, shortNames=["w"])
    other = a_definition(shortNames=["w"], plural="wheels", kind="Wheel")
    other["metadata"]["name"] = "wheels.example.com"
    assert (await api.ask("POST", DEFINITIONS, other)).status == 201
    path = f"{DEFINITIONS}/wheels.example.com"

    async def conditions() -> dict[str, str]:
        shown = await api.ask("GET", path)
        return {c["type"]: c["reason"] for c in shown.document["status"]["conditions"]}

    assert await conditions() == {
        "NamesAccepted": "ShortNamesConflict",
        "Established": "NotAccepted",
    }
    await api.ask("DELETE", f"{DEFINITIONS}/widgets.example.com")
    await settle()
    assert await conditions() == {
        "NamesAccepted": "NoConflicts",
        "Established": "InitialNamesAccepted",
    }


async def test_a_deleted_definition_takes_its_objects_with_it(api: Api) -> None:
    await define(api)
    await make(api, "a")
    await make(api, "b")
    deleted = await api.ask("DELETE", f"{DEFINITIONS}/widgets.example.com")
    assert deleted.document["metadata"]["finalizers"] == [
        "customresourcecleanup.apiextensions.k8s.io"
    ]
    await settle()
    assert (await api.ask("GET", f"{DEFINITIONS}/widgets.example.com")).status == 404
    assert (await api.ask("GET", WIDGETS)).status == 404
    await define(api)
    assert (await api.ask("GET", WIDGETS)).document["items"] == []


async def test_finalizers_of_custom_resources_need_no_domain(api: Api) -> None:
    await define(api)
    widget = a_widget("a", size=1)
    widget["metadata"]["finalizers"] = ["wait"]
    assert (await api.ask("POST", WIDGETS, widget)).status == 201
    change = {"metadata": {"finalizers": ["wait", "longer"]}}
    assert (await api.ask("PATCH", f"{WIDGETS}/a", change)).status == 200
    change = {"metadata": {"finalizers": ["no name"]}}
    assert (await api.ask("PATCH", f"{WIDGETS}/a", change)).status == 422


async def test_a_definition_waits_for_objects_that_have_finalizers(api: Api) -> None:
    await define(api)
    widget = a_widget()
    widget["metadata"]["finalizers"] = ["example.com/wait"]
    await api.ask("POST", WIDGETS, widget)
    await api.ask("DELETE", f"{DEFINITIONS}/widgets.example.com")
    await settle()
    shown = await api.ask("GET", f"{DEFINITIONS}/widgets.example.com")
    reasons = {c["type"]: c["reason"] for c in shown.document["status"]["conditions"]}
    assert reasons["Terminating"] == "InstanceDeletionInProgress"
    assert (await api.ask("POST", WIDGETS, a_widget("b"))).status == 405
    await api.ask("PATCH", f"{WIDGETS}/a", {"metadata": {"finalizers": None}})
    await settle()
    assert (await api.ask("GET", f"{DEFINITIONS}/widgets.example.com")).status == 404


async def test_definitions_and_their_objects_survive_a_restart() -> None:
    store = MemoryStore()
    async with serving(store) as api:
        await define(api)
        await make(api, size=1)
    async with serving(store) as api:
        assert (await api.ask("GET", f"{WIDGETS}/a")).document["spec"] == {"size": 1, "mode": "a"}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        pytest.param({"group": "other.com"}, "spec.group", id="group"),
        pytest.param({"scope": "Cluster"}, "spec.scope", id="scope"),
        pytest.param({"names": {"kind": "Gadget"}}, "spec.names.kind", id="kind"),
    ],
)
async def test_what_an_established_definition_is_about_cannot_change(
    api: Api, change: Document, field: str
) -> None:
    await define(api)
    reply = await api.ask("PATCH", f"{DEFINITIONS}/widgets.example.com", {"spec": change})
    assert field in dict(causes(reply))


async def test_a_version_that_objects_may_be_stored_in_cannot_go(api: Api) -> None:
    await define(api)
    change = {"spec": {"versions": [a_version("v2", storage=True)]}}
    reply = await api.ask("PATCH", f"{DEFINITIONS}/widgets.example.com", change)
    assert [field for field, _ in causes(reply)] == ["status.storedVersions[0]"]


async def test_custom_kinds_are_told_in_every_form_of_discovery(api: Api) -> None:
    await define(api, shortNames=["wd"], categories=["all"])
    listed = (await api.ask("GET", "/apis/example.com/v1")).document["resources"]
    assert listed[0]["shortNames"] == ["wd"]
    assert listed[0]["categories"] == ["all"]
    asked = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    told = msgspec.json.decode((await raw(api, "/apis", asked)).body)
    groups = [item["metadata"]["name"] for item in told["items"]]
    assert {"example.com", "snapshot.storage.k8s.io"} <= set(groups)
    document = (await api.ask("GET", "/openapi/v3/apis/example.com/v1")).document
    schema = document["components"]["schemas"]["com.example.v1.Widget"]
    assert schema["properties"]["spec"]["properties"]["mode"]["default"] == "a"
    old = (await api.ask("GET", "/openapi/v2")).document
    assert "com.example.v1.Widget" in old["definitions"]


async def test_bodies_in_protobuf_are_refused(api: Api) -> None:
    await define(api)
    asked = Request(method="POST", path=WIDGETS, headers={"content-type": PROTOBUF}, body=b"k8s\0")
    assert (await api.transport.request(asked)).status == 415


async def test_objects_are_told_in_json_where_protobuf_is_wanted_first(api: Api) -> None:
    await define(api)
    assert (await raw(api, WIDGETS, PROTOBUF)).status == 406
    either = await raw(api, WIDGETS, f"{PROTOBUF},application/json")
    assert (either.status, either.headers["content-type"]) == (200, "application/json")
    await make(api, "a")
    metadata = f"{PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    assert (await raw(api, WIDGETS, metadata)).headers["content-type"] == PROTOBUF


async def test_rights_to_custom_resources_are_those_of_roles(api: Api) -> None:
    await define(api)
    ann = InProcessTransport(api.server, User(name="ann"))
    listing = Request(method="GET", path=WIDGETS)
    refused = await ann.request(listing)
    assert refused.status == 403
    assert b'cannot list resource \\"widgets\\" in API group \\"example.com\\"' in refused.body
    rules = [{"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["list"]}]
    role = {"metadata": {"name": "lister"}, "rules": rules}
    assert (await api.ask("POST", f"{RIGHTS}/roles", role)).status == 201
    binding = {
        "metadata": {"name": "ann"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "lister"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}],
    }
    assert (await api.ask("POST", f"{RIGHTS}/rolebindings", binding)).status == 201
    assert (await ann.request(listing)).status == 200
    status = Request(method="GET", path=f"{WIDGETS}/a/status")
    assert (await ann.request(status)).status == 403


async def test_a_definition_has_no_part_in_what_is_built_in(api: Api) -> None:
    policies = a_definition(a_version("v9", storage=True))
    policies["metadata"]["name"] = "leases.coordination.k8s.io"
    policies["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, a test"}
    policies["spec"]["group"] = "coordination.k8s.io"
    policies["spec"]["names"] |= {"plural": "leases", "singular": "zz"}

    refused = await api.ask("POST", DEFINITIONS, policies)

    assert refused.status == 422
    assert "spec.names.plural" in refused.document["message"]


class DeletingWebhook:
    """It allows everything, and the definition is gone when it answers."""

    api: Api

    async def post(self, url: str, body: bytes, **_: object) -> bytes:  # noqa: ARG002 of the protocol
        await self.api.ask("DELETE", f"{DEFINITIONS}/widgets.example.com")
        await settle()
        asked = msgspec.json.decode(body)
        answer = {"uid": asked["request"]["uid"], "allowed": True}
        return msgspec.json.encode({**asked, "response": answer})

    async def close(self) -> None:
        """It has no connections."""


async def test_an_object_whose_definition_goes_while_it_is_decided_is_not_stored() -> None:
    webhook = DeletingWebhook()
    async with serving(webhooks=webhook) as api:
        webhook.api = api
        await define(api)
        rule = {
            "operations": ["CREATE"],
            "apiGroups": ["example.com"],
            "apiVersions": ["v1"],
            "resources": ["widgets"],
        }
        hook = {
            "name": "a.example.com",
            "clientConfig": {"url": "https://127.0.0.1:1/", "caBundle": ""},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "rules": [rule],
        }
        path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        configuration = {"metadata": {"name": "a"}, "webhooks": [hook]}
        assert (await api.ask("POST", path, configuration)).status == 201

        assert (await api.ask("POST", WIDGETS, a_widget())).status == 429
        assert (await api.ask("POST", WIDGETS, a_widget())).status == 404
        await define(api)
        assert (await api.ask("GET", WIDGETS)).document["items"] == []


async def test_defaults_that_multiply_end_where_no_object_is_stored(api: Api) -> None:
    node: Document = {"type": "string", "default": "a"}
    for _ in range(9):
        item = {"type": "object", "properties": {"n": node}}
        node = {"type": "array", "default": [{}] * 10, "items": item}
    await define(api, a_version(spec={"type": "object", "properties": {"n": node}}))

    reply = await api.ask("POST", WIDGETS, a_widget())

    assert (reply.status, reply.document["reason"]) == (413, "RequestEntityTooLarge")


async def test_complaints_that_list_what_is_right_end_before_they_fill_the_memory(api: Api) -> None:
    values = {"type": "string", "enum": [f"value-{n}" for n in range(2000)]}
    spec = {"type": "object", "properties": {"l": {"type": "array", "items": values}}}
    await define(api, a_version(spec=spec))

    reply = await api.ask("POST", WIDGETS, a_widget(l=["other"] * 2000))

    assert reply.status == 422
    assert len(str(reply.document)) < 2_000_000


SHAPES: Document = {
    "type": "object",
    "properties": {
        "object": {"type": "object", "properties": {"a": {"type": "string"}}},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "set": {
            "type": "array",
            "items": {"type": "string"},
            "x-kubernetes-list-type": "set",
        },
        "keyed": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"k": {"type": "string"}, "o": {"type": "object"}},
                "required": ["k"],
            },
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
        },
    },
}
MISFITS = [1, 1.5, "text", True, [1], [[]], [{}], [{"k": "a", "o": 1}], {"a": 1}]


@pytest.mark.parametrize("field", SHAPES["properties"])
async def test_values_of_another_type_than_the_schema_has_are_refused(api: Api, field: str) -> None:
    """Also before anything is known of the fields that they have."""
    await define(api, a_version(spec=SHAPES))
    await make(api, "held")
    for value in MISFITS:
        new, held = a_widget(), a_widget("held")
        new["spec"] = held["spec"] = {field: value}
        applied = {"apiVersion": "example.com/v1", "kind": "Widget"} | held

        replies = [
            await api.ask("POST", WIDGETS, new),
            await api.ask("PUT", f"{WIDGETS}/held", held),
            await api.ask("PATCH", f"{WIDGETS}/held", held),
            await api.apply(f"{WIDGETS}/held", applied),
        ]

        assert all(reply.status in (400, 422) for reply in replies), (value, replies)


@pytest.mark.parametrize("field", SHAPES["properties"])
async def test_objects_that_do_not_fit_a_new_schema_can_be_mended(api: Api, field: str) -> None:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    await define(api, a_version(spec=anything))
    for number, value in enumerate(MISFITS):
        await make(api, f"old-{number}", **{field: value})
    definition = (await api.ask("GET", f"{DEFINITIONS}/widgets.example.com")).document
    definition["spec"]["versions"] = [a_version(spec=SHAPES)]
    assert (await api.ask("PUT", f"{DEFINITIONS}/widgets.example.com", definition)).status == 200

    for number, value in enumerate(MISFITS):
        old = f"{WIDGETS}/old-{number}"
        head = {"apiVersion": "example.com/v1", "kind": "Widget"}
        applied = await api.apply(old, head | a_widget(f"old-{number}", **{field: None}))
        assert applied.status in (200, 400, 409, 422), (value, applied)
        mended = await api.ask("PATCH", old, {"spec": {field: None}})
        assert (mended.status, mended.document["spec"]) == (200, {}), value
