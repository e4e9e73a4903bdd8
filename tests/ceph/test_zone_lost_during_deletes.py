"""The OSD of a zone is killed while volumes are deleted, some of them half-way."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from plimsoll.wire.ceph.connection import PoolScope
from plimsoll.wire.ceph.objects import RadosObjects
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.gen import csi_pb2 as csi
from tests.ceph.interrupted_calls import JournalGround, journal_ground
from tests.ceph.loopback_cluster import POOLS, LoopbackCluster
from tests.ceph.rbd_drivers import CLASS, rbd_driver
from tests.processes.driver.drivers import Running

LOST, OTHER = "zone-a", "zone-b"
SECONDS = 180.0
AT_MOST = timedelta(seconds=40)
"""What a call may take: the event loop stands still while the zone is killed."""
KEPT_BY_LIBRBD = {"rbd_directory", "rbd_info", "rbd_trash", "rbd_children"}
"""What every pool has that ever had an image."""


@pytest.fixture
async def ground(cluster: LoopbackCluster) -> AsyncIterator[JournalGround]:
    async with journal_ground(cluster) as made:
        before = await objects(made)
        yield made
        await made.assert_empty()
        assert await objects(made) <= before | KEPT_BY_LIBRBD


async def objects(ground: JournalGround) -> set[str]:
    """The names of all that are in the pools of both zones."""
    scopes = (PoolScope(pool=POOLS[zone]) for zone in (LOST, OTHER))
    return {
        name for scope in scopes for name in await RadosObjects(ground.connection, scope).names()
    }


@pytest.fixture
async def driver(
    cluster: LoopbackCluster,
    ground: JournalGround,  # noqa: ARG001 - looks afterwards whether all was given back
    tmp_path: Path,
) -> AsyncIterator[Running]:
    async with rbd_driver(cluster, tmp_path) as made:
        yield made


async def create(driver: Running, zone: str, number: int) -> list[str]:
    made = await asyncio.gather(
        *(
            driver.create(f"{zone}-{own}", mib=8, zones=(zone,), parameters=CLASS)
            for own in range(number)
        )
    )
    return [volume.volume_id for volume in made]


async def outcomes(driver: Running, volume_ids: Sequence[str]) -> dict[str, object]:
    """Of deleting all of them at the same time: an answer, or an error."""
    requests = (csi.DeleteVolumeRequest(volume_id=volume_id) for volume_id in volume_ids)
    calls = (driver.client.call(m.DELETE_VOLUME, each, within=AT_MOST) for each in requests)
    ended = await asyncio.gather(*calls, return_exceptions=True)
    return dict(zip(volume_ids, ended, strict=True))


def failures(ended: Mapping[str, object]) -> dict[str, str]:
    return {id_: str(end) for id_, end in ended.items() if isinstance(end, BaseException)}


async def images_left(ground: JournalGround, zone: str) -> int:
    return len(await ground.images(POOLS[zone]).names())


@pytest.mark.parametrize("deleted_before", [1, 5])
async def test_every_delete_ends_and_repeated_leaves_nothing(
    cluster: LoopbackCluster, driver: Running, ground: JournalGround, deleted_before: int
) -> None:
    number = 10
    lost, other = await create(driver, LOST, number), await create(driver, OTHER, 3)
    deleting = asyncio.create_task(outcomes(driver, lost))
    while await images_left(ground, LOST) > number - deleted_before:
        pass
    with cluster.dead_zone(LOST):
        assert failures(await outcomes(driver, other)) == {}
        failed = failures(await deleting)
        assert failed
        for told in failed.values():
            assert "pool rbd-zone-a did not answer in time" in told
        assert set(await driver.volume_ids()) <= failed.keys()
    async with asyncio.timeout(SECONDS):
        while failed:
            failed = failures(await outcomes(driver, [*failed]))
    assert await driver.volume_ids() == []
