"""Check, back up, restore: what a person does when the disk has let them down."""

import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from plimsoll.apiserver.storage import maintenance, sqlite_file
from plimsoll.apiserver.storage.sqlite_file import FILE_NAME
from plimsoll.apiserver.storage.sqlite_store import SqliteStore
from plimsoll.apiserver.storage.store import StoreCorruptError
from tests.apiserver.api import Api, serving


@pytest.fixture
def data(tmp_path: Path) -> Path:
    directory = tmp_path / "data"
    directory.mkdir()
    return directory


def open_store(data: Path) -> SqliteStore:
    return SqliteStore(data / FILE_NAME)


def damage(data: Path) -> None:
    with closing(sqlite3.connect(data / FILE_NAME)) as db:
        db.execute("DELETE FROM log WHERE revision = (SELECT max(revision) FROM log)")
        db.commit()


async def names(api: Api) -> list[str]:
    return (await api.list()).names


async def test_a_sound_file_is_described(data: Path) -> None:
    async with serving(open_store(data)) as api:
        for name in "abc":
            await api.create(name)
        await api.change("a", "2")
        deleted = await api.delete("b")
    assert deleted.status == 200
    report = maintenance.check(data)
    assert report.objects["configmaps"] == 2
    assert report.lines()[0].startswith("ok: ")
    assert "  configmaps: 2" in report.lines()


def test_a_directory_without_a_file_is_not_called_sound(data: Path) -> None:
    with pytest.raises(StoreCorruptError, match="no such file"):
        maintenance.check(data)
    assert list(data.iterdir()) == []


def test_an_empty_file_is_not_called_sound(data: Path) -> None:
    (data / FILE_NAME).touch()
    with pytest.raises(StoreCorruptError):
        maintenance.check(data)


async def test_a_backup_brings_back_what_was_there_and_keeps_the_damaged_file(
    data: Path, tmp_path: Path
) -> None:
    async with serving(open_store(data)) as api:
        before = (await api.create("a", "precious")).document
    copy = tmp_path / "backup.db"
    maintenance.backup(data, copy)
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    async with serving(open_store(data)) as api:
        await api.create("b")
        lost = (await api.create("c")).revision
    damage(data)
    with pytest.raises(StoreCorruptError):
        maintenance.check(data)

    kept = maintenance.restore(data, copy)
    assert kept is not None
    assert kept.exists()
    assert stat.S_IMODE((data / FILE_NAME).stat().st_mode) == 0o600
    maintenance.check(data)
    async with serving(open_store(data)) as api:
        assert (await api.get("a")).document == before
        assert await names(api) == ["a"]
        # Positions of the lost future, and those of the past, have to begin again.
        for position in (lost, int(before["metadata"]["resourceVersion"])):
            async with api.watch(resourceVersion=str(position)) as watching:
                assert (await watching.refusal())["code"] == 410
        assert (await api.create("new")).revision > lost
    # What the backup had of history goes with the next compaction; the sums still agree.
    maintenance.check(data)


async def test_a_restored_server_compacts_what_history_the_backup_had(
    data: Path, tmp_path: Path
) -> None:
    async with serving(open_store(data)) as api:
        await api.create("a", "1")
        for text in "234":
            await api.change("a", text)
    changes = maintenance.check(data).changes
    maintenance.backup(data, tmp_path / "backup.db")
    maintenance.restore(data, tmp_path / "backup.db")
    async with serving(open_store(data)) as api:
        revisions = api.server.cluster.revisions
        revisions._limits = revisions._limits.__class__(changes=0)  # noqa: SLF001 - at once
        await api.create("b")
        await revisions.compact()
    left = maintenance.check(data)
    # Of every object its newest version: "a" had three more, and each definition of a snapshot
    # kind one, from before its names were accepted.
    assert left.changes == sum(left.objects.values()) == changes + 1 - 3 - 3


def test_a_backup_never_overwrites_a_file(data: Path, tmp_path: Path) -> None:
    open_store(data).close()
    target = tmp_path / "backup.db"
    target.write_text("precious")
    with pytest.raises(FileExistsError, match="exists"):
        maintenance.backup(data, target)
    assert target.read_text() == "precious"


def test_a_damaged_file_is_neither_backed_up_nor_restored_from(data: Path, tmp_path: Path) -> None:
    open_store(data).close()
    with closing(sqlite3.connect(data / FILE_NAME)) as db:
        db.execute("UPDATE totals SET number = 5")
        db.commit()
    with pytest.raises(StoreCorruptError):
        maintenance.backup(data, tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()
    before = (data / FILE_NAME).read_bytes()
    with pytest.raises(StoreCorruptError):
        maintenance.restore(tmp_path / "elsewhere", data / FILE_NAME)
    assert (data / FILE_NAME).read_bytes() == before


def test_a_file_in_use_is_neither_called_damaged_nor_replaced(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "BUSY_SECONDS", 0.05)
    open_store(data).close()
    copy = tmp_path / "copy.db"
    maintenance.backup(data, copy)
    with closing(open_store(data)):
        for attempt in (
            lambda: maintenance.check(data),
            lambda: maintenance.backup(data, tmp_path / "second.db"),
            lambda: maintenance.restore(data, copy),
        ):
            with pytest.raises(StoreCorruptError, match="running") as refused:
                attempt()
            assert "empty data directory" not in str(refused.value)
    assert [path.name for path in data.iterdir()] == [FILE_NAME]


def test_a_lost_file_is_restored_and_an_orphaned_log_moved_away(data: Path, tmp_path: Path) -> None:
    open_store(data).close()
    maintenance.backup(data, tmp_path / "copy.db")
    (data / FILE_NAME).unlink()
    (data / f"{FILE_NAME}-wal").write_bytes(b"stale")
    assert maintenance.restore(data, tmp_path / "copy.db") is None
    maintenance.check(data)


def test_every_replaced_file_is_kept(data: Path, tmp_path: Path) -> None:
    open_store(data).close()
    maintenance.backup(data, tmp_path / "copy.db")
    kept = {maintenance.restore(data, tmp_path / "copy.db") for _ in range(3)}
    assert len(kept) == 3
    assert all(path is not None and path.exists() for path in kept)
