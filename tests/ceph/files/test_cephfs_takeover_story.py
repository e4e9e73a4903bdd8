"""A zone with volumes in CephFS is lost, taken over with them, and given back, by real processes.

The file system has data pools of `plimsoll ceph make-pools`: the primaries of each are in its zone,
and the other copies in others.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from tests.ceph import guardian
from tests.ceph.cluster_filesystem import FILESYSTEM, ClusterFilesystem
from tests.ceph.cluster_settings import FILES_USER
from tests.ceph.pool_admin import POOLS, PoolAdmin
from tests.ceph.takeover_steps import FLAGS, taken_over_and_given_back
from tests.ceph.zonal_cluster import ZONES, ZonalCluster, ZonalSettings, zonal_cluster

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount"),
    pytest.mark.timeout(600),
]


@pytest.fixture
async def zonal(filesystem: ClusterFilesystem, tmp_path: Path) -> AsyncIterator[ZonalCluster]:
    admin = PoolAdmin(filesystem.cluster, tmp_path, file_system=FILESYSTEM)
    printed = yaml.safe_load((await asyncio.to_thread(admin.made)).stdout)
    assert printed["provisioner"] == "cephfs.plimsoll.dev"
    sizes = {(admin.pools[name]["size"], admin.pools[name]["min_size"]) for name in POOLS.values()}
    assert sizes == {(3, 2)}
    filesystem.cluster.wait_for_figures()
    settings = ZonalSettings(
        backend="cephfs",
        user=FILES_USER,
        options={"fsName": FILESYSTEM},
        parameters={**printed["parameters"], "reach": "ServedDomain"},
        beside=ZONES[-1],
        controller_flags=FLAGS,
    )
    async with zonal_cluster(filesystem.cluster, settings) as made:
        try:
            yield made
        finally:
            print(made.said())
    assert guardian.mounts(filesystem.cluster.directory) == []
    admin.clear()


async def test_a_lost_zone_is_taken_over_with_its_directories_and_given_back(
    zonal: ZonalCluster,
) -> None:
    await taken_over_and_given_back(zonal)
