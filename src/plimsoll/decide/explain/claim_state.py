"""How far a claim has come on its way to a volume."""

from dataclasses import dataclass
from enum import StrEnum

from plimsoll.api.meta import ObjectKey
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.scheduling.reasons import Undecided
from plimsoll.decide.scheduling.rules.volume_binding.claims import LOST, is_delayed, is_fully_bound
from plimsoll.decide.scheduling.view import ClusterView


class ClaimState(StrEnum):
    NOT_FOUND = "NotFound"
    LOST = "Lost"
    DELETING = "Deleting"
    BOUND = "Bound"
    SELECTED = "NodeSelected"
    """The scheduler has chosen a node; its volume is to be made there."""
    WAITS_FOR_NODE = "WaitsForNode"
    """It gets its volume when its pod gets a node."""
    WAITS_FOR_VOLUME = "WaitsForVolume"
    """It gets a volume without a pod, as soon as there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimProgress:
    key: ObjectKey
    state: ClaimState
    storage_class: str = ""
    requested_bytes: int = 0
    volume: str = ""
    selected_node: str = ""


def claim_progress(key: ObjectKey, view: ClusterView) -> ClaimProgress:
    claim = view.claim(key)
    if claim is None:
        return ClaimProgress(key=key, state=ClaimState.NOT_FOUND)
    return ClaimProgress(
        key=key,
        state=_state(claim, view),
        storage_class=claim.storage_class,
        requested_bytes=claim.spec.requested_bytes,
        volume=claim.spec.volume_name,
        selected_node=claim.annotations.get(SELECTED_NODE, ""),
    )


def _state(claim: PersistentVolumeClaim, view: ClusterView) -> ClaimState:
    if claim.status.phase == LOST:
        return ClaimState.LOST
    if claim.is_being_deleted:
        return ClaimState.DELETING
    if is_fully_bound(claim):
        return ClaimState.BOUND
    if not _is_delay_bound(claim, view):
        return ClaimState.WAITS_FOR_VOLUME
    has_node = SELECTED_NODE in claim.annotations
    return ClaimState.SELECTED if has_node else ClaimState.WAITS_FOR_NODE


def _is_delay_bound(claim: PersistentVolumeClaim, view: ClusterView) -> bool:
    try:
        return is_delayed(claim, view)
    except Undecided:
        return False
