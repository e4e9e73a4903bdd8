"""Documents with random values in all the fields that a schema has."""

import base64
from random import Random
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.definitions import definitions
from plimsoll.apiserver.model.shapes import is_opaque

TEXTS = ("a", "some-name", "example.com/b", "ä✓", "x" * 200)
QUANTITIES = ("1", "100m", "5Gi", "1500M", "0")


def random_document(schema: str, chance: Random, *, depth: int) -> Document:
    """So many messages deep, and not yet as the server shows it: empty values may be there."""
    return _object(definitions().schemas[schema], chance, depth)


def _object(schema: Document, chance: Random, depth: int) -> Document:
    # What an object is stands outside of its message.
    skipped = ("kind", "apiVersion") if "x-kubernetes-group-version-kind" in schema else ()
    return {
        key: _value(property_, chance, depth - 1)
        for key, property_ in schema.get("properties", {}).items()
        if key not in skipped and chance.random() < 0.7
    }


def _value(schema: Document, chance: Random, depth: int) -> Any:
    name = schema.get("$ref", "")
    if name.endswith(".Quantity"):
        return chance.choice(QUANTITIES)
    if name.endswith(".IntOrString"):
        return chance.choice((0, 80, -1, "http", "25%"))
    if name.endswith(".Time"):
        return f"20{chance.randrange(10, 90)}-02-03T04:05:06Z"
    if name.endswith(".MicroTime"):
        return f"2024-02-03T04:05:06.{chance.randrange(10**6):06}Z"
    if name.endswith(("JSONSchemaPropsOrBool", "JSONSchemaPropsOrArray")):
        return {"type": "string"}
    if name.endswith("JSONSchemaPropsOrStringArray"):
        return ["a", "b"]
    if name and is_opaque(name):
        return {"f:spec": {"deep": [1, "a", None, 1.5, True]}}
    if name:
        inner = definitions().schemas[name]
        if "properties" in inner or "type" not in inner or inner["type"] == "object":
            return _object(inner, chance, depth) if depth > 0 else {}
        return _value(inner, chance, depth)
    return _plain(schema, chance, depth)


def _plain(schema: Document, chance: Random, depth: int) -> Any:
    match schema.get("type"):
        case "array":
            number = chance.randrange(1, 3) if depth > 0 else 0
            return [_value(schema["items"], chance, depth) for _ in range(number)]
        case "object":
            inner = schema.get("additionalProperties")
            return (
                {"key": _value(inner, chance, depth), "k2": _value(inner, chance, depth)}
                if (inner and depth > 0)
                else {}
            )
        case "boolean":
            return chance.random() < 0.5
        case "integer":
            largest = 2**31 - 1 if schema.get("format") == "int32" else 2**63 - 1
            return chance.choice((0, 1, -1, 300, largest, -largest - 1))
        case "number":
            return chance.choice((0.5, -1.25, 3.0))
        case _ if schema.get("format") == "byte":
            return base64.b64encode(chance.randbytes(chance.randrange(0, 9))).decode()
        case _:
            return chance.choice(TEXTS)
