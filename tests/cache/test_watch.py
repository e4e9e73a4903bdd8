from datetime import timedelta
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from hypothesis.strategies import booleans, integers, sampled_from

from plimsoll.api.registry import Document
from plimsoll.cache.persistent import PersistentMap
from plimsoll.cache.store import Store
from plimsoll.cache.watch import (
    Input,
    ListFailed,
    ListStep,
    Put,
    RelistDue,
    RemoveObject,
    Replace,
    State,
    StreamEnded,
    StreamFailed,
    Streaming,
    WaitOver,
    Watching,
    WatchWaiting,
    is_older_or_same,
    step,
)
from plimsoll.wire.errors import Failure, KubeError, error_from_status
from plimsoll.wire.kind import Bookmark, DeletedObject, Page, RefusedDocument, Unreadable, Upserted
from tests.cache.model_server import GONE, ModelServer, disconnected, status
from tests.cache.objects import an_object, key

A5, A7, B6 = an_object("a", 5), an_object("a", 7), an_object("b", 6)
WATCHING = Watching(begun_at="5", position="5")
GATHERED: Streaming[Document] = Streaming(
    items=PersistentMap({key("a"): A5}), versions=PersistentMap({key("a"): "5"})
)


def refused(code: int, reason: str) -> KubeError:
    return error_from_status(status(code, reason), operation="x")


def page(*items: Document, version: str = "5", more: str = "") -> Page[Document]:
    return Page(items=items, resource_version=version, continue_=more)


TOO_LARGE = status(504, "Timeout") | {
    "details": {"causes": [{"reason": "ResourceVersionTooLarge"}]}
}

