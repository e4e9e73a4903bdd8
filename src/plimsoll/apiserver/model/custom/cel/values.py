"""Values of expressions: what of Python stands for which type, and what has a class of its own.

int, float, str, bytes, bool, None, list and dict stand for themselves; datetime is a timestamp and
timedelta a duration.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

MOST_STEPS = 300_000
"""What all rules of a document may take together."""
_INT = 1 << 63


class CelError(ValueError):
    """An expression has no value: a key is missing, a number too large, an argument wrong."""


class BudgetError(CelError):
    """An expression took too many steps."""


class Meter:
    """Counts steps down."""

    __slots__ = ("left",)

    def __init__(self, steps: int = MOST_STEPS) -> None:
        self.left = steps

    def charge(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise BudgetError("operation cancelled: actual cost limit exceeded")


class UInt(int):
    """An unsigned integer."""


@dataclass(frozen=True, slots=True)
class CelType:
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class OptionalValue:
    """A value that may not be there."""

    value: Any = None
    is_there: bool = False


NONE = OptionalValue()


def optional_of(value: Any) -> OptionalValue:
    return OptionalValue(value, is_there=True)


class SetList(list[Any]):
    """A list whose order means nothing."""


class MapList(list[Any]):
    """A list whose elements go by their keys."""

    keys: tuple[str, ...] = ()

    def index_by_key(self) -> dict[tuple[str, ...], Any]:
        return {tuple(repr(item.get(key)) for key in self.keys): item for item in self}


_TYPE_NAMES: tuple[tuple[type, str], ...] = (
    (bool, "bool"),
    (UInt, "uint"),
    (int, "int"),
    (float, "double"),
    (str, "string"),
    (bytes, "bytes"),
    (list, "list"),
    (dict, "map"),
    (type(None), "null_type"),
    (datetime, "google.protobuf.Timestamp"),
    (timedelta, "google.protobuf.Duration"),
    (OptionalValue, "optional_type"),
    (CelType, "type"),
)


def type_of(value: Any) -> CelType:
    for known, name in _TYPE_NAMES:
        if isinstance(value, known):
            return CelType(name)
    return CelType(f"kubernetes.{type(value).__name__}")


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def checked_int(value: int) -> int:
    """Raises CelError where 64 bits do not suffice."""
    if not -_INT <= value < _INT:
        raise CelError("integer overflow")
    return value


def equals(one: Any, other: Any) -> bool:
    """Numbers are equal by value; values of other types only within one type."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if is_number(one) and is_number(other):
        return bool(one == other)
    if isinstance(one, list) and isinstance(other, list):
        return _equal_lists(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equals(one[k], other[k]) for k in one)
    if isinstance(one, OptionalValue) and isinstance(other, OptionalValue):
        both = one.is_there and other.is_there
        return equals(one.value, other.value) if both else one.is_there == other.is_there
    return type(one) is type(other) and bool(one == other)


def _equal_lists(one: list[Any], other: list[Any]) -> bool:
    if len(one) != len(other):
        return False
    if isinstance(one, MapList):
        held, wanted = one.index_by_key(), MapList(other)
        wanted.keys = one.keys
        others = wanted.index_by_key()
        return held.keys() == others.keys() and all(equals(held[k], others[k]) for k in held)
    if isinstance(one, SetList):
        return sorted(map(repr, one)) == sorted(map(repr, other))
    return all(equals(a, b) for a, b in zip(one, other, strict=True))


def size_of(value: Any) -> int:
    """How much there is to look at, roughly."""
    if isinstance(value, str | bytes):
        return 1 + len(value) // 10
    if isinstance(value, list):
        return 1 + sum(map(size_of, value))
    if isinstance(value, dict):
        return 1 + sum(map(size_of, value.values()))
    return 1
