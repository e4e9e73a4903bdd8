"""Volumes and snapshots of a backend as entries of the journal: made, found and removed.

What they are in Ceph, an image or a directory, only the backend knows: it says how one is filled,
and how it is removed.
"""

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass

from plimsoll.decide.ceph.journal.copying import (
    begin_copy,
    end_copy,
    find_interrupted,
    names_in_the_making,
)
from plimsoll.decide.ceph.journal.places import CephJournal, ImagePlace, ImageRequest
from plimsoll.decide.ceph.volume_ids import UUID_BYTES
from plimsoll.processes.driver.backends.ceph.ceph_cluster import CephCluster, failures_of
from plimsoll.processes.driver.backends.ceph.records.cluster_records import ClusterRecords
from plimsoll.processes.driver.backends.ceph.records.cluster_table import ClusterTable
from plimsoll.processes.driver.backends.ceph.records.journal_runs import JournalError
from plimsoll.processes.driver.backends.ceph.records.journaled_assets import (
    JournaledAssets,
    MakeAsset,
    RemoveAsset,
)
from plimsoll.processes.driver.records import SnapshotRecord, VolumeRecord
from plimsoll.wire.ceph.errors import CephError
from plimsoll.wire.csi.refusals import not_found

log = logging.getLogger(__name__)

SNAPSHOT_PREFIX = "csi-snap-"

CephEntry = VolumeRecord | SnapshotRecord

EndCopy = Callable[[ImagePlace, str], Awaitable[None]]
"""Takes from the source what it has for the copy of that name; that it has nothing is no error.
Raises CephError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAsset:
    pool: str
    """Where the journal has its object."""
    name_prefix: str
    source: str = ""
    """Of a snapshot: what the volume is called that it is taken of."""
    may_resume: bool = True
    """Whether what an interrupted call made will do: not if it is a copy."""


class JournaledEntries:
    """Every method but `clean` raises CsiStatusError."""

    def __init__(self, cluster: CephCluster, records: ClusterRecords) -> None:
        self._cluster = cluster
        self._records = records

    async def make(self, entry: CephEntry, new: NewAsset, fill: MakeAsset) -> None:
        with failures_of(entry_name(entry)):
            request = ImageRequest(
                request_name=entry.name,
                pool=await self._cluster.pool(new.pool),
                uuid=entry.id[-UUID_BYTES:],
                name_prefix=new.name_prefix,
                source=new.source,
                may_resume=new.may_resume,
            )
            begun = await (await self._calls(entry)).begin(request, fill)
        self._table(entry).begun(entry.id, begun)

    async def remove(self, entry: CephEntry, remove: RemoveAsset) -> None:
        table = self._table(entry)
        if table.is_being_made(entry.id):
            with failures_of(entry_name(entry)):
                await (await self._calls(entry)).give_up(entry.name)
            return
        stored = await table.stored(entry.id)
        if stored is None:
            return
        with failures_of(entry_name(entry)):
            await JournaledAssets(stored.journal, self._cluster.runner).remove(stored.place, remove)

    async def give_up(self, request_name: str, uuid: str) -> None:
        """What is being made for the request of a volume, if it has that uuid."""
        with failures_of(f"volume {request_name}"):
            for journal in await self._records.volumes.journals():
                calls = JournaledAssets(journal, self._cluster.runner)
                await calls.give_up(request_name, only_uuid=uuid)

    async def place_of(self, entry: CephEntry) -> ImagePlace:
        stored = await self._table(entry).stored(entry.id)
        if stored is None:
            raise not_found(f"{entry_name(entry)}: is not in Ceph any more")
        return stored.place

    async def begin_copy(self, entry: CephEntry, name: str, source: ImagePlace) -> None:
        """Before anything is taken of the source for it."""
        with failures_of(entry_name(entry)):
            journal = await self._table(entry).journal_of(entry.parameters)
            await self._cluster.runner.run(begin_copy(journal, name, source))

    async def end_copy(self, entry: CephEntry, name: str) -> None:
        with failures_of(entry_name(entry)):
            journal = await self._table(entry).journal_of(entry.parameters)
            await self._cluster.runner.run(end_copy(journal, name))

    async def clean(self, end: EndCopy, *, down: Collection[int] = ()) -> None:
        """What attempts left that were given up, and what interrupted copies left of their sources;
        a pool that is down keeps it for now."""
        for table in (self._records.volumes, self._records.snapshots):
            try:
                for journal in await table.journals():
                    await JournaledAssets(journal, self._cluster.runner).clean(down=down)
                    await self._end_interrupted(journal, end, down)
            except (CephError, JournalError) as error:
                log.warning("leftovers not removed", extra={"error": str(error)})

    async def _end_interrupted(
        self, journal: CephJournal, end: EndCopy, down: Collection[int]
    ) -> None:
        runner = self._cluster.runner
        found: Mapping[str, ImagePlace | None] = await runner.run(find_interrupted(journal))
        for name, source in found.items():
            if source is not None and source.pool.id in down:
                continue
            if source is not None:
                await end(source, name)
            await runner.run(end_copy(journal, name))

    async def names_in_the_making(self) -> frozenset[str]:
        """Of volumes. Raises CephError and JournalError."""
        found: set[str] = set()
        for journal in await self._records.volumes.journals():
            found |= await self._cluster.runner.run(names_in_the_making(journal))
        return frozenset(found)

    def _table(self, entry: CephEntry) -> ClusterTable[VolumeRecord] | ClusterTable[SnapshotRecord]:
        return self._records.snapshots if is_snapshot(entry) else self._records.volumes

    async def _calls(self, entry: CephEntry) -> JournaledAssets:
        journal = await self._table(entry).journal_of(entry.parameters)
        return JournaledAssets(journal, self._cluster.runner)


def is_snapshot(entry: CephEntry) -> bool:
    return isinstance(entry, SnapshotRecord)


def entry_name(entry: CephEntry) -> str:
    return f"snapshot {entry.name}" if is_snapshot(entry) else f"volume {entry.name}"


def extent_of(entry: CephEntry) -> str:
    """The pool of its content."""
    return entry.placement.parts[0].extent
