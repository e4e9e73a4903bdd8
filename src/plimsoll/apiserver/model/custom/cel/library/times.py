"""Timestamps and durations."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from plimsoll.apiserver.model.custom.cel.library.types import want
from plimsoll.apiserver.model.custom.cel.values import CelError, Meter

_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_WHOLE = re.compile(r"[-+]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
_OFFSET = re.compile(r"([-+]?)(\d{1,2}):(\d{2})")
_LONGEST = 100


def parse_duration(text: str) -> timedelta:
    if len(text) > _LONGEST or not _WHOLE.fullmatch(text):
        raise CelError(f'time: invalid duration "{text}"')
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
    try:
        return timedelta(seconds=-seconds if text.startswith("-") else seconds)
    except OverflowError as error:
        raise CelError(f'time: invalid duration "{text}"') from error


def duration_text(value: timedelta) -> str:
    seconds = value.total_seconds()
    return f"{int(seconds)}s" if seconds == int(seconds) else f"{seconds:f}".rstrip("0") + "s"


def parse_timestamp(text: str) -> datetime:
    if len(text) > _LONGEST or "T" not in text.upper():
        raise CelError(f'parsing time "{text}"')
    found = datetime.fromisoformat(text.replace("z", "Z"))
    if found.tzinfo is None:
        raise CelError(f'parsing time "{text}"')
    return found.astimezone(UTC)


def timestamp_text(value: datetime) -> str:
    text = value.astimezone(UTC).replace(tzinfo=None).isoformat()
    return (text.rstrip("0") if "." in text else text) + "Z"


def _zoned(moment: Any, zone: str = "UTC") -> datetime:
    want(datetime, moment)
    value: datetime = moment
    found = _OFFSET.fullmatch(zone)
    if found:
        offset = timedelta(hours=int(found[2]), minutes=int(found[3]))
        zone_info = timezone(-offset if found[1] == "-" else offset)
        return value.astimezone(zone_info)
    try:
        return value.astimezone(ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise CelError(f"unknown time zone {zone}") from None


def _field(read: Callable[[datetime], int]) -> Callable[..., int]:
    def method(_meter: Meter, value: Any, *zone: str) -> int:
        return read(_zoned(value, *zone))

    return method


def _amount(unit: float, read: Callable[[datetime], int]) -> Callable[..., int]:
    """Of a duration, all of it in the unit; of a timestamp, its part."""

    def method(_meter: Meter, value: Any, *zone: str) -> int:
        if isinstance(value, timedelta):
            return int(value.total_seconds() / unit)
        return read(_zoned(value, *zone))

    return method


def _milliseconds(_meter: Meter, value: Any, *zone: str) -> int:
    if isinstance(value, timedelta):
        return int(value / timedelta(milliseconds=1))
    return _zoned(value, *zone).microsecond // 1000


METHODS: dict[str, Callable[..., Any]] = {
    "getFullYear": _field(lambda t: t.year),
    "getMonth": _field(lambda t: t.month - 1),
    "getDate": _field(lambda t: t.day),
    "getDayOfMonth": _field(lambda t: t.day - 1),
    "getDayOfWeek": _field(lambda t: t.isoweekday() % 7),
    "getDayOfYear": _field(lambda t: t.timetuple().tm_yday - 1),
    "getHours": _amount(3600, lambda t: t.hour),
    "getMinutes": _amount(60, lambda t: t.minute),
    "getSeconds": _amount(1, lambda t: t.second),
    "getMilliseconds": _milliseconds,
}
