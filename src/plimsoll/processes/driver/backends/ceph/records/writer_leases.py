"""One writer at a time for each image: a lease in the journal that carries its client's address.

rbd-fuse takes no lock that would keep a second one away, so the journal has to. A node writes down
that it opens the image, opens it, and then adds the address of the client that has it open. Nothing
is mounted before that. Another node gets the image when the lease is given back, or when the client
is gone: then its address goes on the blocklist first, so that a client which was only cut off
cannot write any more when it comes back.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from plimsoll.decide.ceph.journal.fences import is_within
from plimsoll.decide.ceph.journal.layout import DirectoryEntry
from plimsoll.decide.ceph.journal.places import CephJournal, ImagePlace
from plimsoll.decide.ceph.journal.stored_records import (
    JournalRecord,
    ListedRecords,
    drop_writer,
    list_records,
    write_writer,
)
from plimsoll.processes.driver.backends.ceph.ceph_cluster import (
    CephCluster,
    failures_of,
    node_fenced,
)
from plimsoll.processes.driver.backends.ceph.records.cluster_table import ClusterTable
from plimsoll.processes.driver.backends.ceph.records.journal_runs import JournalError
from plimsoll.processes.driver.records import LedgerRecord, RecordPhase, VolumeRecord
from plimsoll.processes.driver.settings import NodeSettings
from plimsoll.runtime.clock import Clock
from plimsoll.wire.csi.refusals import failed_precondition, not_found

TRIES = 20
PAUSE = timedelta(milliseconds=100)

Watchers = Callable[[ImagePlace], Awaitable[Sequence[str]]]
"""The addresses of all clients that have the asset open; none if it does not exist."""


class WriterLease(LedgerRecord, frozen=True, kw_only=True):
    node_id: str
    opened_at: datetime
    address: str = ""
    """Of the client that has the image open; empty: it may not have, yet."""
    topology: Mapping[str, str] = msgspec.field(default_factory=dict)
    """The segment of the node, by which all writers of a domain are found."""


class WriterLeases:
    def __init__(
        self,
        cluster: CephCluster,
        volumes: ClusterTable[VolumeRecord],
        watchers: Watchers,
        clock: Clock,
    ) -> None:
        self._cluster = cluster
        self._volumes = volumes
        self._watchers = watchers
        self._clock = clock

    async def take(self, volume: VolumeRecord, node: NodeSettings) -> None:
        """Before the node opens the image. Raises CsiStatusError while another one writes to it."""
        stored = await self._stored(volume)
        await self._end(volume, stored, by=node.id)
        await self._wait_unwatched(volume, stored)
        lease = WriterLease(
            node_id=node.id, opened_at=self._clock.now(), topology=dict(node.topology)
        )
        await self._write(volume, stored, lease)

    async def confirm(self, volume: VolumeRecord, node_id: str, address: str) -> None:
        """The image is open. Raises CsiStatusError if another node has it by now."""
        stored = await self._stored(volume)
        lease = parse_lease(stored.writer)
        if lease is None or lease.node_id != node_id:
            raise failed_precondition(f"volume {volume.id}: another node has opened it meanwhile")
        known = await self._volumes.find(volume.id)
        if known is None or known.phase is not RecordPhase.READY:
            raise not_found(f"volume {volume.id}: is being removed")
        await self._write(volume, stored, msgspec.structs.replace(lease, address=address))

    async def is_confirmed(self, volume: VolumeRecord) -> bool:
        """Whether the lease tells which client has the image open."""
        stored = await self._volumes.stored(volume.id)
        lease = None if stored is None else parse_lease(stored.writer)
        return lease is not None and bool(lease.address)

    async def give_back(self, volume: VolumeRecord, node_id: str) -> None:
        """The image is closed. One that is gone, or that another node has, is left alone. A client
        that has not ended, or was killed, is blocked: Ceph would count it for half a minute."""
        stored = await self._volumes.stored(volume.id)
        lease = None if stored is None else parse_lease(stored.writer)
        if stored is None or lease is None or lease.node_id != node_id:
            return
        if await self._is_watched_on(volume, stored, lease):
            with failures_of(f"volume {volume.id}"):
                await self._cluster.block(lease.address)
        await self._write(volume, stored, None)

    async def _is_watched_on(
        self, volume: VolumeRecord, stored: JournalRecord, lease: WriterLease
    ) -> bool:
        """Whether the client of the lease does not end by itself within a moment."""
        for _ in range(TRIES):
            if not lease.address or not await self._alive(volume, stored, lease):
                return False
            await self._clock.sleep(PAUSE)
        return True

    async def _wait_unwatched(self, volume: VolumeRecord, stored: JournalRecord) -> None:
        """Raises CsiStatusError while a client has the image open that has no lease."""
        found: Sequence[str] = ()
        for _ in range(TRIES):
            with failures_of(f"volume {volume.id}"):
                found = await self._watchers(stored.place)
            if not found:
                return
            await self._clock.sleep(PAUSE)
        raise failed_precondition(
            f"volume {volume.id}: a client has image {stored.place.name} open at {found[0]}, and"
            " one at a time can; end it there"
        )

    async def end_dead(self, volume: VolumeRecord) -> None:
        """Before the image is removed. Raises CsiStatusError while a client writes to it."""
        stored = await self._volumes.stored(volume.id)
        if stored is not None:
            await self._end(volume, stored, by="")

    async def where_written(self, volume: VolumeRecord) -> str:
        """For people; empty: no client that is alive has it open."""
        stored = await self._volumes.stored(volume.id)
        lease = None if stored is None else parse_lease(stored.writer)
        if stored is None or lease is None or not await self._alive(volume, stored, lease):
            return ""
        return f"open on node {lease.node_id}"

    async def _stored(self, volume: VolumeRecord) -> JournalRecord:
        stored = await self._volumes.stored(volume.id)
        if stored is None:
            raise not_found(f"volume {volume.id}: there is no such volume")
        return stored

    async def _end(self, volume: VolumeRecord, stored: JournalRecord, *, by: str) -> None:
        """The lease of a client that is gone. A node may end its own, when nothing is open there
        any more: Ceph would wait half a minute for the client that it had before."""
        lease = parse_lease(stored.writer)
        if lease is None:
            return
        alive = await self._alive(volume, stored, lease)
        if alive and lease.node_id != by:
            raise failed_precondition(
                f"volume {volume.id}: is open on node {lease.node_id}, and one node at a time can"
                " write to it; unstage it there first"
            )
        # Under a lease without an address nothing was mounted: then no client is known to be its.
        if lease.address:
            with failures_of(f"volume {volume.id}"):
                await self._cluster.block(lease.address)
                await self._cluster.connection.wait_for_newest_map()

    async def _alive(
        self, volume: VolumeRecord, stored: JournalRecord, lease: WriterLease
    ) -> Sequence[str]:
        """Clients that have the image open and may be that of the lease."""
        with failures_of(f"volume {volume.id}"):
            found = await self._watchers(stored.place)
        return [address for address in found if lease.address in ("", address)]

    async def _write(
        self, volume: VolumeRecord, stored: JournalRecord, lease: WriterLease | None
    ) -> None:
        text = "" if lease is None else msgspec.json.encode(lease).decode()
        topology = None if lease is None else lease.topology
        with failures_of(f"volume {volume.id}"):
            try:
                await self._cluster.runner.run(write_writer(stored, text, topology=topology))
            except JournalError as error:
                if lease is not None and await self._cluster.is_fenced(
                    stored.journal, lease.topology
                ):
                    raise node_fenced(f"volume {volume.id}", lease.node_id) from error
                raise

    async def end_all(self, journals: Sequence[CephJournal], domain: Mapping[str, str]) -> None:
        """Of the nodes in a domain that is fenced: their clients can write no more afterwards.
        Raises CephError and JournalError."""
        for journal in journals:
            listed: ListedRecords = await self._cluster.runner.run(list_records(journal))
            for entry, text in listed.writers.items():
                lease = parse_lease(text)
                if lease is not None and is_within(lease.topology, domain):
                    await self._end_one(journal, entry, text, lease)
        await self._cluster.enforce_blocks()

    async def _end_one(
        self, journal: CephJournal, entry: DirectoryEntry, text: str, lease: WriterLease
    ) -> None:
        """One that is about to open the image has no address yet, and notices that its lease is
        gone before it uses the image."""
        if lease.address:
            await self._cluster.block(lease.address)
        await self._cluster.runner.run(drop_writer(journal, entry, text))


def parse_lease(text: str) -> WriterLease | None:
    """None: there is no writer. What cannot be read is one that is not known."""
    if not text:
        return None
    try:
        return msgspec.json.decode(text, type=WriterLease)
    except msgspec.MsgspecError:
        return WriterLease(node_id="?", opened_at=datetime.fromtimestamp(0, tz=UTC))
