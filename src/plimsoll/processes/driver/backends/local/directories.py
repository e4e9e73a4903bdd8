"""Volumes that are directories: their capacity is counted, and not enforced."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from plimsoll.processes.driver.backends.local import files
from plimsoll.processes.driver.backends.local.disk_space import DiskSpace
from plimsoll.processes.driver.backends.local.disks import SNAPSHOTS, VOLUMES, Disks
from plimsoll.processes.driver.backends.local.kinds import Recorded
from plimsoll.processes.driver.backends.protocol import DirectorySource, Source, VolumeHealth
from plimsoll.processes.driver.records import SnapshotRecord, VolumeRecord
from plimsoll.wire.csi.refusals import internal

OPEN_TO_ALL = 0o777
"""Any user in a pod may write to its volume; the directory above keeps all other users out."""


class Directories:
    def __init__(self, disks: Disks, space: DiskSpace) -> None:
        self._disks = disks
        self._space = space

    async def make(self, volume: VolumeRecord, origin: Recorded | None) -> None:
        path = self._path(volume)
        if origin is None:
            self._space.promise(path, volume.size_bytes)
            files.unfinished(path).mkdir(exist_ok=True)
            files.unfinished(path).chmod(OPEN_TO_ALL)
            files.finish(path)
        else:
            await self._copy(origin, volume)

    async def _copy(self, origin: Recorded, copy: Recorded) -> None:
        source, target = self._path(origin), self._path(copy)
        self._space.promise(target, copy.size_bytes)
        files.unfinished(target).mkdir(exist_ok=True)
        await files.copy_tree(source, files.unfinished(target), origin.size_bytes)
        files.finish(target)

    async def remove(self, record: Recorded) -> None:
        path = self._path(record)
        await files.discard(path)
        self._space.forget(path)

    async def grow(self, volume: VolumeRecord, size_bytes: int) -> None:
        self._space.promise(self._path(volume), size_bytes)

    async def snapshot(self, snapshot: SnapshotRecord, volume: VolumeRecord) -> None:
        await self._copy(volume, snapshot)

    async def open(self, volume: VolumeRecord) -> Source:
        path = self._path(volume)
        if not await asyncio.to_thread(path.is_dir):
            raise internal(f"volume {volume.id}: {path} is gone")
        return DirectorySource(path=path)

    def opened(self, volume: VolumeRecord) -> Source | None:
        path = self._path(volume)
        return DirectorySource(path=path) if path.is_dir() else None

    async def close(self, volume: VolumeRecord) -> None:
        """A directory needs nothing."""

    async def condition(self, volume: VolumeRecord) -> VolumeHealth:
        path = self._path(volume)
        if not await asyncio.to_thread(path.is_dir):
            return VolumeHealth(abnormal=True, message=f"{path} is gone, and all data with it")
        return VolumeHealth()

    async def settle(self, records: Sequence[Recorded]) -> None:
        for record in records:
            self._space.promise(self._path(record), record.size_bytes)

    def _path(self, record: Recorded) -> Path:
        folder = VOLUMES if isinstance(record, VolumeRecord) else SNAPSHOTS
        (part,) = record.placement.parts
        return self._disks.path(part, folder, record.id)
