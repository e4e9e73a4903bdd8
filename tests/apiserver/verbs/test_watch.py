"""Watches show every change once and in order, or say 410."""

import asyncio
from datetime import timedelta

import pytest

from plimsoll.apiserver.storage.cluster import BOOKMARK_EVERY
from plimsoll.apiserver.storage.revisions import HistoryLimits
from plimsoll.apiserver.storage.store import MemoryStore
from plimsoll.apiserver.verbs.watch import WATCH_LIMIT
from plimsoll.runtime.clock import SteppedClock, settle
from tests.apiserver.api import Api, serving
from tests.apiserver.stores import SlowStore

SECOND = timedelta(seconds=1)


async def test_a_watch_without_a_version_begins_with_what_is_there(api: Api) -> None:
    await api.create("b")
    await api.create("a")
    async with api.watch() as watching:
        assert await watching.seen() == [("ADDED", "a"), ("ADDED", "b")]
        await api.change("a", "2")
        await api.delete("b")
        assert await watching.seen() == [("MODIFIED", "a"), ("DELETED", "b")]


async def test_a_watch_from_a_version_shows_what_came_after_and_goes_on(api: Api) -> None:
    start = (await api.create("a")).revision
    changed = await api.change("a", "2")
    async with api.watch(resourceVersion=str(start)) as watching:
        deleted = await api.delete("a")
        events = await watching.events()
    assert deleted.status == 200
    assert [kind for kind, _ in events] == ["MODIFIED", "DELETED"]
    assert events[0][1] == changed.document
    # A deletion is told at its own revision, so that a client can resume behind it.
    assert int(events[1][1]["metadata"]["resourceVersion"]) == changed.revision + 1


async def test_a_watch_from_before_the_compaction_point_is_told_410(clock: SteppedClock) -> None:
    async with serving(clock=clock, limits=HistoryLimits(changes=2)) as api:
        revisions = [(await api.create(name)).revision for name in "abcd"]
        await api.server.cluster.revisions.compact()
        async with api.watch(resourceVersion=str(revisions[0])) as late:
            told = await late.refusal()
            assert (told["code"], told["reason"]) == (410, "Expired")
        async with api.watch(resourceVersion=str(revisions[1])) as in_time:
            assert await in_time.seen() == [("ADDED", "c"), ("ADDED", "d")]


async def test_a_selector_shows_objects_coming_and_going(api: Api) -> None:
    async with api.watch(labelSelector="app=ours") as watching:
        await api.create("a", app="theirs")
        assert await watching.events() == []
        await api.change("a", "1", app="ours")
        await api.change("a", "2", app="ours")
        left = await api.change("a", "3", app="theirs")
        await api.delete("a")
        events = await watching.events()
    assert [kind for kind, _ in events] == ["ADDED", "MODIFIED", "DELETED"]
    last = events[-1][1]
    assert last["data"] == {"text": "2"}
    assert int(last["metadata"]["resourceVersion"]) == left.revision


async def test_a_selector_resumes_with_the_same_comings_and_goings(api: Api) -> None:
    start = (await api.create("a", app="theirs")).revision
    for app in ("ours", "ours", "theirs", "ours"):
        await api.change("a", f"{start}", app=app)
        await api.change("a", "again", app=app)
    async with api.watch(labelSelector="app=ours", resourceVersion=str(start)) as watching:
        kinds = [kind for kind, _ in await watching.events()]
    assert kinds == ["ADDED", "MODIFIED", "MODIFIED", "MODIFIED", "DELETED", "ADDED", "MODIFIED"]


async def test_one_object_can_be_watched_by_its_name(api: Api) -> None:
    async with api.watch(fieldSelector="metadata.name=b") as watching:
        await api.create("a")
        await api.create("b")
        assert await watching.seen() == [("ADDED", "b")]


async def test_the_initial_events_end_with_a_bookmark_that_says_so(api: Api) -> None:
    await api.create("a")
    newest = (await api.create("b")).revision
    async with api.watch(
        sendInitialEvents="true", resourceVersionMatch="NotOlderThan", allowWatchBookmarks="true"
    ) as watching:
        events = await watching.events()
        assert [kind for kind, _ in events] == ["ADDED", "ADDED", "BOOKMARK"]
        assert events[-1][1]["metadata"] == {
            "resourceVersion": str(newest),
            "annotations": {"k8s.io/initial-events-end": "true"},
        }
        await api.create("c")
        assert await watching.seen() == [("ADDED", "c")]


