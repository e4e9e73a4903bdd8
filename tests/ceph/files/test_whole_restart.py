"""All daemons of Ceph are killed at once and started again, in the middle of calls of both backends
and under the volumes of pods."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from plimsoll.processes.driver.settings import Mounts
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.methods import Method
from tests.ceph import guardian
from tests.ceph.cluster_filesystem import ClusterFilesystem
from tests.ceph.files import cephfs_drivers
from tests.ceph.files.cephfs_drivers import cephfs_driver
from tests.ceph.files.filesystems import all_killed, files
from tests.ceph.files.test_cephfs_controller import FOLDERS, journal
from tests.ceph.interrupted_calls import journal_ground
from tests.ceph.rbd_drivers import CLASS, rbd_driver
from tests.ceph.staging import publish, stage, take_back
from tests.processes.driver.drivers import (
    MIB,
    Request,
    Response,
    Running,
    create_request,
)

ZONES = ("zone-a", "zone-b", "zone-c")
AT_A_TIME = 4
AT_MOST = timedelta(seconds=40)
"""What a call may take while nothing answers: it gives up one step after the other."""
SECONDS = 150.0
CLEAR = (
    "did not answer in time",
    "another call for it is under way",
    "is not removed yet",
    "which no pool there has",
)

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount"),
    pytest.mark.timeout(600),
]


@dataclass(slots=True)
class Pod:
    """With a volume, beside which others are made and deleted."""

    driver: Running
    parameters: Mapping[str, str]
    directory: Path
    volume_id: str = ""
    written: str = ""
    errors: list[str] = field(default_factory=list)
    has_made: int = 0

    @property
    def target(self) -> Path:
        return self.directory / "target"

    async def begin(self) -> None:
        volume = await self.driver.create(
            "kept", mib=64, zones=("zone-a",), parameters=self.parameters
        )
        self.volume_id = volume.volume_id
        await stage(self.driver, self.volume_id, self.directory / "staged")
        await publish(self.driver, self.volume_id, self.directory / "staged", self.target)
        self.written = await asyncio.to_thread(write, self.target / "file")

    async def end(self) -> None:
        await take_back(self.driver, self.volume_id, self.directory / "staged", self.target)
        await self._until_done("delete", self.volume_id)
        assert await self.driver.volume_ids() == []

    async def make_and_delete(self, name: str, zone: str) -> None:
        """Until each call has succeeded, as provisioners do."""
        for _ in range(2):
            volume_id = await self._until_done(name, "", zone)
            self.has_made += 1
            await self._until_done(name, volume_id)

    async def _until_done(self, name: str, volume_id: str, zone: str = "") -> str:
        """Deletes the volume if there is an id, else makes one."""
        while True:
            try:
                if volume_id:
                    await self._call(m.DELETE_VOLUME, csi.DeleteVolumeRequest(volume_id=volume_id))
                    return volume_id
                wanted = create_request(name, mib=8, zones=(zone,), parameters=self.parameters)
                return (await self._call(m.CREATE_VOLUME, wanted)).volume.volume_id
            except DriverError as error:
                self.errors.append(str(error))
            await asyncio.sleep(0.1)

    async def _call(self, method: Method[Request, Response], request: Request) -> Response:
        return await self.driver.client.call(method, request, within=AT_MOST)


def write(path: Path) -> str:
    data = os.urandom(4 * MIB)
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file)
    return hashlib.sha256(data).hexdigest()


def checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@asynccontextmanager
async def two_pods(filesystem: ClusterFilesystem) -> AsyncIterator[tuple[Pod, Pod]]:
    """One with an image, one with a directory."""
    cluster = filesystem.cluster
    images, directories = cluster.directory / "images-pod", cluster.directory / "files-pod"
    images.mkdir()
    directories.mkdir()
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(rbd_driver(cluster, images, mounts=Mounts.REAL))
        second = await stack.enter_async_context(
            cephfs_driver(filesystem, directories, mounts=Mounts.REAL)
        )
        pods = Pod(first, CLASS, images), Pod(second, cephfs_drivers.CLASS, directories)
        for pod in pods:
            await pod.begin()
        yield pods
        for pod in pods:
            await pod.end()
    for place in (images, directories):
        assert guardian.mounts(place) == []


async def until(is_so: Callable[[], bool]) -> None:
    while not is_so():  # noqa: ASYNC110 - of other tasks, in the middle of their work
        await asyncio.sleep(0.01)


async def test_calls_fail_within_seconds_then_succeed_and_pods_keep_their_data(
    filesystem: ClusterFilesystem,
) -> None:
    async with two_pods(filesystem) as pods, asyncio.timeout(SECONDS):
        working = [
            asyncio.create_task(pod.make_and_delete(f"data-{number}", ZONES[number % 3]))
            for pod in pods
            for number in range(AT_A_TIME)
        ]
        await until(lambda: all(pod.has_made > 1 for pod in pods))
        async with all_killed(filesystem):
            late = [
                asyncio.create_task(asyncio.to_thread(write, pod.target / "late")) for pod in pods
            ]
            await until(lambda: all(pod.errors for pod in pods))
            assert not any(each.done() for each in (*working, *late))
        await asyncio.gather(*working)
        for pod, written in zip(pods, await asyncio.gather(*late), strict=True):
            assert await asyncio.to_thread(checksum, pod.target / "file") == pod.written
            assert await asyncio.to_thread(checksum, pod.target / "late") == written
            unclear = [error for error in pod.errors if not any(each in error for each in CLEAR)]
            assert unclear == [], unclear
    await assert_nothing_is_left(filesystem)


async def assert_nothing_is_left(filesystem: ClusterFilesystem) -> None:
    async with journal_ground(filesystem.cluster) as ground:
        await ground.assert_empty()
    async with files(filesystem) as made:
        for folder in FOLDERS:
            assert await made.names(f"/plimsoll/{folder}") == ()
    assert await journal(filesystem) == []
