"""A driver for images whose process dies at a step that a test names.

Steps are the writes to the journal and the calls of librbd that change something; what one of those
leaves that is cut off in its middle is in the tests of the journal. Each driver is a new one, which
knows nothing of those before it.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plimsoll.decide.ceph.journal.operations import RemoveImage
from plimsoll.decide.ceph.journal.places import ImagePlace
from plimsoll.decide.ceph.volume_ids import decompose_volume_id
from plimsoll.processes.driver.backends.ceph.ceph_cluster import CephCluster
from plimsoll.processes.driver.backends.ceph.class_parameters import one_cluster
from plimsoll.processes.driver.backends.ceph.records.journal_runs import JournalRunner
from plimsoll.processes.driver.backends.rbd.backend import RbdBackend
from plimsoll.processes.driver.backends.rbd.fuse_devices import FuseDevices
from plimsoll.processes.driver.backends.rbd.image_assets import ImageRemoval
from plimsoll.processes.driver.backends.rbd.options import parse_options
from plimsoll.processes.driver.core import Driver, DriverIdentity, DriverParts
from plimsoll.processes.driver.ledger import Ledger
from plimsoll.processes.driver.main import handlers
from plimsoll.processes.driver.settings import BackendSettings, Mounts
from plimsoll.runtime.clock import SteppedClock, SystemClock
from plimsoll.wire.ceph.connection import CephConnection, PoolScope
from plimsoll.wire.ceph.images import ImageFacts, NewImage, RbdImages, SnapshotRef
from plimsoll.wire.ceph.objects import RadosObjects
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.inprocess import InProcessCsi
from tests.ceph.connections import access, connected
from tests.ceph.files.interrupted_files import LIMITS, TIME_LIMIT, UUID, Death
from tests.ceph.interrupted_calls import DIRECTORIES
from tests.ceph.journal_keys import passing_keys
from tests.ceph.loopback_cluster import JOURNAL, POOLS, LoopbackCluster
from tests.ceph.rbd_drivers import NODE
from tests.processes.driver.drivers import NAME, Running

PARTS = ("rbd_data", "rbd_header", "rbd_id", "rbd_object_map")
"""What objects of images are called before the first dot."""


class CountedImages(RbdImages):
    def __init__(self, connection: CephConnection, scope: PoolScope, death: Death) -> None:
        super().__init__(connection, scope)
        self._death = death

    async def create(self, new: NewImage) -> None:
        self._death.step()
        await super().create(new)

    async def remove(self, name: str) -> None:
        self._death.step()
        await super().remove(name)

    async def grow(self, name: str, size_bytes: int) -> None:
        self._death.step()
        await super().grow(name, size_bytes)

    async def take_snapshot(self, name: str, snapshot: str) -> None:
        self._death.step()
        await super().take_snapshot(name, snapshot)

    async def remove_snapshot(self, name: str, snapshot: str) -> None:
        self._death.step()
        await super().remove_snapshot(name, snapshot)

    async def clone(self, origin: SnapshotRef, new: NewImage) -> None:
        self._death.step()
        await super().clone(origin, new)

    async def flatten(self, name: str) -> None:
        self._death.step()
        await super().flatten(name)

    async def facts(self, name: str) -> ImageFacts:
        self._death.check()
        return await super().facts(name)


class CountedBackend(RbdBackend):
    death: Death

    def _images(self, place: ImagePlace) -> RbdImages:
        return CountedImages(self._connection, PoolScope(pool=place.pool.name), self.death)


@dataclass(slots=True)
class CountedRemoval:
    """Of what attempts left that were given up."""

    remove: ImageRemoval
    death: Death = field(default_factory=Death)

    async def __call__(self, removed: RemoveImage) -> None:
        self.death.step()
        await self.remove(removed)


@dataclass(frozen=True, slots=True)
class ImagesGround:
    """What one driver after the other is made of."""

    cluster: LoopbackCluster
    connection: CephConnection
    directory: Path

    @asynccontextmanager
    async def driver(self, death: Death | None = None) -> AsyncIterator[Running]:
        """A new one, which starts as if it were the first."""
        key = self.directory / "driver.key"
        key.write_text(self.cluster.key)
        told = access(self.cluster)
        options = {"monitors": told.monitors, "user": told.user, "keyFile": str(key)}
        settings = BackendSettings(
            driver_name=NAME,
            data_dir=self.directory,
            nodes=(NODE,),
            options={**options, "pool": JOURNAL},
            mounts=Mounts.NONE,
        )
        removal = CountedRemoval(ImageRemoval(self.connection))
        runner = JournalRunner(self.connection, removal, SystemClock())
        backend = self._backend(settings, runner)
        identity = DriverIdentity(name=NAME, backend="rbd", version="0", nodes=(NODE,))
        with closing(Ledger(self.directory)) as ledger:
            parts = DriverParts(
                backend=backend, ledger=ledger, records=backend.records, clock=settings.clock
            )
            driver = Driver(identity, parts)
            await driver.start()
            removal.death = backend.death = death or Death()
            runner.on_operation = backend.death.on_operation
            transport = InProcessCsi(handlers(driver, NODE, settings), SystemClock())
            client = CsiClient(transport, within=TIME_LIMIT)
            # The connection is that of the ground, so the driver is not stopped: it is gone.
            yield Running(driver=driver, client=client, clock=SteppedClock())
            await driver.work.close()

    def _backend(self, settings: BackendSettings, runner: JournalRunner) -> CountedBackend:
        devices = FuseDevices(self.directory, access(self.cluster), settings.clock)
        backend = CountedBackend(
            CephCluster(connection=self.connection, runner=runner, cluster_id=""),
            parse_options(settings.options),
            devices,
            settings,
            served=one_cluster(""),
        )
        backend.death = Death()
        return backend

    async def contents(self) -> list[str]:
        """All that there is of volumes and snapshots, in pools and in the journal, with sizes and
        content; every uuid is a star, so that two attempts can be compared."""
        found: list[str] = []
        for pool in (JOURNAL, *POOLS.values()):
            scope = PoolScope(pool=pool)
            names = await RadosObjects(self.connection, scope).names()
            found += await self._journal(scope, names)
            parts = Counter(name.partition(".")[0] for name in names)
            found += [f"{pool}: {parts[part]} {part}" for part in PARTS if parts[part]]
            found += [await self._image(scope, name) for name in await self._names(scope)]
        return sorted(UUID.sub("*", each) for each in found)

    async def _journal(self, scope: PoolScope, names: list[str]) -> list[str]:
        found = [n for n in names if n.startswith("csi.") and n not in DIRECTORIES]
        for name in set(names) & {*DIRECTORIES}:
            found += await passing_keys(RadosObjects(self.connection, scope), name)
        return found

    async def _names(self, scope: PoolScope) -> list[str]:
        return await RbdImages(self.connection, scope).names()

    async def _image(self, scope: PoolScope, name: str) -> str:
        facts = await RbdImages(self.connection, scope).facts(name)
        content = await self._on_image(scope.pool, name, lambda image: image.read(0, 5))
        told = facts.size_bytes, facts.snapshots, facts.has_parent, bytes(content)
        return f"{scope.pool}/{name}: {told}"

    async def write(self, volume: csi.Volume, pool: str, content: bytes) -> None:
        """At the beginning, as a node would."""
        name = f"csi-vol-{decompose_volume_id(volume.volume_id).uuid}"
        await self._on_image(pool, name, lambda image: image.write(content, 0))

    async def _on_image(self, pool: str, name: str, function: Any) -> Any:
        return await asyncio.to_thread(self.cluster.on_image, pool, name, function)

    async def delete_all(self, driver: Running) -> None:
        """Everything that the driver knows of; then there is nothing else."""
        snapshots = await driver.call(methods.LIST_SNAPSHOTS, csi.ListSnapshotsRequest())
        for entry in snapshots.entries:
            request = csi.DeleteSnapshotRequest(snapshot_id=entry.snapshot.snapshot_id)
            await driver.call(methods.DELETE_SNAPSHOT, request)
        for volume_id in await driver.volume_ids():
            await driver.delete(volume_id)
        assert await self.contents() == []


@asynccontextmanager
async def images_ground(cluster: LoopbackCluster, directory: Path) -> AsyncIterator[ImagesGround]:
    async with connected(cluster, LIMITS) as connection:
        made = ImagesGround(cluster, connection, directory)
        assert await made.contents() == []
        yield made
