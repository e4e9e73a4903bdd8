"""Fences of domains in the journals of a cluster, which all of its drivers obey.

First the journals get the fence: from then on no node in the domain gets a lease to write, or
mounts anything. Then the clients are blocked that have a lease, or something mounted. Only then is
the fence complete. A crash in between leaves a fence that is begun, and the next call goes on.
Clients that were blocked stay so: what was mounted on a node of the domain has to be staged again
when the domain is given back.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

from plimsoll.decide.ceph.journal.fences import (
    Domain,
    FencedDomain,
    FenceState,
    list_fences,
    remove_fence,
    write_fence,
)
from plimsoll.decide.ceph.journal.places import CephJournal
from plimsoll.processes.driver.backends.ceph.ceph_cluster import CephCluster, failures_of
from plimsoll.processes.driver.backends.ceph.records.cluster_records import ClusterRecords

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

    async def fence(self, domain: Mapping[str, str]) -> None:
        if await self.is_fenced(domain):
            return
        with failures_of(f"domain {dict(domain)}"):
            journals = await self._journals()
            await self._write(journals, domain, FenceState.BEGUN)
            await self._end_writers(journals, domain)
            await self._write(journals, domain, FenceState.COMPLETE)

    async def release(self, domain: Mapping[str, str]) -> None:
        with failures_of(f"domain {dict(domain)}"):
            for journal in await self._journals():
                await self._cluster.runner.run(remove_fence(journal, domain))

    async def _write(
        self, journals: Sequence[CephJournal], domain: Mapping[str, str], state: FenceState
    ) -> None:
        for journal in journals:
            await self._cluster.runner.run(write_fence(journal, domain, state))

    async def _journals(self) -> Sequence[CephJournal]:
        for pool in await self._find_journals():
            self._records.know_journal(pool)
        # One that was lost with its domain lets no node write: no lease can be taken there.
        down = await self._find_down()
        return [each for each in await self._records.volumes.journals() if each.pool.id not in down]

    async def _listed(self, journal: CephJournal) -> Sequence[FencedDomain]:
        found: Sequence[FencedDomain] = await self._cluster.runner.run(list_fences(journal))
        return found
