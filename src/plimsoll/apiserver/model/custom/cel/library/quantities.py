"""Quantities of resources, such as 1.5Gi."""

from collections.abc import Callable
from typing import Any

from plimsoll.api.quantity import Quantity, parse_quantity
from plimsoll.apiserver.model.custom.cel.library.types import readable, want
from plimsoll.apiserver.model.custom.cel.values import CelError, Meter

_LONGEST = 64
_MOST = (1 << 63) - 1


def read(text: Any) -> Quantity:
    want(str, text)
    if len(text) > _LONGEST:
        raise CelError("quantity is too long")
    return parse_quantity(text)


def _other(value: Any) -> Quantity:
    """Quantities are added to quantities or whole numbers."""
    if isinstance(value, Quantity):
        return value
    want(int, value)
    return Quantity(value)


def _compare(_meter: Meter, one: Any, other: Any) -> int:
    want(Quantity, one, other)
    return int(one > other) - int(one < other)


def _is_integer(_meter: Meter, value: Any) -> bool:
    want(Quantity, value)
    whole = Quantity(value.value)
    return bool(whole == value) and abs(value.rounded_up(0)) < _MOST


def _as_integer(meter: Meter, value: Any) -> int:
    if not _is_integer(meter, value):
        raise CelError("cannot convert value to integer")
    return int(value.value)


def _added(_meter: Meter, one: Any, other: Any) -> Quantity:
    want(Quantity, one)
    total: Quantity = one + _other(other)
    return total


def _subtracted(_meter: Meter, one: Any, other: Any) -> Quantity:
    want(Quantity, one)
    rest: Quantity = one - _other(other)
    return rest


def _sign(_meter: Meter, value: Any) -> int:
    want(Quantity, value)
    return int(value.sign)


def _as_float(_meter: Meter, value: Any) -> float:
    want(Quantity, value)
    return float(value.unscaled * 10.0**value.exponent)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "quantity": lambda _meter, text: read(text),
    "isQuantity": readable(read),
}
METHODS: dict[str, Callable[..., Any]] = {
    "add": _added,
    "asApproximateFloat": _as_float,
    "asInteger": _as_integer,
    "compareTo": _compare,
    "isGreaterThan": lambda meter, one, other: _compare(meter, one, other) > 0,
    "isInteger": _is_integer,
    "isLessThan": lambda meter, one, other: _compare(meter, one, other) < 0,
    "sign": _sign,
    "sub": _subtracted,
}
