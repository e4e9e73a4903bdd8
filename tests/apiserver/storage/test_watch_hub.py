"""What a watcher with a selector sees, and when it is given up."""

import pytest

from plimsoll.apiserver.storage import watch_hub
from plimsoll.apiserver.storage.collection import Change, ChangeKind, Collection, StoredRecord
from plimsoll.apiserver.storage.watch_hub import WatchHub, event_for
from plimsoll.runtime.clock import SteppedClock
from tests.apiserver.api import Api, serving
from tests.apiserver.records import a_record

OURS, THEIRS = {"app": "ours"}, {"app": "theirs"}
BEFORE_OURS = a_record("a", 1, "before", labels=OURS)
BEFORE_THEIRS = a_record("a", 1, "before", labels=THEIRS)
AFTER_OURS = a_record("a", 2, "after", labels=OURS)
AFTER_THEIRS = a_record("a", 2, "after", labels=THEIRS)
ADDED, MODIFIED, DELETED = ChangeKind.ADDED, ChangeKind.MODIFIED, ChangeKind.DELETED


def is_ours(record: StoredRecord) -> bool:
    return record.labels == OURS


def last(record: StoredRecord) -> StoredRecord:
    return StoredRecord(record.key, 2, record.raw, record.labels, record.fields)


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        pytest.param(Change(ADDED, AFTER_OURS, None), (ADDED, AFTER_OURS), id="new-and-ours"),
        pytest.param(Change(ADDED, AFTER_THEIRS, None), None, id="new-and-not-ours"),
        pytest.param(
            Change(MODIFIED, AFTER_OURS, BEFORE_OURS), (MODIFIED, AFTER_OURS), id="still-ours"
        ),
        pytest.param(
            Change(MODIFIED, AFTER_OURS, BEFORE_THEIRS), (ADDED, AFTER_OURS), id="becomes-ours"
        ),
        pytest.param(
            Change(MODIFIED, AFTER_THEIRS, BEFORE_OURS),
            (DELETED, last(BEFORE_OURS)),
            id="stops-being-ours",
        ),
        pytest.param(Change(MODIFIED, AFTER_THEIRS, BEFORE_THEIRS), None, id="never-ours"),
        pytest.param(
            Change(DELETED, last(BEFORE_OURS), BEFORE_OURS),
            (DELETED, last(BEFORE_OURS)),
            id="ours-is-gone",
        ),
        pytest.param(
            Change(DELETED, last(BEFORE_THEIRS), BEFORE_THEIRS), None, id="not-ours-is-gone"
        ),
    ],
)
def test_a_selector_turns_changes_into_comings_and_goings(
    change: Change, seen: tuple[ChangeKind, StoredRecord] | None
) -> None:
    assert event_for(change, is_ours) == seen


def changes(*revisions: int) -> list[Change]:
    return [Change(ADDED, a_record(f"k{n}", n, labels=OURS), None) for n in revisions]


async def test_a_watcher_gets_its_own_collection_only_and_nothing_after_it_left() -> None:
    hub, mine, other = WatchHub(), Collection("configmaps"), Collection("secrets")
    watcher = hub.open(mine, is_ours)
    hub.publish(other, changes(1))
    hub.publish(mine, changes(2, 3))
    assert [record.revision for _, record in watcher.take()] == [2, 3]
    hub.close(mine, watcher)
    hub.publish(mine, changes(4))
    assert watcher.take() == []
    assert hub.number() == 0


@pytest.mark.parametrize("limit", ["BUFFER_EVENTS", "BUFFER_BYTES"])
async def test_a_watcher_that_takes_nothing_is_given_up_and_its_backlog_dropped(
    monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(watch_hub, limit, 3)
    hub, collection = WatchHub(), Collection("configmaps")
    slow, quick = hub.open(collection, is_ours), hub.open(collection, lambda _: False)
    hub.publish(collection, changes(1, 2, 3, 4))
    assert slow.overflow.is_set()
    assert slow.take() == []
    assert not quick.overflow.is_set()


async def test_a_backlog_that_is_taken_in_time_never_overflows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watch_hub, "BUFFER_BYTES", 100)
    hub, collection = WatchHub(), Collection("configmaps")
    watcher = hub.open(collection, is_ours)
    for revision in range(1, 20):
        hub.publish(collection, changes(revision))
        assert len(watcher.take()) == 1
    assert not watcher.overflow.is_set()


async def test_a_slow_client_loses_its_stream_while_others_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watch_hub, "BUFFER_EVENTS", 5)
    async with serving(clock=SteppedClock()) as api, api.watch() as slow, api.watch() as quick:
        for number in range(10):
            await api.create(f"m-{number}")
            await quick.events()
        assert await slow.events() == []
        assert slow.has_ended()
        assert not quick.has_ended()


async def test_all_watches_end_when_the_server_goes(api: Api) -> None:
    async with api.watch() as watching:
        assert await watching.events() == []
        api.server.cluster.hub.stop()
        await watching.events()
        assert watching.has_ended()


def test_long_selectors_of_one_collection_are_bounded_and_short_ones_are_not() -> None:
    hub, mine, other = WatchHub(), Collection("configmaps"), Collection("secrets")
    watchers = []
    while hub.has_room(mine, 500):
        watchers.append(hub.open(mine, is_ours, 500))

    assert 100 < len(watchers) < 1000
    assert hub.has_room(mine, 5)
    assert hub.has_room(other, 500)
    hub.close(mine, watchers[0])
    hub.close(mine, watchers[0])
    assert hub.has_room(mine, 500)
    assert not hub.has_room(mine, 5000)


def test_what_a_change_costs_is_what_its_watchers_compare() -> None:
    hub, mine = WatchHub(), Collection("configmaps")
    short, long = hub.open(mine, is_ours), hub.open(mine, is_ours, 400)
    assert hub.weight("configmaps") > 40
    hub.close(mine, long)
    assert hub.weight("configmaps") == 1
    hub.close(mine, short)
    assert hub.weight("configmaps") == hub.weight("secrets") == 0
