"""Which changes can help a pod that a rule about volumes refused on every node.

Each rule that turned the pod away is asked about the changes it cares for. A pod is woken if any of
them says that it might judge otherwise now; all other changes cost the pod nothing. A rule that
cannot tell wakes it.
"""

from collections.abc import Callable, Iterable, Mapping
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
from plimsoll.decide.scheduling.queue.hints import Hint, QueueingHint, always, answer
from plimsoll.decide.scheduling.reasons import Rule
from plimsoll.decide.scheduling.rules.volume_restrictions import find_disk_conflict
from plimsoll.decide.scheduling.rules.volume_zone import zone_demands
from plimsoll.decide.scheduling.view import claim_names

T = TypeVar("T", bound=ApiObject)

NOT_CONCERNED = QueueingHint(Hint.NOT_CONCERNED)


Test = Callable[[Pod, Any], bool]
"""Whether an object that was added or deleted can help the pod."""
Comparison = Callable[[Pod, Any, Any], bool]
"""Whether a change from one to the other can. What it takes is of the kind in the table."""


def after_add(rule: Rule, pod: Pod, new: ApiObject) -> QueueingHint:
    return answer(ADDED.get((rule, type(new))), pod, new)


def after_update(rule: Rule, pod: Pod, old: T, new: T) -> QueueingHint:
    return answer(UPDATED.get((rule, type(new))), pod, old, new)


def after_delete(rule: Rule, pod: Pod, old: ApiObject) -> QueueingHint:
    return answer(DELETED.get((rule, type(old))), pod, old)


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
    (Rule.VOLUME_BINDING, StorageClass): always,
    (Rule.VOLUME_BINDING, PersistentVolumeClaim): _is_used_by,
    (Rule.VOLUME_BINDING, PersistentVolume): always,
    (Rule.VOLUME_BINDING, Node): always,
    (Rule.VOLUME_BINDING, CSINode): always,
    (Rule.VOLUME_BINDING, CSIStorageCapacity): always,
    (Rule.VOLUME_LIMITS, CSINode): always,
    (Rule.VOLUME_LIMITS, PersistentVolumeClaim): _is_used_by,
    (Rule.VOLUME_RESTRICTIONS, Node): always,
    (Rule.VOLUME_RESTRICTIONS, PersistentVolumeClaim): _is_named_by,
    (Rule.VOLUME_ZONE, StorageClass): _waits_for_consumer,
    (Rule.VOLUME_ZONE, Node): always,
    (Rule.VOLUME_ZONE, PersistentVolumeClaim): _is_named_by,
    (Rule.VOLUME_ZONE, PersistentVolume): always,
}
UPDATED: Mapping[tuple[Rule, type[ApiObject]], Comparison] = {
    (Rule.VOLUME_BINDING, StorageClass): _allows_other_places,
    (Rule.VOLUME_BINDING, PersistentVolumeClaim): _is_used_now,
    (Rule.VOLUME_BINDING, PersistentVolume): always,
    (Rule.VOLUME_BINDING, Node): always,
    (Rule.VOLUME_BINDING, CSINode): _leaves_other_plugins,
    (Rule.VOLUME_BINDING, CSIDriver): _stopped_counting,
    (Rule.VOLUME_BINDING, CSIStorageCapacity): _has_more_capacity,
    (Rule.VOLUME_LIMITS, CSINode): _takes_more_volumes,
    (Rule.VOLUME_ZONE, Node): always,
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


def hint_about(
    rule: Rule, pod: Pod, before: ApiObject | None, after: ApiObject | None
) -> QueueingHint:
    """None: the object was not, or is no more."""
    if after is None:
        return NOT_CONCERNED if before is None else after_delete(rule, pod, before)
    if before is None:
        return after_add(rule, pod, after)
    if isinstance(after, Node) and before.labels == after.labels:
        return NOT_CONCERNED
    return after_update(rule, pod, before, after)


def rules_asked(before: ApiObject | None, after: ApiObject | None) -> frozenset[Rule]:
    """The rules that look at such a change at all."""
    if after is None:
        table: Iterable[tuple[Rule, type[ApiObject]]] = DELETED
    else:
        table = ADDED if before is None else UPDATED
    return frozenset(rule for rule, type_ in table if isinstance(after or before, type_))
