"""One cluster for all tests, for as long as it is in order, and one file system in it; a second one
for those that ask for it, with a file system of its own if they ask for that."""

from tests.ceph.cluster_filesystem import ClusterFilesystem
from tests.ceph.loopback_cluster import LoopbackCluster


class ClusterKeeper:
    def __init__(self) -> None:
        self._cluster: LoopbackCluster | None = None
        self._filesystem: ClusterFilesystem | None = None
        self._second: LoopbackCluster | None = None
        self._second_filesystem: ClusterFilesystem | None = None

    def whole(self) -> LoopbackCluster:
        """The cluster, or a new one if a test, or Ceph itself, broke it."""
        if self._cluster is None or not self._cluster.is_whole():
            self._end_first()
            self._cluster = LoopbackCluster.started()
        # An earlier test may have started daemons again, which have told nothing yet.
        self._cluster.wait_for_figures()
        return self._cluster

    def second(self) -> LoopbackCluster:
        """Of the same zones, and with pools of the same names."""
        if self._second is None or not self._second.is_whole():
            self.end_second()
            self._second = LoopbackCluster.started()
        return self._second

    def end_second(self) -> None:
        """Its daemons take as much of the machine as those of the first one."""
        if self._second is not None:
            self._second.close()
        self._second = self._second_filesystem = None

    def filesystem(self) -> ClusterFilesystem:
        """With its metadata servers, which start with the first test that asks."""
        cluster = self.whole()
        if self._filesystem is None:
            self._filesystem = ClusterFilesystem.made(cluster)
        self._filesystem.wait_until_served()
        return self._filesystem

    def second_filesystem(self) -> ClusterFilesystem:
        """In the second cluster."""
        cluster = self.second()
        if self._second_filesystem is None:
            self._second_filesystem = ClusterFilesystem.made(cluster)
        self._second_filesystem.wait_until_served()
        return self._second_filesystem

    def close(self) -> None:
        self.end_second()
        self._end_first()

    def _end_first(self) -> None:
        if self._cluster is not None:
            self._cluster.close()
        self._cluster = self._filesystem = None
