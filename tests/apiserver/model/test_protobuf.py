import struct
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from plimsoll.api.registry import Document, Resource, builtin_resources
from plimsoll.apiserver.model.definitions import definitions
from plimsoll.apiserver.model.messages.plans import message, message_of
from plimsoll.apiserver.model.protobuf import PREFIX, decode, decode_message, encode, is_known
from plimsoll.apiserver.model.schema import round_trip, schema_name
from tests.api.recorded import Recorded, answered_objects
from tests.apiserver.model.schema_documents import random_document

META = "k8s.io.apimachinery.pkg.apis.meta.v1"
CORE = "k8s.io.api.core.v1"
APIEXTENSIONS = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1"


def varint(value: int) -> bytes:
    low, rest = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + varint(rest) if rest else bytes([low])


def text(field: int, content: bytes | str) -> bytes:
    """A field of bytes, text or a message."""
    raw = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(raw)) + raw


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value % 2**64)


def envelope(api_version: str, kind: str, raw: bytes) -> bytes:
    return PREFIX + text(1, text(1, api_version) + text(2, kind)) + text(2, raw)


def without_nested_kinds(value: Any) -> Any:
    """Objects inside objects lose their kind on the way: messages have no place for it."""
    if isinstance(value, dict):
        kept = {k: without_nested_kinds(v) for k, v in value.items()}
        return {
            k: v for k, v in kept.items() if not (k in ("kind", "apiVersion") and "spec" in kept)
        }
    return [without_nested_kinds(v) for v in value] if isinstance(value, list) else value


def test_an_object_is_read_into_its_json_form() -> None:
    claim = text(1, text(1, "data") + text(3, "default")) + text(2, text(1, "ReadWriteOnce"))

    assert decode(envelope("v1", "PersistentVolumeClaim", claim)) == {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "metadata": {"name": "data", "namespace": "default"},
        "spec": {"accessModes": ["ReadWriteOnce"]},
    }


def test_options_of_a_delete_are_read_whatever_their_group() -> None:
    assert decode(envelope("storage.k8s.io/v1", "DeleteOptions", number(1, 5))) == {
        "kind": "DeleteOptions",
        "apiVersion": "storage.k8s.io/v1",
        "gracePeriodSeconds": 5,
    }


def test_a_body_without_a_kind_is_of_the_kind_that_was_expected() -> None:
    body = PREFIX + text(2, text(2, text(1, "a") + b""))

    assert decode(body, api_version="v1", kind="Node")["kind"] == "Node"


