"""Secrets are encrypted in the file, each in its own place, under the first of several keys."""

import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from plimsoll.apiserver.storage.encryption.keys import KeyRing, StorageKey
from plimsoll.apiserver.storage.encryption.sealed_store import (
    Encryption,
    EncryptionKeyError,
    SealedStore,
)
from plimsoll.apiserver.storage.sqlite_store import SqliteStore, checksum
from plimsoll.apiserver.storage.store import LogRow

OLD, NEW = StorageKey(bytes(32)), StorageKey(bytes(range(32)))
PLAIN = b"very-secret-password"
SECRET = LogRow(11, "secrets", "default/a", PLAIN)
OTHER = LogRow(12, "configmaps", "default/a", b"not-so-secret")
GONE = LogRow(13, "secrets", "default/b", None)
ROWS = [SECRET, OTHER, GONE]


def under(
    *keys: StorageKey | None, resources: frozenset[str] = frozenset({"secrets"})
) -> Encryption:
    held = tuple(key for key in keys if key is not None)
    ring = KeyRing(first=keys[0], keys=held, reads_plain=None in keys)
    return Encryption(ring=ring, resources=resources)


@contextmanager
def opened(path: Path, encryption: Encryption) -> Iterator[SealedStore]:
    store = SealedStore(SqliteStore(path, first=10), encryption, path)
    try:
        store.prepare()
        yield store
    finally:
        store.close()


def written(directory: Path, encryption: Encryption) -> Path:
    path = directory / "plimsoll.db"
    with opened(path, encryption) as store:
        store.append(ROWS)
    return path


def on_disk(path: Path) -> bytes:
    return b"".join(each.read_bytes() for each in sorted(path.parent.iterdir()))


def test_secrets_are_not_in_the_file_nor_in_its_log_and_other_objects_are(tmp_path: Path) -> None:
    path = tmp_path / "plimsoll.db"
    with opened(path, under(NEW)) as store:
        store.append(ROWS)
        assert (tmp_path / "plimsoll.db-wal").stat().st_size > 0
        assert PLAIN not in on_disk(path)
        assert OTHER.document is not None
        assert OTHER.document in on_disk(path)
        assert list(store.load()) == ROWS
    assert PLAIN not in on_disk(path)
    assert {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()} == {0o600}


def test_other_resources_are_encrypted_where_they_are_named(tmp_path: Path) -> None:
    path = written(tmp_path, under(NEW, resources=frozenset({"configmaps"})))
    assert b"not-so-secret" not in on_disk(path)
    assert PLAIN in on_disk(path)


def test_the_same_document_is_never_written_in_the_same_way_twice(tmp_path: Path) -> None:
    path = tmp_path / "plimsoll.db"
    with opened(path, under(NEW)) as store:
        store.append([SECRET, LogRow(12, "secrets", "default/c", PLAIN)])
    with closing(sqlite3.connect(path)) as db:
        first, second = (row[0] for row in db.execute("SELECT document FROM log"))
    assert first[-40:] != second[-40:]


def test_with_identity_below_the_key_a_plain_file_is_sealed_at_the_next_start_and_keeps_no_trace(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, Encryption())
    with opened(path, Encryption()) as store:
        deleted = LogRow(14, "secrets", "default/deleted", b"deleted-secret")
        store.append([deleted, LogRow(15, "secrets", "default/deleted", None)])
        store.compact(15, [14, 15])
    assert PLAIN in on_disk(path)
    with opened(path, under(NEW, None)) as store:
        assert list(store.load()) == ROWS
        assert PLAIN not in on_disk(path)
        assert b"deleted-secret" not in on_disk(path)
    assert PLAIN not in on_disk(path)
    with opened(path, under(NEW)) as store:
        assert list(store.load()) == ROWS


def refused(path: Path, encryption: Encryption, object_name: str) -> None:
    """The start ends with the object and the remedy, and the file is as it was."""
    before = on_disk(path)
    expected = rf"{object_name} is not encrypted.*nothing was changed.*line identity below the keys"
    with pytest.raises(EncryptionKeyError, match=expected), opened(path, encryption):
        pass
    assert on_disk(path) == before


@pytest.mark.parametrize("keep_mark", [True, False], ids=["mark kept", "mark taken away"])
@pytest.mark.parametrize(
    "forged",
    [
        pytest.param(LogRow(14, "secrets", "default/new", b"forged"), id="a new object"),
        pytest.param(LogRow(14, "secrets", "default/a", b"forged"), id="a new state"),
    ],
)
def test_a_plain_object_that_is_put_into_an_encrypted_file_is_refused(
    tmp_path: Path, forged: LogRow, *, keep_mark: bool
) -> None:
    path = written(tmp_path, under(NEW))
    if not keep_mark:
        (tmp_path / "plimsoll.db.sealed").unlink()
    plain = SqliteStore(path)
    plain.append([forged])
    plain.close()
    refused(path, under(NEW), rf"secrets {forged.key} at revision 14")


