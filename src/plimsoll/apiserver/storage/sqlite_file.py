"""The SQLite file below the log: how it is made, opened and locked, and what its errors mean.

The file is readable for its owner only, because objects include secrets. It comes into being whole:
a file without content is a damaged one, never a new one.
"""

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path

from plimsoll.apiserver.storage.store import StoreCorruptError

SCHEMA_VERSION = 1
APPLICATION_ID = 0x504C494D  # "PLIM"
FILE_NAME = "plimsoll.db"
BUSY_SECONDS = 5.0

SCHEMA = """
CREATE TABLE log (
  revision INTEGER PRIMARY KEY,
  resource TEXT NOT NULL,
  key TEXT NOT NULL,
  document BLOB,
  checksum INTEGER NOT NULL
);
CREATE TABLE totals (
  id INTEGER PRIMARY KEY CHECK (id = 0),
  compacted INTEGER NOT NULL,
  newest INTEGER NOT NULL,
  number INTEGER NOT NULL,
  checksums INTEGER NOT NULL,
  checksum INTEGER NOT NULL
);
"""

REMEDY = (
    "stop the server and run `plimsoll apiserver restore` with a backup, or start with an empty "
    "data directory"
)
IN_USE = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
NO_DAMAGE = (
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
)
"""Errors of the disk or the system, not of the file: no reason to throw data away."""


@dataclass(frozen=True, slots=True)
class Totals:
    """What the file says about all of its rows."""

    compacted: int
    newest: int
    number: int
    checksums: int

    def checksum(self) -> int:
        return zlib.crc32(repr(astuple(self)).encode())


def read_totals(db: sqlite3.Connection, path: Path) -> Totals:
    rows = db.execute("SELECT compacted, newest, number, checksums, checksum FROM totals")
    found = rows.fetchone()
    totals = None if found is None else Totals(*found[:4])
    if totals is None or totals.checksum() != found[4]:
        raise StoreCorruptError(f"{path}: what it says about itself was changed or lost; {REMEDY}")
    return totals


def write_totals(db: sqlite3.Connection, totals: Totals) -> None:
    db.execute(
        "INSERT OR REPLACE INTO totals VALUES (0, ?, ?, ?, ?, ?)",
        (*astuple(totals), totals.checksum()),
    )


def connect(path: Path) -> sqlite3.Connection:
    """Autocommit: transactions begin and end where the store says so."""
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=BUSY_SECONDS)
    # A second server on the same file would decide on a state that it does not see. The lock is
    # taken at once, by an empty transaction: else two could open the file and neither write.
    db.execute("PRAGMA locking_mode = EXCLUSIVE")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA temp_store = MEMORY")
    db.execute("BEGIN IMMEDIATE")
    db.execute("COMMIT")
    return db


def create(path: Path, first: int) -> None:
    """Beside its place first: whatever interrupts this, no half-made file is found there."""
    write_ahead = beside(path, "-wal")
    if write_ahead.exists():
        raise StoreCorruptError(
            f"{path} is missing, but {write_ahead.name} is there; put the file back, or {REMEDY}"
        )
    draft = beside(path, ".new")
    for leftover in (draft, beside(draft, "-wal"), beside(draft, "-shm")):
        leftover.unlink(missing_ok=True)
    draft.touch(mode=0o600, exist_ok=False)
    with closing(connect(draft)) as db:
        db.executescript(SCHEMA)
        write_totals(db, Totals(first, first, 0, 0))
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    draft.rename(path)


def beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def check_version(db: sqlite3.Connection, path: Path) -> None:
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise StoreCorruptError(
            f"{path}: empty, or not a Plimsoll database; choose another directory, or {REMEDY}"
        )
    if version != SCHEMA_VERSION:
        raise StoreCorruptError(
            f"{path}: schema version {version}, this program knows {SCHEMA_VERSION}; use the "
            "release that wrote the file"
        )


@contextmanager
def damage_reported(path: Path) -> Iterator[None]:
    """SQLite's complaints about the file become StoreCorruptErrors that name it and the remedy."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        # The lower byte is the kind of error, the rest its details.
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        if code in IN_USE:
            message = f"{path}: {error}; another server is running on it"
            raise sqlite3.OperationalError(message) from error
        if code in NO_DAMAGE:
            raise
        raise StoreCorruptError(f"{path}: {error}; {REMEDY}") from error
    except UnicodeDecodeError as error:
        # Damaged names inside the file, which SQLite quotes in what it says about them.
        raise StoreCorruptError(f"{path}: it holds unreadable text; {REMEDY}") from error
