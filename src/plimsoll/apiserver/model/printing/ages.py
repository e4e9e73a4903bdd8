"""Times as people read them: `5s`, `3m2s`, `4h5m`, `2d3h`, `6y`."""

from datetime import datetime, timedelta

UNKNOWN = "<unknown>"

_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_YEAR = 365 * _DAY

# Up to which length two units are shown, then only the larger one: (limit for two, limit for one).
_STEPS = (
    (_MINUTE, "m", 1, "s", 10 * _MINUTE, 3 * _HOUR),
    (_HOUR, "h", _MINUTE, "m", 8 * _HOUR, 2 * _DAY),
    (_DAY, "d", _HOUR, "h", 8 * _DAY, 2 * _YEAR),
)


def human_duration(duration: timedelta) -> str:
    """Two units while the second one still matters; nothing is longer than seven characters."""
    seconds = int(duration.total_seconds())
    if seconds < -1:
        return "<invalid>"
    if seconds < 2 * _MINUTE:
        return f"{max(seconds, 0)}s"
    for unit, name, part, part_name, both_until, one_until in _STEPS:
        if seconds < both_until:
            rest = seconds % unit // part
            return (
                f"{seconds // unit}{name}{rest}{part_name}" if rest else f"{seconds // unit}{name}"
            )
        if seconds < one_until:
            return f"{seconds // unit}{name}"
    days = seconds // _DAY % 365
    shows_days = seconds < 8 * _YEAR and days
    return f"{seconds // _YEAR}y{days}d" if shows_days else f"{seconds // _YEAR}y"


def parse_time(text: str | None) -> datetime | None:
    """A time of the API; None where it is missing or not one."""
    try:
        time = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    return time if time and time.tzinfo else None


def since(text: str | None, now: datetime) -> str:
    then = parse_time(text)
    return human_duration(now - then) if then else UNKNOWN
