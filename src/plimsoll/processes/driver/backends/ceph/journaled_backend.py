"""What the backends on Ceph have in common: volumes are entries of a journal, wherever they are.

Each serves one cluster. `ceph.clusters` puts several of them behind one driver.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from random import Random
from typing import NoReturn

from plimsoll.decide.ceph.constrained_pools import ConstrainedPool
from plimsoll.decide.ceph.domain_labels import DomainLabels
from plimsoll.decide.ceph.journal.places import ImagePlace
from plimsoll.processes.driver.backends.ceph.ceph_cluster import CephCluster, failures_of
from plimsoll.processes.driver.backends.ceph.class_parameters import CephClass
from plimsoll.processes.driver.backends.ceph.domains.fenced_domains import FencesCephDomains
from plimsoll.processes.driver.backends.ceph.labelled_pools import LabelledPools
from plimsoll.processes.driver.backends.ceph.pool_places import PoolPlaces
from plimsoll.processes.driver.backends.ceph.records.cluster_records import ClusterRecords
from plimsoll.processes.driver.backends.ceph.records.journaled_entries import JournaledEntries
from plimsoll.processes.driver.backends.protocol import (
    Backend,
    MendsVolumes,
    PlaceRequest,
    Pool,
    SeesForeignWrites,
    ShowsDeletedVolumes,
    ShutsDown,
)
from plimsoll.processes.driver.records import VolumePlacement, VolumeRecord
from plimsoll.processes.driver.settings import BackendSettings
from plimsoll.wire.ceph.errors import CephError, CephFailure
from plimsoll.wire.csi.refusals import unimplemented


class JournaledBackend(
    FencesCephDomains, Backend, MendsVolumes, SeesForeignWrites, ShowsDeletedVolumes, ShutsDown
):
    def __init__(
        self,
        cluster: CephCluster,
        records: ClusterRecords,
        settings: BackendSettings,
        levels: Sequence[str],
        *,
        labelled: LabelledPools,
    ) -> None:
        self.cluster = cluster
        self.records = records
        self._labelled = labelled
        self._entries = JournaledEntries(cluster, records)
        self._places = PoolPlaces(
            domains=DomainLabels(driver=settings.driver_name, labels=tuple(levels)),
            volumes_in=records.volumes_in,
            chance=Random(settings.ids.uid()),  # noqa: S311 - spreads volumes
        )

    @abstractmethod
    def parse(self, parameters: Mapping[str, str]) -> CephClass:
        """The class as this cluster sees it. Raises CsiStatusError (INVALID_ARGUMENT)."""

    def pools_of(self, wanted: CephClass) -> Sequence[ConstrainedPool]:
        """Those of this cluster."""
        if not wanted.group:
            return wanted.own_pools
        return self._labelled.of_group(wanted.group) if wanted.is_here else ()

    def choose_place(self, pools: Sequence[Pool], request: PlaceRequest) -> VolumePlacement:
        wanted = self.parse(request.backend_request.parameters)
        return self._places.choose(wanted, self.pools_of(wanted), pools, request)

    async def give_up(self, request_name: str, uuid: str) -> None:
        """What is being made for the request, if it is that."""
        await self._entries.give_up(request_name, uuid)

    async def is_cut_off(self, volume: VolumeRecord, node_id: str) -> bool:  # noqa: ARG002 - none
        """Where any number of nodes may write, what is open is never old."""
        return False

    async def has_foreign_writes(self, volume: VolumeRecord) -> bool:
        """As when ceph-csi has the volume in between, under the same name. What is in a copy, or
        beside a file system that was made here, tells nothing. Raises CsiStatusError."""
        if volume.filesystem_bytes or volume.source_volume or volume.source_snapshot:
            return False
        stored = await self.records.volumes.stored(volume.id)
        if stored is None:
            return False
        with failures_of(f"volume {volume.name}"):
            try:
                return await self.is_written(stored.place)
            except CephError as error:
                if error.failure is CephFailure.NOT_FOUND:
                    return False
                raise

    @abstractmethod
    async def is_written(self, place: ImagePlace) -> bool:
        """Whether anything was ever written to it, and is still there. Raises CephError."""

    async def modify(self, volume: VolumeRecord) -> None:
        _refuse(f"volume {volume.id}: there is nothing of it that could be modified")

    async def attach(self, volume: VolumeRecord, node_id: str) -> Mapping[str, str]:
        _refuse(f"volume {volume.id}: needs no attaching to node {node_id}")

    async def detach(self, volume: VolumeRecord, node_id: str) -> None:
        _refuse(f"volume {volume.id}: needs no attaching to node {node_id}")


def _refuse(detail: str) -> NoReturn:
    raise unimplemented(detail)
