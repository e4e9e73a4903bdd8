"""Volumes that ceph-csi made in CephFS: subvolumes with their keys, as it leaves them."""

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from plimsoll.processes.driver.settings import Mounts
from plimsoll.wire.ceph.connection import PoolScope
from plimsoll.wire.ceph.objects import ObjectWrite, RadosObjects
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.errors import DriverError, DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi, pools_pb2
from tests.ceph import guardian
from tests.ceph.cluster_filesystem import (
    DATA_POOLS,
    METADATA_POOL,
    ClusterFilesystem,
)
from tests.ceph.connections import LIMITS, connected
from tests.ceph.files.cephfs_drivers import CLASS, cephfs_driver
from tests.ceph.files.filesystems import access, mounted
from tests.ceph.staging import publish, stage, take_back
from tests.processes.driver.drivers import MIB, Running

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")

REQUEST = "pvc-old"


@dataclass(frozen=True, slots=True)
class CephCsi:
    """What it does, as far as this driver sees it."""

    filesystem: ClusterFilesystem
    objects: RadosObjects
    uuid: str
    inner: str

    @property
    def name(self) -> str:
        return f"csi-vol-{self.uuid}"

    @property
    def volume_id(self) -> str:
        """With the number of the file system, not that of a pool."""
        return f"0001-0004-ceph-{self.filesystem.number:016x}-{self.uuid}"

    async def make(self, content: str = "from ceph-csi", **more: str) -> None:
        await asyncio.to_thread(self._make_subvolume, content)
        keys = {"csi.volname": REQUEST, "csi.imagename": self.name, **more}
        await self.objects.write(f"csi.volume.{self.uuid}", ObjectWrite(values=keys))
        leading = {f"csi.volume.{REQUEST}": self.uuid}
        await self.objects.write("csi.volumes.default", ObjectWrite(values=leading))

    def _make_subvolume(self, content: str) -> None:
        with mounted(self.filesystem) as root:
            base = root / "volumes" / "csi" / self.name
            data = base / self.inner
            data.mkdir(parents=True)
            (base / ".meta").write_text("[GLOBAL]\nversion = 2\n")
            os.setxattr(data, "ceph.dir.layout.pool", DATA_POOLS["zone-a"].encode())
            os.setxattr(data, "ceph.quota.max_bytes", str(32 * MIB).encode())
            (data / "greeting").write_text(content)

    async def forget(self) -> None:
        await asyncio.to_thread(self._forget)
        for name in ("csi.volumes.default", f"csi.volume.{self.uuid}"):
            if await self.objects.exists(name):
                await self.objects.remove(name)

    def _forget(self) -> None:
        with mounted(self.filesystem) as root:
            os.system(f"rm -rf {root / 'volumes'}")  # noqa: S605 - a path of ours

    def take_snapshot(self) -> None:
        with mounted(self.filesystem) as root:
            (root / "volumes" / "csi" / self.name / ".snap" / "csi-snap-1").mkdir()

    def remove_snapshot(self) -> None:
        with mounted(self.filesystem) as root:
            (root / "volumes" / "csi" / self.name / ".snap" / "csi-snap-1").rmdir()

    def left(self) -> list[str]:
        with mounted(self.filesystem) as root:
            return os.listdir(root / "volumes" / "csi")  # noqa: PTH208 - names


@pytest.fixture
async def ceph_csi(filesystem: ClusterFilesystem) -> AsyncIterator[CephCsi]:
    async with connected(filesystem.cluster, LIMITS, access(filesystem)) as connection:
        objects = RadosObjects(connection, PoolScope(pool=METADATA_POOL, namespace="csi"))
        made = CephCsi(filesystem, objects, str(uuid4()), str(uuid4()))
        yield made
        await made.forget()


@pytest.fixture
def directory(filesystem: ClusterFilesystem) -> Path:
    """Below that of the cluster: should a test be killed, its mounts go with the cluster."""
    made = filesystem.cluster.directory / "adopting"
    made.mkdir(exist_ok=True)
    return made


@pytest.fixture
async def driver(filesystem: ClusterFilesystem, directory: Path) -> AsyncIterator[Running]:
    async with cephfs_driver(filesystem, directory, mounts=Mounts.REAL, clusterId="ceph") as made:
        yield made
    assert guardian.mounts(directory) == []


