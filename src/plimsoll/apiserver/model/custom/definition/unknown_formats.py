"""Formats of a definition's schemas that mean nothing: they are kept, and never checked."""

from collections.abc import Iterator

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.custom.nodes import SchemaNode, below_of, compiled_schema
from plimsoll.apiserver.model.custom.values import formats

NUMBERS = {"integer": ("int32", "int64"), "number": ("float", "double")}


def unknown_formats(definition: Document) -> list[str]:
    """Each of them once, in order."""
    found: dict[str, None] = {}
    for version in definition["spec"].get("versions") or ():
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema:
            found |= dict.fromkeys(_found(compiled_schema(schema)))
    return sorted(found)


def _found(node: SchemaNode) -> Iterator[str]:
    named, kind = node.raw.get("format"), node.raw.get("type", "")
    if named and not _is_known(named, kind):
        yield named
    for below in below_of(node):
        yield from _found(below)


def _is_known(named: str, kind: str) -> bool:
    if kind in NUMBERS:
        return named in NUMBERS[kind]
    return kind in ("", "string") and formats.is_known(named)
