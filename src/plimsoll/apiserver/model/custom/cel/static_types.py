"""Types that are known before an expression runs: from its literals, and from the schema.

Where they do not tell a type it is None, and nothing is said about the expression.
"""

from dataclasses import dataclass

from plimsoll.apiserver.model.custom.cel.parsing import Constant, Expression, ListOf, MapOf
from plimsoll.apiserver.model.custom.cel.values import type_of
from plimsoll.apiserver.model.custom.nodes import SchemaNode

_SCALARS = {"integer": "int", "number": "double", "boolean": "bool", "string": "string"}


@dataclass(frozen=True, slots=True)
class StaticType:
    name: str
    parameters: "tuple[StaticType, ...]" = ()
    """Of a list its elements, of a map its keys and values."""

    def __str__(self) -> str:
        parameters = ", ".join(map(str, self.parameters))
        return f"{self.name}({parameters})" if parameters else self.name


STRING = StaticType("string")
INT = StaticType("int")


def static_type(tree: Expression, place: SchemaNode | None) -> StaticType | None:
    """The type of an expression whose value is at the place of the schema, if it is known."""
    match tree:
        case Constant(value):
            return None if value is None else StaticType(type_of(value).name)
        case ListOf(items):
            element = _common([item for item, _ in items])
            return None if element is None else StaticType("list", (element,))
        case MapOf(entries):
            key = _common([key for key, _, _ in entries])
            value = _common([value for _, value, _ in entries])
            return None if key is None or value is None else StaticType("map", (key, value))
        case _:
            return None if place is None else _type_at(place)


def complaint_about_index(holder: StaticType | None, key: StaticType | None) -> str:
    """Why the holder cannot be asked for the key; empty if it can, or may."""
    if holder is None or key is None:
        return ""
    wanted = {"list": INT, "map": holder.parameters[0] if holder.parameters else None}
    is_fitting = wanted.get(holder.name) == key
    return "" if is_fitting else _no_overload("_[_]", holder, key)


def complaint_about_membership(element: StaticType | None, holder: StaticType | None) -> str:
    """Why it makes no sense to ask whether the element, or key, is in the holder; else empty."""
    if holder is None or element is None:
        return ""
    is_fitting = bool(holder.parameters) and holder.parameters[0] == element
    return "" if is_fitting else _no_overload("@in", element, holder)


def _no_overload(function: str, one: StaticType, other: StaticType) -> str:
    return f"found no matching overload for '{function}' applied to '({one}, {other})'"


def _common(trees: list[Expression]) -> StaticType | None:
    types = {static_type(tree, None) for tree in trees}
    return types.pop() if len(types) == 1 else None


def _type_at(place: SchemaNode) -> StaticType | None:
    """Texts of a format may be times or bytes, and what may be null is of two types."""
    raw = place.raw
    if place.nullable or raw.get("format") or raw.get("x-kubernetes-int-or-string"):
        return None
    match place.types:
        case ("array",) if place.items is not None:
            element = _type_at(place.items)
            return None if element is None else StaticType("list", (element,))
        case ("object",) if place.additional is not None and not place.properties:
            value = _type_at(place.additional)
            return None if value is None else StaticType("map", (STRING, value))
        case (name,) if name in _SCALARS:
            return StaticType(_SCALARS[name])
        case _:
            return None
