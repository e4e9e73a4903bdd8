"""Looking after the file while no server runs: check it, copy it, put a copy in its place."""

import shutil
import sqlite3
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from plimsoll.apiserver.storage.sqlite_file import FILE_NAME, beside
from plimsoll.apiserver.storage.sqlite_store import SqliteStore
from plimsoll.apiserver.storage.store import StoreCorruptError

REVISION_GAP = 1_000_000_000
"""What a restored file skips, so that no client has seen a revision that is given out again."""


class StoreInUseError(StoreCorruptError):
    """Nothing is wrong with the file, but it cannot be looked at now."""


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
        raise StoreInUseError(
            f"{path} cannot be opened now ({error}); nothing was changed: try again when no server "
            "runs on it, with the right to write and with room on the disk"
        ) from error


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
        _copy(store, target)
    finally:
        store.close()


def _copy(store: SqliteStore, target: Path) -> None:
    try:
        store.backup(target)
    except (OSError, sqlite3.Error):
        # Half a backup would be found when it is needed most.
        target.unlink(missing_ok=True)
        raise


def restore(data_dir: Path, source: Path) -> Path | None:
    """The place where the old file is kept, if there was one.

    Only a copy of the source is opened: whatever it is, it stays as it was.
    """
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    place = data_dir / FILE_NAME
    _refuse_while_running(place)
    draft = beside(place, ".restored")
    try:
        _copy_source(source, draft)
        _renumber(source, draft)
    except BaseException:
        _discard(draft)
        raise
    kept = _set_aside(place)
    draft.replace(place)
    return kept


def _refuse_while_running(place: Path) -> None:
    """A running server would go on writing to the file that was taken away from it."""
    if not place.exists():
        return
    try:
        _open(place).close()
    except StoreInUseError:
        raise
    except StoreCorruptError:
        return  # that is why it is being replaced


def _copy_source(source: Path, draft: Path) -> None:
    """With its write-ahead log, if it was left with one: the newest changes are in there."""
    _discard(draft)
    for suffix in ("", "-wal"):
        if beside(source, suffix).exists():
            copy = beside(draft, suffix)
            copy.touch(mode=0o600, exist_ok=False)
            shutil.copyfile(beside(source, suffix), copy)


def _renumber(source: Path, draft: Path) -> None:
    """The copy is checked and complete before it takes the place of anything."""
    try:
        store = _open(draft)
        try:
            _report(store)
            store.skip(REVISION_GAP)
        finally:
            store.close()
    except StoreInUseError:
        raise
    except StoreCorruptError as error:
        raise StoreCorruptError(str(error).replace(str(draft), str(source))) from error


def _discard(draft: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        beside(draft, suffix).unlink(missing_ok=True)


def _set_aside(place: Path) -> Path | None:
    """A second name for the old file; a new file must not find its write-ahead log either.

    Under its first name the old file stays until the new one takes its place: whatever happens in
    between, no server finds an empty directory and begins anew.
    """
    number = 1
    while (kept := place.with_suffix(f".replaced-{number}")).exists():
        number += 1
    for suffix in ("-wal", "-shm"):
        if beside(place, suffix).exists():
            beside(place, suffix).rename(beside(kept, suffix))
    if not place.exists():
        return None
    kept.hardlink_to(place)
    return kept
