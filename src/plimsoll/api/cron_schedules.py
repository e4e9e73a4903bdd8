"""How CronJobs write when they start: which texts are schedules, and what their fields may hold."""

import re

DESCRIPTORS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
EVERY = re.compile(r"@every ([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h)(.*)")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
LONGEST_NUMBER = 9
DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
FIELDS: tuple[tuple[int, int, dict[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, {name: number for number, name in enumerate(MONTHS, 1)}),
    (0, 6, {name: number for number, name in enumerate(DAYS)}),
)
PART = re.compile(r"(?P<first>\*|\?|\w+)(-(?P<last>\w+))?(/(?P<step>[0-9]{1,9}))?")


def is_schedule(text: str) -> bool:
    """Five fields of minutes, hours, days, months and weekdays, or one of the short forms."""
    if text.startswith("@"):
        return text in DESCRIPTORS or EVERY.fullmatch(text) is not None
    fields = text.split()
    return len(fields) == len(FIELDS) and all(
        _is_field(field, *limits) for field, limits in zip(fields, FIELDS, strict=True)
    )


def _is_field(text: str, lowest: int, highest: int, names: dict[str, int]) -> bool:
    return all(_is_part(part, lowest, highest, names) for part in text.split(","))


def _is_part(text: str, lowest: int, highest: int, names: dict[str, int]) -> bool:
    part = PART.fullmatch(text)
    if part is None or part["step"] == "0":
        return False
    if part["first"] in ("*", "?"):
        return part["last"] is None
    first = _number(part["first"], names)
    last = first if part["last"] is None else _number(part["last"], names)
    return first is not None and last is not None and lowest <= first <= last <= highest


def _number(text: str, names: dict[str, int]) -> int | None:
    is_number = text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER
    return names.get(text.lower(), int(text) if is_number else None)
