"""A fence that a former leader has written, and that the next one only wants to stay, on a real
cluster: the former one's release comes before the confirmation, after it, or stops in between.

Each leader has a driver of its own, as where each copy of the controller runs with one.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from plimsoll.decide.ceph.journal.fence_leaders import FenceLeader, NewerLeader
from plimsoll.decide.ceph.journal.fences import FencedDomain, FenceState, list_fences, remove_fence
from plimsoll.decide.ceph.journal.operations import (
    JournalProblem,
    RadosOperation,
    RadosSteps,
    ReadKeys,
)
from plimsoll.decide.ceph.journal.places import CephJournal
from plimsoll.runtime.leading.epoch import LeaderEpoch
from plimsoll.wire.ceph.connection import PoolScope
from plimsoll.wire.ceph.objects import Creating, ObjectWrite, RadosObjects
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.epochs import epoch_metadata
from plimsoll.wire.csi.errors import DriverError, DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi, domains_pb2 as pb
from tests.ceph.interrupted_calls import Crash, JournalGround, journal_ground
from tests.ceph.loopback_cluster import POOLS, LoopbackCluster
from tests.ceph.rbd_drivers import rbd_driver
from tests.processes.driver.drivers import ZONE, Running

DOMAIN = csi.Topology(segments={ZONE: "zone-a"})
FENCE, CONFIRM, RELEASE = (
    pb.FenceDomainRequest(domain=DOMAIN),
    pb.ConfirmFenceRequest(domain=DOMAIN),
    pb.ReleaseDomainRequest(domain=DOMAIN),
)
COMPLETE = (FencedDomain({ZONE: "zone-a"}, FenceState.COMPLETE),)


@dataclass
class Leader:
    running: Running
    led: FenceLeader

    async def fence(self) -> None:
        await self.running.client.call(m.FENCE_DOMAIN, FENCE, metadata=self._metadata)

    async def confirm(self) -> None:
        await self.running.client.call(m.CONFIRM_FENCE, CONFIRM, metadata=self._metadata)

    async def release(self) -> None:
        await self.running.client.call(m.RELEASE_DOMAIN, RELEASE, metadata=self._metadata)

    @property
    def _metadata(self) -> dict[str, str]:
        lease, made, transitions = self.led
        epoch = LeaderEpoch(lease=lease, lease_created_at=made, transitions=transitions)
        return dict(epoch_metadata(epoch))

    async def is_fenced(self) -> bool:
        """As it is listed."""
        listed = await self.running.call(m.LIST_DOMAINS, pb.ListDomainsRequest())
        return [each.fenced for each in listed.domains] == [True]


@asynccontextmanager
async def leaders(
    cluster: LoopbackCluster, directory: Path
) -> AsyncIterator[tuple[Leader, Leader]]:
    """The former one, which has fenced the domain, and the next one. A journal remembers leaders
    for good, so each test has a lease of its own."""
    led = FenceLeader(f"storage/{uuid4()}", datetime(2030, 1, 31, tzinfo=UTC), 3)
    async with (
        rbd_driver(cluster, directory / "one") as first,
        rbd_driver(cluster, directory / "two") as second,
    ):
        former, next_one = Leader(first, led), Leader(second, led._replace(transitions=4))
        await former.fence()
        yield former, next_one
        await next_one.release()


@pytest.fixture
async def ground(cluster: LoopbackCluster) -> AsyncIterator[JournalGround]:
    async with journal_ground(cluster) as made:
        yield made
        await made.assert_empty()


async def fences(ground: JournalGround, journal: CephJournal) -> tuple[FencedDomain, ...]:
    found: tuple[FencedDomain, ...] = await ground.runner(Crash()).run(list_fences(journal))
    return found


@pytest.mark.usefixtures("ground")
async def test_a_release_after_the_confirmation_is_refused(
    cluster: LoopbackCluster, tmp_path: Path
) -> None:
    async with leaders(cluster, tmp_path) as (former, next_one):
        await next_one.confirm()
        for late in (former.release, former.confirm):
            with pytest.raises(DriverError, match="epoch 2030-01-31T00:00:00Z/4 has") as refused:
                await late()
            assert refused.value.failure is DriverFailure.SUPERSEDED
        assert await next_one.is_fenced()


async def test_after_a_release_nothing_is_confirmed_and_nothing_fenced_once_more(
    cluster: LoopbackCluster, ground: JournalGround, tmp_path: Path
) -> None:
    async with leaders(cluster, tmp_path) as (former, next_one):
        assert await next_one.is_fenced()
        await former.release()
        with pytest.raises(DriverError, match=f"domain {ZONE}=zone-a: it is not fenced") as refused:
            await next_one.confirm()
        assert refused.value.failure is DriverFailure.WRONG_STATE
        assert await fences(ground, ground.journal) == ()


async def test_a_release_that_stopped_before_its_write_changes_nothing_when_it_goes_on(
    cluster: LoopbackCluster, ground: JournalGround, tmp_path: Path
) -> None:
    async with leaders(cluster, tmp_path) as (former, next_one):
        stopped = StoppedRelease(ground, former.led)
        await stopped.begin()
        await next_one.confirm()
        assert await stopped.go_on() == NewerLeader(former.led, next_one.led)
        assert await next_one.is_fenced()


async def test_a_release_that_came_to_one_of_two_journals_leaves_nothing_to_count_on(
    cluster: LoopbackCluster, ground: JournalGround, tmp_path: Path
) -> None:
    """The other journal keeps its fence, and the one that was released stays so."""
    other = CephJournal(pool=ground.pools[POOLS["zone-b"]])
    objects = RadosObjects(ground.connection, PoolScope(pool=other.pool.name))
    await objects.write(other.directory.name, ObjectWrite(creating=Creating.IDEMPOTENT))
    async with leaders(cluster, tmp_path) as (former, next_one):
        assert await fences(ground, other) == COMPLETE
        release = remove_fence(ground.journal, dict(DOMAIN.segments), former.led)
        await ground.runner(Crash()).run(release)
        with pytest.raises(DriverError, match="it is not fenced, or not to the end"):
            await next_one.confirm()
        assert await fences(ground, ground.journal) == ()
        assert await fences(ground, other) == COMPLETE
    await objects.remove(other.directory.name)


class StoppedRelease:
    """The former leader's: it has read who leads, and stops before it removes the fence."""

    def __init__(self, ground: JournalGround, former: FenceLeader) -> None:
        self._runner = ground.runner(Crash())
        self._steps = remove_fence(ground.journal, dict(DOMAIN.segments), former)

    async def begin(self) -> None:
        self._write: RadosOperation = await self._runner.run(self._read())

    async def go_on(self) -> NewerLeader | None:
        found: NewerLeader | None = await self._runner.run(self._rest())
        return found

    def _read(self) -> RadosSteps[RadosOperation]:
        operation = next(self._steps)
        while isinstance(operation, ReadKeys):
            operation = self._steps.send((yield operation))
        return operation

    def _rest(self) -> RadosSteps[NewerLeader | JournalProblem | None]:
        operation = self._write
        try:
            while True:
                operation = self._steps.send((yield operation))
        except StopIteration as end:
            found: NewerLeader | JournalProblem | None = end.value
            return found
