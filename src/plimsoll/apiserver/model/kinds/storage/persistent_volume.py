"""PersistentVolume: where it is and how it is mounted never changes; who may use it does."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from plimsoll.api.meta import wire_time
from plimsoll.api.names import label_value_errors
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.quantities import round_up_resources
from plimsoll.apiserver.model.kinds.rules import KindRules, keep_all_but_status, keep_status
from plimsoll.apiserver.model.kinds.selectors import deprecated_key_warnings
from plimsoll.apiserver.model.kinds.storage.volume_sources import (
    DEPRECATED,
    default_source,
    volume_source,
)
from plimsoll.apiserver.model.kinds.storage.volume_spec import volume_spec_errors

MOUNT_OPTIONS = "volume.beta.kubernetes.io/mount-options"
# Sources whose drivers read mount options from the annotation.
MOUNTS_WITH_ANNOTATION = frozenset(
    {
        "gcePersistentDisk",
        "awsElasticBlockStore",
        "glusterfs",
        "nfs",
        "rbd",
        "quobyte",
        "iscsi",
        "cinder",
        "cephfs",
        "azureFile",
        "vsphereVolume",
        "azureDisk",
        "photonPersistentDisk",
    }
)
DEPRECATED_ANNOTATIONS = {
    "volume.beta.kubernetes.io/storage-class": (
        'deprecated since v1.8; use "storageClassName" attribute instead'
    ),
    MOUNT_OPTIONS: 'deprecated since v1.31; use "mountOptions" attribute instead',
}
RECYCLE_DEPRECATED = (
    "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
    "Instead, the recommended approach is to use dynamic provisioning."
)
# An affinity may move from a beta label to the label that followed it, and change nothing else.
SUCCESSORS = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}


def default(volume: Document) -> None:
    spec = volume.setdefault("spec", {})
    if not spec.get("persistentVolumeReclaimPolicy"):
        spec["persistentVolumeReclaimPolicy"] = "Retain"
    spec.setdefault("volumeMode", "Filesystem")
    round_up_resources(spec.get("capacity"))
    default_source(spec)
    status = volume.setdefault("status", {})
    if not status.get("phase"):
        status["phase"] = "Pending"


def prepare_create(volume: Document, now: datetime) -> None:
    volume["status"] = {"phase": "Pending", "lastPhaseTransitionTime": wire_time(now)}


def prepare_status(new: Document, old: Document, now: datetime) -> None:
    """A change of phase is stamped, unless the client gave a time of its own."""
    keep_all_but_status(new, old, now)
    status, before = new.setdefault("status", {}), old.get("status") or {}
    stamp, stamp_before = (s.get("lastPhaseTransitionTime") for s in (status, before))
    if status.get("phase") == before.get("phase"):
        if stamp is None and stamp_before is not None:
            status["lastPhaseTransitionTime"] = stamp_before
    elif stamp is None or stamp == stamp_before:
        status["lastPhaseTransitionTime"] = wire_time(now)


def validate(volume: Document) -> Iterator[FieldError]:
    yield from _errors(volume, any_label_value=False)


def _errors(volume: Document, *, any_label_value: bool) -> Iterator[FieldError]:
    spec, metadata = volume.get("spec") or {}, volume.get("metadata") or {}
    yield from volume_spec_errors(
        spec, "spec", name=metadata.get("name", ""), any_label_value=any_label_value
    )
    if MOUNT_OPTIONS in (metadata.get("annotations") or {}):
        if not MOUNTS_WITH_ANNOTATION.isdisjoint(spec):
            return
        yield FieldError.forbidden(
            f"metadata.annotations.{MOUNT_OPTIONS}",
            "may not specify mount options for this volume type",
        )


def validate_update(new: Document, old: Document) -> Iterator[FieldError]:
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    yield from _errors(new, any_label_value=_has_odd_label_values(before))
    if _fixed_source(spec, before) != volume_source(before):
        yield FieldError.forbidden(
            "spec.persistentvolumesource", "spec.persistentvolumesource is immutable after creation"
        )
    if spec.get("volumeMode") != before.get("volumeMode"):
        yield FieldError.invalid("volumeMode", spec.get("volumeMode"), "field is immutable")
    affinity = spec.get("nodeAffinity")
    if "nodeAffinity" in before and not _same_affinity(affinity, before["nodeAffinity"]):
        yield FieldError.invalid(
            "nodeAffinity",
            affinity,
            "field is immutable, except for updating from beta label to GA",
        )
    if "volumeAttributesClassName" in before and "volumeAttributesClassName" not in spec:
        yield FieldError.forbidden(
            "spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden"
        )


def _fixed_source(spec: Document, before: Document) -> Document:
    """The source to compare: a CSI volume may be given the secret for expansion later."""
    source = volume_source(spec)
    if "csi" in source and "csi" in before and "controllerExpandSecretRef" not in before["csi"]:
        kept = source["csi"].items()
        source["csi"] = {key: value for key, value in kept if key != "controllerExpandSecretRef"}
    return source


def _same_affinity(affinity: Any, before: Any) -> bool:
    """Equal, or a requirement's label gave way to its successor."""
    if isinstance(affinity, dict) and isinstance(before, dict):
        return affinity.keys() == before.keys() and all(
            _same_affinity(value, before[field])
            or (field == "key" and value == SUCCESSORS.get(before[field]))
            for field, value in affinity.items()
        )
    if isinstance(affinity, list) and isinstance(before, list):
        return len(affinity) == len(before) and all(
            _same_affinity(*pair) for pair in zip(affinity, before, strict=True)
        )
    return bool(affinity == before)


def _terms(spec: Document) -> list[Document]:
    required = (spec.get("nodeAffinity") or {}).get("required") or {}
    return required.get("nodeSelectorTerms") or []


def _has_odd_label_values(spec: Document) -> bool:
    return any(
        label_value_errors(value)
        for term in _terms(spec)
        for expression in term.get("matchExpressions") or []
        for value in expression.get("values") or []
    )


def warnings(new: Document, _old: Document | None) -> list[str]:
    spec, annotations = new.get("spec") or {}, new.get("metadata", {}).get("annotations") or {}
    found = [
        f"metadata.annotations[{key}]: {text}"
        for key, text in DEPRECATED_ANNOTATIONS.items()
        if key in annotations
    ]
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        found.append(RECYCLE_DEPRECATED)
    for index, term in enumerate(_terms(spec)):
        path = f"spec.nodeAffinity.required.nodeSelectorTerms[{index}].matchExpressions"
        found += deprecated_key_warnings(term.get("matchExpressions") or [], path)
    return found + [text for key, text in DEPRECATED.items() if key in spec]


RULES = KindRules(
    default=default,
    prepare_create=prepare_create,
    prepare_update=keep_status,
    prepare_status=prepare_status,
    validate=validate,
    validate_update=validate_update,
    warnings=warnings,
    returns_deleted=True,
    name_checked_on_update=True,
)
