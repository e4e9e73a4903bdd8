"""Volumes in memory: a RAM file system of exactly the size, kept mounted in a directory of ours.

So their content survives unstaging and a restart of the driver, and is lost with the machine: the
next stage then starts with an empty volume and says so in the log.
"""

import logging
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from plimsoll.processes.driver.backends.local import files
from plimsoll.processes.driver.backends.local.kinds import Recorded
from plimsoll.processes.driver.backends.protocol import DirectorySource, Source, VolumeHealth
from plimsoll.processes.driver.node.mounting.real_mounts import unmount
from plimsoll.processes.driver.node.mounting.targets import entries, make_directory
from plimsoll.processes.driver.records import SnapshotRecord, VolumeRecord
from plimsoll.runtime.commands import CommandError, run
from plimsoll.runtime.files.mountinfo import find_mount, read_mounts
from plimsoll.wire.csi.refusals import failed_precondition

log = logging.getLogger(__name__)

WITHIN = timedelta(minutes=1)
SOURCE = "plimsoll"
FOLDERS = {VolumeRecord: "memory", SnapshotRecord: "memory-snapshots"}


class Memory:
    def __init__(self, data_dir: Path) -> None:
        self._folders = {kind: data_dir / name for kind, name in FOLDERS.items()}

    async def make(self, volume: VolumeRecord, origin: Recorded | None) -> None:
        await self._mount(volume)
        if origin is not None:
            await self._copy(origin, volume)

    async def _copy(self, origin: Recorded, copy: Recorded) -> None:
        if not _is_mounted(self._path(origin)):
            raise failed_precondition(f"{origin.id}: its content was lost with the machine")
        await files.copy_tree(self._path(origin), self._path(copy), origin.size_bytes)

    async def _mount(self, record: Recorded) -> None:
        path = self._path(record)
        if _is_mounted(path):
            return
        make_directory(path)
        path.parent.chmod(0o700)
        options = f"size={record.size_bytes},mode=0777"
        await run(["mount", "-t", "tmpfs", "-o", options, SOURCE, path], within=WITHIN)

    async def remove(self, record: Recorded) -> None:
        await unmount(self._path(record))

    async def grow(self, volume: VolumeRecord, size_bytes: int) -> None:
        path = self._path(volume)
        if _is_mounted(path):
            await run(["mount", "-o", f"remount,size={size_bytes}", path], within=WITHIN)

    async def snapshot(self, snapshot: SnapshotRecord, volume: VolumeRecord) -> None:
        await self._mount(snapshot)
        await self._copy(volume, snapshot)

    async def open(self, volume: VolumeRecord) -> Source:
        path = self._path(volume)
        if not _is_mounted(path):
            log.warning("memory volume lost with the machine", extra={"volume": volume.id})
            await self._mount(volume)
        return DirectorySource(path=path)

    def opened(self, volume: VolumeRecord) -> Source | None:
        path = self._path(volume)
        return DirectorySource(path=path) if _is_mounted(path) else None

    async def close(self, volume: VolumeRecord) -> None:
        """Its content is in what is mounted: that stays until the volume is deleted."""

    async def condition(self, volume: VolumeRecord) -> VolumeHealth:
        if not _is_mounted(self._path(volume)):
            lost = "its content was lost with the machine; it is empty when it is staged next"
            return VolumeHealth(abnormal=True, message=lost)
        return VolumeHealth()

    async def settle(self, records: Sequence[Recorded]) -> None:
        known = {self._path(record) for record in records}
        for folder in self._folders.values():
            for path in entries(folder):
                if path not in known:
                    await _cleared(path)

    def _path(self, record: Recorded) -> Path:
        return self._folders[type(record)] / record.id


def _is_mounted(path: Path) -> bool:
    return find_mount(read_mounts(), path.resolve()) is not None


async def _cleared(path: Path) -> None:
    try:
        await unmount(path)
    except CommandError as error:
        # A process uses it; the next start tries again.
        log.warning("unknown memory volume kept", extra={"path": str(path), "error": str(error)})
