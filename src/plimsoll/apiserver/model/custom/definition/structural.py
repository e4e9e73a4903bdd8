"""Structural schemas: every place has a type, and what combinations say of it stands outside too.

Only then is it known what to keep of a document, what to fill in, and who owns what.
"""

from collections.abc import Iterator
from enum import Enum, auto
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.custom.values import regexes
from plimsoll.apiserver.model.field_errors import FieldError

EMBEDDED = "x-kubernetes-embedded-resource"
PRESERVE = "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING = "x-kubernetes-int-or-string"
EITHER = [{"type": "integer"}, {"type": "string"}]
COMBINATIONS = ("allOf", "anyOf", "oneOf")
DEEPEST = 60
"""Levels of a schema: deeper ones could not be walked."""

_NOT_INSIDE = {
    "type": "must be empty to be structural",
    "additionalProperties": "must be undefined to be structural",
    "default": "must be undefined to be structural",
    "title": "must be empty to be structural",
    "description": "must be empty to be structural",
    "nullable": "must be false to be structural",
    PRESERVE: "must be false to be structural",
    EMBEDDED: "must be false to be structural",
    INT_OR_STRING: "must be false to be structural",
    "x-kubernetes-list-map-keys": "must be empty to be structural",
    "x-kubernetes-list-type": "must be undefined to be structural",
    "x-kubernetes-map-type": "must be undefined to be structural",
    "x-kubernetes-validations": "must be empty to be structural",
}


class Level(Enum):
    """Where a schema stands, and what is said if it has no type there."""

    ROOT = auto()
    ITEM = auto()
    FIELD = auto()


_NO_TYPE = {
    Level.ROOT: "must not be empty at the root",
    Level.ITEM: "must not be empty for specified array items",
    Level.FIELD: "must not be empty for specified object fields",
}


def structural_errors(schema: Document, path: str) -> list[FieldError]:
    """All complaints about the schema of a version, in the order of their texts."""
    found = [*_errors(schema, Level.ROOT, path), *_completeness(schema, path)]
    return sorted(found, key=lambda error: (error.field, error.message))


def depth(schema: Any, levels: int = DEEPEST) -> int:
    """How deep the schema goes; more than `levels` is not counted."""
    if levels < 0 or not isinstance(schema, dict):
        return 0
    return 1 + max((depth(below, levels - 1) for below in _all_below(schema)), default=0)


def _all_below(schema: Document) -> Iterator[Any]:
    yield from (schema.get("properties") or {}).values()
    yield schema.get("items")
    yield schema.get("additionalProperties")
    yield schema.get("not")
    for name in COMBINATIONS:
        yield from schema.get(name) or ()


def _errors(schema: Document, level: Level, path: str) -> Iterator[FieldError]:
    kind = schema.get("type", "")
    items, additional = schema.get("items"), schema.get("additionalProperties")
    if kind == "array" and items is None:
        yield FieldError.required(f"{path}.items", "must be specified")
    if isinstance(items, dict):
        yield from _errors(items, Level.ITEM, f"{path}.items")
    for name, below in (schema.get("properties") or {}).items():
        yield from _errors(below, Level.FIELD, f"{path}.properties[{name}]")
    if additional is not None and level is Level.ROOT:
        yield FieldError.forbidden(f"{path}.additionalProperties", "must not be used at the root")
    if isinstance(additional, dict):
        yield from _errors(additional, Level.FIELD, f"{path}.additionalProperties")
    yield from _type_errors(schema, level, path)
    yield from _metadata_errors(schema, level, path)
    yield from _value_errors(schema, path, outermost=True)


def _type_errors(schema: Document, level: Level, path: str) -> Iterator[FieldError]:
    kind, where = schema.get("type", ""), f"{path}.type"
    embedded, preserves = schema.get(EMBEDDED), schema.get(PRESERVE)
    if schema.get(INT_OR_STRING):
        for name in (PRESERVE, EMBEDDED):
            if schema.get(name):
                said = "must be false if x-kubernetes-int-or-string is true"
                yield FieldError.invalid(f"{path}.{name}", True, said)
    if embedded and kind != "object":
        said = "must be object if x-kubernetes-embedded-resource is true"
        yield FieldError.invalid(where, kind, said) if kind else FieldError.required(where, said)
    elif not kind and not schema.get(INT_OR_STRING) and not preserves:
        yield FieldError.required(where, _NO_TYPE[level])
    if embedded and schema.get("additionalProperties") is not None:
        said = "must not be used if x-kubernetes-embedded-resource is set"
        yield FieldError.forbidden(f"{path}.additionalProperties", said)
    if embedded and not preserves and not schema.get("properties"):
        said = (
            "must not be empty if x-kubernetes-embedded-resource is true without "
            "x-kubernetes-preserve-unknown-fields"
        )
        yield FieldError.required(f"{path}.properties", said)
    if level is Level.ROOT and kind and kind != "object":
        yield FieldError.invalid(where, kind, "must be object at the root")


