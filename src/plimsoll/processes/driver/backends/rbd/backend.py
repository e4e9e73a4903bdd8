"""The rbd backend: volumes are images in pools of one Ceph cluster, which any number of drivers
share.

An image is known by the name of its request in the journal, and by its pool and uuid, which are in
the id of the volume, as ceph-csi composes it. Records are in the journal, so every driver of the
cluster finds the volumes of all others, and those that ceph-csi made.

A pool is taken to hold nothing but volumes of these drivers: what other clients write there counts
as if volumes had written it.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from plimsoll.decide.ceph.journal.places import ImagePlace
from plimsoll.processes.driver.backends.ceph.ceph_cluster import CephCluster, failures_of
from plimsoll.processes.driver.backends.ceph.class_parameters import ServedClusters
from plimsoll.processes.driver.backends.ceph.cluster_report import APPLICATION
from plimsoll.processes.driver.backends.ceph.domains.cluster_domains import (
    ClusterDomains,
    read_report,
)
from plimsoll.processes.driver.backends.ceph.domains.cluster_fences import ClusterFences
from plimsoll.processes.driver.backends.ceph.journaled_backend import JournaledBackend
from plimsoll.processes.driver.backends.ceph.labelled_pools import LabelledPools
from plimsoll.processes.driver.backends.ceph.pool_figures import pool_figures, pool_segments
from plimsoll.processes.driver.backends.ceph.records.cluster_records import (
    ClusterRecords,
    make_records,
)
from plimsoll.processes.driver.backends.ceph.records.cluster_table import JournalPools
from plimsoll.processes.driver.backends.ceph.records.journaled_entries import (
    SNAPSHOT_PREFIX,
    CephEntry,
    NewAsset,
    entry_name,
    extent_of,
    is_snapshot,
)
from plimsoll.processes.driver.backends.ceph.shared_options import names_in
from plimsoll.processes.driver.backends.ceph.silent_pools import SilentPools
from plimsoll.processes.driver.backends.protocol import (
    BackendFeatures,
    BackendRequest,
    Charges,
    Pool,
    Source,
    VolumeHealth,
    VolumeLayout,
)
from plimsoll.processes.driver.backends.rbd.adoption import ImageAdoption
from plimsoll.processes.driver.backends.rbd.class_parameters import (
    RbdClass,
    parse_class,
)
from plimsoll.processes.driver.backends.rbd.copies import (
    copy_image,
    remove_copy_snapshot,
    remove_copy_snapshots,
)
from plimsoll.processes.driver.backends.rbd.fuse_devices import FuseDevices
from plimsoll.processes.driver.backends.rbd.image_assets import make_empty, remove_if_there
from plimsoll.processes.driver.backends.rbd.node_images import NodeImages, watchers_of
from plimsoll.processes.driver.backends.rbd.options import RbdOptions, overcommit_of
from plimsoll.processes.driver.node.filesystems import EXT4, MINIMUM_BYTES
from plimsoll.processes.driver.records import (
    SnapshotRecord,
    VolumeMode,
    VolumeRecord,
)
from plimsoll.processes.driver.settings import BackendSettings
from plimsoll.runtime.commands import CommandError
from plimsoll.wire.ceph.connection import PoolScope
from plimsoll.wire.ceph.errors import CephError
from plimsoll.wire.ceph.images import NewImage, RbdImages
from plimsoll.wire.csi.refusals import invalid_argument

log = logging.getLogger(__name__)

MEBIBYTE = 1 << 20

FEATURES = BackendFeatures(
    snapshots=True,
    clones=True,
    expansion=True,
    online_expansion=True,
    modes=frozenset(VolumeMode),
)


class RbdBackend(JournaledBackend):
    def __init__(
        self,
        cluster: CephCluster,
        options: RbdOptions,
        devices: FuseDevices,
        settings: BackendSettings,
        *,
        served: ServedClusters,
    ) -> None:
        self.features = FEATURES
        self._connection = cluster.connection
        self._options = options
        self._served = served
        self._devices = devices
        self._prefix = settings.key("")
        self._silent_pools = SilentPools(settings.clock)
        levels = names_in(options.domain_levels)
        super().__init__(
            cluster,
            self._records(cluster, settings),
            settings,
            levels,
            labelled=LabelledPools(APPLICATION),
        )
        self.records.know_journal(options.pool)
        self._domains = ClusterDomains(self._connection, levels)
        self.fence_keeper = ClusterFences(
            cluster,
            self.records,
            self._domains.find_journals,
            find_down=self._domains.find_down,
            end_writers=self.records.leases.end_all,
        )
        self._node_images = NodeImages(self._connection, devices, self.records, settings)

    def _records(self, cluster: CephCluster, settings: BackendSettings) -> ClusterRecords:
        return make_records(
            cluster,
            JournalPools(of_class=self._journal_pool),
            ImageAdoption(self._connection, settings.clock),
            settings,
            watchers=partial(watchers_of, self._connection),
        )

    def _journal_pool(self, parameters: Mapping[str, str]) -> str:
        return self.parse(parameters).journal_pool

    async def shut_down(self) -> None:
        await self._connection.close()

    # Where volumes go

    def layout(self, request: BackendRequest) -> VolumeLayout:
        wanted = self.parse(request.parameters)
        pools = self.pools_of(wanted)
        if wanted.is_here:
            self.records.know_journal(wanted.journal_pool)
        plain = VolumeLayout(
            unit_bytes=MEBIBYTE,
            minimum_bytes=MEBIBYTE,
            pools=frozenset(pool.name for pool in pools),
            located=pool_segments(pools, self._prefix),
            stored_in={pool.name: pool.data_pool for pool in pools if pool.data_pool},
            overcommit=wanted.overcommit,
        )
        if request.mode is not VolumeMode.FILESYSTEM:
            return plain
        fs_type = request.fs_type or EXT4
        if fs_type not in MINIMUM_BYTES:
            known = ", ".join(sorted(MINIMUM_BYTES))
            raise invalid_argument(f"file system {fs_type!r} is none of {known}")
        return replace(plain, minimum_bytes=MINIMUM_BYTES[fs_type], mounted_as=fs_type)

    async def pools(self, charges: Charges) -> Sequence[Pool]:
        with failures_of("the cluster"):
            report = await read_report(self._connection)
        self._labelled.learn(report.applications)
        return pool_figures(report.usages(), charges, overcommit_of(self._options))

    # What volumes are

    async def settle(
        self,
        volumes: Sequence[VolumeRecord],  # noqa: ARG002 - the cluster has them
        snapshots: Sequence[SnapshotRecord],  # noqa: ARG002 - the cluster has them
    ) -> None:
        """What earlier attempts left; a zone that is down keeps its own until the next start."""
        await self._take_down_dead()
        try:
            down = await self._domains.find_down()
        except CephError as error:
            log.warning("leftovers not removed", extra={"error": str(error)})
            return
        await self._entries.clean(self._end_copy, down=down)

    async def _take_down_dead(self) -> None:
        try:
            await self._devices.take_down_dead()
        except (CommandError, TimeoutError) as error:
            log.warning("dead mounts not taken down", extra={"error": str(error)})

    async def make(
        self, volume: VolumeRecord, origin: VolumeRecord | SnapshotRecord | None
    ) -> None:
        await self._make(volume, origin)

    async def snapshot(self, snapshot: SnapshotRecord, volume: VolumeRecord) -> None:
        await self._make(snapshot, volume)

    async def _make(self, entry: CephEntry, origin: CephEntry | None) -> None:
        source = None if origin is None else await self._entries.place_of(origin)
        wanted = self.parse(entry.parameters)
        new = NewAsset(
            pool=entry.placement.pools[0],
            name_prefix=SNAPSHOT_PREFIX if is_snapshot(entry) else wanted.name_prefix,
            source=source.name if source and is_snapshot(entry) else "",
            # A request that may go to another cluster abandons its volume by the id.
            may_resume=source is None and not wanted.is_spread_over_clusters,
        )

        async def fill(place: ImagePlace) -> str:
            await self._fill(place, entry, source)
            return (await self._images(place).facts(place.name)).id

        await self._entries.make(entry, new, fill)

    async def _fill(self, place: ImagePlace, entry: CephEntry, source: ImagePlace | None) -> None:
        extent = extent_of(entry)
        new = NewImage(
            name=place.name,
            size_bytes=entry.size_bytes,
            features=self.parse(entry.parameters).features,
            data_pool="" if extent == place.pool.name else extent,
        )
        if source is None:
            await make_empty(self._images(place), new)
        else:
            await self._entries.begin_copy(entry, place.name, source)
            await copy_image(self._images(source), source.name, self._images(place), new)
            await self._entries.end_copy(entry, place.name)

    async def _end_copy(self, source: ImagePlace, name: str) -> None:
        await remove_copy_snapshot(self._images(source), source.name, name)

    async def remove(self, volume: VolumeRecord) -> None:
        if not self.records.volumes.is_being_made(volume.id):
            await self.records.leases.end_dead(volume)
        await self._entries.remove(volume, self._remove_image)

    async def remove_snapshot(self, snapshot: SnapshotRecord) -> None:
        await self._entries.remove(snapshot, self._remove_image)

    async def _remove_image(self, place: ImagePlace) -> None:
        await remove_copy_snapshots(self._images(place), place.name)
        await remove_if_there(self._images(place), place.name)

    async def is_written(self, place: ImagePlace) -> bool:
        return await self._images(place).is_written(place.name)

    async def grow(self, volume: VolumeRecord, size_bytes: int) -> None:
        place = await self._entries.place_of(volume)
        with failures_of(entry_name(volume)):
            await self._images(place).grow(place.name, size_bytes)
            await self._devices.resize(place.name)

    # On the node

    async def mend(self, volume: VolumeRecord, node_id: str) -> None:
        await self._node_images.check(volume, node_id)

    async def is_cut_off(self, volume: VolumeRecord, node_id: str) -> bool:
        return await self._node_images.is_cut_off(volume, node_id)

    async def open(self, volume: VolumeRecord, node_id: str) -> Source:
        return await self._node_images.open(volume, await self._entries.place_of(volume), node_id)

    def opened(self, volume: VolumeRecord, node_id: str) -> Source | None:  # noqa: ARG002 - one
        return self._node_images.opened(volume)

    async def close(self, volume: VolumeRecord, node_id: str) -> None:
        await self._node_images.close(volume, node_id)

    def opened_by_id(self, volume_id: str) -> Source | None:
        return self._node_images.opened_by_id(volume_id)

    async def close_by_id(self, volume_id: str) -> None:
        await self._node_images.close_by_id(volume_id)

    async def condition(self, volume: VolumeRecord) -> VolumeHealth:
        name = volume.asset_name or self.records.volumes.image_name(volume.id)
        pool = volume.placement.pools[0]
        error = self._silent_pools.find(pool)
        if error is None:
            try:
                await RbdImages(self._connection, PoolScope(pool=pool)).facts(name)
            except CephError as found:
                error = found
                self._silent_pools.note(pool, found)
        if error is None:
            return VolumeHealth()
        return VolumeHealth(abnormal=True, message=f"image {name}: {error}")

    def parse(self, parameters: Mapping[str, str]) -> RbdClass:
        """The class as this cluster sees it. Raises CsiStatusError (INVALID_ARGUMENT)."""
        return parse_class(parameters, self._options, self._served)

    def _images(self, place: ImagePlace) -> RbdImages:
        return RbdImages(self._connection, PoolScope(pool=place.pool.name))
