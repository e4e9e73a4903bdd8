"""Which parts of a document are fields that can be owned on their own.

A schema says so: the members of objects are, unless the object is atomic; elements of a list are
when the list has keys (then they go by their keys) or is a set (then by their values); all other
lists are owned as a whole. `compiled_schema` makes a tree of such nodes from each schema. What runs
on every write is here: all fields of a new value, and the difference between two values.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol

from plimsoll.apiserver.model.ownership.field_set import SELF, FieldSet, canonical_json

Difference = tuple[FieldSet | None, FieldSet | None]
"""Nodes for what is new or has another value, and for what is gone; None stands for nothing."""

ABSENT: Any = object()


class ShapeError(ValueError):
    """A value is not of the type that its schema says: which fields it has cannot be told.

    Custom resources come here before they are validated, and may have been stored under another
    schema.
    """


class UnkeyedError(ShapeError):
    """A list whose elements go by their keys has an element without any."""


def check_object(value: Any) -> None:
    if not isinstance(value, dict):
        raise ShapeError("an object is expected where there is another value")


def check_list(value: Any) -> None:
    if not isinstance(value, list):
        raise ShapeError("a list is expected where there is another value")


class PathNode(Protocol):
    def added(self, value: Any) -> FieldSet:
        """The node for a value that was not there before: itself, and everything in it. Raises
        ShapeError."""

    def compare(self, old: Any, new: Any) -> Difference:
        """The difference between two values that are not equal. Raises ShapeError."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """Owned as a whole."""

    def added(self, _value: Any) -> FieldSet:
        return {}

    def compare(self, _old: Any, _new: Any) -> Difference:
        return {}, None


@dataclass(frozen=True, slots=True)
class PathBranch:
    """An object whose members are owned one by one. Filled in after it is made: types recur."""

    fields: dict[str, tuple[str, PathNode]] = field(default_factory=dict)
    """By name: path element and node."""
    rest: PathNode | None = None
    """The node of members that have no field of their own; None ignores them."""

    def added(self, value: Any) -> FieldSet:
        if not value:
            return {}
        check_object(value)
        fields, rest = self.fields, self.rest
        result: FieldSet = {SELF: {}}
        for name, member in value.items():
            known = fields.get(name)
            if known is not None:
                element, node = known
                # Most fields are leaves: not to ask them saves a third of the time.
                result[element] = {} if node is LEAF else node.added(member)
            elif rest is not None:
                result[f"f:{name}"] = {} if rest is LEAF else rest.added(member)
        return result if len(result) > 1 else {}

    def compare(self, old: Any, new: Any) -> Difference:
        if not old and not new:
            # Nothing and an empty object are not the same.
            return {}, None
        old, new = old or {}, new or {}
        check_object(old)
        check_object(new)
        changed: FieldSet = {}
        removed: FieldSet = {}
        for name, member in new.items():
            before = old.get(name, ABSENT)
            if before is member or before == member:
                continue
            element, node = self.child(name)
            if node is None:
                continue
            if before is ABSENT:
                changed[element] = node.added(member)
            else:
                _note(changed, removed, element, node.compare(before, member))
        for name in old:
            if name not in new:
                element, node = self.child(name)
                if node is not None:
                    removed[element] = node.added(old[name])
        return changed or None, removed or None

    def child(self, name: str) -> tuple[str, PathNode | None]:
        known = self.fields.get(name)
        return known if known is not None else (f"f:{name}", self.rest)


def _note(changed: FieldSet, removed: FieldSet, element: str, found: Difference) -> None:
    new, gone = found
    if new is not None:
        changed[element] = new
    if gone is not None:
        removed[element] = gone


class Repeated(list[Any]):
    """Elements of one list that go by the same keys; they are owned together."""


@dataclass(frozen=True, slots=True)
class Members:
    """A list whose elements are owned one by one: by some of their fields, or by value."""

    item: PathNode
    keys: tuple[str, ...] = ()
    """Names of the fields that tell elements apart, in order; a set of values has none."""
    defaults: dict[str, Any] = field(default_factory=dict)

    def element(self, value: Any) -> str:
        """The path element of an element of the list."""
        if not self.keys:
            if isinstance(value, dict | list) or value is None:
                raise UnkeyedError("the elements of a set must be simple values")
            return f"v:{canonical_json(value)}"
        if not isinstance(value, dict):
            raise UnkeyedError("the elements of this list must be objects")
        defaults = self.defaults
        found = {
            key: value[key] if key in value else defaults[key]
            for key in self.keys
            if key in value or key in defaults
        }
        if not found:
            raise UnkeyedError(f"an element has none of the keys {', '.join(self.keys)}")
        return f"k:{canonical_json(found)}"

    def index(self, values: list[Any] | None) -> dict[str, Any]:
        """The elements by path element."""
        if not values:
            return {}
        check_list(values)
        elements = [self.element(value) for value in values]
        index = dict(zip(elements, values, strict=True))
        if len(index) == len(values):
            return index
        by_element: dict[str, list[Any]] = {}
        for element, value in zip(elements, values, strict=True):
            by_element.setdefault(element, []).append(value)
        for element, found in by_element.items():
            if len(found) > 1:
                index[element] = Repeated(found)
        return index

    def added(self, value: Any) -> FieldSet:
        if not value:
            return {}
        result: FieldSet = {SELF: {}}
        for element, item in self.index(value).items():
            result[element] = self._item(item)
        return result

    def _item(self, item: Any) -> FieldSet:
        return {} if type(item) is Repeated else self.item.added(item)

    def compare(self, old: Any, new: Any) -> Difference:
        if not old and not new:
            return {}, None
        before, after = self.index(old), self.index(new)
        changed: FieldSet = {}
        removed: FieldSet = {}
        for element, item in after.items():
            was = before.get(element, ABSENT)
            if was is ABSENT:
                changed[element] = self._item(item)
            elif was != item:
                _note(changed, removed, element, self._compare_item(was, item))
        for element, item in before.items():
            if element not in after:
                removed[element] = self._item(item)
        return changed or None, removed or None

    def _compare_item(self, old: Any, new: Any) -> Difference:
        if type(old) is Repeated and type(new) is Repeated:
            return {}, None
        if type(old) is Repeated or type(new) is Repeated:
            return self._item(new), self._item(old)
        return self.item.compare(old, new)


@dataclass(frozen=True, slots=True)
class FreeForm:
    """Any value: the members of objects are owned one by one, everything else as a whole."""

    def added(self, value: Any) -> FieldSet:
        return FREE_OBJECT.added(value) if isinstance(value, dict) else {}

    def compare(self, old: Any, new: Any) -> Difference:
        if isinstance(old, dict) and isinstance(new, dict):
            return FREE_OBJECT.compare(old, new)
        return {}, None


LEAF = Leaf()
FREE_FORM = FreeForm()
FREE_OBJECT = PathBranch(rest=FREE_FORM)