def _metadata_errors(schema: Document, level: Level, path: str) -> Iterator[FieldError]:
    """Every object has metadata of one form: a schema may say how names look, and no more."""
    if level is not Level.ROOT and not schema.get(EMBEDDED):
        return
    properties = schema.get("properties") or {}
    for name in ("kind", "apiVersion"):
        if name in properties and properties[name].get("type") != "string":
            where = f"{path}.properties[{name}].type"
            yield FieldError.invalid(where, properties[name].get("type", ""), "must be string")
    metadata = properties.get("metadata")
    if metadata is None:
        return
    where = f"{path}.properties[metadata]"
    if metadata.get("type") != "object":
        yield FieldError.invalid(f"{where}.type", metadata.get("type", ""), "must be object")
    others = set(metadata) - {"type", "properties", "default", "required", "description"}
    if level is Level.ROOT and (
        others or not set(metadata.get("properties") or ()) <= {"name", "generateName"}
    ):
        said = "must not specify anything other than name and generateName"
        yield FieldError.forbidden(where, f"{said}, but metadata is implicitly specified")


def _value_errors(schema: Document, path: str, *, outermost: bool = False) -> Iterator[FieldError]:
    pattern = schema.get("pattern")
    if pattern:
        yield from _pattern_errors(pattern, f"{path}.pattern")
    for name in COMBINATIONS:
        if outermost and schema.get(INT_OR_STRING) and _is_either(schema, name):
            continue
        for index, below in enumerate(schema.get(name) or ()):
            where = f"{path}.{name}[{index}]"
            is_either = outermost and index == 0 and name == "allOf" and _first_is_either(schema)
            yield from _inner_errors(below, where, skips_any_of=is_either)
    if isinstance(schema.get("not"), dict):
        yield from _inner_errors(schema["not"], f"{path}.not")


def _pattern_errors(pattern: str, path: str) -> Iterator[FieldError]:
    try:
        regexes.compiled(pattern)
    except regexes.PatternError as error:
        said = f"must be a valid regular expression, but isn't: {error}"
        yield FieldError.invalid(path, pattern, said)


def _is_either(schema: Document, name: str) -> bool:
    return name == "anyOf" and schema.get("anyOf") == EITHER


def _first_is_either(schema: Document) -> bool:
    first = (schema.get("allOf") or [{}])[0]
    return bool(schema.get(INT_OR_STRING)) and first.get("anyOf") == EITHER


def _inner_errors(
    schema: Document, path: str, *, skips_any_of: bool = False
) -> Iterator[FieldError]:
    """A schema inside a combination only says more about values."""
    for name, said in _NOT_INSIDE.items():
        if schema.get(name) not in (None, "", False, []):
            yield FieldError.forbidden(f"{path}.{name}", said)
    if "metadata" in (schema.get("properties") or {}):
        said = "must not be specified in a nested context"
        yield FieldError.forbidden(f"{path}.properties[metadata]", said)
    for name, below in (schema.get("properties") or {}).items():
        yield from _inner_errors(below, f"{path}.properties[{name}]")
    if isinstance(schema.get("items"), dict):
        yield from _inner_errors(schema["items"], f"{path}.items")
    given = {k: v for k, v in schema.items() if not (skips_any_of and k == "anyOf")}
    yield from _value_errors(given, path)


def _completeness(schema: Document, path: str) -> Iterator[FieldError]:
    """What a combination speaks of must stand outside of it as well."""
    for inner, where in _combined(schema, path):
        yield from _missing(schema, inner, path, where)
    for name, below in (schema.get("properties") or {}).items():
        yield from _completeness(below, f"{path}.properties[{name}]")
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            yield from _completeness(schema[name], f"{path}.{name}")


def _combined(schema: Document, path: str) -> Iterator[tuple[Document, str]]:
    for name in COMBINATIONS:
        for index, below in enumerate(schema.get(name) or ()):
            yield below, f"{path}.{name}[{index}]"
    if isinstance(schema.get("not"), dict):
        yield schema["not"], f"{path}.not"


def _missing(
    outer: Document | None, inner: Document, path: str, where: str
) -> Iterator[FieldError]:
    if outer is None:
        yield FieldError.required(path, f"because it is defined in {where}")
        return
    properties, additional = outer.get("properties") or {}, outer.get("additionalProperties")
    for name, below in (inner.get("properties") or {}).items():
        named = f"properties[{name}]"
        known = properties.get(name)
        if known is None and isinstance(additional, dict):
            known = additional
        yield from _missing(known, below, f"{path}.{named}", f"{where}.{named}")
    if isinstance(inner.get("items"), dict):
        items = outer.get("items")
        known = items if isinstance(items, dict) else None
        yield from _missing(known, inner["items"], f"{path}.items", f"{where}.items")
    for below, deeper in _combined(inner, where):
        yield from _missing(outer, below, path, deeper)
