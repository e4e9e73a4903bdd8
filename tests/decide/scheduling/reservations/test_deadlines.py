"""Deadlines of reservations; what they end is in `test_index`."""

from datetime import UTC, datetime, timedelta

import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.decide.scheduling.reservations.deadlines import (
    UNBEGUN,
    UNDECIDED,
    ReservationDeadlines,
    ReservationWait,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MOMENT = timedelta(seconds=1)
CLAIM = ObjectKey("default", "data")
DATA = ReservationWait(CLAIM)


def test_time_runs_from_the_first_time_that_is_told() -> None:
    deadlines = ReservationDeadlines()
    deadlines.advance(NOON)
    deadlines.begin(DATA)
    # Nothing was told for an hour: the claim may have begun to wait a moment ago.
    later = NOON + timedelta(hours=1)
    assert deadlines.advance(later) == []
    assert deadlines.next_end == later + UNBEGUN
    assert deadlines.advance(later + UNBEGUN - MOMENT) == []
    assert deadlines.advance(later + UNBEGUN) == [CLAIM]
    assert deadlines.is_over(DATA)


def test_a_claim_that_begins_twice_waits_once() -> None:
    deadlines = ReservationDeadlines()
    deadlines.begin(DATA)
    deadlines.advance(NOON)
    deadlines.begin(DATA)
    assert deadlines.advance(NOON + UNBEGUN) == [CLAIM]


def test_a_claim_that_begins_anew_waits_anew() -> None:
    deadlines = ReservationDeadlines()
    deadlines.begin(DATA)
    deadlines.advance(NOON)
    deadlines.forget(DATA)
    deadlines.begin(DATA)
    deadlines.advance(NOON + UNBEGUN)
    assert not deadlines.is_over(DATA)


def test_what_was_paused_lasts_as_long_as_was_left_of_it() -> None:
    deadlines = ReservationDeadlines()
    deadlines.begin(DATA)
    deadlines.advance(NOON)
    deadlines.advance(NOON + MOMENT)
    deadlines.pause(DATA)
    later = NOON + timedelta(hours=1)
    deadlines.advance(later)
    assert not deadlines.is_over(DATA)
    deadlines.begin(DATA)
    deadlines.advance(later)
    deadlines.advance(later + UNBEGUN - 2 * MOMENT)
    assert not deadlines.is_over(DATA)
    assert deadlines.advance(later + UNBEGUN - MOMENT) == [CLAIM]
    assert deadlines.is_over(DATA)


def test_what_has_ended_and_was_paused_does_not_go_on() -> None:
    deadlines = ReservationDeadlines()
    deadlines.begin(DATA)
    deadlines.advance(NOON)
    deadlines.advance(NOON + UNBEGUN)
    deadlines.pause(DATA)
    deadlines.begin(DATA)
    assert deadlines.is_over(DATA)


@pytest.mark.parametrize(
    ("passed", "left"),
    [
        pytest.param(MOMENT, UNBEGUN - MOMENT, id="most-is-left"),
        pytest.param(UNBEGUN - MOMENT, UNDECIDED, id="less-is-left"),
        pytest.param(UNBEGUN, UNDECIDED, id="nothing-is-left"),
    ],
)
def test_what_is_allowed_more_lasts_so_long_at_least(passed: timedelta, left: timedelta) -> None:
    deadlines = ReservationDeadlines()
    deadlines.begin(DATA)
    deadlines.advance(NOON)
    now = NOON + passed
    deadlines.advance(now)
    deadlines.allow(DATA, UNDECIDED)
    assert not deadlines.is_over(DATA)
    deadlines.begin(DATA)
    deadlines.advance(now)
    deadlines.advance(now + left - MOMENT)
    assert not deadlines.is_over(DATA)
    deadlines.advance(now + left)
    assert deadlines.is_over(DATA)


def test_what_is_new_is_allowed_no_less_than_any_other() -> None:
    deadlines = ReservationDeadlines()
    deadlines.advance(NOON)
    deadlines.allow(DATA, UNDECIDED)
    deadlines.begin(DATA)
    deadlines.advance(NOON)
    assert deadlines.next_end == NOON + UNBEGUN


def test_what_was_not_decided_ends_early_and_not_later_by_being_refused_again() -> None:
    deadlines = ReservationDeadlines()
    deadlines.begin(DATA)
    deadlines.advance(NOON)
    deadlines.shorten(DATA)
    deadlines.advance(NOON + MOMENT)
    deadlines.shorten(DATA)
    assert deadlines.next_end == NOON + UNDECIDED
    deadlines.advance(NOON + UNDECIDED)
    assert deadlines.is_over(DATA)


def test_what_was_shortened_can_last_as_long_as_before_and_no_longer() -> None:
    deadlines = ReservationDeadlines()
    deadlines.begin(DATA)
    deadlines.advance(NOON)
    deadlines.shorten(DATA)
    deadlines.advance(NOON + MOMENT)
    deadlines.restore(DATA)
    deadlines.advance(NOON + UNBEGUN - MOMENT)
    assert not deadlines.is_over(DATA)
    deadlines.advance(NOON + UNBEGUN)
    assert deadlines.is_over(DATA)


def test_a_claim_that_does_not_wait_gets_no_deadline_by_a_refusal() -> None:
    deadlines = ReservationDeadlines()
    deadlines.advance(NOON)
    deadlines.shorten(DATA)
    assert deadlines.next_end is None


def test_time_never_runs_backwards() -> None:
    deadlines = ReservationDeadlines()
    deadlines.begin(DATA)
    deadlines.advance(NOON)
    deadlines.advance(NOON + UNBEGUN)
    deadlines.advance(NOON)
    assert deadlines.is_over(DATA)


def test_a_fork_goes_its_own_way() -> None:
    deadlines = ReservationDeadlines()
    deadlines.begin(DATA)
    deadlines.advance(NOON)
    twin = deadlines.fork()
    twin.forget(DATA)
    deadlines.advance(NOON + UNBEGUN)
    assert deadlines.is_over(DATA)
    assert not twin.is_over(DATA)
