"""A driver for images dies at every step of every call; another one finishes or undoes it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.errors import DriverError, DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi
from tests.ceph.files.interrupted_files import Death
from tests.ceph.interrupted_calls import CrashedError
from tests.ceph.interrupted_images import ImagesGround, images_ground
from tests.ceph.loopback_cluster import POOLS, LoopbackCluster
from tests.ceph.rbd_drivers import CLASS
from tests.processes.driver.drivers import Running

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
async def ground(cluster: LoopbackCluster, tmp_path: Path) -> AsyncIterator[ImagesGround]:
    async with images_ground(cluster, tmp_path) as made:
        yield made


async def create(
    driver: Running, name: str = "data", zone: str = "zone-a", **origin: str
) -> csi.Volume:
    return await driver.create(name, mib=16, zones=(zone,), parameters=CLASS, **origin)


@dataclass(slots=True)
class Scene:
    """What there is when a call begins."""

    ground: ImagesGround
    volume: csi.Volume | None = None
    snapshot: csi.Snapshot | None = None

    @property
    def volume_id(self) -> str:
        assert self.volume
        return self.volume.volume_id

    @property
    def snapshot_id(self) -> str:
        assert self.snapshot
        return self.snapshot.snapshot_id


Part = Callable[[Scene, Running], Awaitable[object]]


async def nothing(scene: Scene, driver: Running) -> None:
    pass


async def a_volume(scene: Scene, driver: Running) -> None:
    scene.volume = await create(driver)
    await scene.ground.write(scene.volume, POOLS["zone-a"], b"kept ")


async def a_snapshot(scene: Scene, driver: Running) -> None:
    await a_volume(scene, driver)
    scene.snapshot = await driver.take_snapshot(scene.volume_id)
    assert scene.volume
    await scene.ground.write(scene.volume, POOLS["zone-a"], b"later")


async def makes_a_volume(scene: Scene, driver: Running) -> None:  # noqa: ARG001 - of nothing
    await create(driver)


async def makes_it_in_another_zone(scene: Scene, driver: Running) -> None:  # noqa: ARG001 - of nothing
    await create(driver, zone="zone-b")


async def deletes_the_volume(scene: Scene, driver: Running) -> None:
    await driver.delete(scene.volume_id)


async def grows_the_volume(scene: Scene, driver: Running) -> None:
    assert await driver.expand(scene.volume_id, 32) == 32


async def takes_a_snapshot(scene: Scene, driver: Running) -> None:
    await driver.take_snapshot(scene.volume_id)


async def deletes_the_snapshot(scene: Scene, driver: Running) -> None:
    request = csi.DeleteSnapshotRequest(snapshot_id=scene.snapshot_id)
    await driver.call(m.DELETE_SNAPSHOT, request)


async def clones_the_volume(scene: Scene, driver: Running) -> None:
    await create(driver, "clone", "zone-b", volume=scene.volume_id)


async def restores_the_snapshot(scene: Scene, driver: Running) -> None:
    await create(driver, "restored", "zone-b", snapshot=scene.snapshot_id)


async def undisturbed(ground: ImagesGround, prepare: Part, call: Part) -> tuple[int, list[str]]:
    """How many steps the call has, and what there is after it."""
    scene, death = Scene(ground), Death()
    async with ground.driver(death) as driver:
        await prepare(scene, driver)
        death.arm(None)
        await call(scene, driver)
        steps, after = death.steps, await ground.contents()
        await ground.delete_all(driver)
    return steps, after


async def died(scene: Scene, prepare: Part, call: Part, before: int) -> bool:
    """Whether the call came to that step."""
    death = Death()
    async with scene.ground.driver(death) as driver:
        await prepare(scene, driver)
        death.arm(before)
        try:
            await call(scene, driver)
        except CrashedError:
            return True
    return False


@pytest.mark.parametrize(
    ("prepare", "call"),
    [
        (nothing, makes_a_volume),
        (a_volume, deletes_the_volume),
        (a_volume, grows_the_volume),
        (a_volume, takes_a_snapshot),
        (a_snapshot, deletes_the_snapshot),
        (a_snapshot, deletes_the_volume),
        (a_volume, clones_the_volume),
        (a_snapshot, restores_the_snapshot),
    ],
)
async def test_after_a_death_at_any_step_the_same_call_comes_to_the_same_end(
    ground: ImagesGround, prepare: Part, call: Part
) -> None:
    steps, after = await undisturbed(ground, prepare, call)
    assert steps > 1
    # At the last of these numbers the call ends, and its answer is lost.
    for before in range(1, steps + 2):
        scene = Scene(ground)
        assert await died(scene, prepare, call, before) is (before <= steps)
        async with ground.driver() as driver:
            await call(scene, driver)
        # What a copy had taken of its source is cleared away on a start.
        async with ground.driver() as driver:
            assert await ground.contents() == after, before
            await ground.delete_all(driver)


async def test_after_a_death_at_any_step_a_call_for_another_zone_leaves_one_volume(
    ground: ImagesGround,
) -> None:
    """In that zone, unless the first call had made it: then its caller may know it."""
    steps, first = await undisturbed(ground, nothing, makes_a_volume)
    _, second = await undisturbed(ground, nothing, makes_it_in_another_zone)
    seen = []
    for before in range(1, steps + 2):
        scene = Scene(ground)
        await died(scene, nothing, makes_a_volume, before)
        async with ground.driver() as driver:
            try:
                await makes_it_in_another_zone(scene, driver)
            except DriverError as error:
                if error.failure is not DriverFailure.NAME_TAKEN:
                    raise
        # What is left in the first zone is removed when a driver has to do with it again.
        async with ground.driver() as driver:
            seen.append(await ground.contents())
            await ground.delete_all(driver)
    assert seen == [second] * steps + [first]
