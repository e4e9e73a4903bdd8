"""Single values in protobuf and in JSON: numbers, text, and types with a form of their own.

Times, quantities and the like are small messages in protobuf and plain strings or numbers in JSON.
Reading gives the JSON form; text is as lenient as the API server's own decoder.
"""

import binascii
import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Any

import msgspec

from plimsoll.apiserver.model.messages.wire import (
    Content,
    Wire,
    raw_fields,
    signed,
    varint,
    written_field,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Value:
    """How one value is read and written. Both raise ValueError; `read` is given `wire` content."""

    wire: Wire
    read: Callable[[Any], Any]
    write: Callable[[Any], bytes]
    zero: Any
    """What is meant when a map entry leaves its value out."""


def _read_text(data: memoryview) -> str:
    return str(data, "utf-8", "replace")


def _read_base64(data: memoryview) -> str:
    return binascii.b2a_base64(data, newline=False).decode()


def _write_base64(text: str) -> bytes:
    return binascii.a2b_base64(text, strict_mode=True)


def _read_double(data: memoryview) -> float:
    number: float = struct.unpack("<d", data)[0]
    if not isfinite(number):
        raise ValueError(f"protobuf: {number} has no place in JSON")
    return number


def _read_json(data: memoryview) -> Any:
    try:
        return msgspec.json.decode(data) if data else None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"protobuf: JSON inside a message: {error}") from None


SCALARS = {
    "string": Value(Wire.BYTES, _read_text, str.encode, ""),
    "bytes": Value(Wire.BYTES, _read_base64, _write_base64, ""),
    "bool": Value(Wire.VARINT, bool, varint, False),
    "int32": Value(Wire.VARINT, lambda number: signed(number, 32), varint, 0),
    "int64": Value(Wire.VARINT, lambda number: signed(number, 64), varint, 0),
    "double": Value(Wire.FIXED64, _read_double, lambda number: struct.pack("<d", number), 0),
}


def fields_of(data: memoryview, **expected: int) -> dict[str, Content]:
    """The fields with these names and numbers, the last one of each; none has a fixed size."""
    names = {number: name for name, number in expected.items()}
    found: dict[str, Content] = {}
    for number, wire, content in raw_fields(data):
        if number in names:
            if wire not in (Wire.VARINT, Wire.BYTES):
                raise ValueError(f"protobuf: wrong wire type {wire.value} for {names[number]}")
            found[names[number]] = content
    return found


def number_of(content: Content, bits: int = 64) -> int:
    if not isinstance(content, int):
        raise ValueError("protobuf: wrong wire type for a number")  # noqa: TRY004 - bad input
    return signed(content, bits)


def bytes_of(content: Content) -> memoryview:
    if isinstance(content, int):
        raise ValueError("protobuf: wrong wire type for bytes")  # noqa: TRY004 - bad input
    return content


def _numbers(*numbers: int) -> bytes:
    return b"".join(
        written_field(index, Wire.VARINT, varint(number))
        for index, number in enumerate(numbers, start=1)
    )


def _moment(data: memoryview) -> tuple[datetime, int] | None:
    """The second and the nanoseconds in it. An empty message is no time at all."""
    if not data:
        return None
    found = fields_of(data, seconds=1, nanos=2)
    seconds = timedelta(seconds=number_of(found.get("seconds", 0)))
    return _EPOCH + seconds, number_of(found.get("nanos", 0), 32)


def _read_time(data: memoryview) -> str | None:
    try:
        found = _moment(data)
    except OverflowError:
        raise ValueError("protobuf: time out of range") from None
    return f"{found[0]:%Y-%m-%dT%H:%M:%S}Z".rjust(20, "0") if found else None


def _write_time(text: str) -> bytes:
    return _numbers((datetime.fromisoformat(text) - _EPOCH) // timedelta(seconds=1))


def _read_micro_time(data: memoryview) -> str | None:
    try:
        found = _moment(data)
        exact = found and found[0] + found[1] // 1000 * _MICROSECOND
    except OverflowError:
        raise ValueError("protobuf: time out of range") from None
    return f"{exact:%Y-%m-%dT%H:%M:%S.%f}Z".rjust(27, "0") if exact else None


def _write_micro_time(text: str) -> bytes:
    micros = (datetime.fromisoformat(text) - _EPOCH) // _MICROSECOND
    return _numbers(micros // 10**6, micros % 10**6 * 1000)


def _read_quantity(data: memoryview) -> str:
    text = fields_of(data, string=1).get("string")
    return "0" if text is None else _read_text(bytes_of(text))


def _write_quantity(text: str) -> bytes:
    return written_field(1, Wire.BYTES, str(text).encode())


def _read_int_or_string(data: memoryview) -> int | str:
    found = fields_of(data, type=1, intVal=2, strVal=3)
    if number_of(found.get("type", 0)) == 0:
        return number_of(found.get("intVal", 0), 32)
    return _read_text(bytes_of(found.get("strVal", memoryview(b""))))


def _write_int_or_string(value: int | str) -> bytes:
    if isinstance(value, int):
        return _numbers(0, value)
    return _numbers(1, 0) + written_field(3, Wire.BYTES, value.encode())


def _read_raw(data: memoryview) -> Any:
    return _read_json(bytes_of(fields_of(data, raw=1).get("raw", memoryview(b""))))


def _write_raw(value: Any) -> bytes:
    return written_field(1, Wire.BYTES, msgspec.json.encode(value))


_META = "k8s.io.apimachinery.pkg.apis.meta.v1"
_RAW = Value(Wire.BYTES, _read_raw, _write_raw, None)

SPECIAL = {
    f"{_META}.Time": Value(Wire.BYTES, _read_time, _write_time, None),
    f"{_META}.MicroTime": Value(Wire.BYTES, _read_micro_time, _write_micro_time, None),
    f"{_META}.FieldsV1": _RAW,
    "k8s.io.apimachinery.pkg.runtime.RawExtension": _RAW,
    "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSON": _RAW,
    "k8s.io.apimachinery.pkg.api.resource.Quantity": Value(
        Wire.BYTES, _read_quantity, _write_quantity, "0"
    ),
    "k8s.io.apimachinery.pkg.util.intstr.IntOrString": Value(
        Wire.BYTES, _read_int_or_string, _write_int_or_string, 0
    ),
}
