"""Connections of a driver's user to the cluster of the tests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from plimsoll.wire.ceph.connection import CephAccess, CephConnection, CephLimits
from tests.ceph.cluster_settings import DRIVER_USER
from tests.ceph.loopback_cluster import LoopbackCluster

LIMITS = CephLimits(operation=timedelta(seconds=3), call=timedelta(seconds=8))
SLOWEST = 12.0
"""Seconds after which any call with these limits has ended."""


def access(cluster: LoopbackCluster) -> CephAccess:
    return CephAccess(monitors=cluster.monitor, user=DRIVER_USER, key=cluster.key)


@asynccontextmanager
async def connected(
    cluster: LoopbackCluster, limits: CephLimits = LIMITS, by: CephAccess | None = None
) -> AsyncIterator[CephConnection]:
    connection = CephConnection(by or access(cluster), limits)
    try:
        yield connection
    finally:
        await connection.close()
