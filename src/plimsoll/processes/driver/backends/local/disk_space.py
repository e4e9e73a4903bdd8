"""How much can be promised on each disk.

No more than a disk's limit allows, and no more than its file system really has when everything that
was promised before gets written. Disks on the same file system do not promise its capacity twice.
"""

import asyncio
import os
import stat
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from plimsoll.processes.driver.backends.local.disks import UNFINISHED, Disks, LocalDisk
from plimsoll.processes.driver.backends.local.files import SECTOR
from plimsoll.processes.driver.backends.local.shared_blocks import SHARING, counted_twice
from plimsoll.processes.driver.backends.local.sharing import shared_fairly
from plimsoll.processes.driver.backends.protocol import Charges, Extent
from plimsoll.processes.driver.node.volume_stats import directory_bytes
from plimsoll.runtime.commands import CommandError
from plimsoll.runtime.files.mountinfo import mount_above, read_mounts

SMALLEST_RESERVE = 1 << 20
RESERVED_PART = 256
"""One of so many bytes is left to the file system for its own bookkeeping."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """Disks on one file system."""

    disks: tuple[LocalDisk, ...]
    available_bytes: int
    promised: dict[str, int]

    @property
    def all_promised(self) -> int:
        return sum(self.promised.values())

    def limits(self, written: int) -> dict[str, int]:
        """Disks without a size have equal parts of what the file system has for them in all."""
        sized = {disk.extent: disk.size_bytes for disk in self.disks if disk.size_bytes is not None}
        rest = max(0, self.available_bytes + written - sum(sized.values()))
        share = rest // max(1, len(self.disks) - len(sized))
        return {disk.extent: sized.get(disk.extent, share) for disk in self.disks}

    def extents(self, written: int) -> list[Extent]:
        limits = self.limits(written)
        wanted = {name: max(0, limits[name] - self.promised[name]) for name in limits}
        unwritten = max(0, self.all_promised - written)
        free = shared_fairly(self.available_bytes - unwritten, wanted)
        return [
            Extent(name=name, total_bytes=limits[name], free_bytes=free[name]) for name in limits
        ]

    @property
    def has_plenty(self) -> bool:
        """Whether the limits alone decide, even if nothing that was promised is written yet."""
        if any(disk.size_bytes is None for disk in self.disks):
            return False
        limits = self.limits(0)
        wanted = sum(max(0, limits[name] - self.promised[name]) for name in limits)
        return self.available_bytes - self.all_promised >= wanted


class DiskSpace:
    """Knows what was promised for each file and directory, to see how much of it is written."""

    def __init__(self, disks: Disks) -> None:
        self._disks = disks
        self._promised: dict[Path, int] = {}

    def promise(self, path: Path, size_bytes: int) -> None:
        self._promised[path] = size_bytes

    def forget(self, path: Path) -> None:
        self._promised.pop(path, None)

    async def extents(self, charges: Charges) -> dict[str, Extent]:
        found: dict[str, Extent] = {}
        for group in await asyncio.to_thread(self._groups, charges):
            # Looking through all directories takes time; often it makes no difference.
            written = 0 if group.has_plenty else await self._written(group.disks)
            found |= {extent.name: extent for extent in group.extents(written)}
        return found

    def _groups(self, charges: Charges) -> list[_Group]:
        by_device: dict[int, list[LocalDisk]] = defaultdict(list)
        for disk in self._disks.all():
            by_device[disk.path.stat().st_dev].append(disk)
        return [
            _Group(
                disks=tuple(disks),
                available_bytes=_available(disks[0].path),
                promised={disk.extent: charges.promised.get(disk.extent, 0) for disk in disks},
            )
            for disks in by_device.values()
        ]

    async def _written(self, disks: Sequence[LocalDisk]) -> int:
        """Of what is promised on the disks, how much is written already."""
        folders = [disk.path for disk in disks]
        total = 0
        here = [path for path in self._promised if any(map(path.is_relative_to, folders))]
        for path in here:
            total += min(self._promised.get(path, 0), await _taken(path))
        return total - await asyncio.to_thread(_counted_twice, folders[0], here)


def _available(path: Path) -> int:
    found = os.statvfs(path)
    reserve = max(SMALLEST_RESERVE, found.f_blocks * found.f_frsize // RESERVED_PART)
    return max(0, found.f_bavail * found.f_frsize - reserve)


def _taken_by_file(path: Path) -> int | None:
    found = path.stat()
    return None if stat.S_ISDIR(found.st_mode) else found.st_blocks * SECTOR


def _counted_twice(disk: Path, paths: Sequence[Path]) -> int:
    """Of what files on that file system take, how much they have in common with others."""
    if mount_above(read_mounts(), disk.resolve()).fs_type not in SHARING:
        return 0
    candidates = (each for path in paths for each in (path, _unfinished(path)))
    return counted_twice(path for path in candidates if path.is_file())


def _unfinished(path: Path) -> Path:
    return path.with_name(path.name + UNFINISHED)


async def _taken(path: Path) -> int:
    """By a file or a directory, finished or not."""
    for candidate in (path, _unfinished(path)):
        # It may be finished or removed while we look.
        with suppress(FileNotFoundError, CommandError):
            if (taken := _taken_by_file(candidate)) is not None:
                return taken
            return await directory_bytes(candidate)
    return 0
