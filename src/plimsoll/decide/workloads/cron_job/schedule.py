"""Schedules of CronJobs: which moments they name.

A schedule of five fields names every whole minute whose time of day and date, in the schedule's
time zone, match the fields. So a time that the clocks skip in spring does not come on that day, and
one that comes twice in autumn comes twice. `@every` names moments at a fixed distance.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from plimsoll.api.cron_schedules import FIELDS, PART, is_schedule

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
SHORT_FORMS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
EVERY = "@every "
DURATION = re.compile(r"([0-9]*\.?[0-9]+|[0-9]+\.)(ns|us|µs|ms|s|m|h)")
SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
YEARS_AHEAD = 5
"""A schedule that names no moment within so many years names none at all."""
LONGEST_INTERVAL = timedelta(days=36_500)


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldSchedule:
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """Sunday is 0."""
    both_days: bool
    """A date must match day and weekday; else one of them is enough."""
    zone: tzinfo

    def next_after(self, moment: datetime) -> datetime | None:
        """The first named moment after this one; None: there is none for years."""
        start = _whole_minute(moment) + MINUTE
        return self._find(start, forward=True, limit=start + YEARS_AHEAD * 366 * DAY)

    def last_until(self, moment: datetime, *, after: datetime) -> datetime | None:
        """The latest named moment until this one and after the other."""
        found = self._find(_whole_minute(moment), forward=False, limit=after)
        return found if found is not None and found > after else None

    def matches(self, local: datetime) -> bool:
        return (
            self._matches_date(local) and local.hour in self.hours and local.minute in self.minutes
        )

    def _matches_date(self, local: datetime) -> bool:
        if local.month not in self.months:
            return False
        by_day = local.day in self.days
        by_weekday = local.isoweekday() % 7 in self.weekdays
        return by_day and by_weekday if self.both_days else by_day or by_weekday

    def _find(self, moment: datetime, *, forward: bool, limit: datetime) -> datetime | None:
        """Goes by days, hours and minutes; never over a change of the clocks in one stride."""
        stride = _stride_forward if forward else _stride_back
        while moment <= limit if forward else moment >= limit:
            local = moment.astimezone(self.zone)
            if not self._matches_date(local):
                moment = _go(moment, local, stride(local, DAY))
            elif local.hour not in self.hours:
                moment = _go(moment, local, stride(local, HOUR))
            elif local.minute not in self.minutes:
                moment += MINUTE if forward else -MINUTE
            else:
                return moment
        return None


@dataclass(frozen=True, slots=True)
class IntervalSchedule:
    interval: timedelta

    def next_after(self, moment: datetime) -> datetime | None:
        return moment.replace(microsecond=0) + self.interval

    def last_until(self, moment: datetime, *, after: datetime) -> datetime | None:
        first = after.replace(microsecond=0) + self.interval
        return None if first > moment else moment - (moment - first) % self.interval


Schedule = FieldSchedule | IntervalSchedule


def parse_schedule(text: str, zone: tzinfo = UTC) -> Schedule:
    """Raises ValueError."""
    if not is_schedule(text):
        raise ValueError(f"{text!r} is not a schedule of five fields, nor a short form")
    if text.startswith(EVERY):
        return IntervalSchedule(_parse_interval(text.removeprefix(EVERY)))
    fields = SHORT_FORMS.get(text, text).split()
    minutes, hours, days, months, weekdays = (
        _parse_field(field, *limits) for field, limits in zip(fields, FIELDS, strict=True)
    )
    return FieldSchedule(
        minutes=minutes,
        hours=hours,
        days=days,
        months=months,
        weekdays=weekdays,
        both_days=_is_open(fields[2]) or _is_open(fields[4]),
        zone=zone,
    )


def parse_zone(name: str | None) -> tzinfo:
    """None is UTC. Raises ValueError for a zone that this machine does not know."""
    if not name:
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, OSError, ValueError) as error:
        raise ValueError(f"unknown time zone {name}") from error


def _parse_field(text: str, lowest: int, highest: int, names: dict[str, int]) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        match = PART.fullmatch(part)
        if match is None:
            raise ValueError(f"{part!r} is not part of a schedule")
        step = int(match["step"] or 1)
        if match["first"] in ("*", "?"):
            first, last = lowest, highest
        else:
            first = _number(match["first"], names)
            # "5/15" goes on to the end of the range.
            alone = highest if match["step"] else first
            last = alone if match["last"] is None else _number(match["last"], names)
        found |= set(range(first, last + 1, step))
    return frozenset(found)


def _number(text: str, names: dict[str, int]) -> int:
    return names[text.lower()] if text.lower() in names else int(text)


def _is_open(field: str) -> bool:
    """Whether it leaves the choice to the other field of days: `*`, but not `*/2`."""
    return any(
        part[:1] in ("*", "?") and part.partition("/")[2] in ("", "1") for part in field.split(",")
    )


def _parse_interval(text: str) -> timedelta:
    parts = DURATION.findall(text)
    if "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"{text!r} is not a duration such as 1h30m")
    seconds = sum(float(number) * SECONDS[unit] for number, unit in parts)
    whole = int(min(seconds, LONGEST_INTERVAL.total_seconds()))
    return timedelta(seconds=max(whole, 1))


# Strides


def _whole_minute(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(second=0, microsecond=0)


def _stride_forward(local: datetime, unit: timedelta) -> timedelta:
    """To the beginning of the next day or hour."""
    return unit - _since_beginning(local, unit)


def _stride_back(local: datetime, unit: timedelta) -> timedelta:
    """To the last minute of the day or hour before."""
    return -_since_beginning(local, unit) - MINUTE


def _since_beginning(local: datetime, unit: timedelta) -> timedelta:
    into_hour = timedelta(minutes=local.minute)
    return into_hour if unit == HOUR else into_hour + timedelta(hours=local.hour)


def _go(moment: datetime, local: datetime, stride: timedelta) -> datetime:
    there = moment + stride
    if there.astimezone(local.tzinfo).utcoffset() == local.utcoffset():
        return there
    # The clocks change on the way: what the stride passes over is not what it seems.
    return moment + (MINUTE if stride > timedelta() else -MINUTE)
