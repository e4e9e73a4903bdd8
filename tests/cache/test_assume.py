from typing import Any

from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from hypothesis.strategies import sampled_from

from plimsoll.api.registry import Document
from plimsoll.cache.assume import AssumingStore
from tests.cache.objects import an_object, key

A = key("a")


def a_store(*objects: Document) -> AssumingStore[Document]:
    store: AssumingStore[Document] = AssumingStore(
        {"node": lambda o: [o["node"]] if o["node"] else []}
    )
    for object_ in objects:
        store.put(key(object_["metadata"]["name"]), object_)
    return store


def shown(store: AssumingStore[Document], name: str = "a") -> Any:
    found = store.snapshot().get(key(name))
    return None if found is None else (found["metadata"]["resourceVersion"], found["value"])


def on_node(node: str) -> Any:
    return lambda seen: None if seen is None else {**seen, "node": node, "value": "ours"}


def test_an_intended_write_is_shown_at_once_and_in_the_indexes() -> None:
    store = a_store(an_object("a", 1))
    change = store.assume(A, on_node("n1"), deadline=10)
    assert change is not None
    assert shown(store) == ("1", "ours")
    assert list(store.snapshot().by("node", "n1")) == [A]
    assert store.observed().get(A) == an_object("a", 1)


def test_a_change_by_another_writer_does_not_hide_ours() -> None:
    store = a_store(an_object("a", 1))
    store.assume(A, on_node("n1"), deadline=10)
    store.put(A, an_object("a", 2, "theirs"))
    assert shown(store) == ("2", "ours")


def test_a_write_that_failed_is_undone() -> None:
    store = a_store(an_object("a", 1, "before"))
    store.assume(A, on_node("n1"), deadline=10)
    store.forget(A)
    assert shown(store) == ("1", "before")
    assert list(store.snapshot().by("node", "n1")) == []


def test_a_late_answer_does_not_bring_back_what_was_seen_to_end() -> None:
    store = a_store(an_object("a", 1))
    store.remove(A, "6")
    store.written(an_object("a", 5, "ours"), deadline=10)
    assert shown(store) is None


def test_an_object_of_the_newest_version_is_shown_until_the_watch_shows_another() -> None:
    store = a_store(an_object("a", 7))
    assert store.assume_version(an_object("a", 7, "ours"))
    assert shown(store) == ("7", "ours")
    store.put(A, an_object("a", 7))
    assert shown(store) == ("7", "ours")
    store.replace({A: an_object("a", 7)})
    assert shown(store) == ("7", "ours")
    store.put(A, an_object("a", 8, "theirs"))
    assert shown(store) == ("8", "theirs")
    assert not store.assumed


def test_an_object_of_the_newest_version_ends_with_the_object() -> None:
    store = a_store(an_object("a", 7))
    store.assume_version(an_object("a", 7, "ours"))
    store.remove(A, "")
    assert shown(store) is None
    assert not store.assumed
    store.put(A, an_object("a", 7))
    store.assume_version(an_object("a", 7, "ours"))
    store.replace({})
    assert shown(store) is None
    assert not store.assumed


def test_nothing_is_assumed_of_an_outdated_version() -> None:
    store = a_store(an_object("a", 8))
    assert not store.assume_version(an_object("a", 7, "ours"))
    assert not store.assume_version(an_object("b", 7, "ours"))
    assert shown(store) == ("8", "")
    assert not store.assumed


def test_only_the_same_version_takes_an_assumption_back() -> None:
    store = a_store(an_object("a", 7))
    store.assume_version(an_object("a", 7, "ours"))
    store.restore(an_object("a", 8))
    assert shown(store) == ("7", "ours")
    store.restore(an_object("a", 7))
    assert shown(store) == ("7", "")


def test_a_change_tells_what_was_observed_and_what_is_shown() -> None:
    store = a_store(an_object("a", 7, "seen"))
    store.assume_version(an_object("a", 7, "ours"))
    change = store.put(A, an_object("a", 8, "theirs"))
    assert change is not None
    assert change.observed is not None
    assert (change.before, change.after) == (an_object("a", 7, "ours"), an_object("a", 8, "theirs"))
    assert change.observed.before == an_object("a", 7, "seen")
    assert change.observed.after == an_object("a", 8, "theirs")


def test_a_written_object_is_shown_until_the_watch_has_caught_up() -> None:
    store = a_store(an_object("a", 1))
    store.assume(A, on_node("n1"), deadline=10)
    store.written(an_object("a", 5, "ours"), deadline=10)
    store.put(A, an_object("a", 3, "another writer before us"))
    assert shown(store) == ("5", "ours")
    store.put(A, an_object("a", 5, "ours"))
    assert store.assumed == frozenset()
    store.put(A, an_object("a", 6, "later"))
    assert shown(store) == ("6", "later")


def test_a_newer_version_confirms_as_well() -> None:
    store = a_store(an_object("a", 1))
    store.written(an_object("a", 5, "ours"), deadline=10)
    store.put(A, an_object("a", 9, "later"))
    assert shown(store) == ("9", "later")


