"""Asks `queue.volume_wakeups` whether a change can help a pod that waits."""

from typing import Any

from plimsoll.api.core import Node
from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import Pod
from plimsoll.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    StorageClass,
    VolumeAttachment,
)
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.scheduling.queue.hints import QueueingHint
from plimsoll.decide.scheduling.queue.volume_wakeups import after_add, after_delete, after_update
from plimsoll.decide.scheduling.reasons import Rule

KINDS: dict[str, type[ApiObject]] = {
    type_.__name__: type_
    for type_ in (
        CSIDriver,
        CSINode,
        CSIStorageCapacity,
        Node,
        PersistentVolume,
        PersistentVolumeClaim,
        Pod,
        StorageClass,
        VolumeAttachment,
    )
}

RULES = (Rule.VOLUME_BINDING, Rule.VOLUME_LIMITS, Rule.VOLUME_RESTRICTIONS, Rule.VOLUME_ZONE)


def queueing_hints(case: dict[str, Any]) -> dict[str, str]:
    pod = from_document(Pod, case["pod"])
    type_ = KINDS[case["resource"]]
    old = None if case["old"] is None else from_document(type_, case["old"])
    new = None if case["new"] is None else from_document(type_, case["new"])
    return {rule.value: _shown(_answer(rule, pod, old, new)) for rule in RULES}


def _answer(rule: Rule, pod: Pod, old: ApiObject | None, new: ApiObject | None) -> QueueingHint:
    if new is None:
        assert old is not None
        return after_delete(rule, pod, old)
    return after_add(rule, pod, new) if old is None else after_update(rule, pod, old, new)


def _shown(answer: QueueingHint) -> str:
    return f"Error:{answer.complaint}" if answer.complaint else answer.hint.value
