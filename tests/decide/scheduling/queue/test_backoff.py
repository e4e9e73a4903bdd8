from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from plimsoll.decide.scheduling.queue.backoff import Attempts, PodBackoff

NOON = datetime(2024, 1, 1, 12, 0, 0, 250_000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("attempts", "seconds"),
    [
        (Attempts(), 0),
        (Attempts(unschedulable=1), 1),
        (Attempts(unschedulable=4), 8),
        (Attempts(unschedulable=5), 10),
        (Attempts(unschedulable=1000), 10),
        (Attempts(unschedulable=9, consecutive_errors=2), 2),
    ],
)
def test_the_wait_doubles_up_to_a_limit(attempts: Attempts, seconds: int) -> None:
    assert PodBackoff().delay(attempts) == timedelta(seconds=seconds)


def test_the_wait_is_over_after_the_second_in_which_it_ends() -> None:
    once = Attempts(unschedulable=1)
    free_at = PodBackoff().free_at(once, NOON)
    assert free_at == datetime(2024, 1, 1, 12, 0, 2, tzinfo=UTC)
    assert not PodBackoff().is_over(once, NOON, free_at - timedelta(microseconds=1))
    assert PodBackoff().is_over(once, NOON, free_at)


def test_without_a_limit_or_an_attempt_there_is_no_wait() -> None:
    assert PodBackoff(limit=timedelta()).is_over(Attempts(unschedulable=3), NOON, NOON)
    assert PodBackoff().free_at(Attempts(), NOON) is None
    assert PodBackoff(first=timedelta()).delay(Attempts(unschedulable=3)) == timedelta()


@given(st.integers(1, 300), st.integers(1, 10**6), st.integers(1, 10**6))
def test_no_wait_is_longer_than_the_limit(count: int, first: int, limit: int) -> None:
    backoff = PodBackoff(first=timedelta(seconds=first), limit=timedelta(seconds=limit))
    delay = backoff.delay(Attempts(unschedulable=count))
    assert timedelta() < delay <= timedelta(seconds=limit)
    assert delay <= backoff.delay(Attempts(unschedulable=count + 1))
