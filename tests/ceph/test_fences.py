"""Fences of domains on a real cluster: who can write before, meanwhile and afterwards."""

import os
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from plimsoll.decide.ceph.domain_labels import DomainNotKnown, HomeDomain
from plimsoll.decide.ceph.journal.fence_leaders import LEADER
from plimsoll.decide.ceph.volume_ids import decompose_volume_id
from plimsoll.processes.driver.backends.rbd.backend import RbdBackend
from plimsoll.processes.driver.backends.rbd.fuse_devices import FuseDevices
from plimsoll.processes.driver.homes import NodeHomes
from plimsoll.processes.driver.settings import Mounts, NodeSettings
from plimsoll.runtime.clock import SystemClock
from plimsoll.runtime.leading.epoch import LeaderEpoch
from plimsoll.wire.ceph.connection import PoolScope
from plimsoll.wire.ceph.errors import CephError, CephFailure
from plimsoll.wire.ceph.images import RbdImages
from plimsoll.wire.ceph.objects import Creating, ObjectWrite, RadosObjects
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.epochs import epoch_metadata
from plimsoll.wire.csi.errors import DriverError, DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi, domains_pb2 as pb
from plimsoll.wire.csi.transport import Metadata
from tests.ceph import guardian
from tests.ceph.connections import access, connected
from tests.ceph.files.interrupted_files import Death
from tests.ceph.interrupted_calls import CrashedError, JournalGround, journal_ground
from tests.ceph.loopback_cluster import JOURNAL, POOLS, LoopbackCluster
from tests.ceph.rbd_drivers import NODE, rbd_driver
from tests.ceph.staging import publish, stage, take_back
from tests.ceph.test_rbd_node import OTHER, create, lease_book, write_through
from tests.processes.driver.drivers import MIB, ZONE, Running

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")

DOMAIN = csi.Topology(segments={ZONE: "zone-a"})


@pytest.fixture
def directory(cluster: LoopbackCluster) -> Path:
    made = cluster.directory / "driver"
    made.mkdir(exist_ok=True)
    return made


@pytest.fixture
async def ground(cluster: LoopbackCluster, directory: Path) -> AsyncIterator[JournalGround]:
    async with journal_ground(cluster) as made:
        yield made
        await made.assert_empty()
    assert guardian.mounts(directory) == []


async def domain_of(driver: Running) -> pb.Domain:
    return (await driver.call(m.GET_DOMAIN, pb.GetDomainRequest(domain=DOMAIN))).domain


@pytest.mark.usefixtures("ground")
async def test_nothing_in_a_fenced_domain_can_write_and_others_have_its_volumes(
    cluster: LoopbackCluster, directory: Path
) -> None:
    one, two = directory / "one", directory / "two"
    async with (
        rbd_driver(cluster, one, mounts=Mounts.REAL) as first,
        rbd_driver(cluster, two, mounts=Mounts.REAL, node=OTHER) as second,
    ):
        volume_id = await create(first)
        await stage(first, volume_id, one / "staged")
        await publish(first, volume_id, one / "staged", one / "target")
        write_through(one / "target" / "file")
        assert not (await domain_of(second)).fenced
        await second.call(m.FENCE_DOMAIN, pb.FenceDomainRequest(domain=DOMAIN))
        assert (await domain_of(first)).fenced
        with pytest.raises(OSError, match=r"Input/output error|Read-only file system"):
            write_through(one / "target" / "other")
        await stage(second, volume_id, two / "staged")
        await publish(second, volume_id, two / "staged", two / "target")
        assert (two / "target" / "file").read_bytes() == b"data"
        await take_back(first, volume_id, one / "staged", one / "target")
        with pytest.raises(DriverError, match="open on node node-2"):
            await stage(first, volume_id, one / "staged")
        await take_back(second, volume_id, two / "staged", two / "target")
        with pytest.raises(DriverError, match="is fenced"):
            await stage(first, volume_id, one / "staged")
        # Any driver of the cluster may end the fence, not only the one that was asked for it.
        await first.call(m.RELEASE_DOMAIN, pb.ReleaseDomainRequest(domain=DOMAIN))
        assert not (await domain_of(second)).fenced
        await stage(first, volume_id, one / "staged")
        await publish(first, volume_id, one / "staged", one / "target")
        assert (one / "target" / "file").read_bytes() == b"data"
        await take_back(first, volume_id, one / "staged", one / "target")
        await second.delete(volume_id)


