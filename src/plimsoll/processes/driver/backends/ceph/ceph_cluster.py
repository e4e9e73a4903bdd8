"""One cluster as a backend sees it: its connection and journals, and how its errors are told."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta

from plimsoll.decide.ceph.journal.fences import is_within, list_fences
from plimsoll.decide.ceph.journal.layout import CephPoolRef, JournalLayout
from plimsoll.decide.ceph.journal.operations import JournalProblem
from plimsoll.decide.ceph.journal.places import CephJournal
from plimsoll.processes.driver.backends.ceph.records.journal_runs import JournalError, JournalRunner
from plimsoll.runtime.commands import CommandError
from plimsoll.wire.ceph.connection import CephConnection
from plimsoll.wire.ceph.errors import CephError, CephFailure, refusal
from plimsoll.wire.csi.errors import CsiStatusError
from plimsoll.wire.csi.refusals import aborted, failed_precondition, internal, unavailable

PROBES = 16
"""Objects for each OSD: so many that hardly one has none of them first."""
BLOCKED_FOR = timedelta(days=365)
"""No client is cut off for longer than that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CephCluster:
    connection: CephConnection
    runner: JournalRunner
    cluster_id: str
    """In the ids of its volumes; empty: what the cluster calls itself."""
    older_journals: tuple[str, ...] = ()
    """Pools where ceph-csi kept journals of volumes that are to be found."""
    namespace: str = ""
    """Of RADOS, where journals are."""

    async def id(self) -> str:
        """Raises CephError."""
        return self.cluster_id or await self.connection.fsid()

    async def is_called(self, cluster_id: str) -> bool:
        """Raises CephError."""
        return cluster_id in (await self.id(), await self.connection.fsid())

    async def pool(self, name: str) -> CephPoolRef:
        """Raises CephError."""
        return _pool(name, await self.connection.pool_ids())

    async def journal(self, pool: str, layout: JournalLayout) -> CephJournal:
        """The one in that pool. Raises CephError."""
        ids = await self.connection.pool_ids()
        older = tuple(
            CephPoolRef(name, ids[name])
            for name in self.older_journals
            if name in ids and name != pool
        )
        own = replace(layout, namespace=self.namespace)
        return CephJournal(pool=_pool(pool, ids), layout=own, older=older)

    async def block(self, address: str) -> None:
        """The client of that address can write no more. Raises CephError."""
        seconds = float(BLOCKED_FOR.total_seconds())
        await self.connection.command(
            "osd blocklist", blocklistop="add", addr=address, expire=seconds
        )

    async def enforce_blocks(self) -> None:
        """Clients that were blocked before can write no more: a monitor has them on its list at
        once, an OSD only with the next map that it hears of, and that is brought to all of them
        here. One in a pool that does not answer has to hear of it before it answers any client.
        Raises CephError."""
        await self.connection.wait_for_newest_map()
        storage = int((await self.connection.command("osd stat"))["num_up_osds"])
        pools = await self.connection.pool_ids()
        await asyncio.gather(*(self._reach(pool, PROBES * storage) for pool in pools))

    async def _reach(self, pool: str, objects: int) -> None:
        try:
            await self.connection.reach_storage(pool, objects)
        except CephError as error:
            # What this user may not read, no other driver for the same volumes writes to.
            if error.failure not in (CephFailure.TIMED_OUT, CephFailure.DENIED):
                raise

    async def is_fenced(self, journal: CephJournal, topology: Mapping[str, str]) -> bool:
        """Whether a node with these labels may not write. Raises CephError and JournalError."""
        found = await self.runner.run(list_fences(journal))
        return any(is_within(topology, each.domain) for each in found)


def node_fenced(what: str, node_id: str) -> CsiStatusError:
    return failed_precondition(
        f"{what}: the domain of node {node_id} is fenced, and other domains have its volumes; it is"
        " given back when they have ended"
    )


def _pool(name: str, ids: Mapping[str, int]) -> CephPoolRef:
    if name not in ids:
        raise CephError(CephFailure.POOL_NOT_FOUND, f"pool {name}")
    return CephPoolRef(name, ids[name])


@contextmanager
def failures_of(what: str) -> Iterator[None]:
    """What goes wrong in Ceph becomes an answer that names the volume, and pool or monitor."""
    try:
        yield
    except CephError as error:
        raise refusal(error, what) from error
    except JournalError as error:
        if error.cause is not None and error.problem is JournalProblem.IO_ERROR:
            raise refusal(error.cause, what) from error
        if error.problem is JournalProblem.CHANGED:
            raise aborted(f"{what}: another call for it is under way") from error
        raise internal(f"{what}: the journal cannot be used: {error}") from error
    except CommandError as error:
        raise internal(f"{what}: {error}") from error
    except TimeoutError as error:
        raise unavailable(f"{what}: it did not become visible on the node in time") from error
