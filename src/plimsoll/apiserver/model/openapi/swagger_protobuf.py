"""An OpenAPI v2 document in protobuf, the form that Kubernetes' clients ask for first.

The messages are gnostic's (openapi.v2.Document); fields are written in the order of their numbers.
Numbers that limit a value (minimum and the like) are left out: no client reads them.
"""

from collections.abc import Iterable

import msgspec

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.messages.wire import Wire, varint, written_field

_METHODS = {"get": 2, "put": 3, "post": 4, "delete": 5, "patch": 8}


def encode(swagger: Document) -> bytes:
    info = _text(1, swagger["info"]["title"]) + _text(2, swagger["info"]["version"])
    paths = _named(2, ((path, _path(item)) for path, item in swagger["paths"].items()))
    definitions = _named(1, ((n, schema(s)) for n, s in swagger["definitions"].items()))
    return _text(1, swagger["swagger"]) + _part(2, info) + _part(8, paths) + _part(9, definitions)


def schema(document: Document) -> bytes:
    """One Schema."""
    written = [
        _text(1, document.get("$ref", "")),
        _text(2, document.get("format", "")),
        _text(4, document.get("description", "")),
        _part(5, _any(document["default"])) if "default" in document else b"",
        *(_text(19, name) for name in document.get("required", ())),
        *(_part(20, _any(value)) for value in document.get("enum", ())),
    ]
    more = document.get("additionalProperties")
    if isinstance(more, dict):
        written.append(_part(21, _part(1, schema(more))))
    if "type" in document:
        written.append(_part(22, _text(1, document["type"])))
    if "items" in document:
        written.append(_part(23, _part(1, schema(document["items"]))))
    if "properties" in document:
        fields = ((name, schema(field)) for name, field in document["properties"].items())
        written.append(_part(25, _named(1, fields)))
    return b"".join(written) + _extensions(31, document)


def _path(item: Document) -> bytes:
    operations = (
        _part(number, _operation(item[name])) for name, number in _METHODS.items() if name in item
    )
    return b"".join([*operations, *(_part(9, _parameter(p)) for p in item.get("parameters", ()))])


def _operation(operation: Document) -> bytes:
    responses = _named(
        1, ((code, _part(1, _response(r))) for code, r in operation["responses"].items())
    )
    return b"".join(
        [
            *(_text(1, tag) for tag in operation.get("tags", ())),
            _text(3, operation.get("description", "")),
            _text(5, operation.get("operationId", "")),
            *(_text(6, form) for form in operation.get("produces", ())),
            *(_text(7, form) for form in operation.get("consumes", ())),
            *(_part(8, _parameter(parameter)) for parameter in operation["parameters"]),
            _part(9, responses),
            *(_text(10, scheme) for scheme in operation.get("schemes", ())),
            _extensions(13, operation),
        ]
    )


def _parameter(parameter: Document) -> bytes:
    """A ParametersItem."""
    name, place = parameter["name"], parameter["in"]
    required = parameter.get("required", False)
    if place == "body":
        body = _text(2, name) + _text(3, place) + _flag(4, value=required)
        return _part(1, _part(1, body + _part(5, schema(parameter["schema"]))))
    plain = _flag(1, value=required) + _text(2, place) + _text(4, name)
    if place == "query":
        return _part(1, _part(2, _part(3, plain + _text(6, parameter["type"]))))
    return _part(1, _part(2, _part(4, plain + _text(5, parameter["type"]))))


def _response(response: Document) -> bytes:
    return _text(1, response["description"]) + _part(2, _part(1, schema(response["schema"])))


def _part(number: int, content: bytes) -> bytes:
    return written_field(number, Wire.BYTES, content)


def _text(number: int, text: str) -> bytes:
    return _part(number, text.encode()) if text else b""


def _flag(number: int, *, value: bool) -> bytes:
    return written_field(number, Wire.VARINT, varint(1)) if value else b""


def _named(number: int, members: Iterable[tuple[str, bytes]]) -> bytes:
    """A mapping: pairs of a name and a message."""
    return b"".join(_part(number, _text(1, name) + _part(2, value)) for name, value in members)


def _any(value: object) -> bytes:
    """Any value is written as YAML, and JSON is YAML."""
    return _part(2, msgspec.json.encode(value) + b"\n")


def _extensions(number: int, document: Document) -> bytes:
    found = ((name, _any(value)) for name, value in document.items() if name.startswith("x-"))
    return _named(number, found)
