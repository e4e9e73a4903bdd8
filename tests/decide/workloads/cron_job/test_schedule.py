"""Which moments the schedules of CronJobs name."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings, strategies as st

from plimsoll.decide.workloads.cron_job.schedule import (
    FieldSchedule,
    parse_schedule,
    parse_zone,
)

NEW_YORK = ZoneInfo("America/New_York")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")
MINUTE = timedelta(minutes=1)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("schedule", "after", "expected"),
    [
        ("* * * * *", "2024-01-01 12:00:30", "2024-01-01 12:01"),
        ("* * * * *", "2024-01-01 12:00:00", "2024-01-01 12:01"),
        ("*/15 * * * *", "2024-01-01 12:46", "2024-01-01 13:00"),
        ("5/20 * * * *", "2024-01-01 12:06", "2024-01-01 12:25"),
        ("30 6-16/4 * * 1-5", "2024-01-05 14:30", "2024-01-08 06:30"),
        ("0 0 29 2 *", "2024-03-01 00:00", "2028-02-29 00:00"),
        ("0 12 * JAN,jul Sun", "2024-02-01 00:00", "2024-07-07 12:00"),
        ("0 0 13 * 5", "2024-01-01 00:00", "2024-01-05 00:00"),
        ("0 0 13 * *", "2024-01-01 00:00", "2024-01-13 00:00"),
        ("0 0 */2 * 1", "2024-01-01 12:00", "2024-01-03 00:00"),
        ("0 0 ? * 1", "2024-01-02 12:00", "2024-01-08 00:00"),
        ("@hourly", "2024-01-01 12:00", "2024-01-01 13:00"),
        ("@daily", "2024-01-01 12:00", "2024-01-02 00:00"),
        ("@midnight", "2024-01-01 12:00", "2024-01-02 00:00"),
        ("@weekly", "2024-01-01 12:00", "2024-01-07 00:00"),
        ("@monthly", "2024-01-01 12:00", "2024-02-01 00:00"),
        ("@yearly", "2024-01-01 12:00", "2025-01-01 00:00"),
        ("@annually", "2024-01-01 12:00", "2025-01-01 00:00"),
        ("@every 1h30m", "2024-01-01 12:00:07.5", "2024-01-01 13:30:07"),
        ("@every 0.1s", "2024-01-01 12:00", "2024-01-01 12:00:01"),
    ],
)
def test_a_schedule_names_its_next_moment(schedule: str, after: str, expected: str) -> None:
    assert parse_schedule(schedule).next_after(at(after)) == at(expected)


def test_a_date_that_never_comes_is_found_out() -> None:
    assert parse_schedule("59 23 31 2 *").next_after(at("2024-01-01")) is None


@pytest.mark.parametrize(
    "text", ["", "* * * *", "60 * * * *", "@every day", "@every 1h x", "@sometimes", "0 0 0 * *"]
)
def test_what_is_no_schedule_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not"):
        parse_schedule(text)


@pytest.mark.parametrize("name", ["Nowhere/City", "../etc/passwd", "America"])
def test_an_unknown_time_zone_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="unknown time zone"):
        parse_zone(name)


def test_a_time_that_the_clocks_skip_does_not_come_on_that_day() -> None:
    schedule = parse_schedule("30 2 * * *", NEW_YORK)
    assert schedule.next_after(at("2024-03-09 12:00")) == at("2024-03-11 06:30")


def test_a_time_that_comes_twice_comes_twice() -> None:
    schedule = parse_schedule("30 1 * * *", NEW_YORK)
    first = schedule.next_after(at("2024-11-03 00:00"))
    assert first == at("2024-11-03 05:30")
    assert schedule.next_after(first) == at("2024-11-03 06:30")


@pytest.mark.parametrize(
    ("after", "until", "expected"),
    [
        ("2024-01-01 12:00", "2024-01-01 12:59", None),
        ("2024-01-01 12:00", "2024-01-01 13:00", "2024-01-01 13:00"),
        ("2024-01-01 12:00", "2024-03-01 00:30:30", "2024-03-01 00:00"),
    ],
)
def test_a_schedule_names_its_latest_moment(after: str, until: str, expected: str | None) -> None:
    found = parse_schedule("@hourly").last_until(at(until), after=at(after))
    assert found == (at(expected) if expected else None)
    found = parse_schedule("@every 1h").last_until(at(until), after=at(after))
    assert found == (at(expected) if expected else None)


# Against a plain twin that tries every minute


def fields(lowest: int, highest: int) -> st.SearchStrategy[str]:
    number = st.integers(lowest, highest)
    ranges = st.tuples(number, number).map(lambda pair: f"{min(pair)}-{max(pair)}")
    steps = st.tuples(ranges, st.integers(1, 20)).map(lambda pair: f"{pair[0]}/{pair[1]}")
    part = st.one_of(st.just("*"), st.just("*/7"), number.map(str), ranges, steps)
    return st.lists(part, min_size=1, max_size=2).map(",".join)


SCHEDULES = st.tuples(fields(0, 59), fields(0, 23), fields(1, 31), st.just("*"), fields(0, 6)).map(
    " ".join
)
ZONES = st.sampled_from([UTC, NEW_YORK, LORD_HOWE])
# Around the days on which clocks change in New York and on Lord Howe Island.
MOMENTS = st.sampled_from(
    ["2024-03-10", "2024-11-03", "2024-04-06", "2024-10-05", "2024-02-28", "2024-12-31"]
).flatmap(
    lambda day: st.integers(-26 * 60, 26 * 60).map(lambda minutes: at(day) + minutes * MINUTE)
)
TRIED = 4 * 24 * 60


@settings(deadline=None)
@given(text=SCHEDULES, zone=ZONES, moment=MOMENTS)
def test_the_next_moment_is_the_one_found_by_trying_every_minute(
    text: str, zone: ZoneInfo, moment: datetime
) -> None:
    schedule = parse_schedule(text, zone)
    assert isinstance(schedule, FieldSchedule)
    tried = (moment + number * MINUTE for number in range(1, TRIED))
    twin = next((each for each in tried if schedule.matches(each.astimezone(zone))), None)
    found = schedule.next_after(moment)
    if twin is None:
        assert found is None or found > moment + (TRIED - 1) * MINUTE
    else:
        assert found == twin


@settings(deadline=None)
@given(text=SCHEDULES, zone=ZONES, moment=MOMENTS, span=st.integers(1, TRIED))
def test_the_latest_moment_is_the_one_found_by_trying_every_minute(
    text: str, zone: ZoneInfo, moment: datetime, span: int
) -> None:
    schedule = parse_schedule(text, zone)
    assert isinstance(schedule, FieldSchedule)
    tried = (moment - number * MINUTE for number in range(span))
    twin = next((each for each in tried if schedule.matches(each.astimezone(zone))), None)
    assert schedule.last_until(moment, after=moment - span * MINUTE) == twin
