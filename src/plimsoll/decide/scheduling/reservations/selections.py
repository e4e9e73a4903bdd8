"""Which scheduler has selected the nodes of claims: this one, or another writer.

What this one has decided reserves for a while though no pod is there any more. The time in which no
intent tells of a claim is limited for its whole life. After that each decision reserves for so long
as a provisioner that runs needs to begin. What another writer has selected has one deadline in the
whole life of the claim, however often they select.

A node that this scheduler has selected may be taken off by another writer before an intent is seen:
the provisioner may have begun all the same, and the watch of intents may be behind. Such a decision
is dismissed, and remembered for a while.
"""

from plimsoll.api.meta import ObjectKey
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.scheduling.reservations.deadlines import (
    UNDECIDED,
    ReservationDeadlines,
    ReservationWait,
)

Selection = tuple[str, str]
"""The uid of a claim, and the selected node."""


class Selections:
    def __init__(self) -> None:
        self.deadlines = ReservationDeadlines()
        self.decided: dict[ObjectKey, Selection] = {}
        """By claim, the selection with which this scheduler placed a pod, until the volume is
        recorded."""
        self._ours: dict[ObjectKey, str] = {}
        """By claim that a node was selected for by this scheduler, its uid."""
        self._others: dict[ObjectKey, str] = {}
        """By claim that a node was selected for by another writer, its uid."""
        self._begun: set[ObjectKey] = set()
        """Claims of decisions for which an intent was seen."""
        self.dismissed: dict[ObjectKey, PersistentVolumeClaim] = {}
        """Claims as they were with the node that was taken off."""

    def decide(self, claim: PersistentVolumeClaim) -> None:
        if self._ours.get(claim.key) != claim.uid:
            self.deadlines.forget(ReservationWait(claim.key))
            self._ours[claim.key] = claim.uid
        self.deadlines.allow(ReservationWait(claim.key), UNDECIDED)
        if self.decided.get(claim.key) != selection_of(claim):
            self._begun.discard(claim.key)
        self.decided[claim.key] = selection_of(claim)

    def begin(self, claim: ObjectKey, node: str) -> None:
        """An intent was seen: from now on it tells whether there is a volume."""
        if claim in self.decided and self.decided[claim][1] == node:
            self._begun.add(claim)
        if claim in self.dismissed and selection_of(self.dismissed[claim])[1] == node:
            self.forget_dismissed(claim)

    def dismiss(self, claim: PersistentVolumeClaim) -> None:
        """The node of the claim was taken off, while a pod uses it."""
        if claim.key in self.decided and claim.key not in self._begun:
            self.dismissed[claim.key] = claim
            self.deadlines.begin(wait_for_intent(claim), UNDECIDED)

    def forget_dismissed(self, claim: ObjectKey) -> None:
        if (known := self.dismissed.pop(claim, None)) is not None:
            self.deadlines.forget(wait_for_intent(known))

    def record(self, claim: ObjectKey) -> None:
        """Its volume is there."""
        self.forget_decided(claim)
        self.forget_claim(claim)
        self.forget_dismissed(claim)

    def note_other(self, claim: PersistentVolumeClaim) -> None:
        """It waits for its provisioner, and this scheduler has not decided that."""
        self._others[claim.key] = claim.uid

    def forget_decided(self, claim: ObjectKey) -> None:
        self.decided.pop(claim, None)
        self._begun.discard(claim)
        self.deadlines.pause(ReservationWait(claim))

    def forget_claim(self, claim: ObjectKey) -> None:
        """It is gone, or has its volume."""
        if self._ours.pop(claim, None) is not None:
            self.deadlines.forget(ReservationWait(claim))
        self.forget_other(claim)

    def forget_other(self, claim: ObjectKey) -> None:
        if (uid := self._others.pop(claim, None)) is not None:
            self.deadlines.forget(ReservationWait(claim, uid))

    def forget_namesake(self, claim: PersistentVolumeClaim) -> None:
        if self._others.get(claim.key, claim.uid) != claim.uid:
            self.forget_other(claim.key)

    def wait(self, claim: ObjectKey) -> ReservationWait:
        """For the provisioner to begin."""
        if claim in self.decided:
            return ReservationWait(claim)
        return ReservationWait(claim, self._others.get(claim, ""))

    def fork(self) -> "Selections":
        twin = Selections()
        twin.deadlines = self.deadlines.fork()
        twin.decided, twin._ours = self.decided.copy(), self._ours.copy()
        twin._others = self._others.copy()
        twin._begun, twin.dismissed = self._begun.copy(), self.dismissed.copy()
        return twin

    def only(self, claims: dict[ObjectKey, PersistentVolumeClaim]) -> "Selections":
        """The same, without decisions for claims that are others by now."""
        twin = self.fork()
        for key, selection in self.decided.items():
            if key not in claims or selection_of(claims[key]) != selection:
                del twin.decided[key]
        return twin


def wait_for_intent(dismissed: PersistentVolumeClaim) -> ReservationWait:
    """That a provisioner may have stored before the node was taken off."""
    return ReservationWait(dismissed.key, f"dismissed {dismissed.uid}")


def selection_of(claim: PersistentVolumeClaim) -> Selection:
    return claim.uid, claim.annotations.get(SELECTED_NODE, "")
