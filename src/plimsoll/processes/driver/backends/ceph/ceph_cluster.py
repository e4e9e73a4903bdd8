"""One cluster as a backend sees it: its connection and journals, and how its errors are told."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from plimsoll.decide.ceph.journal.layout import CephPoolRef, JournalLayout
from plimsoll.decide.ceph.journal.operations import JournalProblem
from plimsoll.decide.ceph.journal.places import CephJournal
from plimsoll.processes.driver.backends.ceph.journal_runs import JournalError, JournalRunner
from plimsoll.runtime.commands import CommandError
from plimsoll.wire.ceph.connection import CephConnection
from plimsoll.wire.ceph.errors import CephError, CephFailure, refusal
from plimsoll.wire.csi.refusals import aborted, internal, unavailable


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