def test_an_answer_that_comes_after_its_echo_changes_nothing() -> None:
    store = a_store(an_object("a", 1))
    store.assume(A, on_node("n1"), deadline=10)
    store.put(A, an_object("a", 7, "newer"))
    store.written(an_object("a", 5, "ours"), deadline=10)
    assert shown(store) == ("7", "newer")


def test_a_new_object_is_shown_before_the_watch_knows_it() -> None:
    store = a_store()
    store.written(an_object("a", 5, "ours"), deadline=10)
    assert shown(store) == ("5", "ours")
    store.remove(A, "4")  # of a namesake, deleted before ours was made
    assert shown(store) == ("5", "ours")
    store.remove(A, "6")
    assert shown(store) is None


def test_an_object_deleted_while_our_write_was_under_way_stays_deleted() -> None:
    store = a_store(an_object("a", 1))
    store.assume(A, on_node("n1"), deadline=10)
    store.remove(A, "6")
    store.written(an_object("a", 5, "ours"), deadline=10)
    assert shown(store) is None


def test_a_deletion_can_be_assumed() -> None:
    store = a_store(an_object("a", 1))
    store.assume(A, lambda _: None, deadline=10)
    assert shown(store) is None
    store.forget(A)
    assert shown(store) == ("1", "")


def test_what_the_watch_never_confirms_is_undone_at_its_deadline() -> None:
    store = a_store(an_object("a", 1, "before"), an_object("b", 1, "before"))
    store.assume(A, on_node("n1"), deadline=10)
    store.written(an_object("b", 5, "ours"), deadline=20)
    assert [c.key.name for c in store.expire(10)] == ["a"]
    assert (shown(store), shown(store, "b")) == (("1", "before"), ("5", "ours"))
    assert [c.key.name for c in store.expire(20)] == ["b"]
    assert shown(store, "b") == ("1", "before")


def test_a_list_confirms_what_it_shows_and_keeps_the_rest() -> None:
    store = a_store(an_object("a", 1), an_object("b", 1), an_object("c", 1))
    store.written(an_object("a", 5, "ours"), deadline=10)
    store.written(an_object("b", 9, "ours"), deadline=10)
    store.replace({A: an_object("a", 6, "later"), key("b"): an_object("b", 2, "old")})
    assert shown(store) == ("6", "later")
    assert shown(store, "b") == ("9", "ours")
    assert shown(store, "c") is None


class TheWatchHasTheLastWord(RuleBasedStateMachine):
    """Whatever we assume: once the watch has caught up and deadlines have passed, the store
    shows what the server has; and an answered write is never unseen before that."""

    def __init__(self) -> None:
        super().__init__()
        self.version = 0
        self.server: dict[str, Document] = {}
        self.pending: list[tuple[str, Document | None, int]] = []
        self.store = a_store()

    def write(self, name: str, value: str) -> Document:
        self.version += 1
        self.server[name] = an_object(name, self.version, value)
        self.pending.append((name, self.server[name], self.version))
        return self.server[name]

    @rule(name=sampled_from("ab"))
    def another_writer_writes(self, name: str) -> None:
        self.write(name, "theirs")

    @rule(name=sampled_from("ab"))
    def we_write(self, name: str) -> None:
        self.store.assume(key(name), on_node("n1"), deadline=10)
        self.store.written(self.write(name, "ours"), deadline=10)
        assert shown(self.store, name) == (str(self.version), "ours")

    @rule(name=sampled_from("ab"))
    def we_only_meant_to(self, name: str) -> None:
        self.store.assume(key(name), on_node("n1"), deadline=10)

    @precondition(lambda self: self.server)
    @rule()
    def another_writer_deletes(self) -> None:
        name = min(self.server)
        del self.server[name]
        self.version += 1
        self.pending.append((name, None, self.version))

    @precondition(lambda self: self.pending)
    @rule()
    def the_watch_delivers(self) -> None:
        name, object_, version = self.pending.pop(0)
        if object_ is None:
            self.store.remove(key(name), str(version))
        else:
            self.store.put(key(name), object_)

    @rule()
    def a_list_arrives(self) -> None:
        self.pending.clear()
        self.store.replace({key(name): o for name, o in self.server.items()})

    @invariant()
    def indexes_follow(self) -> None:
        view = self.store.snapshot()
        assert set(view.by("node", "n1")) == {
            k for k, o in view.objects.items() if o["node"] == "n1"
        }

    def teardown(self) -> None:
        while self.pending:
            self.the_watch_delivers()
        self.store.expire(10)
        assert {k.name: o for k, o in self.store.snapshot().objects.items()} == self.server
        assert self.store.assumed == frozenset()


TheWatchHasTheLastWord.TestCase.settings = settings(deadline=None, max_examples=100)
TestTheWatchHasTheLastWord = TheWatchHasTheLastWord.TestCase
