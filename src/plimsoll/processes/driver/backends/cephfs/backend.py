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

from plimsoll.decide.ceph.journal.operations import RemoveImage
from plimsoll.decide.ceph.journal.places import ImagePlace
from plimsoll.decide.ceph.pool_capacity import parse_overcommit
from plimsoll.decide.ceph.volume_ids import UUID_BYTES
from plimsoll.processes.driver.backends.ceph.ceph_cluster import CephCluster, failures_of
from plimsoll.processes.driver.backends.ceph.class_parameters import CephClass, ServedClusters
from plimsoll.processes.driver.backends.ceph.domains.cluster_domains import (
    ClusterDomains,
    read_report,
)
from plimsoll.processes.driver.backends.ceph.domains.cluster_fences import ClusterFences
from plimsoll.processes.driver.backends.ceph.domains.located_nodes import LocatedNodes
from plimsoll.processes.driver.backends.ceph.journaled_backend import JournaledBackend
from plimsoll.processes.driver.backends.ceph.labelled_pools import LabelledPools
from plimsoll.processes.driver.backends.ceph.pool_figures import pool_figures, pool_segments
from plimsoll.processes.driver.backends.ceph.records.cluster_records import (
    ClusterRecords,
    make_records,
)
from plimsoll.processes.driver.backends.ceph.records.cluster_table import JournalPools
from plimsoll.processes.driver.backends.ceph.records.journal_runs import JournalError, JournalRunner
from plimsoll.processes.driver.backends.ceph.records.journaled_assets import MakeAsset
from plimsoll.processes.driver.backends.ceph.records.journaled_entries import (
    SNAPSHOT_PREFIX,
    CephEntry,
    NewAsset,
    entry_name,
    extent_of,
)
from plimsoll.processes.driver.backends.ceph.shared_options import names_in
from plimsoll.processes.driver.backends.cephfs.adoption import DirectoryAdoption
from plimsoll.processes.driver.backends.cephfs.class_parameters import (
    parse_cephfs_class,
)
from plimsoll.processes.driver.backends.cephfs.filesystem_pools import (
    FilesystemAccess,
    KnownFilesystem,
)
from plimsoll.processes.driver.backends.cephfs.fuse_mounts import FuseMounts
from plimsoll.processes.driver.backends.cephfs.node_clients import NodeClients
from plimsoll.processes.driver.backends.cephfs.node_directories import NodeDirectories
from plimsoll.processes.driver.backends.cephfs.options import CephfsOptions
from plimsoll.processes.driver.backends.cephfs.volume_directories import (
    NewDirectory,
    SnapshotName,
    VolumeDirectories,
)
from plimsoll.processes.driver.backends.protocol import (
    BackendFeatures,
    BackendRequest,
    Charges,
    Pool,
    Source,
    VolumeHealth,
    VolumeLayout,
)
from plimsoll.processes.driver.mount_options import BIND
from plimsoll.processes.driver.records import SnapshotRecord, VolumeRecord
from plimsoll.processes.driver.settings import BackendSettings
from plimsoll.wire.ceph.errors import CephError
from plimsoll.wire.csi.refusals import invalid_argument

log = logging.getLogger(__name__)

MEBIBYTE = 1 << 20
APPLICATION = "cephfs"
NAMESPACE = "csi"
"""Of RADOS: where ceph-csi has the journal of file systems."""

FEATURES = BackendFeatures(
    snapshots=True,
    clones=True,
    expansion=True,
    online_expansion=True,
    multi_node=True,
)


