"""Lists are consistent at one revision; watches show every change once and in order, or say 410."""

import asyncio
import base64
from datetime import timedelta

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from plimsoll.apiserver.storage.revisions import HistoryLimits
from plimsoll.apiserver.storage.store import MemoryStore
from plimsoll.apiserver.verbs.read import BOOKMARK_EVERY, WATCH_LIMIT
from plimsoll.runtime.clock import SteppedClock, settle
from tests.apiserver.api import MAPS, Api, serving
from tests.apiserver.stores import SlowStore

SECOND = timedelta(seconds=1)


async def pages(api: Api, limit: int, **query: str) -> list[str]:
    names: list[str] = []
    token = ""
    while True:
        page = await api.list(limit=str(limit), **query, **({"continue": token} if token else {}))
        assert page.status == 200
        names += page.names
        token = page.document["metadata"].get("continue", "")
        if not token:
            return names


async def test_a_list_comes_in_pages_that_count_what_remains(api: Api) -> None:
    for name in "edcba":
        await api.create(name)
    first = await api.list(limit="2")
    assert first.names == ["a", "b"]
    assert first.document["metadata"]["remainingItemCount"] == 3
    assert await pages(api, 2) == list("abcde")
    assert await pages(api, 5) == list("abcde")


WRITES = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.booleans()), max_size=4)


@settings(max_examples=40, deadline=None)
@given(
    there=st.sets(st.sampled_from("abcdefgh")),
    limit=st.integers(1, 4),
    between=st.lists(WRITES, max_size=4),
)
def test_pages_show_the_state_at_their_first_moment_whatever_is_written_meanwhile(
    there: set[str], limit: int, between: list[list[tuple[str, bool]]]
) -> None:
    async def story() -> None:
        async with serving() as api:
            for name in there:
                await api.create(name, "old")
            expected = (await api.list()).document["items"]
            page = await api.list(limit=str(limit))
            found, moment = page.document["items"], page.revision
            waves = iter(between)
            while token := page.document["metadata"].get("continue"):
                await wave(api, next(waves, []))
                page = await api.list(limit=str(limit), **{"continue": token})
                assert page.revision == moment
                found += page.document["items"]
            assert found == expected

    asyncio.run(story())


async def wave(api: Api, writes: list[tuple[str, bool]]) -> None:
    for name, is_removal in writes:
        if (await api.get(name)).status == 404:
            await api.create(name, "new")
        elif is_removal:
            await api.delete(name)
        else:
            await api.change(name, "new")


async def test_a_list_at_an_exact_revision_shows_that_moment(api: Api) -> None:
    await api.create("a", "1")
    then = (await api.create("b")).revision
    await api.change("a", "2")
    await api.delete("b")
    past = await api.list(resourceVersion=str(then), resourceVersionMatch="Exact")
    assert (past.names, past.revision) == (["a", "b"], then)
    assert past.document["items"][0]["data"] == {"text": "1"}
    newer = await api.list(resourceVersion=str(then), resourceVersionMatch="NotOlderThan")
    assert newer.names == ["a"]


async def test_a_forgotten_page_is_refused_with_a_token_that_goes_on_from_there(
    clock: SteppedClock,
) -> None:
    async with serving(clock=clock, limits=HistoryLimits(changes=1)) as api:
        for name in "abcd":
            await api.create(name)
        first = await api.list(limit="2")
        await api.create("e")
        await api.create("f")
        await api.server.cluster.revisions.compact()
        late = await api.list(**{"continue": first.document["metadata"]["continue"]})
        assert (late.status, late.document["reason"]) == (410, "Expired")
        fresh = late.document["metadata"]["continue"]
        assert (await api.list(**{"continue": fresh})).names == ["c", "d", "e", "f"]


def token(content: object) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(content)).decode().rstrip("=")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("%%%", id="not-base64"),
        pytest.param(base64.urlsafe_b64encode(b"\xff\xfe").decode(), id="not-json"),
        pytest.param(token([]), id="not-an-object"),
        pytest.param(token({"plimsoll/1": 1}), id="without-a-place"),
        pytest.param(token({"plimsoll/1": "x", "after": ""}), id="without-a-number"),
        pytest.param(token({"plimsoll/1": 1.5, "after": ""}), id="with-half-a-number"),
        pytest.param(token({"plimsoll/1": 1, "after": 7}), id="with-a-number-as-place"),
        pytest.param("A" * 1_000_001, id="very-long"),
    ],
)
async def test_a_token_that_no_server_made_is_a_bad_request(api: Api, text: str) -> None:
    assert (await api.list(**{"continue": text})).status == 400


