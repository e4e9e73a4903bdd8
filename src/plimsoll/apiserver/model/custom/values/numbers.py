"""What schemas say about numbers, and how Kubernetes shows them in its complaints."""

import math
from collections.abc import Iterator
from typing import Any

import msgspec

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError

IN_BODY = " in body"
_INTEGERS = {"int32": 1 << 31, "int64": 1 << 63, "": 1 << 63}
_LARGEST_FLOAT = 3.4028234663852886e38
_PLAIN_BELOW = 1e21


def shown_number(value: Any) -> str:
    """A value as Go's %v or its JSON has it."""
    if isinstance(value, float) and value.is_integer() and abs(value) < _PLAIN_BELOW:
        return str(int(value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return msgspec.json.encode(value).decode()


def number_errors(raw: Document, value: float, path: str) -> Iterator[FieldError]:
    if not _is_in_format(raw, value):
        named = raw.get("format", "")
        how = f"with format {named}" if named else "(default format)"
        said = f"Checked value must be of type {raw.get('type')} {how} in {path}"
        yield FieldError.invalid("<nil>", "", said)
    factor = raw.get("multipleOf")
    if factor and not is_multiple(value, factor):
        said = f"{path}{IN_BODY} should be a multiple of {shown_number(factor)}"
        yield FieldError.invalid(path, value, said)
    yield from _limit_errors(raw, value, path)


def _limit_errors(raw: Document, value: float, path: str) -> Iterator[FieldError]:
    most, least = raw.get("maximum"), raw.get("minimum")
    if most is not None:
        is_exclusive = raw.get("exclusiveMaximum", False)
        if value > most or (is_exclusive and value == most):
            words = "less than" if is_exclusive else "less than or equal to"
            said = f"{path}{IN_BODY} should be {words} {shown_number(most)}"
            yield FieldError.invalid(path, value, said)
    if least is not None:
        is_exclusive = raw.get("exclusiveMinimum", False)
        if value < least or (is_exclusive and value == least):
            words = "greater than" if is_exclusive else "greater than or equal to"
            said = f"{path}{IN_BODY} should be {words} {shown_number(least)}"
            yield FieldError.invalid(path, value, said)


def _is_in_format(raw: Document, value: float) -> bool:
    kind, named = raw.get("type"), raw.get("format", "")
    if kind == "integer":
        limit = _INTEGERS.get(named, 1 << 63)
        return float(value).is_integer() and -limit <= value < limit
    if kind == "number" and named == "float":
        return abs(value) <= _LARGEST_FLOAT
    return True


def is_multiple(value: float, factor: float) -> bool:
    if isinstance(value, int) and isinstance(factor, int):
        return value % factor == 0
    quotient = value / factor
    return math.isfinite(quotient) and quotient == int(quotient)
