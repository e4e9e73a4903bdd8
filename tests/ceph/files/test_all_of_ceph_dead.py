"""No daemon of Ceph runs: every call of both backends ends with an error that says so, in the time
that callers give it, and works when they are back. A driver can be started meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.errors import DriverError, DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi, pools_pb2
from plimsoll.wire.csi.methods import Method
from tests.ceph.cluster_filesystem import ClusterFilesystem
from tests.ceph.files import cephfs_drivers
from tests.ceph.files.cephfs_drivers import cephfs_driver
from tests.ceph.files.filesystems import all_killed
from tests.ceph.rbd_drivers import CLASS, rbd_driver
from tests.processes.driver.drivers import Running, create_request, expand_request

SECONDS = 150.0
AT_A_TIME = 4
"""Provisioners ask for the capacity of several classes and segments at once."""

pytestmark = pytest.mark.timeout(600)


@dataclass(slots=True)
class Caller:
    """Of a driver with one of the backends; waits for answers as long as csi-provisioner does."""

    driver: Running
    parameters: Mapping[str, str]

    async def create(self, name: str) -> str:
        """Asks again while the outcome is unknown, as every provisioner does."""
        request = create_request(name, mib=16, zones=("zone-a",), parameters=self.parameters)
        while True:
            try:
                return (await self.driver.call(m.CREATE_VOLUME, request)).volume.volume_id
            except DriverError as error:
                if error.failure is not DriverFailure.UNKNOWN_OUTCOME:
                    raise
            await asyncio.sleep(0.1)

    async def prepare(self) -> list[str]:
        """The volumes that calls are about."""
        return [await self.create(name) for name in ("deleted", "grown", "copied")]

    def calls(self, volume_ids: Sequence[str]) -> Sequence[tuple[Method[Any, Any], Any]]:
        """Each with its request; none has to wait for another."""
        deleted, grown, copied = volume_ids
        new = create_request("new", mib=16, zones=("zone-b",), parameters=self.parameters)
        capacity = csi.GetCapacityRequest(parameters=self.parameters)
        return [
            (m.CREATE_VOLUME, new),
            (m.DELETE_VOLUME, csi.DeleteVolumeRequest(volume_id=deleted)),
            (m.CONTROLLER_EXPAND_VOLUME, expand_request(grown, 32)),
            (m.CREATE_SNAPSHOT, csi.CreateSnapshotRequest(source_volume_id=copied, name="backup")),
            (m.LIST_VOLUMES, csi.ListVolumesRequest()),
            *([(m.GET_CAPACITY, capacity)] * AT_A_TIME),
            (m.LIST_POOLS, pools_pb2.ListPoolsRequest()),
        ]

    async def failures(self, volume_ids: Sequence[str]) -> list[DriverError]:
        """Of all calls at the same time; none of them may succeed."""
        calls = (self.driver.call(*call) for call in self.calls(volume_ids))
        ended = await asyncio.gather(*calls, return_exceptions=True)
        assert [each for each in ended if not isinstance(each, DriverError)] == []
        return [each for each in ended if isinstance(each, DriverError)]

    async def finish(self, volume_ids: Sequence[str]) -> None:
        """All calls succeed, and then there is nothing left."""
        for call in self.calls(volume_ids):
            await self._until_done(*call)
        snapshots = await self.driver.call(m.LIST_SNAPSHOTS, csi.ListSnapshotsRequest())
        for entry in snapshots.entries:
            request = csi.DeleteSnapshotRequest(snapshot_id=entry.snapshot.snapshot_id)
            await self._until_done(m.DELETE_SNAPSHOT, request)
        for volume_id in await self.driver.volume_ids():
            await self._until_done(m.DELETE_VOLUME, csi.DeleteVolumeRequest(volume_id=volume_id))
        assert await self.driver.volume_ids() == []

    async def _until_done(self, method: Method[Any, Any], request: Any) -> None:
        while True:
            try:
                await self.driver.call(method, request)
            except DriverError:
                await asyncio.sleep(0.1)
            else:
                return


@asynccontextmanager
async def callers(filesystem: ClusterFilesystem, directory: Path) -> AsyncIterator[list[Caller]]:
    """Of a driver for images, and of one for directories."""
    places = directory / "images", directory / "files"
    for place in places:
        place.mkdir(parents=True)
    async with (
        rbd_driver(filesystem.cluster, places[0]) as images,
        cephfs_driver(filesystem, places[1]) as directories,
    ):
        yield [Caller(images, CLASS), Caller(directories, cephfs_drivers.CLASS)]


def assert_clear(failures: Sequence[DriverError], filesystem: ClusterFilesystem) -> None:
    """Each tells which monitors did not answer, and that the call may be repeated."""
    told = f"monitor {filesystem.cluster.monitor}, asked as client."
    for failure in failures:
        assert failure.failure is DriverFailure.UNKNOWN_OUTCOME
        assert told in str(failure)
        assert "did not answer in time; look at `ceph health`" in str(failure)


async def test_every_call_says_in_time_which_monitors_do_not_answer(
    filesystem: ClusterFilesystem, tmp_path: Path
) -> None:
    async with callers(filesystem, tmp_path) as each:
        prepared = [await caller.prepare() for caller in each]
        pairs = list(zip(each, prepared, strict=True))
        async with all_killed(filesystem):
            found = await asyncio.gather(*(caller.failures(ids) for caller, ids in pairs))
            for failures in found:
                assert_clear(failures, filesystem)
        async with asyncio.timeout(SECONDS):
            for caller, ids in pairs:
                await caller.finish(ids)


async def test_a_driver_that_is_started_meanwhile_says_so_and_works_when_ceph_is_back(
    filesystem: ClusterFilesystem, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with callers(filesystem, tmp_path / "first") as each:
        prepared = [await caller.prepare() for caller in each]
    async with AsyncExitStack() as stack:
        async with all_killed(filesystem):
            late = await stack.enter_async_context(callers(filesystem, tmp_path / "late"))
            warned = [record for record in caplog.records if "error" in record.__dict__]
            assert {record.getMessage() for record in warned} == {"leftovers not removed"}
            assert len(warned) == len(late)
            for record in warned:
                assert f"monitor {filesystem.cluster.monitor}" in record.__dict__["error"]
            pairs = list(zip(late, prepared, strict=True))
            found = await asyncio.gather(*(caller.failures(ids) for caller, ids in pairs))
            for failures in found:
                assert_clear(failures, filesystem)
        async with asyncio.timeout(SECONDS):
            for caller, ids in pairs:
                await caller.finish(ids)
