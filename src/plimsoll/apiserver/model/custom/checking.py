"""Whether a document is as its schema wants it, in the words in which Kubernetes complains.

What an update leaves as it was is not looked at again (ratcheting): a definition that has become
stricter keeps no client from changing other fields. Every look at an alternative (anyOf and the
like) is counted; a document that would take more than `MOST_LOOKS` is refused.
"""

from collections.abc import Callable, Iterator
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.custom.nodes import MISSING, SchemaNode, compiled_schema
from plimsoll.apiserver.model.custom.values import formats, regexes
from plimsoll.apiserver.model.custom.values.numbers import IN_BODY, number_errors, shown_number
from plimsoll.apiserver.model.field_errors import ErrorType, FieldError

MOST_LOOKS = 100_000
NIL = "<nil>"
"""Where Kubernetes puts complaints that belong to no field."""

_NAMES: dict[type, str] = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


class TooManyLooksError(ValueError):
    """The document and its schema would take too long."""


MOST_SAID = 256 * 1024
"""Characters of the complaints about one document."""


def schema_errors(
    node: SchemaNode, value: Any, old: Any = MISSING, path: str = ""
) -> list[FieldError]:
    """All complaints; `old` is what is there already, and `path` where the value is."""
    checker = Checker()
    try:
        return list(_bounded(checker.errors(node, value, old, path)))
    except TooManyLooksError:
        said = f"has too many values and alternatives: at most {MOST_LOOKS} can be looked at"
        return [FieldError.invalid(path or NIL, "", said)]


class Checker:
    def __init__(self, looks: int = MOST_LOOKS) -> None:
        self._looks = looks

    def errors(
        self, node: SchemaNode, value: Any, old: Any = MISSING, path: str = ""
    ) -> Iterator[FieldError]:
        if old is not MISSING and value == old:
            return
        if value is None:
            if not node.nullable and node.types:
                yield type_error(path, ",".join(node.types), "null")
            return
        yield from _type_errors(node, value, path)
        yield from self._alternatives(node, value, path)
        yield from self._content(node, value, old, path)

    def _content(self, node: SchemaNode, value: Any, old: Any, path: str) -> Iterator[FieldError]:
        raw = node.raw
        match value:
            case str():
                yield from string_errors(raw, value, path)
            case bool():
                pass
            case int() | float():
                yield from number_errors(raw, value, path)
            case list():
                yield from self._list(node, value, old, path)
            case _:
                pass
        if raw.get("enum"):
            yield from _enum_errors(node, value, path)
        if isinstance(value, dict):
            yield from self._object(node, value, old, path)

    def _list(
        self, node: SchemaNode, value: list[Any], old: Any, path: str
    ) -> Iterator[FieldError]:
        least, most = node.raw.get("minItems"), node.raw.get("maxItems")
        if least is not None and len(value) < least:
            said = f"{path}{IN_BODY} should have at least {least} items"
            yield FieldError.invalid(path, len(value), said)
        if most is not None and len(value) > most:
            yield FieldError.too_many(path, len(value), most)
        if node.items is None:
            return
        before = _correlated(node, old)
        for index, item in enumerate(value):
            yield from self.errors(node.items, item, before(item), f"{path}[{index}]")

    def _object(
        self, node: SchemaNode, value: Document, old: Any, path: str
    ) -> Iterator[FieldError]:
        least, most = node.raw.get("minProperties"), node.raw.get("maxProperties")
        if least is not None and len(value) < least:
            said = f"{path}{IN_BODY} should have at least {least} properties"
            yield FieldError.invalid(path or NIL, len(value), said)
        if most is not None and len(value) > most:
            yield FieldError.too_many(path, len(value), most)
        for name in node.raw.get("required") or ():
            if name not in value:
                yield FieldError.required(f"{path}.{name}" if path else name)
        before = old if isinstance(old, dict) else {}
        for name, member in value.items():
            below = node.child(name)
            if below is not None:
                where = f"{path}.{name}" if path else name
                yield from self.errors(below, member, before.get(name, MISSING), where)

    def _alternatives(self, node: SchemaNode, value: Any, path: str) -> Iterator[FieldError]:
        raw = node.raw
        if "allOf" in raw:
            yield from self._all_of(raw["allOf"], value, path)
        if "anyOf" in raw:
            yield from self._any_of(raw["anyOf"], value, path)
        if "oneOf" in raw:
            yield from self._one_of(raw["oneOf"], value, path)
        if "not" in raw and not self._complaints(raw["not"], value, path):
            yield composed(path, "must not validate the schema (not)")

    def _complaints(self, schema: Document, value: Any, path: str) -> list[FieldError]:
        self._looks -= 1
        if self._looks < 0:
            raise TooManyLooksError
        node = _nested(id(schema), schema)
        return list(self.errors(node, value, path=path))

    def _all_of(self, schemas: list[Document], value: Any, path: str) -> Iterator[FieldError]:
        found = [self._complaints(schema, value, path) for schema in schemas]
        for complaints in found:
            yield from complaints
        if any(found):
            none = ". None validated" if all(found) else ""
            yield composed(path, f"must validate all the schemas (allOf){none}")

    def _any_of(self, schemas: list[Document], value: Any, path: str) -> Iterator[FieldError]:
        first: list[FieldError] = []
        for schema in schemas:
            complaints = self._complaints(schema, value, path)
            if not complaints:
                return
            first = first or complaints
        if schemas:
            yield composed(path, "must validate at least one schema (anyOf)")
            yield from first

    def _one_of(self, schemas: list[Document], value: Any, path: str) -> Iterator[FieldError]:
        found = [self._complaints(schema, value, path) for schema in schemas]
        valid = sum(not complaints for complaints in found)
        if valid == 1 or not found:
            return
        how_many = f"Found {valid} valid alternatives" if valid else "Found none valid"
        yield composed(path, f"must validate one and only one schema (oneOf). {how_many}")
        if not valid:
            yield from found[0]


