"""A class with directories in two clusters, each of which has a file system of its own: zone a is
in the first one, zones b and c are in the second.
"""

import json
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from plimsoll.decide.ceph.volume_ids import decompose_volume_id
from plimsoll.processes.driver.backends.cephfs.backend import NAMESPACE
from plimsoll.processes.driver.settings import Mounts, NodeSettings
from plimsoll.wire.ceph.connection import CephConnection, PoolScope
from plimsoll.wire.ceph.files.filesystem import CephFilesystem
from plimsoll.wire.ceph.objects import RadosObjects
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.errors import DriverError, DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi, domains_pb2 as pb
from tests.ceph import guardian
from tests.ceph.cluster_crashes import dying
from tests.ceph.cluster_filesystem import (
    DATA_POOLS,
    FILESYSTEM,
    METADATA_POOL,
    ClusterFilesystem,
)
from tests.ceph.connections import LIMITS, connected
from tests.ceph.files.cephfs_drivers import NODE, cephfs_driver, cephfs_options
from tests.ceph.files.filesystems import access, files
from tests.ceph.interrupted_calls import CrashedError
from tests.ceph.journal_keys import passing_keys
from tests.ceph.staging import publish, stage, take_back
from tests.ceph.test_rbd_node import write_through
from tests.processes.driver.drivers import ZONE, Running

WEST, EAST = "west", "east"
OTHER = NodeSettings(id="node-2", topology={ZONE: "zone-b"})
CLUSTERS = {"zone-a": "", "zone-b": EAST, "zone-c": EAST}
CLASS = {
    "fsName": FILESYSTEM,
    "topologyConstrainedPools": json.dumps(
        [
            {
                "poolName": DATA_POOLS[zone],
                "domainSegments": [{"domainLabel": "zone", "value": zone}],
                **({"clusterID": cluster} if cluster else {}),
            }
            for zone, cluster in CLUSTERS.items()
        ]
    ),
}
VOLUMES, REMOVED = "/plimsoll/volumes", "/plimsoll/removed"
SECONDS = 40.0
NEVER = 1 << 30

pytestmark = pytest.mark.timeout(600)


@asynccontextmanager
async def on_both(
    first: ClusterFilesystem, second: ClusterFilesystem, directory: Path, **given: object
) -> AsyncIterator[Running]:
    os.makedirs(directory, exist_ok=True)  # noqa: PTH103 - the loop waits for nothing else here
    listed = directory / "clusters.json"
    listed.write_text(json.dumps([cephfs_options(second) | {"clusterId": EAST}]))
    options = {"clusterId": WEST, "clusters": str(listed)}
    async with cephfs_driver(first, directory, **options, **given) as driver:  # type: ignore[arg-type]
        yield driver


@dataclass(frozen=True, slots=True)
class FilesystemGround:
    """What a cluster has of volumes."""

    fs: CephFilesystem
    connection: CephConnection

    async def volumes(self) -> int:
        return len(await self.fs.names(VOLUMES))

    async def leftovers(self) -> list[str]:
        """Directories that are being removed, and keys of the journal."""
        journal = RadosObjects(self.connection, PoolScope(pool=METADATA_POOL, namespace=NAMESPACE))
        found = list(await self.fs.names(REMOVED))
        for name in await journal.names():
            found += await passing_keys(journal, name)
        return found


@pytest.fixture
async def grounds(
    filesystem: ClusterFilesystem, second_filesystem: ClusterFilesystem
) -> AsyncIterator[dict[str, FilesystemGround]]:
    async with AsyncExitStack() as stack:
        made = {}
        for name, each in ((WEST, filesystem), (EAST, second_filesystem)):
            fs = await stack.enter_async_context(files(each))
            by = connected(each.cluster, LIMITS, access(each))
            made[name] = FilesystemGround(fs, await stack.enter_async_context(by))
        yield made
        for ground in made.values():
            assert (await ground.volumes(), await ground.leftovers()) == (0, [])


@pytest.fixture
async def driver(
    filesystem: ClusterFilesystem,
    second_filesystem: ClusterFilesystem,
    grounds: dict[str, FilesystemGround],  # noqa: ARG001 - looks whether all was given back
    tmp_path: Path,
) -> AsyncIterator[Running]:
    async with on_both(filesystem, second_filesystem, tmp_path) as made:
        yield made


async def create(driver: Running, *zones: str, name: str = "data", mib: int = 8) -> csi.Volume:
    return await driver.create(name, mib=mib, zones=zones, parameters=CLASS)


def cluster_of(volume: csi.Volume) -> str:
    return decompose_volume_id(volume.volume_id).cluster_id


async def test_a_directory_is_made_in_the_cluster_of_its_zone_and_copies_stay_there(
    driver: Running, grounds: dict[str, FilesystemGround]
) -> None:
    near = await create(driver, "zone-a", name="near")
    far = await create(driver, "zone-b", name="far")
    assert await create(driver, "zone-a", "zone-b", name="far") == far
    with pytest.raises(DriverError, match="exists already"):
        await create(driver, "zone-a", name="far")
    assert (cluster_of(near), cluster_of(far)) == (WEST, EAST)
    assert [await each.volumes() for each in grounds.values()] == [1, 1]

    everywhere = tuple(DATA_POOLS)
    clone = await driver.create(
        "clone", mib=8, zones=everywhere, parameters=CLASS, volume=far.volume_id
    )
    assert cluster_of(clone) == EAST
    with pytest.raises(DriverError, match="No pool of the class is near a domain"):
        await driver.create(
            "apart", mib=8, zones=("zone-a",), parameters=CLASS, volume=far.volume_id
        )

    answer = await driver.call(m.LIST_VOLUMES, csi.ListVolumesRequest())
    made = (near, far, clone)
    assert {each.volume.volume_id for each in answer.entries} == {each.volume_id for each in made}
    for each in made:
        await driver.delete(each.volume_id)