@pytest.mark.parametrize("revision", [-1, 10**15, 10**30], ids=["before", "after", "far-after"])
async def test_a_token_for_a_moment_that_never_was_is_not_answered_with_another(
    api: Api, revision: int
) -> None:
    made_up = token({"plimsoll/1": revision, "after": ""})
    assert (await api.list(**{"continue": made_up})).status in (400, 410)


async def test_a_version_from_the_future_is_not_answered_with_an_older_state(api: Api) -> None:
    future = str((await api.create("a")).revision + 100)
    for reply in (
        await api.list(resourceVersion=future),
        await api.get("a", resourceVersion=future),
    ):
        assert (reply.status, reply.document["reason"]) == (504, "Timeout")
    async with api.watch(
        resourceVersion=future, sendInitialEvents="true", resourceVersionMatch="NotOlderThan"
    ) as watching:
        refusal = await watching.refusal()
        assert (refusal["code"], refusal["reason"]) == (504, "Timeout")


@pytest.mark.parametrize("text", ["abc", "-1", "1.5", "\N{ARABIC-INDIC DIGIT ONE}", "9" * 21])
async def test_a_version_that_is_no_number_is_a_bad_request(api: Api, text: str) -> None:
    assert (await api.list(resourceVersion=text)).status == 400
    assert (await api.get("x", resourceVersion=text)).status == 400
    async with api.watch(resourceVersion=text) as watching:
        assert watching.status == 400


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
        pytest.param("10", timedelta(seconds=10), id="as-long-as-asked"),
        pytest.param("", WATCH_LIMIT, id="nothing-asked"),
        pytest.param("0", WATCH_LIMIT, id="zero"),
        pytest.param("-5", WATCH_LIMIT, id="negative"),
        pytest.param("9223372036854775807", WATCH_LIMIT, id="for-ever"),
    ],
)
async def test_a_watch_ends_by_itself(
    api: Api, clock: SteppedClock, asked: str, lives: timedelta
) -> None:
    newest = (await api.create("a")).revision
    async with api.watch(
        timeoutSeconds=asked, allowWatchBookmarks="true", resourceVersion=str(newest)
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


@pytest.mark.parametrize(
    "query",
    [
        pytest.param({"sendInitialEvents": "true"}, id="initial-events-without-match"),
        pytest.param({"resourceVersionMatch": "Exact"}, id="match-for-a-watch"),
    ],
)
async def test_options_that_make_no_sense_for_a_watch_are_refused(
    api: Api, query: dict[str, str]
) -> None:
    async with api.watch(**query) as watching:
        assert watching.status == 422


@pytest.mark.parametrize(
    "query",
    [
        pytest.param({"resourceVersionMatch": "Exact"}, id="match-without-version"),
        pytest.param({"resourceVersionMatch": "Exact", "resourceVersion": "0"}, id="exactly-zero"),
        pytest.param({"resourceVersionMatch": "Some", "resourceVersion": "1"}, id="unknown-match"),
        pytest.param(
            {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"},
            id="initial-events-of-a-list",
        ),
    ],
)
async def test_options_that_make_no_sense_for_a_list_are_refused(
    api: Api, query: dict[str, str]
) -> None:
    reply = await api.list(**query)
    assert (reply.status, reply.document["reason"]) == (422, "Invalid")


async def test_zero_asks_for_any_state_and_takes_no_limit(api: Api) -> None:
    for name in "abc":
        await api.create(name)
    assert (await api.list(resourceVersion="0", limit="1")).names == ["a", "b", "c"]


@pytest.mark.parametrize("query", [{"labelSelector": "=="}, {"fieldSelector": "spec.x=1"}])
async def test_a_selector_that_cannot_be_read_is_a_bad_request(
    api: Api, query: dict[str, str]
) -> None:
    assert (await api.list(**query)).status == 400


async def test_two_namespaces_do_not_see_each_other(api: Api) -> None:
    await api.create("a")
    other = MAPS.replace("default", "kube-public")
    assert (await api.ask("POST", other, {"metadata": {"name": "b"}})).status == 201
    async with api.watch(other) as watching:
        assert await watching.seen() == [("ADDED", "b")]
    assert (await api.list()).names == ["a"]
    assert (await api.ask("GET", "/api/v1/configmaps")).names == ["a", "b"]
