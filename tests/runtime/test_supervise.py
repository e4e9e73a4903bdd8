import asyncio
import logging
from datetime import timedelta
from random import Random

import pytest

from plimsoll.runtime.clock import SteppedClock, settle
from plimsoll.runtime.metrics import Metrics
from plimsoll.runtime.supervise import Supervision, supervise


def a_supervision(clock: SteppedClock) -> Supervision:
    return Supervision(clock=clock, chance=Random(0), metrics=Metrics())


async def test_a_failing_loop_is_logged_counted_and_started_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = SteppedClock()
    runs: list[float] = []

    async def fails_twice() -> None:
        runs.append(clock.monotonic())
        if len(runs) < 3:
            raise RuntimeError("a bug")

    with_ = a_supervision(clock)
    task = asyncio.ensure_future(supervise({"binder": fails_twice}, with_))
    await clock.run(timedelta(seconds=10))
    await task

    assert len(runs) == 3
    assert runs[1] >= 0.5, "not at once"
    assert runs[2] - runs[1] >= 1, "later each time"
    assert [r.levelno for r in caplog.records] == [logging.ERROR] * 2
    assert b'plimsoll_loop_restarts_total{loop="binder"} 2.0' in with_.metrics.exposition()


async def test_other_loops_go_on_while_one_fails() -> None:
    clock = SteppedClock()
    ticks: list[float] = []

    async def fails() -> None:
        raise RuntimeError

    async def ticks_on() -> None:
        while True:
            await clock.sleep(timedelta(seconds=1))
            ticks.append(clock.monotonic())

    task = asyncio.ensure_future(supervise({"bad": fails, "good": ticks_on}, a_supervision(clock)))
    await clock.run(timedelta(seconds=5))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ticks == [1, 2, 3, 4, 5]


async def test_cancelling_the_supervision_ends_all_loops() -> None:
    ended: list[str] = []

    async def runs_for_ever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("loop")

    task = asyncio.ensure_future(
        supervise({"a": runs_for_ever, "b": runs_for_ever}, a_supervision(SteppedClock()))
    )
    await settle()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == ["loop", "loop"]
