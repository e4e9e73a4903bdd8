"""Sets of fields, in the form in which the API shows them (FieldsV1).

A set is a mapping from path elements (`f:spec`, `k:{"name":"c"}`, `v:"x"`) to nodes. A node is a
mapping of the same kind: empty when the field itself is in the set and nothing below it; with the
key `.` when the field is in it together with some below; without it when only those below are.
Nothing here changes its arguments, and results may share parts with them: treat sets as values.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from plimsoll.apiserver.model import slices

FieldSet = dict[str, Any]

SELF = "."
HTML = str.maketrans(
    {
        "<": "\\u003c",
        ">": "\\u003e",
        "&": "\\u0026",
        "\u2028": "\\u2028",
        "\u2029": "\\u2029",
    }
)

NEEDS_ESCAPE = re.compile("[<>&\u2028\u2029]").search


class UnreadableSetError(ValueError):
    """What a client sent is not a set of fields."""


def is_member(node: FieldSet) -> bool:
    """The field that leads to this node is itself in the set."""
    return not node or SELF in node


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    if not left:
        return right
    return _joined(left, right) if right else left


def _joined(left: FieldSet, right: FieldSet) -> FieldSet:
    joined = dict(left)
    for element, node in right.items():
        known = joined.get(element)
        joined[element] = node if known is None else _united(known, node)
    return joined


def _united(left: FieldSet, right: FieldSet) -> FieldSet:
    if left == right:
        return left
    if not left:
        return {SELF: {}} | right
    if not right:
        return {SELF: {}} | left
    return _joined(left, right)


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """What is in `left` only; `left` itself when nothing of it is in `right`."""
    return _filtered(left, right, _node_difference)


def _node_difference(left: FieldSet, right: FieldSet) -> FieldSet | None:
    if not left:
        return None if is_member(right) else left
    below = _filtered(left, right, _node_difference)
    if SELF in below and is_member(right):
        below = {element: node for element, node in below.items() if element != SELF}
    return _node(below)


def without_subtrees(left: FieldSet, right: FieldSet) -> FieldSet:
    """What is in `left` but neither in `right` nor below a field of `right`."""
    return _filtered(left, right, _node_without_subtrees)


def _node_without_subtrees(left: FieldSet, right: FieldSet) -> FieldSet | None:
    if is_member(right):
        return None
    return _node(_filtered(left, right, _node_without_subtrees)) if left else left


def _node(parts: FieldSet) -> FieldSet | None:
    """A node from what is left of it: none when it is empty, empty when only itself is left."""
    if len(parts) == 1 and SELF in parts:
        return {}
    return parts or None


def _filtered(left: FieldSet, right: FieldSet, rule: Any) -> FieldSet:
    """Apply a rule to every node of `left` that `right` has, too; a None leaves it out."""
    result = left
    for element, other in right.items():
        if element == SELF or element not in left:
            continue
        rest = rule(left[element], other)
        if rest is left[element]:
            continue
        if result is left:
            result = dict(left)
        if rest is None:
            del result[element]
        else:
            result[element] = rest
    return result


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    common: FieldSet = {}
    for element, node in left.items():
        other = right.get(element)
        if element == SELF or other is None:
            continue
        below = intersection(node, other)
        if is_member(node) and is_member(other):
            common[element] = {SELF: {}} | below if below else {}
        elif below:
            common[element] = below
    return common


def in_order(fields: FieldSet) -> FieldSet:
    """The same set, its elements in the order in which the API writes them."""
    ordered = _ordered(fields) if len(fields) > 1 else fields
    return {element: in_order(node) if (node := fields[element]) else node for element in ordered}


def _ordered(elements: FieldSet) -> Iterable[str]:
    if all(element[:2] in (SELF, "f:") for element in elements):
        # As `_order` has it, in much less time.
        return slices.in_order(elements)
    return slices.in_order(elements, _order)


def _order(element: str) -> tuple[str, Any]:
    """The field itself, then fields by name, members of lists by their keys, values, places."""
    form, text = element[:1], element[2:]
    if form in (SELF, "f"):
        return form, text
    value = msgspec.json.decode(text)
    if form == "k":
        return form, [(name, _rank(part)) for name, part in sorted(value.items())]
    return ("y" if form == "v" else "z"), _rank(value)


def _rank(value: Any) -> tuple[int, Any]:
    """Numbers before texts before booleans; what lists are keyed by is one of these."""
    match value:
        case bool():
            return 2, value
        case int() | float():
            return 0, value
        case str():
            return 1, value
        case _:
            return 3, _plain_json(value)


def paths(fields: FieldSet) -> Iterator[tuple[str, ...]]:
    """The path of every field in the set, fields before those below them."""
    for element in slices.in_order(fields):
        node = fields[element]
        if element == SELF:
            continue
        if is_member(node):
            yield (element,)
        for rest in paths(node):
            yield (element, *rest)


def has_path(fields: FieldSet, path: tuple[str, ...]) -> bool:
    for element in path:
        if element not in fields:
            return False
        fields = fields[element]
    return is_member(fields)


def dotted(path: tuple[str, ...]) -> str:
    """The path as people read it: `.spec.containers[name="c"].image`."""
    return "".join(_dotted_element(element) for element in path)


def _dotted_element(element: str) -> str:
    form, text = element[:2], element[2:]
    match form:
        case "f:":
            return f".{text}"
        case "i:":
            return f"[{text}]"
        case "v:":
            return f"[={_plain_json(msgspec.json.decode(text))}]"
        case _:
            keys = msgspec.json.decode(text).items()
            return "[" + ",".join(f"{name}={_plain_json(value)}" for name, value in keys) + "]"


def _plain_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def canonical_json(value: Any) -> str:
    """JSON as it is stored: without spaces, the characters escaped that matter in HTML."""
    text = _plain_json(value)
    return text.translate(HTML) if NEEDS_ESCAPE(text) else text


def parse(given: Any) -> FieldSet:
    """A set as a client sent it, in the form that compares equal, without elements of unknown
    form. Raises UnreadableSetError.
    """
    if not isinstance(given, dict):
        raise UnreadableSetError("fieldsV1 must be an object")
    return {
        element: _parse_node(node)
        for text, node in given.items()
        if text != SELF and (element := _parse_element(text)) is not None
    }


def _parse_node(given: Any) -> FieldSet:
    below = parse(given)
    return {SELF: {}} | below if below and SELF in given else below


def _parse_element(text: str) -> str | None:
    form, value = text[:2], text[2:]
    if len(form) < len("f:") or form[1] != ":":
        raise UnreadableSetError(f"not a path element: {text!r}")
    try:
        match form:
            case "f:":
                return text
            case "i:":
                return f"i:{int(value)}"
            case "v:":
                return f"v:{canonical_json(msgspec.json.decode(value))}"
            case "k:":
                keys = msgspec.json.decode(value, type=dict[str, Any])
                return f"k:{canonical_json(dict(sorted(keys.items())))}"
            case _:
                return None
    except (ValueError, msgspec.DecodeError) as error:
        raise UnreadableSetError(f"not a path element: {text!r}") from error
