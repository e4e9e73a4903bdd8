import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from plimsoll.api.registry import builtin_resources
from plimsoll.apiserver.model.definitions import definitions
from plimsoll.apiserver.model.schema import SchemaError, duplicate_fields, round_trip, schema_name
from tests.api.recorded import Recorded, answered_objects, sent_objects

CLAIM = "io.k8s.api.core.v1.PersistentVolumeClaim"
POD = "io.k8s.api.core.v1.Pod"
CONFIG_MAP = "io.k8s.api.core.v1.ConfigMap"

UNREADABLE = ("cannot unmarshal", "quantities must match", "parsing time", "illegal base64")


def is_refused_as_unreadable(sent: Recorded) -> bool:
    return sent.status == 400 and any(text in sent.message for text in UNREADABLE)


def shown(schema: str, document: Any) -> Any:
    return round_trip(schema, document).document


def test_what_the_real_server_answers_is_left_as_it_is() -> None:
    changed = [r for r in answered_objects() if shown(r.schema, r.document) != r.document]

    assert len(answered_objects()) > 2000
    assert changed == []


def test_what_the_real_server_cannot_read_is_refused_and_nothing_else() -> None:
    surprises = []
    for sent in sent_objects():
        try:
            shown(sent.schema, sent.document)
            refused = False
        except SchemaError:
            refused = True
        if refused != is_refused_as_unreadable(sent):
            surprises.append(sent)

    assert sum(map(is_refused_as_unreadable, sent_objects())) > 100
    assert surprises == []


def test_unknown_and_duplicate_fields_are_named_as_the_real_server_names_them() -> None:
    for sent in sent_objects():
        if sent.warnings:
            complaints = round_trip(sent.schema, sent.document).unknown
            complaints += duplicate_fields(sent.raw, sent.schema)
            assert sorted(complaints) == sorted(sent.warnings), sent.conversation


@given(st.sampled_from(sent_objects()))
def test_reading_twice_is_reading_once(sent: Recorded) -> None:
    try:
        once = round_trip(sent.schema, sent.document)
    except SchemaError:
        return
    assert round_trip(sent.schema, once.document).document == once.document
    assert round_trip(sent.schema, once.document).unknown == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@st.composite
def damaged_objects(draw: st.DrawFn) -> Recorded:
    """An object with one value, somewhere, replaced by something else."""
    sent = draw(st.sampled_from(sent_objects()))
    document = json.loads(json.dumps(sent.document))
    place = document
    while isinstance(place, dict | list) and place:
        key: Any = draw(
            st.sampled_from(range(len(place)) if isinstance(place, list) else list(place))
        )
        if (
            not isinstance(place[key], dict | list)
            or not place[key]
            or draw(st.integers(0, 4)) == 0
        ):
            place[key] = draw(JSON)
            break
        place = place[key]
    return Recorded(sent.conversation, sent.schema, document, 0)


@given(damaged_objects())
def test_any_json_is_read_or_refused_and_never_changed(damaged: Recorded) -> None:
    before = json.dumps(damaged.document)
    try:
        once = shown(damaged.schema, damaged.document)
    except SchemaError:
        return
    finally:
        assert json.dumps(damaged.document) == before
    assert shown(damaged.schema, once) == once


@pytest.mark.parametrize(
    "schema", sorted(definitions().schemas), ids=lambda name: name.rpartition(".")[2]
)
def test_every_schema_has_an_empty_form_that_is_stable(schema: str) -> None:
    empty = shown(schema, {})

    assert shown(schema, empty) == empty


def test_a_claim_shows_what_it_always_shows() -> None:
    assert shown(CLAIM, {}) == {"metadata": {}, "spec": {"resources": {}}, "status": {}}


def test_a_body_of_null_is_an_empty_object() -> None:
    assert shown(CLAIM, None) == shown(CLAIM, {})


def test_empty_optional_fields_disappear_and_pointers_stay() -> None:
    pod = {
        "metadata": {"labels": {}, "generateName": "", "finalizers": []},
        "spec": {
            "nodeName": "",
            "hostNetwork": False,
            "terminationGracePeriodSeconds": 0,
            "securityContext": {},
            "containers": None,
        },
    }

    assert shown(POD, pod)["metadata"] == {}
    assert shown(POD, pod)["spec"] == {
        "containers": None,
        "terminationGracePeriodSeconds": 0,
        "securityContext": {},
    }