async def test_a_cluster_that_does_not_answer_stops_no_other(
    driver: Running, second_filesystem: ClusterFilesystem
) -> None:
    far = await create(driver, "zone-b", name="far")
    with second_filesystem.cluster.without("mon.a", signal.SIGSTOP):
        began = time.monotonic()
        with pytest.raises(DriverError) as refusal:
            await create(driver, "zone-c", name="other")
        assert refusal.value.failure is DriverFailure.OUT_OF_CAPACITY
        assert (await driver.capacity("zone-b", CLASS)).available_capacity == 0
        near = await create(driver, "zone-a", "zone-b", name="near")
        assert cluster_of(near) == WEST
        assert time.monotonic() - began < SECONDS
    for each in (near, far):
        await driver.delete(each.volume_id)


async def test_what_a_lost_cluster_was_making_is_removed_when_it_answers_again(
    driver: Running, grounds: dict[str, FilesystemGround], second_filesystem: ClusterFilesystem
) -> None:
    with second_filesystem.unserved():
        with pytest.raises(DriverError, match="did not answer in time"):
            await create(driver, "zone-b")
        made = await create(driver, "zone-a")
        assert cluster_of(made) == WEST
    await driver.driver.backend.settle((), ())
    assert [await each.volumes() for each in grounds.values()] == [1, 0]
    await driver.delete(made.volume_id)


async def retried(driver: Running) -> csi.Volume:
    """In the other cluster, unless it was made, and its caller may have been told."""
    try:
        return await create(driver, "zone-a")
    except DriverError as refusal:
        if refusal.failure is not DriverFailure.NAME_TAKEN:
            raise
        return await create(driver, "zone-b")


@pytest.mark.parametrize("where", [WEST, EAST])
async def test_a_crash_leaves_one_volume_after_a_retry_in_another_cluster(
    filesystem: ClusterFilesystem,
    second_filesystem: ClusterFilesystem,
    grounds: dict[str, FilesystemGround],
    tmp_path: Path,
    *,
    where: str,
) -> None:
    """At a step in the middle and at the last one; every one of them is tried with images, whose
    requests are written by the same code."""
    async with on_both(filesystem, second_filesystem, tmp_path) as first:
        with dying(first, where, NEVER) as whole:
            made = await create(first, "zone-b")
        await first.delete(made.volume_id)
    for moment in (whole.number // 2, whole.number):
        own = tmp_path / str(moment)
        async with on_both(filesystem, second_filesystem, own) as first:
            with dying(first, where, moment), pytest.raises((CrashedError, DriverError)):
                await create(first, "zone-b")
        async with on_both(filesystem, second_filesystem, own) as second:
            made = await retried(second)
            await second.driver.backend.settle((), ())
            assert sum([await each.volumes() for each in grounds.values()]) == 1
            await second.delete(made.volume_id)
        for name, ground in grounds.items():
            assert (await ground.volumes(), await ground.leftovers()) == (0, []), (moment, name)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
async def test_a_fence_holds_in_all_clusters_and_another_domain_has_the_directories(
    filesystem: ClusterFilesystem,
    second_filesystem: ClusterFilesystem,
    grounds: dict[str, FilesystemGround],  # noqa: ARG001 - looks whether all was given back
) -> None:
    domain = csi.Topology(segments={ZONE: "zone-a"})
    directory = filesystem.cluster.directory / "several"
    one, two = directory / "one", directory / "two"
    async with (
        on_both(filesystem, second_filesystem, one, mounts=Mounts.REAL, node=NODE) as lost,
        on_both(filesystem, second_filesystem, two, mounts=Mounts.REAL, node=OTHER) as other,
    ):
        made = {
            zone: (await create(lost, zone, name=zone, mib=32)).volume_id
            for zone in ("zone-a", "zone-b")
        }
        for zone, volume_id in made.items():
            await stage(lost, volume_id, one / f"staged-{zone}")
            await publish(lost, volume_id, one / f"staged-{zone}", one / zone)
            write_through(one / zone / "file")

        await other.call(m.FENCE_DOMAIN, pb.FenceDomainRequest(domain=domain))
        for zone, volume_id in made.items():
            with pytest.raises(OSError, match=r"shutdown|Input/output error|not connected"):
                write_through(one / zone / "late")
            await stage(other, volume_id, two / f"staged-{zone}")
            await publish(other, volume_id, two / f"staged-{zone}", two / zone)
            assert (two / zone / "file").read_bytes() == b"data"

        for zone, volume_id in made.items():
            await take_back(lost, volume_id, one / f"staged-{zone}", one / zone)
            await take_back(other, volume_id, two / f"staged-{zone}", two / zone)
            with pytest.raises(DriverError, match="domain of node node-1 is fenced"):
                await stage(lost, volume_id, one / f"staged-{zone}")
        await lost.call(m.RELEASE_DOMAIN, pb.ReleaseDomainRequest(domain=domain))
        for volume_id in made.values():
            await other.delete(volume_id)
    assert guardian.mounts(directory) == []
