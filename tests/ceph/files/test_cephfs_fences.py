"""Fences of domains for volumes in CephFS: who can write before, meanwhile and afterwards."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from plimsoll.processes.driver.settings import Mounts, NodeSettings
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.csi.gen import csi_pb2 as csi, domains_pb2 as pb
from tests.ceph import guardian
from tests.ceph.cluster_filesystem import DATA_POOLS, ClusterFilesystem
from tests.ceph.files.cephfs_drivers import CLASS, NODE, cephfs_driver
from tests.ceph.staging import publish, stage, take_back
from tests.ceph.test_rbd_node import write_through
from tests.processes.driver.drivers import ZONE, Running

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")

DOMAIN = csi.Topology(segments={ZONE: "zone-a"})
OTHER = NodeSettings(id="node-2", topology={ZONE: "zone-b"})


@pytest.fixture
def directory(filesystem: ClusterFilesystem) -> Path:
    """Below that of the cluster: should a test be killed, its mounts go with the cluster."""
    made = filesystem.cluster.directory / "fences"
    made.mkdir(exist_ok=True)
    return made


@pytest.fixture
async def first(filesystem: ClusterFilesystem, directory: Path) -> AsyncIterator[Running]:
    own = directory / "one"
    async with cephfs_driver(filesystem, own, mounts=Mounts.REAL, node=NODE) as made:
        yield made
    assert guardian.mounts(directory) == []


@pytest.fixture
async def second(filesystem: ClusterFilesystem, directory: Path) -> AsyncIterator[Running]:
    own = directory / "two"
    async with cephfs_driver(filesystem, own, mounts=Mounts.REAL, node=OTHER) as made:
        yield made


async def domain_of(driver: Running) -> pb.Domain:
    return (await driver.call(m.GET_DOMAIN, pb.GetDomainRequest(domain=DOMAIN))).domain


async def test_nothing_in_a_fenced_domain_can_write_and_others_go_on(
    first: Running, second: Running, directory: Path
) -> None:
    one, two = directory / "one", directory / "two"
    volume = await first.create("data", mib=32, zones=["zone-a"], parameters=CLASS)
    volume_id = volume.volume_id
    for driver, own in ((first, one), (second, two)):
        await stage(driver, volume_id, own / "staged")
        await publish(driver, volume_id, own / "staged", own / "target")
    write_through(one / "target" / "file")
    assert not (await domain_of(second)).fenced

    await second.call(m.FENCE_DOMAIN, pb.FenceDomainRequest(domain=DOMAIN))
    assert (await domain_of(first)).fenced
    with pytest.raises(OSError, match=r"shutdown|Input/output error|not connected"):
        write_through(one / "target" / "other")
    write_through(two / "target" / "other")
    with pytest.raises(DriverError, match="domain of node node-1 is fenced"):
        await publish(first, volume_id, one / "staged", one / "more")
    await take_back(first, volume_id, one / "staged", one / "target")
    with pytest.raises(DriverError, match="domain of node node-1 is fenced"):
        await stage(first, volume_id, one / "staged")
    assert (two / "target" / "file").read_bytes() == b"data"

    # Any driver of the cluster may end the fence, not only the one that was asked for it.
    await first.call(m.RELEASE_DOMAIN, pb.ReleaseDomainRequest(domain=DOMAIN))
    assert not (await domain_of(second)).fenced
    await stage(first, volume_id, one / "staged")
    await publish(first, volume_id, one / "staged", one / "target")
    write_through(one / "target" / "again")
    assert (one / "target" / "other").read_bytes() == b"data"
    for driver, own in ((first, one), (second, two)):
        await take_back(driver, volume_id, own / "staged", own / "target")
    await first.delete(volume_id)


async def test_a_domain_tells_which_pools_of_the_file_system_would_not_survive_it(
    first: Running,
) -> None:
    told = await domain_of(first)
    assert DATA_POOLS["zone-a"] in {pool.name for pool in told.pools}
    assert DATA_POOLS["zone-b"] not in {pool.name for pool in told.pools}
    assert told.storage == pb.Domain.UP
