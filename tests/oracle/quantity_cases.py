"""Asks `plimsoll.api.quantity`."""

from typing import Any

from plimsoll.api.quantity import BEYOND_64_BITS, MAX_INT64, Quantity, parse_quantity


def quantity(case: dict[str, str]) -> dict[str, Any]:
    parsed = {name: _parsed(text) for name, text in case.items()}
    answer: dict[str, Any] = {
        name: _shown(value) if isinstance(value, Quantity) else {"error": value}
        for name, value in parsed.items()
    }
    a, b = parsed.get("a"), parsed.get("b")
    if isinstance(a, Quantity) and isinstance(b, Quantity):
        answer |= {"cmp": (a > b) - (a < b), "sum": str(a + b), "diff": str(a - b)}
    return answer


def _parsed(text: str) -> Quantity | str:
    try:
        return parse_quantity(text)
    except ValueError as error:
        return str(error)


def _as_int64(quantity: Quantity) -> int | None:
    """The number, where the 64-bit form of apimachinery holds it without rounding."""
    if quantity.is_wide or quantity.exponent < 0:
        return None
    number: int = quantity.unscaled * 10 ** min(quantity.exponent, BEYOND_64_BITS)
    return number if abs(number) <= MAX_INT64 else None


def _shown(quantity: Quantity) -> dict[str, Any]:
    """Whole numbers as text, because JSON readers lose the digits of large ones."""
    whole = _as_int64(quantity)
    return {
        "value": str(quantity.value),
        "milliValue": str(quantity.milli_value),
        "sign": quantity.sign,
        "isZero": quantity.sign == 0,
        "asInt64": None if whole is None else str(whole),
        "format": str(quantity.format),
        "string": str(quantity),
        "canonical": quantity.canonical,
        "asDec": _decimal(quantity),
    }


def _decimal(quantity: Quantity) -> str:
    """All digits, without a suffix."""
    sign = "-" if quantity.unscaled < 0 else ""
    digits = str(abs(quantity.unscaled))
    if quantity.exponent >= 0:
        return sign + digits + "0" * (quantity.exponent if quantity.unscaled else 0)
    digits = digits.rjust(1 - quantity.exponent, "0")
    return f"{sign}{digits[: quantity.exponent]}.{digits[quantity.exponent :]}"
