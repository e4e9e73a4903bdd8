"""Records of volumes, or of snapshots, in the journals of a cluster.

A record that is being made is known to this driver alone: the journal has the attempt, and gets the
record in the write that finishes it. From then on every driver of the cluster finds it by its id.
Each change compares the record with the one that it began with, and is refused (ABORTED) if another
driver was first.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import msgspec

from plimsoll.decide.ceph.journal.layout import DirectoryEntry, JournalLayout
from plimsoll.decide.ceph.journal.operations import JournalProblem
from plimsoll.decide.ceph.journal.places import CephJournal, ImagePlace
from plimsoll.decide.ceph.journal.reservations import AttemptFinished, finish
from plimsoll.decide.ceph.journal.stored_records import (
    JournalRecord,
    ListedRecords,
    find_record,
    find_request_record,
    list_records,
    write_record,
)
from plimsoll.decide.ceph.volume_ids import (
    CephVolumeId,
    compose_volume_id,
    decompose_volume_id,
)
from plimsoll.processes.driver.backends.ceph.ceph_cluster import CephCluster, failures_of
from plimsoll.processes.driver.backends.ceph.records.journal_runs import JournalError
from plimsoll.processes.driver.backends.ceph.records.journaled_assets import BegunAsset
from plimsoll.processes.driver.records import (
    RecordPhase,
    SnapshotRecord,
    VolumePlacement,
    VolumeRecord,
)
from plimsoll.runtime.ids import Ids
from plimsoll.wire.csi.refusals import aborted, failed_precondition

log = logging.getLogger(__name__)

Entry = TypeVar("Entry", VolumeRecord, SnapshotRecord)


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalPools:
    """Where the journals of a backend are."""

    of_class: Callable[[Mapping[str, str]], str]
    """Where the parameters of a class say that the journal is; empty: they do not say."""
    only: Callable[[], Awaitable[str]] | None = None
    """Where the one journal is, whatever a class says; None: classes say it. Raises CephError."""
    numbered: Callable[[int], Awaitable[int]] | None = None
    """The pool of the object of an entry whose id has this number; None: it is that of the pool.
    Raises CephError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalTable(Generic[Entry]):
    form: type[Entry]
    layout: JournalLayout
    adopt: Callable[[str, JournalRecord], Awaitable[Entry | None]]
    """The entry of that id, of which another program has left no record; None: not possible."""
    pools: JournalPools


