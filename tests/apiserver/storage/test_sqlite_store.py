"""The file tells the truth, or says that it cannot."""

import resource
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from plimsoll.apiserver.storage import sqlite_file
from plimsoll.apiserver.storage.sqlite_file import connect
from plimsoll.apiserver.storage.sqlite_store import SqliteStore
from plimsoll.apiserver.storage.store import LogRow, StoreCorruptError, StoreFailedError

ROWS = [LogRow(n, "configmaps", f"default/map-{n}", b'{"text":"%d"}' % n) for n in range(1, 40)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with some rows that no server has open."""
    with closing(SqliteStore(tmp_path / "log.db")) as store:
        store.append(ROWS)
        store.compact(3, [1, 2])
    return tmp_path / "log.db"


def rows_in(file: Path) -> list[LogRow]:
    with closing(SqliteStore(file)) as store:
        return list(store.load())


def execute(statement: str) -> Callable[[Path], None]:
    def damage(file: Path) -> None:
        with closing(sqlite3.connect(file)) as db:
            db.execute(statement)
            db.commit()

    return damage


def flip_a_byte(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[content.index(b'"text":"20"') + 8] ^= 1
    file.write_bytes(content)


def cut_off_the_end(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 8192 * 4096])


def empty(file: Path) -> None:
    file.write_bytes(b"")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        pytest.param(flip_a_byte, "map-20 at revision 20 does not match", id="a-byte"),
        pytest.param(cut_off_the_end, "", id="half-the-file"),
        pytest.param(empty, "empty", id="the-whole-content"),
        pytest.param(lambda f: f.write_text("lorem ipsum" * 1000), "not a database", id="text"),
        pytest.param(
            execute("DELETE FROM log WHERE revision = 7"), "36 changes found, 37", id="a-row"
        ),
        pytest.param(
            execute("UPDATE log SET key = 'default/other' WHERE revision = 7"),
            "does not match",
            id="a-key",
        ),
        pytest.param(
            execute(
                "INSERT INTO log SELECT 99, resource, key, document, checksum FROM log LIMIT 1"
            ),
            "does not match",
            id="a-row-too-many",
        ),
        pytest.param(
            execute("UPDATE log SET document = CAST(document AS TEXT) WHERE revision = 9"),
            "does not match",
            id="the-type-of-a-value",
        ),
        pytest.param(
            execute("UPDATE log SET document = NULL WHERE revision = 9"),
            "does not match",
            id="a-document-that-becomes-a-tombstone",
        ),
        pytest.param(
            execute("UPDATE totals SET compacted = 0"), "about itself", id="the-compaction-point"
        ),
        pytest.param(execute("UPDATE totals SET newest = 5"), "about itself", id="the-counter"),
        pytest.param(execute("DELETE FROM totals"), "about itself", id="the-totals"),
        pytest.param(execute("DROP TABLE totals"), "no such table", id="a-table"),
        pytest.param(execute("PRAGMA user_version = 7"), "schema version 7", id="newer-release"),
        pytest.param(execute("PRAGMA application_id = 1"), "not a Plimsoll", id="foreign-file"),
    ],
)
def test_damage_is_found_and_the_file_and_a_remedy_are_named(
    file: Path, damage: Callable[[Path], object], said: str
) -> None:
    damage(file)
    with pytest.raises(StoreCorruptError) as found:
        rows_in(file)
    assert str(file) in str(found.value)
    assert said in str(found.value)
    assert "restore" in str(found.value) or "release" in str(found.value)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_one_flipped_bit_never_changes_what_is_read(file: Path, place: float, bit: int) -> None:
    whole = file.read_bytes()
    content = bytearray(whole)
    content[int(place * len(content))] ^= 1 << bit
    copy = file.with_name("copy.db")
    copy.write_bytes(content)
    try:
        with suppress(StoreCorruptError, sqlite3.OperationalError):
            assert rows_in(copy) == ROWS[2:]
    finally:
        for leftover in file.parent.glob("copy.db*"):
            leftover.unlink()


def test_a_file_that_vanished_from_beside_its_write_ahead_log_is_not_made_anew(
    tmp_path: Path,
) -> None:
    (tmp_path / "log.db-wal").write_bytes(b"x")
    with pytest.raises(StoreCorruptError, match="is missing"):
        SqliteStore(tmp_path / "log.db")


def test_a_second_server_is_told_that_the_file_is_in_use(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "BUSY_SECONDS", 0.05)
    with closing(SqliteStore(file)) as first:
        with pytest.raises(sqlite3.OperationalError, match="another server is running"):
            SqliteStore(file)
        first.append([LogRow(40, "configmaps", "default/x", b"{}")])
    assert rows_in(file)[-1].revision == 40


def test_no_other_user_may_read_the_file(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "log.db")) as store:
        store.append(ROWS[:1])
        modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {0o600}


def test_a_new_file_begins_to_count_where_it_is_told(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "log.db", first=1000)) as store:
        assert (store.newest, store.compacted) == (1000, 1000)
    with closing(SqliteStore(tmp_path / "log.db", first=5)) as store:
        assert store.newest == 1000


@contextmanager
def no_room(limit: int) -> Iterator[None]:
    """The operating system refuses to let files grow beyond the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_batch_without_room_fails_as_a_whole_and_the_next_one_succeeds(file: Path) -> None:
    large = [LogRow(n, "configmaps", f"default/{n}", b"x" * 30_000) for n in range(40, 60)]
    small = LogRow(40, "configmaps", "default/small", b"{}")
    with closing(SqliteStore(file)) as store:
        with no_room(200_000), pytest.raises(StoreFailedError):
            store.append(large)
        assert list(store.load()) == ROWS[2:]
        store.append([small])
    assert rows_in(file) == [*ROWS[2:], small]


def test_a_compaction_without_room_leaves_the_file_as_it_was(file: Path) -> None:
    with closing(SqliteStore(file)) as store:
        with no_room(0), pytest.raises(StoreFailedError):
            store.compact(20, range(1, 20))
        assert store.compacted == 3
        assert list(store.load()) == ROWS[2:]
        store.compact(20, range(1, 20))
    assert rows_in(file) == ROWS[19:]


class WeakDisk(SqliteStore):
    """Commits, yet reports an error; perhaps the file cannot even be opened afterwards."""

    errors = 0
    is_out_of_reach = False

    def _commit(self) -> None:
        super()._commit()
        if self.errors:
            self.errors -= 1
            raise sqlite3.OperationalError("disk I/O error")

    def _reopen(self) -> sqlite_file.Totals:
        if self.is_out_of_reach:
            self.is_out_of_reach = False
            self._db.close()
            raise sqlite3.OperationalError("unable to open database file")
        return super()._reopen()


def test_a_commit_that_complained_but_is_on_disk_counts(file: Path) -> None:
    late = LogRow(40, "configmaps", "default/late", b"{}")
    with closing(WeakDisk(file)) as store:
        store.errors = 1
        store.append([late])
        assert store.newest == 40
    assert rows_in(file) == [*ROWS[2:], late]


def test_a_batch_reported_as_failed_never_comes_back_in_place_of_a_later_one(file: Path) -> None:
    failed = LogRow(40, "configmaps", "default/failed", b"{}")
    written = LogRow(40, "configmaps", "default/written", b"{}")
    with closing(WeakDisk(file)) as store:
        store.errors, store.is_out_of_reach = 1, True
        with pytest.raises(StoreFailedError):
            store.append([failed])
        store.append([written])
        assert list(store.load()) == [*ROWS[2:], written]
    assert rows_in(file) == [*ROWS[2:], written]


def test_a_compaction_of_unknown_outcome_does_no_harm(file: Path) -> None:
    later = LogRow(40, "configmaps", "default/later", b"{}")
    with closing(WeakDisk(file)) as store:
        store.errors, store.is_out_of_reach = 1, True
        with pytest.raises(StoreFailedError):
            store.compact(20, range(1, 20))
        store.append([later])
    assert rows_in(file) == [*ROWS[19:], later]


def test_what_was_not_committed_when_the_power_went_is_not_there(file: Path) -> None:
    db = connect(file)
    db.execute("BEGIN IMMEDIATE")
    db.execute("INSERT INTO log VALUES (40, 'configmaps', 'default/x', NULL, 0)")
    db.close()
    assert rows_in(file) == ROWS[2:]