class CephfsBackend(JournaledBackend):
    def __init__(
        self,
        access: FilesystemAccess,
        options: CephfsOptions,
        *,
        mounts: FuseMounts,
        settings: BackendSettings,
        served: ServedClusters,
    ) -> None:
        self.features = FEATURES
        self._connection = connection = access.connection
        self._options = options
        self._served = served
        self._files = access.files
        self._directories = VolumeDirectories(access.files, options.root, options.subvolume_group)
        self._filesystem = KnownFilesystem(connection, options.fs_name)
        self._prefix = settings.key("")
        levels = names_in(options.domain_levels)
        cluster = CephCluster(
            connection=connection,
            runner=JournalRunner(connection, self._remove_leftover, settings.clock),
            cluster_id=options.cluster_id,
            namespace=NAMESPACE,
        )
        super().__init__(
            cluster,
            self._records(cluster, settings),
            settings,
            levels,
            labelled=LabelledPools(APPLICATION),
        )
        self._clients = NodeClients(cluster, self.records.volumes.journals, LocatedNodes(settings))
        self._node_directories = NodeDirectories(
            connection,
            self._directories,
            mounts,
            clients=self._clients,
            node_ids=[node.id for node in settings.nodes],
        )
        self._domains = ClusterDomains(
            connection, levels, application=APPLICATION, only_pools=self._filesystem.all_pools
        )
        self.fence_keeper = ClusterFences(
            cluster,
            self.records,
            _no_more,
            find_down=self._domains.find_down,
            end_writers=self._clients.end_all,
        )

    def _records(self, cluster: CephCluster, settings: BackendSettings) -> ClusterRecords:
        """In the metadata pool of the file system, whatever a class says of pools."""
        filesystem = self._filesystem
        pools = JournalPools(
            of_class=_not_said,
            only=filesystem.metadata_pool,
            numbered=filesystem.journal_pool_id,
        )
        adoption = DirectoryAdoption(self._directories, filesystem, settings.clock)
        return make_records(cluster, pools, adoption, settings, watchers=_no_writers)

    async def shut_down(self) -> None:
        await self._files.close()
        await self._connection.close()

    # Where volumes go

    def layout(self, request: BackendRequest) -> VolumeLayout:
        wanted = self.parse(request.parameters)
        pools = self.pools_of(wanted)
        if request.fs_type:
            raise invalid_argument(
                f"file system {request.fs_type} is wanted, and directories have none of their own;"
                " leave it out"
            )
        return VolumeLayout(
            unit_bytes=MEBIBYTE,
            minimum_bytes=MEBIBYTE,
            pools=frozenset(pool.name for pool in pools),
            located=pool_segments(pools, self._prefix),
            overcommit=wanted.overcommit,
            mounted_as=BIND,
        )

    async def pools(self, charges: Charges) -> Sequence[Pool]:
        with failures_of("the cluster"):
            report, known = await asyncio.gather(
                read_report(self._connection), self._filesystem.pools()
            )
        self._labelled.learn(report.applications, known.data)
        usages = {
            name: usage for name, usage in report.usages(APPLICATION).items() if name in known.data
        }
        return pool_figures(usages, charges, parse_overcommit(self._options.overcommit))

    # What volumes are

    async def settle(
        self,
        volumes: Sequence[VolumeRecord],  # noqa: ARG002 - the cluster has them
        snapshots: Sequence[SnapshotRecord],  # noqa: ARG002 - the cluster has them
    ) -> None:
        """What earlier attempts left, and clients of an earlier run that were killed."""
        try:
            await self._filesystem.metadata_pool()
        except CephError as error:
            # Each of the steps below would wait for monitors anew.
            log.warning("leftovers not removed", extra={"error": str(error)})
            return
        await self._entries.clean(_nothing_of_it)
        try:
            made = await self._entries.names_in_the_making()
            await self._directories.end_copies(but=made)
        except (CephError, JournalError) as error:
            log.warning("interrupted copies not cleared away", extra={"error": str(error)})

    async def make(
        self, volume: VolumeRecord, origin: VolumeRecord | SnapshotRecord | None
    ) -> None:
        source = None if origin is None else await self._entries.place_of(origin)
        new = NewDirectory(name="", size_bytes=volume.size_bytes, pool=extent_of(volume))

        async def fill(place: ImagePlace) -> str:
            wanted = replace(new, name=place.name)
            if origin is None or source is None:
                await self._directories.make(wanted)
            elif isinstance(origin, SnapshotRecord):
                volume = await self._directories.source_of(source.name)
                snapshot = SnapshotName(volume=volume, name=source.name)
                await self._directories.make_from_snapshot(snapshot, wanted)
            else:
                await self._directories.make_from_volume(source.name, wanted)
            return ""

        wanted_class = self.parse(volume.parameters)
        # A request that may go to another cluster abandons its volume by the id.
        may_resume = origin is None and not wanted_class.is_spread_over_clusters
        await self._make(volume, wanted_class.name_prefix, fill, may_resume=may_resume)

    async def snapshot(self, snapshot: SnapshotRecord, volume: VolumeRecord) -> None:
        source = await self._entries.place_of(volume)

        async def take(place: ImagePlace) -> str:
            wanted = SnapshotName(volume=source.name, name=place.name)
            await self._directories.take_snapshot(wanted)
            return ""

        await self._make(snapshot, SNAPSHOT_PREFIX, take, source=source.name)

    async def _make(
        self,
        entry: CephEntry,
        prefix: str,
        fill: MakeAsset,
        *,
        source: str = "",
        may_resume: bool = True,
    ) -> None:
        """The journal has its objects in the metadata pool, wherever the content is."""
        with failures_of(entry_name(entry)):
            pool = await self._filesystem.metadata_pool()
        new = NewAsset(pool=pool, name_prefix=prefix, source=source, may_resume=may_resume)
        await self._entries.make(entry, new, fill)

    async def remove(self, volume: VolumeRecord) -> None:
        await self._entries.remove(volume, self._remove_directory)

    async def remove_snapshot(self, snapshot: SnapshotRecord) -> None:
        await self._entries.remove(snapshot, self._remove_snapshot)

    async def _remove_directory(self, place: ImagePlace) -> None:
        await self._directories.remove(place.name)
        await self._clients.forget_all(place.name)

    async def _remove_snapshot(self, place: ImagePlace) -> None:
        await self._directories.remove_snapshot(place.name)

    async def _remove_leftover(self, removed: RemoveImage) -> None:
        await self._directories.remove_any(removed.name)

    async def is_written(self, place: ImagePlace) -> bool:
        return await self._directories.is_written(place.name)

    async def grow(self, volume: VolumeRecord, size_bytes: int) -> None:
        place = await self._entries.place_of(volume)
        with failures_of(entry_name(volume)):
            await self._directories.grow(place.name, size_bytes)

    # On the node

    async def open(self, volume: VolumeRecord, node_id: str) -> Source:
        place = await self._entries.place_of(volume)
        return await self._node_directories.open(volume, place.name, node_id)

    async def mend(self, volume: VolumeRecord, node_id: str) -> None:
        """A ceph-fuse that died or was fenced is replaced wherever it was shown."""
        await self.open(volume, node_id)

    def opened(self, volume: VolumeRecord, node_id: str) -> Source | None:  # noqa: ARG002 - one
        return self._node_directories.opened(self._directory_name(volume))

    async def close(self, volume: VolumeRecord, node_id: str) -> None:
        name = self._directory_name(volume)
        await self._node_directories.close(entry_name(volume), name, node_id)

    def opened_by_id(self, volume_id: str) -> Source | None:
        return self._node_directories.opened_by_id(volume_id)

    async def close_by_id(self, volume_id: str) -> None:
        await self._node_directories.close_by_id(volume_id)

    async def condition(self, volume: VolumeRecord) -> VolumeHealth:
        return await self._node_directories.condition(self._directory_name(volume))

    def parse(self, parameters: Mapping[str, str]) -> CephClass:
        """The class as this cluster sees it. Raises CsiStatusError (INVALID_ARGUMENT)."""
        return parse_cephfs_class(parameters, self._options, self._served)

    def _directory_name(self, volume: VolumeRecord) -> str:
        """The journal's word counts; a record that it never had is made like this."""
        known = self.records.volumes.image_name(volume.id)
        return known or self.parse(volume.parameters).name_prefix + volume.id[-UUID_BYTES:]


def _not_said(parameters: Mapping[str, str]) -> str:  # noqa: ARG001 - of no class
    return ""


async def _nothing_of_it(source: ImagePlace, name: str) -> None:
    """Directories know themselves what is copied from them."""


async def _no_more() -> Sequence[str]:
    """The one journal is known already."""
    return ()


async def _no_writers(place: ImagePlace) -> Sequence[str]:  # noqa: ARG001 - of no directory
    """Any number of clients may write to a directory at the same time; none needs a lease."""
    return ()
