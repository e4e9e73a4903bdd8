"""Messages of the API between protobuf and JSON, driven by the table of field numbers.

Each message is compiled once: what to do with each field number when reading, and in which order to
write. Three things make a message differ from its JSON: structs that JSON inlines into their
parent, lists that protobuf wraps into a message, and names that are spelled another way.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.definitions import definitions
from plimsoll.apiserver.model.messages.values import (
    SCALARS,
    SPECIAL,
    Value,
    bytes_of,
    fields_of,
    number_of,
)
from plimsoll.apiserver.model.messages.wire import (
    Content,
    RawField,
    Wire,
    field_writer,
    raw_fields,
    read_varint,
    written_field,
)

# Puts the content of a field into the document.
Read = Callable[[Document, Wire, Content], None]
# Gives the bytes for the value that the document has under the name of the field.
Write = Callable[[Any], bytes]

_JSON_SCHEMA = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"


@dataclass(frozen=True, slots=True)
class Message:
    """Filled in after it is made, because messages recur."""

    reads: dict[int, Read] = field(default_factory=dict)
    writes: dict[str, Write] = field(default_factory=dict)
    """By the name that JSON has for the field."""
    inlined: "list[tuple[int, Message]]" = field(default_factory=list)
    """Messages whose fields JSON has among those of this one, by number."""

    def read(self, data: memoryview) -> Document:
        document: Document = {}
        self.read_into(document, data)
        return document

    def read_into(self, document: Document, data: memoryview) -> None:
        """Add to what the document holds already: the parts of a message may come apart."""
        reads = self.reads
        for number, wire, content in raw_fields(data):
            read = reads.get(number)
            if read is not None:
                read(document, wire, content)

    def write(self, document: Document) -> bytes:
        """Only what the document has is looked at: most messages have many more fields."""
        find = self.writes.get
        parts = [
            write(value)
            for key, value in document.items()
            if value is not None and (write := find(key)) is not None
        ]
        for number, inner in self.inlined:
            written = inner.write(document)
            if written:
                parts.append(written_field(number, Wire.BYTES, written))
        return b"".join(parts)


_compiled: dict[str, Message] = {}


def message(name: str) -> Message:
    """The message with this full name; KeyError when the table has none."""
    if name not in _compiled:
        entries = definitions().protobuf[name]
        _compiled[name] = made = Message()
        _add_fields(made, entries, _properties(name))
    return _compiled[name]


def schema_of(name: str) -> str:
    """The JSON schema that describes the same type."""
    return name.replace("k8s.io.", "io.k8s.", 1).replace("_", "-")


def message_of(schema: str) -> str:
    return schema.replace("io.k8s.", "k8s.io.", 1).replace("-", "_")


def _properties(name: str) -> Document | None:
    schema = definitions().schemas.get(schema_of(name))
    return None if schema is None else schema.get("properties", {})


def _add_fields(made: Message, entries: list[Document], properties: Document | None) -> None:
    names = {_plain(key): key for key in properties or ()}
    for entry in sorted(entries, key=lambda e: int(e["number"])):
        number, type_ = entry["number"], entry["type"]
        key = entry["name"] if properties is None else names.get(_plain(entry["name"]))
        if key is None and type_ in definitions().protobuf:
            _inline(made, number, type_, properties)
            continue
        key = key or entry["name"]
        if type_ == "map":
            made.reads[number], made.writes[key] = _map(number, key, entry["value"])
        else:
            make = _repeated if entry.get("repeated") else _singular
            made.reads[number], made.writes[key] = make(number, key, type_)


def _plain(name: str) -> str:
    """A name without what protobuf cannot spell: `$ref` is `ref`, `apiGroup` may be `aPIGroup`."""
    return name.replace("-", "").replace("$", "").lower()


def _inline(made: Message, number: int, type_: str, properties: Document | None) -> None:
    inner = Message()
    _add_fields(inner, definitions().protobuf[type_], properties)

    def read(document: Document, wire: Wire, content: Content) -> None:
        inner.read_into(document, _expect(wire, content))

    made.reads[number] = read
    made.inlined.append((number, inner))


def _singular(number: int, key: str, type_: str) -> tuple[Read, Write]:
    value = _value(type_)
    if value is None:
        return _nested(number, key, message(type_))
    read_value, expected = value.read, value.wire

    def read(document: Document, wire: Wire, content: Content) -> None:
        if wire is not expected:
            raise _wrong_wire(key, wire)
        document[key] = read_value(content)

    return read, field_writer(number, value.wire, value.write)


def _nested(number: int, key: str, inner: Message) -> tuple[Read, Write]:
    def read(document: Document, wire: Wire, content: Content) -> None:
        inner.read_into(document.setdefault(key, {}), _expect(wire, content))

    return read, field_writer(number, Wire.BYTES, inner.write)


def _repeated(number: int, key: str, type_: str) -> tuple[Read, Write]:
    value = _element(type_)
    write_one = field_writer(number, value.wire, value.write)

    def read(document: Document, wire: Wire, content: Content) -> None:
        elements = document.setdefault(key, [])
        if wire is value.wire:
            elements.append(value.read(content))
        elif value.wire is Wire.VARINT:
            elements.extend(value.read(number) for number in _packed(_expect(wire, content)))
        else:
            raise _wrong_wire(key, wire)

    def write(given: Any) -> bytes:
        return b"".join([write_one(element) for element in given])

    return read, write


def _packed(data: memoryview) -> list[int]:
    numbers, position = [], 0
    while position < len(data):
        number, position = read_varint(data, position)
        numbers.append(number)
    return numbers


def _map(number: int, key: str, type_: str) -> tuple[Read, Write]:
    value, text = _element(type_), SCALARS["string"]
    write_name = field_writer(1, Wire.BYTES, text.write)
    write_value = field_writer(2, value.wire, value.write)

    def read(document: Document, wire: Wire, content: Content) -> None:
        found = {n: (w, c) for n, w, c in raw_fields(_expect(wire, content))}
        name = _entry_part(found.get(1), text)
        document.setdefault(key, {})[name] = _entry_part(found.get(2), value)

    def entry(pair: tuple[str, Any]) -> bytes:
        return write_name(pair[0]) + write_value(pair[1])

    write_entry = field_writer(number, Wire.BYTES, entry)

    def write(given: Any) -> bytes:
        return b"".join([write_entry(pair) for pair in sorted(given.items())])

    return read, write


def _entry_part(found: tuple[Wire, Content] | None, value: Value) -> Any:
    if found is None:
        # Never the same empty dict twice: documents are changed in place later.
        return value.zero if value.zero != {} else {}
    wire, content = found
    if wire is not value.wire:
        raise _wrong_wire("map entry", wire)
    return value.read(content)


def _element(type_: str) -> Value:
    """A value in a list or map: one on its own, or a whole message."""
    value = _value(type_)
    if value is not None:
        return value
    inner = message(type_)
    return Value(Wire.BYTES, inner.read, inner.write, {})


@cache
def _value(type_: str) -> Value | None:
    found = SCALARS.get(type_) or SPECIAL.get(type_) or _schema_or_other(type_)
    if found:
        return found
    entries = definitions().protobuf[type_]
    is_list = len(entries) == 1 and entries[0]["name"] == "items" and _properties(type_) is None
    return _wrapped_list(entries[0]["type"]) if is_list else None


def _wrapped_list(type_: str) -> Value:
    read_items, write_items = _repeated(1, "items", type_)

    def read(data: memoryview) -> list[Any]:
        document: Document = {"items": []}
        for number, wire, content in raw_fields(data):
            if number == 1:
                read_items(document, wire, content)
        return list(document["items"])

    return Value(Wire.BYTES, read, write_items, None)


def _schema_or_other(type_: str) -> Value | None:
    """The types of a JSON schema that are a schema or something simpler."""
    other = type_.removeprefix(_JSON_SCHEMA)
    readers = {"OrBool": _or_bool, "OrArray": _or_array, "OrStringArray": _or_strings}
    return readers[other]() if other in readers else None


def _or_bool() -> Value:
    def read(data: memoryview) -> Any:
        found = fields_of(data, allows=1, schema=2)
        if "schema" in found:
            return message(_JSON_SCHEMA).read(bytes_of(found["schema"]))
        return bool(number_of(found.get("allows", 0)))

    def write(value: Any) -> bytes:
        allows = written_field(1, Wire.VARINT, b"\x01" if value is not False else b"\x00")
        return allows if isinstance(value, bool) else allows + _written_schema(2, value)

    return Value(Wire.BYTES, read, write, False)


def _or_array() -> Value:
    return _or_list(lambda content: message(_JSON_SCHEMA).read(content), _written_schema)


def _or_strings() -> Value:
    text = SCALARS["string"]
    return _or_list(text.read, lambda n, v: written_field(n, Wire.BYTES, text.write(v)))


def _or_list(
    read_element: Callable[[memoryview], Any], write_element: Callable[[int, Any], bytes]
) -> Value:
    def read(data: memoryview) -> Any:
        found: list[RawField] = list(raw_fields(data))
        listed = [read_element(bytes_of(content)) for number, _, content in found if number == 2]  # noqa: PLR2004 - field number
        schemas = [content for number, _, content in found if number == 1]
        if listed or not schemas:
            return listed or None
        return message(_JSON_SCHEMA).read(bytes_of(schemas[-1]))

    def write(value: Any) -> bytes:
        if isinstance(value, list):
            return b"".join(write_element(2, element) for element in value)
        return _written_schema(1, value)

    return Value(Wire.BYTES, read, write, None)


def _written_schema(number: int, value: Document) -> bytes:
    return written_field(number, Wire.BYTES, message(_JSON_SCHEMA).write(value))


def _expect(wire: Wire, content: Content) -> memoryview:
    if wire is not Wire.BYTES:
        raise _wrong_wire("message", wire)
    return bytes_of(content)


def _wrong_wire(where: str, wire: Wire) -> ValueError:
    return ValueError(f"protobuf: wrong wire type {wire.value} for {where}")
