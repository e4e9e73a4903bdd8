"""The pools backend: simulates network storage, as its CSI driver shows it to callers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from plimsoll.decide.ceph.takeover.objections import PoolCopies
from plimsoll.processes.driver.backends.pools.content import Entry, PoolContent
from plimsoll.processes.driver.backends.pools.faults import (
    Faults,
    FaultyCall,
    Lie,
    When,
    told_bytes,
)
from plimsoll.processes.driver.backends.pools.options import (
    MUTABLE,
    PoolSettings,
    layout_of,
    parse_pools,
)
from plimsoll.processes.driver.backends.protocol import (
    BackendFeatures,
    BackendRequest,
    Charges,
    DeviceSource,
    DirectorySource,
    Extent,
    Pool,
    Source,
    VolumeHealth,
    VolumeLayout,
)
from plimsoll.processes.driver.domains.protocol import DomainCondition
from plimsoll.processes.driver.node import loop_devices
from plimsoll.processes.driver.node.mounting.device_mounts import mounts_of
from plimsoll.processes.driver.records import Part, SnapshotRecord, VolumeMode, VolumeRecord
from plimsoll.processes.driver.settings import BackendSettings, Mounts
from plimsoll.runtime.clock import Clock
from plimsoll.runtime.commands import CommandError
from plimsoll.runtime.files.mountinfo import read_mounts
from plimsoll.wire.csi.refusals import internal, resource_exhausted

FEATURES = BackendFeatures(
    snapshots=True,
    clones=True,
    expansion=True,
    online_expansion=True,
    attach=True,
    modes=frozenset(VolumeMode),
    multi_node=True,
    mutable_parameters=MUTABLE,
)


class PoolsBackend:
    features = FEATURES

    def __init__(
        self,
        pools: Sequence[PoolSettings],
        content: PoolContent | None,
        faults: Faults,
        clock: Clock,
    ) -> None:
        """Without `content` volumes are records only and hold no bytes."""
        self._pools = tuple(pools)
        self._content = content
        self.faults = faults
        self._clock = clock
        self._parts: dict[str, tuple[Part, ...]] = {}
        """What really is in the pools, whatever is told about it; by id."""
        self._taken: Counter[str] = Counter()
        """The sum of that, by pool."""
        self._last_told: dict[str, Pool] = {}
        """By name."""
        self._told: tuple[Pool, ...] = ()
        """Of all pools, whenever anything is asked about one of them."""
        self._told_of: tuple[Mapping[str, int], tuple[Lie, ...]] | None = None
        """What that was made of: what is promised, and what is told instead."""
        self.has_devices = content is not None

    def layout(self, request: BackendRequest) -> VolumeLayout:
        return layout_of(request, self._pools)

    async def pools(self, charges: Charges) -> Sequence[Pool]:
        made_of = (charges.promised, self.faults.lies())
        if made_of != self._told_of:
            self._told = tuple(self._pool(pool, *made_of) for pool in self._pools)
            self._told_of = made_of
        return self._told

    def _pool(self, pool: PoolSettings, promised: Mapping[str, int], lies: tuple[Lie, ...]) -> Pool:
        told = told_bytes(lies, pool.name, pool.size_bytes - promised.get(pool.name, 0))
        last = self._last_told.get(pool.name)
        if last is not None and last.extents[0].free_bytes == told:
            return last
        extent = Extent(name=pool.name, total_bytes=pool.size_bytes, free_bytes=told)
        made = Pool(name=pool.name, topology=pool.topology, extents=(extent,))
        self._last_told[pool.name] = made
        return made

    async def settle(
        self, volumes: Sequence[VolumeRecord], snapshots: Sequence[SnapshotRecord]
    ) -> None:
        entries: list[Entry] = [*volumes, *snapshots]
        self._parts, self._taken = {}, Counter()
        for entry in entries:
            self._keep(entry.id, entry.placement.parts)
        if self._content is not None:
            await self._content.clear(entries)

    async def make(
        self, volume: VolumeRecord, origin: VolumeRecord | SnapshotRecord | None
    ) -> None:
        await self._make(FaultyCall.CREATE, volume, origin)

    async def snapshot(self, snapshot: SnapshotRecord, volume: VolumeRecord) -> None:
        await self._make(FaultyCall.SNAPSHOT, snapshot, volume)

    async def _make(self, call: FaultyCall, entry: Entry, origin: Entry | None) -> None:
        await self._begin(call, entry)
        self._take_capacity(entry)
        if self._content is not None:
            await self._content.make(entry, origin)
        await self._end(call, entry)

    def _take_capacity(self, entry: Entry) -> None:
        """Refuses more than a pool has; only a lie about its capacity leads to such a request."""
        own = Counter[str]()
        for part in entry.placement.parts:
            own[part.extent] += part.bytes
        for part in self._parts.get(entry.id, ()):
            own[part.extent] -= part.bytes
        for pool in self._pools:
            taken = self._taken[pool.name] + own[pool.name]
            if pool.name in entry.placement.pools and taken > pool.size_bytes:
                raise resource_exhausted(
                    f"pool {pool.name}: {taken} bytes would be taken of {pool.size_bytes}"
                )
        self._keep(entry.id, entry.placement.parts)

    def _keep(self, id_: str, parts: tuple[Part, ...]) -> None:
        for part in self._parts.pop(id_, ()):
            self._taken[part.extent] -= part.bytes
        for part in parts:
            self._taken[part.extent] += part.bytes
        if parts:
            self._parts[id_] = parts

    async def remove(self, volume: VolumeRecord) -> None:
        await self._remove(FaultyCall.DELETE, volume)

    async def remove_snapshot(self, snapshot: SnapshotRecord) -> None:
        await self._remove(FaultyCall.DELETE_SNAPSHOT, snapshot)

    async def _remove(self, call: FaultyCall, entry: Entry) -> None:
        await self._begin(call, entry)
        await self._release_device(entry)
        if self._content is not None:
            await self._content.remove(entry)
        self._keep(entry.id, ())
        await self._end(call, entry)

    async def grow(self, volume: VolumeRecord, size_bytes: int) -> None:
        before = self._parts.get(volume.id, ())
        try:
            await self._grow(volume, size_bytes)
        except Exception:
            self._keep(volume.id, before)
            raise

    async def _grow(self, volume: VolumeRecord, size_bytes: int) -> None:
        await self._begin(FaultyCall.EXPAND, volume)
        self._take_capacity(volume)
        if self._content is not None:
            self._content.grow(volume, size_bytes)
            if self.has_devices and volume.mode is VolumeMode.BLOCK:
                for device in loop_devices.loops_of(self._path(volume)):
                    await loop_devices.resize(device)
        await self._end(FaultyCall.EXPAND, volume)

    async def modify(self, volume: VolumeRecord) -> None:
        await self._begin(FaultyCall.MODIFY, volume)
        await self._end(FaultyCall.MODIFY, volume)

    async def attach(self, volume: VolumeRecord, node_id: str) -> Mapping[str, str]:
        await self._begin(FaultyCall.ATTACH, volume)
        await self._end(FaultyCall.ATTACH, volume)
        return {"pools": ",".join(volume.placement.pools), "node": node_id}

    async def detach(self, volume: VolumeRecord, node_id: str) -> None:
        await self._begin(FaultyCall.DETACH, volume)
        # A node that was lost may still show the device; it is released when that node unstages.
        if not _is_attached_elsewhere(volume, node_id) and not self._is_shown(volume):
            await self._release_device(volume)
        await self._end(FaultyCall.DETACH, volume)

    async def open(self, volume: VolumeRecord, node_id: str) -> Source:  # noqa: ARG002 - shared
        await self._begin(FaultyCall.STAGE, volume)
        source = await self._opened_anew(volume)
        await self._end(FaultyCall.STAGE, volume)
        return source

    async def _opened_anew(self, volume: VolumeRecord) -> Source:
        path = self._path(volume)
        if volume.mode is VolumeMode.FILESYSTEM:
            return DirectorySource(path=path)
        if not self.has_devices:
            return DeviceSource(devices=(path,), fs_type="")
        try:
            return DeviceSource(devices=(await loop_devices.attach(path),), fs_type="")
        except CommandError as error:
            raise internal(f"volume {volume.id}: {error}") from error

    def _path(self, entry: Entry) -> Path:
        return Path(entry.id) if self._content is None else self._content.path(entry)

    def opened(self, volume: VolumeRecord, node_id: str) -> Source | None:  # noqa: ARG002 - shared
        """Attached or not: a node that was lost still has its mounts when it comes back."""
        path = self._path(volume)
        if volume.mode is VolumeMode.FILESYSTEM:
            return DirectorySource(path=path)
        if not self.has_devices:
            return DeviceSource(devices=(path,), fs_type="")
        devices = loop_devices.loops_of(path)
        return DeviceSource(devices=(devices[0],), fs_type="") if devices else None

    async def close(self, volume: VolumeRecord, node_id: str) -> None:
        await self._begin(FaultyCall.UNSTAGE, volume)
        # All nodes are on one machine, and share the device.
        if not _is_attached_elsewhere(volume, node_id):
            await self._release_device(volume)
        await self._end(FaultyCall.UNSTAGE, volume)

    async def _release_device(self, entry: Entry) -> None:
        if not self.has_devices or entry.mode is not VolumeMode.BLOCK:
            return
        try:
            await loop_devices.detach(self._path(entry))
        except CommandError as error:
            raise internal(f"volume {entry.id}: {error}") from error

    def _is_shown(self, entry: Entry) -> bool:
        if not self.has_devices or entry.mode is not VolumeMode.BLOCK:
            return False
        return bool(mounts_of(loop_devices.loops_of(self._path(entry)), read_mounts()))

    async def pool_copies(self, domain: Mapping[str, str]) -> Sequence[PoolCopies]:
        found = (pool.copies_in(domain) for pool in self._pools)
        return tuple(copies for copies in found if copies.inside)

    async def storage_condition(self, domain: Mapping[str, str]) -> DomainCondition:  # noqa: ARG002 - all pools are here
        return DomainCondition.UP

    async def fence(self, domain: Mapping[str, str]) -> None:
        """All nodes are served by this driver, which lets them out."""

    async def release(self, domain: Mapping[str, str]) -> None:
        """And in again."""

    async def condition(self, volume: VolumeRecord) -> VolumeHealth:
        if self._content is not None and not self._content.path(volume).exists():
            return VolumeHealth(abnormal=True, message=f"{self._content.path(volume)} is missing")
        return VolumeHealth()

    async def _begin(self, call: FaultyCall, entry: Entry) -> None:
        places = entry.placement.pools
        latencies = (pool.latency for pool in self._pools if pool.name in places)
        await self._clock.sleep(max(latencies, default=timedelta()))
        await self.faults.strike(call, places, When.BEFORE)

    async def _end(self, call: FaultyCall, entry: Entry) -> None:
        await self.faults.strike(call, entry.placement.pools, When.AFTER)


def _is_attached_elsewhere(volume: VolumeRecord, node_id: str) -> bool:
    return any(item.node_id != node_id for item in volume.attachments)


def make(settings: BackendSettings) -> PoolsBackend:
    """Raises SetupError."""
    pools = parse_pools(settings.options, settings)
    is_real = settings.mounts is not Mounts.NONE
    faults = Faults(settings.data_dir if is_real else None, settings.clock)
    content = PoolContent(settings.data_dir) if is_real else None
    backend = PoolsBackend(pools, content, faults, settings.clock)
    backend.has_devices = settings.mounts is Mounts.REAL
    return backend
