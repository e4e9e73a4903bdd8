"""The informer over a model server: what arrives in the store and at the handlers."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from random import Random

import msgspec
import pytest

from plimsoll.api.registry import Document, resources_by_path
from plimsoll.cache.informer import Informer, InformerSettings
from plimsoll.cache.store import Store
from plimsoll.runtime.clock import SteppedClock, settle
from plimsoll.wire.kind import documents
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.transport import Response
from tests.cache.model_server import (
    GONE,
    ModelServer,
    ModelTransport,
    bookmark,
    disconnected,
    line,
    status,
)

KIND = documents(resources_by_path()["", "v1", "configmaps"])
SECOND = timedelta(seconds=1)


class Bench:
    """An informer that runs on a model server, with everything it says written down."""

    def __init__(self, settings: InformerSettings) -> None:
        self.clock = SteppedClock()
        self.transport = ModelTransport(ModelServer())
        self.store: Store[Document] = Store()
        client = KubeClient(self.transport, clock=self.clock, chance=Random(0))
        self.informer = Informer(client, KIND, self.store, settings=settings)
        self.heard: list[str] = []
        self.informer.on_change(
            lambda c: self.heard.append(
                f"{'+' if c.before is None else '-' if c.after is None else '~'}{c.key.name}"
            )
        )
        self.task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        async with asyncio.TaskGroup() as group:
            self.task = group.create_task(self.informer.run())

    @property
    def copy(self) -> dict[str, Document]:
        return {k.name: o for k, o in self.store.snapshot().objects.items()}

    @property
    def lists(self) -> int:
        return sum(1 for r in self.transport.requests if "watch" not in dict(r.query))

    async def pass_(self, duration: timedelta = SECOND) -> None:
        await self.clock.run(duration)


@pytest.fixture
def settings() -> InformerSettings:
    return InformerSettings(page_size=2)


@pytest.fixture
async def bench(settings: InformerSettings) -> AsyncIterator[Bench]:
    bench = Bench(settings)
    for name in "abc":
        bench.transport.server.put(name)
    running = asyncio.ensure_future(bench.start())
    await settle()
    yield bench
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_everything_is_listed_in_pages_and_then_followed(bench: Bench) -> None:
    assert bench.informer.has_synced
    assert bench.heard == ["+a", "+b", "+c"]
    assert bench.lists == 2
    bench.transport.put("a", "new")
    bench.transport.delete("b")
    bench.transport.put("d")
    await settle()
    assert bench.heard[3:] == ["~a", "-b", "+d"]
    assert bench.copy == bench.transport.server.objects


async def test_a_disconnect_costs_a_pause_but_no_list(bench: Bench) -> None:
    bench.transport.say(disconnected())
    await settle()
    bench.transport.server.put("e")
    assert bench.informer.silence == timedelta()
    await bench.pass_()
    assert bench.copy == bench.transport.server.objects
    assert bench.lists == 2


async def test_history_that_is_gone_is_listed_again_with_what_was_deleted_meanwhile(
    bench: Bench,
) -> None:
    bench.transport.say(disconnected())
    await settle()
    bench.transport.server.delete("a")
    bench.transport.server.compact()
    bench.heard.clear()
    await bench.pass_(5 * SECOND)
    assert bench.heard == ["-a"]
    assert bench.copy == bench.transport.server.objects
    assert bench.lists == 3


async def test_it_is_known_how_far_the_watch_has_come_and_since_when_nothing_was_missed(
    bench: Bench,
) -> None:
    first = str(bench.transport.server.version)
    assert (bench.informer.listed_version, bench.informer.position) == (first, first)
    bench.transport.put("a", "new")
    await settle()
    assert bench.informer.position == str(bench.transport.server.version)
    bench.transport.server.version = 500
    bench.transport.say(bookmark(500))
    await settle()
    assert (bench.informer.listed_version, bench.informer.position) == (first, "500")
    bench.transport.say(disconnected())
    await settle()
    bench.transport.server.put("comes")
    bench.transport.server.delete("comes")
    bench.transport.server.compact()
    told: list[str] = []
    bench.informer.on_change(lambda _: told.append(bench.informer.listed_version))
    bench.transport.server.delete("b")
    await bench.pass_(5 * SECOND)
    # Whatever a list brings, handlers know by then that something may have been missed.
    assert told == [bench.informer.listed_version] != [first]


async def test_a_410_within_the_stream_is_understood_too(bench: Bench) -> None:
    bench.transport.say(line("ERROR", GONE))
    bench.transport.server.put("f")
    await bench.pass_(3 * SECOND)
    assert bench.copy == bench.transport.server.objects
    assert bench.lists == 4


async def test_a_bookmark_saves_a_list_when_history_is_cut(bench: Bench) -> None:
    bench.transport.server.version = 500
    bench.transport.say(bookmark(500))
    await settle()
    bench.transport.server.compact()
    bench.transport.say(None)
    await bench.pass_()
    assert bench.transport.streams
    assert bench.lists == 2


async def test_a_server_that_is_away_is_asked_less_and_less_often(bench: Bench) -> None:
    bench.transport.failing = [disconnected()] * 1000
    bench.transport.say(disconnected())
    before = len(bench.transport.requests)
    await bench.pass_(timedelta(minutes=5))
    assert 5 < len(bench.transport.requests) - before < 40
    bench.transport.failing.clear()
    bench.transport.server.put("g")
    await bench.pass_(timedelta(seconds=31))
    assert bench.copy == bench.transport.server.objects


async def test_the_server_says_when_to_come_back(bench: Bench) -> None:
    busy = msgspec.json.encode(status(429, "TooManyRequests"))
    bench.transport.failing = [Response(status=429, headers={"retry-after": "20"}, body=busy)]
    bench.transport.say(None)
    await bench.pass_(2 * SECOND)
    before = len(bench.transport.requests)
    await bench.pass_(18 * SECOND)
    assert len(bench.transport.requests) == before
    await bench.pass_(3 * SECOND)
    assert len(bench.transport.requests) == before + 1


async def test_a_watch_that_falls_silent_is_taken_for_dead(bench: Bench) -> None:
    bench.transport.server.put("h")  # its event never arrives
    await bench.pass_(timedelta(minutes=5, seconds=35))
    assert bench.copy == bench.transport.server.objects


async def test_a_lost_event_is_found_out_by_the_next_full_list(bench: Bench) -> None:
    bench.transport.server.put("lost")
    bench.transport.put("seen")
    await settle()
    assert "lost" not in bench.copy
    for _ in range(15):
        await bench.pass_(timedelta(minutes=5))
        bench.transport.say(bookmark(bench.transport.server.version))
        await settle()
        bench.transport.say(None)
    await bench.pass_()
    assert bench.copy == bench.transport.server.objects


async def test_an_unreadable_line_is_a_broken_watch_and_not_the_end(bench: Bench) -> None:
    bench.transport.say(b"<html>gateway timeout</html>")
    await bench.pass_()
    bench.transport.put("i")
    await settle()
    assert bench.copy == bench.transport.server.objects


async def test_a_list_that_the_server_forgets_half_way_is_asked_for_in_one_piece() -> None:
    bench = Bench(InformerSettings(page_size=1))
    for name in "abc":
        bench.transport.server.put(name)
    running = asyncio.ensure_future(bench.start())
    while len(bench.transport.requests) < 2:  # noqa: ASYNC110 - the moment between two pages
        await asyncio.sleep(0)
    bench.transport.server.put("d")
    bench.transport.server.compact()
    await bench.pass_()
    assert bench.informer.has_synced
    assert dict(bench.transport.requests[-2].query).get("limit") is None
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


@pytest.mark.parametrize("settings", [InformerSettings(streams_initial_state=True)])
async def test_the_present_state_may_come_as_events(
    bench: Bench, settings: InformerSettings
) -> None:
    assert settings.streams_initial_state
    assert bench.lists == 0
    assert bench.informer.has_synced
    bench.transport.put("a", "new")
    await settle()
    assert bench.heard == ["+a", "+b", "+c", "~a"]


async def test_a_server_that_cannot_send_its_state_as_events_is_listed() -> None:
    bench = Bench(InformerSettings(streams_initial_state=True))
    bench.transport.server.put("a")
    invalid = msgspec.json.encode(status(422, "Invalid"))
    bench.transport.failing = [Response(status=422, body=invalid)]
    running = asyncio.ensure_future(bench.start())
    await bench.pass_()
    assert bench.informer.has_synced
    assert bench.lists == 1
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_whatever_goes_wrong_the_copy_is_right_in_the_end() -> None:
    """A long run of accidents; the seed says which."""
    for seed in range(20):
        chance = Random(seed)
        bench = Bench(InformerSettings(page_size=chance.choice([1, 2, 500])))
        running = asyncio.ensure_future(bench.start())
        for _ in range(150):
            await _accident(bench, chance)
        bench.transport.failing.clear()
        bench.transport.say(None)
        await bench.pass_(timedelta(minutes=2))
        assert bench.copy == bench.transport.server.objects, f"seed {seed}"
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def _accident(bench: Bench, chance: Random) -> None:
    transport = bench.transport
    match chance.randrange(10):
        case 0 | 1 | 2 | 3:
            transport.put(chance.choice("abcdefgh"), str(chance.random()))
        case 4 | 5 if transport.server.objects:
            transport.delete(chance.choice(sorted(transport.server.objects)))
        case 6:
            transport.say(chance.choice([None, disconnected(), line("ERROR", GONE)]))
        case 7:
            transport.server.compact()
        case 8:
            transport.failing.append(disconnected())
        case _:
            if transport.server.history:
                _, event = chance.choice(transport.server.history)
                transport.say(line(*event))
    if chance.random() < 0.5:
        await bench.pass_(timedelta(seconds=chance.uniform(0, 3)))
