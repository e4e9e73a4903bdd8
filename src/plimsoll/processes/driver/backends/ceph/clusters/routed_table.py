"""Records of volumes, or of snapshots, of several clusters as one table.

An id tells the cluster of its record. Lists have what clusters that do not answer told last.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from plimsoll.processes.driver.backends.ceph.clusters.member_clusters import (
    MemberCluster,
    MemberClusters,
)
from plimsoll.processes.driver.backends.ceph.clusters.pool_names import (
    named_in_cluster,
    named_in_full,
    place_in_cluster,
)
from plimsoll.processes.driver.backends.ceph.clusters.spanned_requests import SpannedRequests
from plimsoll.processes.driver.backends.ceph.journaled_backend import JournaledBackend
from plimsoll.processes.driver.backends.ceph.records.cluster_table import (
    ClusterTable,
    numbered_entries,
)
from plimsoll.processes.driver.records import (
    RecordPhase,
    SnapshotRecord,
    VolumePlacement,
    VolumeRecord,
)
from plimsoll.wire.csi.errors import CsiStatusError

Entry = TypeVar("Entry", VolumeRecord, SnapshotRecord)


class RoutedTable(Generic[Entry]):
    def __init__(
        self, members: MemberClusters, table_of: Callable[[JournaledBackend], ClusterTable[Entry]]
    ) -> None:
        self._members = members
        self._table_of: Callable[[JournaledBackend], ClusterTable[Entry]] = table_of

    def table(self, member: MemberCluster) -> ClusterTable[Entry]:
        return self._table_of(member.backend)

    async def new_id(self, name: str, placement: VolumePlacement) -> str:
        member = self._members.of_pool(placement.pools[0])
        return await self.table(member).new_id(name, place_in_cluster(placement))

    async def find(self, id_: str) -> Entry | None:
        member = await self._members.of_id(id_)
        return None if member is None else self.seen_in(member, await self.table(member).find(id_))

    async def find_by_name(self, name: str, parameters: Mapping[str, str]) -> Entry | None:
        """In all clusters that answer: one that does not has no source that could be used now."""

        async def find(member: MemberCluster) -> Entry | None:
            found = await self.table(member).find_by_name(name, parameters)
            return self.seen_in(member, found)

        for _, found in await self._members.ask_all(find):
            if found is not None:
                return found
        return None

    async def put(self, entry: Entry) -> Entry:
        member = self._members.of_pool(entry.placement.pools[0])
        kept = await self.table(member).put(named_in_cluster(entry))
        return named_in_full(kept, member.prefix)

    async def drop(self, id_: str) -> None:
        member = await self._members.of_id(id_)
        if member is not None:
            await self.table(member).drop(id_)

    async def numbered(self) -> Sequence[tuple[int, Entry]]:
        await self._members.ask_all(lambda member: self.table(member).look())
        return numbered_entries(self.seen())

    async def newest(self) -> int:
        return max((number for number, _ in numbered_entries(self.seen())), default=0)

    async def unsettled(self) -> Sequence[Entry]:
        return ()

    def seen(self) -> list[Entry]:
        return [
            named_in_full(entry, member.prefix)
            for member in self._members.all
            for entry in self.table(member).seen.values()
        ]

    def seen_in(self, member: MemberCluster, entry: Entry | None) -> Entry | None:
        return None if entry is None else named_in_full(entry, member.prefix)


class RoutedVolumes(RoutedTable[VolumeRecord]):
    """Where a class has pools in several clusters, the journal of the class tells which it is."""

    def __init__(self, members: MemberClusters, requests: SpannedRequests) -> None:
        super().__init__(members, lambda backend: backend.records.volumes)
        self._requests = requests

    async def find_by_name(self, name: str, parameters: Mapping[str, str]) -> VolumeRecord | None:
        if not parameters:
            return await super().find_by_name(name, parameters)
        claim = await self._requests.find(name, parameters)
        home = self._members.named(self._members.parse(parameters).home)
        if claim is None:
            return await self._find_in(home, name, parameters)
        member = await self._members.of_id(claim.volume_id) or home
        try:
            found = await self._find_in(member, name, parameters)
        except CsiStatusError:
            if claim.is_made:
                raise
            # No caller was told of it, so another cluster will do.
            return None
        if found is not None and not claim.is_made:
            await self._requests.confirm(found)
        return found

    async def _find_in(
        self, member: MemberCluster, name: str, parameters: Mapping[str, str]
    ) -> VolumeRecord | None:
        return self.seen_in(member, await self.table(member).find_by_name(name, parameters))

    async def put(self, entry: VolumeRecord) -> VolumeRecord:
        member = self._members.of_pool(entry.placement.pools[0])
        is_new = self.table(member).is_being_made(entry.id)
        kept = await super().put(entry)
        if is_new and kept.phase is RecordPhase.READY:
            await self._requests.confirm(kept)
        return kept
