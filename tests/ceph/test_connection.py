import asyncio
import signal
import threading
import time
from collections.abc import Awaitable, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from plimsoll.wire.ceph.connection import CephConnection, CephLimits, Ioctx, PoolScope
from plimsoll.wire.ceph.errors import CephError, CephFailure
from plimsoll.wire.ceph.objects import ObjectWrite, RadosObjects
from plimsoll.wire.ceph.running_calls import Progress
from tests.ceph.connections import LIMITS, SLOWEST, access, connected
from tests.ceph.loopback_cluster import JOURNAL, POOLS, LoopbackCluster, osd

A, B = (PoolScope(pool=POOLS[zone]) for zone in ("zone-a", "zone-b"))
PROBE = "probe"


@pytest.fixture(autouse=True)
def emptied(cluster: LoopbackCluster) -> Iterator[None]:
    """What these tests write is gone after each: others look whether pools are empty."""
    yield
    for pool in (JOURNAL, *POOLS.values()):
        cluster.remove_object(pool, PROBE)


async def failure(call: Awaitable[object]) -> CephFailure:
    """Why the call fails, which it does within seconds."""
    began = time.monotonic()
    with pytest.raises(CephError) as raised:
        await call
    assert time.monotonic() - began < SLOWEST
    return raised.value.failure


def writes(connection: CephConnection, scope: PoolScope) -> Awaitable[None]:
    return RadosObjects(connection, scope).write(PROBE, ObjectWrite(values={"key": "1"}))


@pytest.mark.both_bindings
async def test_pools_and_their_ids_are_known(cluster: LoopbackCluster) -> None:
    async with connected(cluster) as connection:
        found = await connection.pool_ids()
        assert {JOURNAL, *POOLS.values()} <= found.keys()
        assert len(set(found.values())) == len(found)


async def test_no_monitor_is_asked_again_what_the_cluster_is_called(
    cluster: LoopbackCluster,
) -> None:
    async with connected(cluster) as connection:
        await connection.pool_ids()
        with cluster.without("mon.a", signal.SIGSTOP):
            began = time.monotonic()
            assert await connection.fsid() == cluster.fsid
            assert time.monotonic() - began < LIMITS.operation.total_seconds()


@pytest.mark.both_bindings
async def test_the_address_is_one_that_a_blocklist_takes(cluster: LoopbackCluster) -> None:
    async with connected(cluster) as connection:
        assert (await connection.address()).startswith("127.0.0.1:0/")


@pytest.mark.both_bindings
async def test_a_pool_that_does_not_exist_is_told_at_once(cluster: LoopbackCluster) -> None:
    async with connected(cluster) as connection:
        with pytest.raises(CephError, match=r"^pool missing does not exist$"):
            await writes(connection, PoolScope(pool="missing"))


async def test_a_pool_that_is_made_later_is_found(cluster: LoopbackCluster) -> None:
    async with connected(cluster) as connection:
        await connection.pool_ids()
        cluster.make_pool("later", rule="only-zone-a", size=1)
        await writes(connection, PoolScope(pool="later"))
    cluster.remove_pool("later")


@pytest.mark.both_bindings
async def test_a_wrong_key_is_told_with_the_user(cluster: LoopbackCluster) -> None:
    wrong = replace(access(cluster), user="stranger")
    connection = CephConnection(wrong, LIMITS)
    with pytest.raises(CephError, match=r"client\.stranger, is denied"):
        await connection.pool_ids()


@pytest.mark.both_bindings
async def test_what_the_user_may_not_do_is_denied(cluster: LoopbackCluster) -> None:
    async with connected(cluster) as connection:
        quota = connection.command("osd pool set-quota", pool=A.pool, field="max_bytes", val="1")
        assert await failure(quota) is CephFailure.DENIED


@pytest.mark.both_bindings
async def test_monitors_that_are_not_there_are_given_up(cluster: LoopbackCluster) -> None:
    nowhere = replace(access(cluster), monitors="v2:127.0.0.1:9")
    connection = CephConnection(nowhere, LIMITS)
    assert await failure(connection.pool_ids()) is CephFailure.TIMED_OUT


