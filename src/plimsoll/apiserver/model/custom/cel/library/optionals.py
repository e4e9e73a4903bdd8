"""Values that may not be there."""

from collections.abc import Callable
from typing import Any

from plimsoll.apiserver.model.custom.cel.library.types import want
from plimsoll.apiserver.model.custom.cel.values import (
    NONE,
    CelError,
    Meter,
    OptionalValue,
    optional_of,
)

_ZEROS: tuple[Any, ...] = (None, False, 0, 0.0, "", b"")


def has_value(_meter: Meter, value: Any) -> bool:
    want(OptionalValue, value)
    return bool(value.is_there)


def value_of(_meter: Meter, value: Any) -> Any:
    want(OptionalValue, value)
    if not value.is_there:
        raise CelError("optional.none() dereference")
    return value.value


def or_value(_meter: Meter, value: Any, other: Any) -> Any:
    want(OptionalValue, value)
    return value.value if value.is_there else other


def or_optional(_meter: Meter, value: Any, other: Any) -> OptionalValue:
    want(OptionalValue, value, other)
    found: OptionalValue = value if value.is_there else other
    return found


def of_non_zero(_meter: Meter, value: Any) -> OptionalValue:
    is_zero = value in _ZEROS or value in ([], {})
    return NONE if is_zero else optional_of(value)


METHODS: dict[str, Callable[..., Any]] = {
    "hasValue": has_value,
    "or": or_optional,
    "orValue": or_value,
    "value": value_of,
}
NAMESPACES: dict[str, Callable[..., Any]] = {
    "optional.none": lambda _meter: NONE,
    "optional.of": lambda _meter, value: optional_of(value),
    "optional.ofNonZeroValue": of_non_zero,
}
