"""Lists that are sets or maps: no two elements may be the same, or have the same keys."""

from collections.abc import Iterator
from typing import Any

import msgspec

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.custom.checking import list_key
from plimsoll.apiserver.model.custom.nodes import SchemaNode
from plimsoll.apiserver.model.field_errors import FieldError


def duplicate_errors(node: SchemaNode, value: Any, path: str = "") -> Iterator[FieldError]:
    """Complaints about elements that are there already, in the whole document."""
    if not node.has_lists:
        return
    if isinstance(value, dict):
        for name, member in value.items():
            below = node.child(name)
            if below is not None:
                yield from duplicate_errors(below, member, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        yield from _own_errors(node, value, path)
        if node.items is not None:
            for index, item in enumerate(value):
                yield from duplicate_errors(node.items, item, f"{path}[{index}]")


def _own_errors(node: SchemaNode, values: list[Any], path: str) -> Iterator[FieldError]:
    if node.list_type == "set":
        yield from _set_errors(values, path)
    elif node.list_type == "map":
        yield from _map_errors(node.raw.get("x-kubernetes-list-map-keys") or [], values, path)


def _set_errors(values: list[Any], path: str) -> Iterator[FieldError]:
    seen: set[bytes] = set()
    for index, value in enumerate(values):
        text = msgspec.json.encode(value, order="deterministic")
        if text in seen:
            yield FieldError.duplicate(f"{path}[{index}]", value)
        seen.add(text)


def _map_errors(keys: list[str], values: list[Any], path: str) -> Iterator[FieldError]:
    seen: set[tuple[str, ...]] = set()
    for index, value in enumerate(values):
        where = f"{path}[{index}]"
        if not isinstance(value, dict):
            yield FieldError.invalid(
                where, value, "must be an object for an array of list-type map"
            )
            return
        key = list_key(keys, value)
        if key in seen:
            yield FieldError.duplicate(where, _Json(_keys_of(keys, value)))
        seen.add(key)


def _keys_of(keys: list[str], value: Document) -> Document:
    return {key: value[key] for key in keys if key in value}


class _Json(dict[str, Any]):
    """Shown in a complaint as JSON."""

    def __str__(self) -> str:
        return msgspec.json.encode(dict(self)).decode()
