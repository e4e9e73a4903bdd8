from plimsoll.api.registry import Document
from plimsoll.apiserver.model.custom.list_types import duplicate_errors
from plimsoll.apiserver.model.custom.nodes import compiled_schema

KEYED: Document = {
    "type": "array",
    "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
}
SET: Document = {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}


def complaints(schema: Document, value: object) -> list[str]:
    node = compiled_schema({"type": "object", "properties": {"l": schema}})
    return [f"{error.field}: {error.message}" for error in duplicate_errors(node, {"l": value})]


def test_a_set_has_every_value_once() -> None:
    assert complaints(SET, ["a", "b"]) == []
    assert complaints(SET, ["a", "b", "a"]) == ['l[2]: Duplicate value: "a"']


def test_a_map_has_every_key_once_and_types_differ() -> None:
    assert complaints(KEYED, [{"k": 1}, {"k": "1"}, {}]) == []
    assert complaints(KEYED, [{"k": "a"}, {"k": "a", "v": 1}]) == [
        'l[1]: Duplicate value: {"k":"a"}'
    ]
    assert complaints(KEYED, ["a"])[0].endswith("must be an object for an array of list-type map")
