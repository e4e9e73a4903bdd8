"""The operators of the language. Functions get the meter and the values; CelError: no value."""

import math
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from plimsoll.apiserver.model.custom.cel.values import (
    NONE,
    CelError,
    MapList,
    Meter,
    OptionalValue,
    SetList,
    UInt,
    checked_int,
    equals,
    is_number,
    optional_of,
    size_of,
)

_UINT = 1 << 64
KEY_TYPES = (str, bool, int, float)
"""Of the keys by which an entry of a map can be asked for."""


def no_overload() -> CelError:
    return CelError("no such overload")


def element(value: Any, key: Any) -> Any:
    """An element of a list, or the value of a key. Raises CelError."""
    found = find_element(value, key)
    if found.is_there:
        return found.value
    if isinstance(value, list):
        raise CelError(f"index out of bounds: {key}")
    raise CelError(f"no such key: {str(key).lower() if isinstance(key, bool) else key}")


def find_element(value: Any, key: Any) -> OptionalValue:
    if isinstance(value, OptionalValue):
        return find_element(value.value, key) if value.is_there else NONE
    if isinstance(value, list):
        if not is_number(key) or (isinstance(key, float) and not key.is_integer()):
            raise no_overload()
        place = int(key)
        return optional_of(value[place]) if 0 <= place < len(value) else NONE
    if isinstance(value, dict):
        if not isinstance(key, KEY_TYPES):
            raise no_overload()
        return optional_of(value[key]) if has_key(value, key) else NONE
    raise no_overload()


def has_key(holder: dict[Any, Any], key: Any) -> bool:
    """For Python true is the number 1, and false 0: only the stored key tells which of them is
    meant."""
    if key not in holder:
        return False
    if key not in (0, 1):
        return True
    return any(isinstance(each, bool) is isinstance(key, bool) for each in holder if each == key)


def add(meter: Meter, one: Any, other: Any) -> Any:
    match one, other:
        case (str(), str()) | (bytes(), bytes()):
            meter.charge((len(one) + len(other)) // 10)
            return one + other
        case list(), list():
            meter.charge(len(one) + len(other))
            return _joined(one, other)
        case (datetime(), timedelta()) | (timedelta(), datetime()) | (timedelta(), timedelta()):
            return one + other
        case _:
            return _arithmetic(one, other, lambda a, b: a + b)


def _joined(one: list[Any], other: list[Any]) -> list[Any]:
    if isinstance(one, SetList):
        return SetList([*one, *(item for item in other if item not in one)])
    if isinstance(one, MapList):
        merged = one.index_by_key()
        others = MapList(other)
        others.keys = one.keys
        joined = MapList((merged | others.index_by_key()).values())
        joined.keys = one.keys
        return joined
    return [*one, *other]


def subtract(_meter: Meter, one: Any, other: Any) -> Any:
    if isinstance(one, datetime | timedelta) and isinstance(other, datetime | timedelta):
        return one - other  # type: ignore[operator]  # a duration less a time is refused as such
    return _arithmetic(one, other, lambda a, b: a - b)


def multiply(_meter: Meter, one: Any, other: Any) -> Any:
    return _arithmetic(one, other, lambda a, b: a * b)


def divide(_meter: Meter, one: Any, other: Any) -> Any:
    if isinstance(one, float) and isinstance(other, float):
        if other == 0:
            return math.nan if one == 0 or math.isnan(one) else math.copysign(math.inf, one)
        return one / other
    if other == 0:
        raise CelError("division by zero")
    return _arithmetic(one, other, _quotient)


def _quotient(one: int, other: int) -> int:
    whole = abs(one) // abs(other)
    return whole if (one < 0) == (other < 0) else -whole


def remainder(_meter: Meter, one: Any, other: Any) -> Any:
    if isinstance(one, float) or isinstance(other, float):
        raise no_overload()
    if other == 0:
        raise CelError("modulus by zero")
    return _arithmetic(one, other, lambda a, b: a - b * _quotient(a, b))


def _arithmetic(one: Any, other: Any, operation: Callable[[Any, Any], Any]) -> Any:
    """Between numbers of one type only."""
    if not is_number(one) or not is_number(other):
        raise no_overload()
    if isinstance(one, float) and isinstance(other, float):
        return operation(one, other)
    if isinstance(one, UInt) and isinstance(other, UInt):
        found = operation(int(one), int(other))
        if not 0 <= found < _UINT:
            raise CelError("unsigned integer overflow")
        return UInt(found)
    kinds = {type(one), type(other)}
    if kinds != {int}:
        raise no_overload()
    return checked_int(operation(one, other))


def negate(_meter: Meter, value: Any) -> Any:
    if isinstance(value, float | timedelta):
        return -value
    if type(value) is int:
        return checked_int(-value)
    raise no_overload()


def invert(_meter: Meter, value: Any) -> bool:
    if not isinstance(value, bool):
        raise no_overload()
    return not value


def is_equal(meter: Meter, one: Any, other: Any) -> bool:
    meter.charge(min(size_of(one), size_of(other)))
    return equals(one, other)


def differs(meter: Meter, one: Any, other: Any) -> bool:
    return not is_equal(meter, one, other)


def contains(meter: Meter, value: Any, holder: Any) -> bool:
    if isinstance(holder, dict):
        return not isinstance(value, list | dict) and has_key(holder, value)
    if not isinstance(holder, list):
        raise no_overload()
    meter.charge(len(holder))
    return any(equals(value, each) for each in holder)


def _compare(operation: Callable[[Any, Any], bool]) -> Callable[[Meter, Any, Any], bool]:
    def compare(meter: Meter, one: Any, other: Any) -> bool:
        both = (one, other)
        if isinstance(one, bool) or isinstance(other, bool):
            if not (isinstance(one, bool) and isinstance(other, bool)):
                raise no_overload()
        elif not all(is_number(each) for each in both) and type(one) is not type(other):
            raise no_overload()
        meter.charge(min(size_of(one), size_of(other)))
        return bool(operation(one, other))

    return compare


OPERATORS: dict[str, Callable[..., Any]] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "%": remainder,
    "-_": negate,
    "!": invert,
    "==": is_equal,
    "!=": differs,
    "in": contains,
    "<": _compare(lambda a, b: a < b),
    "<=": _compare(lambda a, b: a <= b),
    ">": _compare(lambda a, b: a > b),
    ">=": _compare(lambda a, b: a >= b),
}
