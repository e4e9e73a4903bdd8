"""A driver with the cephfs backend in the test's own event loop, on the cluster of the tests."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from plimsoll.processes.driver.ledger import Ledger
from plimsoll.processes.driver.main import handlers, running
from plimsoll.processes.driver.settings import BackendSettings, Mounts, NodeSettings
from plimsoll.runtime.clock import SteppedClock, SystemClock
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.inprocess import InProcessCsi
from tests.ceph.cluster_filesystem import DATA_POOLS, FILESYSTEM, ClusterFilesystem
from tests.ceph.cluster_settings import FILES_USER
from tests.processes.driver.drivers import NAME, ZONE, Running

CLASS = {
    "fsName": FILESYSTEM,
    "topologyConstrainedPools": json.dumps(
        [
            {"poolName": pool, "domainSegments": [{"domainLabel": "zone", "value": zone}]}
            for zone, pool in DATA_POOLS.items()
        ]
    ),
}
NODE = NodeSettings(id="node-1", topology={ZONE: "zone-a"})


def cephfs_options(filesystem: ClusterFilesystem) -> dict[str, str]:
    key = filesystem.cluster.directory / "files.key"
    key.write_text(filesystem.key)
    return {
        "monitors": filesystem.cluster.monitor,
        "user": FILES_USER,
        "keyFile": str(key),
        "fsName": FILESYSTEM,
    }


@asynccontextmanager
async def cephfs_driver(
    filesystem: ClusterFilesystem,
    directory: Path,
    *,
    mounts: Mounts = Mounts.NONE,
    node: NodeSettings = NODE,
    **options: str,
) -> AsyncIterator[Running]:
    settings = BackendSettings(
        driver_name=NAME,
        data_dir=directory,
        nodes=(node,),
        options=cephfs_options(filesystem) | options,
        mounts=mounts,
    )
    async with running("cephfs", settings, Ledger(directory)) as driver:
        client = CsiClient(InProcessCsi(handlers(driver, node, settings), SystemClock()))
        yield Running(driver=driver, client=client, clock=SteppedClock())
