"""Intents of provisioners inside the controller: what is stored before one is asked for an asset.

The records and their states are those of `decide.provisioning.intents`; only settling is shorter.
A provisioner deletes an asset by its name, whether or not it told of it, so no call has to be
repeated to find out what to delete:

    (none) ─→ Calling ─→ (none)     the volume is stored, or nothing was made for certain
                      ├→ Made ─→ (none)     held back, then stored (see `holds`)
                      ├→ Refused ─→ (none)  told to the scheduler, which holds it back
                      └→ Undoing ─→ Undone ─→ (none)   once the claim is bound, or gone
                                 └→ Suspect   another program led meanwhile: not deleted, and
                                              the claim gets another asset

`decide_intent` is the one place that says what follows from a record and the claim as it is now.
An asset that is not deleted at once may be given up, as beside a driver (`may_be_given_up`): the
claim gets another asset meanwhile, and `decide_given_up` says what becomes of the first.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from plimsoll.api.registry import Document
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import ASSET_NAME, SELECTED_NODE
from plimsoll.decide.claims.operations import Provision, RefuseClaim
from plimsoll.decide.claims.reasons import BindingReason
from plimsoll.decide.claims.writes import normal, warning
from plimsoll.decide.plan import Plan
from plimsoll.decide.provisioning.holds import hold_of, undone_message
from plimsoll.decide.provisioning.intents import (
    Intent,
    IntentState,
    is_waiting,
    recorded_claim,
    refused,
    requested_name,
)
from plimsoll.decide.provisioning.recorded import is_of_other_provisioner

CLASS_NAME, CLASS_UID = "storageClass", "storageClassUID"


class IntentStep(StrEnum):
    """What is to be done about a call that was begun."""

    GO_ON = "GoOn"
    """The claim waits for a volume: it is provisioned for, under the name that comes next."""
    UNDO = "Undo"
    """The asset is deleted: the claim does not want it."""
    FORGET = "Forget"
    """The record goes: a volume tells of the asset, or there is no asset and no claim waits."""
    WAIT = "Wait"
    """The scheduler, which holds the claim, looks at the other claims of the pod."""
    LEAVE = "Leave"
    """An administrator has to look; nothing is done about it until then."""


@dataclass(frozen=True, slots=True)
class Settle:
    """Bring a call that was begun to its end."""

    intent: Intent


@dataclass(frozen=True, slots=True)
class SettleGivenUp:
    """The same for one that was given up, beside what comes next for its claim."""

    intent: Intent


def decide_intent(
    intent: Intent,
    claim: PersistentVolumeClaim | None,
    *,
    is_recorded: bool,
    is_served: bool = False,
    is_node_gone: bool = False,
) -> IntentStep:
    """`claim` is what has the name of its claim now, `is_node_gone` tells of the node that it has
    selected. Whether its volume is recorded counts first: a pod may use it. `is_served` means that
    the volume of the claim tells of what another provisioner made."""
    match intent.state:
        case IntentState.SUSPECT | IntentState.STUCK:
            return IntentStep.LEAVE
        case IntentState.UNDONE | IntentState.REFUSED if not _waits(intent, claim):
            return IntentStep.FORGET
        case IntentState.UNDONE | IntentState.REFUSED:
            return IntentStep.WAIT if is_waiting(claim, intent) else IntentStep.GO_ON
        case _ if is_recorded:
            return IntentStep.FORGET
        case _ if is_served:
            return IntentStep.UNDO
        case IntentState.MADE if is_wanted(intent, claim) and is_waiting(claim, intent):
            return IntentStep.WAIT
        case IntentState.CALLING | IntentState.MADE if (
            is_wanted(intent, claim) and not is_node_gone
        ):
            return IntentStep.GO_ON
        case _:
            return IntentStep.UNDO


def decide_given_up(intent: Intent, *, is_recorded: bool) -> IntentStep:
    """Its claim may ask for another asset: it is deleted whatever becomes of the claim."""
    if intent.state is IntentState.SUSPECT:
        return IntentStep.LEAVE
    return IntentStep.FORGET if is_recorded or not intent.state.is_open else IntentStep.UNDO


def is_given_up(intent: Intent) -> bool:
    """Whether its claim does not wait for it. Intents here have no id of a volume that would tell
    more than the mark does."""
    return intent.state is IntentState.SUSPECT or (intent.given_up and intent.state.is_open)


def is_wanted(intent: Intent, claim: PersistentVolumeClaim | None) -> bool:
    """Whether the claim still waits for this asset, for the same node."""
    if claim is None or not is_wanted_somewhere(intent, claim):
        return False
    return selected_node_name(claim) == intent.selected_node


def is_wanted_somewhere(intent: Intent, claim: PersistentVolumeClaim) -> bool:
    """The same, if only the selected node can reach it."""
    return intent.is_wanted_by(claim) and not claim.is_being_deleted


def _waits(intent: Intent, claim: PersistentVolumeClaim | None) -> bool:
    """Whether the claim may ask for another asset."""
    return claim is not None and claim.uid == intent.uid and not claim.spec.volume_name


def selected_node_name(claim: PersistentVolumeClaim) -> str:
    """Empty: none."""
    return claim.annotations.get(SELECTED_NODE, "")


def intent_for(operation: Provision, number: int) -> Intent:
    """What is stored before the provisioner is asked."""
    class_, hold = operation.storage_class, hold_of(operation.claim)
    return Intent(
        driver=operation.provisioner,
        claim=recorded_claim(operation.claim),
        volume_name=operation.volume_name,
        number=number,
        selected_node=selected_node_name(operation.claim),
        request={CLASS_NAME: class_.name, CLASS_UID: class_.uid},
        hold=hold.id if hold else "",
    )


def refusal_for(operation: RefuseClaim, hold: str, number: int) -> Intent:
    """What tells the scheduler that a claim which it holds gets no volume on this node."""
    intent = Intent(
        driver=operation.provisioner,
        claim=recorded_claim(operation.claim),
        volume_name=operation.volume_name,
        number=number,
        selected_node=selected_node_name(operation.claim),
    )
    return refused(intent, hold, operation.message)


def asset_held_back(intent: Intent, hold: str, volume: Document) -> Intent:
    """The asset is there; `volume`, which tells of it, is stored when the hold goes."""
    return msgspec.structs.replace(intent, state=IntentState.MADE, hold=hold, volume=volume)


def is_same_attempt(intent: Intent, operation: Provision) -> bool:
    """Whether the same is asked for again. What differs is asked for under another name: for
    another node, another attempt of a pod, or a class that was made anew and may want something
    else."""
    if intent.state not in (IntentState.CALLING, IntentState.MADE):
        return False
    is_same_class = intent.request.get(CLASS_UID) == operation.storage_class.uid
    return is_wanted(intent, operation.claim) and is_same_class


def is_in_process(intent: Intent) -> bool:
    """Whether a provisioner inside a controller was asked, be it installed here or not."""
    return CLASS_UID in intent.request


def is_in_process_request(request: Document) -> bool:
    return all(isinstance(value, str) for value in request.values())


def asset_name(intent: Intent) -> str:
    """What the provisioner was told."""
    return requested_name(intent.volume_name, intent.number)


def asset_name_of(volume: PersistentVolume) -> str:
    """What the provisioner knows a recorded volume by: another name than the volume's own if an
    earlier asset for its claim was undone."""
    return _told_asset(volume.name, volume.annotations)


def _told_asset(volume_name: str, annotations: Mapping[str, str]) -> str:
    told = annotations.get(ASSET_NAME, "")
    name, dash, number = told.rpartition("-")
    is_ours = name == volume_name and bool(dash) and number.isascii() and number.isdecimal()
    return told if is_ours else volume_name


def is_asset_recorded(intent: Intent, volumes: Iterable[Document]) -> bool:
    """`volumes` are all that the server has now. One that an administrator made for the asset by
    hand counts: it has the asset's name somewhere in its source."""
    return any(_tells_of(intent, volume) for volume in volumes)


