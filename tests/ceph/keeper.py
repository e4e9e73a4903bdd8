"""One cluster for all tests, for as long as it is in order, and one file system in it."""

from tests.ceph.cluster_filesystem import ClusterFilesystem
from tests.ceph.loopback_cluster import LoopbackCluster


class ClusterKeeper:
    def __init__(self) -> None:
        self._cluster: LoopbackCluster | None = None
        self._filesystem: ClusterFilesystem | None = None

    def whole(self) -> LoopbackCluster:
        """The cluster, or a new one if a test, or Ceph itself, broke it."""
        if self._cluster is None or not self._cluster.is_whole():
            self.close()
            self._cluster = LoopbackCluster.started()
        return self._cluster

    def filesystem(self) -> ClusterFilesystem:
        """With its metadata servers, which start with the first test that asks."""
        cluster = self.whole()
        if self._filesystem is None:
            self._filesystem = ClusterFilesystem.made(cluster)
        self._filesystem.wait_until_served()
        return self._filesystem

    def close(self) -> None:
        if self._cluster is not None:
            self._cluster.close()
        self._cluster = self._filesystem = None
