"""From documents to structs: which struct a kind is read as, and how.

Kubernetes objects may carry null wherever a list, a map or an object could be left out; such
fields read as if they were missing. Only an object that has such a null pays for it: all others
are decoded in one pass.
"""

from functools import cache
from typing import Any, TypeVar

import msgspec

from plimsoll.api.core import (
    ConfigMap,
    Event,
    Lease,
    LimitRange,
    Namespace,
    Node,
    ReportedEvent,
    ResourceQuota,
    Secret,
    Service,
    ServiceAccount,
)
from plimsoll.api.meta import ApiObject, ApiStruct
from plimsoll.api.networking import Endpoints, EndpointSlice
from plimsoll.api.pods import Pod
from plimsoll.api.policy import PodDisruptionBudget, PriorityClass
from plimsoll.api.registry import Document
from plimsoll.api.snapshots import VolumeSnapshot, VolumeSnapshotClass, VolumeSnapshotContent
from plimsoll.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    StorageClass,
    VolumeAttachment,
    VolumeAttributesClass,
)
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.api.workloads import (
    ControllerRevision,
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)

T = TypeVar("T", bound=ApiStruct)

CORE = (
    ConfigMap,
    Endpoints,
    Event,
    LimitRange,
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    ReplicationController,
    ResourceQuota,
    Secret,
    Service,
    ServiceAccount,
)
APPS = (ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet)
STORAGE = (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    StorageClass,
    VolumeAttachment,
    VolumeAttributesClass,
)
SNAPSHOTS = (VolumeSnapshot, VolumeSnapshotClass, VolumeSnapshotContent)
BY_GROUP: dict[str, tuple[type[ApiObject], ...]] = {
    "": CORE,
    "apps": APPS,
    "batch": (CronJob, Job),
    "coordination.k8s.io": (Lease,),
    "discovery.k8s.io": (EndpointSlice,),
    "policy": (PodDisruptionBudget,),
    "scheduling.k8s.io": (PriorityClass,),
    "snapshot.storage.k8s.io": SNAPSHOTS,
    "storage.k8s.io": STORAGE,
}

TYPES: dict[tuple[str, str, str], type[ApiObject]] = {
    (group, "v1", type_.__name__): type_ for group, types in BY_GROUP.items() for type_ in types
} | {("events.k8s.io", "v1", "Event"): ReportedEvent}
"""The struct of each kind that we read, by (group, version, kind)."""


@cache
def _decoder(type_: type[ApiStruct]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type_)


def decode(type_: type[T], raw: bytes | msgspec.Raw) -> T:
    """Read one object. Raises msgspec.DecodeError, a ValueError, if it does not fit the type."""
    try:
        decoded: T = _decoder(type_).decode(raw)
    except msgspec.ValidationError:
        return msgspec.convert(_without_nulls(msgspec.json.decode(raw)), type_)
    return decoded


def from_document(type_: type[T], document: Document) -> T:
    """The same for a document that was decoded already."""
    try:
        return msgspec.convert(document, type_)
    except msgspec.ValidationError:
        return msgspec.convert(_without_nulls(document), type_)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(v) for key, v in value.items() if v is not None}
    if isinstance(value, list):
        return [_without_nulls(v) for v in value if v is not None]
    return value