@pytest.mark.usefixtures("ground")
async def test_a_node_that_labels_place_in_a_domain_is_fenced_with_it(
    cluster: LoopbackCluster, directory: Path
) -> None:
    """The settings of the driver say nothing of where its node is."""
    homes = NodeHomes()
    homes.put("node-1", HomeDomain(topology={ZONE: "zone-a"}, path=("zone-a",)))
    one, node = directory / "one", NodeSettings(id="node-1")
    async with (
        rbd_driver(cluster, one, mounts=Mounts.REAL, node=node, homes=homes) as first,
        rbd_driver(cluster, directory / "two") as second,
    ):
        volume_id = await create(first)
        await stage(first, volume_id, one / "staged")
        await publish(first, volume_id, one / "staged", one / "target")
        write_through(one / "target" / "file")
        await second.call(m.FENCE_DOMAIN, pb.FenceDomainRequest(domain=DOMAIN))
        with pytest.raises(OSError, match=r"Input/output error|Read-only file system"):
            write_through(one / "target" / "other")
        await take_back(first, volume_id, one / "staged", one / "target")
        with pytest.raises(DriverError, match="is fenced"):
            await stage(first, volume_id, one / "staged")
        # Labels say by now that it is elsewhere, and so it is let in.
        homes.put("node-1", HomeDomain(topology={ZONE: "zone-b"}, path=("zone-b",)))
        await stage(first, volume_id, one / "staged")
        await take_back(first, volume_id, one / "staged", one / "target")
        homes.put("node-1", DomainNotKnown(status="Node node-1 has no label zone."))
        with pytest.raises(DriverError, match="has no label zone"):
            await stage(first, volume_id, one / "staged")
        await second.call(m.RELEASE_DOMAIN, pb.ReleaseDomainRequest(domain=DOMAIN))
        await second.delete(volume_id)


async def test_a_client_that_a_driver_left_half_way_is_fenced_too(
    cluster: LoopbackCluster, ground: JournalGround, directory: Path
) -> None:
    """It died after it had opened the image, and before it wrote down by which client."""
    one = directory / "one"
    async with rbd_driver(cluster, one, mounts=Mounts.REAL) as first:
        volume_id = await create(first)
        await lease_book(first).take(await first.driver.volume(volume_id), NODE)
    (image,) = await ground.images(POOLS["zone-a"]).names()
    await FuseDevices(one / "rbd", access(cluster), SystemClock()).open(POOLS["zone-a"], image)
    async with (
        rbd_driver(cluster, one, mounts=Mounts.REAL) as first,
        rbd_driver(cluster, directory / "two") as second,
    ):
        await stage(first, volume_id, one / "staged")
        await publish(first, volume_id, one / "staged", one / "target")
        write_through(one / "target" / "file")
        await second.call(m.FENCE_DOMAIN, pb.FenceDomainRequest(domain=DOMAIN))
        with pytest.raises(OSError, match=r"Input/output error|Read-only file system"):
            write_through(one / "target" / "other")
        await take_back(first, volume_id, one / "staged", one / "target")
        await second.call(m.RELEASE_DOMAIN, pb.ReleaseDomainRequest(domain=DOMAIN))
        await second.delete(volume_id)


async def fenced_by_a_driver_that_dies(cluster: LoopbackCluster, directory: Path, at: int) -> bool:
    """Whether the call came to that step. In the end no client of the domain can write."""
    death = Death()
    async with (
        connected(cluster) as client,
        rbd_driver(cluster, directory / "one") as first,
        rbd_driver(cluster, directory / "two") as second,
    ):
        volume_id = await create(first)
        volume, leases = await first.driver.volume(volume_id), lease_book(first)
        await leases.take(volume, NODE)
        await leases.confirm(volume, NODE.id, await client.address())
        backend = first.driver.backend
        assert isinstance(backend, RbdBackend)
        backend.cluster.runner.on_operation = death.on_operation
        death.arm(at)
        with suppress(CrashedError):
            await first.call(m.FENCE_DOMAIN, pb.FenceDomainRequest(domain=DOMAIN))
        assert (await domain_of(second)).fenced is not death.is_over
        if death.is_over:
            await second.call(m.FENCE_DOMAIN, pb.FenceDomainRequest(domain=DOMAIN))
        images = RbdImages(client, PoolScope(pool=POOLS["zone-a"]))
        with pytest.raises(CephError) as refused:
            await images.grow(f"csi-vol-{decompose_volume_id(volume_id).uuid}", 48 * MIB)
        assert refused.value.failure is CephFailure.FENCED
        await second.call(m.RELEASE_DOMAIN, pb.ReleaseDomainRequest(domain=DOMAIN))
        await second.delete(volume_id)
    return death.is_over


