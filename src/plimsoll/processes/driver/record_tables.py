"""Where a driver keeps its records: in its own ledger, or in storage that it shares with others.

The services ask these tables and nothing else. A driver whose volumes are on its node, or that is
alone with its pools, has them in its ledger (`LedgerRecords`). Where drivers on many nodes share
one storage cluster, the cluster has the records, and the backend brings tables of its own.
"""

from collections.abc import Mapping, Sequence
from typing import Generic, Protocol, TypeVar, runtime_checkable

from plimsoll.processes.driver.accounts import Accounts
from plimsoll.processes.driver.backends.protocol import Charges
from plimsoll.processes.driver.ledger import Ledger, LedgerTable
from plimsoll.processes.driver.records import SnapshotRecord, VolumePlacement, VolumeRecord
from plimsoll.runtime.ids import Ids

Entry = TypeVar("Entry", VolumeRecord, SnapshotRecord)


class RecordTable(Protocol[Entry]):
    """Records of one kind. What is written is durable when the call returns.

    Every method may raise CsiStatusError: a cluster may not answer, and another driver may have
    changed the record since it was read here (ABORTED).
    """

    async def new_id(self, name: str, placement: VolumePlacement) -> str: ...

    async def find(self, id_: str) -> Entry | None: ...

    async def find_by_name(self, name: str, parameters: Mapping[str, str]) -> Entry | None:
        """`parameters` are those of the class, which may say where the records of its volumes
        are."""
        ...

    async def put(self, entry: Entry) -> Entry:
        """New or changed; the entry as it is kept now, which the next change begins with."""
        ...

    async def drop(self, id_: str) -> None:
        """Harmless when there is none."""
        ...

    async def numbered(self) -> Sequence[tuple[int, Entry]]:
        """All, in the order in which they came; an entry keeps its number."""
        ...

    async def newest(self) -> int:
        """The highest number that was given."""
        ...

    async def unsettled(self) -> Sequence[Entry]:
        """Those that this driver has to look at when it starts."""
        ...


class DriverRecords(Protocol):
    @property
    def volumes(self) -> RecordTable[VolumeRecord]: ...

    @property
    def snapshots(self) -> RecordTable[SnapshotRecord]: ...

    async def refresh(self) -> None:
        """Look at what other drivers have written, unless that was done just now."""
        ...

    def charges(self) -> Charges:
        """What is promised, as far as this driver knows: later writes do not change the answer."""
        ...

    def attached_to(self, node_id: str) -> int:
        """How many volumes are."""
        ...

    async def where_written(self, volume: VolumeRecord) -> str:
        """On which node of another driver the volume is in use, for people; empty: on none."""
        ...

    def seen(self) -> tuple[Sequence[VolumeRecord], Sequence[SnapshotRecord]]:
        """All that this driver knows of without asking, for its metrics."""
        ...


@runtime_checkable
class KeepsRecords(Protocol):
    """Of a backend that shares its storage with other drivers, and the records with it."""

    @property
    def records(self) -> DriverRecords: ...


class LedgerRows(Generic[Entry]):
    """A table of the ledger. No method gives way to other tasks."""

    def __init__(self, table: LedgerTable[Entry], *, prefix: str, ids: Ids | None) -> None:
        """The prefix is that of ids. Without `ids` they follow from names."""
        self._table: LedgerTable[Entry] = table
        self._prefix = prefix
        self._ids = ids

    async def new_id(self, name: str, placement: VolumePlacement) -> str:  # noqa: ARG002 - not here
        return self._prefix + (name if self._ids is None else self._ids.uid())

    async def find(self, id_: str) -> Entry | None:
        return self._table.find(id_)

    async def find_by_name(self, name: str, parameters: Mapping[str, str]) -> Entry | None:  # noqa: ARG002 - not here
        return self._table.find_by_name(name)

    async def put(self, entry: Entry) -> Entry:
        self._table.put(entry)
        return entry

    async def drop(self, id_: str) -> None:
        self._table.drop(id_)

    async def numbered(self) -> Sequence[tuple[int, Entry]]:
        return self._table.numbered()

    async def newest(self) -> int:
        return self._table.newest

    async def unsettled(self) -> Sequence[Entry]:
        return self._table.all()


class LedgerRecords:
    def __init__(self, ledger: Ledger, *, backend: str, ids: Ids, ids_from_names: bool) -> None:
        """`ids_from_names`: a volume is known by the name that was asked for."""
        self._ledger = ledger
        self._accounts = Accounts(ledger)
        named = None if ids_from_names else ids
        self.volumes = LedgerRows(ledger.volumes, prefix=f"{backend}-", ids=named)
        self.snapshots = LedgerRows(ledger.snapshots, prefix=f"{backend}-snapshot-", ids=ids)

    async def refresh(self) -> None:
        pass

    def charges(self) -> Charges:
        return self._accounts.charges()

    def attached_to(self, node_id: str) -> int:
        return self._accounts.attached_to(node_id)

    async def where_written(self, volume: VolumeRecord) -> str:  # noqa: ARG002 - no other driver
        return ""

    def seen(self) -> tuple[Sequence[VolumeRecord], Sequence[SnapshotRecord]]:
        return self._ledger.volumes.all(), self._ledger.snapshots.all()
