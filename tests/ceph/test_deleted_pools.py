"""An administrator deletes a pool while calls for it are under way, or before monitors stop
answering: each call ends within seconds."""

import asyncio
import signal
import time
from collections.abc import Awaitable, Iterator

import pytest

from plimsoll.wire.ceph.connection import DEFAULT_LIMITS, CephConnection, PoolScope
from plimsoll.wire.ceph.errors import CephError
from plimsoll.wire.ceph.images import NewImage, RbdImages
from plimsoll.wire.ceph.objects import Creating, ObjectWrite, RadosObjects
from tests.ceph.connections import SLOWEST, connected
from tests.ceph.loopback_cluster import JOURNAL, POOLS, LoopbackCluster

DOOMED = PoolScope(pool="doomed")
MIB = 1 << 20
LARGE = NewImage(name="large", size_bytes=4096 * MIB)

pytestmark = pytest.mark.both_bindings


@pytest.fixture
def cluster_with_pool(cluster: LoopbackCluster) -> Iterator[LoopbackCluster]:
    cluster.make_pool(DOOMED.pool, rule="only-zone-a", size=1)
    yield cluster
    if DOOMED.pool in {each["poolname"] for each in cluster.command("osd lspools")}:
        cluster.remove_pool(DOOMED.pool)


async def ended(call: Awaitable[object]) -> tuple[str, float]:
    """What it said in the end, and after how many seconds."""
    began = time.monotonic()
    try:
        await call
    except CephError as error:
        return str(error), time.monotonic() - began
    return "", time.monotonic() - began


async def again_and_again(connection: CephConnection) -> None:
    objects = RadosObjects(connection, DOOMED)
    for number in range(1_000_000):
        await objects.write(f"object-{number}", ObjectWrite(creating=Creating.IDEMPOTENT))


async def make_images(connection: CephConnection) -> None:
    for number in range(1_000_000):
        await RbdImages(connection, DOOMED).create(NewImage(name=f"i-{number}", size_bytes=MIB))


async def grow_and_grow(connection: CephConnection) -> None:
    for number in range(1, 1_000_000):
        await RbdImages(connection, DOOMED).grow("large", LARGE.size_bytes + number * MIB)


async def test_every_call_that_is_under_way_ends_and_so_does_each_later_one(
    cluster_with_pool: LoopbackCluster,
) -> None:
    async with connected(cluster_with_pool) as connection:
        images = RbdImages(connection, DOOMED)
        await images.create(LARGE)
        calls = [
            asyncio.ensure_future(ended(call))
            for call in (
                again_and_again(connection),
                make_images(connection),
                grow_and_grow(connection),
            )
        ]
        await asyncio.sleep(0.5)
        await asyncio.to_thread(cluster_with_pool.remove_pool, DOOMED.pool)
        gone = time.monotonic()
        told = await asyncio.gather(*calls)
        assert time.monotonic() - gone < SLOWEST
        assert all("pool doomed" in why for why, _ in told)
        objects = RadosObjects(connection, DOOMED)
        for later in (images.names(), images.remove("large"), objects.names()):
            why, seconds = await ended(later)
            assert "pool doomed" in why
            assert seconds < SLOWEST


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["dead", "hung"])
async def test_calls_end_while_no_monitor_says_that_their_pool_is_gone(
    cluster_with_pool: LoopbackCluster, number: signal.Signals
) -> None:
    """librados would wait for a monitor, and librbd with it where the pool has the data."""
    async with connected(cluster_with_pool, DEFAULT_LIMITS) as connection:
        images = RbdImages(connection, DOOMED)
        await images.create(LARGE)
        await asyncio.to_thread(cluster_with_pool.remove_pool, DOOMED.pool)
        await connection.wait_for_newest_map()
        await connection.reach_storage(JOURNAL, 48)
        objects = RadosObjects(connection, DOOMED)
        others = RadosObjects(connection, PoolScope(pool=JOURNAL))
        elsewhere = RbdImages(connection, PoolScope(pool=POOLS["zone-b"]))
        lost_data = NewImage(name="lost", size_bytes=MIB, data_pool=DOOMED.pool)
        names = await others.names()
        with cluster_with_pool.without("mon.a", number):
            told = await asyncio.gather(
                ended(objects.write("object", ObjectWrite(creating=Creating.IDEMPOTENT))),
                ended(images.facts("large")),
                ended(images.remove("large")),
                ended(elsewhere.create(lost_data)),
                ended(connection.wait_for_newest_map()),
            )
            assert all("did not answer in time" in why for why, _ in told)
            assert max(seconds for _, seconds in told) < SLOWEST
            assert await others.names() == names
            why, _ = await ended(objects.names())
            assert why.startswith("monitor ")


async def test_a_call_that_could_not_open_its_pool_in_time_never_begins(
    cluster_with_pool: LoopbackCluster,
) -> None:
    """Its caller has been told that it timed out, and would not hear of what it does later."""
    begun: list[object] = []
    async with connected(cluster_with_pool) as connection:
        cluster_with_pool.remove_pool(DOOMED.pool)
        await connection.wait_for_newest_map()
        cluster_with_pool.make_pool(DOOMED.pool, rule="only-zone-a", size=1)
        await connection.pool_ids()
        with cluster_with_pool.without("mon.a", signal.SIGSTOP):
            why, seconds = await ended(connection.on_pool(DOOMED, begun.append))
            assert "could not be opened" in why
            assert seconds < SLOWEST
        # Calls that were given up end before the connection does.
    assert begun == []
