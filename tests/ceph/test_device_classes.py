"""Pools on OSDs of one class: CRUSH takes them from buckets that are in no tree of OSDs."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.gen import csi_pb2 as csi, domains_pb2 as pb
from tests.ceph.loopback_cluster import LoopbackCluster
from tests.ceph.rbd_drivers import rbd_driver
from tests.processes.driver.drivers import MIB, ZONE

POOL, JOURNAL = "fast", "fast-journal"
RULES = {POOL: "osd", JOURNAL: "zone"}
CLASS = {
    "pool": JOURNAL,
    "topologyConstrainedPools": json.dumps(
        [{"poolName": POOL, "domainSegments": [{"domainLabel": "zone", "value": "zone-a"}]}]
    ),
}
DOMAIN = csi.Topology(segments={ZONE: "zone-a"})


@contextmanager
def pools_of_a_class(cluster: LoopbackCluster) -> Iterator[None]:
    """One in zone a, and a journal over all zones."""
    cluster.command("osd crush set-device-class", **{"class": "ssd", "ids": ["0", "1", "2"]})
    for pool, kind in RULES.items():
        root = "zone-a" if pool == POOL else "default"
        rule = {"name": pool, "root": root, "type": kind, "class": "ssd"}
        cluster.command("osd crush rule create-replicated", **rule)
        cluster.make_pool(pool, rule=pool, size=1 if pool == POOL else 3)
    try:
        yield
    finally:
        for pool in RULES:
            cluster.remove_pool(pool)
            cluster.command("osd crush rule rm", name=pool)
        cluster.command("osd crush rm-device-class", ids=["0", "1", "2"])


async def test_they_have_capacity_and_their_domain_can_be_fenced(
    cluster: LoopbackCluster, tmp_path: Path
) -> None:
    with pools_of_a_class(cluster):
        cluster.wait_for_figures()
        async with rbd_driver(cluster, tmp_path, pool=JOURNAL) as driver:
            assert (await driver.capacity("zone-a", CLASS)).maximum_volume_size.value > 100 * MIB
            volume = await driver.create("data", mib=8, zones=["zone-a"], parameters=CLASS)

            await driver.call(m.FENCE_DOMAIN, pb.FenceDomainRequest(domain=DOMAIN))
            request = pb.GetDomainRequest(domain=DOMAIN)
            told = (await driver.call(m.GET_DOMAIN, request)).domain
            assert told.fenced
            copies = {pool.name: (pool.size, pool.inside) for pool in told.pools}
            assert (copies[POOL], copies[JOURNAL]) == ((1, 1), (3, 1))
            await driver.call(m.RELEASE_DOMAIN, pb.ReleaseDomainRequest(domain=DOMAIN))
            await driver.delete(volume.volume_id)
