"""The records of a driver whose volumes are in several clusters."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from plimsoll.processes.driver.backends.ceph.clusters.member_clusters import (
    MemberCluster,
    MemberClusters,
)
from plimsoll.processes.driver.backends.ceph.clusters.pool_names import (
    full_name,
    named_in_cluster,
    split_name,
)
from plimsoll.processes.driver.backends.ceph.clusters.routed_table import (
    RoutedTable,
    RoutedVolumes,
)
from plimsoll.processes.driver.backends.ceph.clusters.spanned_requests import SpannedRequests
from plimsoll.processes.driver.backends.protocol import Charges
from plimsoll.processes.driver.records import SnapshotRecord, VolumeRecord


class ClusteredRecords:
    def __init__(self, members: MemberClusters, requests: SpannedRequests) -> None:
        self._members = members
        self.volumes = RoutedVolumes(members, requests)
        self.snapshots: RoutedTable[SnapshotRecord] = RoutedTable(
            members, lambda backend: backend.records.snapshots
        )

    async def refresh(self) -> None:
        await self._members.ask_all(lambda member: member.backend.records.refresh())

    def charges(self) -> Charges:
        told = [(each, each.backend.records.charges()) for each in self._members.all]
        return Charges(
            promised=_sums((member, charges.promised) for member, charges in told),
            unmade=_sums((member, charges.unmade) for member, charges in told),
        )

    def volumes_in(self, pool: str) -> int:
        _, name = split_name(pool)
        return self._members.of_pool(pool).backend.records.volumes_in(name)

    def attached_to(self, node_id: str) -> int:  # noqa: ARG002 - none is attached
        return 0

    async def where_written(self, volume: VolumeRecord) -> str:
        member = self._members.of_pool(volume.placement.pools[0])
        return await member.backend.records.where_written(named_in_cluster(volume))

    def seen(self) -> tuple[Sequence[VolumeRecord], Sequence[SnapshotRecord]]:
        return self.volumes.seen(), self.snapshots.seen()


def _sums(told: Iterable[tuple[MemberCluster, Mapping[str, int]]]) -> Counter[str]:
    """By the full names of extents."""
    found: Counter[str] = Counter()
    for member, by_extent in told:
        found.update({full_name(member.prefix, name): sum_ for name, sum_ in by_extent.items()})
    return found
