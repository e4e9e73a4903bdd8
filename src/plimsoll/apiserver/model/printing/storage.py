"""Storage kinds: volumes, claims, classes, drivers and what they report."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.printing.ages import since
from plimsoll.apiserver.model.printing.phrases import NONE, UNSET

_DEFAULT_CLASS_ANNOTATIONS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_MODE_LETTERS = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def volume_cells(volume: Document, now: datetime) -> list[Any]:
    meta, spec, status = volume["metadata"], volume.get("spec", {}), volume.get("status", {})
    claim = spec.get("claimRef")
    return [
        meta.get("name", ""),
        spec.get("capacity", {}).get("storage", "0"),
        _access_modes(spec.get("accessModes", ())),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _phase(volume),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        _class_name(volume),
        spec.get("volumeAttributesClassName", UNSET),
        status.get("reason", ""),
        since(meta.get("creationTimestamp"), now),
        spec.get("volumeMode", UNSET),
    ]


def claim_cells(claim: Document, now: datetime) -> list[Any]:
    meta, spec, status = claim["metadata"], claim.get("spec", {}), claim.get("status", {})
    has_volume = bool(spec.get("volumeName"))
    return [
        meta.get("name", ""),
        _phase(claim),
        spec.get("volumeName", ""),
        status.get("capacity", {}).get("storage", "0") if has_volume else "",
        _access_modes(status.get("accessModes", ())) if has_volume else "",
        _class_name(claim),
        spec.get("volumeAttributesClassName", UNSET),
        since(meta.get("creationTimestamp"), now),
        spec.get("volumeMode", UNSET),
    ]


def storage_class_cells(storage_class: Document, now: datetime) -> list[Any]:
    meta = storage_class["metadata"]
    annotations = meta.get("annotations", {})
    is_default = any(annotations.get(name) == "true" for name in _DEFAULT_CLASS_ANNOTATIONS)
    return [
        f"{meta.get('name', '')} (default)" if is_default else meta.get("name", ""),
        storage_class.get("provisioner", ""),
        storage_class.get("reclaimPolicy", "Delete"),
        storage_class.get("volumeBindingMode", "Immediate"),
        storage_class.get("allowVolumeExpansion", False),
        since(meta.get("creationTimestamp"), now),
    ]


def csi_driver_cells(driver: Document, now: datetime) -> list[Any]:
    meta, spec = driver["metadata"], driver.get("spec", {})
    requests = spec.get("tokenRequests")
    audiences = ",".join(r.get("audience", "") for r in requests) if requests else UNSET
    return [
        meta.get("name", ""),
        spec.get("attachRequired", True),
        spec.get("podInfoOnMount", False),
        spec.get("storageCapacity", False),
        audiences,
        spec.get("requiresRepublish", False),
        ",".join(spec.get("volumeLifecycleModes", ())) or NONE,
        since(meta.get("creationTimestamp"), now),
    ]


def csi_node_cells(node: Document, now: datetime) -> list[Any]:
    meta = node["metadata"]
    drivers = node.get("spec", {}).get("drivers") or ()
    return [meta.get("name", ""), len(drivers), since(meta.get("creationTimestamp"), now)]


def attachment_cells(attachment: Document, now: datetime) -> list[Any]:
    meta, spec = attachment["metadata"], attachment.get("spec", {})
    return [
        meta.get("name", ""),
        spec.get("attacher", ""),
        spec.get("source", {}).get("persistentVolumeName", ""),
        spec.get("nodeName", ""),
        attachment.get("status", {}).get("attached", False),
        since(meta.get("creationTimestamp"), now),
    ]


def attributes_class_cells(attributes_class: Document, now: datetime) -> list[Any]:
    meta = attributes_class["metadata"]
    return [
        meta.get("name", ""),
        attributes_class.get("driverName", ""),
        since(meta.get("creationTimestamp"), now),
    ]


def _phase(document: Document) -> str:
    if document["metadata"].get("deletionTimestamp"):
        return "Terminating"
    return str(document.get("status", {}).get("phase", ""))


def _class_name(document: Document) -> str:
    """The annotation is older than the field and wins over it."""
    annotations = document["metadata"].get("annotations", {})
    field = document.get("spec", {}).get("storageClassName", "")
    return str(annotations.get(_CLASS_ANNOTATION, field))


def _access_modes(modes: Iterable[str]) -> str:
    """In the order of the letters, not of the object."""
    present = set(modes)
    return ",".join(letters for mode, letters in _MODE_LETTERS.items() if mode in present)
