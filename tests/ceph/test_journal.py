import contextlib
import time
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from plimsoll.decide.ceph.journal.places import ImageRequest
from plimsoll.decide.ceph.journal.reservations import give_up, reserve
from plimsoll.processes.driver.backends.ceph.records.journal_runs import JournalError
from plimsoll.wire.ceph.connection import PoolScope
from plimsoll.wire.ceph.errors import CephFailure
from plimsoll.wire.ceph.objects import ObjectWrite, RadosObjects
from tests.ceph.connections import LIMITS
from tests.ceph.interrupted_calls import (
    MIB,
    Crash,
    CrashedError,
    JournalGround,
    journal_ground,
)
from tests.ceph.loopback_cluster import JOURNAL, POOLS, LoopbackCluster, osd

ZONES = ("zone-a", "zone-b")


@pytest.fixture
async def ground(cluster: LoopbackCluster) -> AsyncIterator[JournalGround]:
    async with journal_ground(cluster) as made:
        yield made
        await made.delete()
        await made.assert_empty()


async def moments_of_create(ground: JournalGround) -> int:
    crash = Crash()
    await ground.create("zone-a", crash)
    await ground.delete()
    return crash.moments


async def crashed(ground: JournalGround, zone: str, at: int) -> None:
    with pytest.raises(CrashedError):
        await ground.create(zone, Crash(at))


@pytest.mark.both_bindings
async def test_a_request_has_one_image_in_whatever_zone_it_is_asked_for(
    ground: JournalGround,
) -> None:
    place = await ground.create("zone-a")
    assert await ground.create("zone-b") == place
    await ground.assert_only(place)
    await ground.delete()
    await ground.delete()
    await ground.assert_empty()


@pytest.mark.both_bindings
@pytest.mark.parametrize("again", ZONES)
async def test_after_a_crash_anywhere_the_next_call_leaves_one_volume(
    ground: JournalGround, again: str
) -> None:
    moments = await moments_of_create(ground)
    assert moments > 12
    for at in range(1, moments + 1):
        await crashed(ground, "zone-a", at)
        await ground.assert_only(await ground.create(again))
        await ground.delete()
        await ground.assert_empty()


async def test_after_two_crashes_in_two_zones_the_next_call_leaves_one_volume(
    ground: JournalGround,
) -> None:
    moments = await moments_of_create(ground)
    for at in range(1, moments + 1, 3):
        await crashed(ground, "zone-a", at)
        # If the first attempt was finished, the second call takes fewer steps.
        with contextlib.suppress(CrashedError):
            await ground.create("zone-b", Crash(moments + 2 - at))
        await ground.assert_only(await ground.create("zone-a"))
        await ground.delete()
        await ground.assert_empty()


@pytest.mark.parametrize("last", ["create", "delete"])
async def test_a_deletion_that_crashed_is_finished_by_the_next_call(
    ground: JournalGround, last: str
) -> None:
    await ground.create("zone-a")
    crash = Crash()
    await ground.delete(crash)
    for at in range(1, crash.moments + 1):
        await ground.create("zone-a")
        with pytest.raises(CrashedError):
            await ground.delete(Crash(at))
        if last == "create":
            await ground.assert_only(await ground.create("zone-b"))
        await ground.delete()
        await ground.assert_empty()


async def test_an_interrupted_attempt_of_another_size_is_made_anew(ground: JournalGround) -> None:
    moments = await moments_of_create(ground)
    for at in range(1, moments + 1, 4):
        with pytest.raises(CrashedError):
            await ground.create("zone-a", Crash(at), size_bytes=4 * MIB)
        place = await ground.create("zone-a")
        facts = await ground.images(place.pool.name).facts(place.name)
        known = await ground.create("zone-a", size_bytes=4 * MIB)
        assert known == place
        assert facts.size_bytes in (4 * MIB, 8 * MIB)
        assert facts.size_bytes == 8 * MIB or at >= moments - 3
        await ground.delete()


