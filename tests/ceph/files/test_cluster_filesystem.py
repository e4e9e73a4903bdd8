import time

from tests.ceph.cluster_filesystem import ClusterFilesystem


def test_the_second_metadata_server_takes_over_within_seconds(
    filesystem: ClusterFilesystem,
) -> None:
    first = filesystem.active
    with filesystem.without_active():
        begun = time.monotonic()
        filesystem.cluster.until(
            lambda: filesystem.active not in {"", first}, "no metadata server took over"
        )
        assert time.monotonic() - begun < 20
