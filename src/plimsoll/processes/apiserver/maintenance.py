"""Looking after the file while no server runs: check it, copy it, put a copy in its place."""

import shutil
import sqlite3
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from plimsoll.processes.apiserver.sqlite_store import FILE_NAME, SqliteStore, connect
from plimsoll.processes.apiserver.store import StoreCorruptError

REVISION_GAP = 1_000_000_000
"""What a restored file skips, so that no client has seen a revision that is given out again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    objects: dict[str, int]
    changes: int
    newest: int
    compacted: int

    def lines(self) -> list[str]:
        total = sum(self.objects.values())
        head = (
            f"ok: {total} objects, {self.changes} changes kept, revision {self.newest}, "
            f"history since {self.compacted}"
        )
        return [head, *(f"  {name}: {n}" for name, n in sorted(self.objects.items()))]


def _open(path: Path) -> SqliteStore:
    if not path.exists():
        raise StoreCorruptError(f"{path}: there is no such file; is this the right data directory?")
    try:
        return SqliteStore(path)
    except sqlite3.OperationalError as error:
        raise StoreCorruptError(f"{path}: {error}; stop the server that uses it first") from error


def check(data_dir: Path) -> Report:
    """Raises StoreCorruptError with what is wrong."""
    store = _open(data_dir / FILE_NAME)
    try:
        return _report(store)
    finally:
        store.close()


def _report(store: SqliteStore) -> Report:
    store.check_structure()
    alive: dict[tuple[str, str], bool] = {}
    changes = 0
    for row in store.load():
        changes += 1
        alive[row.resource, row.key] = row.document is not None
    objects = Counter(resource for (resource, _), lives in alive.items() if lives)
    return Report(
        objects=dict(objects), changes=changes, newest=store.newest, compacted=store.compacted
    )


def backup(data_dir: Path, target: Path) -> None:
    if target.exists():
        raise FileExistsError(f"{target} exists; choose another name")
    store = _open(data_dir / FILE_NAME)
    try:
        _report(store)
        store.backup(target)
    finally:
        store.close()


def restore(data_dir: Path, source: Path) -> Path | None:
    """The place where the old file is kept, if there was one."""
    checked = _open(source)
    try:
        _report(checked)
    finally:
        checked.close()
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    place = data_dir / FILE_NAME
    kept = _set_aside(place)
    shutil.copyfile(source, place)
    with connect(place) as db:
        db.execute("UPDATE totals SET newest = newest + ?, compacted = newest + ?",
                   (REVISION_GAP, REVISION_GAP))  # fmt: skip
    db.close()
    return kept


def _set_aside(place: Path) -> Path | None:
    if not place.exists():
        return None
    number = 1
    while (kept := place.with_suffix(f".replaced-{number}")).exists():
        number += 1
    place.rename(kept)
    for suffix in ("-wal", "-shm"):
        beside = place.with_name(place.name + suffix)
        if beside.exists():
            beside.rename(kept.with_name(kept.name + suffix))
    return kept
