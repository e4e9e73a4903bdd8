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
from random import Random
from typing import NoReturn

from plimsoll.decide.ceph.constrained_pools import ConstrainedPool, PoolKey
from plimsoll.decide.ceph.domain_labels import DomainLabels
from plimsoll.decide.ceph.journal.layout import JournalKind, JournalLayout
from plimsoll.decide.ceph.journal.places import ImagePlace, ImageRequest
from plimsoll.decide.ceph.labelled_pools import labelled_pools
from plimsoll.decide.ceph.pool_capacity import CephPoolUsage, PromisedVolume, pool_state
from plimsoll.decide.ceph.takeover.objections import PoolCopies
from plimsoll.decide.ceph.volume_ids import UUID_BYTES
from plimsoll.processes.driver.backends.ceph.ceph_cluster import CephCluster, failures_of
from plimsoll.processes.driver.backends.ceph.cluster_domains import ClusterDomains, read_report
from plimsoll.processes.driver.backends.ceph.cluster_fences import ClusterFences
from plimsoll.processes.driver.backends.ceph.cluster_records import ClusterRecords
from plimsoll.processes.driver.backends.ceph.cluster_report import APPLICATION, ClusterReport
from plimsoll.processes.driver.backends.ceph.cluster_table import ClusterTable, JournalTable
from plimsoll.processes.driver.backends.ceph.journal_runs import JournalError, JournalRunner
from plimsoll.processes.driver.backends.ceph.journaled_assets import JournaledAssets
from plimsoll.processes.driver.backends.ceph.pool_places import PoolPlaces
from plimsoll.processes.driver.backends.ceph.shared_options import access_of, names_in
from plimsoll.processes.driver.backends.ceph.writer_leases import WriterLeases
from plimsoll.processes.driver.backends.protocol import (
    BackendFeatures,
    BackendRequest,
    Charges,
    Extent,
    PlaceRequest,
    Pool,
    Source,
    VolumeHealth,
    VolumeLayout,
)
from plimsoll.processes.driver.backends.rbd.adoption import ImageAdoption
from plimsoll.processes.driver.backends.rbd.class_parameters import RbdClass, parse_class
from plimsoll.processes.driver.backends.rbd.copies import copy_image, remove_copy_snapshots
from plimsoll.processes.driver.backends.rbd.fuse_devices import FuseDevices
from plimsoll.processes.driver.backends.rbd.image_assets import (
    ImageRemoval,
    make_empty,
    remove_if_there,
)
from plimsoll.processes.driver.backends.rbd.node_images import NodeImages, watchers_of
from plimsoll.processes.driver.backends.rbd.options import (
    RbdOptions,
    overcommit_of,
    parse_options,
)
from plimsoll.processes.driver.domains.protocol import DomainCondition
from plimsoll.processes.driver.node.filesystems import EXT4, MINIMUM_BYTES
from plimsoll.processes.driver.records import (
    SnapshotRecord,
    VolumeMode,
    VolumePlacement,
    VolumeRecord,
)
from plimsoll.processes.driver.settings import BackendSettings, Mounts, SetupError
from plimsoll.wire.ceph.connection import CephConnection, PoolScope
from plimsoll.wire.ceph.errors import CephError, NoCephError
from plimsoll.wire.ceph.images import NewImage, RbdImages
from plimsoll.wire.csi.refusals import (
    invalid_argument,
    not_found,
    unimplemented,
)

log = logging.getLogger(__name__)

MEBIBYTE = 1 << 20
SNAPSHOT_PREFIX = "csi-snap-"

Entry = VolumeRecord | SnapshotRecord


