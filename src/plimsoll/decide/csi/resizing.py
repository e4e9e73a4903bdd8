"""Growing the volume of a claim that asks for more, and coming back from what cannot be had.

The size that a driver is asked for is written down first, as the claim's allocated resources. While
a driver may still be at work on a size, it is asked for that one and no other. A size that cannot
be had leaves the claim as it was: a user may ask for less, as long as it is more than there is.
Where the node has to grow the file system, the claim waits for it; its new size counts afterwards.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from plimsoll.api.quantity import parse_bytes
from plimsoll.api.registry import Document
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim, SecretReference
from plimsoll.decide.csi.attach_detach import is_bound_pair
from plimsoll.decide.csi.capability import parse_capability
from plimsoll.decide.csi.in_tree import translated
from plimsoll.decide.csi.steps import (
    Failure,
    Step,
    a_condition,
    is_final,
    is_infeasible,
    merged_conditions,
    size_text,
    told,
    warned,
)
from plimsoll.decide.plan import Patch, Plan, Write
from plimsoll.decide.provisioning.calls import VolumeCapability
from plimsoll.decide.resources import CLAIMS, VOLUMES
from plimsoll.decide.statuses import condition_document, status_patch

STORAGE = "storage"
NODE_HAS_TO_GROW = (
    "Waiting for user to (re-)start a pod to finish file system resize of volume on node."
)


class ResizeReason(StrEnum):
    """Why something was written about the size of a claim."""

    RESIZING = "ResizingVolume"
    """The driver is about to be asked for more."""
    IN_USE = "VolumeInUse"
    """The driver only grows volumes that are not in use, and this one is."""
    INFEASIBLE = "ResizingInfeasible"
    """The driver cannot have a volume of that size; it is asked again after a long while."""
    FAILED = "ResizingFailed"
    """The driver could not be asked, or failed; it is asked again."""
    NODE_PENDING = "NodeResizePending"
    """The volume has grown, its file system grows on the node."""
    RESIZED = "VolumeResized"
    """All is done."""


class ResizeCondition(StrEnum):
    RESIZING = "Resizing"
    FILE_SYSTEM_PENDING = "FileSystemResizePending"
    CONTROLLER_ERROR = "ControllerResizeError"
    NODE_ERROR = "NodeResizeError"


CONDITIONS = frozenset(map(str, ResizeCondition))


class ResizeProgress(StrEnum):
    """How far resizing is, as the claim's status says."""

    CONTROLLER_IN_PROGRESS = "ControllerResizeInProgress"
    CONTROLLER_INFEASIBLE = "ControllerResizeInfeasible"
    NODE_PENDING = "NodeResizePending"
    NODE_IN_PROGRESS = "NodeResizeInProgress"
    NODE_INFEASIBLE = "NodeResizeInfeasible"
    NONE = ""


ON_THE_NODE = frozenset({ResizeProgress.NODE_PENDING, ResizeProgress.NODE_IN_PROGRESS})


@dataclass(frozen=True, slots=True, kw_only=True)
class ResizingDriver:
    name: str
    controller_expands: bool = True
    """If not, the node grows the volume all by itself."""
    finer_modes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ResizeHistory:
    """What is remembered of earlier attempts at the same claim; nothing is lost without it."""

    failed_for_good: bool = False
    """The last call ended in an error that is final: another size may be asked for."""
    refused_in_use: bool = False
    is_used: bool = False
    """By a pod."""
    retry_in: timedelta | None = None
    """Not to be tried again within this time unless something else is asked for."""


NO_HISTORY = ResizeHistory()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpandOnController:
    handle: str
    size_bytes: int
    capability: VolumeCapability
    secret: SecretReference | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveToNode:
    """Nothing to ask the driver for: its controller does not expand."""

    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Expanded:
    size_bytes: int
    node_has_to_grow: bool


ResizeStep = Step[ExpandOnController | LeaveToNode]


def wants_more(claim: PersistentVolumeClaim) -> bool:
    return (
        claim.status.phase == "Bound"
        and bool(claim.spec.volume_name)
        and claim.spec.requested_bytes > claim.status.capacity_bytes
    )