@pytest.mark.usefixtures("ground")
async def test_a_fence_is_told_when_it_is_complete_and_finished_by_the_next_driver(
    cluster: LoopbackCluster, directory: Path
) -> None:
    at = 1
    while await fenced_by_a_driver_that_dies(cluster, directory, at):
        at += 1
    assert at > 3


def led_by(transitions: int) -> Metadata:
    """What the leader of that number adds to its calls."""
    made = datetime(2030, 1, 31, tzinfo=UTC)
    return epoch_metadata(
        LeaderEpoch(lease="storage/controller", lease_created_at=made, transitions=transitions)
    )


async def test_a_former_leader_with_a_driver_of_its_own_ends_no_fence(
    cluster: LoopbackCluster, ground: JournalGround, tmp_path: Path
) -> None:
    fence, release = pb.FenceDomainRequest(domain=DOMAIN), pb.ReleaseDomainRequest(domain=DOMAIN)
    async with (
        rbd_driver(cluster, tmp_path / "one") as first,
        rbd_driver(cluster, tmp_path / "two") as second,
    ):
        await first.client.call(m.FENCE_DOMAIN, fence, metadata=led_by(3))
        # The next leader finds the fence, and asks for it nevertheless before it counts on it.
        await second.client.call(m.FENCE_DOMAIN, fence, metadata=led_by(4))
        with pytest.raises(DriverError, match="epoch 2030-01-31T00:00:00Z/4 has") as refused:
            await first.client.call(m.RELEASE_DOMAIN, release, metadata=led_by(3))
        assert refused.value.failure is DriverFailure.SUPERSEDED
        assert (await domain_of(first)).fenced

        await second.client.call(m.RELEASE_DOMAIN, release, metadata=led_by(4))
        with pytest.raises(DriverError, match="epoch 2030-01-31T00:00:00Z/4 has") as refused:
            await first.client.call(m.FENCE_DOMAIN, fence, metadata=led_by(3))
        assert refused.value.failure is DriverFailure.SUPERSEDED
        assert not (await domain_of(first)).fenced
    directory = RadosObjects(ground.connection, PoolScope(pool=JOURNAL))
    found = await directory.keys_from(ground.journal.directory.name, LEADER)
    assert found == {f"{LEADER}storage/controller": "2030-01-31T00:00:00+00:00/4"}
    await directory.write(ground.journal.directory.name, ObjectWrite(removed=tuple(found)))


async def test_a_domain_tells_which_pools_would_not_survive_it(
    cluster: LoopbackCluster, tmp_path: Path
) -> None:
    async with rbd_driver(cluster, tmp_path) as driver:
        told = await domain_of(driver)
        pools = {pool.name: (pool.size, pool.min_size, pool.inside) for pool in told.pools}
        assert pools == {POOLS["zone-a"]: (1, 1, 1), JOURNAL: (3, 2, 1)}
        assert told.storage == pb.Domain.UP


async def test_a_domain_whose_storage_is_down_is_told_and_can_be_fenced(
    cluster: LoopbackCluster, tmp_path: Path
) -> None:
    async with rbd_driver(cluster, tmp_path) as driver, connected(cluster) as connection:
        # A journal in the zone, as ceph-csi has it, is lost with it and keeps no fence from coming.
        lost = RadosObjects(connection, PoolScope(pool=POOLS["zone-a"]))
        await lost.write("csi.volumes.default", ObjectWrite(creating=Creating.IDEMPOTENT))
        assert not (await domain_of(driver)).fenced
        with cluster.dead_zone("zone-a"):
            assert (await domain_of(driver)).storage == pb.Domain.DOWN
            await driver.call(m.FENCE_DOMAIN, pb.FenceDomainRequest(domain=DOMAIN))
            listed = await driver.call(m.LIST_DOMAINS, pb.ListDomainsRequest())
            assert [dict(each.domain.segments) for each in listed.domains] == [{ZONE: "zone-a"}]
            await driver.call(m.RELEASE_DOMAIN, pb.ReleaseDomainRequest(domain=DOMAIN))
            assert not (await domain_of(driver)).fenced