_known: dict[int, tuple[Document, SchemaNode]] = {}
_MOST_KNOWN = 10_000


def _nested(identity: int, schema: Document) -> SchemaNode:
    """The node of a schema below a combination, compiled once for each document."""
    known = _known.get(identity)
    if known is not None and known[0] is schema:
        return known[1]
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    node = compiled_schema(schema)
    _known[identity] = (schema, node)
    return node


def composed(path: str, said: str) -> FieldError:
    return FieldError.invalid(NIL, "", f'"{path}" {said}')


def type_error(path: str, wanted: str, found: str) -> FieldError:
    said = f'{path}{IN_BODY} must be of type {wanted}: "{found}"'
    return FieldError(ErrorType.TYPE_INVALID, path or NIL, said, found)


def type_name(value: Any) -> str:
    return _NAMES.get(type(value), "object")


def _type_errors(node: SchemaNode, value: Any, path: str) -> Iterator[FieldError]:
    types = node.types
    if not types:
        return
    found = type_name(value)
    if found in types:
        return
    if found == "integer" and "number" in types:
        return
    if found == "number" and "integer" in types and value.is_integer():
        return
    yield type_error(path, ",".join(types), found)


def string_errors(raw: Document, value: str, path: str) -> Iterator[FieldError]:
    """What is wrong with a text."""
    most, least = raw.get("maxLength"), raw.get("minLength")
    if most is not None and len(value) > most:
        yield FieldError.too_long(path, most)
    if least is not None and len(value) < least:
        said = f"{path}{IN_BODY} should be at least {least} chars long"
        yield FieldError.invalid(path, value, said)
    pattern = raw.get("pattern")
    if pattern and regexes.is_too_long(pattern, value):
        yield FieldError.invalid(path, "", f"is too long to be compared with '{pattern}'")
    elif pattern and not regexes.matches(pattern, value):
        yield FieldError.invalid(path, value, f"{path}{IN_BODY} should match '{pattern}'")
    named = raw.get("format")
    if named and raw.get("type", "string") == "string" and not formats.is_valid(named, value):
        said = f'{path}{IN_BODY} must be of type {named}: "{value}"'
        yield FieldError(ErrorType.TYPE_INVALID, path, said, value)


def _bounded(errors: Iterator[FieldError]) -> Iterator[FieldError]:
    """Enough of them to see what is wrong: each may tell all values that would be right."""
    said = 0
    for error in errors:
        yield error
        said += len(error.detail)
        if said > MOST_SAID:
            return


def _enum_errors(node: SchemaNode, value: Any, path: str) -> Iterator[FieldError]:
    allowed = node.raw["enum"]
    if isinstance(value, str):
        if value in node.texts:
            return
    elif any(_same(value, each) for each in allowed):
        return
    shown = tuple(v if isinstance(v, str) else shown_number(v) for v in allowed)
    yield FieldError.not_supported(path, value, shown)


def _same(one: Any, other: Any) -> bool:
    """JSON's equality: true is not 1."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _correlated(node: SchemaNode, old: Any) -> Callable[[Any], Any]:
    """For elements of a list, what was there before under the same keys."""
    if not isinstance(old, list) or node.list_type != "map":
        return lambda _item: MISSING
    keys = node.raw.get("x-kubernetes-list-map-keys") or ()
    index = {list_key(keys, item): item for item in old if isinstance(item, dict)}

    def before(item: Any) -> Any:
        return index.get(list_key(keys, item), MISSING) if isinstance(item, dict) else MISSING

    return before


def list_key(keys: tuple[str, ...] | list[str], item: Document) -> tuple[str, ...]:
    """By what an element of a map goes; values of different types differ."""
    return tuple(repr(item.get(key)) for key in keys)
