# ruff: noqa: E501 complaints stand on one line with what they are about
import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.custom.checking import schema_errors
from plimsoll.apiserver.model.custom.nodes import MISSING, compiled_schema

ANY = {"x-kubernetes-preserve-unknown-fields": True}


def complaints(schema: Document, value: object, old: object = MISSING) -> list[str]:
    node = compiled_schema({"type": "object", "properties": {"v": schema}})
    before = old if old is MISSING else {"v": old}
    return [f"{e.field}: {e.message}" for e in schema_errors(node, {"v": value}, before)]


@pytest.mark.parametrize(
    ("schema", "value", "said"),
    [
        ({"type": "integer"}, "x", 'v: Invalid value: "string": v in body must be of type integer: "string"'),
        ({"type": "integer"}, True, 'v: Invalid value: "boolean": v in body must be of type integer: "boolean"'),
        ({"type": "string"}, None, 'v: Invalid value: "null": v in body must be of type string: "null"'),
        ({"type": "string", "minLength": 2}, "a", 'v: Invalid value: "a": v in body should be at least 2 chars long'),
        ({"type": "string", "maxLength": 2}, "abc", "v: Too long: may not be more than 2 bytes"),
        ({"type": "string", "pattern": "^a$"}, "b", "v: Invalid value: \"b\": v in body should match '^a$'"),
        ({"type": "string", "format": "ipv4"}, "x", 'v: Invalid value: "x": v in body must be of type ipv4: "x"'),
        ({"type": "string", "enum": ["a", "b"]}, "c", 'v: Unsupported value: "c": supported values: "a", "b"'),
        ({"type": "integer", "enum": [1, 2]}, 3, 'v: Unsupported value: 3: supported values: "1", "2"'),
        ({"type": "number", "maximum": 1.5}, 2, "v: Invalid value: 2: v in body should be less than or equal to 1.5"),
        ({"type": "integer", "maximum": 2, "exclusiveMaximum": True}, 2, "v: Invalid value: 2: v in body should be less than 2"),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, 1, "v: Invalid value: 1: v in body should be greater than 1"),
        ({"type": "integer", "multipleOf": 3}, 4, "v: Invalid value: 4: v in body should be a multiple of 3"),
        ({"type": "integer", "format": "int32"}, 1 << 40, '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in v'),
        ({"type": "array", "items": ANY, "minItems": 1}, [], "v: Invalid value: 0: v in body should have at least 1 items"),
        ({"type": "array", "items": ANY, "maxItems": 1}, [1, 2], "v: Too many: 2: must have at most 1 items"),
        ({"type": "object", "required": ["a"], **ANY}, {}, "v.a: Required value"),
        ({"type": "object", "minProperties": 1, **ANY}, {}, "v: Invalid value: 0: v in body should have at least 1 properties"),
        ({"type": "object", "maxProperties": 0, **ANY}, {"a": 1}, "v: Too many: 1: must have at most 0 items"),
        ({**ANY, "not": {"required": ["a"]}}, {"a": 1}, '<nil>: Invalid value: "": "v" must not validate the schema (not)'),
        ({"x-kubernetes-int-or-string": True}, True, 'v: Invalid value: "boolean": v in body must be of type integer,string: "boolean"'),
    ],
)  # fmt: skip
def test_complaints_are_kubernetes_own(schema: Document, value: object, said: str) -> None:
    assert complaints(schema, value) == [said]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer"}, 2.0),
        ({"type": "number"}, 2),
        ({"type": "string", "nullable": True}, None),
        ({"type": "string", "format": "made-up"}, "anything"),
        ({"x-kubernetes-int-or-string": True}, "80"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, {"a": "b"}),
    ],
)
def test_what_fits_is_accepted(schema: Document, value: object) -> None:
    assert complaints(schema, value) == []


def test_exactly_one_of_several_must_fit() -> None:
    schema = {**ANY, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert complaints(schema, {"a": 1}) == []
    one = '<nil>: Invalid value: "": "v" must validate one and only one schema (oneOf). '
    assert complaints(schema, {"a": 1, "b": 1}) == [f"{one}Found 2 valid alternatives"]
    assert complaints(schema, {})[0] == f"{one}Found none valid"


def test_at_least_one_or_all_of_several_must_fit() -> None:
    some = {**ANY, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert complaints(some, {"b": 1}) == []
    assert "must validate at least one schema (anyOf)" in complaints(some, {})[0]
    every = {**ANY, "allOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert complaints(every, {"a": 1, "b": 1}) == []
    assert [text.partition(":")[0] for text in complaints(every, {"a": 1})] == ["v.b", "<nil>"]


def test_what_an_update_leaves_as_it_was_is_not_looked_at_again() -> None:
    item = {
        "type": "object",
        "properties": {"k": {"type": "string"}, "n": {"type": "integer", "maximum": 1}},
    }
    schema = {
        "type": "array",
        "items": item,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
    }
    old = [{"k": "a", "n": 5}, {"k": "b", "n": 1}]
    assert complaints(schema, [{"k": "b", "n": 0}, {"k": "a", "n": 5}], old) == []
    assert [c.partition(":")[0] for c in complaints(schema, [{"k": "b", "n": 6}], old)] == [
        "v[0].n"
    ]


def test_alternatives_are_not_tried_without_end() -> None:
    item = {"type": "integer", "anyOf": [{"minimum": n} for n in range(1000, 2000)]}
    [said] = complaints({"type": "array", "items": item}, list(range(1000)))
    assert "has too many values and alternatives" in said
