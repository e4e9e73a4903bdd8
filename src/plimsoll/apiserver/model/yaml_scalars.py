"""What YAML text without quotes stands for: a word, a number or itself.

The rules are those of the parser that real API servers use (YAML 1.1 as go-yaml reads it): `y` is
true, `0o12` is ten and `1e3` a thousand, but `12:30` and `=` are text.
"""

import math
import re
from typing import Any

_LARGEST = 1 << 64
_SMALLEST = -(1 << 63)
_LONGEST_WHOLE = 1e21
"""Whole numbers below this are written without a point or an exponent."""

_MEANINGS: dict[str, bool | None] = (
    dict.fromkeys(("", "~", "null", "Null", "NULL"))
    | dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE"), True)
    | dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE"), False)
    | dict.fromkeys(("on", "On", "ON"), True)
    | dict.fromkeys(("off", "Off", "OFF"), False)
)
_NUMBER_STARTS = frozenset("+-.0123456789")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INTEGERS = (
    (re.compile(r"0|[1-9][0-9]*"), 10),
    (re.compile(r"0[xX]([0-9a-fA-F]+)"), 16),
    (re.compile(r"0[oO]?([0-7]+)"), 8),
    (re.compile(r"0[bB]([01]+)"), 2),
)


def plain_value(text: str) -> Any:
    """Raises ValueError for numbers that JSON does not have."""
    if text in _MEANINGS:
        return _MEANINGS[text]
    if text[0] not in _NUMBER_STARTS:
        return text
    if _NOT_FINITE.fullmatch(text):
        raise ValueError(f"{text} is no number that JSON has")
    digits = text if text[0] == "." else text.replace("_", "")
    number: float | None = _integer(digits)
    if number is None:
        number = _float(digits)
    return text if number is None else number


def _integer(digits: str) -> int | None:
    sign = -1 if digits[:1] == "-" else 1
    for form, base in _INTEGERS:
        found = form.fullmatch(digits, 1 if digits[:1] in ("+", "-") else 0)
        if found:
            value = sign * int(found[found.lastindex or 0], base)
            return value if _SMALLEST <= value < _LARGEST else None
    return None


def _float(digits: str) -> float | None:
    if not _FLOAT.fullmatch(digits):
        return None
    value = float(digits)
    if math.isinf(value):
        return None
    return int(value) if value.is_integer() and abs(value) < _LONGEST_WHOLE else value
