"""What images and directories have in common: where a volume goes, what is told of that, and a zone
whose storage is killed while volumes are made and a pod reads."""

import asyncio
import hashlib
import os
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from plimsoll.decide.annotations import PLACEMENT_REASON, PREFERRED_TOPOLOGY
from plimsoll.processes.driver.settings import Mounts
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.binding import ClaimBinding, binding_metadata
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.csi.gen import csi_pb2 as csi
from tests.ceph import guardian
from tests.ceph.cluster_filesystem import DATA_POOLS, ClusterFilesystem
from tests.ceph.files import cephfs_drivers
from tests.ceph.files.cephfs_drivers import cephfs_driver
from tests.ceph.files.test_whole_restart import CLEAR, assert_nothing_is_left
from tests.ceph.loopback_cluster import POOLS
from tests.ceph.rbd_drivers import CLASS, rbd_driver
from tests.ceph.staging import publish, stage, take_back
from tests.processes.driver.drivers import MIB, ZONE, Running, create_request

LOST, OTHER, *_ = POOLS
NUMBER = 5
AT_MOST = timedelta(seconds=40)
SECONDS = 90.0
CHUNK = 64 << 10

pytestmark = pytest.mark.timeout(300)


@dataclass(frozen=True, slots=True)
class Ground:
    driver: Running
    parameters: Mapping[str, str]
    pools: Mapping[str, str]
    filesystem: ClusterFilesystem
    directory: Path

    async def create(
        self, name: str, zones: Sequence[str], binding: ClaimBinding, **parameters: str
    ) -> csi.Volume:
        """The zones in the order of preference."""
        wanted = create_request(
            name, mib=8, zones=zones, preferred=zones, parameters={**self.parameters, **parameters}
        )
        metadata = binding_metadata(binding)
        call = self.driver.client.call(m.CREATE_VOLUME, wanted, metadata=metadata, within=AT_MOST)
        return (await call).volume


@pytest.fixture(params=["rbd", "cephfs"])
async def ground(
    filesystem: ClusterFilesystem, request: pytest.FixtureRequest
) -> AsyncIterator[Ground]:
    directory = filesystem.cluster.directory / f"both-{request.param}"
    directory.mkdir(exist_ok=True)
    async with _driver(filesystem, directory, request.param) as made:
        yield made
        assert await made.driver.volume_ids() == []
    await assert_nothing_is_left(filesystem)
    assert guardian.mounts(directory) == []


@asynccontextmanager
async def _driver(
    filesystem: ClusterFilesystem, directory: Path, backend: str
) -> AsyncIterator[Ground]:
    mounts = Mounts.REAL if os.geteuid() == 0 else Mounts.NONE
    if backend == "rbd":
        async with rbd_driver(filesystem.cluster, directory, mounts=mounts) as driver:
            yield Ground(driver, CLASS, POOLS, filesystem, directory)
    else:
        async with cephfs_driver(filesystem, directory, mounts=mounts) as driver:
            yield Ground(driver, cephfs_drivers.CLASS, DATA_POOLS, filesystem, directory)


def zones_of(volume: csi.Volume) -> list[str]:
    return [topology.segments[ZONE] for topology in volume.accessible_topology]


async def test_a_volume_that_can_be_used_anywhere_tells_where_it_is_cheap_and_why_it_is_there(
    ground: Ground,
) -> None:
    volume = await ground.create("data", (OTHER, LOST), ClaimBinding.DELAYED, reach="Anywhere")
    assert zones_of(volume) == []
    assert OTHER in volume.volume_context[PREFERRED_TOPOLOGY]
    assert (
        f"Pool {ground.pools[OTHER]}: zone={OTHER} is the first preferred domain"
        in volume.volume_context[PLACEMENT_REASON]
    )
    await ground.driver.delete(volume.volume_id)


async def test_for_a_domain_without_a_pool_any_other_that_is_allowed_does(ground: Ground) -> None:
    """As for a claim that is bound immediately; and where none is allowed, none does."""
    volume = await ground.create("data", ("zone-new", LOST, OTHER), ClaimBinding.DELAYED)
    assert zones_of(volume) in ([LOST], [OTHER])
    why = volume.volume_context[PLACEMENT_REASON]
    assert "no pool is near zone=zone-new, so any allowed domain does" in why
    with pytest.raises(DriverError, match="No pool of the class is near a domain that is allowed"):
        await ground.create("none", ("zone-new",), ClaimBinding.DELAYED)
    await ground.driver.delete(volume.volume_id)


