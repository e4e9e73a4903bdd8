"""Amounts of pods that are given as a number or as a share of all."""

import re
from collections.abc import Iterator

from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.values import not_negative

PERCENT = re.compile(r"[0-9]{1,18}%")
NUMBER = re.compile(r"[-+]?[0-9]{1,18}")
"""Longer ones are no numbers of 64 bits."""
WHOLE = 100


def int_or_percent_errors(value: int | str, path: str) -> Iterator[FieldError]:
    if isinstance(value, int):
        yield from not_negative(value, path)
    elif not PERCENT.fullmatch(value):
        yield FieldError.invalid(
            path,
            value,
            "a valid percent string must be a numeric string followed by an ending '%'",
        )


def over_whole_errors(value: int | str, path: str) -> Iterator[FieldError]:
    if isinstance(value, str) and amount(value) > WHOLE:
        yield FieldError.invalid(path, value, "must not be greater than 100%")


def amount(value: int | str) -> int:
    """The number, of pods or of hundredths; zero when it cannot be read."""
    if isinstance(value, int):
        return value
    if PERCENT.fullmatch(value):
        return int(value[:-1])
    return int(value) if NUMBER.fullmatch(value) else 0
