"""Where the bytes of simulated volumes are: a directory for each, or a sparse file.

Everything appears and goes by a rename, so that a crash leaves whole things, or things that `clear`
knows to be remains.
"""

import logging
from collections.abc import Collection
from datetime import timedelta
from pathlib import Path

from plimsoll.processes.driver.records import SnapshotRecord, VolumeMode, VolumeRecord
from plimsoll.runtime.commands import CommandError, run
from plimsoll.runtime.files.durable_files import sync_directory
from plimsoll.wire.csi.refusals import internal

log = logging.getLogger(__name__)

COPYING = timedelta(hours=1)
REMAINS = "."
"""How the names of what is being made or removed begin."""

Entry = VolumeRecord | SnapshotRecord


class PoolContent:
    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def path(self, entry: Entry) -> Path:
        kind = "volumes" if isinstance(entry, VolumeRecord) else "snapshots"
        suffix = ".img" if entry.mode is VolumeMode.BLOCK else ""
        return self._directory / kind / f"{entry.id}{suffix}"

    async def make(self, entry: Entry, origin: Entry | None) -> None:
        """Repeatable."""
        path = self.path(entry)
        if path.exists():
            return
        draft = path.with_name(f"{REMAINS}{path.name}.new")
        path.parent.mkdir(parents=True, exist_ok=True)
        await _remove(draft)
        if origin is not None:
            await _copy(self.path(origin), draft)
        elif entry.mode is VolumeMode.FILESYSTEM:
            draft.mkdir()
        if entry.mode is VolumeMode.BLOCK:
            _stretch(draft, entry.size_bytes)
        draft.rename(path)
        sync_directory(path.parent)

    async def remove(self, entry: Entry) -> None:
        """Harmless when there is nothing."""
        path = self.path(entry)
        remains = path.with_name(f"{REMAINS}{path.name}.old")
        if path.exists():
            await _remove(remains)
            path.rename(remains)
            sync_directory(path.parent)
        await _remove(path.with_name(f"{REMAINS}{path.name}.new"))
        await _remove(remains)

    def grow(self, entry: Entry, size_bytes: int) -> None:
        if entry.mode is VolumeMode.BLOCK:
            _stretch(self.path(entry), size_bytes)

    async def clear(self, entries: Collection[Entry]) -> None:
        """What was being made or removed; what else belongs to none of them stays.

        Records can be lost, and data must not be lost with them.
        """
        known = {self.path(entry) for entry in entries}
        for kind in ("volumes", "snapshots"):
            for path in sorted((self._directory / kind).glob("*")):
                if path.name.startswith(REMAINS):
                    await _remove(path)
                elif path not in known:
                    log.warning("volume without a record kept", extra={"path": str(path)})


def _stretch(path: Path, size_bytes: int) -> None:
    with path.open("ab") as file:
        if file.tell() < size_bytes:
            file.truncate(size_bytes)


async def _copy(origin: Path, target: Path) -> None:
    copying = ["cp", "--archive", "--sparse=always", "--reflink=auto", "--no-target-directory"]
    try:
        await run([*copying, "--", origin, target], within=COPYING)
    except CommandError as error:
        raise internal(f"{origin.name} cannot be copied: {error}") from error


async def _remove(path: Path) -> None:
    """However deep pods have made it."""
    try:
        await run(["rm", "--recursive", "--force", "--one-file-system", "--", path], within=COPYING)
    except CommandError as error:
        raise internal(f"{path.name} cannot be removed: {error}") from error
