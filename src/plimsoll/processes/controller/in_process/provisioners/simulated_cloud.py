"""A cloud that has nothing but disks, each in one zone or in several: in memory or in a file.

Creating a disk that exists gives the existing one, deleting one that is gone does nothing. With a
file every change is on disk before it is answered.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from threading import Lock

import msgspec


class CloudDisk(msgspec.Struct, frozen=True, kw_only=True):
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
    """`zone_bytes` is how much each zone holds; None: any amount.

    The file is what counts, not what was read from it once: another process may have the same
    cloud, such as a copy of the controller that leads before or after this one.
    """

    def __init__(self, file: Path | None = None, *, zone_bytes: int | None = None) -> None:
        self._file = file
        self._zone_bytes = zone_bytes
        self._lock = Lock()  # callers may wait for the file in threads
        self._disks = _read(file)

    @property
    def disks(self) -> list[CloudDisk]:
        disks = self._known()
        return [disks[name] for name in sorted(disks)]

    def create(self, wanted: CloudDisk) -> CloudDisk:
        """Raises ZoneFullError when a zone has too little capacity."""
        with self._alone():
            disks = self._known()
            known = disks.get(wanted.name)
            if known is not None:
                return known
            for zone in wanted.zones:
                free = self.free_bytes(zone)
                if free is not None and free < wanted.size_bytes:
                    raise ZoneFullError(zone, free)
            self._keep({**disks, wanted.name: wanted})
            return wanted

    def delete(self, name: str) -> None:
        with self._alone():
            disks = self._known()
            if name in disks:
                self._keep({key: disk for key, disk in disks.items() if key != name})

    def free_bytes(self, zone: str) -> int | None:
        if self._zone_bytes is None:
            return None
        used = sum(disk.size_bytes for disk in self._known().values() if zone in disk.zones)
        return self._zone_bytes - used

    def _known(self) -> dict[str, CloudDisk]:
        return self._disks if self._file is None else _read(self._file)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        with self._lock, _locked(self._file) if self._file else contextlib.nullcontext():
            yield

    def _keep(self, disks: dict[str, CloudDisk]) -> None:
        if self._file is not None:
            _write(self._file, msgspec.json.encode([disks[name] for name in sorted(disks)]))
        self._disks = disks


def _read(file: Path | None) -> dict[str, CloudDisk]:
    if file is None or not file.exists():
        return {}
    disks = msgspec.json.decode(file.read_bytes(), type=list[CloudDisk])
    return {disk.name: disk for disk in disks}


@contextlib.contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Against other processes. The directory is locked, since the file itself is replaced; the lock
    ends with the process that holds it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with _opened(file.parent) as directory:
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield directory
    finally:
        os.close(directory)


def _write(file: Path, content: bytes) -> None:
    """All or nothing, and on disk when it returns."""
    unfinished = file.with_suffix(".unfinished")
    with unfinished.open("wb") as output:
        output.write(content)
        output.flush()
        os.fsync(output.fileno())
    unfinished.replace(file)
    with _opened(file.parent) as directory:
        os.fsync(directory)
