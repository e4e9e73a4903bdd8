"""Rules for amounts of a resource: not negative, positive, whole; and what rounding applies.

All texts seen here went through `apiserver.model.schema` and parse.
"""

from collections.abc import Iterator, MutableMapping

from plimsoll.api.quantity import MAX_INT64, MILLI, Quantity, parse_quantity
from plimsoll.apiserver.model.field_errors import FieldError

MILLIS_IN_UNIT = 1000
LARGEST_IN_MILLIS = MAX_INT64 // MILLIS_IN_UNIT
"""The largest whole number whose thousandths 64 bits hold."""

NEGATIVE = "must be greater than or equal to 0"
NOT_POSITIVE = "must be greater than zero"
NOT_A_RESOURCE = "must be a valid resource quantity"
NOT_WHOLE = "must be an integer"


def quantity_errors(text: str, path: str) -> Iterator[FieldError]:
    """An amount may not be negative."""
    if parse_quantity(text).sign < 0:
        yield FieldError.invalid(path, text, NEGATIVE)


def positive_errors(text: str, path: str) -> Iterator[FieldError]:
    if parse_quantity(text).sign <= 0:
        yield FieldError.invalid(path, text, NOT_POSITIVE)


def whole_errors(text: str, path: str) -> Iterator[FieldError]:
    """For resources that are counted, not measured."""
    if has_fraction(text):
        yield FieldError.invalid(path, text, NOT_WHOLE)


def basic_resource_errors(text: str, path: str) -> Iterator[FieldError]:
    """Not negative either, but judged by the whole number and in other words."""
    value = parse_quantity(text).value
    if value < 0:
        yield FieldError.invalid(path, value, NOT_A_RESOURCE)


def has_fraction(text: str) -> bool:
    """Judged by the thousandths in 64 bits, as the API does: very large amounts overflow."""
    return parse_quantity(text).milli_value % MILLIS_IN_UNIT != 0


def comparable_numbers(*quantities: Quantity) -> tuple[int, ...]:
    """In thousandths where those of all of them fit 64 bits, otherwise in whole units.

    A quantity that is too large for either is 0, as in the API.
    """
    if all(quantity.value <= LARGEST_IN_MILLIS for quantity in quantities):
        return tuple(quantity.milli_value for quantity in quantities)
    return tuple(quantity.value for quantity in quantities)


def round_up_resources(resources: MutableMapping[str, str] | None) -> None:
    """The API keeps thousandths at most; what is finer is rounded up, in place."""
    for name, text in (resources or {}).items():
        quantity = parse_quantity(text)
        if quantity.exponent >= MILLI:
            continue
        millis = quantity.rounded_up(MILLI)
        if resources is not None and abs(millis) < MAX_INT64:
            resources[name] = str(Quantity(millis, MILLI, quantity.format))
