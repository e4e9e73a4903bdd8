"""The schema of a custom kind, compiled once: what every step over a document asks about a place.

A structural schema says of each place what may be there. `SchemaNode` has that in the form in which
it is asked for: by name, without a look at the raw document again.
"""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from plimsoll.api.registry import Document

INT_OR_STRING = ("integer", "string")
MISSING: Any = object()
_NAME_BYTES = 4
"""Of the shortest name of a member, with what stands around it."""


@dataclass(slots=True, kw_only=True)
class SchemaNode:
    raw: Document
    """The schema as the definition has it."""
    types: tuple[str, ...] = ()
    """Of which one the value must be; none: of any."""
    properties: "dict[str, SchemaNode]" = field(default_factory=dict)
    additional: "SchemaNode | None" = None
    """For the members that have no property of their own."""
    items: "SchemaNode | None" = None
    nullable: bool = False
    preserves: bool = False
    """Members that no property names are kept."""
    embedded: bool = False
    """The value is a whole object with kind, apiVersion and metadata."""
    default: Any = MISSING
    default_bytes: int = 0
    """Of the default, as JSON with a name."""
    has_defaults: bool = False
    """Something in it, or itself, has a default or must not be null."""
    texts: frozenset[str] = frozenset()
    """The texts among the values that it may have, where those are listed."""
    rules: tuple[Document, ...] = ()
    """x-kubernetes-validations."""
    has_rules: bool = False
    has_lists: bool = False
    """Some list in it is a set or a map."""
    has_embedded: bool = False
    """It is, or has in it, a whole object."""

    @property
    def list_type(self) -> str:
        kind: str = self.raw.get("x-kubernetes-list-type", "")
        return kind

    def child(self, name: str) -> "SchemaNode | None":
        return self.properties.get(name) or self.additional


def compiled_schema(raw: Document) -> SchemaNode:
    """The node of a schema and of everything below it."""
    properties = {name: compiled_schema(s) for name, s in (raw.get("properties") or {}).items()}
    additional, items = raw.get("additionalProperties"), raw.get("items")
    node = SchemaNode(
        raw=raw,
        types=_types(raw),
        properties=properties,
        additional=_additional(additional),
        items=compiled_schema(items) if isinstance(items, dict) else None,
        nullable=raw.get("nullable", False),
        preserves=raw.get("x-kubernetes-preserve-unknown-fields", False) or additional is True,
        embedded=raw.get("x-kubernetes-embedded-resource", False),
        default=raw.get("default", MISSING),
        default_bytes=_NAME_BYTES + len(msgspec.json.encode(raw.get("default"))),
        texts=frozenset(v for v in raw.get("enum") or () if isinstance(v, str)),
        rules=tuple(raw.get("x-kubernetes-validations") or ()),
    )
    below = below_of(node)
    node.has_defaults = node.default is not MISSING or any(
        each.has_defaults or not each.nullable for each in below
    )
    node.has_rules = bool(node.rules) or any(each.has_rules for each in below)
    node.has_embedded = node.embedded or any(each.has_embedded for each in below)
    node.has_lists = node.list_type in ("set", "map") or any(each.has_lists for each in below)
    return node


def below_of(node: SchemaNode) -> list[SchemaNode]:
    """The nodes right below a node."""
    others = (node.additional, node.items)
    return [*node.properties.values(), *(other for other in others if other is not None)]


def _types(raw: Document) -> tuple[str, ...]:
    if raw.get("x-kubernetes-int-or-string"):
        return INT_OR_STRING
    kind = raw.get("type")
    return (kind,) if kind else ()


def _additional(given: Any) -> SchemaNode | None:
    return compiled_schema(given) if isinstance(given, dict) else None
