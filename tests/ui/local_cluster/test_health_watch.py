"""Silence is several probes in a row without an answer, by a clock that is stepped."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from plimsoll.runtime.clock import SteppedClock
from plimsoll.ui.local_cluster.health_watch import HealthPage, HealthRule, until_silent
from plimsoll.wire.health import not_yet, serving

RULE = HealthRule(limit=timedelta(milliseconds=100))


@asynccontextmanager
async def watched(page: HealthPage, clock: SteppedClock) -> AsyncIterator["asyncio.Future[None]"]:
    watching = asyncio.ensure_future(until_silent(page, RULE, clock))
    try:
        yield watching
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def probes(count: int, clock: SteppedClock) -> None:
    """So many, each with its answer or without one."""
    for _ in range(count):
        await clock.run(RULE.every)
        async with asyncio.timeout(60):
            while clock.next_due() is None:  # noqa: ASYNC110 - the probe goes through a real socket
                await asyncio.sleep(0.01)


async def test_a_process_that_says_it_is_not_ready_answers() -> None:
    clock = SteppedClock()
    async with serving(0, {"/healthz": lambda: not_yet("starting")}) as port:
        page = HealthPage(url=f"http://127.0.0.1:{port}/healthz")
        async with watched(page, clock) as watching:
            await asyncio.sleep(0)
            await probes(RULE.misses * 2, clock)
            assert not watching.done()


async def test_one_missed_answer_is_forgiven_and_several_in_a_row_are_not() -> None:
    clock = SteppedClock()
    async with serving(0, {}) as port:
        page = HealthPage(url=f"http://127.0.0.1:{port}/healthz")
        async with watched(page, clock) as watching:
            await asyncio.sleep(0)
            await probes(1, clock)
    nowhere = HealthPage(url=f"http://127.0.0.1:{port}/healthz")
    async with watched(nowhere, clock) as watching:
        await asyncio.sleep(0)
        await probes(RULE.misses - 1, clock)
        assert not watching.done()
        await clock.run(RULE.every)
        async with asyncio.timeout(60):
            await watching
