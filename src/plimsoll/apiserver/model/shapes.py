"""What reading a document into the API's structs and writing it again does to it.

The API server decodes JSON into structs and encodes them again, so what clients get back is shaped
by those structs: unknown fields are gone, empty optional fields are gone, and some empty fields are
always there (`"resources": {}`, `"rules": null`). Here each schema is compiled once, when it is
first needed, into a function that does the same to a document. What the schema does not say,
whether a field is a pointer and when it is left out, comes from `tables/shapes.json.gz`.
"""

import gzip
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

import msgspec

from plimsoll.api.registry import Document
from plimsoll.apiserver.model import scalars
from plimsoll.apiserver.model.definitions import TABLES, definitions
from plimsoll.apiserver.model.scalars import Convert, SchemaError

_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_APIEXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"
_JSON_SCHEMA = f"{_APIEXTENSIONS}.JSONSchemaProps"

Zero = Callable[[], Any]


POINTER, OMIT_EMPTY, OMIT_ZERO = 1, 2, 4
"""How a field is declared; the numbers are those of the table, which may be added up."""


def _nothing() -> None:
    """The zero value that is written as null."""


@dataclass(frozen=True, slots=True)
class Type:
    """How values of one type are read, and what an absent one is."""

    name: str
    """As the decoder calls it in its complaints."""
    convert: Convert
    zero: Zero
    omits_empty: bool = False
    """`omitempty` means something for this type: it does not for structs."""
    is_struct: bool = False


@dataclass(slots=True)
class Struct:
    """The compiled form of a schema with properties.

    It is filled in when the first document is read with it: types recur, and most of them are
    never met.
    """

    schema: str
    fields: dict[str, tuple[Convert, bool]] = field(default_factory=dict)
    """How to read each field, and whether to show it when it is empty."""
    constants: list[tuple[str, Any]] = field(default_factory=list)
    """Fields that are shown even when absent, with a value that no client can change."""
    zeros: list[tuple[str, Zero]] = field(default_factory=list)
    """The same for structs, which must be made anew each time."""
    _is_filled: bool = False

    @property
    def name(self) -> str:
        return self.schema.rpartition(".")[2]

    def convert(self, value: Any, noted: list[str]) -> Document:
        """`noted` gets the names of the fields that the struct does not have."""
        if type(value) is not dict:
            raise SchemaError.mismatch(value, f"v1.{self.name}")
        if not self._is_filled:
            self._compile()
        fields = self.fields
        shown: Document = {}
        name = ""
        try:
            for name, given in value.items():
                known = fields.get(name)
                if known is None:
                    noted.append(name)
                elif given is not None:
                    read, keep_empty = known
                    # Most values are texts, which are as they should be.
                    is_text = read is scalars.string and type(given) is str
                    new = given if is_text else read(given, noted)
                    if new or keep_empty:
                        shown[name] = new
        except SchemaError as error:
            raise error.within(self.name, name) from None
        if self.constants or self.zeros:
            self._fill(shown)
        return shown

    def _compile(self) -> None:
        """Documents may be read in several threads: none of them sees a half of it."""
        made = Struct(self.schema)
        schema = definitions().schemas[self.schema]
        for key, property_ in schema.get("properties", {}).items():
            _add_field(made, key, _type(property_), _shape(self.schema, schema, key))
        self.fields, self.constants, self.zeros = made.fields, made.constants, made.zeros
        self._is_filled = True

    def _fill(self, shown: Document) -> None:
        for name, constant in self.constants:
            if name not in shown:
                shown[name] = constant
        for name, zero in self.zeros:
            if name not in shown:
                shown[name] = zero()

    def zero(self) -> Document:
        return self.convert({}, [])


@cache
def shapes() -> dict[str, dict[str, int]]:
    packed = resources.files(TABLES).joinpath("shapes.json.gz").read_bytes()
    return msgspec.json.decode(gzip.decompress(packed), type=dict[str, dict[str, int]])


_structs: dict[str, Struct] = {}


def struct(name: str) -> Struct:
    """The struct behind a schema; KeyError when there is none of that name."""
    known = _structs.get(name)
    if known is None:
        if name not in definitions().schemas:
            raise KeyError(name)
        known = _structs[name] = Struct(name)
    return known


def _shape(name: str, schema: Document, key: str) -> int:
    known = shapes().get(name, {}).get(key)
    if known is not None:
        return known
    # Newer than the shapes. A default in the schema belongs to a field that is not a pointer;
    # lists and maps never are.
    property_ = schema["properties"][key]
    shape = 0 if key in schema.get("required", ()) else OMIT_EMPTY
    if "default" in property_ or property_.get("type") in ("array", "object"):
        return shape
    return shape | POINTER


