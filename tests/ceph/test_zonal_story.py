"""Pods with volumes in the zones of a Ceph cluster, by real processes: from claims to files."""

import asyncio
import os
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.volumes import PersistentVolume
from plimsoll.decide.ceph.volume_ids import decompose_volume_id
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.grpc_transport import GrpcTransport
from tests.ceph import guardian
from tests.ceph.interrupted_calls import JournalGround, journal_ground
from tests.ceph.loopback_cluster import POOLS, LoopbackCluster
from tests.ceph.rbd_drivers import CLASS
from tests.ceph.zonal_cluster import ZONE_LABEL, ZONES, ZonalCluster, zonal_cluster
from tests.ceph.zonal_pods import (
    CLAIMS,
    PODS,
    SECONDS,
    VOLUMES,
    end,
    end_pods,
    key,
    make,
    mounted,
    pod,
    running,
    volume_of,
    write_through,
)
from tests.processes.driver.drivers import create_request

DEAD, *ALIVE = ZONES
AT_MOST = timedelta(seconds=40)
"""What a call may take that needs a zone which is down."""
KILLED_AFTER = (0.5, 4.0, 7.0)
"""Seconds after the kill before: when the scheduler, the provisioner and the nodes work."""

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount"),
    pytest.mark.timeout(600),
]


@pytest.fixture
async def ground(cluster: LoopbackCluster) -> AsyncIterator[JournalGround]:
    async with journal_ground(cluster) as made:
        yield made
        await made.assert_empty()
    assert guardian.mounts(cluster.directory) == []
    assert guardian.loop_devices(cluster.directory) == []


@pytest.fixture
async def zonal(
    cluster: LoopbackCluster,
    ground: JournalGround,  # noqa: ARG001 - looks afterwards whether all was given back
) -> AsyncIterator[ZonalCluster]:
    async with zonal_cluster(cluster) as made:
        try:
            yield made
        finally:
            print(made.said())


async def images(ground: JournalGround) -> dict[str, list[str]]:
    """By zone."""
    found = (await ground.contents()).images
    return {zone: sorted(found.get(pool, ())) for zone, pool in POOLS.items()}


async def image_of(zonal: ZonalCluster, name: str) -> str:
    handle = (await volume_of(zonal, name)).spec.csi
    assert handle
    return f"csi-vol-{decompose_volume_id(handle.volume_handle).uuid}"


async def test_pods_have_their_data_in_their_zone_and_find_it_again(
    zonal: ZonalCluster, ground: JournalGround
) -> None:
    for zone in ZONES:
        await make(zonal, f"data-{zone}", zone)
    for zone in ZONES:
        place = await mounted(zonal, f"data-{zone}", zone)
        await asyncio.to_thread(write_through, place / "file", f"of {zone}")
    made = {zone: [await image_of(zonal, f"data-{zone}")] for zone in ZONES}
    assert await images(ground) == made

    await end_pods(zonal, *(f"data-{zone}" for zone in ZONES))
    for zone in ZONES:
        await zonal.client.create(pod(f"data-{zone}"))
    for zone in ZONES:
        place = await mounted(zonal, f"data-{zone}", zone)
        assert (place / "file").read_text() == f"of {zone}"
    assert await images(ground) == made
    await end(zonal, *(f"data-{zone}" for zone in ZONES))


async def test_a_pod_that_wants_another_zone_than_its_data_is_not_scheduled(
    zonal: ZonalCluster,
) -> None:
    await make(zonal, "data", "zone-a")
    await running(zonal, "data")
    await end_pods(zonal, "data")
    await zonal.client.create(pod("data", zone="zone-b"))
    async with asyncio.timeout(SECONDS):
        refused = await zonal.client.until(PODS, key("data"), is_refused)
    assert not refused.spec.node_name
    await end(zonal, "data")


def is_refused(found: Pod) -> bool:
    return any(item.reason == "Unschedulable" for item in found.status.conditions)


