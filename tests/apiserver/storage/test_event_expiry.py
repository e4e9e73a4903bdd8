"""Events are kept for a while after they were last written; everything else stays."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

from plimsoll.apiserver.storage.event_expiry import EventExpiry
from plimsoll.apiserver.storage.store import MemoryStore
from plimsoll.runtime.clock import SteppedClock
from tests.apiserver.api import Api, serving

EVENTS = "/api/v1/namespaces/default/events"
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


@asynccontextmanager
async def expiring(clock: SteppedClock, store: MemoryStore | None = None) -> AsyncIterator[Api]:
    async with serving(store=store, clock=clock) as api:
        task = asyncio.ensure_future(EventExpiry(api.server.cluster, HOUR).run())
        try:
            yield api
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def record(api: Api, name: str) -> None:
    event = {
        "metadata": {"name": name},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"},
        "reason": "Tested",
        "type": "Normal",
    }
    reply = await api.ask("POST", EVENTS, event)
    assert reply.status == 201, reply


async def events(api: Api) -> list[str]:
    return (await api.ask("GET", EVENTS)).names


async def test_an_event_goes_an_hour_after_it_was_written() -> None:
    clock = SteppedClock()
    async with expiring(clock) as api:
        await record(api, "early")
        await api.create("map")
        await clock.run(30 * MINUTE)
        await record(api, "late")
        await clock.run(29 * MINUTE)
        assert await events(api) == ["early", "late"]
        await clock.run(2 * MINUTE)
        assert await events(api) == ["late"]
        await clock.run(HOUR)
        assert await events(api) == []
        assert (await api.list()).names == ["map"]


async def test_an_event_that_is_written_again_stays_for_another_hour() -> None:
    clock = SteppedClock()
    async with expiring(clock) as api:
        await record(api, "again")
        await clock.run(50 * MINUTE)
        await api.ask("PATCH", f"{EVENTS}/again", {"metadata": {"labels": {"seen": "twice"}}})
        await clock.run(50 * MINUTE)
        assert await events(api) == ["again"]
        await clock.run(11 * MINUTE)
        assert await events(api) == []


async def test_watchers_are_told_of_each_event_that_goes() -> None:
    clock = SteppedClock()
    async with expiring(clock) as api:
        for number in range(250):
            await record(api, f"e-{number:03}")
        async with api.watch(
            path=EVENTS, resourceVersion=str((await api.list()).revision)
        ) as watch:
            await clock.run(HOUR + MINUTE)
            seen = await watch.seen()
    assert seen == [("DELETED", f"e-{number:03}") for number in range(250)]


async def test_a_restart_does_not_make_events_young_again() -> None:
    clock, store = SteppedClock(), MemoryStore()
    async with expiring(clock, store) as api:
        await record(api, "old")
        await clock.run(50 * MINUTE)
    async with expiring(clock, store) as api:
        await clock.run(9 * MINUTE)
        assert await events(api) == ["old"]
        await clock.run(2 * MINUTE)
        assert await events(api) == []
