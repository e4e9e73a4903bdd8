"""A driver that stopped in the middle of CreateVolume, and goes on after another one finished it.

Leader election lets one driver at a time be asked. The former leader may still be at work for the
same request when the next one is asked: it must not undo what that one has made.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from plimsoll.decide.ceph.journal.operations import JournalProblem
from plimsoll.decide.ceph.journal.places import ImagePlace, ImageRequest
from plimsoll.decide.ceph.journal.reservations import AttemptFinished, AttemptSuperseded, finish
from plimsoll.processes.driver.backends.ceph.records.journal_runs import JournalError
from plimsoll.processes.driver.backends.ceph.records.journaled_assets import BegunAsset, MakeAsset
from plimsoll.processes.driver.backends.rbd.copies import copy_image
from plimsoll.processes.driver.backends.rbd.image_assets import make_empty
from plimsoll.wire.ceph.connection import PoolScope
from plimsoll.wire.ceph.images import NewImage
from tests.ceph.interrupted_calls import MIB, REQUEST, Crash, JournalGround, journal_ground
from tests.ceph.loopback_cluster import POOLS, LoopbackCluster

POOL = POOLS["zone-a"]
ORIGIN = "origin"
SIZE = 4 * MIB


@pytest.fixture
async def ground(cluster: LoopbackCluster) -> AsyncIterator[JournalGround]:
    async with journal_ground(cluster) as made:
        yield made
        await made.assert_empty()


@pytest.fixture
async def origin(ground: JournalGround) -> AsyncIterator[str]:
    await ground.images(POOL).create(NewImage(name=ORIGIN, size_bytes=SIZE))
    await on_image(ground, ORIGIN, lambda image: image.write(b"from", 0))
    yield ORIGIN
    await ground.images(POOL).remove(ORIGIN)


async def on_image(ground: JournalGround, name: str, function: Callable[[Any], Any]) -> Any:
    def call(opened: Any) -> Any:
        with ground.connection.bindings.rbd.Image(opened, name) as image:
            return function(image)

    return await ground.connection.on_pool(PoolScope(pool=POOL), call)


def read(image: Any) -> bytes:
    return bytes(image.read(0, 4))


class Former:
    """Stops after the journal has its attempt, and before anything of the image is made."""

    def __init__(self, ground: JournalGround, request: ImageRequest, make: MakeAsset) -> None:
        self._reached, self._woken = asyncio.Event(), asyncio.Event()

        async def late(place: ImagePlace) -> str:
            self._reached.set()
            await self._woken.wait()
            return await make(place)

        self._call = asyncio.create_task(ground.calls(Crash()).begin(request, late))

    async def until_stopped(self) -> None:
        await self._reached.wait()

    async def go_on(self) -> BegunAsset:
        self._woken.set()
        return await self._call


def wanted(ground: JournalGround, *, may_resume: bool) -> ImageRequest:
    pool = ground.pools[POOL]
    return ImageRequest(request_name=REQUEST, pool=pool, uuid=str(uuid4()), may_resume=may_resume)


async def finished(ground: JournalGround, begun: BegunAsset) -> object:
    steps = finish(ground.journal, begun.reserved, begun.asset_id)
    return await ground.runner(Crash()).run(steps)


async def test_a_copy_that_another_call_has_finished_stays_with_what_was_written_to_it(
    ground: JournalGround, origin: str
) -> None:
    async def copy(place: ImagePlace) -> str:
        images = ground.images(POOL)
        await copy_image(images, origin, images, NewImage(name=place.name, size_bytes=SIZE))
        return (await images.facts(place.name)).id

    former = Former(ground, wanted(ground, may_resume=False), copy)
    await former.until_stopped()
    begun = await ground.calls(Crash()).begin(wanted(ground, may_resume=False), copy)
    assert isinstance(await finished(ground, begun), AttemptFinished)
    name = begun.reserved.place.name
    assert await on_image(ground, name, read) == b"from"
    await on_image(ground, name, lambda image: image.write(b"used", 0))

    late = await former.go_on()
    assert isinstance(await finished(ground, late), AttemptSuperseded)
    assert await on_image(ground, name, read) == b"used"
    assert await ground.images(POOL).names() == [name, origin]
    assert (await ground.images(POOL).facts(origin)).snapshots == ()
    await ground.delete()


async def test_an_empty_image_that_was_finished_and_grown_stays(ground: JournalGround) -> None:
    def of_size(size_bytes: int) -> MakeAsset:
        async def make(place: ImagePlace) -> str:
            new = NewImage(name=place.name, size_bytes=size_bytes)
            await make_empty(ground.images(POOL), new)
            return (await ground.images(POOL).facts(place.name)).id

        return make

    first = wanted(ground, may_resume=True)
    former = Former(ground, first, of_size(SIZE))
    await former.until_stopped()
    again = replace(first, uuid=str(uuid4()))
    begun = await ground.calls(Crash()).begin(again, of_size(SIZE))
    assert isinstance(await finished(ground, begun), AttemptFinished)
    name = begun.reserved.place.name
    await ground.images(POOL).grow(name, 2 * SIZE)
    await on_image(ground, name, lambda image: image.write(b"used", 0))

    with pytest.raises(JournalError) as raised:
        await former.go_on()
    assert raised.value.problem is JournalProblem.CHANGED
    assert await on_image(ground, name, read) == b"used"
    await ground.assert_only(begun.reserved.place)
    await ground.delete()