def _tells_of(intent: Intent, volume: Document) -> bool:
    told = _other_asset(intent, volume) if is_given_up(intent) else ""
    if _is_of_claim(intent, volume) and not _is_of_other(intent, volume) and not told:
        return True
    source = _source(volume)
    # `pvc-1-1` has `pvc-1` in it.
    return asset_name(intent) in (source.replace(told, "") if told else source)


def _other_asset(intent: Intent, volume: Document) -> str:
    """The asset that the volume of the claim names as its own, if it is that of another attempt."""
    if not _is_of_claim(intent, volume):
        return ""
    told = _told_asset(intent.volume_name, _annotations(volume))
    is_unmarked, is_same = told == intent.volume_name, told == asset_name(intent)
    return "" if is_unmarked or is_same else told


def is_served_by_other(intent: Intent, volumes: Iterable[Document]) -> bool:
    """Whether the volume of the claim tells of what another provisioner made: the class was made
    anew for that one, while the first was at work."""
    return any(_is_of_claim(intent, each) and _is_of_other(intent, each) for each in volumes)


def _is_of_claim(intent: Intent, volume: Document) -> bool:
    name: str = volume["metadata"]["name"]
    return name == intent.volume_name


def _is_of_other(intent: Intent, volume: Document) -> bool:
    return is_of_other_provisioner(_annotations(volume), intent.driver)


def _annotations(volume: Document) -> Mapping[str, str]:
    annotations: Mapping[str, str] = volume["metadata"].get("annotations") or {}
    return annotations


def _source(volume: Document) -> str:
    """Where its data is, and all else but the claim, whose name its owner chooses."""
    spec = {field: value for field, value in volume["spec"].items() if field != "claimRef"}
    return msgspec.json.encode(spec).decode()


def after_undone(
    intent: Intent, claim: PersistentVolumeClaim | None, *, is_node_gone: bool = False
) -> Plan:
    """`claim` is what it is now; it is told if it gets another asset instead."""
    reason = BindingReason.SELECTED_NODE_CHANGED
    if claim is None or claim.is_being_deleted or not _waits(intent, claim):
        return Plan(reason=reason)
    is_moved = selected_node_name(claim) != intent.selected_node
    if not (is_moved or is_node_gone or hold_of(claim)):
        return Plan(reason=reason)
    message = undone_message(intent.volume_name, claim, is_node_gone=is_node_gone)
    return Plan(reason=reason, writes=(normal(claim, reason, message),))


def after_failed_undo(intent: Intent, error: str) -> Plan:
    """It is tried again until it works; the record says so to every later process."""
    message = (
        f"Error cleaning up what may have been provisioned for claim {intent.claim_key} as "
        f"{asset_name(intent)} by '{intent.driver}': {error}. It is tried again; once you have "
        f"cleaned up yourself, delete the lease {intent.name}."
    )
    return _warned(intent, BindingReason.PROVISIONING_CLEANUP_FAILED, message)


def after_suspicion(intent: Intent) -> Plan:
    message = (
        f"What '{intent.driver}' may have made as {asset_name(intent)} is not wanted any more and "
        "is kept all the same: another program may have led since it was made, and given it to a "
        f"pod; look at it, delete it by hand, then the lease {intent.name}."
    )
    return _warned(intent, BindingReason.PROVISIONING_CLEANUP_FAILED, message)


def _warned(intent: Intent, reason: BindingReason, message: str) -> Plan:
    return Plan(reason=reason, writes=(warning(intent.recorded_claim, reason, message),))
