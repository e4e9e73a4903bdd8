import asyncio
from datetime import timedelta

import pytest

from plimsoll.runtime.clock import Clock, SteppedClock, SystemClock, settle

SECOND = timedelta(seconds=1)


async def _sleep_then_note(clock: Clock, seconds: int, notes: list[str]) -> None:
    await clock.sleep(seconds * SECOND)
    notes.append(f"{seconds}s at {clock.monotonic():g}")


async def test_sleepers_wake_in_the_order_of_their_time() -> None:
    clock = SteppedClock()
    notes: list[str] = []
    async with asyncio.TaskGroup() as group:
        for seconds in (3, 1, 2):
            group.create_task(_sleep_then_note(clock, seconds, notes))
        await clock.run(timedelta(seconds=5))

    assert notes == ["1s at 1", "2s at 2", "3s at 3"]
    assert clock.monotonic() == 5


async def test_sleepers_of_one_moment_wake_in_the_order_in_which_they_lay_down() -> None:
    clock = SteppedClock()
    notes: list[str] = []

    async def note(name: str) -> None:
        await clock.sleep(SECOND)
        notes.append(name)

    async with asyncio.TaskGroup() as group:
        for name in "abc":
            group.create_task(note(name))
        await settle()
        clock.advance(SECOND)

    assert notes == ["a", "b", "c"]


async def test_a_loop_that_sleeps_again_is_woken_at_every_turn() -> None:
    clock = SteppedClock()
    turns: list[float] = []

    async def tick() -> None:
        for _ in range(3):
            await clock.sleep(10 * SECOND)
            turns.append(clock.monotonic())

    async with asyncio.TaskGroup() as group:
        group.create_task(tick())
        await clock.run(timedelta(minutes=1))

    assert turns == [10, 20, 30]


async def test_nothing_happens_before_its_time() -> None:
    clock = SteppedClock()
    task = asyncio.ensure_future(clock.sleep(10 * SECOND))
    await clock.run(9 * SECOND)
    assert not task.done()
    await clock.run(SECOND)
    assert task.done()


async def test_a_wait_that_takes_too_long_times_out() -> None:
    clock = SteppedClock()
    waiting = asyncio.ensure_future(clock.wait_for(asyncio.Event().wait(), 5 * SECOND))
    await clock.run(5 * SECOND)
    with pytest.raises(TimeoutError):
        await waiting


async def test_a_wait_that_ends_in_time_leaves_no_alarm_behind() -> None:
    clock = SteppedClock()
    done = asyncio.Event()
    done.set()
    assert await clock.wait_for(done.wait(), 5 * SECOND)
    assert clock.next_due() is None


async def test_an_outer_cancellation_is_not_mistaken_for_a_timeout() -> None:
    clock = SteppedClock()
    waiting = asyncio.ensure_future(clock.wait_for(asyncio.Event().wait(), 5 * SECOND))
    await settle()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_clean_up_code_of_a_cancelled_task_has_a_timeout_of_its_own() -> None:
    clock, ended = SteppedClock(), []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            with pytest.raises(TimeoutError):
                await clock.wait_for(asyncio.Event().wait(), 5 * SECOND)
            ended.append(True)

    working = asyncio.ensure_future(work())
    await settle()
    working.cancel()
    await clock.run(5 * SECOND)
    with pytest.raises(asyncio.CancelledError):
        await working
    assert ended == [True]


async def test_a_second_cancellation_ends_clean_up_code_before_its_timeout() -> None:
    clock, seen = SteppedClock(), []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            try:
                await clock.wait_for(asyncio.Event().wait(), 5 * SECOND)
            except BaseException as error:
                seen.append(type(error))
                raise

    working = asyncio.ensure_future(work())
    await settle()
    working.cancel()
    await settle()
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert seen == [asyncio.CancelledError]


async def test_settle_returns_only_when_everything_has_run() -> None:
    steps: list[int] = []

    async def many_turns() -> None:
        for number in range(1000):
            steps.append(number)
            await asyncio.sleep(0)

    task = asyncio.ensure_future(many_turns())
    await settle()
    assert len(steps) == 1000
    assert task.done()


async def test_the_system_clock_knows_its_time_zone_and_wakes_sleepers() -> None:
    clock = SystemClock()
    assert clock.now().utcoffset() == timedelta()
    before = clock.monotonic()
    await clock.sleep(timedelta(milliseconds=1))
    assert clock.monotonic() > before
