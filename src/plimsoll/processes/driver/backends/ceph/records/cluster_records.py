"""The records of a driver whose volumes are in a cluster that it shares with other drivers."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol

from plimsoll.decide.ceph.journal.layout import JournalKind, JournalLayout
from plimsoll.decide.ceph.journal.stored_records import JournalRecord
from plimsoll.processes.driver.backends.ceph.ceph_cluster import CephCluster
from plimsoll.processes.driver.backends.ceph.records.cluster_table import (
    ClusterTable,
    JournalPools,
    JournalTable,
)
from plimsoll.processes.driver.backends.ceph.records.writer_leases import Watchers, WriterLeases
from plimsoll.processes.driver.backends.protocol import Charges
from plimsoll.processes.driver.records import SnapshotRecord, VolumeRecord
from plimsoll.processes.driver.settings import BackendSettings
from plimsoll.runtime.clock import Clock

REFRESHED_EVERY = timedelta(seconds=10)
"""What this driver writes counts at once; what others write, after this long."""


class ClusterRecords:
    def __init__(
        self,
        volumes: ClusterTable[VolumeRecord],
        snapshots: ClusterTable[SnapshotRecord],
        leases: WriterLeases,
        clock: Clock,
    ) -> None:
        self.volumes = volumes
        self.snapshots = snapshots
        self.leases = leases
        self._clock = clock
        self._looked_at: datetime | None = None

    async def refresh(self) -> None:
        now = self._clock.now()
        if self._looked_at is None or now - self._looked_at >= REFRESHED_EVERY:
            await self.volumes.look()
            await self.snapshots.look()
            self._looked_at = now

    def know_journal(self, pool: str) -> None:
        """One that was not known before is looked at with the next call that asks for capacity."""
        known = self.volumes.know_journal(pool)
        if not (self.snapshots.know_journal(pool) and known):
            self._looked_at = None

    def charges(self) -> Charges:
        return Charges(promised=_sums(self._all()), unmade=_sums(self._making()))

    def volumes_in(self, pool: str) -> int:
        """How many volumes and snapshots are in the pool, or are being made there."""
        return sum(pool in entry.placement.pools for entry in self._all())

    def _all(self) -> list[VolumeRecord | SnapshotRecord]:
        return [*self.volumes.seen.values(), *self.snapshots.seen.values(), *self._making()]

    def _making(self) -> list[VolumeRecord | SnapshotRecord]:
        return [*self.volumes.making.values(), *self.snapshots.making.values()]

    def attached_to(self, node_id: str) -> int:  # noqa: ARG002 - none is attached
        return 0

    async def where_written(self, volume: VolumeRecord) -> str:
        return await self.leases.where_written(volume)

    def seen(self) -> tuple[Sequence[VolumeRecord], Sequence[SnapshotRecord]]:
        return tuple(self.volumes.seen.values()), tuple(self.snapshots.seen.values())


class AdoptsEntries(Protocol):
    """Finds what another program made, and left no record of."""

    async def volume(self, id_: str, stored: JournalRecord) -> VolumeRecord | None: ...

    async def snapshot(self, id_: str, stored: JournalRecord) -> SnapshotRecord | None: ...


def make_records(
    cluster: CephCluster,
    pools: JournalPools,
    adoption: AdoptsEntries,
    settings: BackendSettings,
    *,
    watchers: Watchers,
) -> ClusterRecords:
    """`watchers` has the clients that have an asset open."""
    volumes = ClusterTable(
        cluster,
        JournalTable(
            form=VolumeRecord,
            layout=JournalLayout(kind=JournalKind.VOLUME),
            adopt=adoption.volume,
            pools=pools,
        ),
        settings.ids,
    )
    snapshots = ClusterTable(
        cluster,
        JournalTable(
            form=SnapshotRecord,
            layout=JournalLayout(kind=JournalKind.SNAPSHOT),
            adopt=adoption.snapshot,
            pools=pools,
        ),
        settings.ids,
    )
    leases = WriterLeases(cluster, volumes, watchers, settings.clock)
    return ClusterRecords(volumes, snapshots, leases, settings.clock)


def _sums(entries: Sequence[VolumeRecord | SnapshotRecord]) -> Counter[str]:
    found: Counter[str] = Counter()
    for entry in entries:
        for part in entry.placement.parts:
            found[part.extent] += part.bytes
    return found
