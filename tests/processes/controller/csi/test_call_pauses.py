from datetime import timedelta
from random import Random

from plimsoll.api.meta import ObjectKey
from plimsoll.processes.controller.csi.call_pauses import CallPauses
from plimsoll.runtime.backoff import Backoff
from plimsoll.runtime.clock import NO_TIME, SteppedClock

KEY = ObjectKey("", "content")
OTHER = ObjectKey("", "other")
BACKOFF = Backoff(first=timedelta(seconds=1), limit=timedelta(seconds=5))


def pauses(clock: SteppedClock) -> CallPauses:
    return CallPauses(clock, Random(1), BACKOFF)


def test_pauses_grow_with_the_failures_of_one_object_up_to_a_limit() -> None:
    made = pauses(SteppedClock())
    lengths = [made.begin(KEY, "same").total_seconds() for _ in range(8)]

    assert lengths[0] <= 1.0 < lengths[2] <= 4.0
    assert all(2.5 <= length <= 5.0 for length in lengths[3:])
    assert made.begin(OTHER, "same") <= timedelta(seconds=1)


def test_a_pause_is_over_after_its_time() -> None:
    clock = SteppedClock()
    made = pauses(clock)
    length = made.begin(KEY, "same")

    assert made.left(KEY, "same") == length
    clock.advance(length)
    assert made.left(KEY, "same") == NO_TIME


def test_a_pause_is_over_when_the_object_has_changed_or_a_call_went_well() -> None:
    made = pauses(SteppedClock())
    made.begin(KEY, "as it was")

    assert made.left(KEY, "changed") == NO_TIME
    made.end(KEY)
    assert made.left(KEY, "as it was") == NO_TIME
