"""The clock of a story."""

import asyncio
from datetime import timedelta

import pytest

from plimsoll.runtime.clock import EPOCH
from plimsoll.simulator.engine.loop import EscapeError
from plimsoll.simulator.stories.story_clock import StoryClock

HOUR = timedelta(hours=1)


@pytest.mark.virtual_time
async def test_it_begins_when_it_is_made_and_runs_as_long_as_it_is_told() -> None:
    await StoryClock().run(HOUR)
    clock = StoryClock()
    assert clock.now() == EPOCH
    await clock.run(HOUR)
    assert clock.now() == EPOCH + HOUR


@pytest.mark.virtual_time
async def test_everything_that_is_due_by_then_has_happened() -> None:
    clock, told = StoryClock(), list[str]()

    async def tell() -> None:
        for name in ("first", "second"):
            await clock.sleep(HOUR)
            told.append(name)
        clock.call_later(timedelta(), lambda: told.append("at the same moment"))
        await clock.sleep(HOUR)
        told.append("too late")

    running = asyncio.ensure_future(tell())
    await clock.run(2 * HOUR)
    running.cancel()
    assert told == ["first", "second", "at the same moment"]


@pytest.mark.virtual_time
async def test_a_machine_that_is_suspended_loses_time_but_no_alarm_comes_closer() -> None:
    clock, rung = StoryClock(), list[str]()
    before = clock.boottime() - clock.monotonic()
    clock.call_later(HOUR, lambda: rung.append("alarm"))
    clock.suspend(2 * HOUR)
    await clock.run(HOUR / 2)
    assert rung == []
    assert clock.now() == EPOCH + 2.5 * HOUR
    assert clock.boottime() - clock.monotonic() == before + 7200


async def test_it_needs_the_event_loop_of_the_simulator() -> None:
    with pytest.raises(EscapeError, match="run_virtually"):
        StoryClock()
