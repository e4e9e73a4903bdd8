"""From one type to another, and how large something is."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from plimsoll.apiserver.model.custom.cel.library.times import (
    duration_text,
    parse_duration,
    parse_timestamp,
    timestamp_text,
)
from plimsoll.apiserver.model.custom.cel.values import (
    CelError,
    CelType,
    Meter,
    UInt,
    checked_int,
    type_of,
)
from plimsoll.apiserver.model.custom.values.numbers import shown_number

_UINT = 1 << 64
FIRST_SECOND, LAST_SECOND = -62_135_596_800, 253_402_300_799
"""Of the years 1 to 9999, which timestamps are of."""


def size(_meter: Meter, value: Any) -> int:
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    raise TypeError


def to_int(_meter: Meter, value: Any) -> int:
    match value:
        case bool():
            raise TypeError
        case float() | int():
            return checked_int(int(value))
        case str():
            return checked_int(_read(int, value, "int"))
        case datetime():
            return int(value.timestamp())
        case _:
            raise TypeError


T = TypeVar("T", int, float)


def _read(kind: Callable[[str], T], text: str, named: str) -> T:
    """A number that is written out. Raises CelError."""
    said = f"type conversion error from 'string' to '{named}'"
    if not text.isascii() or "_" in text or text != text.strip():
        raise CelError(said)
    try:
        return kind(text)
    except ValueError:
        raise CelError(said) from None


def to_uint(_meter: Meter, value: Any) -> UInt:
    number = _read(int, value, "uint") if isinstance(value, str) else int(value)
    if isinstance(value, bool):
        raise TypeError
    if not 0 <= number < _UINT:
        raise CelError("unsigned integer overflow")
    return UInt(number)


def to_double(_meter: Meter, value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError
    return _read(float, value, "double") if isinstance(value, str) else float(value)


def to_string(meter: Meter, value: Any) -> str:
    match value:
        case str():
            return value
        case bool():
            return str(value).lower()
        case int() | float():
            return shown_number(value)
        case bytes():
            meter.charge(len(value) // 10)
            return value.decode()
        case datetime():
            return timestamp_text(value)
        case timedelta():
            return duration_text(value)
        case CelType():
            return value.name
        case list() | dict() | None:
            raise TypeError
        case _:
            return str(value)


def to_bytes(meter: Meter, value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    meter.charge(len(value) // 10)
    encoded: bytes = value.encode()
    return encoded


def to_bool(_meter: Meter, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    known = {"1": True, "t": True, "T": True, "true": True, "TRUE": True, "True": True}
    known |= {"0": False, "f": False, "F": False, "false": False, "FALSE": False, "False": False}
    if value not in known:
        raise CelError(f'type conversion error from "{value}" to bool')
    return known[value]


def to_timestamp(_meter: Meter, value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    if type(value) is int:
        if not FIRST_SECOND <= value <= LAST_SECOND:
            raise CelError("timestamp overflow")
        return datetime.fromtimestamp(value, UTC)
    return parse_timestamp(value)


def to_duration(_meter: Meter, value: Any) -> timedelta:
    if isinstance(value, timedelta):
        return value
    if type(value) is int:
        return timedelta(microseconds=value // 1000)
    return parse_duration(value)


def same(_meter: Meter, value: Any) -> Any:
    return value


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "bool": to_bool,
    "bytes": to_bytes,
    "double": to_double,
    "duration": to_duration,
    "dyn": same,
    "int": to_int,
    "size": size,
    "string": to_string,
    "timestamp": to_timestamp,
    "type": lambda _meter, value: type_of(value),
    "uint": to_uint,
}
METHODS: dict[str, Callable[..., Any]] = {"size": size}