CASES: list[tuple[str, State[Document], Input[Document], State[Document], tuple[Any, ...]]] = [
    (
        "a list that fits on one page is everything",
        ListStep(),
        page(A5, B6),
        WATCHING,
        (Replace({key("a"): A5, key("b"): B6}),),
    ),
    (
        "pages are gathered until the last one",
        ListStep(),
        page(A5, more="c"),
        ListStep(items=(A5,), continue_="c"),
        (),
    ),
    (
        "the last page completes the list",
        ListStep(items=(A5,), continue_="c"),
        page(B6),
        WATCHING,
        (Replace({key("a"): A5, key("b"): B6}),),
    ),
    (
        "a failed list is begun again after a pause",
        ListStep(items=(A5,), continue_="c"),
        ListFailed(disconnected()),
        WatchWaiting(then=ListStep(failures=1), failures=0, why="connection reset"),
        (),
    ),
    (
        "a list that the server forgot is asked for in one piece",
        ListStep(items=(A5,), continue_="c"),
        ListFailed(refused(410, "Expired")),
        WatchWaiting(then=ListStep(in_one_page=True, failures=1), failures=0, why="x: Expired"),
        (),
    ),
    (
        "a kind that the server does not serve has no objects",
        ListStep(),
        ListFailed(refused(404, "NotFound")),
        WatchWaiting(then=ListStep(failures=1), failures=0, why="x: NotFound"),
        (Replace({}),),
    ),
    (
        "a kind that was there is not taken for gone when the server denies it",
        ListStep(is_repeated=True),
        ListFailed(refused(404, "NotFound")),
        WatchWaiting(then=ListStep(is_repeated=True, failures=1), failures=0, why="x: NotFound"),
        (),
    ),
    (
        "a pause that is over ends",
        WatchWaiting(then=WATCHING, failures=3),
        WaitOver(),
        WATCHING,
        (),
    ),
    (
        "a late event does not disturb a pause",
        WatchWaiting(then=WATCHING, failures=3),
        Upserted(A7),
        WatchWaiting(then=WATCHING, failures=3),
        (),
    ),
    (
        "a new version is taken and moves the position",
        WATCHING,
        Upserted(A7),
        Watching(begun_at="5", position="7", has_delivered=True),
        (Put(key("a"), A7),),
    ),
    (
        "a deletion is taken",
        WATCHING,
        DeletedObject(A7),
        Watching(begun_at="5", position="7", has_delivered=True),
        (RemoveObject(key("a"), "7"),),
    ),
    (
        "an unreadable object is as good as none",
        WATCHING,
        Unreadable(key("a"), "7"),
        Watching(begun_at="5", position="7", has_delivered=True),
        (RemoveObject(key("a"), "7"),),
    ),
    (
        "a duplicate is passed over",
        Watching(begun_at="5", position="7", has_delivered=True),
        Upserted(A7),
        Watching(begun_at="5", position="7", has_delivered=True),
        (),
    ),
    (
        "an older event that comes late is passed over",
        Watching(begun_at="5", position="7", has_delivered=True),
        Upserted(B6),
        Watching(begun_at="5", position="7", has_delivered=True),
        (),
    ),
    (
        "an event from before the beginning means that history is not ours",
        Watching(begun_at="900", position="900", failures=0),
        Upserted(A7),
        WatchWaiting(then=ListStep(is_repeated=True, failures=1), failures=0),
        (),
    ),
    (
        "a bookmark moves the position and nothing else",
        WATCHING,
        Bookmark("90"),
        Watching(begun_at="5", position="90", has_delivered=True),
        (),
    ),
    (
        "a bookmark may repeat where the watch began",
        WATCHING,
        Bookmark("5"),
        Watching(begun_at="5", position="5", has_delivered=True),
        (),
    ),
    (
        "a bookmark from before the beginning means that the server went back",
        Watching(begun_at="900", position="900"),
        Bookmark("90"),
        WatchWaiting(then=ListStep(is_repeated=True, failures=1), failures=0),
        (),
    ),
    (
        "a watch that ended after some events goes on at once",
        Watching(begun_at="5", position="7", has_delivered=True),
        StreamEnded(),
        Watching(begun_at="7", position="7"),
        (),
    ),
    (
        "a watch that ended without a word goes on after a pause",
        WATCHING,
        StreamEnded(),
        WatchWaiting(then=Watching(begun_at="5", position="5", failures=1), failures=0),
        (),
    ),
    (
        "a broken watch goes on from its position after a pause",
        Watching(begun_at="5", position="7", has_delivered=True),
        StreamFailed(disconnected()),
        WatchWaiting(
            then=Watching(begun_at="7", position="7", failures=1),
            failures=0,
            why="connection reset",
        ),
        (),
    ),
    (
        "history that is gone is listed again",
        WATCHING,
        StreamFailed(refused(410, "Gone")),
        WatchWaiting(then=ListStep(is_repeated=True, failures=1), failures=0, why="x: Gone"),
        (),
    ),
    (
        "the same when the news comes as an event",
        WATCHING,
        RefusedDocument(GONE),
        WatchWaiting(then=ListStep(is_repeated=True, failures=1), failures=0, why="watch: too old"),
        (),
    ),
    (
        "an unknown refusal is no reason to trust the position",
        WATCHING,
        RefusedDocument(status(500, "InternalError", "bug")),
        WatchWaiting(then=ListStep(is_repeated=True, failures=1), failures=0, why="watch: bug"),
        (),
    ),
    (
        "a version that the server has not reached is listed again",
        WATCHING,
        RefusedDocument(TOO_LARGE),
        WatchWaiting(then=ListStep(is_repeated=True, failures=1), failures=0, why="watch: Timeout"),
        (),
    ),
    (
        "a busy server is asked for the same again",
        Watching(begun_at="5", position="7", failures=2),
        StreamFailed(refused(429, "TooManyRequests")),
        WatchWaiting(
            then=Watching(begun_at="7", position="7", failures=3),
            failures=2,
            why="x: TooManyRequests",
        ),
        (),
    ),
    ("a check is due", WATCHING, RelistDue(), ListStep(is_repeated=True), ()),
    (
        "initial events are gathered",
        Streaming(),
        Upserted(A5),
        GATHERED,
        (),
    ),
    (
        "the bookmark after them makes them everything",
        GATHERED,
        Bookmark("9", ends_initial_events=True),
        Watching(begun_at="9", position="9", has_delivered=True),
        (Replace({key("a"): A5}),),
    ),
    (
        "a deletion among them counts",
        GATHERED,
        DeletedObject(A7),
        Streaming(versions=PersistentMap({key("a"): "7"})),
        (),
    ),
    (
        "an older version that comes after it does not bring the object back",
        Streaming(versions=PersistentMap({key("a"): "7"})),
        Upserted(A5),
        Streaming(versions=PersistentMap({key("a"): "7"})),
        (),
    ),
    (
        "a server that does not send them is asked for a list",
        Streaming(),
        StreamFailed(refused(422, "Invalid")),
        WatchWaiting(then=ListStep(failures=1), failures=0, why="x: Invalid"),
        (),
    ),
    (
        "the same when it says so in an event",
        Streaming(),
        RefusedDocument(status(500, "InternalError", "no")),
        WatchWaiting(then=ListStep(failures=1), failures=0, why="watch: no"),
        (),
    ),
    (
        "initial events that break off are asked for again",
        GATHERED,
        StreamFailed(disconnected()),
        WatchWaiting(then=Streaming(failures=1), failures=0, why="connection reset"),
        (),
    ),
]