async def test_claims_that_are_bound_immediately_go_to_all_zones(ground: Ground) -> None:
    made = [
        await ground.create(f"data-{number}", tuple(POOLS), ClaimBinding.IMMEDIATE)
        for number in range(2 * len(POOLS))
    ]
    assert {zone for volume in made for zone in zones_of(volume)} == POOLS.keys()
    for volume in made:
        await ground.driver.delete(volume.volume_id)


class Reader:
    """Reads a file from the beginning to the end, and waits after the first part of it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.begun, self.goes_on = threading.Event(), threading.Event()

    def read(self) -> str:
        found = hashlib.sha256()
        with self._path.open("rb", buffering=0) as file:
            found.update(file.read(CHUNK))
            self.begun.set()
            self.goes_on.wait()
            while part := file.read(CHUNK):
                found.update(part)
        return found.hexdigest()


@dataclass(frozen=True, slots=True)
class Pod:
    """With a volume in a zone, and a large file that no cache has."""

    driver: Running
    volume_id: str
    place: Path
    sum: str
    reader: Reader

    async def end(self) -> None:
        await take_back(self.driver, self.volume_id, self.place / "staged", self.place / "target")
        await self.driver.delete(self.volume_id)


async def start_pod(ground: Ground, zone: str) -> Pod:
    place, driver = ground.directory / zone, ground.driver
    staged, target = place / "staged", place / "target"
    volume = await driver.create(f"kept-{zone}", mib=48, zones=[zone], parameters=ground.parameters)
    written = os.urandom(16 * MIB)
    await stage(driver, volume.volume_id, staged)
    await publish(driver, volume.volume_id, staged, target)
    await asyncio.to_thread(write_through, target / "file", written)
    await take_back(driver, volume.volume_id, staged, target)
    await stage(driver, volume.volume_id, staged)
    await publish(driver, volume.volume_id, staged, target)
    sum_ = hashlib.sha256(written).hexdigest()
    return Pod(driver, volume.volume_id, place, sum_, Reader(target / "file"))


def write_through(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file)


async def is_made(ground: Ground, zone: str, number: int) -> bool:
    """False: it ended with an error that says what is wrong."""
    try:
        await ground.create(f"{zone}-{number}", (zone,), ClaimBinding.DELAYED)
    except DriverError as error:
        if not any(clear in str(error) for clear in CLEAR):
            raise
        await asyncio.sleep(0.1)
        return False
    return True


async def make_all(ground: Ground, zone: str) -> None:
    """Until each is made, as provisioners do."""
    for number in range(NUMBER):
        while not await is_made(ground, zone, number):
            pass


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
async def test_a_zone_is_killed_while_volumes_are_made_and_pods_read(ground: Ground) -> None:
    """What is for other zones goes on; what is for this one waits, or ends with a clear error, and
    is done after its return."""
    lost, other = await start_pod(ground, LOST), await start_pod(ground, OTHER)
    reading = {
        pod.volume_id: asyncio.create_task(asyncio.to_thread(pod.reader.read))
        for pod in (lost, other)
    }
    for pod in (lost, other):
        await asyncio.to_thread(pod.reader.begun.wait)
    async with asyncio.timeout(SECONDS):
        making = {zone: asyncio.create_task(make_all(ground, zone)) for zone in (LOST, OTHER)}
        while len(await ground.driver.volume_ids()) < 4:
            pass
        with ground.filesystem.cluster.dead_zone(LOST):
            for pod in (lost, other):
                pod.reader.goes_on.set()
            await making[OTHER]
            assert await reading[other.volume_id] == other.sum
            assert not making[LOST].done()
            assert not reading[lost.volume_id].done()
        await making[LOST]
        assert await reading[lost.volume_id] == lost.sum
    made = {*await ground.driver.volume_ids()} - {lost.volume_id, other.volume_id}
    assert len(made) == 2 * NUMBER
    for volume_id in made:
        await ground.driver.delete(volume_id)
    for pod in (lost, other):
        await pod.end()
