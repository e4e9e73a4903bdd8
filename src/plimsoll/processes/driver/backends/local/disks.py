"""The disks of all nodes: which driver owns each, and where volumes lie on them."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from plimsoll.processes.driver.records import Part
from plimsoll.processes.driver.settings import Disk, NodeSettings, SetupError
from plimsoll.runtime.files.mountinfo import find_mount, read_mounts

log = logging.getLogger(__name__)

VOLUMES, SNAPSHOTS = "volumes", "snapshots"
UNFINISHED = ".new"
IMAGE = ".img"
OWNER = ".plimsoll-owner"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalDisk:
    extent: str
    node_id: str
    path: Path
    size_bytes: int | None

    def holds(self, path: Path) -> bool:
        return path.is_relative_to(self.path.resolve())


class Disks:
    def __init__(self, nodes: Sequence[NodeSettings], owner: str) -> None:
        """Raises SetupError."""
        self._disks = {disk.extent: disk for node in nodes for disk in _disks_of(node)}
        for wanted in (disk for node in nodes for disk in node.disks):
            _look_at(wanted)
        for disk in self._disks.values():
            _claim(disk.path, owner)
        paths = [disk.path.resolve() for disk in self._disks.values()]
        if repeated := sorted({path for path in paths if paths.count(path) > 1}):
            raise SetupError(
                f"disk {repeated[0]}: is given twice; give each a directory of its own"
            )

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


def _disks_of(node: NodeSettings) -> Iterator[LocalDisk]:
    for number, disk in enumerate(node.disks):
        yield LocalDisk(
            extent=f"{node.id}/disk-{number}",
            node_id=node.id,
            path=disk.path,
            size_bytes=disk.size_bytes,
        )


def _look_at(disk: Disk) -> None:
    """A disk that is not there must not become a directory of the disk above it: the capacity of
    that one would be promised."""
    if disk.create:
        return
    if not disk.path.exists():
        raise SetupError(
            f"disk {disk.path}: does not exist; mount it there, or give --create-disk for a"
            " directory on the file system above it"
        )
    if find_mount(read_mounts(), disk.path.resolve()) is None:
        facts = {"disk": str(disk.path)}
        log.warning("disk is no mount point: its volumes share a file system", extra=facts)


def _claim(path: Path, owner: str) -> None:
    """Make the disk ours for good: two drivers would promise its capacity twice and clear away each
    other's work."""
    mark = path / OWNER
    try:
        for folder in (VOLUMES, SNAPSHOTS):
            (path / folder).mkdir(parents=True, exist_ok=True)
            # Others may use the disk; what pods keep on it is not for them.
            (path / folder).chmod(0o700)
        if not mark.exists():
            mark.write_text(f"{owner}\n")
        found = mark.read_text().strip()
    except OSError as error:
        raise SetupError(
            f"disk {path}: {error.strerror}; give a directory that can be written to"
        ) from error
    if found != owner:
        raise SetupError(
            f"disk {path}: belongs to a driver with another --data-dir; use that one, or take the"
            f" disk over with all that lies on it by removing {mark}"
        )
