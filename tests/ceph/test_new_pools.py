"""A pool of which Ceph has told nothing yet, because it is new or no manager runs."""

import json
import signal
from pathlib import Path

import pytest

from plimsoll.wire.csi.errors import DriverError, DriverFailure
from tests.ceph.loopback_cluster import JOURNAL, LoopbackCluster
from tests.ceph.rbd_drivers import rbd_driver

POOL = "new"
CLASS = {
    "pool": JOURNAL,
    "topologyConstrainedPools": json.dumps(
        [{"poolName": POOL, "domainSegments": [{"domainLabel": "zone", "value": "zone-a"}]}]
    ),
}


async def test_it_takes_no_volume_yet_and_its_node_is_not_refused(
    cluster: LoopbackCluster, tmp_path: Path
) -> None:
    async with rbd_driver(cluster, tmp_path) as driver:
        try:
            with cluster.without("mgr.x", signal.SIGSTOP):
                cluster.make_pool(POOL, rule="only-zone-a", size=1)
                with pytest.raises(
                    DriverError, match=r"new: Ceph has not told yet how much is free"
                ) as refused:
                    await driver.create("data", mib=8, zones=["zone-a"], parameters=CLASS)
                assert refused.value.failure is DriverFailure.UNKNOWN_OUTCOME
            cluster.wait_for_figures()
            volume = await driver.create("data", mib=8, zones=["zone-a"], parameters=CLASS)
            await driver.delete(volume.volume_id)
        finally:
            cluster.remove_pool(POOL)
