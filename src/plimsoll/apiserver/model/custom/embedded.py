"""Whole objects inside custom resources (`x-kubernetes-embedded-resource`)."""

from collections.abc import Iterator
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.custom.nodes import SchemaNode
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.scalars import SchemaError
from plimsoll.apiserver.model.shapes import struct

OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


def embedded_errors(node: SchemaNode, value: Any, path: str = "") -> Iterator[FieldError]:
    """What is wrong with the type and the metadata of the objects inside a document."""
    if not node.has_embedded:
        return
    if node.embedded and isinstance(value, dict):
        yield from _object_errors(value, path)
    if isinstance(value, dict):
        for name, member in value.items():
            below = node.child(name)
            if below is not None and isinstance(member, dict | list):
                yield from embedded_errors(below, member, f"{path}.{name}" if path else name)
    elif isinstance(value, list) and node.items is not None:
        for index, item in enumerate(value):
            yield from embedded_errors(node.items, item, f"{path}[{index}]")


def _object_errors(value: Document, path: str) -> Iterator[FieldError]:
    for name in ("apiVersion", "kind"):
        given = value.get(name)
        if not given:
            yield FieldError.required(f"{path}.{name}", "must not be empty")
        elif not isinstance(given, str):
            yield FieldError.invalid(f"{path}.{name}", given, "must be a string")
    metadata = value.get("metadata")
    if metadata is None:
        return
    try:
        struct(OBJECT_META).convert(metadata, [])
    except SchemaError as error:
        yield FieldError.invalid(f"{path}.metadata", metadata, f"invalid metadata: {error}")