async def test_calls_that_wait_for_the_same_connection_fail_together(
    cluster: LoopbackCluster,
) -> None:
    connection = CephConnection(replace(access(cluster), monitors="v2:127.0.0.1:9"), LIMITS)
    calls = (failure(connection.pool_ids()) for _ in range(8))
    assert set(await asyncio.gather(*calls)) == {CephFailure.TIMED_OUT}
    # Each later call tries anew: the monitors may be there by then.
    assert await failure(connection.fsid()) is CephFailure.TIMED_OUT


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["dead", "hung"])
async def test_without_a_monitor_every_call_ends(
    cluster: LoopbackCluster, number: signal.Signals
) -> None:
    async with connected(cluster) as connection:
        await writes(connection, A)
        with cluster.without("mon.a", number):
            await writes(connection, A)
            await writes(connection, B)
            missing = writes(connection, PoolScope(pool="missing"))
            assert await failure(missing) is CephFailure.TIMED_OUT
            assert await failure(connection.command("df")) is CephFailure.TIMED_OUT
        assert await connection.command("df")


async def test_a_pool_that_only_librados_does_not_know_holds_up_nothing(
    cluster: LoopbackCluster,
) -> None:
    """librados waits for a newer map for as long as there is no monitor: the call is given up."""
    async with connected(cluster) as connection:
        await writes(connection, A)
        connection._pool_ids["missing"] = 99  # noqa: SLF001 - as after a deletion by other clients
        with cluster.without("mon.a", signal.SIGSTOP):
            missing = writes(connection, PoolScope(pool="missing"))
            assert await failure(missing) is CephFailure.TIMED_OUT
            await writes(connection, A)


async def test_a_dead_zone_ends_its_own_calls_and_no_others(cluster: LoopbackCluster) -> None:
    async with connected(cluster) as connection:
        with cluster.dead_zone("zone-a"):
            both = await asyncio.gather(
                failure(writes(connection, A)), writes(connection, PoolScope(pool=JOURNAL))
            )
            assert both[0] is CephFailure.TIMED_OUT
            with pytest.raises(CephError, match=r"^pool rbd-zone-a did not answer in time"):
                await writes(connection, A)
        await writes(connection, A)


@pytest.mark.both_bindings
async def test_a_hung_zone_holds_up_nothing_else(cluster: LoopbackCluster) -> None:
    async with connected(cluster) as connection:
        await writes(connection, B)
        with cluster.without(osd("zone-a"), signal.SIGSTOP):
            assert await failure(writes(connection, A)) is CephFailure.TIMED_OUT
            await writes(connection, B)
        cluster.wait_until_writable()


@pytest.mark.both_bindings
async def test_a_client_that_was_fenced_learns_of_it_and_connects_anew(
    cluster: LoopbackCluster,
) -> None:
    async with connected(cluster) as connection:
        await writes(connection, A)
        address = await connection.address()
        cluster.command("osd blocklist", blocklistop="add", addr=address)
        assert await failure(_until_refused(connection)) is CephFailure.FENCED
        await writes(connection, A)
        assert await connection.address() != address


async def _until_refused(connection: CephConnection) -> None:
    while True:
        await writes(connection, A)


SHORT = CephLimits(operation=timedelta(seconds=1), call=timedelta(seconds=2))


async def test_a_call_for_an_image_may_take_long_while_it_makes_progress(
    cluster: LoopbackCluster,
) -> None:
    progress = Progress()

    def long_call(_: object) -> str:
        for _number in range(16):
            time.sleep(0.25)
            progress.tell(1, 2)
        return "copied"

    async with connected(cluster, SHORT) as connection:
        copied = connection.on_image((A,), "large", long_call, progress=progress)
        assert await copied == "copied"


async def test_a_call_for_an_image_that_makes_no_progress_is_given_up(
    cluster: LoopbackCluster,
) -> None:
    released = threading.Event()
    async with connected(cluster, SHORT) as connection:
        stuck = connection.on_image(
            (A,), "large", lambda _: released.wait(SLOWEST), progress=Progress()
        )
        assert await failure(stuck) is CephFailure.TIMED_OUT
        again = connection.on_image((A,), "large", lambda _: None)
        with pytest.raises(CephError, match="an earlier call for image large has not ended yet"):
            await again
        released.set()


@pytest.mark.both_bindings
async def test_a_connection_is_closed_only_when_calls_that_were_given_up_have_returned(
    cluster: LoopbackCluster,
) -> None:
    """librados would free what they use, and end this process."""
    returned: list[None] = []

    def look(opened: Ioctx) -> None:
        try:
            opened.stat(PROBE)
        finally:
            returned.append(None)

    async with connected(cluster) as connection:
        await writes(connection, A)
        with cluster.without(osd("zone-a"), signal.SIGSTOP):
            calls = [asyncio.ensure_future(connection.on_pool(A, look)) for _ in range(8)]
            await asyncio.wait(calls, timeout=0.5)
            for call in calls:
                call.cancel()
            assert returned == []
            await connection.close()
            assert len(returned) == len(calls)
