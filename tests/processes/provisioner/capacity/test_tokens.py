"""The counter of tokens goes up, whatever happened before."""

from datetime import UTC, datetime, timedelta

from plimsoll.decide.capacity.tokens import CapacityToken
from plimsoll.processes.provisioner.capacity.tokens import TokenCounter
from plimsoll.runtime.clock import SteppedClock
from plimsoll.runtime.leading.fence import Fence

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def a_counter(began: datetime = NOON) -> TokenCounter:
    clock = SteppedClock(began)
    return TokenCounter(Fence.left_open(clock), clock)


def test_each_volume_has_a_larger_token() -> None:
    counter = a_counter()
    before = counter.current()
    first = counter.raised()
    assert before < first < counter.raised()
    assert counter.current() > first


def test_a_process_that_starts_later_has_larger_tokens() -> None:
    earlier = a_counter()
    for _ in range(100):
        earlier.raised()
    assert a_counter(NOON + timedelta(milliseconds=1)).current() > earlier.current()


def test_reports_reach_volumes_whose_tokens_are_larger_than_their_own() -> None:
    """As after leader election was turned on again: its lease is old."""
    counter = a_counter()
    foreign = CapacityToken(counter.current().since + 1000, 5, 7)
    counter.saw(foreign)
    counter.saw(CapacityToken(1, 1, 1))
    counter.saw(None)
    assert counter.current() == foreign
    assert counter.raised() > foreign
    assert counter.raised() == foreign._replace(counter=9) == counter.current()