def decide_resize(
    claim: PersistentVolumeClaim,
    volume: PersistentVolume,
    driver: ResizingDriver,
    history: ResizeHistory = NO_HISTORY,
    *,
    now: datetime,
) -> ResizeStep:
    if not wants_more(claim) or not is_bound_pair(claim, volume):
        return Step()
    wanted = find_size(claim, volume, driver, history)
    if wanted is None:
        return Step()
    is_new = parse_bytes(wanted) != _allocated_bytes(claim)
    if history.retry_in is not None and not is_new:
        plan = Plan(reason=ResizeReason.INFEASIBLE, recheck_after=history.retry_in)
        return Step(plan=plan)
    writes = _marked(claim, wanted, now, is_new=is_new)
    if history.refused_in_use and history.is_used:
        writes.append(warned(claim, "VolumeResizeFailed", _offline_only(claim, driver)))
        return Step(plan=Plan(reason=ResizeReason.IN_USE, writes=tuple(writes)))
    try:
        call = _call(volume, parse_bytes(wanted), driver)
    except ValueError as error:
        writes.append(warned(claim, "VolumeResizeFailed", _sentence(volume, driver, str(error))))
        return Step(plan=Plan(reason=ResizeReason.FAILED, writes=tuple(writes)))
    writes.append(told(claim, "Resizing", f"External resizer is resizing volume {volume.name}"))
    return Step(plan=Plan(reason=ResizeReason.RESIZING, writes=tuple(writes)), call=call)


def find_size(
    claim: PersistentVolumeClaim,
    volume: PersistentVolume,
    driver: ResizingDriver,
    history: ResizeHistory = NO_HISTORY,
) -> str | None:
    """The size to ask for; None while the node is at work on the one before."""
    asked = claim.spec.resources.requests.get(STORAGE, "0")
    allocated = claim.status.allocated_resources.get(STORAGE)
    before = asked if allocated is None else allocated
    progress = claim.status.allocated_resource_statuses.get(STORAGE, ResizeProgress.NONE)
    if volume.spec.capacity_bytes < parse_bytes(asked):
        match progress:
            case ResizeProgress.NODE_PENDING | ResizeProgress.NODE_IN_PROGRESS:
                is_there = volume.spec.capacity_bytes >= parse_bytes(before)
                return None if is_there else before
            case ResizeProgress.NODE_INFEASIBLE:
                return before
            case ResizeProgress.CONTROLLER_IN_PROGRESS:
                return asked if history.failed_for_good else before
            case _:
                return asked
    if progress in ON_THE_NODE:
        return None
    if progress == ResizeProgress.NODE_INFEASIBLE and not driver.controller_expands:
        return asked
    if progress == ResizeProgress.NONE and allocated is None and _waits_for_node(claim):
        return None
    return before


def _waits_for_node(claim: PersistentVolumeClaim) -> bool:
    """As servers without allocated resources describe it."""
    pending = ResizeCondition.FILE_SYSTEM_PENDING
    return any(each.type == pending and each.holds for each in claim.status.conditions)


def _allocated_bytes(claim: PersistentVolumeClaim) -> int | None:
    allocated = claim.status.allocated_resources.get(STORAGE)
    return None if allocated is None else parse_bytes(allocated)


def _call(
    volume: PersistentVolume, size_bytes: int, driver: ResizingDriver
) -> ExpandOnController | LeaveToNode:
    """Raises ValueError for a volume that cannot be described."""
    if not driver.controller_expands:
        return LeaveToNode(size_bytes=size_bytes)
    spec = translated(volume).spec
    if spec.csi is None or not spec.csi.volume_handle:
        raise ValueError("empty volume handle")
    return ExpandOnController(
        handle=spec.csi.volume_handle,
        size_bytes=size_bytes,
        capability=parse_capability(spec, finer_modes=driver.finer_modes),
        secret=spec.csi.controller_expand_secret_ref,
    )


def _offline_only(claim: PersistentVolumeClaim, driver: ResizingDriver) -> str:
    return (
        f"Unable to expand {claim.key} because CSI driver {driver.name} only supports offline "
        "expansion and volume is currently in-use"
    )


def _sentence(volume: PersistentVolume, driver: ResizingDriver, why: str) -> str:
    return f'resize volume "{volume.name}" by resizer "{driver.name}" failed: {why}'


