# ruff: noqa: E501 complaints stand on one line with what they are about
"""What a definition must look like, and what it is told otherwise."""

from datetime import UTC, datetime

import pytest

from plimsoll.api.patch.documents import clone
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.custom.definition.rules import RULES
from tests.apiserver.model.custom.definitions import a_definition

NOW = datetime(2030, 1, 1, tzinfo=UTC)
TEXT: Document = {"type": "string"}
SPEC = "spec.validation.openAPIV3Schema.properties[spec]"


def complaints(definition: Document) -> list[str]:
    made: Document = clone(definition)
    RULES.default(made)
    RULES.prepare_create(made, NOW)
    return [f"{error.field}: {error.message}" for error in RULES.validate(made)]


def test_names_are_filled_in_and_the_storage_version_is_noted() -> None:
    definition = a_definition(TEXT)
    RULES.default(definition)
    RULES.prepare_create(definition, NOW)
    assert definition["spec"]["names"]["listKind"] == "WidgetList"
    assert definition["spec"]["names"]["singular"] == "widget"
    assert definition["status"]["storedVersions"] == ["v1"]
    assert complaints(definition) == []


def test_a_definition_is_named_after_what_it_defines() -> None:
    definition = a_definition(TEXT)
    definition["metadata"]["name"] = "gadgets.example.com"
    assert [text.partition(":")[0] for text in complaints(definition)] == ["metadata.name"]


LIST: Document = {"type": "array", "items": {"type": "object", "properties": {"k": TEXT}}}
MAP = {"x-kubernetes-list-type": "map"}


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({}, f"{SPEC}.type: Required value: must not be empty for specified object fields"),
        ({"type": "text"}, f'{SPEC}.type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string"'),
        ({"type": "array"}, f"{SPEC}.items: Required value: must be specified"),
        ({"type": "array", "items": {}}, f"{SPEC}.items.type: Required value: must not be empty for specified array items"),
        ({"type": "string", "pattern": "(?=a)"}, f"{SPEC}.pattern: "),
        ({"type": "array", "items": TEXT, "uniqueItems": True}, f"{SPEC}.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic"),
        ({"type": "string", "default": 1}, f'{SPEC}.default: Invalid value: "integer": {SPEC}.default in body must be of type string: "integer"'),
        ({"type": "object", "default": {"a": 1}}, f'{SPEC}.default: Invalid value: {{"a":1}}: must not have unknown fields'),
        ({"type": "string", "anyOf": [{"type": "string"}]}, f"{SPEC}.anyOf[0].type: Forbidden: must be empty to be structural"),
        ({"type": "object", "anyOf": [{"properties": {"a": {"minimum": 1}}}]}, f"{SPEC}.properties[a]: Required value: because it is defined in {SPEC}.anyOf[0].properties[a]"),
        (LIST | MAP, f"{SPEC}.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map"),
        (LIST | MAP | {"x-kubernetes-list-map-keys": ["k"]}, f"{SPEC}.items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"),
        ({"type": "string", "x-kubernetes-list-type": "set"}, f'{SPEC}.type: Invalid value: "string": must be array if x-kubernetes-list-type is specified'),
        ({"type": "string", "x-kubernetes-map-type": "atomic"}, f'{SPEC}.type: Invalid value: "string": must be object if x-kubernetes-map-type is specified'),
        ({"type": "string", "x-kubernetes-preserve-unknown-fields": False}, f"{SPEC}.x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined"),
        ({"type": "object", "x-kubernetes-embedded-resource": True}, f"{SPEC}.properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"),
        ({"type": "object", "properties": {"a": TEXT}, "additionalProperties": TEXT}, f"{SPEC}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"),
        ({"type": "string", "x-kubernetes-validations": [{"rule": "self ="}]}, f"{SPEC}.x-kubernetes-validations[0].rule: "),
        ({"type": "string", "x-kubernetes-validations": [{"rule": "true", "optionalOldSelf": True}]}, f"{SPEC}.x-kubernetes-validations[0].optionalOldSelf: "),
        ({"type": "array", "items": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}}, f"{SPEC}.items.x-kubernetes-validations[0].rule: "),
    ],
)  # fmt: skip
def test_a_schema_says_of_every_place_what_may_be_there(schema: Document, said: str) -> None:
    [found] = complaints(a_definition(schema))
    assert found.startswith(said)


