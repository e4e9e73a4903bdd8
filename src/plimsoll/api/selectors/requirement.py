"""One condition on one label: what label, node and topology selectors are all made of."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from plimsoll.api.selectors.complaints import (
    child,
    invalid,
    joined,
    label_key_complaint,
    label_value_complaint,
)

INTEGER = re.compile(r"[+-]?[0-9]+")
INT64 = range(-(2**63), 2**63)


class Operator(StrEnum):
    """Values are the names under which errors list them."""

    IN = "in"
    NOT_IN = "notin"
    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    GREATER_THAN = "gt"
    LESS_THAN = "lt"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"


def find_integer(text: str) -> int | None:
    """A decimal number of 64 bits."""
    if not INTEGER.fullmatch(text) or len(text) > 20:  # noqa: PLR2004  no 64 bits take more
        return None
    number = int(text)
    return number if number in INT64 else None


# A label that is missing is None here, which is in no tuple of values.
Test = Callable[[str | None, tuple[str, ...]], bool]


def _is_one_of(value: str | None, values: tuple[str, ...]) -> bool:
    return value in values


def _is_none_of(value: str | None, values: tuple[str, ...]) -> bool:
    return value not in values


def _exists(value: str | None, _values: tuple[str, ...]) -> bool:
    return value is not None


def _does_not_exist(value: str | None, _values: tuple[str, ...]) -> bool:
    return value is None


def _difference(value: str | None, values: tuple[str, ...]) -> int:
    """How much the label is larger; zero, which satisfies no comparison, if it is no number."""
    number = None if value is None else find_integer(value)
    bound = find_integer(values[0])
    return 0 if number is None or bound is None else number - bound


def _is_greater(value: str | None, values: tuple[str, ...]) -> bool:
    return _difference(value, values) > 0


def _is_less(value: str | None, values: tuple[str, ...]) -> bool:
    return _difference(value, values) < 0


TESTS: dict[Operator, Test] = {
    Operator.IN: _is_one_of,
    Operator.EQUALS: _is_one_of,
    Operator.DOUBLE_EQUALS: _is_one_of,
    Operator.NOT_IN: _is_none_of,
    Operator.NOT_EQUALS: _is_none_of,
    Operator.GREATER_THAN: _is_greater,
    Operator.LESS_THAN: _is_less,
    Operator.EXISTS: _exists,
    Operator.DOES_NOT_EXIST: _does_not_exist,
}

NO_VALUES = "for 'in', 'notin' operators, values set can't be empty"
NOT_ONE_VALUE = "exact-match compatibility requires one single value"
SOME_VALUES = "values set must be empty for exists and does not exist"
NOT_ONE_NUMBER = "for 'Gt', 'Lt' operators, exactly one value is required"
NOT_A_NUMBER = "for 'Gt', 'Lt' operators, the value must be an integer"


@dataclass(frozen=True, slots=True)
class Requirement:
    key: str
    operator: Operator
    values: tuple[str, ...] = ()
    _test: Test = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_test", TESTS[self.operator])

    def matches(self, labels: Mapping[str, str]) -> bool:
        return self._test(labels.get(self.key), self.values)

    def __str__(self) -> str:
        listed = ",".join(sorted(self.values))
        match self.operator:
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case Operator.IN | Operator.NOT_IN:
                return f"{self.key} {self.operator} ({listed})"
            case Operator.GREATER_THAN:
                return f"{self.key}>{listed}"
            case Operator.LESS_THAN:
                return f"{self.key}<{listed}"
            case _:
                return f"{self.key}{self.operator}{listed}"


def parse_requirement(
    key: str, operator: Operator, values: Sequence[str] | None, path: str = ""
) -> Requirement:
    """`values` is None where the object does not say; complaints tell that from an empty list."""
    if complaints := list(requirement_complaints(key, operator, values, path)):
        raise ValueError(joined(complaints))
    return Requirement(key, operator, tuple(values or ()))


def requirement_complaints(
    key: str, operator: Operator, values: Sequence[str] | None, path: str
) -> Iterator[str]:
    if complaint := label_key_complaint(child(path, "key"), key):
        yield complaint
    values_path = child(path, "values")
    if complaint := _count_complaint(operator, values, values_path):
        yield complaint
    if operator in (Operator.GREATER_THAN, Operator.LESS_THAN):
        for index, value in enumerate(values or ()):
            if find_integer(value) is None:
                yield invalid(f"{values_path}[{index}]", value, NOT_A_NUMBER)
    for index, value in enumerate(values or ()):
        if complaint := label_value_complaint(f"{values_path}[{index}][{key}]", value):
            yield complaint


def _count_complaint(operator: Operator, values: Sequence[str] | None, path: str) -> str | None:
    count = len(values or ())
    match operator:
        case Operator.IN | Operator.NOT_IN:
            is_wrong, detail = count == 0, NO_VALUES
        case Operator.EXISTS | Operator.DOES_NOT_EXIST:
            is_wrong, detail = count > 0, SOME_VALUES
        case Operator.GREATER_THAN | Operator.LESS_THAN:
            is_wrong, detail = count != 1, NOT_ONE_NUMBER
        case _:
            is_wrong, detail = count != 1, NOT_ONE_VALUE
    return invalid(path, values, detail) if is_wrong else None