class ClusterTable(Generic[Entry]):
    def __init__(self, cluster: CephCluster, settings: JournalTable[Entry], ids: Ids) -> None:
        self._cluster = cluster
        self._settings: JournalTable[Entry] = settings
        self._ids = ids
        self._pools: dict[str, None] = {}
        """Those that are known to have a journal, in the order in which they were heard of."""
        self._stored: dict[str, JournalRecord] = {}
        """As last read or written here. All of these are by uuid: a cluster may have more than one
        name, and the same volume has another id with each of them."""
        self._begun: dict[str, BegunAsset] = {}
        self.making: dict[str, Entry] = {}
        self.seen: dict[str, Entry] = {}
        """Of all journals that are known, when last looked at."""
        self._listed: dict[str, list[tuple[str, Entry]]] = {}
        """The same, by the pool of the journal."""

    def know_journal(self, pool: str) -> bool:
        """Whether it was known before."""
        is_known = pool in self._pools
        if pool:
            self._pools.setdefault(pool)
        return is_known

    async def journals(self) -> Sequence[CephJournal]:
        """Those whose pools there are. Raises CephError."""
        self.know_journal(await self._only_pool())
        layout = self._settings.layout
        known = await self._cluster.connection.pool_ids() if self._pools else {}
        return [await self._cluster.journal(pool, layout) for pool in self._pools if pool in known]

    async def _only_pool(self) -> str:
        """Empty: there may be several."""
        asked = self._settings.pools.only
        return "" if asked is None else await asked()

    async def journal_of(self, parameters: Mapping[str, str]) -> CephJournal:
        """Raises CephError."""
        pool = await self._only_pool() or self._settings.pools.of_class(parameters)
        self.know_journal(pool)
        return await self._cluster.journal(pool, self._settings.layout)

    # What the services ask

    async def new_id(self, name: str, placement: VolumePlacement) -> str:
        with failures_of(name):
            # The one journal has the objects of all entries in its own pool.
            pool = await self._cluster.pool(await self._only_pool() or placement.pools[0])
            own = CephVolumeId(
                cluster_id=await self._cluster.id(), pool_id=pool.id, uuid=self._ids.uid()
            )
            return compose_volume_id(own)

    async def find(self, id_: str) -> Entry | None:
        entry = await self._own_entry(id_)
        if entry is None:
            return None
        with failures_of(id_):
            found = await self._find(entry)
            return await self._entry(id_, found)

    async def _own_entry(self, id_: str) -> DirectoryEntry | None:
        """None: no driver of this cluster has made up such an id."""
        try:
            parsed = decompose_volume_id(id_)
        except ValueError:
            return None
        with failures_of(id_):
            if not await self._cluster.is_called(parsed.cluster_id):
                raise failed_precondition(
                    f"{id_}: is of cluster {parsed.cluster_id}, and this driver serves"
                    f" {await self._cluster.id()}; look at the option clusterId"
                )
            asked = self._settings.pools.numbered
            pool_id = parsed.pool_id if asked is None else await asked(parsed.pool_id)
        return DirectoryEntry(parsed.uuid, pool_id)

    async def _find(self, entry: DirectoryEntry) -> JournalRecord | None:
        """Where the object of an image is gone, only the journals can tell of it."""
        for journal in await self.journals() or await self._beside(entry):
            found: JournalRecord | None = await self._cluster.runner.run(
                find_record(journal, entry, name_in=self._name_in)
            )
            if found is not None:
                return found
        return None

    async def _beside(self, entry: DirectoryEntry) -> Sequence[CephJournal]:
        """As if the journal were in the pool of the image, whose object tells where it is."""
        ids = await self._cluster.connection.pool_ids()
        names = [name for name, id_ in ids.items() if id_ == entry.pool_id]
        return [await self._cluster.journal(name, self._settings.layout) for name in names]

    async def _entry(self, id_: str, found: JournalRecord | None) -> Entry | None:
        if found is None:
            self._forget(id_)
            return None
        key = _key(id_)
        self._stored[key] = found
        # A call that lost its answer may have finished it: the cluster has it, so nothing is begun.
        self._begun.pop(key, None)
        self.making.pop(key, None)
        entry = self._read(found.text) if found.text else await self._settings.adopt(id_, found)
        if entry is not None:
            self.seen[key] = entry
        return entry

    def _read(self, text: str) -> Entry:
        try:
            return msgspec.json.decode(text, type=self._settings.form)
        except msgspec.MsgspecError as error:
            raise JournalError(JournalProblem.BAD_RECORD, None) from error

    def _name_in(self, text: str) -> str:
        """A record that cannot be read tells no name; it is told as such when it is used."""
        try:
            return self._read(text).asset_name
        except JournalError:
            return ""

    async def find_by_name(self, name: str, parameters: Mapping[str, str]) -> Entry | None:
        with failures_of(name):
            pool = self._settings.pools.of_class(parameters) if parameters else ""
            self.know_journal(pool)
            for journal in await self._journals_in(pool):
                steps = find_request_record(journal, name, name_in=self._name_in)
                found: JournalRecord | None = await self._cluster.runner.run(steps)
                if found is not None:
                    return await self._entry(await self._id_of(found.place), found)
        return None

    async def _journals_in(self, pool: str) -> Sequence[CephJournal]:
        every = await self.journals()
        return [each for each in every if pool in ("", each.pool.name)]

    async def _id_of(self, place: ImagePlace) -> str:
        own = CephVolumeId(
            cluster_id=await self._cluster.id(), pool_id=place.pool.id, uuid=place.uuid
        )
        return compose_volume_id(own)

    async def put(self, entry: Entry) -> Entry:
        if entry.phase is RecordPhase.MAKING:
            self._drop_attempts(entry.name)
            self.making[_key(entry.id)] = entry
            return entry
        if self.is_being_made(entry.id) and entry.phase is RecordPhase.REMOVING:
            self.making[_key(entry.id)] = entry
            return entry
        with failures_of(entry.name):
            return await self._write(entry)

    def _drop_attempts(self, name: str) -> None:
        """Of this driver, that ended without its knowing how."""
        for id_ in [each.id for each in self.making.values() if each.name == name]:
            self._forget(id_)

    async def _write(self, entry: Entry) -> Entry:
        changed = msgspec.structs.replace(entry, revision=entry.revision + 1)
        if (begun := self._begun.get(_key(entry.id))) is not None:
            return await self._finish(begun, changed)
        before = self._stored[_key(entry.id)]
        self._check(entry, before)
        text = msgspec.json.encode(changed).decode()
        is_removal = entry.phase is RecordPhase.REMOVING
        await self._cluster.runner.run(write_record(before, text, is_removal=is_removal))
        self._keep(changed, replace(before, text=text))
        return changed

    def _keep(self, entry: Entry, stored: JournalRecord) -> None:
        self._stored[_key(entry.id)] = stored
        self.seen[_key(entry.id)] = entry

    def _check(self, entry: Entry, stored: JournalRecord) -> None:
        """Raises CsiStatusError if the change began with another record than was read last."""
        if stored.text and self._read(stored.text).revision != entry.revision:
            raise aborted(f"{entry.name}: was changed meanwhile; try again")

    async def _finish(self, begun: BegunAsset, entry: Entry) -> Entry:
        """The id is that of the asset, which an interrupted call for the same may have reserved."""
        place = begun.reserved.place
        finished = msgspec.structs.replace(
            entry, id=await self._id_of(place), asset_name=place.name
        )
        text = msgspec.json.encode(finished).decode()
        steps = finish(begun.journal, begun.reserved, begun.asset_id, record=text)
        ended = await self._cluster.runner.run(steps)
        self._forget(entry.id)
        stored = await self._find(DirectoryEntry(place.uuid, place.pool.id))
        # Another driver may have finished the same attempt, with a record of its own.
        if not isinstance(ended, AttemptFinished) or stored is None or stored.text != text:
            raise JournalError(JournalProblem.CHANGED, None)
        self._keep(finished, stored)
        return finished

    async def drop(self, id_: str) -> None:
        """The backend has removed the record with the asset."""
        self._forget(id_)

    def _forget(self, id_: str) -> None:
        for known in (self._begun, self._stored, self.making, self.seen):
            known.pop(_key(id_), None)

    async def numbered(self) -> Sequence[tuple[int, Entry]]:
        await self.look()
        return numbered_entries(list(self.seen.values()))

    async def newest(self) -> int:
        return max((number for number, _ in numbered_entries(list(self.seen.values()))), default=0)

    async def unsettled(self) -> Sequence[Entry]:
        """None: what another driver does at this moment looks the same as what one left."""
        return ()

    # What the backend asks

    async def look(self) -> None:
        """At all records that there are. A journal that does not answer counts as it did before,
        unless none does. Raises CsiStatusError."""
        with failures_of("the journal"):
            journals = await self.journals()
            failures = [error for each in journals if (error := await self._look_at(each))]
            if failures and len(failures) == len(journals):
                raise failures[0]
        self.seen = {key: entry for listed in self._listed.values() for key, entry in listed}

    async def _look_at(self, journal: CephJournal) -> JournalError | None:
        try:
            listed: ListedRecords = await self._cluster.runner.run(list_records(journal))
        except JournalError as error:
            log.warning("journal not read", extra={"pool": journal.pool.name, "error": str(error)})
            return error
        found = [self._listed_entry(*each) for each in listed.records.items()]
        self._listed[journal.pool.name] = [each for each in found if each is not None]
        return None

    def _listed_entry(self, entry: DirectoryEntry, text: str) -> tuple[str, Entry] | None:
        """None: a record of a newer version, or a broken one; it stops no call for others."""
        try:
            return entry.uuid, self._read(text)
        except JournalError as error:
            log.warning("record not read", extra={"uuid": entry.uuid, "error": str(error)})
            return None

    def begun(self, id_: str, asset: BegunAsset) -> None:
        """From here on it exists; the next `put` gives it to its request."""
        self._begun[_key(id_)] = asset

    def is_being_made(self, id_: str) -> bool:
        return _key(id_) in self.making

    def image_name(self, id_: str) -> str:
        """Of an entry that was found before; empty: it was not."""
        stored = self._stored.get(_key(id_))
        return "" if stored is None else stored.place.name

    async def stored(self, id_: str) -> JournalRecord | None:
        """As the cluster has it now. Raises CsiStatusError."""
        await self.find(id_)
        return self._stored.get(_key(id_))


def _key(id_: str) -> str:
    """The same for all ids of one volume."""
    try:
        return decompose_volume_id(id_).uuid
    except ValueError:
        return id_


def numbered_entries(entries: list[Entry]) -> Sequence[tuple[int, Entry]]:
    """By the time when they were made, in microseconds; no two have the same number."""
    found: list[tuple[int, Entry]] = []
    last = 0
    for entry in sorted(entries, key=lambda each: (each.created_at, each.id)):
        last = max(last + 1, round(entry.created_at.timestamp() * 1_000_000))
        found.append((last, entry))
    return found
