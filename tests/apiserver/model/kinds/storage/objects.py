"""Small valid objects of the storage kinds, to be spoiled by tests, and how to name complaints."""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError

NOW = datetime(2026, 11, 15, 21, 15, 17, tzinfo=UTC)


def causes(errors: Iterable[FieldError]) -> Counter[tuple[str, str]]:
    """(short reason, field) of each distinct complaint."""
    distinct = {(error.type, error.field, error.message) for error in errors}
    return Counter((str(kind).removeprefix("FieldValue"), field) for kind, field, _ in distinct)


def a_claim(**spec: Any) -> Document:
    return {
        "metadata": {"name": "data", "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "volumeMode": "Filesystem",
            "storageClassName": "fast",
        }
        | spec,
        "status": {"phase": "Pending"},
    }


def a_bound_claim(**spec: Any) -> Document:
    status = {"phase": "Bound", "capacity": {"storage": "1Gi"}}
    return a_claim(volumeName="pv-1", **spec) | {"status": status}


def a_volume(**spec: Any) -> Document:
    return {
        "metadata": {"name": "pv-1"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "csi": {"driver": "d.example.com", "volumeHandle": "h"},
            "persistentVolumeReclaimPolicy": "Retain",
            "volumeMode": "Filesystem",
        }
        | spec,
        "status": {"phase": "Pending"},
    }


def a_volume_on(**source: Any) -> Document:
    """A volume with this source instead of a CSI one."""
    volume = a_volume(**source)
    if "csi" not in source:
        del volume["spec"]["csi"]
    return volume


def node_affinity(*expressions: Document) -> Document:
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}}
