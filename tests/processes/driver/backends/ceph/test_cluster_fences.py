from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from grpc import StatusCode

from plimsoll.decide.ceph.journal.fences import FenceState, list_fences, remove_fence, write_fence
from plimsoll.decide.ceph.journal.operations import JournalProblem
from plimsoll.decide.ceph.journal.places import CephJournal
from plimsoll.processes.driver.backends.ceph.ceph_cluster import CephCluster
from plimsoll.processes.driver.backends.ceph.clusters.clustered_fences import ClusteredFences
from plimsoll.processes.driver.backends.ceph.clusters.member_clusters import (
    MemberCluster,
    MemberClusters,
)
from plimsoll.processes.driver.backends.ceph.domains.cluster_fences import ClusterFences
from plimsoll.processes.driver.backends.ceph.journaled_backend import JournaledBackend
from plimsoll.processes.driver.backends.ceph.records.cluster_records import ClusterRecords
from plimsoll.processes.driver.backends.ceph.records.journal_runs import JournalError
from plimsoll.runtime.clock import SteppedClock
from plimsoll.runtime.leading.epoch import LeaderEpoch
from plimsoll.wire.csi.errors import NEWEST_EPOCH_KEY, CsiStatusError
from tests.decide.ceph.journal.rados_table import RadosTable, TableSteps
from tests.decide.ceph.journal.volume_calls import JOURNAL, POOLS, A

ZONE = {"t/zone": "a"}
OTHER_JOURNAL = CephJournal(pool=A)
BOTH = (JOURNAL, OTHER_JOURNAL)
FORMER = LeaderEpoch(
    lease="storage/controller", lease_created_at=datetime(2030, 1, 31, tzinfo=UTC), transitions=3
)
NEXT = LeaderEpoch(lease=FORMER.lease, lease_created_at=FORMER.lease_created_at, transitions=4)


@dataclass
class Cluster:
    """What a driver has of a cluster of Ceph, where journals are tables in memory."""

    found: Sequence[CephJournal] = BOTH
    table: RadosTable = field(default_factory=lambda: RadosTable(pools=POOLS))

    @property
    def runner(self) -> "Cluster":
        return self

    @property
    def volumes(self) -> "Cluster":
        return self

    async def run(self, steps: TableSteps[Any]) -> Any:
        found = self.table.run(steps)
        if isinstance(found, JournalProblem):
            raise JournalError(found, None)
        return found

    async def journals(self) -> Sequence[CephJournal]:
        return self.found

    def fences_of_a_driver(self) -> ClusterFences:
        return ClusterFences(
            cast("CephCluster", self),
            cast("ClusterRecords", self),
            no_pools,
            find_down=no_down_pools,
            end_writers=end_none,
        )

    def states(self) -> list[list[FenceState]]:
        """Of the fences in each journal."""
        listed = [self.table.run(list_fences(journal)) for journal in self.found]
        return [[state for _, state in found] for found in listed if isinstance(found, tuple)]


async def no_pools() -> Sequence[str]:
    return ()


async def no_down_pools() -> Sequence[int]:
    return ()


async def end_none(journals: Sequence[CephJournal], domain: Mapping[str, str]) -> None:
    pass


async def test_where_no_journal_can_be_written_to_no_domain_is_fenced_and_none_confirmed() -> None:
    fences = Cluster(found=()).fences_of_a_driver()
    for ask in (fences.fence, fences.confirm):
        with pytest.raises(CsiStatusError, match="no journal can be written to") as refused:
            await ask(ZONE, None)
        assert refused.value.code is StatusCode.UNAVAILABLE
    assert not await fences.is_fenced(ZONE)


@pytest.mark.parametrize("caller", [None, FORMER, NEXT], ids=["nobody", "same", "next"])
async def test_a_fence_is_confirmed_that_is_complete_in_each_journal(
    caller: LeaderEpoch | None,
) -> None:
    cluster = Cluster()
    await cluster.fences_of_a_driver().fence(ZONE, FORMER)
    assert await cluster.fences_of_a_driver().confirm(ZONE, caller)
    assert cluster.states() == [[FenceState.COMPLETE]] * 2


@pytest.mark.parametrize("journal", BOTH)
@pytest.mark.parametrize("caller", [None, NEXT], ids=["nobody", "next"])
async def test_a_fence_that_one_journal_does_not_have_is_not_confirmed_nor_begun_there(
    journal: CephJournal, caller: LeaderEpoch | None
) -> None:
    cluster = Cluster()
    fences = cluster.fences_of_a_driver()
    await fences.fence(ZONE, FORMER)
    for change in (write_fence(journal, ZONE, FenceState.BEGUN), remove_fence(journal, ZONE)):
        await cluster.run(change)
        before = cluster.states()
        assert not await fences.confirm(ZONE, caller)
        assert cluster.states() == before != [[FenceState.COMPLETE]] * 2


async def test_the_driver_of_a_former_leader_ends_no_fence_that_another_one_has_confirmed() -> None:
    cluster = Cluster()
    former, next_one = cluster.fences_of_a_driver(), cluster.fences_of_a_driver()
    await former.fence(ZONE, FORMER)
    assert await next_one.confirm(ZONE, NEXT)
    for late in (former.release(ZONE, FORMER), former.confirm(ZONE, FORMER)):
        with pytest.raises(CsiStatusError) as refused:
            await late
        assert NEWEST_EPOCH_KEY in refused.value.metadata
    assert await next_one.is_fenced(ZONE)


async def test_a_fence_that_one_of_several_clusters_does_not_have_is_not_confirmed() -> None:
    clusters = {name: Cluster() for name in ("east", "west")}
    fences = clustered(clusters)
    await fences.fence(ZONE, FORMER)
    assert await fences.confirm(ZONE, NEXT)
    with pytest.raises(CsiStatusError) as refused:
        await clustered(clusters).release(ZONE, FORMER)
    assert NEWEST_EPOCH_KEY in refused.value.metadata
    for cluster in clusters.values():
        await cluster.fences_of_a_driver().release(ZONE, NEXT)
        assert not await fences.confirm(ZONE, NEXT)
        assert cluster.states() == [[], []]
        await fences.fence(ZONE, NEXT)


async def test_a_fence_is_not_confirmed_while_one_of_several_clusters_does_not_answer() -> None:
    clusters = {name: Cluster() for name in ("east", "west")}
    fences = clustered(clusters)
    await fences.fence(ZONE, FORMER)
    clusters["west"].table.down.add(A.name)
    with pytest.raises(CsiStatusError) as refused:
        await fences.confirm(ZONE, NEXT)
    assert refused.value.code is not StatusCode.FAILED_PRECONDITION


@dataclass
class FencedBackend:
    fence_keeper: ClusterFences


def clustered(clusters: Mapping[str, Cluster]) -> ClusteredFences:
    members = [
        MemberCluster(
            name=name,
            prefix=name,
            backend=cast("JournaledBackend", FencedBackend(cluster.fences_of_a_driver())),
        )
        for name, cluster in clusters.items()
    ]
    return ClusteredFences(MemberClusters(members, SteppedClock()))
