"""A class with pools in two clusters: zone a is in the first one, zones b and c in the second."""

import json
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from plimsoll.decide.ceph.volume_ids import decompose_volume_id
from plimsoll.processes.driver.settings import Mounts, NodeSettings
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.errors import DriverError, DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi, domains_pb2 as pb, pools_pb2
from tests.ceph import guardian
from tests.ceph.cluster_crashes import dying
from tests.ceph.cluster_settings import DRIVER_USER
from tests.ceph.interrupted_calls import CrashedError, JournalGround, journal_ground
from tests.ceph.loopback_cluster import JOURNAL, POOLS, LoopbackCluster
from tests.ceph.rbd_drivers import NODE, rbd_driver
from tests.ceph.staging import publish, stage, take_back
from tests.ceph.test_rbd_node import write_through
from tests.processes.driver.drivers import MIB, ZONE, Running

WEST, EAST = "west", "east"
OTHER = NodeSettings(id="node-2", topology={ZONE: "zone-b"})
CLUSTERS = {"zone-a": "", "zone-b": EAST, "zone-c": EAST}
CLASS = {
    "pool": JOURNAL,
    "topologyConstrainedPools": json.dumps(
        [
            {
                "poolName": POOLS[zone],
                "domainSegments": [{"domainLabel": "zone", "value": zone}],
                **({"clusterID": cluster} if cluster else {}),
            }
            for zone, cluster in CLUSTERS.items()
        ]
    ),
}
SECONDS = 30.0
MOST_MOMENTS = 60

pytestmark = pytest.mark.timeout(600)


@asynccontextmanager
async def on_both(
    first: LoopbackCluster, second: LoopbackCluster, directory: Path, **given: object
) -> AsyncIterator[Running]:
    os.makedirs(directory, exist_ok=True)  # noqa: PTH103 - the loop waits for nothing else here
    key = second.directory / "driver.key"
    key.write_text(second.key)
    further = {
        "clusterId": EAST,
        "monitors": second.monitor,
        "user": DRIVER_USER,
        "keyFile": str(key),
        "pool": JOURNAL,
    }
    listed = directory / "clusters.json"
    listed.write_text(json.dumps([further]))
    options = {"clusterId": WEST, "clusters": str(listed)}
    async with rbd_driver(first, directory, **options, **given) as driver:  # type: ignore[arg-type]
        yield driver


@pytest.fixture
async def grounds(
    cluster: LoopbackCluster, second_cluster: LoopbackCluster
) -> AsyncIterator[dict[str, JournalGround]]:
    async with AsyncExitStack() as stack:
        made = {
            WEST: await stack.enter_async_context(journal_ground(cluster)),
            EAST: await stack.enter_async_context(journal_ground(second_cluster)),
        }
        yield made
        for ground in made.values():
            await ground.assert_empty()


@pytest.fixture
async def driver(
    cluster: LoopbackCluster,
    second_cluster: LoopbackCluster,
    grounds: dict[str, JournalGround],  # noqa: ARG001 - looks whether all was given back
    tmp_path: Path,
) -> AsyncIterator[Running]:
    async with on_both(cluster, second_cluster, tmp_path) as made:
        yield made


async def images_in(grounds: dict[str, JournalGround]) -> dict[str, dict[str, int]]:
    """How many there are, by cluster and pool."""
    return {
        name: {pool: len(found) for pool, found in (await ground.contents()).images.items()}
        for name, ground in grounds.items()
    }


async def create(driver: Running, *zones: str, name: str = "data", mib: int = 8) -> csi.Volume:
    return await driver.create(name, mib=mib, zones=zones, parameters=CLASS)


async def test_a_volume_is_made_in_the_cluster_of_its_zone(
    driver: Running, grounds: dict[str, JournalGround]
) -> None:
    near = await create(driver, "zone-a", name="near")
    far = await create(driver, "zone-b", name="far")
    assert await create(driver, "zone-b", name="far") == far
    assert await images_in(grounds) == {WEST: {POOLS["zone-a"]: 1}, EAST: {POOLS["zone-b"]: 1}}
    ids = [decompose_volume_id(each.volume_id).cluster_id for each in (near, far)]
    assert ids == [WEST, EAST]
    answer = await driver.call(m.LIST_VOLUMES, csi.ListVolumesRequest())
    assert {each.volume.volume_id for each in answer.entries} == {near.volume_id, far.volume_id}
    for each in (near, far):
        await driver.delete(each.volume_id)


async def test_a_name_has_one_volume_whichever_zone_is_asked_for(driver: Running) -> None:
    made = await create(driver, "zone-b")
    with pytest.raises(DriverError, match="exists already"):
        await create(driver, "zone-a")
    assert await create(driver, "zone-a", "zone-b") == made
    await driver.delete(made.volume_id)


async def largest(driver: Running, zone: str) -> int:
    return (await driver.capacity(zone, CLASS)).maximum_volume_size.value


async def test_capacity_is_that_of_the_cluster_of_the_segment(
    driver: Running, second_cluster: LoopbackCluster
) -> None:
    pool, quota, mib = POOLS["zone-b"], 64 * MIB, 40
    with second_cluster.quota(pool, quota):
        second_cluster.wait_for_quota(pool, quota)
        # Lists of images that tests before this one had are still stored there, and are no volume.
        while True:
            stored = second_cluster.stored_bytes(pool)
            free = await largest(driver, "zone-b")
            if second_cluster.stored_bytes(pool) == stored:
                break
        assert free == (quota - stored) // MIB * MIB
        assert min(await largest(driver, "zone-a"), await largest(driver, "zone-c")) > quota
        made = await create(driver, "zone-b", mib=mib)
        # What is stored counts as written to the volume: of the quota its size is taken, no more.
        assert await largest(driver, "zone-b") == quota - mib * MIB
        with pytest.raises(DriverError) as refusal:
            await create(driver, "zone-b", name="more", mib=mib)
        assert refusal.value.failure is DriverFailure.OUT_OF_CAPACITY
        await driver.delete(made.volume_id)


