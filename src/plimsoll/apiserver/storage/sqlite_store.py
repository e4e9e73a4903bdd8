"""The log of changes in one SQLite file: write-ahead log, full sync, one transaction per batch.

Every row carries a checksum, and the file carries the number of rows and the sum of all checksums,
changed in the same transaction. A row that is altered, lost or added behind our back is found when
the log is loaded.
"""

import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from plimsoll.apiserver.storage.sqlite_file import (
    REMEDY,
    Totals,
    check_version,
    connect,
    create,
    damage_reported,
    read_totals,
    write_totals,
)
from plimsoll.apiserver.storage.store import LogRow, StoreCorruptError, StoreFailedError

SUM_LIMIT = 1 << 62


def checksum(row: LogRow) -> int:
    head = f"{row.revision}\0{row.resource}\0{row.key}\0".encode()
    return zlib.crc32(row.document if row.document is not None else b"\0deleted", zlib.crc32(head))


def _size_bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


class SqliteStore:
    inline = False

    def __init__(self, path: Path, *, first: int = 0) -> None:
        """`first`: where a new file begins to count.

        A file that takes the place of a lost one should begin above everything that clients have
        seen of the old one; then their watches are told to start again, instead of waiting for
        revisions that come much later.
        """
        self._path = path
        self._is_doubtful = False
        if not path.exists():
            create(path, first)
        with damage_reported(path):
            self._db = connect(path)
            try:
                check_version(self._db, path)
                self._totals = read_totals(self._db, path)
            except (sqlite3.Error, StoreCorruptError):
                self._db.close()
                raise

    @property
    def compacted(self) -> int:
        return self._totals.compacted

    @property
    def newest(self) -> int:
        """The highest revision ever written, also when its row was compacted away."""
        return max(self._totals.newest, self._totals.compacted)

    @property
    def size_bytes(self) -> int:
        """The file, and the write-ahead log beside it while there is one."""
        return _size_bytes(self._path) + _size_bytes(self._path.with_name(f"{self._path.name}-wal"))

    def check_structure(self) -> None:
        """SQLite's own check of the whole file; raises StoreCorruptError."""
        with damage_reported(self._path):
            (verdict,) = self._db.execute("PRAGMA integrity_check(1)").fetchone()
        if verdict != "ok":
            raise StoreCorruptError(f"{self._path}: {verdict}; {REMEDY}")

    def load(self) -> Iterator[LogRow]:
        number = checksums = 0
        with damage_reported(self._path):
            cursor = self._db.execute(
                "SELECT revision, resource, key, document, checksum FROM log ORDER BY revision"
            )
            for revision, resource, key, document, recorded in cursor:
                row = LogRow(revision, resource, key, document)
                # Damage can change a value's type as well, whatever the table declares.
                if not isinstance(document, bytes | None) or checksum(row) != recorded:
                    raise StoreCorruptError(
                        f"{self._path}: {resource} {key} at revision {revision} does not match its "
                        f"checksum; {REMEDY}"
                    )
                number += 1
                checksums += recorded
                yield row
        if (number, checksums % SUM_LIMIT) != (self._totals.number, self._totals.checksums):
            raise StoreCorruptError(
                f"{self._path}: {number} changes found, {self._totals.number} recorded; {REMEDY}"
            )

    def append(self, rows: Sequence[LogRow]) -> None:
        self._transact(lambda: self._insert(rows))

    def _insert(self, rows: Sequence[LogRow]) -> Totals:
        sums = [checksum(row) for row in rows]
        self._db.executemany(
            "INSERT INTO log VALUES (?, ?, ?, ?, ?)",
            [
                (row.revision, row.resource, row.key, row.document, total)
                for row, total in zip(rows, sums, strict=True)
            ],
        )
        return replace(
            self._totals,
            newest=rows[-1].revision,
            number=self._totals.number + len(rows),
            checksums=(self._totals.checksums + sum(sums)) % SUM_LIMIT,
        )

    def compact(self, revision: int, superseded: Iterable[int]) -> None:
        self._transact(lambda: self._forget(revision, superseded))

    def _forget(self, revision: int, superseded: Iterable[int]) -> Totals:
        number, checksums = self._totals.number, self._totals.checksums
        for old in superseded:
            gone = self._db.execute(
                "DELETE FROM log WHERE revision = ? RETURNING checksum", (old,)
            ).fetchone()
            if gone is not None:
                number -= 1
                checksums = (checksums - gone[0]) % SUM_LIMIT
        return replace(self._totals, compacted=revision, number=number, checksums=checksums)

    def rewrite(self, rows: Sequence[LogRow]) -> None:
        """Put other documents in the place of those that have the same revisions."""
        self._transact(lambda: self._replace(rows))

    def _replace(self, rows: Sequence[LogRow]) -> Totals:
        checksums = self._totals.checksums
        for row in rows:
            place = (row.revision,)
            (old,) = self._db.execute(
                "SELECT checksum FROM log WHERE revision = ?", place
            ).fetchone()
            new = checksum(row)
            self._db.execute(
                "UPDATE log SET document = ?, checksum = ? WHERE revision = ?",
                (row.document, new, row.revision),
            )
            checksums = (checksums - old + new) % SUM_LIMIT
        return replace(self._totals, checksums=checksums)

    def write_anew(self) -> None:
        """The file and its write-ahead log keep nothing that was deleted or replaced."""
        with damage_reported(self._path):
            self._db.execute("VACUUM")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def skip(self, gap: int) -> None:
        """Count on from much later, and forget all history.

        For a file that takes the place of one that clients have seen more of.
        """
        later = self.newest + gap
        self._transact(lambda: replace(self._totals, newest=later, compacted=later))

    def _transact(self, change: Callable[[], Totals]) -> None:
        """Durable on return; raises StoreFailedError when nothing of it counts."""
        after = None
        try:
            self._take_back()
            self._db.execute("BEGIN IMMEDIATE")
            after = change()
            write_totals(self._db, after)
            self._commit()
        except sqlite3.Error as error:
            if not self._is_on_disk(after):
                raise StoreFailedError(str(error)) from error
        self._totals = after or self._totals

    def _commit(self) -> None:
        self._db.execute("COMMIT")

    def _reopen(self) -> Totals:
        self._db.close()
        self._db = connect(self._path)
        return read_totals(self._db, self._path)

    def _is_on_disk(self, after: Totals | None) -> bool:
        """What is on disk decides: after a failure the file is opened again and asked."""
        self._is_doubtful = True
        try:
            found = self._reopen()
            if found == after:
                # A sync that failed says nothing about the next one: only what is written once
                # more, and synced, is certain.
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except (sqlite3.Error, StoreCorruptError):
            return False
        self._is_doubtful = found not in (self._totals, after)
        return found == after

    def _take_back(self) -> None:
        """A change that was reported as failed may be on disk all the same: undo it first."""
        if not self._is_doubtful:
            return
        found = self._reopen()
        if found.newest != self._totals.newest:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("DELETE FROM log WHERE revision > ?", (self._totals.newest,))
            write_totals(self._db, self._totals)
            self._db.execute("COMMIT")
        else:
            # A compaction, then: whether it took place or not, the file agrees with itself.
            self._totals = found
        self._is_doubtful = False

    def backup(self, target: Path) -> None:
        """A copy that is consistent, whatever is being written."""
        target.touch(mode=0o600, exist_ok=False)
        with closing(sqlite3.connect(target)) as copy:
            self._db.backup(copy)

    def close(self) -> None:
        self._db.close()