async def test_all_processes_are_killed_while_claims_wait_and_none_gets_two_images(
    zonal: ZonalCluster, ground: JournalGround
) -> None:
    names = {f"data-{number}-{zone}": zone for number in range(3) for zone in ZONES}
    for name, zone in names.items():
        await make(zonal, name, zone)
    for pause in KILLED_AFTER:
        await asyncio.sleep(pause)
        zonal.kill_all()
    for name, zone in names.items():
        await mounted(zonal, name, zone)
    by_zone: dict[str, list[str]] = {zone: [] for zone in ZONES}
    for name, zone in names.items():
        by_zone[zone].append(await image_of(zonal, name))
    assert await images(ground) == {zone: sorted(found) for zone, found in by_zone.items()}
    await end(zonal, *names)


async def test_a_zone_that_dies_stops_its_own_volumes_and_no_others(
    cluster: LoopbackCluster, zonal: ZonalCluster
) -> None:
    """It dies while volumes are made, deleted and written to, and nothing is lost or left."""
    await asyncio.gather(*(with_data(zonal, zone) for zone in ZONES))
    volumes = {zone: await volume_of(zonal, f"old-{zone}") for zone in ZONES}
    for zone in ZONES:
        await make(zonal, f"new-{zone}", zone)
        await zonal.client.delete(CLAIMS, key(f"old-{zone}"))
    writing = None
    with cluster.dead_zone(DEAD):
        place = await mounted(zonal, f"kept-{DEAD}", DEAD)
        writing = asyncio.create_task(asyncio.to_thread(write_through, place / "more", "late"))
        for zone in ALIVE:
            await works_on(zonal, zone, volumes[zone])
        for asked in ZONES:
            await calls_for_the_dead_end(zonal, asked, volumes[DEAD])
        assert not writing.done()
    async with asyncio.timeout(SECONDS):
        await writing
    assert (place / "file").read_text() == f"of {DEAD}"
    await works_on(zonal, DEAD, volumes[DEAD])
    await end(zonal, *(f"{name}-{zone}" for name in ("kept", "new") for zone in ZONES))


async def with_data(zonal: ZonalCluster, zone: str) -> None:
    """A pod with a file, and a claim that was used before."""
    for name in ("kept", "old"):
        await make(zonal, f"{name}-{zone}", zone)
    place = await mounted(zonal, f"kept-{zone}", zone)
    await asyncio.to_thread(write_through, place / "file", f"of {zone}")
    await running(zonal, f"old-{zone}")
    await end_pods(zonal, f"old-{zone}")


async def works_on(zonal: ZonalCluster, zone: str, deleted: PersistentVolume) -> None:
    """What was begun when the zone died is done, and data can be written and read."""
    place = await mounted(zonal, f"new-{zone}", zone)
    await asyncio.to_thread(write_through, place / "file", "new")
    place = await mounted(zonal, f"kept-{zone}", zone)
    assert (place / "file").read_text() == f"of {zone}"
    async with asyncio.timeout(SECONDS):
        await zonal.client.until_gone(VOLUMES, ObjectKey("", deleted.name))


async def calls_for_the_dead_end(zonal: ZonalCluster, asked: str, volume: PersistentVolume) -> None:
    """Whichever driver is asked: with an error, and soon."""
    assert volume.spec.csi
    wanted = create_request("more", mib=1, block=True, parameters=CLASS)
    wanted.accessibility_requirements.requisite.add(segments={ZONE_LABEL: DEAD})
    deleted = csi.DeleteVolumeRequest(volume_id=volume.spec.csi.volume_handle)
    client = CsiClient(GrpcTransport(f"unix://{zonal.socket(asked)}"), within=AT_MOST)
    try:
        for refused in (
            client.call(m.CREATE_VOLUME, wanted),
            client.call(m.DELETE_VOLUME, deleted),
        ):
            with pytest.raises(DriverError) as error:
                await refused
            assert "DEADLINE_EXCEEDED" not in str(error.value), error.value
    finally:
        await client.close()
