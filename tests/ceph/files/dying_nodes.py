"""A node with one volume, whose driver dies at every step of a call; the next one goes on.

Steps are the writes to the journal and the programs that are run. After its death nothing that the
driver would still do happens, and what runs beside it, as rbd-fuse and ceph-fuse do, goes on.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from plimsoll.decide.ceph.journal.mounted_clients import client_key, list_clients
from plimsoll.processes.driver.backends.ceph.journaled_backend import JournaledBackend
from plimsoll.processes.driver.backends.ceph.records.writer_leases import parse_lease
from plimsoll.processes.driver.backends.cephfs.backend import CephfsBackend
from plimsoll.processes.driver.backends.cephfs.fuse_clients import read_client
from plimsoll.processes.driver.backends.rbd.backend import RbdBackend
from plimsoll.processes.driver.backends.rbd.node_images import watchers_of
from plimsoll.processes.driver.settings import Mounts
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.gen import csi_pb2 as csi
from tests.ceph import guardian
from tests.ceph.cluster_filesystem import ClusterFilesystem
from tests.ceph.files import cephfs_drivers
from tests.ceph.files.cephfs_drivers import cephfs_driver
from tests.ceph.files.interrupted_files import Death
from tests.ceph.files.test_whole_restart import assert_nothing_is_left
from tests.ceph.interrupted_calls import CrashedError
from tests.ceph.rbd_drivers import CLASS, rbd_driver
from tests.ceph.staging import publish, stage, take_back
from tests.processes.driver.drivers import Running

SPAWN = asyncio.create_subprocess_exec


@dataclass(slots=True)
class NodeScene:
    """One node with one volume, and one driver after the other."""

    backend: str
    filesystem: ClusterFilesystem
    directory: Path
    death: Death = field(default_factory=Death)
    volume_id: str = ""

    @property
    def staged(self) -> Path:
        return self.directory / "staged"

    @property
    def target(self) -> Path:
        return self.directory / "pods" / "one"

    @asynccontextmanager
    async def driver(self) -> AsyncIterator[Running]:
        self.death = Death()
        made = (
            rbd_driver(self.filesystem.cluster, self.directory, mounts=Mounts.REAL)
            if self.backend == "rbd"
            else cephfs_driver(self.filesystem, self.directory, mounts=Mounts.REAL)
        )
        async with made as driver:
            backend = driver.driver.backend
            assert isinstance(backend, JournaledBackend)
            backend.cluster.runner.on_operation = self.death.on_operation
            yield driver

    async def spawn(self, *command: Any, **how: Any) -> asyncio.subprocess.Process:
        self.death.step()
        return await SPAWN(*command, **how)

    async def create(self, driver: Running) -> None:
        parameters = CLASS if self.backend == "rbd" else cephfs_drivers.CLASS
        made = await driver.create("data", mib=32, zones=["zone-a"], parameters=parameters)
        self.volume_id = made.volume_id

    async def stage(self, driver: Running) -> None:
        await stage(driver, self.volume_id, self.staged)

    async def publish(self, driver: Running) -> None:
        await publish(driver, self.volume_id, self.staged, self.target)

    async def unpublish(self, driver: Running) -> None:
        request = csi.NodeUnpublishVolumeRequest(
            volume_id=self.volume_id, target_path=str(self.target)
        )
        await driver.call(m.NODE_UNPUBLISH_VOLUME, request)

    async def take_back(self, driver: Running) -> None:
        await take_back(driver, self.volume_id, self.staged, self.target)

    async def write(self, driver: Running) -> None:
        await self.stage(driver)
        await self.publish(driver)
        (self.target / "file").write_text("kept")
        await self.take_back(driver)

    async def read(self, driver: Running) -> None:
        """In whatever state the volume is on the node."""
        await self.stage(driver)
        await self.publish(driver)
        assert (self.target / "file").read_text() == "kept"
        assert await self.is_client_known(driver)
        await self.take_back(driver)

    async def is_client_known(self, driver: Running) -> bool:
        """To the journal, where a fence looks for the clients that it has to block."""
        backend, volume = driver.driver.backend, await driver.driver.volume(self.volume_id)
        if isinstance(backend, RbdBackend):
            stored = await backend.records.volumes.stored(volume.id)
            assert stored
            lease = parse_lease(stored.writer)
            assert lease
            return lease.address in await watchers_of(backend.cluster.connection, stored.place)
        assert isinstance(backend, CephfsBackend)
        (journal,) = await backend.records.volumes.journals()
        clients = await backend.cluster.runner.run(list_clients(journal))
        own = read_client(self.directory / "cephfs" / "clients" / volume.asset_name)
        assert own
        return own.address in clients[client_key(cephfs_drivers.NODE.id, volume.asset_name)]


Part = Callable[[NodeScene, Running], Awaitable[object]]


async def unused(scene: NodeScene, driver: Running) -> None:
    await scene.create(driver)


async def used_before(scene: NodeScene, driver: Running) -> None:
    await scene.create(driver)
    await scene.write(driver)


async def staged(scene: NodeScene, driver: Running) -> None:
    await used_before(scene, driver)
    await scene.stage(driver)


async def published(scene: NodeScene, driver: Running) -> None:
    await staged(scene, driver)
    await scene.publish(driver)


async def given_back(scene: NodeScene, driver: Running) -> None:
    await published(scene, driver)
    await scene.unpublish(driver)


@asynccontextmanager
async def node_scene(
    backend: str, filesystem: ClusterFilesystem, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[NodeScene]:
    directory = filesystem.cluster.directory / f"dying-{backend}"
    directory.mkdir(exist_ok=True)
    made = NodeScene(backend, filesystem, directory)
    monkeypatch.setattr(asyncio, "create_subprocess_exec", made.spawn)
    yield made
    await assert_nothing_is_left(filesystem)
    assert guardian.mounts(directory) == []
    assert guardian.loop_devices(directory) == []


async def died(scene: NodeScene, prepare: Part, call: Part, before: int) -> bool:
    """Whether the call came to that step."""
    async with scene.driver() as driver:
        await prepare(scene, driver)
        scene.death.arm(before)
        try:
            await call(scene, driver)
        except CrashedError:
            return True
    return False


AT_EVERY_STEP = pytest.mark.parametrize(
    ("prepare", "call"),
    [
        (unused, NodeScene.stage),
        (used_before, NodeScene.stage),
        (staged, NodeScene.publish),
        (published, NodeScene.unpublish),
        (given_back, NodeScene.take_back),
    ],
    ids=["first-stage", "stage", "publish", "unpublish", "unstage"],
)


async def goes_on_after_a_death_anywhere(scene: NodeScene, prepare: Part, call: Part) -> None:
    before = 1
    while await died(scene, prepare, call, before):
        async with scene.driver() as driver:
            await call(scene, driver)
            if prepare is unused:
                await scene.take_back(driver)
                await scene.write(driver)
            await scene.read(driver)
            await driver.delete(scene.volume_id)
        before += 1
    assert before > 1
    async with scene.driver() as driver:
        await scene.take_back(driver)
        await driver.delete(scene.volume_id)
