"""The records of rollbacks: stored as leases, kept in memory, written by the leader alone."""

import logging

from msgspec.structs import replace

from plimsoll.api.core import Lease
from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.decide.records import RECORD
from plimsoll.decide.rollback.records import (
    ROLLBACK_KIND,
    RollbackRecord,
    RollbackState,
    read_rollback,
    rollback_lease,
)
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import documents, typed
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.parameters import Selection

log = logging.getLogger(__name__)

LEASES = documents(typed(Lease).resource)


class RollbackBook:
    def __init__(self, client: KubeClient, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._records: dict[str, RollbackRecord] = {}
        """By the uid of the volume."""
        self._leases: dict[str, Document] = {}
        self._unanswered: dict[str, RollbackRecord] = {}
        """New ones that may be stored: the server did not answer."""

    def __len__(self) -> int:
        return len(self._records)

    async def load(self) -> list[RollbackRecord]:
        """What earlier processes have left. Raises KubeError."""
        selection = Selection(namespace=self._namespace, labels=f"{RECORD}={ROLLBACK_KIND}")
        for lease in (await self._client.list(LEASES, selection)).items:
            record = read_rollback(lease)
            if record is None:
                log.error("rollback cannot be read", extra={"lease": lease["metadata"]["name"]})
            else:
                self._remember(record, lease)
        return [*self._records.values()]

    async def find(self, uid: str) -> RollbackRecord | None:
        """Also one that was stored without an answer. Raises KubeError."""
        unanswered = self._unanswered.get(uid)
        if uid not in self._records and unanswered is not None:
            lease = await self._client.find(LEASES, self._key(unanswered))
            stored = None if lease is None else read_rollback(lease)
            if lease is not None and stored is not None:
                self._remember(stored, lease)
        self._unanswered.pop(uid, None)
        return self._records.get(uid)

    async def store(self, record: RollbackRecord) -> None:
        """Raises KubeError: then it is not certain whether it is stored, and storing it again is
        harmless."""
        before = self._leases.get(record.volume_uid, {})
        document = rollback_lease(record, self._namespace, before)
        failure = Failure.CONFLICT if before else Failure.ALREADY_EXISTS
        write = self._client.update if before else self._client.create
        try:
            lease = await write(LEASES, document)
        except KubeError as error:
            if error.failure is not failure:
                if not before and not error.is_certain:
                    self._unanswered[record.volume_uid] = record
                raise
            # No other process writes it: these are our own words, whose answer got lost.
            there = await self._client.get(LEASES, self._key(record))
            lease = await self._client.update(
                LEASES, rollback_lease(record, self._namespace, there)
            )
        self._remember(record, lease)

    async def enter(
        self, record: RollbackRecord, state: RollbackState, *, was_used: bool = False
    ) -> None:
        """Raises KubeError."""
        await self.store(replace(record, state=state, was_used=was_used))

    async def drop(self, record: RollbackRecord) -> None:
        """Nothing is left to be done. Raises KubeError."""
        try:
            await self._client.delete(LEASES, self._key(record))
        except KubeError as error:
            if error.failure is not Failure.NOT_FOUND:
                raise
        del self._records[record.volume_uid]
        del self._leases[record.volume_uid]

    def _remember(self, record: RollbackRecord, lease: Document) -> None:
        self._records[record.volume_uid] = record
        self._leases[record.volume_uid] = lease

    def _key(self, record: RollbackRecord) -> ObjectKey:
        return ObjectKey(self._namespace, record.name)
