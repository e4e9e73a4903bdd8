"""Sums, extremes and places of lists; lists as sets."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from plimsoll.apiserver.model.custom.cel import operators
from plimsoll.apiserver.model.custom.cel.library.types import want
from plimsoll.apiserver.model.custom.cel.values import CelError, Meter, equals


def _ordered(meter: Meter, values: Any) -> list[Any]:
    want(list, values)
    meter.charge(len(values))
    return list(values)


def is_sorted(meter: Meter, values: Any) -> bool:
    pairs = _ordered(meter, values)
    less = operators.OPERATORS["<="]
    return all(less(meter, one, other) for one, other in pairwise(pairs))


def total(meter: Meter, values: Any) -> Any:
    found: Any = 0
    for place, value in enumerate(_ordered(meter, values)):
        found = value if not place else operators.add(meter, found, value)
    if isinstance(found, str | list):
        raise TypeError
    return found


def least(meter: Meter, values: Any) -> Any:
    return _extreme(meter, values, "<", "min")


def most(meter: Meter, values: Any) -> Any:
    return _extreme(meter, values, ">", "max")


def _extreme(meter: Meter, values: Any, sign: str, name: str) -> Any:
    found = _ordered(meter, values)
    if not found:
        raise CelError(f"{name} called on empty list")
    best = found[0]
    for value in found[1:]:
        if operators.OPERATORS[sign](meter, value, best):
            best = value
    return best


def index_of(meter: Meter, values: Any, wanted: Any) -> int:
    for place, value in enumerate(_ordered(meter, values)):
        if equals(value, wanted):
            return place
    return -1


def last_index_of(meter: Meter, values: Any, wanted: Any) -> int:
    found = _ordered(meter, values)
    for place in range(len(found) - 1, -1, -1):
        if equals(found[place], wanted):
            return place
    return -1


def flatten(meter: Meter, values: Any, levels: int = 1) -> list[Any]:
    found: list[Any] = []
    for value in _ordered(meter, values):
        if isinstance(value, list) and levels > 0:
            found.extend(flatten(meter, value, levels - 1))
        else:
            found.append(value)
    return found


def cut(meter: Meter, values: Any, start: int, end: int) -> list[Any]:
    found = _ordered(meter, values)
    want(int, start, end)
    if not 0 <= start <= end <= len(found):
        raise CelError(f"cannot slice({start}, {end}), list is length {len(found)}")
    return found[start:end]


def distinct(meter: Meter, values: Any) -> list[Any]:
    found: list[Any] = []
    for value in _ordered(meter, values):
        meter.charge(len(found))
        if not any(equals(value, each) for each in found):
            found.append(value)
    return found


def backwards(meter: Meter, values: Any) -> list[Any]:
    return _ordered(meter, values)[::-1]


def holds_all(meter: Meter, values: Any, wanted: Any) -> bool:
    want(list, values, wanted)
    return all(operators.contains(meter, each, values) for each in wanted)


def holds_some(meter: Meter, values: Any, wanted: Any) -> bool:
    want(list, values, wanted)
    return any(operators.contains(meter, each, values) for each in wanted)


def same_members(meter: Meter, one: Any, other: Any) -> bool:
    return holds_all(meter, one, other) and holds_all(meter, other, one)


METHODS: dict[str, Callable[..., Any]] = {
    "distinct": distinct,
    "flatten": flatten,
    "indexOf": index_of,
    "isSorted": is_sorted,
    "lastIndexOf": last_index_of,
    "max": most,
    "min": least,
    "reverse": backwards,
    "slice": cut,
    "sum": total,
}
NAMESPACES: dict[str, Callable[..., Any]] = {
    "sets.contains": holds_all,
    "sets.equivalent": same_members,
    "sets.intersects": holds_some,
}