async def test_pools_are_listed_with_their_clusters(driver: Running) -> None:
    request = pools_pb2.ListPoolsRequest(
        classes=[pools_pb2.StorageClass(name="c", parameters=CLASS)]
    )
    listed = (await driver.call(m.LIST_POOLS, request)).pools
    zones = {
        pool.name: [topology.segments[ZONE] for topology in pool.accessible_topology]
        for pool in listed
        if pool.accessible_topology
    }
    assert zones == {
        POOLS["zone-a"]: ["zone-a"],
        f"{EAST}/{POOLS['zone-b']}": ["zone-b"],
        f"{EAST}/{POOLS['zone-c']}": ["zone-c"],
    }


async def test_copies_stay_in_their_cluster(
    driver: Running, grounds: dict[str, JournalGround]
) -> None:
    origin = await create(driver, "zone-b", name="origin")
    snapshot = await driver.take_snapshot(origin.volume_id)
    everywhere = tuple(POOLS)
    clone = await driver.create(
        "clone", mib=8, zones=everywhere, parameters=CLASS, volume=origin.volume_id
    )
    assert decompose_volume_id(clone.volume_id).cluster_id == EAST
    with pytest.raises(DriverError, match="No pool of the class is near a domain"):
        await driver.create(
            "apart", mib=8, zones=("zone-a",), parameters=CLASS, volume=origin.volume_id
        )
    await driver.call(
        m.DELETE_SNAPSHOT, csi.DeleteSnapshotRequest(snapshot_id=snapshot.snapshot_id)
    )
    for each in (origin, clone):
        await driver.delete(each.volume_id)
    assert await images_in(grounds) == {WEST: {}, EAST: {}}


async def test_a_cluster_that_does_not_answer_stops_no_other(
    driver: Running, second_cluster: LoopbackCluster
) -> None:
    far = await create(driver, "zone-b", name="far")
    with second_cluster.without("mon.a", signal.SIGSTOP):
        began = time.monotonic()
        with pytest.raises(DriverError) as refusal:
            await create(driver, "zone-c", name="other")
        assert refusal.value.failure is DriverFailure.OUT_OF_CAPACITY
        assert (await driver.capacity("zone-b", CLASS)).available_capacity == 0
        near = await create(driver, "zone-a", "zone-b", name="near")
        assert decompose_volume_id(near.volume_id).cluster_id == WEST
        assert time.monotonic() - began < SECONDS
    for each in (near, far):
        await driver.delete(each.volume_id)


async def retried(driver: Running) -> csi.Volume:
    """In the other cluster, unless it was made, and its caller may have been told."""
    try:
        return await create(driver, "zone-a")
    except DriverError as refusal:
        if refusal.failure is not DriverFailure.NAME_TAKEN:
            raise
        return await create(driver, "zone-b")


@pytest.mark.parametrize("where", [WEST, EAST])
async def test_a_crash_at_any_step_leaves_one_volume_after_a_retry_in_another_cluster(
    cluster: LoopbackCluster,
    second_cluster: LoopbackCluster,
    grounds: dict[str, JournalGround],
    tmp_path: Path,
    *,
    where: str,
) -> None:
    for moment in range(1, MOST_MOMENTS):
        own = tmp_path / str(moment)
        has_crashed = False
        async with on_both(cluster, second_cluster, own) as first:
            with dying(first, where, moment):
                try:
                    await create(first, "zone-b")
                except (CrashedError, DriverError):
                    has_crashed = True
        async with on_both(cluster, second_cluster, own) as second:
            made = await retried(second)
            # As on the next start.
            await second.driver.backend.settle((), ())
            assert sum(sum(each.values()) for each in (await images_in(grounds)).values()) == 1
            await second.delete(made.volume_id)
        for name, ground in grounds.items():
            contents = await ground.contents()
            assert (contents.images, contents.directory) == ({}, {}), (moment, name)
        if not has_crashed:
            return
    pytest.fail("the call does not come to its end")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
async def test_a_fence_holds_in_all_clusters_and_another_domain_has_the_volumes(
    cluster: LoopbackCluster, second_cluster: LoopbackCluster, grounds: dict[str, JournalGround]
) -> None:
    domain = csi.Topology(segments={ZONE: "zone-a"})
    directory = cluster.directory / "several"
    one, two = directory / "one", directory / "two"
    async with (
        on_both(cluster, second_cluster, one, mounts=Mounts.REAL, node=NODE) as lost,
        on_both(cluster, second_cluster, two, mounts=Mounts.REAL, node=OTHER) as other,
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
            with pytest.raises(OSError, match=r"Input/output error|Read-only file system"):
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
        told = await other.call(m.GET_DOMAIN, pb.GetDomainRequest(domain=domain))
        assert not told.domain.fenced
        for volume_id in made.values():
            await other.delete(volume_id)
    assert guardian.mounts(directory) == []
    assert await images_in(grounds) == {WEST: {}, EAST: {}}
