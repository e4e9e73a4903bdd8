import signal

import pytest

from tests.ceph.cluster_settings import ZONES
from tests.ceph.keeper import ClusterKeeper
from tests.ceph.loopback_cluster import (
    JOURNAL,
    POOLS,
    ClusterError,
    LoopbackCluster,
    osd,
)


def acting(cluster: LoopbackCluster, pool: str) -> set[int]:
    """The OSDs that objects of the pool are on."""
    maps = [cluster.command("osd map", pool=pool, object=f"object-{n}") for n in range(20)]
    return {number for found in maps for number in found["acting"]}


@pytest.mark.parametrize("zone", ZONES)
def test_the_pool_of_a_zone_is_in_that_zone_alone(cluster: LoopbackCluster, zone: str) -> None:
    assert acting(cluster, POOLS[zone]) == {ZONES.index(zone)}


def test_the_journal_is_in_every_zone(cluster: LoopbackCluster) -> None:
    assert acting(cluster, JOURNAL) == set(range(len(ZONES)))


def test_a_daemon_is_not_started_twice(cluster: LoopbackCluster) -> None:
    with pytest.raises(ClusterError, match=r"mon\.a runs already"):
        cluster.start("mon.a")


def test_a_zone_dies_and_comes_back(cluster: LoopbackCluster) -> None:
    with cluster.dead_zone("zone-b"):
        assert not cluster.is_whole()
    assert cluster.is_whole()


@pytest.mark.parametrize("name", [osd("zone-a"), "mgr.x", "mon.a"])
def test_after_a_daemon_died_the_next_test_gets_a_new_cluster(
    keeper: ClusterKeeper, name: str
) -> None:
    broken = keeper.whole()
    broken.end(name, signal.SIGTERM)
    assert keeper.whole() is not broken
    assert not broken.directory.exists()
    assert keeper.whole().is_whole()