def test_a_plain_object_in_the_place_of_a_sealed_one_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, under(NEW))
    plain = SqliteStore(path)
    plain.rewrite([SECRET])
    plain.close()
    refused(path, under(NEW), r"secrets default/a at revision 11")


def test_plain_objects_are_refused_also_while_the_key_is_changed(tmp_path: Path) -> None:
    path = written(tmp_path, under(OLD))
    plain = SqliteStore(path)
    plain.append([LogRow(14, "secrets", "default/new", b"forged")])
    plain.close()
    refused(path, under(NEW, OLD), r"secrets default/new at revision 14")


def test_a_resource_that_is_named_later_needs_identity_for_one_start(tmp_path: Path) -> None:
    path = written(tmp_path, under(NEW))
    both = frozenset({"secrets", "configmaps"})
    refused(path, under(NEW, resources=both), r"configmaps default/a at revision 12")
    for encryption in (under(NEW, None, resources=both), under(NEW, resources=both)):
        with opened(path, encryption) as store:
            assert list(store.load()) == ROWS


def test_two_sealed_objects_that_changed_places_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "plimsoll.db"
    other = LogRow(12, "secrets", "default/b", b"of-another")
    with opened(path, under(NEW)) as store:
        store.append([SECRET, other])
    plain = SqliteStore(path)
    first, second = plain.load()
    plain.rewrite(
        [
            LogRow(first.revision, first.resource, first.key, second.document),
            LogRow(second.revision, second.resource, second.key, first.document),
        ]
    )
    plain.close()
    expected = "secrets default/a at revision 11 was changed or put there from another place"
    with pytest.raises(EncryptionKeyError, match=expected), opened(path, under(NEW)):
        pass


def test_an_interrupted_start_is_made_up_for(tmp_path: Path) -> None:
    """All rows are sealed, but the file was not written anew: what was deleted is still there."""
    path = written(tmp_path, under(NEW))
    (tmp_path / "plimsoll.db.sealed").unlink()
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA secure_delete = OFF")
        db.execute("CREATE TABLE left_over (document)")
        db.execute("INSERT INTO left_over VALUES (?)", (PLAIN * 1000,))
        db.commit()
        db.execute("DROP TABLE left_over")
        db.commit()
    assert PLAIN in on_disk(path)
    with opened(path, under(NEW)):
        pass
    assert PLAIN not in on_disk(path)


def test_after_a_start_with_a_new_key_the_old_one_is_not_needed(tmp_path: Path) -> None:
    path = written(tmp_path, under(OLD))
    with opened(path, under(NEW, OLD)) as store:
        assert list(store.load()) == ROWS
    with opened(path, under(NEW)) as store:
        assert list(store.load()) == ROWS


def test_identity_before_the_key_writes_all_of_it_plain_again(tmp_path: Path) -> None:
    path = written(tmp_path, under(NEW))
    with opened(path, under(None, NEW)) as store:
        assert list(store.load()) == ROWS
    with opened(path, Encryption()) as store:
        assert list(store.load()) == ROWS


@pytest.mark.parametrize("given", [under(OLD), Encryption()], ids=["another key", "no key"])
def test_without_the_key_nothing_is_changed_and_the_remedy_is_named(
    tmp_path: Path, given: Encryption
) -> None:
    path = written(tmp_path, under(NEW))
    before = on_disk(path)
    expected = rf"secrets default/a is encrypted with the key {NEW.name.hex()}.*--encryption-key"
    with pytest.raises(EncryptionKeyError, match=expected), opened(path, given) as store:
        list(store.load())
    assert on_disk(path) == before


@pytest.mark.parametrize(
    "moved",
    [
        LogRow(20, "secrets", "default/a", None),
        LogRow(11, "secrets", "default/other", None),
        LogRow(11, "tokens", "default/a", None),
    ],
    ids=["another revision", "another name", "another resource"],
)
def test_a_document_is_bound_to_its_place(tmp_path: Path, moved: LogRow) -> None:
    path = tmp_path / "plimsoll.db"
    with opened(path, under(NEW)) as store:
        store.append([SECRET])
    plain = SqliteStore(path)
    (held,) = plain.load()
    plain.close()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    other = SqliteStore(elsewhere / "plimsoll.db", first=10)
    other.append([LogRow(moved.revision, moved.resource, moved.key, held.document)])
    other.close()
    with (
        pytest.raises(EncryptionKeyError, match="was changed or put there from another place"),
        opened(elsewhere / "plimsoll.db", under(NEW)),
    ):
        pass


def test_a_changed_document_is_found_also_if_its_checksum_was_changed_with_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "plimsoll.db"
    with opened(path, under(NEW)) as store:
        store.append([SECRET])
    plain = SqliteStore(path)
    (held,) = plain.load()
    assert held.document is not None
    changed = held.document[:-1] + bytes([held.document[-1] ^ 1])
    plain.rewrite([LogRow(held.revision, held.resource, held.key, changed)])
    assert [checksum(row) for row in plain.load()]
    plain.close()
    with pytest.raises(EncryptionKeyError, match="was changed"), opened(path, under(NEW)):
        pass
