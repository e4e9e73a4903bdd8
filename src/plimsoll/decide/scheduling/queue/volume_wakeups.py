"""Which changes can help a pod that a rule about volumes refused on every node.

Each rule that turned the pod away is asked about the changes it cares for. A pod is woken if any of
them says that it might judge otherwise now; all other changes cost the pod nothing. A rule that
cannot tell wakes it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from plimsoll.api.core import Node
from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    StorageClass,
    VolumeAttachment,
)
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import MIGRATED_PLUGINS
from plimsoll.decide.csi.in_tree import inline_source
from plimsoll.decide.scheduling.columns.attachables import can_be_limited, volume_limits
from plimsoll.decide.scheduling.columns.capacity import largest_volume
from plimsoll.decide.scheduling.reasons import Rule
from plimsoll.decide.scheduling.rules.volume_restrictions import find_disk_conflict
from plimsoll.decide.scheduling.rules.volume_zone import zone_demands
from plimsoll.decide.scheduling.view import claim_names

T = TypeVar("T", bound=ApiObject)


class Hint(StrEnum):
    WAKE = "Queue"
    LET_WAIT = "QueueSkip"
    NOT_CONCERNED = "NotRegistered"
    """The rule never looks at such changes."""


@dataclass(frozen=True, slots=True)
class QueueingHint:
    hint: Hint
    complaint: str = ""
    """What kept the rule from telling; the pod is woken then."""


Test = Callable[[Pod, Any], bool]
"""Whether an object that was added or deleted can help the pod."""
Comparison = Callable[[Pod, Any, Any], bool]
"""Whether a change from one to the other can. What it takes is of the kind in the table."""


def after_add(rule: Rule, pod: Pod, new: ApiObject) -> QueueingHint:
    return _answer(ADDED.get((rule, type(new))), pod, new)


def after_update(rule: Rule, pod: Pod, old: T, new: T) -> QueueingHint:
    return _answer(UPDATED.get((rule, type(new))), pod, old, new)


def after_delete(rule: Rule, pod: Pod, old: ApiObject) -> QueueingHint:
    return _answer(DELETED.get((rule, type(old))), pod, old)


def _answer(test: Callable[..., bool] | None, pod: Pod, *objects: ApiObject) -> QueueingHint:
    if test is None:
        return QueueingHint(Hint.NOT_CONCERNED)
    try:
        return QueueingHint(Hint.WAKE if test(pod, *objects) else Hint.LET_WAIT)
    except ValueError as error:
        return QueueingHint(Hint.WAKE, str(error))


def _always(*_objects: object) -> bool:
    return True


def _is_used_by(pod: Pod, claim: PersistentVolumeClaim) -> bool:
    return claim.key in pod.claims


def _is_named_by(pod: Pod, claim: PersistentVolumeClaim) -> bool:
    """Without claims of ephemeral volumes."""
    return claim.key in {ObjectKey(pod.namespace, name) for name in claim_names(pod)}


def _is_used_now(pod: Pod, _old: PersistentVolumeClaim, new: PersistentVolumeClaim) -> bool:
    return _is_used_by(pod, new)


def _is_named_now(pod: Pod, _old: PersistentVolumeClaim, new: PersistentVolumeClaim) -> bool:
    return _is_named_by(pod, new)


def _waits_for_consumer(_pod: Pod, new: StorageClass) -> bool:
    return new.waits_for_consumer


def _allows_other_places(_pod: Pod, old: StorageClass, new: StorageClass) -> bool:
    return old.allowed_topologies != new.allowed_topologies


def _has_other_zones(_pod: Pod, old: PersistentVolume, new: PersistentVolume) -> bool:
    return zone_demands(old) != zone_demands(new)


def _leaves_other_plugins(_pod: Pod, old: CSINode, new: CSINode) -> bool:
    before, after = (node.annotations.get(MIGRATED_PLUGINS, "") for node in (old, new))
    return before != after


def _takes_more_volumes(_pod: Pod, old: CSINode, new: CSINode) -> bool:
    before = volume_limits(old)
    return any(limit > before.get(driver, 0) for driver, limit in volume_limits(new).items())


def _stopped_counting(pod: Pod, old: CSIDriver, new: CSIDriver) -> bool:
    """Only for pods that use the driver without a claim, like kube-scheduler."""
    if not old.spec.storage_capacity or new.spec.storage_capacity:
        return False
    return any(volume.csi and volume.csi.driver == new.name for volume in pod.spec.volumes)


def _has_more_capacity(_pod: Pod, old: CSIStorageCapacity, new: CSIStorageCapacity) -> bool:
    before, after = largest_volume(old), largest_volume(new)
    return after is not None and (before is None or after.value > before.value)


def _frees_attachments(_pod: Pod, old: Pod) -> bool:
    is_placed = bool(old.spec.node_name or old.status.nominated_node_name)
    return is_placed and any(can_be_limited(volume) for volume in old.spec.volumes)


def _frees_volume(pod: Pod, old: Pod) -> bool:
    """A disk, or a claim that may be for one pod alone."""
    if old.namespace != pod.namespace:
        return False
    shares_claim = not set(claim_names(pod)).isdisjoint(claim_names(old))
    return shares_claim or find_disk_conflict(pod, (old,)) is not None


def _is_attached_likewise(pod: Pod, old: VolumeAttachment) -> bool:
    """Raises ValueError if a volume of the pod makes no sense."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim:
            return True
        try:
            source = inline_source(volume)
        except ValueError as error:
            raise ValueError(
                f"converting volume({volume.name}) from inline to csi: {error}"
            ) from error
        if source and source.driver == old.spec.attacher:
            return True
    return False


