"""Documents as their kinds read them: what is kept, what is dropped, what is refused.

`round_trip` is what every document goes through before anything else looks at it, whether it came
from a request, a patch or the store: afterwards all values have the right types, nulls and unknown
fields are gone, and the fields that are always shown are there.
"""

import json
from collections.abc import Collection, Iterator
from functools import cache
from typing import Any

import msgspec

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.definitions import definitions
from plimsoll.apiserver.model.scalars import SchemaError
from plimsoll.apiserver.model.shapes import is_opaque, shapes, struct

__all__ = [
    "SchemaError",
    "SchemaResult",
    "duplicate_fields",
    "round_trip",
    "schema_name",
    "unknown_fields",
]

_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_FIRST = ("kind", "apiVersion", "metadata")

# The server stops counting complaints there.
_MOST_COMPLAINTS = 100


class SchemaResult(msgspec.Struct, frozen=True):
    document: Document
    """A new document. Values that the server does not look into are shared with the input."""
    unknown: list[str]
    """One sentence for each field that the kind does not have."""


def round_trip(
    kind_schema: str, document: Any, kept: Collection[str] = frozenset()
) -> SchemaResult:
    """The document as the API server shows it. Raises SchemaError when a value has a wrong type.

    `kept` names members that the server has shown: to read them again would change nothing.
    """
    noted: list[str] = []
    # A body that is just `null` is an empty object, as it would be anywhere inside.
    read = {} if document is None else document
    if kept:
        read = {name: value for name, value in document.items() if name not in kept}
    try:
        shown = struct(kind_schema).convert(read, noted)
    except RecursionError:
        raise SchemaError("exceeded max depth") from None
    for name in kept:
        if name in document:
            shown[name] = document[name]
    ordered = {key: shown[key] for key in _order(kind_schema) if key in shown}
    return SchemaResult(ordered, unknown_fields(kind_schema, document) if noted else [])


@cache
def _order(kind_schema: str) -> tuple[str, ...]:
    known = [
        *shapes().get(kind_schema, ()),
        *definitions().schemas[kind_schema].get("properties", ()),
    ]
    return tuple(dict.fromkeys((*_FIRST, *known)))


@cache
def _schemas_by_kind() -> dict[tuple[str, str, str], str]:
    return {
        (gvk["group"], gvk["version"], gvk["kind"]): name
        for name, schema in definitions().schemas.items()
        for gvk in schema.get("x-kubernetes-group-version-kind", ())
    }


def schema_name(group: str, version: str, kind: str) -> str:
    """The schema of a kind. KeyError when the tables do not know it."""
    named = _schemas_by_kind().get((group, version, kind))
    if named:
        return named
    # Options and answers belong to all groups alike.
    shared = f"{_META}.{kind}"
    if kind in ("DeleteOptions", "Status", "WatchEvent") and shared in definitions().schemas:
        return shared
    raise KeyError(f"{group}/{version} {kind}")


def unknown_fields(kind_schema: str, document: Any) -> list[str]:
    """One sentence for each field that the kind does not have."""
    found = _unknown_paths({"$ref": kind_schema}, document, "")
    return _complaints("unknown field", found)


def _complaints(what: str, paths: Iterator[str]) -> list[str]:
    distinct = dict.fromkeys(f'{what} "{path}"' for path in paths)
    return list(distinct)[:_MOST_COMPLAINTS]


def _resolve(schema: Document) -> Document:
    name = schema.get("$ref")
    if name is None:
        return schema
    return {} if is_opaque(name) else definitions().schemas[name]


def _unknown_paths(schema: Document, value: Any, path: str) -> Iterator[str]:
    schema = _resolve(schema)
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            yield from _unknown_paths(schema["items"], item, f"{path}[{index}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            inner = _child(schema, key)
            if inner is not None:
                yield from _unknown_paths(inner, item, _join(path, key))
            elif not _holds_anything(schema):
                yield _join(path, key)


def _child(schema: Document, key: str) -> Document | None:
    found: Document | None = schema.get("properties", {}).get(key)
    return found or schema.get("additionalProperties")


def _holds_anything(schema: Document) -> bool:
    """No field of the value is known or unknown: the server does not look into it."""
    return "properties" not in schema and schema.get("type") != "object"


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def duplicate_fields(raw: bytes, kind_schema: str = "") -> list[str]:
    """One sentence for each key that the JSON text gives twice in the same object.

    With a schema, keys inside unknown fields and opaque values do not count.
    """
    # The common case costs little: without duplicates, writing the decoded text again needs as
    # many quotes as the text itself has, unless quotes hide behind escapes.
    try:
        quotes = msgspec.json.encode(msgspec.json.decode(raw)).count(b'"')
        if raw.count(b'"') == quotes and b"\\u0022" not in raw:
            return []
        read = json.loads(raw, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return []
    schema = {"$ref": kind_schema} if kind_schema else None
    return _complaints("duplicate field", _duplicate_paths(schema, read, ""))


class _Pairs(list[tuple[str, Any]]):
    """An object with its keys as written, in order, none lost."""


def _duplicate_paths(schema: Document | None, value: Any, path: str) -> Iterator[str]:
    resolved = None if schema is None else _resolve(schema)
    if isinstance(value, _Pairs):
        yield from _duplicate_keys(resolved, value, path)
    elif isinstance(value, list):
        items = None if resolved is None else resolved.get("items", {})
        for index, item in enumerate(value):
            yield from _duplicate_paths(items, item, f"{path}[{index}]")


def _duplicate_keys(schema: Document | None, pairs: _Pairs, path: str) -> Iterator[str]:
    seen: set[str] = set()
    for key, item in pairs:
        inner = None if schema is None else _child(schema, key)
        if schema is not None and inner is None:
            continue
        if key in seen:
            yield _join(path, key)
        seen.add(key)
        yield from _duplicate_paths(inner, item, _join(path, key))