@pytest.mark.parametrize(
    ("state", "happened", "then", "actions"),
    [pytest.param(*case[1:], id=case[0].replace(" ", "-")) for case in CASES],
)
def test_each_state_answers_an_input_with_its_next_state_and_actions(
    state: State[Document],
    happened: Input[Document],
    then: State[Document],
    actions: tuple[Any, ...],
) -> None:
    assert step(state, happened) == (then, actions)


def test_repeated_failures_are_counted_until_something_arrives() -> None:
    state: State[Document] = WATCHING
    for expected in (0, 1, 2):
        state, _ = step(state, StreamFailed(disconnected()))
        assert isinstance(state, WatchWaiting)
        assert state.failures == expected
        state, _ = step(state, WaitOver())
    state, _ = step(state, Upserted(A7))
    assert isinstance(state, Watching)
    assert state.failures == 0


def test_a_server_that_forgets_at_once_is_not_listed_without_pause() -> None:
    state: State[Document] = ListStep()
    for expected in range(5):
        state, _ = step(state, page(A5))
        state, _ = step(state, RefusedDocument(GONE))
        assert isinstance(state, WatchWaiting)
        assert state.failures == expected
        state, _ = step(state, WaitOver())


def test_a_pause_is_as_long_as_the_server_asks() -> None:
    error = KubeError(Failure.TOO_MANY_REQUESTS, "busy", retry_after=timedelta(minutes=1))
    state, _ = step(WATCHING, StreamFailed(error))
    assert isinstance(state, WatchWaiting)
    assert state.at_least == timedelta(minutes=1)


@pytest.mark.parametrize(
    ("version", "reference", "expected"),
    [
        ("9", "10", True),
        ("10", "10", True),
        ("11", "10", False),
        ("a", "b", False),
        ("a", "a", True),
    ],
)
def test_versions_are_numbers_where_they_look_like_it(
    version: str, reference: str, *, expected: bool
) -> None:
    assert is_older_or_same(version, reference) is expected


