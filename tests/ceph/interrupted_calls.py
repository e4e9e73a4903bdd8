"""CreateVolume and DeleteVolume on a real cluster, with a crash at a step that a test names.

Steps are the operations of the journal, and the making of the image between them; a crash is before
or after one. `Contents` is everything in the pools that belongs to volumes.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import uuid4

from plimsoll.decide.ceph.journal.layout import CephPoolRef
from plimsoll.decide.ceph.journal.operations import RadosOperation
from plimsoll.decide.ceph.journal.places import CephJournal, ImagePlace, ImageRequest
from plimsoll.decide.ceph.journal.reservations import AttemptFinished, finish
from plimsoll.decide.ceph.journal.stored_records import JournalRecord, find_request_record
from plimsoll.decide.ceph.volume_ids import decompose_volume_id
from plimsoll.processes.driver.backends.ceph.records.journal_runs import JournalRunner
from plimsoll.processes.driver.backends.ceph.records.journaled_assets import JournaledAssets
from plimsoll.processes.driver.backends.rbd.image_assets import (
    ImageRemoval,
    make_empty,
    remove_if_there,
)
from plimsoll.runtime.clock import SystemClock
from plimsoll.wire.ceph.connection import CephConnection, PoolScope
from plimsoll.wire.ceph.images import NewImage, RbdImages
from plimsoll.wire.ceph.objects import RadosObjects
from tests.ceph.connections import connected
from tests.ceph.journal_keys import passing_keys
from tests.ceph.loopback_cluster import JOURNAL, POOLS, LoopbackCluster

T = TypeVar("T")

DIRECTORIES = ("csi.volumes.default", "csi.snaps.default")
REQUEST = "pvc-1"
KEY = f"csi.volume.{REQUEST}"
MIB = 1 << 20


class CrashedError(Exception):
    """The process that ran the call is gone."""


@dataclass(slots=True)
class Crash:
    """Counts moments, two for each step; at the one that is named the process dies."""

    at: int | None = None
    is_after_making: bool = False
    """Instead: when the image is made, and the journal does not know yet."""
    moments: int = 0

    def pass_by(self, _: object = None) -> None:
        self.moments += 1
        if self.moments == self.at:
            raise CrashedError


@dataclass(frozen=True, slots=True)
class Contents:
    images: dict[str, list[str]]
    """By pool."""
    directory: dict[str, str]
    objects: dict[str, list[str]]
    """Those of the journal that belong to images, by pool."""


@dataclass(slots=True)
class JournalGround:
    connection: CephConnection
    cluster: LoopbackCluster
    pools: dict[str, CephPoolRef] = field(default_factory=dict)

    @property
    def journal(self) -> CephJournal:
        return CephJournal(pool=self.pools[JOURNAL])

    def runner(self, crash: Crash) -> JournalRunner:
        def on_operation(operation: RadosOperation) -> None:
            crash.pass_by(operation)

        removal = ImageRemoval(self.connection)
        return JournalRunner(self.connection, removal, SystemClock(), on_operation=on_operation)

    def calls(self, crash: Crash) -> JournaledAssets:
        return JournaledAssets(self.journal, self.runner(crash))

    def images(self, pool: str) -> RbdImages:
        return RbdImages(self.connection, PoolScope(pool=pool))

    async def create(
        self, zone: str, crash: Crash | None = None, *, size_bytes: int = 8 * MIB
    ) -> ImagePlace:
        """As the tables of the backend do it: an image that is known stays as it is."""
        crash = crash or Crash()
        runner = self.runner(crash)
        calls = JournaledAssets(self.journal, runner)
        known: JournalRecord | None = await runner.run(find_request_record(self.journal, REQUEST))
        if known is not None and await self._exists(known.place):
            await calls.clean()
            return known.place
        if known is not None:
            await calls.remove(known.place, self._remove)

        async def make(place: ImagePlace) -> str:
            crash.pass_by()
            new = NewImage(name=place.name, size_bytes=size_bytes)
            await make_empty(self.images(place.pool.name), new)
            crash.pass_by()
            if crash.is_after_making:
                raise CrashedError
            return (await self.images(place.pool.name).facts(place.name)).id

        pool = self.pools[POOLS[zone]]
        request = ImageRequest(request_name=REQUEST, pool=pool, uuid=str(uuid4()))
        begun = await calls.begin(request, make)
        ended = await runner.run(finish(self.journal, begun.reserved, begun.asset_id))
        assert isinstance(ended, AttemptFinished)
        await calls.clean()
        return begun.reserved.place

    async def delete(self, crash: Crash | None = None) -> None:
        """That there is none is no error. What was deleted half-way is cleaned, as on a start."""
        runner = self.runner(crash or Crash())
        calls = JournaledAssets(self.journal, runner)
        known: JournalRecord | None = await runner.run(find_request_record(self.journal, REQUEST))
        if known is None:
            await calls.give_up(REQUEST)
            await calls.clean()
        else:
            await calls.remove(known.place, self._remove)

    async def _remove(self, place: ImagePlace) -> None:
        await remove_if_there(self.images(place.pool.name), place.name)

    async def _exists(self, place: ImagePlace) -> bool:
        return place.name in await self.images(place.pool.name).names()

    async def write(self, pool: str, volume_id: str, data: bytes) -> None:
        """At the beginning of the image, as a node would."""

        def write(image: Any) -> None:
            image.write(data, 0)

        await self._on_image(pool, volume_id, write)

    async def read(self, pool: str, volume_id: str) -> bytes:
        def read(image: Any) -> bytes:
            return bytes(image.read(0, 4))

        return await self._on_image(pool, volume_id, read)

    async def _on_image(self, pool: str, volume_id: str, function: Callable[[Any], T]) -> T:
        name = f"csi-vol-{decompose_volume_id(volume_id).uuid}"
        return await asyncio.to_thread(self.cluster.on_image, pool, name, function)

    async def contents(self) -> Contents:
        objects: dict[str, list[str]] = {}
        images: dict[str, list[str]] = {}
        for pool in self.pools:
            scope = PoolScope(pool=pool)
            names = await RadosObjects(self.connection, scope).names()
            ours = [name for name in names if name.startswith("csi.") and name not in DIRECTORIES]
            if ours:
                objects[pool] = ours
            if found := await RbdImages(self.connection, scope).names():
                images[pool] = found
        return Contents(images, await self._directory(), objects)

    async def _directory(self) -> dict[str, str]:
        journal = RadosObjects(self.connection, PoolScope(pool=JOURNAL))
        found: dict[str, str] = {}
        for name in set(DIRECTORIES) & set(await journal.names()):
            found |= await passing_keys(journal, name)
        return found

    async def assert_only(self, place: ImagePlace) -> None:
        """There is this volume, and nothing else: no other image, object or key."""
        entry = self.journal.entry(place).text
        assert await self.contents() == Contents(
            images={place.pool.name: [place.name]},
            directory={KEY: entry},
            objects={place.pool.name: [f"csi.volume.{place.uuid}"]},
        )

    async def assert_empty(self) -> None:
        assert await self.contents() == Contents(images={}, directory={}, objects={})


@asynccontextmanager
async def journal_ground(cluster: LoopbackCluster) -> AsyncIterator[JournalGround]:
    async with connected(cluster) as connection:
        ids = await connection.pool_ids()
        pools = {name: CephPoolRef(name, ids[name]) for name in (JOURNAL, *POOLS.values())}
        yield JournalGround(connection, cluster, pools)
