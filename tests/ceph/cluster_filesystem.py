"""CephFS in the cluster of the tests: its metadata over all zones, a data pool in each of them.

Two metadata servers run, one of which stands by. Files go to the pool that the layout of their
directory names; those of directories without one go to a pool over all zones.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from tests.ceph.cluster_settings import FILES_USER, METADATA_SERVERS, ZONES
from tests.ceph.loopback_cluster import LoopbackCluster

FILESYSTEM = "csi"
METADATA_POOL = "csi-metadata"
DEFAULT_POOL = "csi-default"
DATA_POOLS = {zone: f"csi-{zone}" for zone in ZONES}
ACTIVE, STANDBY = "up:active", "up:standby"


class ClusterFilesystem:
    def __init__(self, cluster: LoopbackCluster) -> None:
        self.cluster = cluster

    @property
    def key(self) -> str:
        """Of the user that a driver for directories connects as."""
        return self.cluster.key_of(FILES_USER)

    @classmethod
    def made(cls, cluster: LoopbackCluster) -> Self:
        for pool in (METADATA_POOL, DEFAULT_POOL):
            cluster.make_pool(pool, rule="across-zones", size=len(ZONES), application="cephfs")
            cluster.command("osd pool set", pool=pool, var="min_size", val="2")
        cluster.command(
            "fs new", fs_name=FILESYSTEM, metadata=METADATA_POOL, data=DEFAULT_POOL, force=True
        )
        for zone, pool in DATA_POOLS.items():
            cluster.make_pool(pool, rule=f"only-{zone}", size=1, application="cephfs")
            cluster.command("fs add_data_pool", fs_name=FILESYSTEM, pool=pool)
        for name in METADATA_SERVERS:
            (cluster.directory / f"mds.{name}").mkdir()
            cluster.start(f"mds.{name}")
        cluster.wait_for_figures()
        return cls(cluster)

    def add_pool(self, pool: str) -> None:
        """With a copy in each zone."""
        rule = "across-zones"
        self.cluster.make_pool(pool, rule=rule, size=len(ZONES), application="cephfs")
        self.cluster.command("osd pool set", pool=pool, var="min_size", val="2")
        self.cluster.command("fs add_data_pool", fs_name=FILESYSTEM, pool=pool)
        self.cluster.wait_for_figures()

    def remove_pool(self, pool: str) -> None:
        self.cluster.command("fs rm_data_pool", fs_name=FILESYSTEM, pool=pool)
        self.cluster.remove_pool(pool)

    def wait_until_served(self) -> None:
        """One server is active, and the other stands by."""
        self.cluster.until(self._is_served, "the metadata servers are not as they should be")

    def _is_served(self) -> bool:
        return sorted(self._servers().values()) == [ACTIVE, STANDBY]

    def _servers(self) -> dict[str, str]:
        """Their states by name."""
        return {server["name"]: server["state"] for server in self._every()}

    @property
    def number(self) -> int:
        """What ceph-csi knows it by, in the ids of volumes."""
        dump: Any = self.cluster.command("fs dump")
        (own,) = (f for f in dump["filesystems"] if f["mdsmap"]["fs_name"] == FILESYSTEM)
        return int(own["id"])

    def _every(self) -> list[dict[str, Any]]:
        dump: Any = self.cluster.command("fs dump")
        (own,) = (f for f in dump["filesystems"] if f["mdsmap"]["fs_name"] == FILESYSTEM)
        return [*dump["standbys"], *own["mdsmap"]["info"].values()]

    @property
    def active(self) -> str:
        """Empty while there is none."""
        return next((name for name, state in self._servers().items() if state == ACTIVE), "")

    @contextmanager
    def without_active(self, number: signal.Signals = signal.SIGKILL) -> Iterator[None]:
        """The active one is killed at the start of the block; the other takes over within it."""
        with self.cluster.without(f"mds.{self.active}", number):
            yield
        self.wait_until_served()

    @contextmanager
    def unserved(self) -> Iterator[None]:
        """No metadata server runs for the length of the block."""
        for name in METADATA_SERVERS:
            self.cluster.end(f"mds.{name}")
        gone = self._numbers()
        try:
            yield
        finally:
            for name in METADATA_SERVERS:
                self.cluster.start(f"mds.{name}")
            self._wait_until_replaced(gone)

    @contextmanager
    def all_killed(self) -> Iterator[None]:
        """No daemon of Ceph runs for the length of the block."""
        gone = self._numbers()
        self.cluster.end_all()
        try:
            yield
        finally:
            self.cluster.start_all()
            self._wait_until_replaced(gone)

    def _numbers(self) -> set[int]:
        return {server["gid"] for server in self._every()}

    def _wait_until_replaced(self, gone: set[int]) -> None:
        """The monitor takes servers that were killed for active until others come."""
        self.cluster.until(
            lambda: gone.isdisjoint(self._numbers()),
            "the monitor does not see the new metadata servers",
        )
        self.wait_until_served()

    def blocklist(self) -> list[str]:
        """The addresses of clients that are fenced."""
        return list(self.cluster.command("osd dump")["blocklist"])

    def clients(self) -> list[dict[str, Any]]:
        """The sessions that the active server knows, without its own."""
        found: Any = self.cluster.tell(f"mds.{self.active}", "session ls")
        return [client for client in found if client["state"] != "closed"]
