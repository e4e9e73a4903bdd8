"""The log of changes in one SQLite file: write-ahead log, full sync, one transaction per batch.

Every row carries a checksum, and the file carries the number of rows and the sum of all checksums,
changed in the same transaction. A row that is altered, lost or added behind our back is found when
the log is loaded.
"""

import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from plimsoll.processes.apiserver.store import LogRow, StoreCorruptError, StoreFailedError

SCHEMA_VERSION = 1
APPLICATION_ID = 0x504C494D  # "PLIM"
FILE_NAME = "plimsoll.db"
SUM_LIMIT = 1 << 62
BUSY_SECONDS = 5.0

CREATE_LOG = """
CREATE TABLE log (
  revision INTEGER PRIMARY KEY,
  resource TEXT NOT NULL,
  key TEXT NOT NULL,
  document BLOB,
  checksum INTEGER NOT NULL
)
"""
CREATE_TOTALS = """
CREATE TABLE totals (
  id INTEGER PRIMARY KEY CHECK (id = 0),
  compacted INTEGER NOT NULL,
  newest INTEGER NOT NULL,
  number INTEGER NOT NULL,
  checksums INTEGER NOT NULL
)
"""

REMEDY = (
    "stop the server and run `plimsoll apiserver restore` with a backup, or start with an empty "
    "data directory"
)


def checksum(row: LogRow) -> int:
    head = f"{row.revision}\0{row.resource}\0{row.key}\0".encode()
    return zlib.crc32(row.document if row.document is not None else b"\0deleted", zlib.crc32(head))


class SqliteStore:
    inline = False

    def __init__(self, path: Path, *, first: int = 0) -> None:
        """`first`: where a new file begins to count.

        A file that takes the place of a lost one should begin above everything that clients have
        seen of the old one; then their watches are told to start again, instead of waiting for
        revisions that come much later.
        """
        self._path = path
        self._first = first
        self._open()

    def _open(self) -> None:
        try:
            self._db = connect(self._path)
            self._prepare()
        except sqlite3.DatabaseError as error:
            raise StoreCorruptError(f"{self._path}: {error}; {REMEDY}") from error

    def _prepare(self) -> None:
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if version == 0:
            self._create()
        elif version != SCHEMA_VERSION:
            raise StoreCorruptError(
                f"{self._path}: schema version {version}, this program knows {SCHEMA_VERSION}; "
                "use the release that wrote the file"
            )
        totals = self._db.execute("SELECT compacted, newest, number, checksums FROM totals")
        row: tuple[int, int, int, int] = totals.fetchone()
        self.compacted, self._newest, self._number, self._checksums = row

    def _create(self) -> None:
        (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables:
            raise StoreCorruptError(
                f"{self._path}: not a Plimsoll database; choose another directory"
            )
        # One transaction: a file is either empty or complete.
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        self._db.execute(CREATE_LOG)
        self._db.execute(CREATE_TOTALS)
        self._db.execute("INSERT INTO totals VALUES (0, ?, ?, 0, 0)", (self._first, self._first))
        self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        self._db.execute("COMMIT")

    def check_structure(self) -> None:
        """SQLite's own check of the whole file; raises StoreCorruptError."""
        try:
            (verdict,) = self._db.execute("PRAGMA integrity_check(1)").fetchone()
        except sqlite3.DatabaseError as error:
            raise StoreCorruptError(f"{self._path}: {error}; {REMEDY}") from error
        if verdict != "ok":
            raise StoreCorruptError(f"{self._path}: {verdict}; {REMEDY}")

    def load(self) -> Iterator[LogRow]:
        number = checksums = 0
        try:
            cursor = self._db.execute(
                "SELECT revision, resource, key, document, checksum FROM log ORDER BY revision"
            )
            for revision, resource, key, document, recorded in cursor:
                row = LogRow(revision, resource, key, document)
                if checksum(row) != recorded:
                    raise StoreCorruptError(
                        f"{self._path}: {resource} {key} at revision {revision} does not match its "
                        f"checksum; {REMEDY}"
                    )
                number += 1
                checksums += recorded
                yield row
        except sqlite3.DatabaseError as error:
            raise StoreCorruptError(f"{self._path}: {error}; {REMEDY}") from error
        if (number, checksums % SUM_LIMIT) != (self._number, self._checksums):
            raise StoreCorruptError(
                f"{self._path}: {number} changes found, {self._number} recorded; {REMEDY}"
            )

    def append(self, rows: Sequence[LogRow]) -> None:
        sums = [checksum(row) for row in rows]
        newest = rows[-1].revision
        number = self._number + len(rows)
        checksums = (self._checksums + sum(sums)) % SUM_LIMIT
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany(
                "INSERT INTO log VALUES (?, ?, ?, ?, ?)",
                [
                    (row.revision, row.resource, row.key, row.document, total)
                    for row, total in zip(rows, sums, strict=True)
                ],
            )
            self._db.execute(
                "UPDATE totals SET newest = ?, number = ?, checksums = ?",
                (newest, number, checksums),
            )
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            self._recover(error, newest)
        self._newest, self._number, self._checksums = newest, number, checksums

    def _recover(self, error: sqlite3.Error, newest: int) -> None:
        """What is on disk decides: after a failed commit the file is opened again and asked.

        Returns when the batch turns out to be durable, raises StoreFailedError when it is not.
        """
        try:
            self._db.close()
            self._db = connect(self._path)
            (on_disk,) = self._db.execute("SELECT newest FROM totals").fetchone()
        except sqlite3.Error as again:
            raise StoreFailedError(f"{error}; then {again}") from error
        if on_disk != newest:
            raise StoreFailedError(str(error)) from error

    def compact(self, revision: int, superseded: Iterable[int]) -> None:
        wanted = list(superseded)
        number, checksums = self._number, self._checksums
        try:
            self._db.execute("BEGIN IMMEDIATE")
            for old in wanted:
                gone = self._db.execute(
                    "DELETE FROM log WHERE revision = ? RETURNING checksum", (old,)
                ).fetchone()
                if gone is not None:
                    number -= 1
                    checksums = (checksums - gone[0]) % SUM_LIMIT
            self._db.execute(
                "UPDATE totals SET compacted = ?, number = ?, checksums = ?",
                (revision, number, checksums),
            )
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            self._recover_compaction(error)
            return
        self.compacted, self._number, self._checksums = revision, number, checksums

    def _recover_compaction(self, error: sqlite3.Error) -> None:
        try:
            self._db.close()
            self._db = connect(self._path)
            self._prepare()
        except sqlite3.Error as again:
            raise StoreFailedError(f"{error}; then {again}") from error
        raise StoreFailedError(str(error)) from error

    def backup(self, target: Path) -> None:
        """A copy that is consistent, whatever is being written."""
        with sqlite3.connect(target) as copy:
            self._db.backup(copy)
        copy.close()

    @property
    def newest(self) -> int:
        """The highest revision ever written, also when its row was compacted away."""
        return max(self._newest, self.compacted)

    def close(self) -> None:
        self._db.close()


def connect(path: Path) -> sqlite3.Connection:
    """Autocommit: transactions begin and end where this module says so."""
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=BUSY_SECONDS)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA temp_store = MEMORY")
    # A second server on the same file would decide on a state that it does not see.
    db.execute("PRAGMA locking_mode = EXCLUSIVE")
    return db
