"""What the schema of a version may say at all: known types, lists with keys, defaults that fit."""

from collections.abc import Iterator
from typing import Any

from plimsoll.api.patch.documents import clone
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.custom import pruning
from plimsoll.apiserver.model.custom.checking import schema_errors
from plimsoll.apiserver.model.custom.definition.rule_texts import rule_errors
from plimsoll.apiserver.model.custom.definition.structural import (
    DEEPEST,
    depth,
    structural_errors,
)
from plimsoll.apiserver.model.custom.list_types import duplicate_errors
from plimsoll.apiserver.model.custom.nodes import MISSING, SchemaNode, below_of, compiled_schema
from plimsoll.apiserver.model.field_errors import FieldError

TYPES = ("array", "boolean", "integer", "number", "object", "string")
SCALARS = ("boolean", "integer", "number", "string")
LIST_TYPE, LIST_KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
MAP_TYPE = "x-kubernetes-map-type"
_FORBIDDEN = {
    "id": "id is not supported",
    "additionalItems": "additionalItems is not supported",
    "patternProperties": "patternProperties is not supported",
    "definitions": "definitions is not supported",
    "dependencies": "dependencies is not supported",
    "$ref": "$ref is not supported",
}


def version_schema_errors(version: Document, path: str) -> Iterator[FieldError]:
    """Everything that is wrong with the schema of a version; `path` is the schema's."""
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    where = f"{path}.openAPIV3Schema"
    if not schema:
        yield FieldError.required(where)
        return
    if depth(schema) > DEEPEST:
        yield FieldError.forbidden(where, f"has more than {DEEPEST} levels")
        return
    if schema.get("nullable"):
        yield FieldError.forbidden(f"{where}.nullable", "nullable cannot be true at the root")
    found = [*_errors(schema, where)]
    yield from found
    if found:
        return
    found = structural_errors(schema, where)
    yield from found
    if not found:
        node = compiled_schema(schema)
        yield from _default_errors(node, where)
        yield from rule_errors(node, where)


def _errors(schema: Document, path: str) -> Iterator[FieldError]:
    yield from _forbidden(schema, path)
    yield from _list_errors(schema, path)
    yield from _map_errors(schema, path)
    if schema.get("properties") and schema.get("additionalProperties") is not None:
        said = "additionalProperties and properties are mutual exclusive"
        yield FieldError.forbidden(f"{path}.additionalProperties", said)
    for below, where in _below(schema, path):
        yield from _errors(below, where)


def _below(schema: Document, path: str) -> Iterator[tuple[Document, str]]:
    for name, below in (schema.get("properties") or {}).items():
        yield below, f"{path}.properties[{name}]"
    for name in ("items", "additionalProperties", "not"):
        if isinstance(schema.get(name), dict):
            yield schema[name], f"{path}.{name}"
    for name in ("allOf", "anyOf", "oneOf"):
        for index, below in enumerate(schema.get(name) or ()):
            yield below, f"{path}.{name}[{index}]"


def _forbidden(schema: Document, path: str) -> Iterator[FieldError]:
    kind = schema.get("type", "")
    if kind == "null":
        said = "type cannot be set to null, use nullable as an alternative"
        yield FieldError.forbidden(f"{path}.type", said)
    elif kind and kind not in TYPES:
        yield FieldError.not_supported(f"{path}.type", kind, TYPES)
    for name, said in _FORBIDDEN.items():
        if schema.get(name) not in (None, "", {}):
            yield FieldError.forbidden(f"{path}.{name}", said)
    if schema.get("uniqueItems"):
        said = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield FieldError.forbidden(f"{path}.uniqueItems", said)
    if isinstance(schema.get("items"), list):
        said = "items must be a schema object and not an array"
        yield FieldError.forbidden(f"{path}.items", said)
    preserve = schema.get("x-kubernetes-preserve-unknown-fields")
    if preserve is False:
        where = f"{path}.x-kubernetes-preserve-unknown-fields"
        yield FieldError.invalid(where, False, "must be true or undefined")


def _map_errors(schema: Document, path: str) -> Iterator[FieldError]:
    given = schema.get(MAP_TYPE)
    if given is None:
        return
    yield from _typed(schema, "object", MAP_TYPE, path)
    if given not in ("atomic", "granular"):
        yield FieldError.not_supported(f"{path}.{MAP_TYPE}", given, ("atomic", "granular"))


