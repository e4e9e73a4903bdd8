"""Giving a volume the attributes of the class that its claim names.

What is attempted is written down first, with the class that it is for; the class that the volume
has changes only when the driver has done it. What a driver calls impossible is tried again after a
long while, or at once with another class.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from plimsoll.api.registry import Document
from plimsoll.api.storage import VolumeAttributesClass
from plimsoll.api.volumes import ModifyVolumeStatus, PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.csi.attach_detach import is_bound_pair
from plimsoll.decide.csi.steps import (
    Failure,
    Step,
    a_condition,
    is_infeasible,
    merged_conditions,
    told,
    warned,
)
from plimsoll.decide.plan import NOTHING, Patch, Plan, Write
from plimsoll.decide.resources import CLAIMS, VOLUMES
from plimsoll.decide.statuses import condition_document, status_patch


class ModifyReason(StrEnum):
    """Why something was written about the attributes of a volume."""

    MODIFYING = "ModifyingVolume"
    """The driver is about to be asked for the attributes of another class."""
    NO_CLASS = "AttributesClassMissing"
    """The class that the claim names does not exist."""
    INFEASIBLE = "ModifyingInfeasible"
    """The driver cannot do that; it is asked again after a long while."""
    FAILED = "ModifyingFailed"
    """The driver could not be asked, or failed; it is asked again."""
    MODIFIED = "VolumeModified"
    """The volume has the attributes of the class."""


class ModifyProgress(StrEnum):
    PENDING = "Pending"
    IN_PROGRESS = "InProgress"
    INFEASIBLE = "Infeasible"


MODIFYING_VOLUME, MODIFY_ERROR = "ModifyingVolume", "ModifyVolumeError"
CONDITIONS = frozenset({MODIFYING_VOLUME, MODIFY_ERROR})


@dataclass(frozen=True, slots=True, kw_only=True)
class Modify:
    handle: str
    target: str
    """The class."""
    parameters: Mapping[str, str] = field(default_factory=dict)


ModifyStep = Step[Modify]


def find_target(claim: PersistentVolumeClaim, volume: PersistentVolume) -> str | None:
    """The class whose attributes the volume should get."""
    wanted = claim.spec.volume_attributes_class_name
    if not wanted or not is_bound_pair(claim, volume) or volume.spec.csi is None:
        return None
    return None if wanted == claim.status.current_volume_attributes_class_name else wanted


def decide_modification(
    claim: PersistentVolumeClaim,
    volume: PersistentVolume,
    class_: VolumeAttributesClass | None,
    *,
    retry_in: timedelta | None,
    now: datetime,
) -> ModifyStep:
    """`class_` is the one that the claim names; `retry_in` is set if it was infeasible before."""
    target = find_target(claim, volume)
    if target is None or volume.spec.csi is None:
        return Step()
    status = claim.status.modify_volume_status or ModifyVolumeStatus()
    is_same = status.target_volume_attributes_class_name == target
    if retry_in is not None and is_same:
        plan = Plan(reason=ModifyReason.INFEASIBLE, recheck_after=retry_in)
        return Step(plan=plan)
    if class_ is None:
        return Step(plan=_pending(claim, target))
    writes: tuple[Write, ...] = ()
    if status.status != ModifyProgress.IN_PROGRESS or not is_same:
        writes = _begun(claim, target, now)
    call = Modify(handle=volume.spec.csi.volume_handle, target=target, parameters=class_.parameters)
    return Step(plan=Plan(reason=ModifyReason.MODIFYING, writes=writes), call=call)


def _pending(claim: PersistentVolumeClaim, target: str) -> Plan:
    status = claim.status.modify_volume_status
    if status is not None and status.status == ModifyProgress.PENDING:
        return NOTHING
    patch = status_patch(
        CLAIMS, claim, {"modifyVolumeStatus": {"status": ModifyProgress.PENDING.value}}
    )
    said = warned(claim, "VolumeModifyFailed", f"VAC {target} does not exist.")
    return Plan(reason=ModifyReason.NO_CLASS, writes=(patch, said))


def _begun(claim: PersistentVolumeClaim, target: str, now: datetime) -> tuple[Write, ...]:
    condition = a_condition(MODIFYING_VOLUME, now, "ModifyVolume operation in progress.")
    conditions = merged_conditions(
        claim.status.conditions, [condition], about=CONDITIONS, keep=True
    )
    status = {
        "modifyVolumeStatus": {
            "status": ModifyProgress.IN_PROGRESS.value,
            "targetVolumeAttributesClassName": target,
        },
        "conditions": [condition_document(each) for each in conditions],
    }
    message = f"external resizer is modifying volume {claim.name} with vac {target}"
    return status_patch(CLAIMS, claim, status), told(claim, "VolumeModify", message)


def decide_modified(claim: PersistentVolumeClaim, volume: PersistentVolume, target: str) -> Plan:
    """The volume first: a claim that is done is not looked at again."""
    writes: list[Write] = []
    if volume.spec.volume_attributes_class_name != target:
        patch = {"spec": {"volumeAttributesClassName": target}}
        writes.append(Patch(resource=VOLUMES, key=volume.key, patch=patch, uid=volume.uid))
    kept = merged_conditions(claim.status.conditions, (), about=CONDITIONS, keep=False)
    status = {
        "modifyVolumeStatus": None,
        "currentVolumeAttributesClassName": target,
        "conditions": [condition_document(each) for each in kept] or None,
    }
    # The space at the end belongs to the sentence that people know.
    message = f"external resizer modified volume {claim.name} with vac {target} successfully "
    writes += [status_patch(CLAIMS, claim, status), told(claim, "VolumeModifySuccessful", message)]
    return Plan(reason=ModifyReason.MODIFIED, writes=tuple(writes))


def decide_not_modified(claim: PersistentVolumeClaim, failure: Failure, now: datetime) -> Plan:
    message = f"ModifyVolume failed with error: {failure}. Waiting for retry."
    conditions = merged_conditions(
        claim.status.conditions,
        [a_condition(MODIFY_ERROR, now, message)],
        about=CONDITIONS,
        keep=True,
    )
    status: Document = {}
    if conditions != claim.status.conditions:
        status["conditions"] = [condition_document(each) for each in conditions]
    reason = ModifyReason.FAILED
    if is_infeasible(failure):
        reason = ModifyReason.INFEASIBLE
        status["modifyVolumeStatus"] = {"status": ModifyProgress.INFEASIBLE.value}
    writes: list[Write] = [status_patch(CLAIMS, claim, status)] if status else []
    writes.append(warned(claim, "VolumeModifyFailed", str(failure)))
    return Plan(reason=reason, writes=tuple(writes))
