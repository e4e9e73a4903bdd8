"""The rbd backend: volumes are images in pools of one Ceph cluster.

An image is known by the name of its request in the journal, and by its uuid, which is in the id of
the volume. Records and journal must agree: an image whose uuid is not that of the record belongs to
a driver with other records, and is neither used nor removed.

A pool is taken to hold nothing but volumes of this driver: what other clients write there counts as
if volumes had written it.
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from plimsoll.decide.ceph.constrained_pools import ConstrainedPool, PoolKey
from plimsoll.decide.ceph.journal.layout import CephPoolRef, JournalKind, JournalLayout
from plimsoll.decide.ceph.journal.operations import JournalProblem
from plimsoll.decide.ceph.journal.places import CephJournal, ImagePlace, ImageRequest
from plimsoll.decide.ceph.pool_capacity import CephPoolUsage, PromisedVolume, pool_state
from plimsoll.decide.ceph.volume_ids import UUID_BYTES
from plimsoll.processes.driver.backends.ceph.cluster_report import ClusterReport
from plimsoll.processes.driver.backends.ceph.journal_runs import JournalError, JournalRunner
from plimsoll.processes.driver.backends.ceph.journaled_assets import JournaledImages, make_empty
from plimsoll.processes.driver.backends.protocol import (
    BackendFeatures,
    BackendRequest,
    Charges,
    DeviceSource,
    Extent,
    Pool,
    Source,
    VolumeHealth,
    VolumeLayout,
)
from plimsoll.processes.driver.backends.rbd.copies import copy_image
from plimsoll.processes.driver.backends.rbd.fuse_devices import FuseDevices
from plimsoll.processes.driver.backends.rbd.options import (
    RbdClass,
    RbdOptions,
    access_of,
    overcommit_of,
    parse_class,
    parse_options,
)
from plimsoll.processes.driver.node.filesystems import EXT4, MINIMUM_BYTES
from plimsoll.processes.driver.records import SnapshotRecord, VolumeMode, VolumeRecord
from plimsoll.processes.driver.settings import BackendSettings, Mounts, SetupError
from plimsoll.runtime.commands import CommandError
from plimsoll.wire.ceph.connection import CephConnection, PoolScope
from plimsoll.wire.ceph.errors import CephError, CephFailure, NoCephError, refusal
from plimsoll.wire.ceph.images import NewImage, RbdImages
from plimsoll.wire.csi.refusals import (
    aborted,
    failed_precondition,
    internal,
    invalid_argument,
    unavailable,
    unimplemented,
)

log = logging.getLogger(__name__)

MEBIBYTE = 1 << 20
SNAPSHOT_PREFIX = "csi-snap-"

Entry = VolumeRecord | SnapshotRecord


def make(settings: BackendSettings) -> "RbdBackend":
    """Connects on the first occasion. Raises SetupError."""
    if len(settings.nodes) != 1:
        raise SetupError(f"the rbd backend serves one node, not {len(settings.nodes)}")
    options = parse_options(settings.options)
    access = access_of(options)
    try:
        connection = CephConnection(access)
    except NoCephError as error:
        raise SetupError(str(error)) from error
    devices = FuseDevices(settings.data_dir / "rbd", access, settings.clock)
    is_node = settings.mounts is Mounts.REAL and devices.is_possible
    if is_node:
        devices.prepare()
    else:
        log.warning("volumes cannot be used here", extra={"reason": "needs root and rbd-fuse"})
    backend = RbdBackend(connection, options, devices, prefix=settings.key(""))
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
        self, connection: CephConnection, options: RbdOptions, devices: FuseDevices, *, prefix: str
    ) -> None:
        """`prefix` comes before the names of domains in topology keys."""
        self.features = FEATURES
        self._connection = connection
        self._options = options
        self._devices = devices
        self._prefix = prefix
        self._runner = JournalRunner(connection)

    def layout(self, request: BackendRequest) -> VolumeLayout:
        wanted = parse_class(request.parameters, self._options)
        plain = VolumeLayout(
            unit_bytes=MEBIBYTE,
            minimum_bytes=MEBIBYTE,
            pools=frozenset(pool.name for pool in wanted.pools),
            located={pool.name: self._segments(wanted, pool.name) for pool in wanted.pools},
        )
        if request.mode is not VolumeMode.FILESYSTEM:
            return plain
        fs_type = request.fs_type or EXT4
        if fs_type not in MINIMUM_BYTES:
            known = ", ".join(sorted(MINIMUM_BYTES))
            raise invalid_argument(f"file system {fs_type!r} is none of {known}")
        return replace(plain, minimum_bytes=MINIMUM_BYTES[fs_type], mounted_as=fs_type)

    def _segments(self, wanted: RbdClass, pool: str) -> tuple[Mapping[str, str], ...]:
        """A pool that the class names for several domains is reachable from each."""
        entries = [item for item in wanted.pools if item.name == pool]
        if any(not item.segments for item in entries):
            return ()
        return tuple(
            {self._prefix + label: value for label, value in item.segments} for item in entries
        )

    async def pools(self, charges: Charges) -> Sequence[Pool]:
        with _told("the cluster"):
            usages = (await self._report()).usages()
        return [self._pool(name, usages[name], charges) for name in sorted(usages)]

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
            overcommit=overcommit_of(self._options),
        )
        free = found.free_bytes if found else 0
        total = usage.stored_bytes + usage.max_avail_bytes
        extent = Extent(name=name, total_bytes=total, free_bytes=free)
        return Pool(name=name, topology=(), extents=(extent,))

    async def settle(
        self, volumes: Sequence[VolumeRecord], snapshots: Sequence[SnapshotRecord]
    ) -> None:
        """What earlier attempts left; a zone that is down keeps its own until the next start."""
        entries: list[Entry] = [*volumes, *snapshots]
        for pool in sorted({self._class(entry).journal_pool for entry in entries}):
            for kind in JournalKind:
                try:
                    await (await self._journaled(pool, kind)).clean()
                except (CephError, JournalError) as error:
                    facts = {"journal": pool, "error": str(error)}
                    log.warning("leftovers not removed", extra=facts)

    async def make(
        self, volume: VolumeRecord, origin: VolumeRecord | SnapshotRecord | None
    ) -> None:
        await self._make(volume, origin)

    async def snapshot(self, snapshot: SnapshotRecord, volume: VolumeRecord) -> None:
        await self._make(snapshot, volume)

    async def _make(self, entry: Entry, origin: Entry | None) -> None:
        with _told(_name(entry)):
            calls = await self._calls(entry)
            pool = await self._ref(entry.placement.pools[0])
            request = ImageRequest(
                request_name=entry.name,
                pool=pool,
                uuid=_uuid(entry),
                name_prefix=self._image(entry).removesuffix(_uuid(entry)),
                source=self._image(origin) if _is_snapshot(entry) and origin else "",
            )

            async def make(place: ImagePlace) -> None:
                await self._fill(place, entry, origin)

            place = await calls.create(request, make)
        if place.uuid != _uuid(entry):
            raise failed_precondition(
                f"{_name(entry)}: there is image {place.name} in pool {place.pool.name}, which"
                " this driver has no record of; start it on the directory that has, or delete"
                " the image"
            )

    async def _fill(self, place: ImagePlace, entry: Entry, origin: Entry | None) -> None:
        wanted = self._class(entry)
        new = NewImage(
            name=place.name,
            size_bytes=entry.size_bytes,
            features=wanted.features,
            data_pool=wanted.data_pool(place.pool.name),
        )
        images = self._images(place.pool.name)
        if origin is None:
            await make_empty(images, new)
        else:
            source = self._images(origin.placement.pools[0])
            await copy_image(source, self._image(origin), images, new)

    async def remove(self, volume: VolumeRecord) -> None:
        await self._remove(volume)

    async def remove_snapshot(self, snapshot: SnapshotRecord) -> None:
        await self._remove(snapshot)

    async def _remove(self, entry: Entry) -> None:
        with _told(_name(entry)):
            calls = await self._calls(entry)
            place = await calls.find(entry.name)
            if place is not None and place.uuid == _uuid(entry):
                await calls.remove(place)
            await calls.clean()

    async def grow(self, volume: VolumeRecord, size_bytes: int) -> None:
        with _told(_name(volume)):
            await self._images(volume.placement.pools[0]).grow(self._image(volume), size_bytes)
            await self._devices.resize(self._image(volume))

    async def modify(self, volume: VolumeRecord) -> None:
        _refuse(f"volume {volume.id}: the rbd backend has nothing that could be modified")

    async def attach(self, volume: VolumeRecord, node_id: str) -> Mapping[str, str]:
        _refuse(f"volume {volume.id}: needs no attaching to node {node_id}")

    async def detach(self, volume: VolumeRecord, node_id: str) -> None:
        _refuse(f"volume {volume.id}: needs no attaching to node {node_id}")

    async def open(self, volume: VolumeRecord, node_id: str) -> Source:  # noqa: ARG002 - one
        pool, image = volume.placement.pools[0], self._image(volume)
        with _told(_name(volume)):
            # rbd-fuse would wait for a pool that is down, or show an empty directory.
            await self._images(pool).facts(image)
            device = await self._devices.open(pool, image)
        return _source(volume, device)

    def opened(self, volume: VolumeRecord, node_id: str) -> Source | None:  # noqa: ARG002 - one
        device = self._devices.find(self._image(volume))
        return None if device is None else _source(volume, device)

    async def close(self, volume: VolumeRecord, node_id: str) -> None:  # noqa: ARG002 - one
        with _told(_name(volume)):
            await self._devices.close(self._image(volume))

    async def condition(self, volume: VolumeRecord) -> VolumeHealth:
        try:
            await self._images(volume.placement.pools[0]).facts(self._image(volume))
        except CephError as error:
            return VolumeHealth(abnormal=True, message=f"image {self._image(volume)}: {error}")
        return VolumeHealth()

    def _class(self, entry: Entry) -> RbdClass:
        return parse_class(entry.parameters, self._options)

    def _image(self, entry: Entry) -> str:
        prefix = SNAPSHOT_PREFIX if _is_snapshot(entry) else self._class(entry).name_prefix
        return prefix + _uuid(entry)

    def _images(self, pool: str) -> RbdImages:
        return RbdImages(self._connection, PoolScope(pool=pool))

    async def _calls(self, entry: Entry) -> JournaledImages:
        kind = JournalKind.SNAPSHOT if _is_snapshot(entry) else JournalKind.VOLUME
        return await self._journaled(self._class(entry).journal_pool, kind)

    async def _journaled(self, pool: str, kind: JournalKind) -> JournaledImages:
        layout = JournalLayout(kind=kind)
        journal = CephJournal(pool=await self._ref(pool), layout=layout)
        return JournaledImages(self._connection, journal, self._runner)

    async def _ref(self, pool: str) -> CephPoolRef:
        ids = await self._connection.pool_ids()
        if pool not in ids:
            raise CephError(CephFailure.POOL_NOT_FOUND, f"pool {pool}")
        return CephPoolRef(pool, ids[pool])


def _is_snapshot(entry: Entry) -> bool:
    return isinstance(entry, SnapshotRecord)


def _uuid(entry: Entry) -> str:
    return entry.id[-UUID_BYTES:]


def _name(entry: Entry) -> str:
    return f"snapshot {entry.name}" if _is_snapshot(entry) else f"volume {entry.name}"


def _source(volume: VolumeRecord, device: Path) -> DeviceSource:
    return DeviceSource(devices=(device,), fs_type=volume.fs_type or EXT4)


def _refuse(detail: str) -> NoReturn:
    raise unimplemented(detail)


@contextmanager
def _told(what: str) -> Iterator[None]:
    """What goes wrong in Ceph becomes an answer that names the volume, and pool or monitor."""
    try:
        yield
    except CephError as error:
        raise refusal(error, what) from error
    except JournalError as error:
        if error.cause is not None and error.problem is JournalProblem.IO_ERROR:
            raise refusal(error.cause, what) from error
        if error.problem is JournalProblem.CHANGED:
            raise aborted(f"{what}: another call for it is under way") from error
        raise internal(f"{what}: the journal cannot be used: {error}") from error
    except CommandError as error:
        raise internal(f"{what}: {error}") from error
    except TimeoutError as error:
        raise unavailable(f"{what}: rbd-fuse did not show the image in time") from error