@pytest.mark.parametrize("pieces", [("rbd_header.",), ("rbd_header.", "rbd_directory")])
async def test_half_an_image_is_made_whole(ground: JournalGround, pieces: tuple[str, ...]) -> None:
    """As librbd leaves it when its process dies: the name is written first, the header last."""
    with pytest.raises(CrashedError):
        await ground.create("zone-a", Crash(is_after_making=True))
    pool = RadosObjects(ground.connection, PoolScope(pool=POOLS["zone-a"]))
    for name in await pool.names():
        if name.startswith(pieces):
            await pool.remove(name)
    await ground.assert_only(await ground.create("zone-a"))


async def test_a_zone_that_died_stops_no_retry_in_another(
    cluster: LoopbackCluster, ground: JournalGround
) -> None:
    moments = await moments_of_create(ground)
    await crashed(ground, "zone-a", moments // 2)
    with cluster.dead_zone("zone-a"):
        place = await ground.create("zone-b")
        assert place.pool.name == POOLS["zone-b"]
    await ground.calls(Crash()).clean()
    await ground.assert_only(place)


async def test_leftovers_in_a_dead_zone_hold_up_no_other(
    cluster: LoopbackCluster, ground: JournalGround
) -> None:
    await ground.create("zone-b")
    for number in range(3):
        await leave(ground, f"pvc-left-{number}", "zone-a")
    with cluster.dead_zone("zone-a"):
        began = time.monotonic()
        await ground.delete()
        assert time.monotonic() - began < LIMITS.operation.total_seconds()
        down = [ground.pools[POOLS["zone-a"]].id]
        assert await ground.calls(Crash()).clean(down=down) == 3
        assert time.monotonic() - began < LIMITS.operation.total_seconds()
    assert await ground.calls(Crash()).clean() == 0


async def leave(ground: JournalGround, request_name: str, zone: str) -> None:
    """As a driver that died after it had given up its attempt."""
    runner, pool = ground.runner(Crash()), ground.pools[POOLS[zone]]
    request = ImageRequest(request_name=request_name, pool=pool, uuid=str(uuid4()))
    await runner.run(reserve(ground.journal, request))
    await runner.run(give_up(ground.journal, request_name))


async def test_a_zone_that_dies_during_a_create_is_told_and_left_clean(
    cluster: LoopbackCluster, ground: JournalGround
) -> None:
    with cluster.dead_zone("zone-a"), pytest.raises(JournalError) as raised:
        await ground.create("zone-a")
    assert raised.value.cause
    assert raised.value.cause.failure is CephFailure.TIMED_OUT
    await ground.assert_only(await ground.create("zone-a"))


async def test_a_full_zone_leaves_nothing_and_another_takes_the_volume(
    cluster: LoopbackCluster, ground: JournalGround
) -> None:
    with cluster.quota(POOLS["zone-a"], 4 * MIB):
        cluster.fill(POOLS["zone-a"], 8 * MIB)
        with pytest.raises(JournalError) as raised:
            await ground.create("zone-a")
        assert raised.value.cause
        assert raised.value.cause.failure is CephFailure.NO_ROOM
        place = await ground.create("zone-b")
        cluster.empty(POOLS["zone-a"])
    await ground.assert_only(place)


async def test_the_journal_outlives_a_zone_and_not_two(
    cluster: LoopbackCluster, ground: JournalGround
) -> None:
    place = await ground.create("zone-c")
    with cluster.dead_zone("zone-a"):
        assert await ground.create("zone-c") == place
        cluster.end(osd("zone-b"))
        cluster.wait_for_osds(1)
        with pytest.raises(JournalError, match="pool journal did not answer in time"):
            await ground.create("zone-c")
        cluster.start(osd("zone-b"))
        cluster.wait_for_osds(2)


@pytest.mark.both_bindings
async def test_keys_of_other_writers_stay(ground: JournalGround) -> None:
    journal = RadosObjects(ground.connection, PoolScope(pool=JOURNAL))
    theirs = {"csi.volume.other": "0000000000000001/11111111-2222-4333-a444-555555555555"}
    await journal.write("csi.volumes.default", ObjectWrite(values=theirs))
    await ground.create("zone-a")
    await ground.delete()
    assert await journal.keys_from("csi.volumes.default", "") == theirs
    await journal.write("csi.volumes.default", ObjectWrite(removed=tuple(theirs)))
