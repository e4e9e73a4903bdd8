"""Records volumes that the driver has created, again and again until the API has taken them,
without another call to the driver.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from plimsoll.api.meta import ObjectKey
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolume
from plimsoll.decide.provisioning.intents import IntentState
from plimsoll.decide.provisioning.outcomes import after_saved, after_unsaved
from plimsoll.decide.provisioning.protection import decide_release
from plimsoll.decide.provisioning.recorded import is_recorded
from plimsoll.decide.provisioning.steps import ClaimMemory, ProvisioningRecord
from plimsoll.enact.enactor import Done, Obstacle, Overtaken
from plimsoll.processes.provisioner.claims.call_context import CallContext
from plimsoll.processes.provisioner.operation_metrics import source_of
from plimsoll.processes.provisioner.view import read_for
from plimsoll.runtime.workqueue import WorkQueue
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import typed

log = logging.getLogger(__name__)

VOLUMES = typed(PersistentVolume)


@dataclass(frozen=True, slots=True)
class Unsaved:
    """A volume that exists and is not stored yet, or whose intent is still there."""

    record: ProvisioningRecord
    begun: float
    is_stored: bool = False
    """It is not stored a second time: its claim, and with it the volume, may be gone by then."""


class UnsavedVolumes:
    def __init__(
        self,
        context: CallContext,
        queue: WorkQueue[ObjectKey],
        remember: Callable[[str, ClaimMemory], None],
    ) -> None:
        """`remember` is told by the uid of a claim what is known of it."""
        self._tools = context.tools
        self._sidecar = context.sidecar
        self._intents = context.intents
        self._caches = context.caches
        self._queue = queue
        self._remember = remember
        self._waiting: dict[str, Unsaved] = {}
        """By the uid of the claim."""

    def __contains__(self, uid: str) -> bool:
        return uid in self._waiting

    async def begin(self, key: ObjectKey, uid: str, unsaved: Unsaved) -> None:
        self._waiting[uid] = unsaved
        await self.save(key, uid)

    async def save(self, key: ObjectKey, uid: str) -> None:
        """Raises KubeError if the volume is stored and its intent cannot be deleted."""
        unsaved = self._waiting[uid]
        record = unsaved.record
        if not unsaved.is_stored:
            if not await self._is_stored(key, uid, record):
                return
            self._waiting[uid] = replace(unsaved, is_stored=True)
        await self._intents.drop(uid)
        del self._waiting[uid]
        self._queue.forget(key)
        self._told(record, self._tools.clock.monotonic() - unsaved.begun)
        if not self._sidecar.decisions.is_compatible:
            # Before, the next process would have to ask for the volume again, from a source that is
            # kept for that.
            await self._release(record)
        await self._tools.show(after_saved(record, self._caches.claims.view().get(key)))

    async def _is_stored(self, key: ObjectKey, uid: str, record: ProvisioningRecord) -> bool:
        """False: it is tried again later, or the volume is given back."""
        outcome = await self._tools.show(record.creation)
        if isinstance(outcome, Done):
            return True
        stored = await self._find_stored(record, outcome)
        if stored is None:
            await self._tools.show(after_unsaved(record, outcome.error.message))
            self._queue.add_rate_limited(key)
            return False
        if not self._is_told_by(stored, record):
            await self._give_back(key, uid, record)
            return False
        return True

    async def _release(self, record: ProvisioningRecord) -> None:
        """A snapshot that has changed since the volume was made is read again: it may be deleted by
        now, and wait for this."""
        outcome = await self._tools.show(record.plan)
        if not isinstance(outcome, Overtaken):
            return
        try:
            read = await read_for(record.claim, self._tools.client)
        except KubeError as error:
            log.debug("snapshot left to the sweep", extra={"error": str(error)})
            return
        await self._tools.show(decide_release(record.claim, self._caches.view(read)))

    async def _find_stored(
        self, record: ProvisioningRecord, outcome: Overtaken | Obstacle
    ) -> PersistentVolume | None:
        """What the claim has under the name: an earlier attempt may have reached the server
        although no answer came back."""
        if outcome.error.failure is not Failure.ALREADY_EXISTS:
            return None
        stored = await self._tools.client.find(VOLUMES, ObjectKey("", record.name))
        reference = stored.spec.claim_ref if stored else None
        is_of_claim = reference is not None and reference.uid == record.claim.uid
        return stored if is_of_claim else None

    def _is_told_by(self, stored: PersistentVolume, record: ProvisioningRecord) -> bool:
        """False: another program has recorded a volume of its own for the claim."""
        intent = self._intents.find(record.claim.uid)
        if intent is None:
            return True
        return is_recorded(replace(intent.asset, volume_id=record.volume_id), (stored,))

    async def _give_back(self, key: ObjectKey, uid: str, record: ProvisioningRecord) -> None:
        """The claim has another volume. Raises KubeError."""
        await self._intents.enter(uid, IntentState.UNDOING, record.volume_id)
        del self._waiting[uid]
        self._remember(uid, replace(record.memory, in_progress=record.claim))
        self._queue.add(key)

    def _told(self, record: ProvisioningRecord, seconds: float) -> None:
        claim, volume = record.claim, from_document(PersistentVolume, record.volume)
        self._sidecar.metrics.provisioned(claim.storage_class, source_of(claim), seconds)
        self._sidecar.capacity.provisioned(volume)
