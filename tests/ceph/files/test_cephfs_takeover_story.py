"""A zone with volumes in CephFS is lost, taken over with them, and given back, by real processes.

The file system has a pool whose copies are in all zones, and which the class says to be near the
lost one.
"""

import json
import os
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.ceph import guardian
from tests.ceph.cluster_filesystem import FILESYSTEM, ClusterFilesystem
from tests.ceph.cluster_settings import FILES_USER
from tests.ceph.takeover_steps import FLAGS, LOST, taken_over_and_given_back
from tests.ceph.zonal_cluster import ZONES, ZonalCluster, ZonalSettings, zonal_cluster

POOL = "csi-survives"

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount"),
    pytest.mark.timeout(600),
]


@pytest.fixture
def pool(filesystem: ClusterFilesystem) -> Iterator[str]:
    filesystem.add_pool(POOL)
    yield POOL
    filesystem.remove_pool(POOL)


@pytest.fixture
async def zonal(filesystem: ClusterFilesystem, pool: str) -> AsyncIterator[ZonalCluster]:
    near = [{"poolName": pool, "domainSegments": [{"domainLabel": "zone", "value": LOST}]}]
    settings = ZonalSettings(
        backend="cephfs",
        user=FILES_USER,
        options={"fsName": FILESYSTEM},
        parameters={
            "fsName": FILESYSTEM,
            "topologyConstrainedPools": json.dumps(near),
            "reach": "ServedDomain",
        },
        beside=ZONES[-1],
        controller_flags=FLAGS,
    )
    async with zonal_cluster(filesystem.cluster, settings) as made:
        try:
            yield made
        finally:
            print(made.said())
    assert guardian.mounts(filesystem.cluster.directory) == []


async def test_a_lost_zone_is_taken_over_with_its_directories_and_given_back(
    zonal: ZonalCluster,
) -> None:
    await taken_over_and_given_back(zonal)
