"""What provisioners have begun for a claim, and which of it the claim still wants.

A claim may have several attempts. An earlier one may still be at its driver, on another node or on
the same, when the scheduler has decided again: it takes room until its intent ends, beside what is
wanted now.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from plimsoll.api.core import Lease
from plimsoll.api.meta import ObjectKey
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.provisioning.holds import HoldAction, hold_of, is_to_be_undone
from plimsoll.decide.provisioning.intents import IntentState, intent_in


class OpenAttempt(NamedTuple):
    """An open intent."""

    lease: ObjectKey
    number: int
    state: IntentState
    claim: PersistentVolumeClaim
    """As it was when the driver was asked."""
    node: str
    """The one that was selected then; empty: none was."""
    hold: str
    """The id of the hold that the volume was, or is being, made for; empty: there was none."""
    begun_at: datetime | None

    @property
    def is_left(self) -> bool:
        """To an administrator: what there is was made before, and is neither recorded nor deleted
        until they have looked at it."""
        return self.state in (IntentState.STUCK, IntentState.SUSPECT)


def find_attempt(lease: Lease) -> OpenAttempt | None:
    """None: the lease holds no intent, or one that is settled."""
    intent = intent_in(lease.annotations)
    if intent is None or not intent.state.is_open:
        return None
    claim = intent.recorded_claim
    hold = hold_of(claim)
    return OpenAttempt(
        lease=lease.key,
        number=intent.number,
        state=intent.state,
        claim=claim,
        node=intent.selected_node or claim.annotations.get(SELECTED_NODE, ""),
        hold=intent.hold or (hold.id if hold is not None else ""),
        begun_at=lease.metadata.creation_timestamp,
    )


def find_current(
    attempts: Iterable[OpenAttempt], claim: PersistentVolumeClaim | None
) -> OpenAttempt | None:
    """The newest of those whose volume the claim is to get; None: there is none, and if a node is
    selected, the provisioner has yet to begin. `claim` is None where no node is selected."""
    wanted = [each for each in attempts if _is_wanted(each, claim)]
    return max(wanted, key=lambda each: (each.number, each.lease), default=None)


def _is_wanted(attempt: OpenAttempt, claim: PersistentVolumeClaim | None) -> bool:
    if attempt.state is IntentState.SUSPECT:
        # The claim gets another one.
        return False
    if claim is None:
        return attempt.state is not IntentState.UNDOING
    selected = claim.annotations.get(SELECTED_NODE, "")
    if attempt.claim.uid != claim.uid or attempt.node not in ("", selected):
        return False
    hold = hold_of(claim)
    if hold is not None and hold.action is HoldAction.UNDO:
        # What is there is given back, and nothing is begun beside it.
        return True
    return attempt.state is not IntentState.UNDOING and not is_to_be_undone(attempt.hold, claim)
