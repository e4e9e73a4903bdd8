"""Documents as expressions see them: times, durations and bytes by their format, floats as such.

What needs no change is shared with the document.
"""

from datetime import UTC, datetime, time
from typing import Any

from plimsoll.apiserver.model.custom.cel.library.times import parse_duration, parse_timestamp
from plimsoll.apiserver.model.custom.cel.values import CelError, MapList, SetList
from plimsoll.apiserver.model.custom.nodes import SchemaNode, below_of

_FORMATS = ("date", "date-time", "datetime", "duration", "byte")


def needs_types(node: SchemaNode) -> bool:
    """Whether some value below is another one for expressions."""
    own = node.types == ("number",) or node.raw.get("format") in _FORMATS
    return own or node.list_type in ("set", "map") or any(needs_types(n) for n in below_of(node))


def typed(node: SchemaNode, value: Any) -> Any:
    """The value as expressions see it."""
    if value is None:
        return None
    if isinstance(value, dict):
        return {
            name: member if (below := node.child(name)) is None else typed(below, member)
            for name, member in value.items()
        }
    if isinstance(value, list):
        return _typed_list(node, value)
    if isinstance(value, str):
        return _typed_text(node.raw.get("format", ""), value)
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if is_whole and node.types == ("number",) else value


def _typed_list(node: SchemaNode, values: list[Any]) -> list[Any]:
    items = node.items
    made = values if items is None else [typed(items, value) for value in values]
    if node.list_type == "set":
        return SetList(made)
    if node.list_type == "map" and all(isinstance(item, dict) for item in made):
        keyed = MapList(made)
        keyed.keys = tuple(node.raw.get("x-kubernetes-list-map-keys") or ())
        return keyed
    return made


def _typed_text(named: str, text: str) -> Any:
    try:
        match named:
            case "date-time" | "datetime":
                return parse_timestamp(text)
            case "date":
                return datetime.combine(datetime.fromisoformat(text), time(), UTC)
            case "duration":
                return parse_duration(text)
            case "byte":
                return text.encode()
            case _:
                return text
    except (CelError, ValueError):
        return text
