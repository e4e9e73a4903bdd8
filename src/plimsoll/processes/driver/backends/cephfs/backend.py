"""The cephfs backend: volumes are directories of one file system, which any number of drivers
share.

A directory has a quota, and a layout that sends the content of its files to the pool that was
chosen. It is known by the name of its request in the journal, which is in the metadata pool. So
volumes are found while the zone of their content is down.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import NoReturn

from plimsoll.decide.ceph.constrained_pools import ConstrainedPool, PoolKey
from plimsoll.decide.ceph.domain_labels import DomainLabels
from plimsoll.decide.ceph.journal.layout import JournalKind, JournalLayout
from plimsoll.decide.ceph.journal.operations import RemoveImage
from plimsoll.decide.ceph.journal.places import ImagePlace, ImageRequest
from plimsoll.decide.ceph.journal.stored_records import JournalRecord
from plimsoll.decide.ceph.pool_capacity import (
    CephPoolUsage,
    PromisedVolume,
    parse_overcommit,
    pool_state,
)
from plimsoll.decide.ceph.volume_ids import UUID_BYTES
from plimsoll.processes.driver.backends.ceph.ceph_cluster import CephCluster, failures_of
from plimsoll.processes.driver.backends.ceph.cluster_records import ClusterRecords
from plimsoll.processes.driver.backends.ceph.cluster_report import ClusterReport
from plimsoll.processes.driver.backends.ceph.cluster_table import ClusterTable, JournalTable
from plimsoll.processes.driver.backends.ceph.journal_runs import JournalError, JournalRunner
from plimsoll.processes.driver.backends.ceph.journaled_assets import JournaledAssets
from plimsoll.processes.driver.backends.ceph.pool_places import PoolPlaces
from plimsoll.processes.driver.backends.ceph.shared_options import access_of, names_in
from plimsoll.processes.driver.backends.ceph.writer_leases import WriterLeases
from plimsoll.processes.driver.backends.cephfs.class_parameters import (
    CephfsClass,
    parse_cephfs_class,
)
from plimsoll.processes.driver.backends.cephfs.filesystem_pools import KnownFilesystem
from plimsoll.processes.driver.backends.cephfs.fuse_mounts import FuseMounts
from plimsoll.processes.driver.backends.cephfs.options import CephfsOptions, parse_cephfs_options
from plimsoll.processes.driver.backends.cephfs.volume_directories import (
    NewDirectory,
    SnapshotName,
    VolumeDirectories,
)
from plimsoll.processes.driver.backends.protocol import (
    BackendFeatures,
    BackendRequest,
    Charges,
    DirectorySource,
    Extent,
    PlaceRequest,
    Pool,
    Source,
    VolumeHealth,
    VolumeLayout,
)
from plimsoll.processes.driver.mount_options import BIND
from plimsoll.processes.driver.records import SnapshotRecord, VolumePlacement, VolumeRecord
from plimsoll.processes.driver.settings import BackendSettings, Mounts, SetupError
from plimsoll.wire.ceph.bindings import load_files_binding
from plimsoll.wire.ceph.connection import CephConnection, PoolScope
from plimsoll.wire.ceph.errors import CephError, CephFailure, NoCephError
from plimsoll.wire.ceph.files.fencing import ClientAddresses, ClientFencing
from plimsoll.wire.ceph.files.filesystem import CephFilesystem
from plimsoll.wire.csi.refusals import invalid_argument, not_found, unimplemented

log = logging.getLogger(__name__)

MEBIBYTE = 1 << 20
APPLICATION = "cephfs"
SNAPSHOT_PREFIX = "csi-snap-"
NAMESPACE = "csi"
"""Of RADOS: where ceph-csi has the journal of file systems."""
PROBE = "plimsoll-probe"

Entry = VolumeRecord | SnapshotRecord

FEATURES = BackendFeatures(
    snapshots=True,
    clones=True,
    expansion=True,
    online_expansion=True,
    multi_node=True,
)


def make(settings: BackendSettings) -> "CephfsBackend":
    """Connects on the first occasion. Raises SetupError."""
    options = parse_cephfs_options(settings.options)
    access = access_of(options)
    try:
        connection = CephConnection(access)
        load_files_binding()
    except NoCephError as error:
        raise SetupError(str(error)) from error
    own = settings.data_dir / "cephfs"
    fencing = ClientFencing(connection, ClientAddresses(own / "addresses"))
    files = CephFilesystem(access, options.fs_name, fencing)
    mounts = FuseMounts(own, access, options.fs_name, fencing=fencing, clock=settings.clock)
    backend = CephfsBackend(connection, options, files, mounts=mounts, settings=settings)
    backend.features = replace(FEATURES, node_service=_is_node(mounts, settings))
    return backend


def _is_node(mounts: FuseMounts, settings: BackendSettings) -> bool:
    if settings.mounts is not Mounts.REAL or not mounts.is_possible:
        log.warning("volumes cannot be used here", extra={"reason": "needs root and ceph-fuse"})
        return False
    if len(settings.nodes) != 1:
        raise SetupError(f"the cephfs backend serves one node, not {len(settings.nodes)}")
    mounts.prepare()
    return True


class CephfsBackend:
    def __init__(
        self,
        connection: CephConnection,
        options: CephfsOptions,
        files: CephFilesystem,
        *,
        mounts: FuseMounts,
        settings: BackendSettings,
    ) -> None:
        self.features = FEATURES
        self._connection = connection
        self._options = options
        self._files = files
        self._mounts = mounts
        self._directories = VolumeDirectories(files, options.root)
        self._filesystem = KnownFilesystem(connection, options.fs_name)
        self._prefix = settings.key("")
        self._cluster = CephCluster(
            connection=connection,
            runner=JournalRunner(connection, self._remove_leftover),
            cluster_id=options.cluster_id,
            namespace=NAMESPACE,
        )
        self.records = self._records(settings)
        self._places = PoolPlaces(
            domains=DomainLabels(
                driver=settings.driver_name, labels=names_in(options.domain_levels)
            ),
            volumes_in=self.records.volumes_in,
            chance=Random(settings.ids.uid()),  # noqa: S311 - spreads volumes
        )

    def _records(self, settings: BackendSettings) -> ClusterRecords:
        """In the metadata pool of the file system, whatever a class says of pools."""
        only = self._filesystem.metadata_pool
        volumes = ClusterTable(
            self._cluster,
            JournalTable(
                form=VolumeRecord,
                layout=JournalLayout(kind=JournalKind.VOLUME),
                journal_pool=_not_said,
                adopt=_not_adopted,
                only_pool=only,
            ),
            settings.ids,
        )
        snapshots = ClusterTable(
            self._cluster,
            JournalTable(
                form=SnapshotRecord,
                layout=JournalLayout(kind=JournalKind.SNAPSHOT),
                journal_pool=_not_said,
                adopt=_not_adopted,
                only_pool=only,
            ),
            settings.ids,
        )
        leases = WriterLeases(self._cluster, volumes, _no_writers, settings.clock)
        return ClusterRecords(volumes, snapshots, leases, settings.clock)

    async def shut_down(self) -> None:
        await self._files.close()
        await self._connection.close()

    # Where volumes go

    def layout(self, request: BackendRequest) -> VolumeLayout:
        wanted = self._class(request.parameters)
        if request.fs_type:
            raise invalid_argument(
                f"file system {request.fs_type} is wanted, and directories have none of their own;"
                " leave it out"
            )
        return VolumeLayout(
            unit_bytes=MEBIBYTE,
            minimum_bytes=MEBIBYTE,
            pools=frozenset(pool.name for pool in wanted.pools),
            located={pool.name: self._segments(wanted, pool.name) for pool in wanted.pools},
            mounted_as=BIND,
        )

    def _segments(self, wanted: CephfsClass, pool: str) -> tuple[Mapping[str, str], ...]:
        """A pool that the class names for several domains is reachable from each."""
        entries = [item for item in wanted.pools if item.name == pool]
        if any(not item.segments for item in entries):
            return ()
        return tuple(
            {self._prefix + label: value for label, value in item.segments} for item in entries
        )

    def choose_place(self, pools: Sequence[Pool], request: PlaceRequest) -> VolumePlacement:
        wanted = self._class(request.backend_request.parameters)
        return self._places.choose(wanted, wanted.pools, pools, request)

    async def pools(self, charges: Charges) -> Sequence[Pool]:
        with failures_of("the cluster"):
            report, known = await asyncio.gather(self._report(), self._filesystem.pools())
        usages = report.usages(APPLICATION)
        names = sorted(usages.keys() & set(known.data))
        return [self._pool(name, usages[name], charges) for name in names]

    async def _report(self) -> ClusterReport:
        ask = self._connection.command
        df, pools, tree, rules, applications = await asyncio.gather(
            ask("df", detail="detail"),
            ask("osd pool ls", detail="detail"),
            ask("osd tree"),
            ask("osd crush rule dump"),
            ask("osd pool application get"),
        )
        return ClusterReport(df=df, pools=pools, tree=tree, rules=rules, applications=applications)

    def _pool(self, name: str, usage: CephPoolUsage, charges: Charges) -> Pool:
        taken = charges.promised.get(name, 0)
        promised = PromisedVolume(size_bytes=taken, written_bytes=min(taken, usage.stored_bytes))
        found = pool_state(
            ConstrainedPool(name=name),
            {PoolKey("", name): usage},
            [promised],
            overcommit=parse_overcommit(self._options.overcommit),
        )
        free = found.free_bytes if found else 0
        total = usage.stored_bytes + usage.max_avail_bytes
        extent = Extent(name=name, total_bytes=total, free_bytes=free)
        return Pool(name=name, topology=(), extents=(extent,))

    # What volumes are

    async def settle(
        self,
        volumes: Sequence[VolumeRecord],  # noqa: ARG002 - the cluster has them
        snapshots: Sequence[SnapshotRecord],  # noqa: ARG002 - the cluster has them
    ) -> None:
        """What earlier attempts left, and clients of an earlier run that were killed."""
        for table in (self.records.volumes, self.records.snapshots):
            try:
                for journal in await table.journals():
                    await JournaledAssets(journal, self._cluster.runner).clean()
            except (CephError, JournalError) as error:
                log.warning("leftovers not removed", extra={"error": str(error)})

    async def make(
        self, volume: VolumeRecord, origin: VolumeRecord | SnapshotRecord | None
    ) -> None:
        source = None if origin is None else await self._place_of(origin)
        new = NewDirectory(name="", size_bytes=volume.size_bytes, pool=_extent(volume))

        async def fill(place: ImagePlace) -> str:
            wanted = replace(new, name=place.name)
            if origin is None or source is None:
                await self._directories.make(wanted)
            elif isinstance(origin, SnapshotRecord):
                snapshot = SnapshotName(volume=await self._source_of(source), name=source.name)
                await self._directories.make_from_snapshot(snapshot, wanted)
            else:
                await self._directories.make_from_volume(source.name, wanted)
            return ""

        prefix = self._class(volume.parameters).name_prefix
        with failures_of(_name(volume)):
            calls = await self._calls(volume)
            begun = await calls.begin(await self._request(volume, prefix), fill)
        self.records.volumes.begun(volume.id, begun)

    async def snapshot(self, snapshot: SnapshotRecord, volume: VolumeRecord) -> None:
        source = await self._place_of(volume)

        async def take(place: ImagePlace) -> str:
            wanted = SnapshotName(volume=source.name, name=place.name)
            await self._directories.take_snapshot(wanted)
            return ""

        with failures_of(_name(snapshot)):
            request = await self._request(snapshot, SNAPSHOT_PREFIX)
            calls = await self._calls(snapshot)
            begun = await calls.begin(replace(request, source=source.name), take)
        self.records.snapshots.begun(snapshot.id, begun)

    async def _request(self, entry: Entry, prefix: str) -> ImageRequest:
        """The journal has its objects in the metadata pool, wherever the content is."""
        return ImageRequest(
            request_name=entry.name,
            pool=await self._cluster.pool(await self._filesystem.metadata_pool()),
            uuid=entry.id[-UUID_BYTES:],
            name_prefix=prefix,
        )

    async def remove(self, volume: VolumeRecord) -> None:
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
        remove = self._remove_snapshot if _is_snapshot(entry) else self._remove_directory
        with failures_of(_name(entry)):
            await JournaledAssets(stored.journal, self._cluster.runner).remove(stored.place, remove)

    async def _remove_directory(self, place: ImagePlace) -> None:
        await self._directories.remove(place.name)

    async def _remove_snapshot(self, place: ImagePlace) -> None:
        await self._directories.remove_snapshot(place.name)

    async def _remove_leftover(self, removed: RemoveImage) -> None:
        await self._directories.remove_any(removed.name)

    async def grow(self, volume: VolumeRecord, size_bytes: int) -> None:
        place = await self._place_of(volume)
        with failures_of(_name(volume)):
            await self._directories.grow(place.name, size_bytes)

    async def modify(self, volume: VolumeRecord) -> None:
        _refuse(f"volume {volume.id}: the cephfs backend has nothing that could be modified")

    async def attach(self, volume: VolumeRecord, node_id: str) -> Mapping[str, str]:
        _refuse(f"volume {volume.id}: needs no attaching to node {node_id}")

    async def detach(self, volume: VolumeRecord, node_id: str) -> None:
        _refuse(f"volume {volume.id}: needs no attaching to node {node_id}")

    # On the node

    async def open(self, volume: VolumeRecord, node_id: str) -> Source:  # noqa: ARG002 - one
        place = await self._place_of(volume)
        with failures_of(_name(volume)):
            # ceph-fuse would mount a directory whose content cannot be read.
            await self._probe(_extent(volume))
            await self._directories.facts(place.name)
            path = self._directories.path(place.name)
            return DirectorySource(path=await self._mounts.open(place.name, path))

    async def mend(self, volume: VolumeRecord, node_id: str) -> None:
        """A ceph-fuse that died or was fenced is replaced wherever it was shown."""
        await self.open(volume, node_id)

    async def _probe(self, pool: str) -> None:
        """Raises CephError unless the pool answers."""
        try:
            await self._connection.on_pool(PoolScope(pool=pool), lambda opened: opened.stat(PROBE))
        except CephError as error:
            if error.failure is not CephFailure.NOT_FOUND:
                raise

    def opened(self, volume: VolumeRecord, node_id: str) -> Source | None:  # noqa: ARG002 - one
        path = self._mounts.find(self._directory_name(volume))
        return None if path is None else DirectorySource(path=path)

    async def close(self, volume: VolumeRecord, node_id: str) -> None:  # noqa: ARG002 - one
        with failures_of(_name(volume)):
            await self._mounts.close(self._directory_name(volume))

    async def condition(self, volume: VolumeRecord) -> VolumeHealth:
        name = self._directory_name(volume)
        if self._mounts.find(name) is not None and (problem := await self._mounts.problem(name)):
            return VolumeHealth(abnormal=True, message=f"directory {name}: {problem}")
        try:
            await self._directories.facts(name)
        except CephError as error:
            return VolumeHealth(abnormal=True, message=f"directory {name}: {error}")
        return VolumeHealth()

    def _class(self, parameters: Mapping[str, str]) -> CephfsClass:
        return parse_cephfs_class(parameters, self._options)

    def _directory_name(self, volume: VolumeRecord) -> str:
        """The journal's word counts; a record that it never had is made like this."""
        known = self.records.volumes.image_name(volume.id)
        return known or self._class(volume.parameters).name_prefix + volume.id[-UUID_BYTES:]

    async def _source_of(self, snapshot: ImagePlace) -> str:
        return await self._directories.source_of(snapshot.name)

    async def _place_of(self, entry: Entry) -> ImagePlace:
        """Raises CsiStatusError."""
        stored = await self._table(entry).stored(entry.id)
        if stored is None:
            raise not_found(f"{_name(entry)}: there is no such directory any more")
        return stored.place

    def _table(self, entry: Entry) -> ClusterTable[VolumeRecord] | ClusterTable[SnapshotRecord]:
        return self.records.snapshots if _is_snapshot(entry) else self.records.volumes

    async def _calls(self, entry: Entry) -> JournaledAssets:
        journal = await self._table(entry).journal_of(entry.parameters)
        return JournaledAssets(journal, self._cluster.runner)


def _not_said(parameters: Mapping[str, str]) -> str:  # noqa: ARG001 - of no class
    return ""


async def _not_adopted(id_: str, record: JournalRecord) -> None:
    """Volumes that ceph-csi made are elsewhere in the file system."""


async def _no_writers(place: ImagePlace) -> Sequence[str]:  # noqa: ARG001 - of no directory
    """Any number of clients may write to a directory at the same time; none needs a lease."""
    return ()


def _extent(entry: Entry) -> str:
    return entry.placement.parts[0].extent


def _is_snapshot(entry: Entry) -> bool:
    return isinstance(entry, SnapshotRecord)


def _name(entry: Entry) -> str:
    return f"snapshot {entry.name}" if _is_snapshot(entry) else f"volume {entry.name}"


def _refuse(detail: str) -> NoReturn:
    raise unimplemented(detail)
