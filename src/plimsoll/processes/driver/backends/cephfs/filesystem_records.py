"""Records of volumes in the metadata pool of their file system, whatever a class says of pools."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from plimsoll.decide.ceph.journal.layout import JournalKind, JournalLayout
from plimsoll.decide.ceph.journal.places import CephJournal
from plimsoll.decide.ceph.journal.stored_records import StoredRecord
from plimsoll.processes.driver.backends.ceph.ceph_cluster import CephCluster
from plimsoll.processes.driver.backends.ceph.cluster_table import ClusterTable, TableSettings
from plimsoll.processes.driver.backends.cephfs.filesystem_pools import KnownFilesystem
from plimsoll.processes.driver.records import SnapshotRecord, VolumeRecord
from plimsoll.runtime.ids import Ids

Entry = TypeVar("Entry", VolumeRecord, SnapshotRecord)


class FilesystemTable(ClusterTable[Entry]):
    def __init__(
        self,
        cluster: CephCluster,
        filesystem: KnownFilesystem,
        form: type[Entry],
        *,
        kind: JournalKind,
        ids: Ids,
    ) -> None:
        settings = TableSettings(
            form=form,
            layout=JournalLayout(kind=kind),
            journal_pool=_nowhere,
            adopt=_not_adopted,
        )
        super().__init__(cluster, settings, ids)
        self._filesystem = filesystem

    async def journals(self) -> Sequence[CephJournal]:
        self.know_journal(await self._filesystem.metadata_pool())
        return await super().journals()

    async def journal_of(self, parameters: Mapping[str, str]) -> CephJournal:  # noqa: ARG002 - one
        (journal,) = await self.journals()
        return journal


def _nowhere(parameters: Mapping[str, str]) -> str:  # noqa: ARG001 - classes do not say
    return ""


async def _not_adopted(id_: str, stored: StoredRecord) -> None:  # noqa: ARG001 - none
    """Volumes that ceph-csi made are elsewhere in the file system."""
    return
