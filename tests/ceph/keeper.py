"""One cluster for all tests, for as long as it is in order."""

from tests.ceph.loopback_cluster import LoopbackCluster


class ClusterKeeper:
    def __init__(self) -> None:
        self._cluster: LoopbackCluster | None = None

    def whole(self) -> LoopbackCluster:
        """The cluster, or a new one if a test, or Ceph itself, broke it."""
        if self._cluster is None or not self._cluster.is_whole():
            self.close()
            self._cluster = LoopbackCluster.started()
        return self._cluster

    def close(self) -> None:
        if self._cluster is not None:
            self._cluster.close()
        self._cluster = None
