"""What the services of one driver share: records, backend, capacity, and the calls under way.

A driver has one core, however many nodes it serves. `start` brings records and backend together
before the first call: what a crash interrupted is undone or finished, and what belongs to no record
is cleared away.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from weakref import WeakValueDictionary

import msgspec

from plimsoll.processes.driver.backends.protocol import Backend, Extent, Pool, SeesForeignWrites
from plimsoll.processes.driver.domains.fences import DomainFences
from plimsoll.processes.driver.domains.protocol import FencedNode
from plimsoll.processes.driver.homes import NodeHomes
from plimsoll.processes.driver.ledger import Ledger
from plimsoll.processes.driver.record_tables import DriverRecords
from plimsoll.processes.driver.records import RecordPhase, SnapshotRecord, VolumeRecord
from plimsoll.processes.driver.settings import NodeSettings
from plimsoll.processes.driver.work import Placing, Work
from plimsoll.runtime.clock import Clock
from plimsoll.wire.csi.errors import CsiStatusError
from plimsoll.wire.csi.refusals import not_found, unavailable

log = logging.getLogger(__name__)

InUse = Callable[[VolumeRecord], str]
"""Where a volume is in use, for people; empty: nowhere that this one knows of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverIdentity:
    """What a driver is called, and the nodes that it serves."""

    name: str
    backend: str
    """The beginning of the ids of its volumes."""
    version: str
    nodes: tuple[NodeSettings, ...]
    homes: NodeHomes = field(default_factory=NodeHomes)
    """Where labels say that the nodes are, beyond their settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverParts:
    """What a driver works with."""

    backend: Backend
    ledger: Ledger
    """What this driver alone must remember."""
    records: DriverRecords
    clock: Clock


class Driver:
    def __init__(self, identity: DriverIdentity, parts: DriverParts) -> None:
        self.identity = identity
        self.backend = parts.backend
        self.ledger = parts.ledger
        self.records = parts.records
        self.fences = DomainFences(parts.ledger)
        self.clock = parts.clock
        self.work = Work(parts.clock)
        self.placing = Placing()
        """Held from reading the free capacity until what is taken of it is recorded."""
        self._node_by_id = {node.id: node for node in identity.nodes}
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.in_use: list[InUse] = []
        """The node services add theirs."""
        self.fenced_nodes: list[FencedNode] = []
        """The node services add themselves."""
        self.is_ready = False
        self.last_extents: dict[str, Extent] = {}
        """By name, as they were when the pools were last looked at."""

    @property
    def nodes(self) -> tuple[NodeSettings, ...]:
        """With the topology that they have at this moment."""
        return tuple(self.located(node) for node in self.identity.nodes)

    def located(self, node: NodeSettings) -> NodeSettings:
        told = self.identity.homes.told(node.id)
        return replace(node, topology={**node.topology, **told}) if told else node

    @property
    def served(self) -> tuple[Mapping[str, str], ...]:
        """The segments of its nodes, as far as they are known."""
        unknown = self.identity.homes.why_unknown
        return tuple(node.topology for node in self.nodes if not unknown(node.id))

    def check_home(self, node: NodeSettings) -> None:
        """Raises CsiStatusError (UNAVAILABLE) while it is not known where the node is."""
        if status := self.identity.homes.why_unknown(node.id):
            raise unavailable(status)

    def find_node(self, node_id: str) -> NodeSettings | None:
        found = self._node_by_id.get(node_id)
        return None if found is None else self.located(found)

    async def volume(self, volume_id: str) -> VolumeRecord:
        """One that is whole. Raises CsiStatusError (NOT_FOUND)."""
        volume = await self.records.volumes.find(volume_id)
        if volume is None or volume.phase is not RecordPhase.READY:
            raise not_found(f"volume {volume_id}: there is no such volume")
        return volume

    async def snapshot(self, snapshot_id: str) -> SnapshotRecord:
        """One that is whole. Raises CsiStatusError (NOT_FOUND)."""
        snapshot = await self.records.snapshots.find(snapshot_id)
        if snapshot is None or snapshot.phase is not RecordPhase.READY:
            raise not_found(f"snapshot {snapshot_id}: there is no such snapshot")
        return snapshot

    async def where_in_use(self, volume: VolumeRecord) -> str:
        """For people; empty: nowhere."""
        attached = [f"attached to node {item.node_id}" for item in volume.attachments]
        mounted = [found for asked in self.in_use if (found := asked(volume))]
        written = await self.records.where_written(volume) if not mounted else ""
        return ", ".join(dict.fromkeys((*attached, *mounted, *filter(None, (written,)))))

    def turn(self, volume_id: str) -> asyncio.Lock:
        """Held while one node uses the volume: nodes wait for each other, and are not refused."""
        return self._turns.setdefault(volume_id, asyncio.Lock())

    async def record_first_publish(self, volume_id: str) -> None:
        """To be called, and waited for, before anything of the volume is shown to a pod.

        The caller works on the volume alone.
        """
        volume = await self.volume(volume_id)
        if volume.first_published_at is None:
            now = self.clock.now()
            published = msgspec.structs.replace(volume, first_published_at=now)
            await self.records.volumes.put(published)

    async def pools(self) -> Sequence[Pool]:
        """All pools with their free capacity at this moment. To take some of it, hold `placing`."""
        try:
            await self.records.refresh()
            pools = await self.backend.pools(self.records.charges())
        except CsiStatusError as failure:
            self.placing.failed(failure)
            raise
        self.last_extents = {extent.name: extent for pool in pools for extent in pool.extents}
        return pools

    async def start(self) -> None:
        """Settle what the last run left, then begin to answer."""
        await self._settle_snapshots()
        await self._settle_volumes()
        await self.backend.settle(
            await self.records.volumes.unsettled(), await self.records.snapshots.unsettled()
        )
        await self._finish_growing()
        self.is_ready = True

    async def stop(self) -> None:
        self.is_ready = False
        await self.work.close()

    async def has_foreign_writes(self, volume: VolumeRecord) -> bool:
        """Whether another program has written to it, which does not record its publishes here."""
        backend = self.backend
        if volume.phase is not RecordPhase.READY or not isinstance(backend, SeesForeignWrites):
            return False
        return await backend.has_foreign_writes(volume)

    async def remove_volume(self, volume: VolumeRecord) -> None:
        """Remove the volume and its record. After a crash at any point the next start goes on."""
        removing = await self.records.volumes.put(
            msgspec.structs.replace(volume, phase=RecordPhase.REMOVING)
        )
        await self.backend.remove(removing)
        await self.records.volumes.drop(volume.id)

    async def remove_snapshot(self, snapshot: SnapshotRecord) -> None:
        removing = await self.records.snapshots.put(
            msgspec.structs.replace(snapshot, phase=RecordPhase.REMOVING)
        )
        await self.backend.remove_snapshot(removing)
        await self.records.snapshots.drop(snapshot.id)

    async def undo_volume(self, volume: VolumeRecord) -> None:
        """Remove what an attempt has left. Raises CsiStatusError (UNAVAILABLE): most other codes
        would tell the caller that nothing is left, and that the attempt may be forgotten."""
        with _asked_again("volume", volume.name):
            await self.remove_volume(volume)

    async def undo_snapshot(self, snapshot: SnapshotRecord) -> None:
        with _asked_again("snapshot", snapshot.name):
            await self.remove_snapshot(snapshot)

    async def grow_volume(self, volume: VolumeRecord) -> VolumeRecord:
        """Grow the volume to the size that is recorded as its next one."""
        await self.backend.grow(volume, volume.growing_bytes)
        grown = msgspec.structs.replace(volume, size_bytes=volume.growing_bytes, growing_bytes=0)
        return await self.records.volumes.put(grown)

    async def _settle_volumes(self) -> None:
        for volume in await self.records.volumes.unsettled():
            if volume.phase is not RecordPhase.READY:
                with _left_for_later("volume", volume.id):
                    await self.remove_volume(volume)

    async def _settle_snapshots(self) -> None:
        for snapshot in await self.records.snapshots.unsettled():
            if snapshot.phase is not RecordPhase.READY:
                with _left_for_later("snapshot", snapshot.id):
                    await self.remove_snapshot(snapshot)

    async def _finish_growing(self) -> None:
        for volume in await self.records.volumes.unsettled():
            if volume.growing_bytes:
                with _left_for_later("volume", volume.id):
                    await self.grow_volume(volume)


@contextmanager
def _left_for_later(kind: str, id_: str) -> Iterator[None]:
    """One volume or snapshot that cannot be settled does not keep the driver from serving others.

    Its capacity stays taken, and the next call for it tries again.
    """
    try:
        yield
    except CsiStatusError as refusal:
        facts = {kind: id_, "error": refusal.detail}
        log.warning("interrupted work not settled", extra=facts)
    else:
        log.info("interrupted work settled", extra={kind: id_})


@contextmanager
def _asked_again(kind: str, name: str) -> Iterator[None]:
    """What could not be removed keeps its record, and the next call of that name removes it."""
    try:
        yield
    except CsiStatusError as refusal:
        raise unavailable(
            f"{kind} {name}: an attempt failed, and what it left is not removed yet:"
            f" {refusal.detail}; try again"
        ) from refusal
