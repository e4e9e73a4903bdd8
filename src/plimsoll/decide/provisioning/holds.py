"""Holds: the volumes of a pod with several claims are provisioned first, and recorded when all are
there.

The scheduler writes a hold on each claim together with the selected node, and is the only one that
takes either of them off again. A provisioner that takes part makes the volume, says so in its
intent, and waits:

    make ─→ (none)   all volumes of the pod are there: record this one
         └→ undo     one of them was refused: delete this one; then node and hold go together

A claim without a hold is provisioned as csi-provisioner does it. A tenant who takes the hold off
gets just that. One who forges `undo` loses a volume of their own that no pod has seen.
"""

from dataclasses import dataclass
from enum import StrEnum

from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.provisioning.topology.selected_node import selected_node_of

HOLD = "plimsoll.dev/hold"
"""On a claim: `<uid of the pod>/<attempt>/make` or `…/undo`."""
PARTS = 3
MOST_DIGITS = 18
"""Of an attempt. Tenants may write what they like; numbers of any length are not for arithmetic."""


class HoldAction(StrEnum):
    MAKE = "make"
    """Make the volume, and wait."""
    UNDO = "undo"
    """Delete it: another volume of the pod cannot be made here."""


@dataclass(frozen=True, slots=True)
class Hold:
    pod_uid: str
    attempt: int
    action: HoldAction

    @property
    def id(self) -> str:
        """The same while a volume is made and while it is undone."""
        return f"{self.pod_uid}/{self.attempt}"

    def __str__(self) -> str:
        return f"{self.id}/{self.action}"


def hold_of(claim: PersistentVolumeClaim) -> Hold | None:
    """None: there is none, or none that can be read."""
    parts = claim.annotations.get(HOLD, "").split("/")
    if len(parts) != PARTS or not parts[0] or not _is_number(parts[1]):
        return None
    try:
        return Hold(parts[0], int(parts[1]), HoldAction(parts[2]))
    except ValueError:
        return None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS


def is_to_be_undone(made_for: str, claim: PersistentVolumeClaim) -> bool:
    """Whether the claim does not want the volume that was made for the hold of this id.

    A volume that was made without a hold may be held back from now on.
    """
    hold = hold_of(claim)
    if hold is None:
        return False
    return hold.action is HoldAction.UNDO or made_for not in ("", hold.id)


def held_back_by(made_for: str, claim: PersistentVolumeClaim) -> str:
    """The id of the hold for which the volume is to be there, and not to be recorded yet; empty:
    it may be recorded."""
    hold = hold_of(claim)
    return "" if hold is None or is_to_be_undone(made_for, claim) else hold.id


def undone_message(
    volume_name: str, claim: PersistentVolumeClaim, *, is_node_gone: bool = False
) -> str:
    """What the owner of a claim is told of a volume that was deleted before it was recorded."""
    selected, hold = selected_node_of(claim), hold_of(claim)
    then = f"it is created again for node {selected}" if selected else "no node is selected now"
    if is_node_gone or (hold is not None and hold.action is HoldAction.UNDO):
        then = "another node is selected next"
    why = "another node was selected while it was created"
    if is_node_gone:
        why = f"node {selected} is gone"
    if hold is not None:
        why = "it was held back for a pod that does not get all of its volumes on this node"
    return f"Volume {volume_name} was deleted before any pod could use it: {why}; {then}"
