"""Nothing is seen, sent or acknowledged before it is on disk; what fails leaves no trace."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from plimsoll.apiserver.storage.collection import Change, Collection
from plimsoll.apiserver.storage.revisions import TOLD_AT_ONCE, HistoryLimits, Revisions
from plimsoll.apiserver.storage.sqlite_store import SqliteStore
from plimsoll.apiserver.storage.store import LogRow, LogStore, MemoryStore, StoreFailedError
from plimsoll.runtime.clock import SteppedClock, SystemClock
from tests.apiserver.api import MAPS, a_map, serving
from tests.apiserver.records import put, removed
from tests.apiserver.stores import FailingStore, SlowStore

MINUTE = timedelta(minutes=1)
LIMITS = HistoryLimits(age=timedelta(minutes=5), changes=1000)
NAME = "configmaps"


def describe(_resource: str, _raw: bytes) -> tuple[dict[str, str], dict[str, str]]:
    return {}, {}


def open_revisions(
    store: LogStore, clock: SteppedClock, limits: HistoryLimits = LIMITS
) -> Revisions:
    revisions = Revisions(store, clock, limits)
    revisions.load(describe)
    return revisions


@asynccontextmanager
async def written(revisions: Revisions) -> AsyncIterator[Collection]:
    """The one collection of these tests, while the writer runs."""
    async with asyncio.TaskGroup() as group:
        writer = group.create_task(revisions.run_writer())
        yield revisions.collection(NAME)
        writer.cancel()


def stage_put(revisions: Revisions, key: str, text: str = "") -> Change:
    collection = revisions.collection(NAME)
    change = put(collection, key, revisions.next_revision, text)
    revisions.stage(collection, change)
    return change


def stage_removal(revisions: Revisions, key: str) -> Change:
    collection = revisions.collection(NAME)
    change = removed(collection, key, revisions.next_revision)
    revisions.stage(collection, change)
    return change


async def test_before_the_batch_is_on_disk_no_client_sees_it(clock: SteppedClock) -> None:
    store = SlowStore(MemoryStore())
    async with serving(store, clock) as api, api.watch() as watching:
        await watching.events()
        before = (await api.list()).revision
        store.hold()
        create = asyncio.ensure_future(api.create("a"))
        await store.arrival()
        assert not create.done()
        assert (await api.get("a")).status == 404
        listed = await api.list()
        assert (listed.names, listed.revision) == ([], before)
        assert await watching.events() == []
        store.release()
        made = await create
        assert (await api.get("a")).revision == made.revision
        assert [kind for kind, _ in await watching.events()] == ["ADDED"]


async def test_a_failed_batch_and_all_on_top_of_it_fail_and_leave_no_trace(
    clock: SteppedClock,
) -> None:
    store = SlowStore(MemoryStore())
    async with serving(store, clock) as api, api.watch() as watching:
        kept = await api.create("kept", "before")
        await watching.events()
        store.hold()
        first = asyncio.ensure_future(api.ask("POST", MAPS, a_map("a")))
        await store.arrival()
        on_top = [
            asyncio.ensure_future(api.ask(method, path, body))
            for method, path, body in (
                ("PUT", f"{MAPS}/a", a_map("a", "again")),
                ("DELETE", f"{MAPS}/kept", None),
                ("POST", MAPS, a_map("b")),
            )
        ]
        await asyncio.sleep(0)
        store.release(fails=True)
        replies = await asyncio.gather(first, *on_top)
        assert [reply.status for reply in replies] == [503] * 4
        assert (await api.list()).document["items"] == [
            {key: kept.document[key] for key in ("metadata", "data")}
        ]
        assert await watching.events() == []

        store.fails = False
        later = await api.create("a", "later")
        assert later.revision == kept.revision + 1
        assert await watching.seen() == [("ADDED", "a")]


async def test_a_refusal_that_leans_on_a_failed_write_is_not_told_as_truth(
    clock: SteppedClock,
) -> None:
    store = SlowStore(MemoryStore())
    async with serving(store, clock) as api:
        await api.create("old")
        store.hold()
        writes = [
            asyncio.ensure_future(api.ask("POST", MAPS, a_map("a"))),
            asyncio.ensure_future(api.ask("DELETE", f"{MAPS}/old")),
        ]
        await store.arrival()
        # Already there, says the newest state; gone already, says the newest state.
        leaning = [
            asyncio.ensure_future(api.ask("POST", MAPS, a_map("a"))),
            asyncio.ensure_future(api.ask("DELETE", f"{MAPS}/old")),
        ]
        store.release(fails=True)
        replies = await asyncio.gather(*writes, *leaning)
        assert [reply.status for reply in replies] == [503] * 4


async def test_a_refusal_that_leans_on_a_write_waits_until_that_is_on_disk(
    clock: SteppedClock,
) -> None:
    store = SlowStore(MemoryStore())
    async with serving(store, clock) as api:
        store.hold()
        first = asyncio.ensure_future(api.ask("POST", MAPS, a_map("a")))
        await store.arrival()
        second = asyncio.ensure_future(api.ask("POST", MAPS, a_map("a")))
        await asyncio.sleep(0.01)
        assert not second.done()
        store.release()
        assert [(await first).status, (await second).status] == [201, 409]


@pytest.mark.parametrize("make", [FailingStore, SlowStore], ids=["inline", "in-a-thread"])
async def test_readiness_tells_of_a_store_that_fails_until_it_works_again(
    clock: SteppedClock, make: Callable[[LogStore], FailingStore]
) -> None:
    store = make(MemoryStore())
    async with serving(store, clock) as api:
        store.fails = True
        refused = await api.ask("POST", MAPS, a_map("a"))
        assert refused.status == 503
        assert "disk is full" in refused.document["message"]
        assert (await api.ask("GET", "/readyz")).status == 500
        assert (await api.ask("GET", "/livez")).status == 200
        store.fails = False
        assert (await api.get("a")).status == 404
        await api.create("a")
        assert (await api.ask("GET", "/readyz")).status == 200


async def test_a_name_that_comes_and_goes_faster_than_the_disk_stays_usable(
    clock: SteppedClock,
) -> None:
    store = SlowStore(MemoryStore())
    async with serving(store, clock) as api:
        await api.create("a")
        pending = []

        async def next_batch(*requests: tuple[str, str]) -> None:
            for method, path in requests:
                body = a_map("a") if method == "POST" else None
                pending.append(asyncio.ensure_future(api.ask(method, path, body)))
            await asyncio.sleep(0)

        store.hold()
        await next_batch(("POST", "/api/v1/namespaces/kube-public/configmaps"))
        await store.arrival()
        await next_batch(("DELETE", f"{MAPS}/a"), ("POST", MAPS))
        store.release(holds_next=True)
        await store.arrival()
        await next_batch(("DELETE", f"{MAPS}/a"))
        store.release(holds_next=True)
        await store.arrival()
        await next_batch(("DELETE", f"{MAPS}/a"), ("POST", MAPS))
        store.release()
        replies = await asyncio.gather(*pending)
        assert [reply.status for reply in replies] == [201, 200, 201, 200, 404, 201]
        assert (await api.list()).names == ["a"]


async def test_what_one_request_changes_reaches_the_disk_together(clock: SteppedClock) -> None:
    store = FailingStore(MemoryStore())
    async with serving(store, clock) as api:
        for number in range(5):
            await api.create(f"m-{number}")
        before = store.appended
        assert (await api.ask("DELETE", MAPS)).status == 200
        assert store.appended == before + 1


async def test_a_request_under_way_when_the_server_stops_gets_its_answer(
    clock: SteppedClock,
) -> None:
    store = SlowStore(MemoryStore())
    async with serving(store, clock) as api:
        store.hold()
        create = asyncio.ensure_future(api.ask("POST", MAPS, a_map("a")))
        await store.arrival()
        asyncio.get_running_loop().call_later(0.02, store.release)
    assert (await create).status == 201


async def test_a_change_for_another_revision_is_a_bug(clock: SteppedClock) -> None:
    revisions = open_revisions(MemoryStore(), clock)
    collection = revisions.collection(NAME)
    with pytest.raises(AssertionError):
        revisions.stage(collection, put(collection, "a", 7))


async def test_compaction_forgets_by_age_and_the_rest_can_be_resumed(clock: SteppedClock) -> None:
    store = MemoryStore()
    revisions = open_revisions(store, clock)
    async with written(revisions):
        for text in "abc":
            stage_put(revisions, "k", text)
            await revisions.durable()
        await revisions.compact()
        clock.advance(LIMITS.age - MINUTE)
        stage_put(revisions, "k", "d")
        await revisions.durable()
        await revisions.compact()
        assert revisions.compacted == 0
        clock.advance(MINUTE)
        await revisions.compact()
    assert revisions.compacted == 3
    assert [row.revision for row in store.load()] == [3, 4]
    again = open_revisions(store, clock)
    assert (again.compacted, again.committed) == (3, 4)
    assert [change.revision for change in again.collection(NAME).since(3)] == [4]


async def test_compaction_forgets_by_number(clock: SteppedClock) -> None:
    store = MemoryStore()
    revisions = open_revisions(store, clock, HistoryLimits(changes=10))
    async with written(revisions):
        for number in range(30):
            stage_put(revisions, "k", str(number))
            await revisions.durable()
        await revisions.compact()
    assert revisions.compacted == 20
    assert len(list(store.load())) == 11


@pytest.mark.parametrize("restarts", [False, True], ids=["same-life", "next-life"])
async def test_rows_that_a_failed_compaction_left_behind_go_with_the_next_one(
    clock: SteppedClock, *, restarts: bool
) -> None:
    store = FailingStore(MemoryStore())
    limits = HistoryLimits(changes=1)
    revisions = open_revisions(store, clock, limits)
    async with written(revisions):
        for text in "abcd":
            stage_put(revisions, "k", text)
            await revisions.durable()
        store.fails = True
        await revisions.compact()
        store.fails = False
        if restarts:
            # The store knows of a later point than the one whose rows it still has.
            store.inner.compact(3, [])
    if restarts:
        revisions = open_revisions(store, clock, limits)
    async with written(revisions):
        stage_put(revisions, "k", "e")
        await revisions.durable()
        await revisions.compact()
    assert [row.revision for row in store.load()] == [4, 5]


async def test_a_row_is_taken_from_the_store_once(clock: SteppedClock) -> None:
    store = FailingStore(MemoryStore())
    revisions = open_revisions(store, clock, HistoryLimits(changes=1))
    async with written(revisions):
        for text in "abcd":
            stage_put(revisions, "k", text)
            await revisions.durable()
            await revisions.compact()
    assert store.forgotten == [1, 2]


async def test_the_compactor_works_by_the_clock(clock: SteppedClock) -> None:
    async with serving(clock=clock, limits=LIMITS) as api:
        first = await api.create("a")
        await clock.run(timedelta(minutes=6))
        await api.create("b")
        await clock.run(timedelta(minutes=1))
        async with api.watch(resourceVersion=str(first.revision - 1)) as late:
            assert (await late.refusal())["code"] == 410
        async with api.watch(resourceVersion=str(first.revision)) as in_time:
            assert await in_time.seen() == [("ADDED", "b")]


async def test_compaction_while_writes_are_under_way_loses_nothing(clock: SteppedClock) -> None:
    store = SlowStore(MemoryStore())
    revisions = open_revisions(store, clock, HistoryLimits(changes=1))
    async with written(revisions):
        for text in "abc":
            stage_put(revisions, "k", text)
            await revisions.durable()
        store.hold()
        stage_put(revisions, "k", "d")
        await store.arrival()
        compaction = asyncio.ensure_future(revisions.compact())
        stage_removal(revisions, "k")
        store.release()
        await asyncio.gather(compaction, revisions.durable())
    revisions.close()
    again = open_revisions(store, clock)
    assert again.committed == 5
    assert list(again.collection(NAME).records()) == []
    assert [change.revision for change in again.collection(NAME).since(2)] == [3, 4, 5]


async def test_a_log_that_was_cut_below_a_tombstone_is_no_problem(clock: SteppedClock) -> None:
    store = MemoryStore()
    store.append([LogRow(5, NAME, "gone", None), LogRow(6, NAME, "k", b'{"metadata":{}}')])
    revisions = open_revisions(store, clock)
    assert [record.key for record in revisions.collection(NAME).records()] == ["k"]


KEYS = st.sampled_from(["a", "b", "c", "d"])
OPERATIONS = st.lists(st.tuples(KEYS, st.booleans()), min_size=1, max_size=5)
Operations = list[tuple[str, bool]]
State = dict[str, tuple[int, str]]


class StoredTruth(RuleBasedStateMachine):
    """Whatever fails, restarts or is compacted: memory says what the disk holds.

    The model is a list of all changes that were ever acknowledged.
    """

    def __init__(self) -> None:
        super().__init__()
        self.clock = SteppedClock()
        self.runner = asyncio.Runner()
        self.acknowledged: list[tuple[int, str, str | None]] = []
        self.texts = 0

    def open_store(self) -> LogStore:
        raise NotImplementedError

    @initialize()
    def start(self) -> None:
        self.store = SlowStore(self.open_store())
        self.runner.run(self.open())

    async def open(self) -> None:
        self.revisions = open_revisions(self.store, self.clock, HistoryLimits(changes=12))
        self.published: list[int] = []
        self.revisions.on_durable(
            lambda _, changes: self.published.extend(c.revision for c in changes)
        )

    @rule(waves=st.lists(OPERATIONS, min_size=1, max_size=4), failing=st.integers(0, 6))
    def write(self, waves: list[Operations], failing: int) -> None:
        """Batches, each decided while the one before it is on its way to the disk."""
        self.runner.run(self.write_batches(waves, failing))

    async def write_batches(self, waves: list[Operations], failing: int) -> None:
        """The batch with the number `failing` fails, if there are that many."""
        staged = []
        outcomes: list[asyncio.Future[None]] = []
        async with written(self.revisions):
            self.store.hold()
            for number, operations in enumerate(waves):
                staged.append(self.stage(operations))
                outcomes.append(asyncio.ensure_future(self.revisions.durable()))
                if number:
                    # One more wave is decided before the batch under way comes to its end.
                    self.store.release(fails=number - 1 == failing, holds_next=True)
                    if number - 1 == failing:
                        break
                await self.store.arrival()
            else:
                self.store.release(fails=len(waves) - 1 == failing)
            results = await asyncio.gather(*outcomes, return_exceptions=True)
        self.store.release_all()
        for number, (changes, result) in enumerate(zip(staged, results, strict=True)):
            assert isinstance(result, StoreFailedError) is (number >= failing)
            if number < failing:
                self.acknowledged += changes

    def stage(self, operations: Operations) -> list[tuple[int, str, str | None]]:
        staged: list[tuple[int, str, str | None]] = []
        for key, is_removal in operations:
            if is_removal and self.revisions.collection(NAME).newest(key) is not None:
                revision = stage_removal(self.revisions, key).revision
                staged.append((revision, key, None))
            else:
                self.texts += 1
                text = str(self.texts)
                staged.append((stage_put(self.revisions, key, text).revision, key, text))
        return staged

    @rule(fails=st.booleans())
    def compact(self, *, fails: bool) -> None:
        self.store.fails = fails
        self.runner.run(self.revisions.compact())
        self.store.fails = False

    @precondition(lambda self: self.acknowledged)
    @rule()
    def restart(self) -> None:
        self.revisions._thread.shutdown()  # noqa: SLF001 - the process is gone, the store stays
        self.store = SlowStore(self.open_store())
        self.runner.run(self.open())

    def state_at(self, revision: int) -> State:
        state: State = {}
        for number, key, text in self.acknowledged:
            if number <= revision:
                state.pop(key, None)
                if text is not None:
                    state[key] = (number, text)
        return state

    @invariant()
    def revisions_go_on_without_a_gap(self) -> None:
        newest = self.acknowledged[-1][0] if self.acknowledged else 0
        assert [number for number, _, _ in self.acknowledged] == list(range(1, newest + 1))
        assert (self.revisions.committed, self.revisions.next_revision) == (newest, newest + 1)

    @invariant()
    def listeners_were_told_of_every_acknowledged_change_once(self) -> None:
        numbers = [number for number, _, _ in self.acknowledged]
        assert self.published == numbers[len(numbers) - len(self.published) :]

    @invariant()
    def every_remembered_revision_reads_as_it_was(self) -> None:
        collection = self.revisions.collection(NAME)
        for revision in range(self.revisions.compacted, self.revisions.committed + 1):
            then = {record.key: record for record in collection.records()}
            for key, record in collection.at(revision).items():
                then.pop(key, None)
                if record is not None:
                    then[key] = record
            found = {
                key: (record.revision, record.document()["text"]) for key, record in then.items()
            }
            assert found == self.state_at(revision)

    @invariant()
    def a_watch_resumes_with_exactly_what_came_after(self) -> None:
        collection = self.revisions.collection(NAME)
        for revision in range(self.revisions.compacted, self.revisions.committed + 1):
            found = [(c.revision, c.record.key, c.kind) for c in collection.since(revision)]
            expected = []
            for number, key, text in self.acknowledged:
                if number > revision:
                    was_there = key in self.state_at(number - 1)
                    kind = "DELETED" if text is None else "MODIFIED" if was_there else "ADDED"
                    expected.append((number, key, kind))
            assert found == expected

    def teardown(self) -> None:
        if hasattr(self, "revisions"):
            self.store.release()  # after a failure a request may still be waiting
            self.revisions.close()
        self.runner.close()


class TruthInMemory(StoredTruth):
    def __init__(self) -> None:
        super().__init__()
        self.memory = MemoryStore()

    def open_store(self) -> LogStore:
        return self.memory


class TruthInSqlite(StoredTruth):
    def __init__(self) -> None:
        super().__init__()
        self.directory = TemporaryDirectory()

    def open_store(self) -> LogStore:
        if hasattr(self, "store"):
            self.store.close()
        return SqliteStore(Path(self.directory.name) / "log.db")

    def teardown(self) -> None:
        super().teardown()
        self.directory.cleanup()


QUICK = settings(
    max_examples=25,
    stateful_step_count=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestTruthInMemory = TruthInMemory.TestCase
TestTruthInMemory.settings = QUICK
TestTruthInSqlite = TruthInSqlite.TestCase
TestTruthInSqlite.settings = QUICK


async def test_events_resumed_after_a_restart_are_those_that_were_sent(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "log.db")
    async with serving(store) as api:
        start = (await api.create("a", "1", app="x")).revision
        await api.change("a", "2", app="y")
        await api.create("b")
        await api.delete("a")
        async with api.watch(resourceVersion=str(start)) as watching:
            sent = await watching.events()
    assert [kind for kind, _ in sent] == ["MODIFIED", "ADDED", "DELETED"]
    async with (
        serving(SqliteStore(tmp_path / "log.db")) as api,
        api.watch(resourceVersion=str(start)) as watching,
    ):
        assert await watching.events() == sent


async def test_everything_acknowledged_is_there_after_a_restart(tmp_path: Path) -> None:
    async with serving(SqliteStore(tmp_path / "log.db")) as api:
        replies = await asyncio.gather(*(api.create(f"m-{n}", "x" * n) for n in range(50)))
        await api.delete("m-7")
    async with serving(SqliteStore(tmp_path / "log.db")) as api:
        listed = await api.list()
        expected = {
            reply.document["metadata"]["name"]: reply.document["metadata"] for reply in replies
        }
        del expected["m-7"]
        assert {
            item["metadata"]["name"]: item["metadata"] for item in listed.document["items"]
        } == expected


@pytest.mark.parametrize(
    ("watchers", "most"), [(1, 100), (TOLD_AT_ONCE // 2, 2), (10 * TOLD_AT_ONCE, 1)]
)
async def test_the_more_watchers_there_are_the_fewer_changes_are_told_in_one_turn(
    watchers: int, most: int, tmp_path: Path
) -> None:
    revisions = Revisions(SqliteStore(tmp_path / "objects.db"), SystemClock())
    revisions.load(describe)
    revisions.weigh = lambda _: watchers
    turns: list[int] = []
    revisions.on_durable(lambda _, changes: turns.append(len(changes)))
    async with written(revisions):
        for number in range(100):
            stage_put(revisions, f"default/m-{number}")
        await revisions.durable()
    revisions.close()
    assert sum(turns) == 100
    assert max(turns) == most
