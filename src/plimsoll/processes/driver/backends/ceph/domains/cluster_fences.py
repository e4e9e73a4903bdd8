"""Fences of domains in the journals of a cluster, which all of its drivers obey.

First the journals get the fence: from then on no node in the domain gets a lease to write, or
mounts anything. Then the clients are blocked that have a lease, or something mounted. Only then is
the fence complete. A crash in between leaves a fence that is begun, and the next call goes on.
Clients that were blocked stay so: what was mounted on a node of the domain has to be staged again
when the domain is given back. A leader that was followed by another one is refused by each journal
in which that one has written or confirmed a fence, whatever driver it asks.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TypeVar

from plimsoll.decide.ceph.journal.fence_leaders import FenceLeader, NewerLeader
from plimsoll.decide.ceph.journal.fences import (
    Domain,
    FencedDomain,
    FenceState,
    confirm_fence,
    list_fences,
    remove_fence,
    write_fence,
)
from plimsoll.decide.ceph.journal.operations import JournalProblem, RadosSteps
from plimsoll.decide.ceph.journal.places import CephJournal
from plimsoll.processes.driver.backends.ceph.ceph_cluster import CephCluster, failures_of
from plimsoll.processes.driver.backends.ceph.records.cluster_records import ClusterRecords
from plimsoll.runtime.leading.epoch import LeaderEpoch
from plimsoll.wire.csi.epochs import superseded
from plimsoll.wire.csi.refusals import unavailable

T = TypeVar("T")

EndWriters = Callable[[Sequence[CephJournal], Mapping[str, str]], Awaitable[None]]
"""Lets no client in the domain write any more. Raises CephError and JournalError."""
FindJournals = Callable[[], Awaitable[Sequence[str]]]
"""The pools that have a journal, also of classes that this driver has not heard of."""
FindDown = Callable[[], Awaitable[Collection[int]]]
"""The ids of pools that no data can be written to."""


class ClusterFences:
    def __init__(
        self,
        cluster: CephCluster,
        records: ClusterRecords,
        find_journals: FindJournals,
        *,
        find_down: FindDown,
        end_writers: EndWriters,
    ) -> None:
        self._cluster = cluster
        self._find_down = find_down
        self._end_writers = end_writers
        self._records = records
        self._find_journals = find_journals

    async def domains(self) -> Sequence[Domain]:
        found: list[Domain] = []
        with failures_of("fences"):
            for journal in await self._journals():
                found += [each.domain for each in await self._listed(journal)]
        return [each for at, each in enumerate(found) if each not in found[:at]]

    async def is_fenced(self, domain: Mapping[str, str]) -> bool:
        """In every journal, and to the end."""
        with failures_of(f"domain {dict(domain)}"):
            journals = await self._journals()
            listed = [await self._listed(journal) for journal in journals]
        wanted = FencedDomain(dict(domain), FenceState.COMPLETE)
        return bool(listed) and all(wanted in found for found in listed)

    async def fence(self, domain: Mapping[str, str], caller: LeaderEpoch | None) -> None:
        with failures_of(f"domain {dict(domain)}"):
            journals = await self._writable_journals(domain)
            if await self._is_confirmed(journals, domain, caller):
                return
            await self._write(journals, domain, FenceState.BEGUN, caller)
            await self._end_writers(journals, domain)
            await self._write(journals, domain, FenceState.COMPLETE, caller)

    async def confirm(self, domain: Mapping[str, str], caller: LeaderEpoch | None) -> bool:
        with failures_of(f"domain {dict(domain)}"):
            return await self._is_confirmed(await self._writable_journals(domain), domain, caller)

    async def release(self, domain: Mapping[str, str], caller: LeaderEpoch | None) -> None:
        with failures_of(f"domain {dict(domain)}"):
            for journal in await self._journals():
                await self._led(remove_fence(journal, domain, _leader(caller)))

    async def _writable_journals(self, domain: Mapping[str, str]) -> Sequence[CephJournal]:
        """Raises CsiStatusError if there is none."""
        if found := await self._journals():
            return found
        raise unavailable(
            f"domain {dict(domain)}: no journal can be written to, and fences are kept there"
        )

    async def _is_confirmed(
        self,
        journals: Sequence[CephJournal],
        domain: Mapping[str, str],
        caller: LeaderEpoch | None,
    ) -> bool:
        leader = _leader(caller)
        found = [await self._led(confirm_fence(journal, domain, leader)) for journal in journals]
        return all(found)

    async def _write(
        self,
        journals: Sequence[CephJournal],
        domain: Mapping[str, str],
        state: FenceState,
        caller: LeaderEpoch | None,
    ) -> None:
        for journal in journals:
            await self._led(write_fence(journal, domain, state, _leader(caller)))

    async def _led(self, steps: RadosSteps[T | NewerLeader | JournalProblem]) -> T:
        """Raises CsiStatusError for a leader that another one has followed."""
        found: T | NewerLeader = await self._cluster.runner.run(steps)
        if isinstance(found, NewerLeader):
            raise superseded(_epoch(found.leader), _epoch(found.newest))
        return found

    async def _journals(self) -> Sequence[CephJournal]:
        for pool in await self._find_journals():
            self._records.know_journal(pool)
        # One that was lost with its domain lets no node write: no lease can be taken there.
        down = await self._find_down()
        return [each for each in await self._records.volumes.journals() if each.pool.id not in down]

    async def _listed(self, journal: CephJournal) -> Sequence[FencedDomain]:
        found: Sequence[FencedDomain] = await self._cluster.runner.run(list_fences(journal))
        return found


def _leader(epoch: LeaderEpoch | None) -> FenceLeader | None:
    if epoch is None:
        return None
    return FenceLeader(epoch.lease, epoch.lease_created_at, epoch.transitions)


def _epoch(leader: FenceLeader) -> LeaderEpoch:
    return LeaderEpoch(
        lease=leader.lease,
        lease_created_at=leader.lease_created_at,
        transitions=leader.transitions,
    )
