from plimsoll.api.registry import Document
from plimsoll.apiserver.model.custom.embedded import embedded_errors
from plimsoll.apiserver.model.custom.nodes import compiled_schema

SCHEMA: Document = {
    "type": "object",
    "properties": {
        "parts": {
            "type": "array",
            "items": {
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-preserve-unknown-fields": True,
            },
        }
    },
}


def complaints(*parts: Document) -> list[str]:
    found = embedded_errors(compiled_schema(SCHEMA), {"parts": list(parts)})
    return [f"{error.field}: {error.message}" for error in found]


def test_an_object_inside_says_what_it_is() -> None:
    good = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    assert complaints(good) == []
    assert complaints({}) == [
        "parts[0].apiVersion: Required value: must not be empty",
        "parts[0].kind: Required value: must not be empty",
    ]


def test_its_metadata_is_such_as_every_object_has() -> None:
    [said] = complaints({"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": 1}})
    assert said.startswith("parts[0].metadata: ")