def make(settings: BackendSettings) -> "RbdBackend":
    """Connects on the first occasion. Raises SetupError."""
    options = parse_options(settings.options)
    access = access_of(options)
    try:
        connection = CephConnection(access)
    except NoCephError as error:
        raise SetupError(str(error)) from error
    devices = FuseDevices(settings.data_dir / "rbd", access, settings.clock)
    is_node = settings.mounts is Mounts.REAL and devices.is_possible
    if is_node and len(settings.nodes) != 1:
        raise SetupError(f"the rbd backend serves one node, not {len(settings.nodes)}")
    if is_node:
        devices.prepare()
    else:
        log.warning("volumes cannot be used here", extra={"reason": "needs root and rbd-fuse"})
    cluster = CephCluster(
        connection=connection,
        runner=JournalRunner(connection, ImageRemoval(connection)),
        cluster_id=options.cluster_id,
        older_journals=names_in(options.older_journals),
    )
    backend = RbdBackend(cluster, options, devices, settings)
    backend.features = replace(FEATURES, node_service=is_node)
    return backend


FEATURES = BackendFeatures(
    snapshots=True,
    clones=True,
    expansion=True,
    online_expansion=True,
    modes=frozenset(VolumeMode),
)


class RbdBackend:
    def __init__(
        self,
        cluster: CephCluster,
        options: RbdOptions,
        devices: FuseDevices,
        settings: BackendSettings,
    ) -> None:
        self.features = FEATURES
        self._cluster = cluster
        self._connection = cluster.connection
        self._options = options
        self._devices = devices
        self._prefix = settings.key("")
        self._labels: ClusterReport | None = None
        """The last one, for pools that are labelled in Ceph."""
        self.records = self._records(settings)
        self.records.know_journal(options.pool)
        levels = names_in(options.domain_levels)
        self._domains = ClusterDomains(self._connection, levels)
        self.fence_keeper = ClusterFences(cluster, self.records, self._domains.find_journals)
        self._node_images = NodeImages(self._connection, devices, self.records, settings)
        self._places = PoolPlaces(
            domains=DomainLabels(driver=settings.driver_name, labels=levels),
            volumes_in=self.records.volumes_in,
            chance=Random(settings.ids.uid()),  # noqa: S311 - spreads volumes
        )

    def _records(self, settings: BackendSettings) -> ClusterRecords:
        adoption = ImageAdoption(self._connection, settings.clock)
        volumes = ClusterTable(
            self._cluster,
            JournalTable(
                form=VolumeRecord,
                layout=JournalLayout(kind=JournalKind.VOLUME),
                journal_pool=self._journal_pool,
                adopt=adoption.volume,
            ),
            settings.ids,
        )
        snapshots = ClusterTable(
            self._cluster,
            JournalTable(
                form=SnapshotRecord,
                layout=JournalLayout(kind=JournalKind.SNAPSHOT),
                journal_pool=self._journal_pool,
                adopt=adoption.snapshot,
            ),
            settings.ids,
        )
        watchers = partial(watchers_of, self._connection)
        leases = WriterLeases(self._cluster, volumes, watchers, settings.clock)
        return ClusterRecords(volumes, snapshots, leases, settings.clock)

    def _journal_pool(self, parameters: Mapping[str, str]) -> str:
        return parse_class(parameters, self._options).journal_pool

    # Where volumes go

    def layout(self, request: BackendRequest) -> VolumeLayout:
        wanted = parse_class(request.parameters, self._options)
        self.records.know_journal(wanted.journal_pool)
        pools = self._pools_of(wanted)
        plain = VolumeLayout(
            unit_bytes=MEBIBYTE,
            minimum_bytes=MEBIBYTE,
            pools=frozenset(pool.name for pool in pools),
            located={pool.name: self._segments(pools, pool.name) for pool in pools},
            stored_in={pool.name: pool.data_pool for pool in pools if pool.data_pool},
        )
        if request.mode is not VolumeMode.FILESYSTEM:
            return plain
        fs_type = request.fs_type or EXT4
        if fs_type not in MINIMUM_BYTES:
            known = ", ".join(sorted(MINIMUM_BYTES))
            raise invalid_argument(f"file system {fs_type!r} is none of {known}")
        return replace(plain, minimum_bytes=MINIMUM_BYTES[fs_type], mounted_as=fs_type)

    def _pools_of(self, wanted: RbdClass) -> Sequence[ConstrainedPool]:
        if wanted.pools or self._labels is None:
            return wanted.pools
        return labelled_pools(
            self._labels.applications, application=APPLICATION, group=wanted.group
        )

    def _segments(
        self, pools: Sequence[ConstrainedPool], pool: str
    ) -> tuple[Mapping[str, str], ...]:
        """A pool that the class names for several domains is reachable from each."""
        entries = [item for item in pools if item.name == pool]
        if any(not item.segments for item in entries):
            return ()
        return tuple(
            {self._prefix + label: value for label, value in item.segments} for item in entries
        )

    def choose_place(self, pools: Sequence[Pool], request: PlaceRequest) -> VolumePlacement:
        wanted = parse_class(request.backend_request.parameters, self._options)
        return self._places.choose(wanted, self._pools_of(wanted), pools, request)

    async def pools(self, charges: Charges) -> Sequence[Pool]:
        with failures_of("the cluster"):
            self._labels = await read_report(self._connection)
        usages = self._labels.usages()
        return [self._pool(name, usages[name], charges) for name in sorted(usages)]

    def _pool(self, name: str, usage: CephPoolUsage, charges: Charges) -> Pool:
        taken = charges.promised.get(name, 0)
        promised = PromisedVolume(size_bytes=taken, written_bytes=min(taken, usage.stored_bytes))
        found = pool_state(
            ConstrainedPool(name=name),
            {PoolKey("", name): usage},
            [promised],
            overcommit=overcommit_of(self._options),
        )
        free = found.free_bytes if found else 0
        total = usage.stored_bytes + usage.max_avail_bytes
        extent = Extent(name=name, total_bytes=total, free_bytes=free)
        return Pool(name=name, topology=(), extents=(extent,))

    # Domains that are lost

    async def pool_copies(self, domain: Mapping[str, str]) -> Sequence[PoolCopies]:
        return await self._domains.pool_copies(domain)

    async def storage_condition(self, domain: Mapping[str, str]) -> DomainCondition:
        return await self._domains.storage_condition(domain)

    async def fence(self, domain: Mapping[str, str]) -> None:
        await self.fence_keeper.fence(domain)

    async def release(self, domain: Mapping[str, str]) -> None:
        await self.fence_keeper.release(domain)

    # What volumes are

    async def settle(
        self,
        volumes: Sequence[VolumeRecord],  # noqa: ARG002 - the cluster has them
        snapshots: Sequence[SnapshotRecord],  # noqa: ARG002 - the cluster has them
    ) -> None:
        """What earlier attempts left; a zone that is down keeps its own until the next start."""
        for table in (self.records.volumes, self.records.snapshots):
            try:
                down = await self._domains.find_down()
                for journal in await table.journals():
                    await JournaledAssets(journal, self._cluster.runner).clean(down=down)
            except (CephError, JournalError) as error:
                log.warning("leftovers not removed", extra={"error": str(error)})

    async def make(
        self, volume: VolumeRecord, origin: VolumeRecord | SnapshotRecord | None
    ) -> None:
        await self._make(volume, origin)

    async def snapshot(self, snapshot: SnapshotRecord, volume: VolumeRecord) -> None:
        await self._make(snapshot, volume)

    async def _make(self, entry: Entry, origin: Entry | None) -> None:
        source = None if origin is None else await self._place_of(origin)
        with failures_of(_name(entry)):
            request = ImageRequest(
                request_name=entry.name,
                pool=await self._cluster.pool(entry.placement.pools[0]),
                uuid=entry.id[-UUID_BYTES:],
                name_prefix=SNAPSHOT_PREFIX
                if _is_snapshot(entry)
                else self._class(entry).name_prefix,
                source=source.name if source and _is_snapshot(entry) else "",
            )

            async def fill(place: ImagePlace) -> str:
                await self._fill(place, entry, source)
                return (await self._images(place).facts(place.name)).id

            begun = await (await self._calls(entry)).begin(request, fill)
        self._table(entry).begun(entry.id, begun)

    async def _fill(self, place: ImagePlace, entry: Entry, source: ImagePlace | None) -> None:
        wanted = self._class(entry)
        extent = entry.placement.parts[0].extent
        new = NewImage(
            name=place.name,
            size_bytes=entry.size_bytes,
            features=wanted.features,
            data_pool="" if extent == place.pool.name else extent,
        )
        if source is None:
            await make_empty(self._images(place), new)
        else:
            await copy_image(self._images(source), source.name, self._images(place), new)

    async def remove(self, volume: VolumeRecord) -> None:
        if not self.records.volumes.is_being_made(volume.id):
            await self.records.leases.end_dead(volume)
        await self._remove(volume)

    async def remove_snapshot(self, snapshot: SnapshotRecord) -> None:
        await self._remove(snapshot)

    async def _remove(self, entry: Entry) -> None:
        table = self._table(entry)
        if table.is_being_made(entry.id):
            with failures_of(_name(entry)):
                await (await self._calls(entry)).give_up(entry.name)
            return
        stored = await table.stored(entry.id)
        if stored is None:
            return
        with failures_of(_name(entry)):
            calls = JournaledAssets(stored.journal, self._cluster.runner)
            await calls.remove(stored.place, self._remove_image)

    async def _remove_image(self, place: ImagePlace) -> None:
        await remove_copy_snapshots(self._images(place), place.name)
        await remove_if_there(self._images(place), place.name)

    async def grow(self, volume: VolumeRecord, size_bytes: int) -> None:
        place = await self._place_of(volume)
        with failures_of(_name(volume)):
            await self._images(place).grow(place.name, size_bytes)
            await self._devices.resize(place.name)

    async def modify(self, volume: VolumeRecord) -> None:
        _refuse(f"volume {volume.id}: the rbd backend has nothing that could be modified")

    async def attach(self, volume: VolumeRecord, node_id: str) -> Mapping[str, str]:
        _refuse(f"volume {volume.id}: needs no attaching to node {node_id}")

    async def detach(self, volume: VolumeRecord, node_id: str) -> None:
        _refuse(f"volume {volume.id}: needs no attaching to node {node_id}")

    # On the node

    async def mend(self, volume: VolumeRecord, node_id: str) -> None:
        await self._node_images.check(volume, node_id)

    async def open(self, volume: VolumeRecord, node_id: str) -> Source:
        return await self._node_images.open(volume, await self._place_of(volume), node_id)

    def opened(self, volume: VolumeRecord, node_id: str) -> Source | None:  # noqa: ARG002 - one
        return self._node_images.opened(volume)

    async def close(self, volume: VolumeRecord, node_id: str) -> None:
        await self._node_images.close(volume, node_id)

    async def condition(self, volume: VolumeRecord) -> VolumeHealth:
        name = self.records.volumes.image_name(volume.id)
        scope = PoolScope(pool=volume.placement.pools[0])
        try:
            await RbdImages(self._connection, scope).facts(name)
        except CephError as error:
            return VolumeHealth(abnormal=True, message=f"image {name}: {error}")
        return VolumeHealth()

    def _class(self, entry: Entry) -> RbdClass:
        return parse_class(entry.parameters, self._options)

    async def _place_of(self, entry: Entry) -> ImagePlace:
        """Raises CsiStatusError."""
        stored = await self._table(entry).stored(entry.id)
        if stored is None:
            raise not_found(f"{_name(entry)}: there is no such image any more")
        return stored.place

    def _images(self, place: ImagePlace) -> RbdImages:
        return RbdImages(self._connection, PoolScope(pool=place.pool.name))

    def _table(self, entry: Entry) -> ClusterTable[VolumeRecord] | ClusterTable[SnapshotRecord]:
        return self.records.snapshots if _is_snapshot(entry) else self.records.volumes

    async def _calls(self, entry: Entry) -> JournaledAssets:
        journal = await self._table(entry).journal_of(entry.parameters)
        return JournaledAssets(journal, self._cluster.runner)


def _is_snapshot(entry: Entry) -> bool:
    return isinstance(entry, SnapshotRecord)


def _name(entry: Entry) -> str:
    return f"snapshot {entry.name}" if _is_snapshot(entry) else f"volume {entry.name}"


def _refuse(detail: str) -> NoReturn:
    raise unimplemented(detail)
