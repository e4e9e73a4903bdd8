"""Numbers as people write them."""

from plimsoll.decide.explain.groups import Unit

UNITS = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
KIBI = 1024
MILLI = 1000


def amount(number: int, unit: Unit) -> str:
    """Sizes are rounded down to one decimal."""
    if unit is Unit.COUNT:
        return str(number)
    if unit is Unit.MILLI_CPU:
        return f"{number}m" if number % MILLI else str(number // MILLI)
    power = min(max(abs(number).bit_length() - 1, 0) // 10, len(UNITS) - 1)
    tenths = abs(number) * 10 // KIBI**power
    whole = f"{tenths // 10}" if tenths % 10 == 0 else f"{tenths // 10}.{tenths % 10}"
    return f"{'-' if number < 0 else ''}{whole}{UNITS[power]}"
