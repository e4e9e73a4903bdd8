"""Where the volumes of claims go that are bound immediately: over zones, by the room that is there.

A thousand claims get their images by the driver, one after the other in the journal. They are
removed with their pools: librbd would take longer for that than for all the rest. Other tests make
fewer, and delete them by the driver.
"""

import asyncio
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

import pytest

from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.binding import ClaimBinding, binding_metadata
from tests.ceph.interrupted_calls import JournalGround, journal_ground
from tests.ceph.loopback_cluster import POOLS, LoopbackCluster
from tests.ceph.rbd_drivers import CLASS, rbd_driver
from tests.processes.driver.drivers import MIB, Running, create_request

T = TypeVar("T")
Item = TypeVar("Item")

MANY = 1000
SOME = 60
DRAWN = 40
"""So many draws miss one of three zones once in three million runs."""
AT_A_TIME = 8
TOLERATED = 0.05
ZONES = tuple(POOLS)
ROOMS_MIB = {"zone-a": 2048, "zone-b": 1024, "zone-c": 512}

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
async def ground(cluster: LoopbackCluster) -> AsyncIterator[JournalGround]:
    async with journal_ground(cluster) as made:
        yield made
        await made.assert_empty()


@pytest.fixture
async def driver(
    cluster: LoopbackCluster,
    ground: JournalGround,  # noqa: ARG001 - looks afterwards whether all was given back
    tmp_path: Path,
) -> AsyncIterator[Running]:
    async with rbd_driver(cluster, tmp_path) as made:
        yield made


async def some_at_a_time(do: Callable[[Item], Awaitable[T]], items: Iterable[Item]) -> list[T]:
    turns = asyncio.Semaphore(AT_A_TIME)

    async def in_turn(item: Item) -> T:
        async with turns:
            return await do(item)

    return await asyncio.gather(*(in_turn(item) for item in items))


async def create(
    driver: Running, number: int, *, zones: Sequence[str] = ZONES, **parameters: str
) -> list[str]:
    """Ids of volumes for claims that are bound immediately."""

    async def one(name: str) -> str:
        wanted = CLASS | parameters
        request = create_request(name, mib=1, block=True, zones=zones, parameters=wanted)
        metadata = binding_metadata(ClaimBinding.IMMEDIATE)
        answer = await driver.client.call(m.CREATE_VOLUME, request, metadata=metadata)
        return answer.volume.volume_id

    return await some_at_a_time(one, [f"pvc-{number}" for number in range(number)])


async def by_zone(ground: JournalGround) -> dict[str, int]:
    """How many images Ceph has."""
    images = (await ground.contents()).images
    return {zone: len(images.get(pool, ())) for zone, pool in POOLS.items()}


def assert_near(found: dict[str, int], rooms: dict[str, int]) -> None:
    for zone, room in rooms.items():
        ideal = sum(found.values()) * room / sum(rooms.values())
        assert abs(found[zone] - ideal) <= max(1, TOLERATED * ideal), (zone, found, ideal)


async def test_zones_with_equal_rooms_get_equal_numbers(
    driver: Running, ground: JournalGround
) -> None:
    made = await create(driver, SOME)
    found = await by_zone(ground)
    assert sum(found.values()) == SOME
    assert_near(found, dict.fromkeys(ZONES, 1))
    await some_at_a_time(driver.delete, made)


async def test_chance_reaches_every_zone(driver: Running, ground: JournalGround) -> None:
    made = await create(driver, DRAWN, spread="Random")
    assert all((await by_zone(ground)).values())
    await some_at_a_time(driver.delete, made)


@pytest.mark.parametrize("spread", ["FreeSpace", "Random"])
async def test_no_volume_leaves_the_zones_that_are_allowed(
    driver: Running, ground: JournalGround, spread: str
) -> None:
    made = await create(driver, DRAWN, zones=("zone-a", "zone-c"), spread=spread)
    found = await by_zone(ground)
    assert found["zone-b"] == 0
    assert found["zone-a"]
    assert found["zone-c"]
    await some_at_a_time(driver.delete, made)


@pytest.fixture
def emptied(cluster: LoopbackCluster) -> Iterator[LoopbackCluster]:
    """Whose pools are made anew after the test."""
    yield cluster
    cluster.remake_pools()


async def test_zones_get_as_many_of_a_thousand_as_their_rooms_are_large(
    emptied: LoopbackCluster, tmp_path: Path
) -> None:
    async with (
        journal_ground(emptied) as ground,
        rbd_driver(emptied, tmp_path) as driver,
    ):
        with ExitStack() as quotas:
            for zone, mib in ROOMS_MIB.items():
                quotas.enter_context(emptied.quota(POOLS[zone], mib * MIB))
                emptied.wait_for_quota(POOLS[zone], mib * MIB)
            await create(driver, MANY)
            found = await by_zone(ground)
    assert sum(found.values()) == MANY
    assert_near(found, ROOMS_MIB)
