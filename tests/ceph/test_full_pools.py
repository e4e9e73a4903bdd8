"""What a driver does while the pool of a zone is full, by its quota."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.errors import DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi
from tests.ceph.interrupted_calls import JournalGround, journal_ground
from tests.ceph.loopback_cluster import POOLS, LoopbackCluster
from tests.ceph.rbd_drivers import CLASS, rbd_driver
from tests.processes.driver.drivers import MIB, Running

FULL = POOLS["zone-a"]


@pytest.fixture
async def ground(cluster: LoopbackCluster) -> AsyncIterator[JournalGround]:
    async with journal_ground(cluster) as made:
        yield made
        await made.assert_empty()


@pytest.fixture
async def driver(
    cluster: LoopbackCluster,
    ground: JournalGround,  # noqa: ARG001 - looks afterwards whether all was given back
    tmp_path: Path,
) -> AsyncIterator[Running]:
    async with rbd_driver(cluster, tmp_path) as made:
        yield made


@pytest.mark.parametrize("features", ["layering", "layering,exclusive-lock,object-map,fast-diff"])
async def test_a_full_zone_takes_no_volume_and_no_snapshot_and_lets_volumes_be_deleted(
    cluster: LoopbackCluster, driver: Running, features: str
) -> None:
    parameters = CLASS | {"imageFeatures": features}
    volume = await driver.create("data", mib=8, zones=("zone-a",), parameters=parameters)
    with cluster.quota(FULL, 4 * MIB):
        await asyncio.to_thread(cluster.fill, FULL, 8 * MIB)
        refused = await driver.cannot_create("more", mib=8, zones=["zone-a"], parameters=parameters)
        assert refused is DriverFailure.OUT_OF_CAPACITY
        wanted = csi.CreateSnapshotRequest(source_volume_id=volume.volume_id, name="backup")
        assert await driver.refused(m.CREATE_SNAPSHOT, wanted) is DriverFailure.OUT_OF_CAPACITY
        listed = await driver.call(m.LIST_SNAPSHOTS, csi.ListSnapshotsRequest())
        assert [*listed.entries] == []
        await driver.delete(volume.volume_id)
        cluster.empty(FULL)
