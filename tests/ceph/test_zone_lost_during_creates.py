"""The OSD of a zone hangs, and no monitor has noticed it yet, while a volume is made there."""

import signal
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from plimsoll.wire.ceph.connection import PoolScope
from plimsoll.wire.ceph.objects import RadosObjects
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.csi.gen import csi_pb2 as csi
from tests.ceph.connections import connected
from tests.ceph.loopback_cluster import POOLS, LoopbackCluster, osd
from tests.ceph.rbd_drivers import CLASS, rbd_driver
from tests.processes.driver.drivers import Running, create_request

ELSEWHERE = "journal-elsewhere"
MOST = 9.0
"""Seconds; callers wait for ten. One operation has five."""
LONG = timedelta(seconds=40)


@pytest.fixture
def elsewhere(cluster: LoopbackCluster) -> Iterator[dict[str, str]]:
    """A class whose journal is in another zone, and goes on."""
    cluster.make_pool(ELSEWHERE, rule="only-zone-b", size=1)
    cluster.command("osd set", key="nodown")
    yield CLASS | {"pool": ELSEWHERE}
    cluster.command("osd unset", key="nodown")
    cluster.remove_pool(ELSEWHERE)


async def told(driver: Running, wanted: csi.CreateVolumeRequest) -> tuple[str, float]:
    """The error, and after how many seconds it came."""
    began = time.monotonic()
    with pytest.raises(DriverError) as refused:
        await driver.client.call(m.CREATE_VOLUME, wanted, within=LONG)
    return str(refused.value), time.monotonic() - began


async def test_the_call_names_the_pool_while_its_caller_still_waits(
    cluster: LoopbackCluster, elsewhere: dict[str, str], tmp_path: Path
) -> None:
    async with rbd_driver(cluster, tmp_path, pool=ELSEWHERE) as driver:
        wanted = create_request("data", mib=8, zones=("zone-a",), parameters=elsewhere)
        await driver.call(m.GET_CAPACITY, csi.GetCapacityRequest(parameters=elsewhere))
        with cluster.without(osd("zone-a"), signal.SIGSTOP):
            why, seconds = await told(driver, wanted)
            assert "pool rbd-zone-a did not answer in time" in why
            assert seconds < MOST
        cluster.wait_until_writable()
        volume = await driver.client.call(m.CREATE_VOLUME, wanted, within=LONG)
        await driver.delete(volume.volume.volume_id)
        assert await driver.volume_ids() == []
    async with connected(cluster) as connection:
        left = await RadosObjects(connection, PoolScope(pool=POOLS["zone-a"])).names()
        assert [name for name in left if name.startswith(("csi.", "rbd_id.", "rbd_header."))] == []