def test_a_null_in_a_map_or_list_is_the_zero_value() -> None:
    pod = {
        "metadata": {"labels": {"a": None}},
        "spec": {"containers": [None], "nodeSelector": {"b": None}},
    }

    assert shown(POD, pod)["metadata"] == {"labels": {"a": ""}}
    assert shown(POD, pod)["spec"]["containers"] == [{"name": "", "resources": {}}]
    assert shown(POD, pod)["spec"]["nodeSelector"] == {"b": ""}


def test_kind_version_and_metadata_come_first() -> None:
    document = {"status": {}, "spec": {}, "metadata": {}, "apiVersion": "v1", "kind": "Pod"}

    assert list(shown(POD, document)) == ["kind", "apiVersion", "metadata", "spec", "status"]


def test_an_error_names_the_field() -> None:
    pod = {"spec": {"containers": [{"ports": [{"containerPort": "http"}]}]}}

    with pytest.raises(SchemaError) as error:
        shown(POD, pod)

    assert str(error.value) == (
        "json: cannot unmarshal string into Go struct field "
        "ContainerPort.spec.containers.ports.containerPort of type int32"
    )


def test_nesting_without_end_is_refused() -> None:
    schema: dict[str, Any] = {}
    for _ in range(3000):
        schema = {"properties": {"a": schema}}
    definition = {"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}}
    name = schema_name("apiextensions.k8s.io", "v1", "CustomResourceDefinition")

    with pytest.raises(SchemaError, match="depth"):
        round_trip(name, definition)


JSON_SCHEMA = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"additionalProperties": False}, id="no-additional-properties"),
        pytest.param({"additionalProperties": {"type": "string"}}, id="a-schema"),
        pytest.param({"items": {"type": "string"}}, id="one-schema-for-items"),
        pytest.param({"items": [{"type": "string"}]}, id="schemas-for-items"),
        pytest.param({"dependencies": {"a": ["b"], "c": {}}}, id="dependencies"),
        pytest.param({"default": {"any": [1, None]}}, id="any-default"),
    ],
)
def test_json_schemas_may_be_a_schema_or_something_simpler(given: Any) -> None:
    assert shown(JSON_SCHEMA, given) == given


def test_additional_properties_are_a_schema_or_a_boolean() -> None:
    with pytest.raises(SchemaError, match="boolean or JSON schema"):
        shown(JSON_SCHEMA, {"additionalProperties": "x"})


@pytest.mark.parametrize(
    ("group", "version", "kind", "schema"),
    [
        ("", "v1", "Pod", POD),
        ("", "v1", "PodList", f"{POD}List"),
        ("storage.k8s.io", "v1", "CSINode", "io.k8s.api.storage.v1.CSINode"),
        ("policy", "v1", "Eviction", "io.k8s.api.policy.v1.Eviction"),
        ("autoscaling", "v1", "Scale", "io.k8s.api.autoscaling.v1.Scale"),
        ("apps", "v1", "DeleteOptions", "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"),
        ("", "v1", "Status", "io.k8s.apimachinery.pkg.apis.meta.v1.Status"),
    ],
)
def test_every_kind_has_a_schema(group: str, version: str, kind: str, schema: str) -> None:
    assert schema_name(group, version, kind) == schema


def test_every_resource_has_a_schema() -> None:
    for resource in builtin_resources():
        assert schema_name(resource.group, resource.version, resource.kind) in definitions().schemas


def test_an_unheard_of_kind_has_no_schema() -> None:
    with pytest.raises(KeyError):
        schema_name("example.com", "v1", "Widget")


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        pytest.param(b'{"data":{"a":"1","b":"\\"x\\""}}', [], id="none"),
        pytest.param(b'{"data":{"a":"1","a":"2"}}', ["data.a"], id="in-a-map"),
        pytest.param(b'{"data":{"a":1,"a":2,"a":3}}', ["data.a"], id="three-times-is-said-once"),
        pytest.param(
            b'{"data":{"b":"\\u0022\\u0022"},"data":{}}', ["data"], id="hidden-behind-escapes"
        ),
        pytest.param(
            b'{"metadata":{"ownerReferences":[{},{"name":"a","name":"b"}]}}',
            ["metadata.ownerReferences[1].name"],
            id="in-a-list",
        ),
        pytest.param(b'{"nope":{"a":1,"a":2}}', [], id="inside-an-unknown-field"),
        pytest.param(b'{"data":', [], id="not-json"),
    ],
)
def test_duplicate_keys_are_found(raw: bytes, found: list[str]) -> None:
    assert duplicate_fields(raw, CONFIG_MAP) == [f'duplicate field "{path}"' for path in found]


def test_duplicates_are_found_without_a_schema_too() -> None:
    assert duplicate_fields(b'{"nope":{"a":1,"a":2}}') == ['duplicate field "nope.a"']
