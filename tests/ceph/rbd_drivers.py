"""A driver with the rbd backend in the test's own event loop, on the cluster of the tests."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from plimsoll.processes.driver.homes import NodeHomes
from plimsoll.processes.driver.ledger import Ledger
from plimsoll.processes.driver.main import handlers, running
from plimsoll.processes.driver.settings import BackendSettings, Mounts, NodeSettings
from plimsoll.runtime.clock import SteppedClock, SystemClock
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.inprocess import InProcessCsi
from tests.ceph.cluster_settings import DRIVER_USER
from tests.ceph.loopback_cluster import JOURNAL, POOLS, LoopbackCluster
from tests.processes.driver.drivers import NAME, ZONE, Running, nothing

CLASS = {
    "pool": JOURNAL,
    "topologyConstrainedPools": json.dumps(
        [
            {"poolName": pool, "domainSegments": [{"domainLabel": "zone", "value": zone}]}
            for zone, pool in POOLS.items()
        ]
    ),
}
NODE = NodeSettings(id="node-1", topology={ZONE: "zone-a"})


@asynccontextmanager
async def rbd_driver(
    cluster: LoopbackCluster,
    directory: Path,
    *,
    on_write: Callable[[], None] = nothing,
    mounts: Mounts = Mounts.NONE,
    node: NodeSettings = NODE,
    homes: NodeHomes | None = None,
    **options: str,
) -> AsyncIterator[Running]:
    key = cluster.directory / "driver.key"
    key.write_text(cluster.key)
    settings = BackendSettings(
        driver_name=NAME,
        data_dir=directory,
        nodes=(node,),
        options={
            "monitors": cluster.monitor,
            "user": DRIVER_USER,
            "keyFile": str(key),
            "pool": JOURNAL,
            **options,
        },
        mounts=mounts,
        homes=homes or NodeHomes(),
    )
    async with running("rbd", settings, Ledger(directory, on_write=on_write)) as driver:
        client = CsiClient(InProcessCsi(handlers(driver, node, settings), SystemClock()))
        yield Running(driver=driver, client=client, clock=SteppedClock())
