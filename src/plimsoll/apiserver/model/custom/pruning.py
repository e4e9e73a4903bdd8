"""What a schema does not know is taken out of a document, and what it fills in is put there.

Both change the document in place. Metadata is not touched: it is read as all metadata is.
"""

from collections.abc import Iterator
from typing import Any

from plimsoll.api.patch.documents import clone
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.custom.nodes import MISSING, SchemaNode

TYPE_META = ("kind", "apiVersion", "metadata")


def prune(node: SchemaNode, value: Any, path: str = "", *, is_root: bool = False) -> list[str]:
    """Take out what the schema does not know; the paths of what is gone, in order."""
    return list(_pruned(node, value, path, is_object=is_root or node.embedded))


def _pruned(node: SchemaNode, value: Any, path: str, *, is_object: bool = False) -> Iterator[str]:
    if isinstance(value, dict):
        yield from _pruned_members(node, value, path, is_object=is_object)
    elif isinstance(value, list) and node.items is not None:
        for index, item in enumerate(value):
            yield from _pruned(node.items, item, f"{path}[{index}]", is_object=node.items.embedded)


def _pruned_members(
    node: SchemaNode, value: Document, path: str, *, is_object: bool
) -> Iterator[str]:
    for name in list(value):
        if is_object and name in TYPE_META:
            continue
        below = node.child(name)
        where = f"{path}.{name}" if path else name
        if below is not None:
            yield from _pruned(below, value[name], where, is_object=below.embedded)
        elif not node.preserves:
            del value[name]
            yield where


MOST_FILLED_IN = 2 * 1024 * 1024
"""Bytes of defaults in one document, which makes it larger than any that is stored: defaults whose
lists have defaults of their own grow by each level. What is missing beyond that stays missing."""

MUCH_FILLED_IN = 32 * 1024


class _Room:
    """For what is put into one document."""

    def __init__(self, most: int = MOST_FILLED_IN) -> None:
        self._left = most

    @property
    def is_full(self) -> bool:
        return self._left < 0

    def default_of(self, node: SchemaNode) -> Any:
        """A copy of the node's default; MISSING: there is none, or no room for it."""
        if node.default is MISSING:
            return MISSING
        self._left -= node.default_bytes
        return MISSING if self.is_full else clone(node.default)


def fill_in(node: SchemaNode, value: Any, *, is_root: bool = False) -> None:
    """Put defaults where nothing is, and take out nulls that may not be there."""
    _fill_in(node, value, _Room(), is_root=is_root)


def puts_much(node: SchemaNode) -> bool:
    """Whether the defaults of a single empty object take long to fill in."""
    room = _Room(MUCH_FILLED_IN)
    _fill_in(node, {}, room, is_root=True)
    others = (each for each in (node.additional, node.items) if each is not None)
    return room.is_full or any(map(puts_much, (*node.properties.values(), *others)))


def _fill_in(node: SchemaNode, value: Any, room: _Room, *, is_root: bool = False) -> None:
    if not node.has_defaults:
        return
    if isinstance(value, dict):
        _fill_in_members(node, value, room, is_root=is_root)
    elif isinstance(value, list) and node.items is not None:
        _fill_in_items(node.items, value, room)


def _fill_in_members(node: SchemaNode, value: Document, room: _Room, *, is_root: bool) -> None:
    for name, below in node.properties.items():
        if is_root and name == "metadata":
            continue
        given = value.get(name, MISSING)
        if given is MISSING or (given is None and not below.nullable):
            default = room.default_of(below)
            if default is not MISSING:
                value[name] = default
            elif given is None:
                del value[name]
                continue
        if name in value:
            _fill_in(below, value[name], room)
    if node.additional is not None:
        _fill_in_others(node, node.additional, value, room)


def _fill_in_others(node: SchemaNode, below: SchemaNode, value: Document, room: _Room) -> None:
    for name in [name for name in value if name not in node.properties]:
        if value[name] is None and not below.nullable:
            default = room.default_of(below)
            if default is MISSING:
                del value[name]
                continue
            value[name] = default
        _fill_in(below, value[name], room)


def _fill_in_items(below: SchemaNode, values: list[Any], room: _Room) -> None:
    for index, item in enumerate(values):
        if item is None and not below.nullable:
            default = room.default_of(below)
            if default is not MISSING:
                values[index] = default
        _fill_in(below, values[index], room)