async def test_a_volume_of_ceph_csi_is_found_published_expanded_and_deleted(
    driver: Running, ceph_csi: CephCsi, directory: Path
) -> None:
    await ceph_csi.make()
    staged, target = directory / "staged", directory / "target"
    volume_id = ceph_csi.volume_id
    await stage(driver, volume_id, staged)
    await publish(driver, volume_id, staged, target)
    assert (target / "greeting").read_text() == "from ceph-csi"
    (target / "file").write_text("ours")
    sizes = os.statvfs(target)
    assert sizes.f_blocks * sizes.f_frsize == 32 * MIB
    assert await driver.expand(volume_id, 64) == 64
    await take_back(driver, volume_id, staged, target)
    assert await driver.volume_ids() == [volume_id]

    await stage(driver, volume_id, staged)
    await publish(driver, volume_id, staged, target)
    assert (target / "file").read_text() == "ours"
    sizes = os.statvfs(target)
    assert sizes.f_blocks * sizes.f_frsize == 64 * MIB
    await take_back(driver, volume_id, staged, target)
    request = pools_pb2.DeleteNeverPublishedRequest(volume_id=volume_id)
    with pytest.raises(DriverError, match="was published"):
        await driver.call(m.DELETE_NEVER_PUBLISHED, request)
    await driver.delete(volume_id)
    await driver.delete(volume_id)
    assert await asyncio.to_thread(ceph_csi.left) == []
    assert await ceph_csi.objects.keys_from("csi.volumes.default", "") == {}
    assert not await ceph_csi.objects.exists(f"csi.volume.{ceph_csi.uuid}")


async def test_a_volume_of_ceph_csi_with_an_empty_file_is_not_rolled_back(
    driver: Running, ceph_csi: CephCsi
) -> None:
    await ceph_csi.make(content="")
    request = pools_pb2.DeleteNeverPublishedRequest(volume_id=ceph_csi.volume_id)
    with pytest.raises(DriverError, match="was published"):
        await driver.call(m.DELETE_NEVER_PUBLISHED, request)
    await driver.delete(ceph_csi.volume_id)


async def test_a_claim_whose_volume_ceph_csi_made_finds_it(
    driver: Running, ceph_csi: CephCsi
) -> None:
    await ceph_csi.make()
    found = await driver.create(REQUEST, mib=32, zones=["zone-a"], parameters=CLASS)
    assert found.volume_id.endswith(ceph_csi.uuid)
    copy = await driver.create(
        "copy", mib=32, zones=["zone-b"], parameters=CLASS, volume=ceph_csi.volume_id
    )
    for volume_id in (copy.volume_id, found.volume_id):
        await driver.delete(volume_id)
    assert await asyncio.to_thread(ceph_csi.left) == []


async def test_a_volume_with_snapshots_of_ceph_csi_is_not_deleted(
    driver: Running, ceph_csi: CephCsi
) -> None:
    await ceph_csi.make()
    await asyncio.to_thread(ceph_csi.take_snapshot)
    request = csi.DeleteVolumeRequest(volume_id=ceph_csi.volume_id)
    assert await driver.refused(m.DELETE_VOLUME, request) is DriverFailure.WRONG_STATE
    await asyncio.to_thread(ceph_csi.remove_snapshot)
    await driver.delete(ceph_csi.volume_id)
    assert await asyncio.to_thread(ceph_csi.left) == []


async def test_a_volume_that_ceph_csi_has_encrypted_is_left_alone(
    driver: Running, ceph_csi: CephCsi, directory: Path
) -> None:
    await ceph_csi.make(**{"csi.volume.encryptKMS": "vault"})
    with pytest.raises(DriverError, match="was encrypted by ceph-csi"):
        await stage(driver, ceph_csi.volume_id, directory / "staged")
    request = csi.DeleteVolumeRequest(volume_id=ceph_csi.volume_id)
    assert await driver.refused(m.DELETE_VOLUME, request) is DriverFailure.WRONG_STATE
    assert await asyncio.to_thread(ceph_csi.left) == [ceph_csi.name]