class TheCopyFollowsTheServer(RuleBasedStateMachine):
    """Random writes, pages, disconnects, 410s, duplicates and stale events, restarts: once things
    calm down, the copy equals the server."""

    def __init__(self) -> None:
        super().__init__()
        self.server = ModelServer()
        self.store: Store[Document] = Store()
        self.state: State[Document] = ListStep()
        self.stream: list[Any] | None = None
        self.sent: list[Any] = []

    def happen(self, happened: Input[Document]) -> None:
        before = self.state
        self.state, actions = step(self.state, happened)
        if not isinstance(self.state, Watching | Streaming) or isinstance(
            happened, StreamEnded | StreamFailed
        ):
            self.stream = None
        if self.state is not before and isinstance(before, ListStep):
            self.stream = None
        for action in actions:
            match action:
                case Put(key=k, object=object_):
                    self.store.put(k, object_)
                case RemoveObject(key=k):
                    self.store.remove(k)
                case Replace(objects=objects):
                    self.store.replace(objects)

    def announce(self) -> None:
        if self.stream is not None:
            _, (type_, object_) = self.server.history[-1]
            self.stream.append(DeletedObject(object_) if type_ == "DELETED" else Upserted(object_))

    @rule(name=sampled_from("abcde"), value=sampled_from("xyz"))
    def write(self, name: str, value: str) -> None:
        self.server.put(name, value)
        self.announce()

    @rule(name=sampled_from("abcde"))
    def delete(self, name: str) -> None:
        if name in self.server.objects:
            self.server.delete(name)
            self.announce()

    @rule()
    def forget_history(self) -> None:
        self.server.compact()

    @rule(streams=booleans())
    def process_restarts(self, *, streams: bool) -> None:
        """The store of a process survives the restart of its informer loop."""
        self.state, self.stream = (Streaming() if streams else ListStep()), None

    @precondition(lambda self: isinstance(self.state, WatchWaiting))
    @rule()
    def wait(self) -> None:
        self.happen(WaitOver())

    @precondition(lambda self: isinstance(self.state, ListStep))
    @rule(limit=integers(1, 3), fails=booleans())
    def list_a_page(self, limit: int, *, fails: bool) -> None:
        assert isinstance(self.state, ListStep)
        if fails:
            self.happen(ListFailed(disconnected()))
            return
        page_ = self.server.page(0 if self.state.in_one_page else limit, self.state.continue_)
        if page_ is None:
            self.happen(ListFailed(refused(410, "Expired")))
            return
        meta = page_["metadata"]
        self.happen(
            Page(
                items=tuple(page_["items"]),
                resource_version=meta["resourceVersion"],
                continue_=meta["continue"],
            )
        )

    @precondition(lambda self: isinstance(self.state, Watching | Streaming) and self.stream is None)
    @rule()
    def open_the_watch(self) -> None:
        self.sent.clear()
        if isinstance(self.state, Streaming):
            self.stream = [Upserted(o) for o in self.server.objects.values()]
            self.stream.append(Bookmark(str(self.server.version), ends_initial_events=True))
            return
        assert isinstance(self.state, Watching)
        events = self.server.events_after(int(self.state.begun_at))
        if events is None:
            self.happen(StreamFailed(refused(410, "Expired")))
            return
        self.stream = [DeletedObject(o) if t == "DELETED" else Upserted(o) for t, o in events]

    @precondition(lambda self: self.stream)
    @rule()
    def deliver(self) -> None:
        assert self.stream
        event = self.stream.pop(0)
        self.sent.append(event)
        self.happen(event)

    @precondition(lambda self: self.stream is not None and self.sent)
    @rule(back=integers(1, 5))
    def deliver_something_old_again(self, back: int) -> None:
        self.happen(self.sent[-min(back, len(self.sent))])

    @precondition(lambda self: self.stream is not None)
    @rule()
    def bookmark(self) -> None:
        if not self.stream:
            self.happen(Bookmark(str(self.server.version)))

    @precondition(lambda self: self.stream is not None)
    @rule(how=sampled_from([StreamEnded(), StreamFailed(disconnected()), RefusedDocument(GONE)]))
    def end_the_watch(self, how: Input[Document]) -> None:
        self.happen(how)

    @invariant()
    def the_copy_holds_only_what_once_existed(self) -> None:
        assert all(k.name in "abcde" for k in self.store.snapshot().objects)

    def calm_down(self) -> None:
        """Everything is delivered, and nothing goes wrong."""
        for _ in range(50):
            match self.state:
                case WatchWaiting():
                    self.wait()
                case ListStep():
                    self.list_a_page(2, fails=False)
                case Watching() | Streaming():
                    if self.stream is None:
                        self.open_the_watch()
                    while self.stream:
                        self.deliver()
        assert isinstance(self.state, Watching)

    def teardown(self) -> None:
        self.calm_down()
        copy = {k.name: o for k, o in self.store.snapshot().objects.items()}
        assert copy == self.server.objects


class ALostEventIsFoundOut(TheCopyFollowsTheServer):
    """The same with a server that breaks its promises: events get lost, and restores from a
    backup give out versions twice. The next check against a full list puts things right."""

    def __init__(self) -> None:
        super().__init__()
        self.backup: tuple[dict[str, Document], int] = ({}, 1)

    @rule()
    def make_a_backup(self) -> None:
        self.backup = (dict(self.server.objects), self.server.version)

    @rule()
    def restore_the_backup(self) -> None:
        """Restarts end all connections."""
        self.server.restore(*self.backup)
        self.sent.clear()
        if self.stream is not None:
            self.happen(StreamFailed(disconnected()))

    @precondition(lambda self: self.stream)
    @rule()
    def lose_an_event(self) -> None:
        assert self.stream
        if not isinstance(self.stream[0], Bookmark):
            self.stream.pop(0)

    def teardown(self) -> None:
        self.calm_down()
        self.happen(RelistDue())
        super().teardown()


LONG = settings(deadline=None, max_examples=200, stateful_step_count=50)
TheCopyFollowsTheServer.TestCase.settings = LONG
TestTheCopyFollowsTheServer = TheCopyFollowsTheServer.TestCase
ALostEventIsFoundOut.TestCase.settings = LONG
TestALostEventIsFoundOut = ALostEventIsFoundOut.TestCase
