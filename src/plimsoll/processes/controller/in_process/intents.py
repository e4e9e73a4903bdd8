"""The intents of all provisioners inside the controller, in one book, by their claims."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from prometheus_client import Gauge

from plimsoll.api.meta import ObjectKey
from plimsoll.decide.provisioning.in_process.intents import (
    is_given_up,
    is_in_process,
    is_in_process_request,
)
from plimsoll.decide.provisioning.intents import Intent, IntentState
from plimsoll.decide.provisioning.recorded import OtherLeaders
from plimsoll.reconcile.intents import IntentBook, IntentSettings
from plimsoll.reconcile.loop import Tools


@dataclass(frozen=True, slots=True, kw_only=True)
class InProcessIntentSettings:
    namespace: str = "kube-system"
    """Where the leases are: that of the controller's own."""
    wait: timedelta = timedelta(seconds=30)
    """How long calls of an earlier controller may still be under way."""
    call_limit: timedelta = timedelta(seconds=15)
    """How long an answer of a provisioner is waited for before other work goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfAllProvisioners(IntentSettings):
    installed: Collection[str]

    def owns(self, intent: Intent) -> bool:
        """Also of a provisioner that is not installed any more: it is told what is left of it."""
        return not intent.node and (intent.driver in self.installed or is_in_process(intent))

    def is_given_up(self, intent: Intent) -> bool:
        return is_given_up(intent)


class InProcessIntents:
    def __init__(
        self,
        tools: Tools,
        settings: InProcessIntentSettings,
        installed: Collection[str],
        open_ones: Gauge,
    ) -> None:
        of_all = _OfAllProvisioners(
            driver="",
            namespace=settings.namespace,
            wait=settings.wait,
            is_request=is_in_process_request,
            installed=installed,
        )
        self._book = IntentBook(tools.client, of_all, open_ones, tools.fence)
        self._installed = installed
        self._uids: dict[ObjectKey, set[str]] = {}
        """Of claims with intents, by the name that the claims have, or had."""

    @property
    def claims(self) -> list[ObjectKey]:
        return sorted(self._uids.keys() | {intent.claim_key for intent in self._given_up})

    @property
    def _given_up(self) -> list[Intent]:
        """Those that are still to be settled."""
        return [each for each in self._book.given_up if each.state is not IntentState.SUSPECT]

    def given_up_of(self, claim: ObjectKey) -> list[Intent]:
        return [intent for intent in self._given_up if intent.claim_key == claim]

    def of(self, claim: ObjectKey) -> list[Intent]:
        """More than one if the claim was deleted and made anew."""
        found = map(self._book.find, sorted(self._uids.get(claim, ())))
        return [intent for intent in found if intent is not None]

    async def load(self) -> None:
        """What earlier controllers have left. Raises KubeError."""
        self._take_over(await self._book.load())

    async def load_strays(self) -> list[ObjectKey]:
        """What an earlier controller stored too late; the claims. Raises KubeError."""
        before = {intent.name for intent in self._given_up}
        found = await self._book.load_strays()
        self._take_over(found)
        beside = [intent for intent in self._given_up if intent.name not in before]
        return [intent.claim_key for intent in (*found, *beside)]

    def _take_over(self, found: list[Intent]) -> None:
        for intent in found:
            self._uids.setdefault(intent.claim_key, set()).add(intent.uid)

    async def announce(self) -> None:
        """Tell schedulers that these provisioners respect holds. Raises KubeError."""
        for name in sorted(self._installed):
            await self._book.announce(name)

    def find(self, uid: str) -> Intent | None:
        return self._book.find(uid)

    def find_open(self, uid: str) -> Intent | None:
        return self._book.find_open(uid)

    def is_inherited(self, uid: str) -> bool:
        return self._book.is_inherited(uid)

    def other_leaders(self, uid: str) -> OtherLeaders:
        return self._book.other_leaders(uid)

    async def is_deleted(self, uid: str) -> bool:
        return await self._book.is_deleted(uid)

    def wait(self, uid: str) -> timedelta | None:
        """Until an intent of an earlier controller may be settled; None: it may be now."""
        return self._book.wait(uid)

    def next_number(self, uid: str) -> int:
        return self._book.next_number(uid)

    async def begin(self, intent: Intent) -> None:
        """Raises KubeError: then the provisioner is not asked."""
        await self._book.begin(intent)
        self._uids.setdefault(intent.claim_key, set()).add(intent.uid)

    async def hold_back(self, intent: Intent) -> bool:
        """False: it cannot be stored that the asset waits. Raises KubeError."""
        return await self._book.hold_back(intent)

    async def enter(self, uid: str, state: IntentState) -> None:
        """Raises KubeError."""
        await self._book.enter(uid, state)

    async def suspect(self, uid: str) -> None:
        """What is there is kept, and the claim gets another asset. Raises KubeError."""
        intent = self._book.find(uid)
        await self._book.suspect(uid)
        self._forget(intent)

    async def give_up(self, uid: str) -> bool:
        """The claim gets another asset, and this one is deleted beside that. False: it cannot be
        stored. Raises KubeError."""
        intent = await self._book.give_up(uid)
        self._forget(intent)
        return intent is not None

    def find_given_up(self, name: str) -> Intent | None:
        return self._book.find_given_up(name)

    def wait_for_given_up(self, name: str) -> timedelta | None:
        """As `wait`."""
        return self._book.wait_for_given_up(name)

    def other_leaders_of_given_up(self, name: str) -> OtherLeaders:
        return self._book.other_leaders_of_given_up(name)

    async def has_ended(self, name: str) -> bool:
        """Whether the lease of one that was given up was deleted by hand. Raises KubeError."""
        return await self._book.has_ended(name)

    async def enter_given_up(self, name: str, state: IntentState) -> Intent:
        """Raises KubeError."""
        return await self._book.enter_given_up(name, state)

    async def settle_given_up(self, intent: Intent) -> None:
        """There is nothing left of it; its number may have to be kept. Raises KubeError."""
        await self._book.settle_given_up(intent.name)
        if (kept := self._book.find(intent.uid)) is not None:
            self._take_over([kept])

    async def refused(self, uid: str) -> None:
        """Nothing was made under its name. Raises KubeError."""
        intent = self._book.find(uid)
        await self._book.refused(uid)
        self._forget(intent)

    async def drop(self, uid: str) -> None:
        """Nothing is to be settled any more. Raises KubeError."""
        intent = self._book.find(uid)
        await self._book.drop(uid)
        self._forget(intent)

    def _forget(self, intent: Intent | None) -> None:
        if intent is None or self._book.find(intent.uid) is not None:
            return
        self._uids[intent.claim_key].discard(intent.uid)
        if not self._uids[intent.claim_key]:
            del self._uids[intent.claim_key]
