"""The intents of one provisioner: stored as leases, kept in memory, written by the leader alone.

Where the role of its process does not allow leases, intents are kept in memory alone: what the
process remembers of a volume then ends with it, as with csi-provisioner, and the log says so.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from msgspec.structs import replace
from prometheus_client import Gauge

from plimsoll.api.core import Lease
from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.decide.provisioning.intents import (
    INTENT,
    Intent,
    IntentState,
    StoredIntent,
    announcement_document,
    lease_document,
    read_intent,
)
from plimsoll.decide.provisioning.recorded import OtherLeaders
from plimsoll.decide.records import RECORD
from plimsoll.runtime.clock import NO_TIME
from plimsoll.runtime.leading.fence import Fence
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import documents, typed
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.parameters import Selection

log = logging.getLogger(__name__)

LEASES = documents(typed(Lease).resource)
STRAYS_EVERY = timedelta(minutes=2)
"""How often intents are looked for that an earlier leader stored after this one had begun."""
LEFT_TO_ADMINISTRATORS = (IntentState.STUCK, IntentState.SUSPECT)


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentSettings:
    driver: str
    namespace: str
    """Where the leases are."""
    node: str = ""
    """The node that the provisioner serves, where each serves one."""
    wait: timedelta = timedelta(seconds=10)
    """How long a call of an earlier leader may still be under way."""
    is_request: Callable[[Document], bool]
    """Whether what an intent holds can be sent again."""

    def owns(self, intent: Intent) -> bool:
        """Whether it is ours to settle: several provisioners may keep theirs in one namespace."""
        return (intent.driver, intent.node) == (self.driver, self.node)

    def is_given_up(self, intent: Intent) -> bool:
        """Whether the claim does not wait for it: it is settled beside the next attempt."""
        return intent.is_given_up


@dataclass(slots=True)
class _Known:
    """Of one claim: the newest intent, and when an earlier process's may be settled."""

    stored: StoredIntent
    due: float = field(default=0.0)

    @property
    def intent(self) -> Intent:
        return self.stored.intent


