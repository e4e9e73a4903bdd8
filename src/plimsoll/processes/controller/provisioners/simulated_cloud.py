"""A cloud that has nothing but disks, each in one zone or in several: in memory or in a file.

Creating a disk that exists gives the existing one, deleting one that is gone does nothing. With a
file every change is on disk before it is answered.
"""

import contextlib
import os
from pathlib import Path
from threading import Lock

import msgspec


class Disk(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    size_bytes: int
    type: str
    zones: tuple[str, ...]


class ZoneFullError(Exception):
    def __init__(self, zone: str, free_bytes: int) -> None:
        super().__init__(f"zone {zone} has {free_bytes} bytes left")
        self.zone = zone
        self.free_bytes = free_bytes


class SimulatedCloud:
    """`zone_bytes` is how much each zone holds; None: any amount."""

    def __init__(self, file: Path | None = None, *, zone_bytes: int | None = None) -> None:
        self._file = file
        self._zone_bytes = zone_bytes
        self._lock = Lock()  # whoever waits for the file may do so in a thread
        self._disks = {disk.name: disk for disk in _read(file)}

    @property
    def disks(self) -> list[Disk]:
        return [self._disks[name] for name in sorted(self._disks)]

    def create(self, wanted: Disk) -> Disk:
        """Raises ZoneFullError when a zone has not enough room."""
        with self._lock:
            known = self._disks.get(wanted.name)
            if known is not None:
                return known
            for zone in wanted.zones:
                free = self.free_bytes(zone)
                if free is not None and free < wanted.size_bytes:
                    raise ZoneFullError(zone, free)
            self._keep({**self._disks, wanted.name: wanted})
            return wanted

    def delete(self, name: str) -> None:
        with self._lock:
            if name in self._disks:
                self._keep({key: disk for key, disk in self._disks.items() if key != name})

    def free_bytes(self, zone: str) -> int | None:
        if self._zone_bytes is None:
            return None
        used = sum(disk.size_bytes for disk in self._disks.values() if zone in disk.zones)
        return self._zone_bytes - used

    def _keep(self, disks: dict[str, Disk]) -> None:
        if self._file is not None:
            _write(self._file, msgspec.json.encode([disks[name] for name in sorted(disks)]))
        self._disks = disks


def _read(file: Path | None) -> list[Disk]:
    if file is None:
        return []
    with contextlib.suppress(FileNotFoundError):
        return msgspec.json.decode(file.read_bytes(), type=list[Disk])
    return []


def _write(file: Path, content: bytes) -> None:
    """All or nothing, and on disk when it returns."""
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_suffix(".unfinished")
    with unfinished.open("wb") as output:
        output.write(content)
        output.flush()
        os.fsync(output.fileno())
    unfinished.replace(file)
    directory = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
