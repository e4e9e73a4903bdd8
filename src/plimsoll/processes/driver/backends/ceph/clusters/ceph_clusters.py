"""One backend where a driver serves several clusters: classes may have pools in each of them.

Every call goes to the backend of the cluster that the volume is in. Where a volume goes is chosen
among the pools of all clusters that answer, as among those of one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

from plimsoll.decide.ceph.constrained_pools import ConstrainedPool
from plimsoll.decide.ceph.domain_labels import DomainLabels
from plimsoll.decide.ceph.takeover.objections import PoolCopies
from plimsoll.processes.driver.backends.ceph.class_parameters import CephClass
from plimsoll.processes.driver.backends.ceph.clusters.clustered_fences import ClusteredFences
from plimsoll.processes.driver.backends.ceph.clusters.clustered_records import ClusteredRecords
from plimsoll.processes.driver.backends.ceph.clusters.member_clusters import (
    MemberCluster,
    MemberClusters,
)
from plimsoll.processes.driver.backends.ceph.clusters.pool_names import (
    full_name,
    named_in_cluster,
    origin_in_cluster,
    split_name,
)
from plimsoll.processes.driver.backends.ceph.clusters.spanned_requests import SpannedRequests
from plimsoll.processes.driver.backends.ceph.pool_places import PoolPlaces
from plimsoll.processes.driver.backends.protocol import (
    BackendFeatures,
    BackendRequest,
    Charges,
    PlaceRequest,
    Pool,
    Source,
    VolumeHealth,
    VolumeLayout,
)
from plimsoll.processes.driver.domains.protocol import DomainCondition
from plimsoll.processes.driver.records import SnapshotRecord, VolumePlacement, VolumeRecord
from plimsoll.processes.driver.settings import BackendSettings
from plimsoll.wire.csi.refusals import failed_precondition


class CephClusters:
    def __init__(
        self,
        members: Sequence[MemberCluster],
        settings: BackendSettings,
        *,
        levels: Sequence[str],
    ) -> None:
        self.features: BackendFeatures = members[0].backend.features
        self.members = MemberClusters(members, settings.clock)
        self._requests = SpannedRequests(self.members)
        self.records = ClusteredRecords(self.members, self._requests)
        self.fence_keeper = ClusteredFences(self.members)
        self._places = PoolPlaces(
            domains=DomainLabels(driver=settings.driver_name, labels=tuple(levels)),
            volumes_in=self.records.volumes_in,
            chance=Random(settings.ids.uid()),  # noqa: S311 - spreads volumes
        )

    async def shut_down(self) -> None:
        for each in self.members.all:
            await each.backend.shut_down()

    # Where volumes go

    def layout(self, request: BackendRequest) -> VolumeLayout:
        wanted = self.members.parse(request.parameters)
        members = self.members.of_class(wanted)
        layouts = [(each.prefix, each.backend.layout(request)) for each in members]
        return replace(
            layouts[0][1],
            pools=frozenset(
                full_name(prefix, name) for prefix, each in layouts for name in each.pools or ()
            ),
            located={
                full_name(prefix, name): segments
                for prefix, each in layouts
                for name, segments in each.located.items()
            },
            stored_in={
                full_name(prefix, name): full_name(prefix, data)
                for prefix, each in layouts
                for name, data in each.stored_in.items()
            },
        )

    def choose_place(self, pools: Sequence[Pool], request: PlaceRequest) -> VolumePlacement:
        wanted = self.members.parse(request.backend_request.parameters)
        allowed = self._pools_of(wanted)
        if request.copied_from:
            prefix, _ = split_name(request.copied_from[0])
            allowed = [pool for pool in allowed if split_name(pool.name)[0] == prefix]
        return self._places.choose(wanted, allowed, pools, request)

    def _pools_of(self, wanted: CephClass) -> Sequence[ConstrainedPool]:
        """By their full names, in the order of the class."""
        if wanted.group:
            home = self.members.named(wanted.home)
            return [_in_full(pool, home) for pool in home.backend.pools_of(wanted)]
        return [_in_full(pool, self.members.named(pool.cluster_id)) for pool in wanted.pools]

    async def pools(self, charges: Charges) -> Sequence[Pool]:  # noqa: ARG002 - each has its own
        told = await self.members.ask_all(
            lambda each: each.backend.pools(each.backend.records.charges())
        )
        if self.members.take_returned(member for member, _ in told):
            await self._requests.clean()
        found = [_pool_in_full(pool, member) for member, pools in told for pool in pools]
        return sorted(found, key=lambda pool: pool.name)

    # What volumes are

    async def settle(
        self, volumes: Sequence[VolumeRecord], snapshots: Sequence[SnapshotRecord]
    ) -> None:
        await self.members.ask_all(lambda each: each.backend.settle(volumes, snapshots))
        await self._requests.clean()

    async def make(
        self, volume: VolumeRecord, origin: VolumeRecord | SnapshotRecord | None
    ) -> None:
        own = self._of(volume)
        if origin is not None and self._of(origin) is not own:
            raise failed_precondition(
                f"volume {volume.name}: is copied from cluster {self._of(origin).name}, and Ceph"
                " copies within one cluster; let the class have a pool there"
            )
        await self._requests.claim(volume)
        await own.backend.make(named_in_cluster(volume), origin_in_cluster(origin))

    async def remove(self, volume: VolumeRecord) -> None:
        await self._of(volume).backend.remove(named_in_cluster(volume))
        await self._requests.forget(volume)

    async def grow(self, volume: VolumeRecord, size_bytes: int) -> None:
        await self._of(volume).backend.grow(named_in_cluster(volume), size_bytes)

    async def modify(self, volume: VolumeRecord) -> None:
        await self._of(volume).backend.modify(volume)

    async def snapshot(self, snapshot: SnapshotRecord, volume: VolumeRecord) -> None:
        backend = self._of(volume).backend
        await backend.snapshot(named_in_cluster(snapshot), named_in_cluster(volume))

    async def remove_snapshot(self, snapshot: SnapshotRecord) -> None:
        await self._of(snapshot).backend.remove_snapshot(named_in_cluster(snapshot))

    async def attach(self, volume: VolumeRecord, node_id: str) -> Mapping[str, str]:
        return await self._of(volume).backend.attach(volume, node_id)

    async def detach(self, volume: VolumeRecord, node_id: str) -> None:
        await self._of(volume).backend.detach(volume, node_id)

    async def condition(self, volume: VolumeRecord) -> VolumeHealth:
        return await self._of(volume).backend.condition(named_in_cluster(volume))

    async def has_foreign_writes(self, volume: VolumeRecord) -> bool:
        return await self._of(volume).backend.has_foreign_writes(named_in_cluster(volume))

    # On the node

    async def mend(self, volume: VolumeRecord, node_id: str) -> None:
        await self._of(volume).backend.mend(named_in_cluster(volume), node_id)

    async def is_cut_off(self, volume: VolumeRecord, node_id: str) -> bool:
        return await self._of(volume).backend.is_cut_off(named_in_cluster(volume), node_id)

    async def open(self, volume: VolumeRecord, node_id: str) -> Source:
        return await self._of(volume).backend.open(named_in_cluster(volume), node_id)

    def opened(self, volume: VolumeRecord, node_id: str) -> Source | None:
        return self._of(volume).backend.opened(named_in_cluster(volume), node_id)

    async def close(self, volume: VolumeRecord, node_id: str) -> None:
        await self._of(volume).backend.close(named_in_cluster(volume), node_id)

    def opened_by_id(self, volume_id: str) -> Source | None:
        found = (each.backend.opened_by_id(volume_id) for each in self.members.all)
        return next((source for source in found if source is not None), None)

    async def close_by_id(self, volume_id: str) -> None:
        for each in self.members.all:
            await each.backend.close_by_id(volume_id)

    # Domains

    async def pool_copies(self, domain: Mapping[str, str]) -> Sequence[PoolCopies]:
        """Of the clusters that answer: volumes in the others cannot be taken over now."""
        told = await self.members.ask_all(lambda each: each.backend.pool_copies(domain))
        return [
            replace(copies, pool=full_name(member.prefix, copies.pool))
            for member, found in told
            for copies in found
        ]

    async def storage_condition(self, domain: Mapping[str, str]) -> DomainCondition:
        told = await self.members.ask_all(lambda each: each.backend.storage_condition(domain))
        found = {condition for _, condition in told}
        for condition in (DomainCondition.DOWN, DomainCondition.UP):
            if condition in found:
                return condition
        return DomainCondition.UNKNOWN

    async def fence(self, domain: Mapping[str, str]) -> None:
        await self.fence_keeper.fence(domain, None)

    async def release(self, domain: Mapping[str, str]) -> None:
        await self.fence_keeper.release(domain, None)

    def _of(self, entry: VolumeRecord | SnapshotRecord) -> MemberCluster:
        return self.members.of_pool(entry.placement.pools[0])


def _in_full(pool: ConstrainedPool, member: MemberCluster) -> ConstrainedPool:
    data = full_name(member.prefix, pool.data_pool) if pool.data_pool else ""
    return replace(pool, name=full_name(member.prefix, pool.name), data_pool=data, cluster_id="")


def _pool_in_full(pool: Pool, member: MemberCluster) -> Pool:
    extents = (
        replace(extent, name=full_name(member.prefix, extent.name)) for extent in pool.extents
    )
    return replace(pool, name=full_name(member.prefix, pool.name), extents=tuple(extents))
