"""Volumes that ceph-csi made, as this driver sees them: found by their ids, without a record.

Ceph knows the size of such an image, and whether anything was ever written to it: whether that is a
file system shows when it is used. One that was written to counts as published, so that it is never
rolled back, and what is in it is never replaced by an empty file system.
"""

from plimsoll.decide.ceph.journal.stored_records import JournalRecord
from plimsoll.processes.driver.backends.ceph.foreign_volumes import (
    check_usable,
    refuse_foreign_snapshot,
)
from plimsoll.processes.driver.records import (
    Part,
    RecordPhase,
    SnapshotRecord,
    VolumeMode,
    VolumePlacement,
    VolumeRecord,
)
from plimsoll.runtime.clock import Clock
from plimsoll.wire.ceph.connection import CephConnection, PoolScope
from plimsoll.wire.ceph.errors import CephError, CephFailure
from plimsoll.wire.ceph.images import RbdImages


class ImageAdoption:
    def __init__(self, connection: CephConnection, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock

    async def volume(self, id_: str, stored: JournalRecord) -> VolumeRecord | None:
        """Raises CephError and CsiStatusError. One whose image is gone was being removed."""
        check_usable(id_, stored)
        size = await self._size(stored)
        pool = stored.place.pool.name
        now = self._clock.now()
        return VolumeRecord(
            id=id_,
            name=stored.attributes.request_name if stored.attributes else id_,
            size_bytes=size or 0,
            mode=VolumeMode.FILESYSTEM,
            is_adopted=True,
            is_foreign=True,
            asset_name=stored.place.name,
            parameters={"pool": stored.journal.pool.name},
            placement=VolumePlacement(pools=(pool,), parts=(Part(extent=pool, bytes=size or 0),)),
            phase=RecordPhase.REMOVING if size is None else RecordPhase.READY,
            created_at=now,
            first_published_at=now if size and await self._is_written(stored) else None,
        )

    async def snapshot(self, id_: str, stored: JournalRecord) -> SnapshotRecord | None:  # noqa: ARG002 - none
        """Raises CsiStatusError."""
        refuse_foreign_snapshot(id_)

    async def _is_written(self, stored: JournalRecord) -> bool:
        place = stored.place
        scope = PoolScope(pool=place.pool.name, namespace=stored.journal.layout.namespace)
        return await RbdImages(self._connection, scope).is_written(place.name)

    async def _size(self, stored: JournalRecord) -> int | None:
        place = stored.place
        scope = PoolScope(pool=place.pool.name, namespace=stored.journal.layout.namespace)
        try:
            return (await RbdImages(self._connection, scope).facts(place.name)).size_bytes
        except CephError as error:
            if error.failure is CephFailure.NOT_FOUND:
                return None
            raise