def test_int_or_string_may_say_so_in_the_two_known_ways() -> None:
    either = [{"type": "integer"}, {"type": "string"}]
    plain: Document = {"x-kubernetes-int-or-string": True}
    for schema in (plain, plain | {"anyOf": either}, plain | {"allOf": [{"anyOf": either}]}):
        assert complaints(a_definition(schema)) == []


def test_a_schema_that_is_too_deep_is_refused() -> None:
    schema: Document = TEXT
    for _ in range(70):
        schema = {"type": "object", "properties": {"a": schema}}
    [found] = complaints(a_definition(schema))
    assert found.endswith("has more than 60 levels")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"group": "example"}, "spec.group"),
        ({"group": ""}, "spec.group"),
        ({"scope": "Universe"}, "spec.scope"),
        ({"names": {"plural": "widgets"}}, "spec.names.kind"),
        ({"names": {"plural": "widgets", "kind": "W!"}}, "spec.names.kind"),
        ({"names": {"plural": "widgets", "kind": "W", "listKind": "W"}}, "spec.names.listKind"),
        ({"names": {"plural": "widgets", "kind": "W", "shortNames": ["A"]}}, "spec.names.shortNames[0]"),
        ({"conversion": {"strategy": "Webhook"}}, "spec.conversion.strategy"),
        ({"preserveUnknownFields": True}, "spec.preserveUnknownFields"),
    ],
)  # fmt: skip
def test_the_rest_of_a_definition_is_checked_too(change: Document, field: str) -> None:
    definition = a_definition(TEXT)
    definition["spec"] |= change
    assert field in {text.partition(":")[0] for text in complaints(definition)}


def test_there_is_exactly_one_version_to_store_objects_in() -> None:
    definition = a_definition(TEXT)
    definition["spec"]["versions"].append(definition["spec"]["versions"][0] | {"name": "v2"})
    assert any("exactly one version marked as storage" in text for text in complaints(definition))


def test_complaints_about_schemas_that_differ_name_their_version() -> None:
    definition = a_definition(TEXT)
    broken = {"name": "v2", "served": True, "storage": False}
    definition["spec"]["versions"].append(
        broken | {"schema": {"openAPIV3Schema": {"type": "string"}}}
    )
    [found] = complaints(definition)
    assert found == (
        'spec.versions[1].schema.openAPIV3Schema.type: Invalid value: "string": '
        "must be object at the root"
    )


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ({"jsonPath": ".spec"}, None),
        ({"jsonPath": ".metadata.name"}, "must not point to fields in metadata"),
        ({"jsonPath": ".nothing"}, "is an invalid path"),
        ({"jsonPath": ""}, "Required value"),
    ],
)
def test_selectable_fields_are_scalars_of_the_schema(field: Document, said: str | None) -> None:
    found = complaints(a_definition(TEXT, selectableFields=[field]))
    assert found == [] if said is None else said in found[0]


def test_groups_of_kubernetes_want_an_approval() -> None:
    definition = a_definition(TEXT)
    definition["metadata"]["name"] = "widgets.x.k8s.io"
    definition["spec"]["group"] = "x.k8s.io"
    assert [text.partition(":")[0] for text in complaints(definition)] == [
        "metadata.annotations[api-approved.kubernetes.io]"
    ]
    definition["metadata"]["annotations"] = {"api-approved.kubernetes.io": "https://x/y"}
    assert complaints(definition) == []


def test_formats_that_mean_nothing_are_warned_of_once() -> None:
    definition = a_definition(TEXT | {"format": "made-up"})
    assert RULES.warnings(definition, None) == ['unrecognized format "made-up"']
    assert RULES.warnings(definition, definition) == []
