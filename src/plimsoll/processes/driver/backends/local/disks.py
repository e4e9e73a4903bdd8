"""The disks of all nodes: where things lie on them, and how much room they have.

Free is what can be promised: no more than a disk's limit allows, and no more than its file system
really has when everything promised before gets written.
"""

import asyncio
import fcntl
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from plimsoll.processes.driver.backends.local.sharing import shared_fairly
from plimsoll.processes.driver.backends.protocol import Charges, Extent
from plimsoll.processes.driver.node.measuring import directory_bytes
from plimsoll.processes.driver.records import Part
from plimsoll.processes.driver.settings import NodeSettings, SetupError
from plimsoll.runtime.commands import CommandError

VOLUMES, SNAPSHOTS = "volumes", "snapshots"
UNFINISHED = ".new"
IMAGE = ".img"
LOCK = ".plimsoll-lock"
SMALLEST_RESERVE = 1 << 20
RESERVED_PART = 256
"""One of so many bytes is left to the file system for its own bookkeeping."""
SECTOR = 512
"""In which the kernel counts what a file takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalDisk:
    extent: str
    node_id: str
    path: Path
    size_bytes: int | None

    def holds(self, path: Path) -> bool:
        return path.is_relative_to(self.path.resolve())


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What the file system of a disk says."""

    device: int
    total_bytes: int
    available_bytes: int


class Disks:
    def __init__(self, nodes: Sequence[NodeSettings]) -> None:
        """Raises SetupError."""
        self._disks = {disk.extent: disk for node in nodes for disk in _disks_of(node)}
        for disk in self._disks.values():
            _claim(disk.path)
        paths = [disk.path.resolve() for disk in self._disks.values()]
        if repeated := sorted({path for path in paths if paths.count(path) > 1}):
            raise SetupError(
                f"disk {repeated[0]}: is given twice; give each a directory of its own"
            )
        self.directory_sizes: dict[Path, int] = {}
        """What was promised for each directory; an image has its size itself."""

    def all(self) -> tuple[LocalDisk, ...]:
        return tuple(self._disks.values())

    def of_node(self, node_id: str) -> tuple[LocalDisk, ...]:
        return tuple(disk for disk in self.all() if disk.node_id == node_id)

    def has(self, part: Part) -> bool:
        return part.extent in self._disks

    def path(self, part: Part, folder: str, name: str) -> Path:
        return self._disks[part.extent].path / folder / name

    def entries(self) -> Iterator[Path]:
        """Everything that lies on the disks, finished or not."""
        for disk in self.all():
            for folder in (VOLUMES, SNAPSHOTS):
                yield from sorted((disk.path / folder).iterdir())

    async def extents(self, charges: Charges) -> dict[str, Extent]:
        rooms = {disk.extent: await asyncio.to_thread(_room, disk.path) for disk in self.all()}
        limits = self._limits(rooms)
        within_limits = {
            name: max(0, limit - charges.promised.get(name, 0)) for name, limit in limits.items()
        }
        free: dict[str, int] = {}
        for names in _by_device(rooms).values():
            wanted = {name: within_limits[name] for name in names}
            room = rooms[names[0]].available_bytes
            free |= shared_fairly(await self._unpromised(names, room, wanted, charges), wanted)
        return {
            name: Extent(name=name, total_bytes=limits[name], free_bytes=free[name])
            for name in self._disks
        }

    def _limits(self, rooms: Mapping[str, Room]) -> dict[str, int]:
        """Disks without a size share what is left of their file system in equal parts."""
        limits: dict[str, int] = {}
        for names in _by_device(rooms).values():
            given = {name: self._disks[name].size_bytes for name in names}
            sized = {name: size for name, size in given.items() if size is not None}
            rest = max(0, rooms[names[0]].total_bytes - sum(sized.values()))
            share = rest // max(1, len(names) - len(sized))
            limits |= {name: sized.get(name, share) for name in names}
        return limits

    async def _unpromised(
        self, names: Sequence[str], room: int, wanted: Mapping[str, int], charges: Charges
    ) -> int:
        """What their file system has when everything that is promised on them is written."""
        promised = sum(charges.promised.get(name, 0) for name in names)
        # Looking through all directories takes time; often even the worst case leaves enough.
        if room - promised >= sum(wanted.values()):
            return room - promised
        written = 0
        for name in names:
            written += await self._written(self._disks[name])
        return max(0, room - max(0, promised - written))

    async def _written(self, disk: LocalDisk) -> int:
        """Of what is promised on the disk, how much takes up room already."""
        total = await asyncio.to_thread(_written_to_images, disk)
        for path, promised in tuple(self.directory_sizes.items()):
            if disk.holds(path):
                total += min(promised, await _written_to_directory(path))
        return total


def _written_to_images(disk: LocalDisk) -> int:
    """Finished or not: an image has its full size from the start."""
    total = 0
    for folder in (VOLUMES, SNAPSHOTS):
        for entry in os.scandir(disk.path / folder):
            # What is removed while we look takes no room any more.
            with suppress(FileNotFoundError):
                if entry.is_file(follow_symlinks=False):
                    found = entry.stat()
                    total += min(found.st_size, found.st_blocks * SECTOR)
    return total


async def _written_to_directory(path: Path) -> int:
    for candidate in (path, path.with_name(path.name + UNFINISHED)):
        # It may be removed while we look, and du complains.
        with suppress(CommandError):
            return await directory_bytes(candidate)
    return 0


def _disks_of(node: NodeSettings) -> Iterator[LocalDisk]:
    for number, disk in enumerate(node.disks):
        yield LocalDisk(
            extent=f"{node.id}/disk-{number}",
            node_id=node.id,
            path=disk.path,
            size_bytes=disk.size_bytes,
        )


def _claim(path: Path) -> None:
    """Make the disk ours until the process ends: two drivers would clear away each other's work."""
    try:
        for folder in (VOLUMES, SNAPSHOTS):
            (path / folder).mkdir(parents=True, exist_ok=True)
        # Others may use the disk; what pods keep on it is not for them.
        (path / VOLUMES).chmod(0o700)
        (path / SNAPSHOTS).chmod(0o700)
        lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise SetupError(
            f"disk {path}: {error.strerror}; give a directory that can be written to"
        ) from error
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        raise SetupError(
            f"disk {path}: another driver uses it; give each a directory of its own"
        ) from error


def _room(path: Path) -> Room:
    found = os.statvfs(path)
    total = found.f_blocks * found.f_frsize
    reserve = max(SMALLEST_RESERVE, total // RESERVED_PART)
    return Room(
        device=path.stat().st_dev,
        total_bytes=max(0, total - reserve),
        available_bytes=max(0, found.f_bavail * found.f_frsize - reserve),
    )


def _by_device(rooms: Mapping[str, Room]) -> Mapping[int, list[str]]:
    found: dict[int, list[str]] = defaultdict(list)
    for name, room in rooms.items():
        found[room.device].append(name)
    return found