def _add_field(owner: Struct, key: str, kind: Type, shape: int) -> None:
    if shape & POINTER:
        owner.fields[key] = (kind.convert, True)
        if not shape & OMIT_EMPTY:
            owner.constants.append((key, None))
    elif shape & OMIT_ZERO:
        owner.fields[key] = (_none_when_zero(kind), False)
    elif shape & OMIT_EMPTY and kind.omits_empty:
        owner.fields[key] = (kind.convert, False)
    else:
        owner.fields[key] = (kind.convert, True)
        if kind.is_struct:
            owner.zeros.append((key, kind.zero))
        else:
            owner.constants.append((key, kind.zero()))


def _none_when_zero(kind: Type) -> Convert:
    def convert(value: Any, noted: list[str]) -> Any:
        new = kind.convert(value, noted)
        return None if new == kind.zero() else new

    return convert


_SCALARS = {
    ("string", ""): Type("string", scalars.string, str, omits_empty=True),
    ("string", "byte"): Type("[]uint8", scalars.base64, _nothing, omits_empty=True),
    ("integer", "int32"): Type("int32", scalars.int32, int, omits_empty=True),
    ("integer", "int64"): Type("int64", scalars.int64, int, omits_empty=True),
    ("number", "double"): Type("float64", scalars.double, int, omits_empty=True),
    ("boolean", ""): Type("bool", scalars.boolean, bool, omits_empty=True),
}


def _type(schema: Document) -> Type:
    if "$ref" in schema:
        return _named(schema["$ref"])
    if "items" in schema:
        return _list_of(_type(schema["items"]))
    if "additionalProperties" in schema:
        return _map_of(_type(schema["additionalProperties"]))
    scalar = _SCALARS.get((schema.get("type", ""), schema.get("format", "")))
    return scalar or _OPAQUE


_OPAQUE = Type("runtime.RawExtension", scalars.opaque, _nothing)


@cache
def _special() -> dict[str, Type]:
    """Types that read and write themselves."""
    return {
        f"{_META}.Time": Type("v1.Time", scalars.time, _nothing),
        f"{_META}.MicroTime": Type("v1.MicroTime", scalars.micro_time, _nothing),
        f"{_META}.FieldsV1": _OPAQUE,
        "io.k8s.apimachinery.pkg.api.resource.Quantity": Type(
            "resource.Quantity", scalars.quantity, lambda: "0"
        ),
        "io.k8s.apimachinery.pkg.runtime.RawExtension": _OPAQUE,
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString": Type(
            "intstr.IntOrString", scalars.int_or_string, int
        ),
        f"{_APIEXTENSIONS}.JSON": _OPAQUE,
        f"{_JSON_SCHEMA}OrBool": Type("v1.SchemaOrBool", _schema_or_bool, _nothing),
        f"{_JSON_SCHEMA}OrArray": Type("v1.SchemaOrArray", _schema_or_array, _nothing),
        f"{_JSON_SCHEMA}OrStringArray": Type("v1.SchemaOrStrings", _schema_or_strings, _nothing),
    }


def is_opaque(name: str) -> bool:
    """The strict rules for field names do not reach into values of this type."""
    return name in _special()


def _named(name: str) -> Type:
    special = _special().get(name)
    if special:
        return special
    made = struct(name)
    return Type(f"v1.{made.name}", made.convert, made.zero, is_struct=True)


def _list_of(kind: Type) -> Type:
    name = f"[]{kind.name}"
    convert, zero = kind.convert, kind.zero

    def convert_list(value: Any, noted: list[str]) -> list[Any] | None:
        if type(value) is not list:
            raise SchemaError.mismatch(value, name)
        # A null element is the zero value of its type; an empty list is none at all.
        return [convert(v, noted) if v is not None else zero() for v in value] or None

    return Type(name, convert_list, _nothing, omits_empty=True)


def _map_of(kind: Type) -> Type:
    name = f"map[string]{kind.name}"
    convert, zero = kind.convert, kind.zero

    def convert_map(value: Any, noted: list[str]) -> Document | None:
        if type(value) is not dict:
            raise SchemaError.mismatch(value, name)
        return {k: convert(v, noted) if v is not None else zero() for k, v in value.items()} or None

    return Type(name, convert_map, _nothing, omits_empty=True)


def _schema_or_bool(value: Any, _noted: list[str]) -> Any:
    if type(value) is bool:
        return value
    if type(value) is dict:
        return struct(_JSON_SCHEMA).convert(value, [])
    raise SchemaError("boolean or JSON schema expected")


def _schema_or_array(value: Any, _noted: list[str]) -> Any:
    if type(value) is dict:
        return struct(_JSON_SCHEMA).convert(value, [])
    if type(value) is list:
        return [struct(_JSON_SCHEMA).convert(v or {}, []) for v in value] or None
    return None


def _schema_or_strings(value: Any, _noted: list[str]) -> Any:
    if type(value) is dict:
        return struct(_JSON_SCHEMA).convert(value, [])
    if type(value) is list:
        return [scalars.string(v or "", []) for v in value] or None
    return None
