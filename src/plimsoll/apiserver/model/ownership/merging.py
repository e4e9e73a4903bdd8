"""Working with a part of a document: which fields it mentions, laying it over another document,
taking fields out of one.

Only server-side apply needs this. As documents come from clients here, null is a value: a field
that is null is mentioned, and stays where it is until the document is read as its kind.
"""

from collections import deque
from collections.abc import Iterator
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.ownership.field_set import SELF, FieldSet, is_member
from plimsoll.apiserver.model.ownership.typed_paths import (
    ABSENT,
    FREE_FORM,
    FREE_OBJECT,
    Members,
    PathBranch,
    PathNode,
    Repeated,
    check_object,
)


class RepeatedError(ValueError):
    """An applied list has two elements with the same keys."""


def _shape(node: PathNode | None, value: Any) -> PathNode | None:
    """The node that fits the value, where the schema leaves it open."""
    return FREE_OBJECT if node is FREE_FORM and isinstance(value, dict) else node


def mentioned(node: PathBranch, document: Document) -> FieldSet:
    """The fields that a document gives a value to, and the list elements it names. Raises
    ShapeError."""
    return _mentioned_members(node, document) or {}


def _mentioned(node: PathNode, value: Any) -> FieldSet | None:
    if value is None or value == {}:
        return {}
    match _shape(node, value):
        case PathBranch() as branch:
            return _mentioned_members(branch, value)
        case Members() as members:
            return _mentioned_items(members, value)
        case _:
            return {}


def _mentioned_members(node: PathBranch, value: Document) -> FieldSet | None:
    check_object(value)
    result: FieldSet = {}
    for name, member in value.items():
        element, child = node.child(name)
        if child is None:
            continue
        below = _mentioned(child, member)
        if name not in node.fields:
            result[element] = {SELF: {}} | below if below else {}
        elif below is not None:
            result[element] = below
    return result or None


def _mentioned_items(node: Members, values: list[Any]) -> FieldSet | None:
    result: FieldSet = {}
    for element, item in node.index(values).items():
        below = None if type(item) is Repeated else _mentioned(node.item, item)
        result[element] = {SELF: {}} | below if below else {}
    return result or None


def check_elements(node: PathNode, value: Any) -> None:
    """Raises RepeatedError or ShapeError for what cannot be applied."""
    match _shape(node, value):
        case PathBranch() as branch if value:
            check_object(value)
            for name, member in value.items():
                child = branch.child(name)[1]
                if child is not None:
                    check_elements(child, member)
        case Members() as members if value:
            for element, item in members.index(value).items():
                if type(item) is Repeated:
                    raise RepeatedError(f"duplicate entries for key {element[2:]}")
                check_elements(members.item, item)
        case _:
            pass


def with_named_fields(node: PathNode | None, fields: FieldSet) -> FieldSet:
    """The set together with every field on the way that has a name in the schema."""
    result: FieldSet = {}
    for element, below in fields.items():
        child, has_name = _child(node, element)
        inner = with_named_fields(child, below) if below else below
        result[element] = {SELF: {}} | inner if inner and has_name else inner
    return result


def _child(node: PathNode | None, element: str) -> tuple[PathNode | None, bool]:
    """What a path element leads to, and whether it is a field with a name in the schema."""
    match node:
        case PathBranch() if element.startswith("f:"):
            name = element[2:]
            return node.child(name)[1], name in node.fields
        case Members():
            return node.item, False
        case _ if node is FREE_FORM:
            return FREE_FORM, False
        case _:
            return None, False


def without(node: PathNode, value: Any, fields: FieldSet) -> Any:
    """The value without the fields of the set; null when nothing is left of it."""
    match _shape(node, value):
        case PathBranch() as branch if isinstance(value, dict):
            return _without_members(branch, value, fields)
        case Members() as members if isinstance(value, list):
            return _without_items(members, value, fields)
        case _:
            # A list or object that is owned as a whole is not there in part.
            return None if isinstance(value, dict | list) else value


def _without_members(node: PathBranch, value: Document, fields: FieldSet) -> Document | None:
    result: Document = {}
    for name, member in value.items():
        element, child = node.child(name)
        taken = fields.get(element)
        if taken is None or child is None:
            result[name] = member
        elif not is_member(taken):
            result[name] = without(child, member, taken)
    return result or None


def _without_items(node: Members, values: list[Any], fields: FieldSet) -> list[Any] | None:
    result = []
    for item in values:
        taken = fields.get(node.element(item))
        if taken is None:
            result.append(item)
        elif not is_member(taken):
            result.append(without(node.item, item, taken))
    return result or None


def merge(node: PathNode, old: Any, new: Any) -> Any:
    """`new` laid over `old`: what `new` does not mention stays as it is."""
    if new is ABSENT:
        return old
    if old is ABSENT or (not old and not new):
        return new
    match _shape(node, new):
        case PathBranch() as branch if isinstance(old, dict | None):
            return _merge_members(branch, old or {}, new or {})
        case Members() as members:
            return _merge_items(members, old or [], new or [])
        case _:
            return new


def _merge_members(node: PathBranch, old: Document, new: Document) -> Document:
    merged = dict(old)
    for name, member in new.items():
        child = node.child(name)[1]
        before = old.get(name, ABSENT)
        merged[name] = member if child is None else merge(child, before, member)
    return merged


def _merge_items(node: Members, old: list[Any], new: list[Any]) -> list[Any]:
    held, wanted = node.index(old), node.index(new)
    merged = []
    for place in _merged_order([node.element(item) for item in old], list(wanted)):
        if isinstance(place, int):
            merged.append(old[place])
        else:
            before = held.get(place, ABSENT)
            known = ABSENT if type(before) is Repeated else before
            merged.append(merge(node.item, known, wanted[place]))
    return merged


def _merged_order(old: list[str], new: list[str]) -> Iterator[int | str]:
    """Places in `old` and elements of `new`, in the order of the merged list.

    That is the order of `new` for what it has, and the order of `old` for the rest.
    """
    wanted, held = set(new), set(old)
    shared = deque(element for element in new if element in held)
    coming = deque(new)
    place = 0
    while place < len(old) or coming:
        element = old[place] if place < len(old) else None
        if element is not None and element not in wanted:
            yield place
            place += 1
        elif element is not None and _is_passed(element, coming, shared):
            place += 1
        else:
            taken = coming.popleft()
            if taken == element:
                place += 1
            if shared and shared[0] == taken:
                shared.popleft()
            yield taken


def _is_passed(element: str, coming: deque[str], shared: deque[str]) -> bool:
    """An element of both lists whose place in the old one does not matter."""
    if not coming:
        return True
    return element != coming[0] and bool(shared) and element != shared[0]