@pytest.mark.parametrize(
    ("message", "raw", "read"),
    [
        pytest.param(
            f"{META}.ObjectMeta",
            text(8, number(1, 1_583_020_800) + number(2, 999)),
            {"creationTimestamp": "2020-03-01T00:00:00Z"},
            id="time",
        ),
        pytest.param(
            f"{META}.ObjectMeta", text(8, b""), {"creationTimestamp": None}, id="no-time-at-all"
        ),
        pytest.param(
            f"{META}.ObjectMeta",
            text(8, number(1, -62_135_596_800)),
            {"creationTimestamp": "0001-01-01T00:00:00Z"},
            id="time-before-1970",
        ),
        pytest.param(
            "k8s.io.api.coordination.v1.LeaseSpec",
            text(3, number(1, 1) + number(2, 65_999)),
            {"acquireTime": "1970-01-01T00:00:01.000065Z"},
            id="time-with-microseconds",
        ),
        pytest.param(
            f"{CORE}.ResourceRequirements",
            text(2, text(1, "cpu") + text(2, text(1, "100m"))) + text(2, text(1, "memory")),
            {"requests": {"cpu": "100m", "memory": "0"}},
            id="map-of-quantities",
        ),
        pytest.param(
            f"{CORE}.HTTPGetAction", text(2, number(1, 0) + number(2, 80)), {"port": 80}, id="port"
        ),
        pytest.param(
            f"{CORE}.HTTPGetAction",
            text(2, number(1, 1) + text(3, "http")),
            {"port": "http"},
            id="named-port",
        ),
        pytest.param(
            "k8s.io.api.apps.v1.ControllerRevision",
            text(2, text(1, '{"a":[1]}')),
            {"data": {"a": [1]}},
            id="raw-extension",
        ),
        pytest.param(
            f"{META}.ManagedFieldsEntry",
            text(7, text(1, '{"f:spec":{}}')),
            {"fieldsV1": {"f:spec": {}}},
            id="managed-fields",
        ),
        pytest.param(
            f"{CORE}.Secret",
            text(2, text(1, "k") + text(2, b"\x00\xff")) + text(2, text(1, "empty")),
            {"data": {"k": "AP8=", "empty": ""}},
            id="map-of-bytes",
        ),
        pytest.param(
            f"{CORE}.PodSecurityContext",
            text(4, b"\x01\x02") + number(4, 3) + text(4, b""),
            {"supplementalGroups": [1, 2, 3]},
            id="packed-and-single-numbers",
        ),
        pytest.param(
            f"{CORE}.PodSpec",
            number(4, -1),
            {"terminationGracePeriodSeconds": -1},
            id="negative-number",
        ),
        pytest.param(
            f"{CORE}.Volume",
            text(1, "data") + text(2, text(10, text(1, "claim"))),
            {"name": "data", "persistentVolumeClaim": {"claimName": "claim"}},
            id="inlined-struct",
        ),
        pytest.param(
            "k8s.io.api.authorization.v1.SubjectAccessReviewSpec",
            text(5, text(1, "scope") + text(2, text(1, "a") + text(1, "b"))),
            {"extra": {"scope": ["a", "b"]}},
            id="list-wrapped-in-a-message",
        ),
        pytest.param(
            f"{APIEXTENSIONS}.JSONSchemaProps",
            text(3, "#/a") + number(38, 1),
            {"$ref": "#/a", "x-kubernetes-preserve-unknown-fields": True},
            id="names-that-protobuf-cannot-spell",
        ),
        pytest.param(
            f"{APIEXTENSIONS}.JSONSchemaProps",
            b"\x99\x01" + struct.pack("<d", 1.5),
            {"multipleOf": 1.5},
            id="floating-point",
        ),
        pytest.param(
            f"{META}.ObjectMeta", text(1, b"a\xffb"), {"name": "a\ufffdb"}, id="text-that-is-none"
        ),
        pytest.param(
            f"{CORE}.Pod",
            text(1, text(1, "a")) + text(1, text(3, "b")),
            {"metadata": {"name": "a", "namespace": "b"}},
            id="message-in-two-parts",
        ),
        pytest.param(
            f"{META}.ObjectMeta",
            text(1, "a") + b"\xfb\x07" + number(1, 1) + b"\xfc\x07" + b"\xfd\x07....",
            {"name": "a"},
            id="unknown-fields-and-groups",
        ),
    ],
)
def test_values_with_a_form_of_their_own(message: str, raw: bytes, read: Document) -> None:
    document = decode_message(message, raw)

    assert {key: document[key] for key in read} == read


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"{}", id="json"),
        pytest.param(PREFIX, id="no-envelope"),
        pytest.param(PREFIX + b"\x0a\x7f", id="cut-off"),
        pytest.param(envelope("v1", "Widget", b""), id="unknown-kind"),
        pytest.param(envelope("v1", "Pod", number(1, 1)), id="number-for-a-message"),
        pytest.param(envelope("v1", "Pod", b"\x0a"), id="no-length"),
        pytest.param(envelope("v1", "Pod", b"\x0a\x05a"), id="length-past-the-end"),
        pytest.param(envelope("v1", "Pod", b"\x80" * 11), id="number-without-end"),
        pytest.param(envelope("v1", "Pod", b"\x07"), id="illegal-wire-type"),
        pytest.param(envelope("v1", "Pod", b"\x02"), id="field-zero"),
        pytest.param(envelope("v1", "Pod", b"\x0c"), id="group-that-ends-only"),
        pytest.param(envelope("v1", "Pod", b"\xfb\x07"), id="group-that-begins-only"),
        pytest.param(envelope("v1", "Pod", text(1, b"\x09" + b"x" * 8)), id="fixed-for-text"),
        pytest.param(
            envelope("apps/v1", "ControllerRevision", text(2, text(1, "{"))), id="broken-json"
        ),
        pytest.param(
            envelope("apps/v1", "ControllerRevision", text(2, number(1, 1))), id="number-for-json"
        ),
        pytest.param(
            envelope("v1", "Pod", text(1, text(8, number(1, 2**60)))),
            id="time-beyond-the-calendar",
        ),
    ],
)
def test_malformed_bodies_are_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match="protobuf: "):
        decode(body)


