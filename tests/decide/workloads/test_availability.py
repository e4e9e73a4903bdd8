from datetime import timedelta

import pytest

from plimsoll.decide.workloads.availability import (
    is_active,
    is_available,
    next_availability,
    share_of,
)
from tests.decide.workloads.objects import NOW, a_pod

AGO_10 = NOW - timedelta(seconds=10)


def test_a_pod_is_available_once_it_was_ready_for_long_enough() -> None:
    pod = a_pod(since=AGO_10)
    assert is_available(pod, 0, NOW)
    assert is_available(pod, 10, NOW)
    assert not is_available(pod, 11, NOW)
    assert not is_available(a_pod(ready=False, since=AGO_10), 0, NOW)


def test_the_next_look_is_when_the_first_of_them_becomes_available() -> None:
    pods = [
        a_pod(since=AGO_10),
        a_pod(since=NOW),
        a_pod(ready=False),
        a_pod(since=NOW - timedelta(1)),
    ]
    assert next_availability(pods, 30, NOW) == timedelta(seconds=20)
    assert next_availability(pods, 0, NOW) is None
    assert next_availability([a_pod(ready=False)], 30, NOW) is None


def test_finished_pods_and_those_that_leave_are_not_active() -> None:
    assert is_active(a_pod(phase="Pending"))
    assert not is_active(a_pod(phase="Failed"))
    assert not is_active(a_pod(deletion_timestamp=NOW))


@pytest.mark.parametrize(
    ("value", "up", "down"),
    [(None, 0, 0), (2, 2, 2), ("25%", 3, 2), ("100%", 10, 10), ("0%", 0, 0), ("1%", 1, 0)],
)
def test_shares_are_rounded_as_asked_for(value: int | str | None, up: int, down: int) -> None:
    assert share_of(10, value, round_up=True) == up
    assert share_of(10, value, round_up=False) == down