def _typed(schema: Document, kind: str, because: str, path: str) -> Iterator[FieldError]:
    given, said = schema.get("type", ""), f"must be {kind} if {because} is specified"
    if not given:
        yield FieldError.required(f"{path}.type", said)
    elif given != kind:
        yield FieldError.invalid(f"{path}.type", given, said)


def _list_errors(schema: Document, path: str) -> Iterator[FieldError]:
    given, keys = schema.get(LIST_TYPE), schema.get(LIST_KEYS) or []
    if given is not None:
        yield from _typed(schema, "array", LIST_TYPE, path)
        if given not in ("atomic", "set", "map"):
            listed = ("atomic", "map", "set")
            yield FieldError.not_supported(f"{path}.{LIST_TYPE}", given, listed)
    if keys and given != "map":
        said = "must be map if x-kubernetes-list-map-keys is non-empty"
        where = f"{path}.{LIST_TYPE}"
        yield FieldError.invalid(where, given, said) if given else FieldError.required(where, said)
    items = schema.get("items")
    if given in ("set", "map") and isinstance(items, dict) and items.get("nullable"):
        said = f"cannot be nullable when x-kubernetes-list-type is {given}"
        yield FieldError.forbidden(f"{path}.items.nullable", said)
    if given == "set" and isinstance(items, dict):
        yield from _set_item_errors(items, f"{path}.items")
    if given == "map":
        yield from _map_list_errors(items, keys, path)


def _set_item_errors(items: Document, path: str) -> Iterator[FieldError]:
    said = "must be atomic as item of a list with x-kubernetes-list-type=set"
    if items.get("type") == "array" and items.get(LIST_TYPE, "atomic") != "atomic":
        yield FieldError.invalid(f"{path}.{LIST_TYPE}", items.get(LIST_TYPE), said)
    if items.get("type") == "object" and items.get(MAP_TYPE) != "atomic":
        yield FieldError.invalid(f"{path}.{MAP_TYPE}", items.get(MAP_TYPE), said)


def _map_list_errors(items: Any, keys: list[str], path: str) -> Iterator[FieldError]:
    where = f"{path}.{LIST_KEYS}"
    if not keys:
        yield FieldError.required(where, "must not be empty if x-kubernetes-list-type is map")
    if not isinstance(items, dict):
        said = "must have a schema if x-kubernetes-list-type is map"
        yield FieldError.required(f"{path}.items", said)
        return
    if items.get("type") != "object":
        said = "must be object if parent array's x-kubernetes-list-type is map"
        yield FieldError.invalid(f"{path}.items.type", items.get("type", ""), said)
        return
    properties = items.get("properties") or {}
    for key in keys:
        yield from _key_errors(key, properties.get(key), items, path)
    if len(set(keys)) < len(keys):
        yield FieldError.invalid(where, keys, "must not contain duplicate entries")


def _key_errors(
    key: str, known: Document | None, items: Document, path: str
) -> Iterator[FieldError]:
    where = f"{path}.items.properties[{key}]"
    if known is None:
        said = "entries must all be names of item properties"
        yield FieldError.invalid(f"{path}.{LIST_KEYS}", [key], said)
        return
    if known.get("type") not in SCALARS:
        said = "must be a scalar type if parent array's x-kubernetes-list-type is map"
        yield FieldError.invalid(f"{where}.type", known.get("type", ""), said)
    because = "this property is in x-kubernetes-list-map-keys, so it"
    if "default" not in known and key not in (items.get("required") or ()):
        said = f"{because} must have a default or be a required property"
        yield FieldError.required(f"{where}.default", said)
    if known.get("nullable"):
        yield FieldError.forbidden(f"{where}.nullable", f"{because} cannot be nullable")


def _default_errors(node: SchemaNode, path: str) -> Iterator[FieldError]:
    """A default must be what its own schema accepts."""
    if node.default is not MISSING:
        where = f"{path}.default"
        kept = clone(node.default)
        if pruning.prune(node, kept):
            yield FieldError.invalid(where, node.default, "must not have unknown fields")
        else:
            yield from schema_errors(node, node.default, path=where)
            yield from duplicate_errors(node, node.default, where)
    for below, where in _nodes_below(node, path):
        yield from _default_errors(below, where)


def _nodes_below(node: SchemaNode, path: str) -> Iterator[tuple[SchemaNode, str]]:
    places = [f"{path}.properties[{name}]" for name in node.properties]
    if node.additional is not None:
        places.append(f"{path}.additionalProperties")
    if node.items is not None:
        places.append(f"{path}.items")
    yield from zip(below_of(node), places, strict=True)
