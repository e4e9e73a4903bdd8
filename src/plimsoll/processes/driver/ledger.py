"""The records of a driver, on disk before anything is done that they speak of.

One SQLite file, locked for as long as the driver runs: two drivers on one directory would promise
the same capacity twice. Everything is in memory as well. A record survives `kill -9` and a loss of
power from the moment when the method that writes it returns. Records keep the order in which they
came, by number.
"""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Generic, Self, TypeVar

import msgspec

from plimsoll.processes.driver.records import (
    EpochRecord,
    FenceRecord,
    SnapshotRecord,
    VolumeRecord,
    WithheldMountRecord,
)

FILE_NAME = "driver.db"
SCHEMA_VERSION = 1
BUSY_SECONDS = 0.5
IN_USE = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

Entry = TypeVar(
    "Entry", VolumeRecord, SnapshotRecord, EpochRecord, FenceRecord, WithheldMountRecord
)


class LedgerError(Exception):
    """The records cannot be read or written; says where, why and what helps."""


def _nothing() -> None:
    pass


class LedgerTable(Generic[Entry]):
    """Records of one kind: by id, by name, and in the order they came."""

    def __init__(
        self, db: sqlite3.Connection, form: type[Entry], on_write: Callable[[], None]
    ) -> None:
        self._db = db
        self._form: type[Entry] = form
        self._table = form.__name__
        self._on_write = on_write
        self._numbers: dict[str, int] = {}
        self._by_id: dict[str, Entry] = {}
        self._id_by_name: dict[str, str] = {}
        self.on_change: list[Callable[[Entry | None, Entry | None], None]] = []
        """Called with a record as it was and as it is, once that is on disk; None: there is none.
        """
        db.execute(
            f"CREATE TABLE IF NOT EXISTS {self._table} (number INTEGER PRIMARY KEY AUTOINCREMENT,"
            " id TEXT NOT NULL UNIQUE, document BLOB NOT NULL)"
        )
        self._read()

    def _read(self) -> None:
        rows = self._db.execute(f"SELECT number, id, document FROM {self._table} ORDER BY number")  # noqa: S608 - the name of a class
        for number, _, document in rows:
            self._keep(number, msgspec.json.decode(document, type=self._form))
        sequence = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?"
        self.newest: int = self._db.execute(sequence, (self._table,)).fetchone()[0]
        """The highest number ever given."""

    def _keep(self, number: int, entry: Entry) -> None:
        self._numbers[entry.id] = number
        self._by_id[entry.id] = entry
        self._id_by_name[entry.name] = entry.id

    def find(self, id_: str) -> Entry | None:
        return self._by_id.get(id_)

    def find_by_name(self, name: str) -> Entry | None:
        id_ = self._id_by_name.get(name)
        return None if id_ is None else self._by_id[id_]

    def all(self) -> tuple[Entry, ...]:
        return tuple(self._by_id.values())

    def numbered(self) -> tuple[tuple[int, Entry], ...]:
        return tuple((self._numbers[entry.id], entry) for entry in self._by_id.values())

    def put(self, entry: Entry) -> None:
        """New or changed."""
        document = msgspec.json.encode(entry)
        number = self._numbers.get(entry.id)
        self._on_write()
        if number is None:
            insert = f"INSERT INTO {self._table} (id, document) VALUES (?, ?)"  # noqa: S608 - the name of a class
            number = self._db.execute(insert, (entry.id, document)).lastrowid
            assert number is not None  # noqa: S101 - an insert has a row
            self.newest = number
        else:
            update = f"UPDATE {self._table} SET document = ? WHERE number = ?"  # noqa: S608 - the name of a class
            self._db.execute(update, (document, number))
        before = self._by_id.get(entry.id)
        self._keep(number, entry)
        self._tell(before, entry)
        self._on_write()

    def drop(self, id_: str) -> None:
        """Harmless when there is none."""
        entry = self._by_id.get(id_)
        if entry is None:
            return
        self._on_write()
        self._db.execute(f"DELETE FROM {self._table} WHERE id = ?", (id_,))  # noqa: S608 - the name of a class
        del self._by_id[id_], self._numbers[id_], self._id_by_name[entry.name]
        self._tell(entry, None)
        self._on_write()

    def _tell(self, before: Entry | None, after: Entry | None) -> None:
        for listener in self.on_change:
            listener(before, after)


class Ledger:
    def __init__(self, data_dir: Path | None, *, on_write: Callable[[], None] = _nothing) -> None:
        """Without a directory: in memory alone. Raises LedgerError.

        `on_write` is called before and after each write: where a test lets the process die.
        """
        path = None if data_dir is None else data_dir / FILE_NAME
        try:
            self._read(_opened(path), on_write)
        except sqlite3.Error as error:
            raise LedgerError(_explained(path, error)) from error
        except msgspec.MsgspecError as error:
            raise LedgerError(f"{path}: a record cannot be read: {error}") from error
        except OSError as error:
            raise LedgerError(f"{path}: {error.strerror}") from error

    @classmethod
    def of(cls, db: sqlite3.Connection) -> Self:
        """The records in a database that is open already, and in memory."""
        ledger = cls.__new__(cls)
        ledger._read(db, _nothing)  # noqa: SLF001 - one of us
        return ledger

    def _read(self, db: sqlite3.Connection, on_write: Callable[[], None]) -> None:
        self._db = db
        self.volumes = LedgerTable(db, VolumeRecord, on_write)
        self.snapshots = LedgerTable(db, SnapshotRecord, on_write)
        self.epochs = LedgerTable(db, EpochRecord, on_write)
        self.fences = LedgerTable(db, FenceRecord, on_write)
        self.withheld_mounts = LedgerTable(db, WithheldMountRecord, on_write)

    def close(self) -> None:
        self._db.close()


def _opened(path: Path | None) -> sqlite3.Connection:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
    db = sqlite3.connect(path or ":memory:", isolation_level=None, timeout=BUSY_SECONDS)
    db.execute("PRAGMA locking_mode = EXCLUSIVE")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("BEGIN IMMEDIATE")  # takes the lock at once, not with the first write
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version > SCHEMA_VERSION:
        raise LedgerError(f"{path}: was written by a newer version; use that one")
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    db.execute("COMMIT")
    return db


def _explained(path: Path | None, error: sqlite3.Error) -> str:
    if error.sqlite_errorcode & 0xFF in IN_USE:
        return f"{path}: another driver runs on this directory; give each a --data-dir of its own"
    return f"{path}: {error}"
