"""What a schema says about merging: which lists merge, and by which key."""

from dataclasses import dataclass
from typing import Any

from plimsoll.api.patch.errors import malformed
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.definitions import definitions


@dataclass(frozen=True, slots=True)
class FieldRules:
    """How a patch changes one field. `schema` is that of the field, or of a list's elements."""

    schema: Document
    strategy: str
    merge_key: str


def schema_named(name: str) -> Document:
    schema = definitions().schemas.get(name)
    if schema is None:
        raise malformed(f"strategic merge patch format is not supported for {name}")
    return schema


def object_rules(schema: Document, key: str) -> FieldRules:
    field = _field(schema, key)
    return FieldRules(_resolved(field), _strategy(field), "")


def list_rules(schema: Document, key: str) -> FieldRules:
    field = _field(schema, key)
    items = _resolved(field).get("items")
    if not isinstance(items, dict):
        raise malformed(f"the field {key} is not a list")
    merge_key = field.get("x-kubernetes-patch-merge-key", "")
    return FieldRules(_resolved(items), _strategy(field), merge_key)


def is_always_there(schema: Document, key: str) -> bool:
    """An object field that exists, empty at least, even where a document does not show it."""
    return bool(schema.get("properties", {}).get(key, {}).get("default") == {})


def _field(schema: Document, key: str) -> Document:
    field: Any = schema.get("properties", {}).get(key)
    if field is None:
        raise malformed(f'unable to find api field "{key}"')
    return dict(field)


def _resolved(schema: Document) -> Document:
    reference = schema.get("$ref")
    return schema_named(reference) if reference else schema


def _strategy(field: Document) -> str:
    """`retainKeys` speaks to those who make patches; who applies them follows the directive."""
    strategies = field.get("x-kubernetes-patch-strategy", "").split(",")
    return next((strategy for strategy in strategies if strategy != "retainKeys"), "")