class IntentBook:
    def __init__(
        self, client: KubeClient, settings: IntentSettings, open_ones: Gauge, fence: Fence | None
    ) -> None:
        """`fence` is that of the leader; None: none is elected."""
        self._client = client
        self._fence = fence
        self._settings = settings
        self._known: dict[str, _Known] = {}
        """By the uid of the claim."""
        self._aside: dict[str, _Known] = {}
        """By the name of the lease: attempts that were given up, and are settled by themselves."""
        self._replaced: dict[str, StoredIntent] = {}
        """By the uid of the claim: of the attempt before the newest one, until it is deleted."""
        self._strays: frozenset[str] = frozenset()
        """Names of leases that were not known when they were looked for last."""
        self._is_allowed = True
        self._open_ones = open_ones

    @property
    def node(self) -> str:
        return self._settings.node

    async def load(self) -> list[Intent]:
        """What is stored, by earlier processes or by this one before its loop failed: what was
        known until now is read anew. Raises KubeError."""
        try:
            listed = await self._client.list(LEASES, self._selection)
        except KubeError as error:
            self._check_allowed(error)
            return []
        self._known.clear()
        self._aside.clear()
        self._replaced.clear()
        due = self._client.clock.monotonic() + self._settings.wait.total_seconds()
        found = [stored for lease in listed.items if (stored := self._own(lease)) is not None]
        for stored in sorted(found, key=lambda each: each.intent.number):
            before = self._known.pop(stored.intent.uid, None)
            self._known[stored.intent.uid] = _Known(stored, due)
            if before is not None and before.intent.state.is_open:
                self._aside[before.intent.name] = before
            elif before is not None:
                # A later attempt begins only when the one before is undone.
                await self._delete_or_leave(before.stored)
        for known in [*self._known.values()]:
            if self._settings.is_given_up(known.intent):
                self._aside[known.intent.name] = self._known.pop(known.intent.uid)
        self._count()
        return [known.intent for known in self._known.values()]

    async def load_strays(self) -> list[Intent]:
        """What an earlier leader stored after `load`: it stood still between its permit and its
        write. One is taken over when it was seen twice, so that none is mistaken for a stray which
        this process has just deleted. Raises KubeError."""
        if not self._is_allowed:
            return []
        listed = await self._client.list(LEASES, self._selection)
        mine = {each.intent.name for each in (*self._known.values(), *self._aside.values())}
        found = [stored for lease in listed.items if (stored := self._own(lease)) is not None]
        strays = {each.intent.name: each for each in found if each.intent.name not in mine}
        seen_before, self._strays = self._strays, frozenset(strays)
        due = self._client.clock.monotonic() + self._settings.wait.total_seconds()
        seen_twice = [each for name, each in strays.items() if name in seen_before]
        # Of an attempt before, it stayed because it could not be deleted.
        ended = [each for each in seen_twice if self._is_followed(each.intent)]
        taken = [each for each in seen_twice if each not in ended]
        for stored in taken:
            is_known = stored.intent.uid in self._known
            if is_known or self._settings.is_given_up(stored.intent):
                self._aside[stored.intent.name] = _Known(stored, due)
            else:
                self._known[stored.intent.uid] = _Known(stored, due)
        self._forget_ended({lease["metadata"]["name"] for lease in listed.items})
        self._count()
        for stored in ended:
            await self._delete_or_leave(stored)
        return [
            each.intent
            for each in taken
            if (known := self._known.get(each.intent.uid)) is not None and known.stored is each
        ]

    def _is_followed(self, intent: Intent) -> bool:
        """Whether nothing is left of it, and a later attempt for the claim tells the number."""
        later = (*self._known.values(), *self._aside.values())
        return not intent.state.is_open and any(
            each.intent.uid == intent.uid and each.intent.number > intent.number for each in later
        )

    def _forget_ended(self, listed: set[str]) -> None:
        """What an administrator has looked at: the lease was deleted by hand."""
        ended = [
            name
            for name, known in self._aside.items()
            if known.intent.state in LEFT_TO_ADMINISTRATORS and name not in listed
        ]
        for name in ended:
            del self._aside[name]

    @property
    def _selection(self) -> Selection:
        return Selection(namespace=self._settings.namespace, labels=f"{RECORD}={INTENT}")

    def _own(self, lease: Document) -> StoredIntent | None:
        intent = read_intent(lease)
        if intent is not None and not self._settings.owns(intent):
            return None
        if intent is None or not self._settings.is_request(intent.request):
            log.error("intent cannot be read", extra={"lease": lease["metadata"]["name"]})
            return None
        return StoredIntent(intent=intent, lease=lease)

    def find(self, uid: str) -> Intent | None:
        known = self._known.get(uid)
        return None if known is None else known.intent

    def find_open(self, uid: str) -> Intent | None:
        intent = self.find(uid)
        return intent if intent is not None and intent.state.is_open else None

    def is_inherited(self, uid: str) -> bool:
        """Whether another process stored it."""
        known = self._known.get(uid)
        return known is not None and known.due > 0

    def other_leaders(self, uid: str) -> OtherLeaders:
        return self._other_leaders(self._known.get(uid))

    def _other_leaders(self, known: _Known | None) -> OtherLeaders:
        is_elected = self._fence is not None and self._fence.epoch is not None
        if known is None or known.due <= 0:
            return OtherLeaders.NONE if is_elected else OtherLeaders.BESIDE
        if self._fence is not None and self._fence.only_own_led_since(known.intent.epoch):
            return OtherLeaders.NONE
        return OtherLeaders.BETWEEN

    async def is_deleted(self, uid: str) -> bool:
        """Whether its lease was deleted by hand, which ends it. Raises KubeError."""
        known = self._known.get(uid)
        if known is None or not known.stored.lease:
            return False
        return await self._client.find(LEASES, ObjectKey.of(known.stored.lease)) is None

    def wait(self, uid: str) -> timedelta | None:
        """Until an intent of an earlier process may be settled; None: it may be now."""
        return self._wait(self._known.get(uid))

    def _wait(self, known: _Known | None) -> timedelta | None:
        if known is None:
            return None
        left = timedelta(seconds=known.due - self._client.clock.monotonic())
        return left if left > NO_TIME else None

    def next_number(self, uid: str) -> int:
        """How many volumes were undone for the claim before its next one."""
        intent = self.find(uid)
        if intent is None:
            given_up = (each.intent for each in self._aside.values())
            return max((each.number + 1 for each in given_up if each.uid == uid), default=0)
        return intent.number + 1 if intent.state is IntentState.UNDONE else intent.number

    async def begin(self, intent: Intent) -> None:
        """Store it before the driver is asked. Raises KubeError: then the driver is not asked."""
        before = self._known.get(intent.uid)
        is_same_name = before is not None and before.intent.name == intent.name
        # Under the same name another program may have recorded it ever since.
        epoch = before.intent.epoch if before is not None and is_same_name else self._epoch
        intent = replace(intent, epoch=epoch)
        known = StoredIntent(intent=intent)
        if before is not None and is_same_name:
            if before.intent == intent:
                await self._delete_replaced(intent.uid)
                return
            known = StoredIntent(intent=intent, lease=before.stored.lease)
        try:
            replaced = await self._write(known)
        except KubeError as error:
            self._check_allowed(error)
            replaced = await self._write(known)
        if replaced is not None and replaced.intent.name != intent.name:
            self._replaced[intent.uid] = replaced.stored
        await self._delete_replaced(intent.uid)

    @property
    def _epoch(self) -> str:
        epoch = None if self._fence is None else self._fence.epoch
        return "" if epoch is None else epoch.text

    async def hold_back(self, intent: Intent) -> bool:
        """The volume is there, and waits. False: it cannot be stored that it does. Raises
        KubeError."""
        known = self._known.get(intent.uid)
        if known is None or not known.stored.lease:
            return False
        if intent != known.intent:
            await self._write(StoredIntent(intent=intent, lease=known.stored.lease), due=known.due)
        return True

    async def announce(self, driver: str) -> None:
        """Tell schedulers that holds are respected here, if that may be said. Raises KubeError."""
        if not self._is_allowed:
            return
        document = announcement_document(driver, self._settings.namespace)
        try:
            await self._client.create(LEASES, document)
        except KubeError as error:
            if error.failure is Failure.NOT_FOUND:
                facts = {"namespace": self._settings.namespace, "error": str(error)}
                log.warning("no volume is held back for its pod", extra=facts)
            elif error.failure is not Failure.ALREADY_EXISTS:
                self._check_allowed(error)

    async def enter(self, uid: str, state: IntentState, volume_id: str = "") -> None:
        """Raises KubeError."""
        known = self._known.get(uid)
        if known is None or known.intent.state is state:
            return
        intent = replace(known.intent, state=state, volume_id=volume_id or known.intent.volume_id)
        if state is IntentState.UNDONE:
            # What is left of it is its number.
            intent = replace(intent, request={}, secret={})
        await self._write(StoredIntent(intent=intent, lease=known.stored.lease), due=known.due)

    # Attempts that were given up

    @property
    def given_up(self) -> list[Intent]:
        return [known.intent for known in self._aside.values()]

    def find_given_up(self, name: str) -> Intent | None:
        known = self._aside.get(name)
        return None if known is None else known.intent

    def wait_for_given_up(self, name: str) -> timedelta | None:
        return self._wait(self._aside.get(name))

    def other_leaders_of_given_up(self, name: str) -> OtherLeaders:
        return self._other_leaders(self._aside.get(name))

    async def give_up(self, uid: str) -> Intent | None:
        """It is to be undone whatever becomes of the claim, and the next attempt for the claim does
        not wait for that. Durable before anything else is begun. None: it cannot be stored. Raises
        KubeError."""
        known = self._known.get(uid)
        if known is None or not known.stored.lease:
            return None
        intent = replace(known.intent, state=IntentState.UNDOING, given_up=True)
        await self._write(StoredIntent(intent=intent, lease=known.stored.lease), due=known.due)
        return self._set_aside(uid)

    async def suspect(self, uid: str) -> None:
        """What is there is kept, and the claim does not wait for it. Raises KubeError."""
        await self.enter(uid, IntentState.SUSPECT)
        if uid in self._known:
            self._set_aside(uid)

    def _set_aside(self, uid: str) -> Intent:
        known = self._known.pop(uid)
        self._aside[known.intent.name] = known
        return known.intent

    async def enter_given_up(self, name: str, state: IntentState, volume_id: str = "") -> Intent:
        """Raises KubeError."""
        known = self._aside[name]
        intent = replace(
            known.intent,
            state=state,
            volume_id=volume_id or known.intent.volume_id,
            given_up=True,
        )
        lease = await self._store(StoredIntent(intent=intent, lease=known.stored.lease))
        self._aside[name] = _Known(StoredIntent(intent=intent, lease=lease), known.due)
        self._count()
        return intent

    async def has_ended(self, name: str) -> bool:
        """Whether the lease of one that was given up was deleted by hand, which ends it. Raises
        KubeError."""
        known = self._aside.get(name)
        if known is None:
            return True
        if await self._client.find(LEASES, ObjectKey.of(known.stored.lease)) is not None:
            return False
        self._aside.pop(name, None)
        self._count()
        return True

    async def settle_given_up(self, name: str) -> None:
        """There is nothing left of it. The newest record of a claim stays, for its number. Raises
        KubeError."""
        known = self._aside[name]
        uid, number = known.intent.uid, known.intent.number
        others = [*self.given_up, *([newest] if (newest := self.find(uid)) else [])]
        if any(each.uid == uid and each.number > number for each in others):
            await self._delete(known.stored)
        else:
            undone = await self.enter_given_up(name, IntentState.UNDONE)
            stored = StoredIntent(intent=undone, lease=self._aside[name].stored.lease)
            # The next attempt may have been stored meanwhile.
            self._known.setdefault(uid, _Known(stored, known.due))
            if self._known[uid].intent.name != name:
                await self._delete(stored)
        self._aside.pop(name, None)
        self._count()

    async def refused(self, uid: str) -> None:
        """Nothing was made under its name. That name is not used again once another volume of the
        claim was undone: the deletion of that one may still be on its way. Raises KubeError."""
        known = self._known.get(uid)
        if known is not None and known.intent.number:
            await self.enter(uid, IntentState.UNDONE)
        else:
            await self.drop(uid)

    async def drop(self, uid: str) -> None:
        """Nothing is to be settled any more. Raises KubeError."""
        known = self._known.get(uid)
        if known is not None:
            await self._delete_replaced(uid)
            await self._delete(known.stored)
            del self._known[uid]
            self._count()

    async def _delete_replaced(self, uid: str) -> None:
        """Also one whose deletion failed before: no loop would look at it any more."""
        if (replaced := self._replaced.get(uid)) is not None:
            await self._delete(replaced)
            del self._replaced[uid]

    async def _write(self, stored: StoredIntent, due: float = 0.0) -> _Known | None:
        """What was known of the claim before."""
        is_stored = self._is_allowed or bool(stored.lease)
        lease = await self._store(stored) if is_stored else {}
        replaced = self._known.get(stored.intent.uid)
        self._known[stored.intent.uid] = _Known(
            StoredIntent(intent=stored.intent, lease=lease), due
        )
        self._count()
        return replaced

    async def _store(self, stored: StoredIntent) -> Document:
        document = lease_document(stored, self._settings.namespace)
        failure = Failure.CONFLICT if stored.lease else Failure.ALREADY_EXISTS
        write = self._client.update if stored.lease else self._client.create
        try:
            return await write(LEASES, document)
        except KubeError as error:
            if error.failure is not failure:
                raise
            there = await self._client.find(LEASES, ObjectKey.of(document))
            if there is None:
                # Deleted by another hand: there may be a volume that only this record knows of.
                anew = StoredIntent(intent=stored.intent)
                return await self._client.create(
                    LEASES, lease_document(anew, self._settings.namespace)
                )
            if self._own(there) is None:
                # Of another driver, which served the claim before: it has to be settled first.
                raise
            return await self._write_over(there, document)

    async def _write_over(self, there: Document, document: Document) -> Document:
        """No other process writes it: what is there are our own words, whose answer got lost."""
        version = there["metadata"]["resourceVersion"]
        metadata = {**document["metadata"], "resourceVersion": version}
        return await self._client.update(LEASES, {**document, "metadata": metadata})

    async def _delete(self, stored: StoredIntent) -> None:
        if not stored.lease:
            return
        try:
            await self._client.delete(LEASES, ObjectKey.of(stored.lease))
        except KubeError as error:
            if error.failure is not Failure.NOT_FOUND:
                raise

    async def _delete_or_leave(self, stored: StoredIntent) -> None:
        """What is left is found with the strays."""
        try:
            await self._delete(stored)
        except KubeError as error:
            facts = {"intent": stored.intent.name, "why": str(error)}
            log.warning("intent of an earlier attempt not deleted", extra=facts)

    def _check_allowed(self, error: KubeError) -> None:
        """Raises the error again unless it says that we may not write leases at all."""
        if error.failure is not Failure.FORBIDDEN:
            raise error
        if self._is_allowed:
            self._is_allowed = False
            facts = {"namespace": self._settings.namespace, "error": str(error)}
            log.error("intents not stored: the role does not allow leases", extra=facts)

    def _count(self) -> None:
        all_known = (*self._known.values(), *self._aside.values())
        self._open_ones.set(sum(known.intent.state.is_open for known in all_known))
