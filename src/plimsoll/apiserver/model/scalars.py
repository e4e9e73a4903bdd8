"""How single JSON values are read into the types of the Kubernetes API and written again.

Each function takes a JSON value and gives the form in which the API server would show it, or raises
SchemaError. The second argument, shared with the functions in `shapes`, collects the names of
unknown fields and is of no use to a scalar.
"""

import binascii
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from plimsoll.api.quantity import canonical_quantity

# (value, names of unknown fields) → value as the server shows it
Convert = Callable[[Any, list[str]], Any]

_GO_NAMES = {
    type(None): "null",
    bool: "bool",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}

_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)", re.ASCII)
_ZERO_TIME = "0001-01-01T00:00:00Z"
_PLAIN_TIME_LENGTH = len(_ZERO_TIME)
_REMEMBERED_LENGTH = 40
_MICROSECOND_DIGITS = 6

_INT32 = 1 << 31
_INT64 = 1 << 63
_LARGEST_PLAIN_FLOAT = 1e21


class SchemaError(ValueError):
    """A document cannot be read as its kind. The text follows the API server's decoder."""

    def __init__(self, what: str, wanted: str = "") -> None:
        super().__init__(what)
        self._what = what
        self._wanted = wanted
        self._owner = ""
        self._path: list[str] = []

    @classmethod
    def mismatch(cls, value: Any, wanted: str) -> "SchemaError":
        name = _GO_NAMES.get(type(value), "value")
        return cls(f"cannot unmarshal {name}", wanted)

    def within(self, owner: str, field: str) -> "SchemaError":
        """Note on the way out of a struct where the value was found."""
        self._owner = self._owner or owner
        self._path.append(field)
        return self

    def __str__(self) -> str:
        if not self._wanted:
            return self._what
        if not self._owner:
            return f"json: {self._what} into Go value of type {self._wanted}"
        where = ".".join((self._owner, *reversed(self._path)))
        return f"json: {self._what} into Go struct field {where} of type {self._wanted}"


def string(value: Any, _noted: list[str]) -> str:
    if type(value) is str:
        return value
    raise SchemaError.mismatch(value, "string")


def boolean(value: Any, _noted: list[str]) -> bool:
    if type(value) is bool:
        return value
    raise SchemaError.mismatch(value, "bool")


def int32(value: Any, _noted: list[str]) -> int:
    return _integer(value, _INT32, "int32")


def int64(value: Any, _noted: list[str]) -> int:
    return _integer(value, _INT64, "int64")


def _integer(value: Any, limit: int, name: str) -> int:
    if type(value) is not int:
        if type(value) is float:
            raise SchemaError(f"cannot unmarshal number {value}", name)
        raise SchemaError.mismatch(value, name)
    if not -limit <= value < limit:
        raise SchemaError(f"cannot unmarshal number {value}", name)
    return value


def double(value: Any, _noted: list[str]) -> float:
    if type(value) is int:
        return value
    if type(value) is not float:
        raise SchemaError.mismatch(value, "float64")
    return int(value) if value.is_integer() and abs(value) < _LARGEST_PLAIN_FLOAT else value


def int_or_string(value: Any, _noted: list[str]) -> int | str:
    if type(value) is str:
        return value
    return _integer(value, _INT32, "int32")


def opaque(value: Any, _noted: list[str]) -> Any:
    """JSON that the server keeps as it is."""
    return value


def base64(value: Any, _noted: list[str]) -> str:
    if type(value) is not str:
        raise SchemaError.mismatch(value, "[]uint8")
    packed = value.replace("\n", "").replace("\r", "")
    try:
        content = binascii.a2b_base64(packed, strict_mode=True)
    except ValueError:
        content = None
    # The strict mode lets padding pass that nothing needs.
    if content is None or len(packed) % 4:
        raise SchemaError("illegal base64 data")
    return binascii.b2a_base64(content, newline=False).decode()


# Few different quantities are written again and again; reading one is slow.
_canonical_quantity = lru_cache(maxsize=4096)(canonical_quantity)


def quantity(value: Any, _noted: list[str]) -> str:
    # Numbers are read by their text, as the server does. Everything else fails in the parser.
    text = value.strip() if type(value) is str else str(value)
    try:
        return _canonical_quantity(text)
    except ValueError as error:
        raise SchemaError(str(error)) from None


def time(value: Any, _noted: list[str]) -> str | None:
    """Seconds in UTC; the zero time is no time."""
    moment, _ = _parse_time(value, "2006-01-02T15:04:05Z07:00")
    if len(value) == _PLAIN_TIME_LENGTH:
        return value if value != _ZERO_TIME else None
    return _utc(moment)


def micro_time(value: Any, _noted: list[str]) -> str | None:
    """Exactly six digits after the second, in UTC."""
    layout = "2006-01-02T15:04:05.000000Z07:00"
    moment, fraction = _parse_time(value, layout)
    if len(fraction) != _MICROSECOND_DIGITS:
        raise _unreadable_time(value, layout)
    shown = _utc(moment)
    if shown is None and not int(fraction):
        return None
    return f"{(shown or _ZERO_TIME)[:-1]}.{fraction}Z"


def _parse_time(value: Any, layout: str) -> tuple[datetime, str]:
    """The moment without its fraction, and the digits of the fraction."""
    if type(value) is not str:
        raise SchemaError.mismatch(value, "string")
    read = _time_read_before if len(value) <= _REMEMBERED_LENGTH else _read_time
    return read(value, layout)


def _read_time(value: str, layout: str) -> tuple[datetime, str]:
    found = _TIME.fullmatch(value)
    if not found:
        raise _unreadable_time(value, layout)
    try:
        moment = datetime.fromisoformat(found[1] + found[3])
        return moment.astimezone(UTC), found[2] or ""
    except (ValueError, OverflowError):
        raise _unreadable_time(value, layout) from None


_time_read_before = lru_cache(maxsize=4096)(_read_time)
"""Every version of an object has the same few times: of its creation, and of its owners."""


def _utc(moment: datetime) -> str | None:
    shown = f"{moment.replace(tzinfo=None).isoformat(timespec='seconds')}Z"
    return shown if shown != _ZERO_TIME else None


def _unreadable_time(value: str, layout: str) -> SchemaError:
    return SchemaError(f'parsing time "{value}" as "{layout}": cannot parse "{value}" as "2006"')
