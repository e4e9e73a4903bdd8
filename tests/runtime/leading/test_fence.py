import asyncio
import math
from datetime import timedelta

from plimsoll.runtime.clock import SteppedClock, SystemClock, settle
from plimsoll.runtime.leading.fence import Fence

SECOND = timedelta(seconds=1)


def test_a_fence_is_closed_until_a_lease_is_held() -> None:
    assert not Fence(SteppedClock()).is_open


def test_it_is_open_until_the_moment_that_it_was_extended_to() -> None:
    clock = SteppedClock()
    fence = Fence(clock)
    fence.extend(10)
    clock.advance(9 * SECOND)
    assert fence.passes()
    clock.advance(SECOND)
    assert not fence.passes()


def test_time_in_which_the_machine_was_suspended_counts() -> None:
    clock = SteppedClock()
    fence = Fence(clock)
    fence.extend(10)
    clock.suspend(11 * SECOND)
    assert clock.monotonic() == 0
    assert not fence.passes()


async def test_once_it_turned_an_effect_away_it_stays_closed() -> None:
    clock = SteppedClock()
    fence = Fence(clock)
    told = asyncio.ensure_future(fence.refused())
    fence.extend(1)
    clock.advance(SECOND)
    await settle()
    assert not told.done(), "nothing was tried yet"
    assert not fence.passes()
    fence.extend(math.inf)
    assert not fence.passes()
    await told


def test_a_process_without_an_election_is_never_fenced() -> None:
    clock = SteppedClock()
    fence = Fence.left_open(clock)
    clock.advance(timedelta(days=400))
    assert fence.passes()


def test_the_clock_of_the_system_goes_on_over_a_suspend() -> None:
    clock = SystemClock()
    assert clock.boottime() >= clock.monotonic() - 1
