"""Volumes that ceph-csi made in CephFS, as this driver sees them: found by their ids, without a
record. One that anything was written to counts as published, so that it is never rolled back.
"""

from plimsoll.decide.ceph.journal.stored_records import JournalRecord
from plimsoll.processes.driver.backends.ceph.foreign_volumes import (
    check_usable,
    refuse_foreign_snapshot,
)
from plimsoll.processes.driver.backends.cephfs.filesystem_pools import KnownFilesystem
from plimsoll.processes.driver.backends.cephfs.volume_directories import VolumeDirectories
from plimsoll.processes.driver.records import (
    Part,
    RecordPhase,
    SnapshotRecord,
    VolumeMode,
    VolumePlacement,
    VolumeRecord,
)
from plimsoll.runtime.clock import Clock
from plimsoll.wire.ceph.errors import CephError, CephFailure
from plimsoll.wire.ceph.files.messages import DirectoryFacts


class DirectoryAdoption:
    def __init__(
        self, directories: VolumeDirectories, filesystem: KnownFilesystem, clock: Clock
    ) -> None:
        self._directories = directories
        self._filesystem = filesystem
        self._clock = clock

    async def volume(self, id_: str, stored: JournalRecord) -> VolumeRecord | None:
        """Raises CephError and CsiStatusError. One whose directory is gone was being removed."""
        check_usable(id_, stored)
        facts = await self._facts(stored.place.name)
        size = 0 if facts is None else facts.quota_bytes
        pool = facts.pool if facts and facts.pool else (await self._filesystem.pools()).data[0]
        is_written = facts is not None and await self._directories.is_written(stored.place.name)
        now = self._clock.now()
        return VolumeRecord(
            id=id_,
            name=stored.attributes.request_name if stored.attributes else id_,
            size_bytes=size,
            mode=VolumeMode.FILESYSTEM,
            is_adopted=True,
            is_foreign=True,
            asset_name=stored.place.name,
            parameters={"pool": pool},
            placement=VolumePlacement(pools=(pool,), parts=(Part(extent=pool, bytes=size),)),
            phase=RecordPhase.REMOVING if facts is None else RecordPhase.READY,
            created_at=now,
            first_published_at=now if is_written else None,
        )

    async def snapshot(self, id_: str, stored: JournalRecord) -> SnapshotRecord | None:  # noqa: ARG002 - none
        """Raises CsiStatusError."""
        refuse_foreign_snapshot(id_)

    async def _facts(self, name: str) -> DirectoryFacts | None:
        try:
            return await self._directories.facts(name)
        except CephError as error:
            if error.failure is CephFailure.NOT_FOUND:
                return None
            raise