@pytest.mark.parametrize("query", [{}, {"resourceVersion": ""}, {"resourceVersion": "0"}])
async def test_a_watch_from_no_revision_says_where_the_initial_events_end(
    api: Api, query: dict[str, str]
) -> None:
    newest = (await api.create("a")).revision
    async with api.watch(allowWatchBookmarks="true", **query) as watching:
        (kind, _), (end, bookmark) = await watching.events()
    assert (kind, end) == ("ADDED", "BOOKMARK")
    assert bookmark["metadata"] == {
        "resourceVersion": str(newest),
        "annotations": {"k8s.io/initial-events-end": "true"},
    }


async def test_bookmarks_come_when_nothing_else_does(api: Api, clock: SteppedClock) -> None:
    async with api.watch(labelSelector="app=ours", allowWatchBookmarks="true") as watching:
        await watching.events()
        newest = (await api.create("a", app="theirs")).revision
        clock.advance(BOOKMARK_EVERY - SECOND)
        assert await watching.events() == []
        clock.advance(SECOND)
        assert await watching.seen() == [("BOOKMARK", str(newest))]
        clock.advance(BOOKMARK_EVERY)
        assert await watching.seen() == [("BOOKMARK", str(newest))]


async def test_a_client_that_did_not_ask_for_bookmarks_gets_none(
    api: Api, clock: SteppedClock
) -> None:
    async with api.watch() as watching:
        await watching.events()
        clock.advance(2 * BOOKMARK_EVERY)
        assert await watching.events() == []


async def test_a_bookmark_never_runs_ahead_of_an_event(clock: SteppedClock) -> None:
    async with serving(clock=clock) as api, api.watch(allowWatchBookmarks="true") as watching:
        await watching.events()
        # The moment at which a bookmark is due is the moment at which something happens.
        clock.advance(BOOKMARK_EVERY)
        made = await api.create("a")
        kinds = await watching.seen()
        assert kinds[0] == ("ADDED", "a")
        assert kinds[1:] in ([], [("BOOKMARK", str(made.revision))])


async def test_a_bookmark_does_not_promise_what_is_not_on_disk(clock: SteppedClock) -> None:
    store = SlowStore(MemoryStore())
    async with serving(store, clock) as api, api.watch(allowWatchBookmarks="true") as watching:
        await watching.events()
        durable = (await api.list()).revision
        store.hold()
        create = asyncio.ensure_future(api.create("a"))
        await store.arrival()
        clock.advance(BOOKMARK_EVERY)
        assert await watching.seen() == [("BOOKMARK", str(durable))]
        store.release()
        await create
        assert await watching.seen() == [("ADDED", "a")]


@pytest.mark.parametrize(
    ("asked", "lives"),
    [
        pytest.param(("10",), timedelta(seconds=10), id="as-long-as-asked"),
        pytest.param((), WATCH_LIMIT, id="nothing-asked"),
        pytest.param(("0",), WATCH_LIMIT, id="zero"),
        pytest.param(("9223372036854775807",), WATCH_LIMIT, id="for-ever"),
    ],
)
async def test_a_watch_ends_by_itself(
    api: Api, clock: SteppedClock, asked: tuple[str, ...], lives: timedelta
) -> None:
    newest = (await api.create("a")).revision
    limit = dict(zip(("timeoutSeconds",), asked, strict=False))
    async with api.watch(
        allowWatchBookmarks="true", resourceVersion=str(newest), **limit
    ) as watching:
        await watching.events()
        clock.advance(lives - SECOND)
        await watching.events()
        assert not watching.has_ended()
        clock.advance(SECOND)
        assert await watching.seen() == [("BOOKMARK", str(newest))]
        assert watching.has_ended()
    await settle()
    assert api.server.cluster.hub.number() == 0


async def test_a_watch_whose_time_is_over_before_it_begins_ends_at_once(
    api: Api, clock: SteppedClock
) -> None:
    newest = (await api.create("a")).revision
    async with api.watch(timeoutSeconds="-5", resourceVersion=str(newest)) as watching:
        clock.advance(timedelta())
        assert await watching.events() == []
        assert watching.has_ended()


@pytest.mark.parametrize(
    "query",
    [
        pytest.param({"sendInitialEvents": "true"}, id="initial-events-without-match"),
        pytest.param({"resourceVersionMatch": "Exact"}, id="match-for-a-watch"),
        pytest.param({"continue": "x"}, id="continue-for-a-watch"),
    ],
)
async def test_options_that_make_no_sense_for_a_watch_are_refused(
    api: Api, query: dict[str, str]
) -> None:
    async with api.watch(**query) as watching:
        assert watching.status == 422