def _marked(
    claim: PersistentVolumeClaim, wanted: str, now: datetime, *, is_new: bool
) -> list[Write]:
    """A size that was written down before is not written down again."""
    conditions = merged_conditions(
        claim.status.conditions,
        [a_condition(ResizeCondition.RESIZING, now)],
        about=CONDITIONS,
        keep=not is_new,
    )
    status: Document = {}
    if conditions != claim.status.conditions:
        status["conditions"] = [condition_document(each) for each in conditions]
    if is_new:
        status["allocatedResources"] = {STORAGE: wanted}
        status["allocatedResourceStatuses"] = {STORAGE: ResizeProgress.CONTROLLER_IN_PROGRESS.value}
    return [status_patch(CLAIMS, claim, status)] if status else []


# Afterwards


def decide_resized(
    claim: PersistentVolumeClaim, volume: PersistentVolume, done: Expanded, now: datetime
) -> Plan:
    """The volume's size first: the claim is not done before it says so."""
    writes: list[Write] = []
    if volume.spec.capacity_bytes != done.size_bytes:
        patch = {"spec": {"capacity": {STORAGE: size_text(done.size_bytes)}}}
        writes.append(Patch(resource=VOLUMES, key=volume.key, patch=patch, uid=volume.uid))
    if done.node_has_to_grow:
        writes += _node_pending(claim, now)
        return Plan(reason=ResizeReason.NODE_PENDING, writes=tuple(writes))
    conditions = merged_conditions(claim.status.conditions, (), about=CONDITIONS, keep=False)
    status = {
        "capacity": {STORAGE: size_text(done.size_bytes)},
        "conditions": [condition_document(each) for each in conditions] or None,
        "allocatedResourceStatuses": {STORAGE: None},
    }
    writes.append(status_patch(CLAIMS, claim, status))
    writes.append(told(claim, "VolumeResizeSuccessful", "Resize volume succeeded"))
    return Plan(reason=ResizeReason.RESIZED, writes=tuple(writes))


def _node_pending(claim: PersistentVolumeClaim, now: datetime) -> list[Write]:
    pending = a_condition(ResizeCondition.FILE_SYSTEM_PENDING, now, NODE_HAS_TO_GROW)
    conditions = merged_conditions(claim.status.conditions, [pending], about=CONDITIONS, keep=True)
    status = {
        "conditions": [condition_document(each) for each in conditions],
        "allocatedResourceStatuses": {STORAGE: ResizeProgress.NODE_PENDING.value},
    }
    said = told(claim, "FileSystemResizeRequired", "Require file system resize of volume on node")
    return [status_patch(CLAIMS, claim, status), said]


def resize_finished(claim: PersistentVolumeClaim, capacity: str) -> Patch:
    """What the node writes when the volume has grown there: the new size counts from now on, and
    nothing about resizing is left to be said."""
    kept = merged_conditions(claim.status.conditions, (), about=CONDITIONS, keep=False)
    status: Document = {
        "capacity": {STORAGE: capacity},
        "conditions": [condition_document(each) for each in kept] or None,
    }
    if claim.status.allocated_resource_statuses:
        status["allocatedResourceStatuses"] = {STORAGE: None}
    return status_patch(CLAIMS, claim, status)


def decide_not_resized(
    claim: PersistentVolumeClaim,
    volume: PersistentVolume,
    driver: ResizingDriver,
    failure: Failure,
    *,
    now: datetime,
) -> Plan:
    writes: list[Write] = []
    if is_final(failure):
        writes += _failed_for_good(claim, failure, now)
    writes.append(warned(claim, "VolumeResizeFailed", _sentence(volume, driver, str(failure))))
    reason = ResizeReason.INFEASIBLE if is_infeasible(failure) else ResizeReason.FAILED
    return Plan(reason=reason, writes=tuple(writes))


def _failed_for_good(claim: PersistentVolumeClaim, failure: Failure, now: datetime) -> list[Write]:
    error = a_condition(
        ResizeCondition.CONTROLLER_ERROR, now, f"failed to expand pvc with {failure}"
    )
    conditions = merged_conditions(claim.status.conditions, [error], about=CONDITIONS, keep=True)
    status: Document = {}
    if conditions != claim.status.conditions:
        status["conditions"] = [condition_document(each) for each in conditions]
    statuses = claim.status.allocated_resource_statuses
    infeasible = ResizeProgress.CONTROLLER_INFEASIBLE.value
    if is_infeasible(failure) and statuses.get(STORAGE) != infeasible:
        status["allocatedResourceStatuses"] = {STORAGE: infeasible}
    return [status_patch(CLAIMS, claim, status)] if status else []