def test_nesting_without_end_is_refused() -> None:
    raw = b""
    for _ in range(20_000):
        raw = text(27, raw)  # `not`

    with pytest.raises(ValueError, match="deep"):
        decode_message(f"{APIEXTENSIONS}.JSONSchemaProps", raw)


@given(st.sampled_from(answered_objects()))
def test_recorded_objects_survive_the_way_there_and_back(recorded: Recorded) -> None:
    document = recorded.document
    back = decode(encode(document))

    again = round_trip(recorded.schema, back).document
    assert without_nested_kinds(again) == without_nested_kinds(document)
    assert (back["kind"], back["apiVersion"]) == (document["kind"], document["apiVersion"])


MESSAGES = sorted(
    name
    for name, schema in definitions().schemas.items()
    if "properties" in schema and message_of(name) in definitions().protobuf
)


def test_every_built_in_kind_has_a_message() -> None:
    assert [r for r in builtin_resources() if not is_known(r.api_version, r.kind)] == []


@pytest.mark.parametrize("schema", MESSAGES, ids=lambda schema: schema.removeprefix("io.k8s."))
def test_every_field_of_every_message_survives_the_way_there_and_back(schema: str) -> None:
    for seed in range(5):
        given = random_document(schema, Random(seed), depth=3)
        document = round_trip(schema, given).document

        written = message(message_of(schema)).write(document)

        back = round_trip(schema, decode_message(message_of(schema), written)).document
        assert back == document, seed


def test_a_json_schema_survives_the_way_there_and_back() -> None:
    schema: Document = {
        "type": "object",
        "properties": {"a": {"type": "integer", "minimum": 0, "maximum": 1.5}},
        "items": [{"type": "string"}, {}],
        "additionalProperties": {"x-kubernetes-int-or-string": True},
        "dependencies": {"a": ["b"], "c": {"not": {"items": {"additionalProperties": False}}}},
        "additionalItems": True,
        "default": {"a": [None, 1.5, "x"]},
        "enum": ["a", 1],
    }
    definition = {
        "kind": "CustomResourceDefinition",
        "apiVersion": "apiextensions.k8s.io/v1",
        "spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]},
    }

    back = decode(encode(definition))

    assert back["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == schema


def test_a_kind_without_a_message_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="Widget"):
        encode({"apiVersion": "example.com/v1", "kind": "Widget"})


@given(
    st.sampled_from([r for r in builtin_resources() if r.verbs]),
    st.binary(max_size=200),
)
@example(builtin_resources()[0], b"")
def test_any_bytes_are_read_or_refused(resource: Resource, raw: bytes) -> None:
    try:
        document = decode(envelope(resource.api_version, resource.kind, raw))
        round_trip(schema_name(resource.group, resource.version, resource.kind), document)
    except ValueError:
        return


@given(st.sampled_from(answered_objects()), st.data())
def test_damaged_objects_are_read_or_refused(recorded: Recorded, data: st.DataObject) -> None:
    body = bytearray(encode(recorded.document))
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(4, len(body) - 1))] = data.draw(st.integers(0, 255))
    del body[data.draw(st.integers(4, len(body))) :]
    try:
        round_trip(recorded.schema, decode(bytes(body)))
    except ValueError:
        return
