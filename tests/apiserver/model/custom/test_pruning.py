from plimsoll.api.registry import Document
from plimsoll.apiserver.model.custom.nodes import compiled_schema
from plimsoll.apiserver.model.custom.pruning import fill_in, prune

SCHEMA: Document = {
    "type": "object",
    "properties": {
        "a": {"type": "string", "default": "x"},
        "n": {"type": "string", "nullable": True},
        "o": {"type": "object", "properties": {"d": {"type": "integer", "default": 1}}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "list": {
            "type": "array",
            "items": {"type": "object", "properties": {"k": {"type": "string", "default": "k"}}},
        },
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "whole": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "properties": {"spec": {"type": "object"}},
        },
    },
}


def test_what_the_schema_does_not_know_goes_and_is_told() -> None:
    document: Document = {
        "kind": "X",
        "metadata": {"odd": 1},
        "b": 1,
        "o": {"e": 2},
        "free": {"anything": {"at": "all"}},
        "list": [{"k": "a", "z": 1}],
        "map": {"any": "name"},
        "whole": {"kind": "Pod", "metadata": {"name": "a"}, "status": {}},
    }
    gone = prune(compiled_schema(SCHEMA), document, is_root=True)
    assert gone == ["b", "o.e", "list[0].z", "whole.status"]
    assert document == {
        "kind": "X",
        "metadata": {"odd": 1},
        "o": {},
        "free": {"anything": {"at": "all"}},
        "list": [{"k": "a"}],
        "map": {"any": "name"},
        "whole": {"kind": "Pod", "metadata": {"name": "a"}},
    }


def test_defaults_are_filled_in_where_something_around_them_is_there() -> None:
    document: Document = {"o": {}, "list": [{}, {"k": "a"}]}
    fill_in(compiled_schema(SCHEMA), document)
    assert document == {"a": "x", "o": {"d": 1}, "list": [{"k": "k"}, {"k": "a"}]}


def test_a_null_that_may_not_be_there_counts_as_missing() -> None:
    document: Document = {"a": None, "n": None, "o": None, "map": {"x": None}}
    fill_in(compiled_schema(SCHEMA), document)
    assert document == {"a": "x", "n": None, "map": {}}


def test_a_default_is_not_shared_between_documents() -> None:
    node = compiled_schema(
        {"type": "object", "properties": {"a": {"type": "object", "default": {"l": []}}}}
    )
    one: Document = {}
    other: Document = {}
    fill_in(node, one)
    one["a"]["l"] = [1]
    fill_in(node, other)
    assert other == {"a": {"l": []}}