ADDED: Mapping[tuple[Rule, type[ApiObject]], Test] = {
    (Rule.VOLUME_BINDING, StorageClass): _always,
    (Rule.VOLUME_BINDING, PersistentVolumeClaim): _is_used_by,
    (Rule.VOLUME_BINDING, PersistentVolume): _always,
    (Rule.VOLUME_BINDING, Node): _always,
    (Rule.VOLUME_BINDING, CSINode): _always,
    (Rule.VOLUME_BINDING, CSIStorageCapacity): _always,
    (Rule.VOLUME_LIMITS, CSINode): _always,
    (Rule.VOLUME_LIMITS, PersistentVolumeClaim): _is_used_by,
    (Rule.VOLUME_RESTRICTIONS, Node): _always,
    (Rule.VOLUME_RESTRICTIONS, PersistentVolumeClaim): _is_named_by,
    (Rule.VOLUME_ZONE, StorageClass): _waits_for_consumer,
    (Rule.VOLUME_ZONE, Node): _always,
    (Rule.VOLUME_ZONE, PersistentVolumeClaim): _is_named_by,
    (Rule.VOLUME_ZONE, PersistentVolume): _always,
}
UPDATED: Mapping[tuple[Rule, type[ApiObject]], Comparison] = {
    (Rule.VOLUME_BINDING, StorageClass): _allows_other_places,
    (Rule.VOLUME_BINDING, PersistentVolumeClaim): _is_used_now,
    (Rule.VOLUME_BINDING, PersistentVolume): _always,
    (Rule.VOLUME_BINDING, Node): _always,
    (Rule.VOLUME_BINDING, CSINode): _leaves_other_plugins,
    (Rule.VOLUME_BINDING, CSIDriver): _stopped_counting,
    (Rule.VOLUME_BINDING, CSIStorageCapacity): _has_more_capacity,
    (Rule.VOLUME_LIMITS, CSINode): _takes_more_volumes,
    (Rule.VOLUME_ZONE, Node): _always,
    (Rule.VOLUME_ZONE, PersistentVolumeClaim): _is_named_now,
    (Rule.VOLUME_ZONE, PersistentVolume): _has_other_zones,
}
"""Of nodes only changes of their labels are to be asked about."""
DELETED: Mapping[tuple[Rule, type[ApiObject]], Test] = {
    (Rule.VOLUME_LIMITS, Pod): _frees_attachments,
    (Rule.VOLUME_LIMITS, VolumeAttachment): _is_attached_likewise,
    (Rule.VOLUME_RESTRICTIONS, Pod): _frees_volume,
}
"""Pods that had a node, or were about to get one."""
