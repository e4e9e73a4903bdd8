"""What rollback may delete: a volume that no pod got, by whatever driver or program."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from plimsoll.decide.ceph.volume_ids import decompose_volume_id
from plimsoll.processes.driver.settings import Mounts, NodeSettings
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.csi.gen import pools_pb2
from tests.ceph import guardian
from tests.ceph.cluster_filesystem import ClusterFilesystem
from tests.ceph.files import cephfs_drivers
from tests.ceph.files.cephfs_drivers import cephfs_driver
from tests.ceph.files.filesystems import mounted
from tests.ceph.files.test_whole_restart import assert_nothing_is_left
from tests.ceph.loopback_cluster import POOLS
from tests.ceph.rbd_drivers import CLASS, NODE, rbd_driver
from tests.ceph.staging import publish, stage, take_back
from tests.processes.driver.drivers import MIB, Running

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount"),
    pytest.mark.timeout(300),
]

SECOND = NodeSettings(id="node-2", topology=NODE.topology)
TRIES = 6
LONGEST = 0.05
"""Seconds from the begin of one call to that of the other."""


@dataclass(frozen=True, slots=True)
class Ground:
    backend: str
    filesystem: ClusterFilesystem
    directory: Path

    def driver(self, node: NodeSettings) -> AbstractAsyncContextManager[Running]:
        own = self.directory / node.id
        own.mkdir(exist_ok=True)
        if self.backend == "rbd":
            return rbd_driver(self.filesystem.cluster, own, mounts=Mounts.REAL, node=node)
        return cephfs_driver(self.filesystem, own, mounts=Mounts.REAL, node=node)

    @property
    def parameters(self) -> Mapping[str, str]:
        return CLASS if self.backend == "rbd" else cephfs_drivers.CLASS

    async def create(self, driver: Running) -> str:
        made = await driver.create("data", mib=32, zones=["zone-a"], parameters=self.parameters)
        return made.volume_id

    def write(self, volume_id: str) -> None:
        """As another program does, which has the same user and says nothing of it."""
        name = f"csi-vol-{decompose_volume_id(volume_id).uuid}"
        if self.backend == "rbd":
            self.filesystem.cluster.on_image(
                POOLS["zone-a"], name, lambda image: image.write(b"theirs", 8 * MIB)
            )
            return
        with mounted(self.filesystem) as mount:
            file = mount / "plimsoll" / "volumes" / name / "file"
            file.write_text("theirs")
            with file.open("a") as opened:
                os.fsync(opened)


@pytest.fixture(params=["rbd", "cephfs"])
async def ground(
    filesystem: ClusterFilesystem, request: pytest.FixtureRequest
) -> AsyncIterator[Ground]:
    directory = filesystem.cluster.directory / f"published-{request.param}"
    directory.mkdir(exist_ok=True)
    yield Ground(request.param, filesystem, directory)
    await assert_nothing_is_left(filesystem)
    assert guardian.mounts(directory) == []


async def roll_back(driver: Running, volume_id: str) -> None:
    request = pools_pb2.DeleteNeverPublishedRequest(volume_id=volume_id)
    await driver.call(m.DELETE_NEVER_PUBLISHED, request)


async def test_a_volume_that_was_staged_and_no_pod_got_is_rolled_back(ground: Ground) -> None:
    async with ground.driver(NODE) as first, ground.driver(SECOND) as second:
        volume_id, staged = await ground.create(first), ground.directory / "staged"
        await stage(first, volume_id, staged)
        await take_back(first, volume_id, staged, ground.directory / "target")
        await roll_back(second, volume_id)
        assert await first.volume_ids() == []


async def test_what_a_pod_got_by_one_driver_is_rolled_back_by_none(ground: Ground) -> None:
    async with ground.driver(NODE) as first, ground.driver(SECOND) as second:
        volume_id, staged = await ground.create(first), ground.directory / "staged"
        await stage(first, volume_id, staged)
        await publish(first, volume_id, staged, ground.directory / "target")
        await take_back(first, volume_id, staged, ground.directory / "target")
        for driver in (second, first):
            with pytest.raises(DriverError, match="was published at"):
                await roll_back(driver, volume_id)
    async with ground.driver(SECOND) as later:
        with pytest.raises(DriverError, match="was published at"):
            await roll_back(later, volume_id)
        await later.delete(volume_id)


async def test_what_another_program_has_written_to_is_not_rolled_back(ground: Ground) -> None:
    """ceph-csi, which had taken over and has gone again: it does not say that a pod got it."""
    async with ground.driver(NODE) as driver:
        volume_id = await ground.create(driver)
        asked = pools_pb2.GetVolumeUseRequest(volume_id=volume_id)
        assert not (await driver.call(m.GET_VOLUME_USE, asked)).was_published
        await asyncio.to_thread(ground.write, volume_id)
        assert (await driver.call(m.GET_VOLUME_USE, asked)).was_published
        with pytest.raises(DriverError, match="holds what another program than this driver"):
            await roll_back(driver, volume_id)
        assert await driver.volume_ids() == [volume_id]
        await driver.delete(volume_id)


@pytest.mark.parametrize("seed", range(TRIES))
async def test_either_a_pod_gets_the_volume_or_it_is_rolled_back(ground: Ground, seed: int) -> None:
    """By two drivers at the same moment."""
    chance = Random(seed)
    staged, target = ground.directory / "staged", ground.directory / "target"
    async with ground.driver(NODE) as first, ground.driver(SECOND) as second:
        volume_id = await ground.create(first)
        await stage(first, volume_id, staged)

        async def late_publish() -> None:
            await asyncio.sleep(chance.uniform(0, LONGEST))
            await publish(first, volume_id, staged, target)

        async def late_roll_back() -> None:
            await asyncio.sleep(chance.uniform(0, LONGEST))
            await roll_back(second, volume_id)

        published, gone = await asyncio.gather(
            late_publish(), late_roll_back(), return_exceptions=True
        )
        assert isinstance(published, DriverError) or isinstance(gone, DriverError)
        if published is None:
            (target / "file").write_text("data")
            await take_back(first, volume_id, staged, target)
            await first.delete(volume_id)
        else:
            assert isinstance(published, DriverError)
            await take_back(first, volume_id, staged, target)
            assert not target.exists() or not os.path.ismount(target)  # noqa: ASYNC240 - local
            await second.delete(volume_id)
