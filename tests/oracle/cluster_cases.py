"""What the cases about scheduling have in common: a cluster, and how judgements are written."""

from collections.abc import Iterator
from typing import Any

from plimsoll.api.core import Namespace, Node, Service
from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    StorageClass,
    VolumeAttachment,
)
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.api.workloads import ReplicaSet, ReplicationController, StatefulSet
from plimsoll.decide.scheduling.reasons import Judgement
from plimsoll.decide.scheduling.view import Cluster

Answer = dict[str, Any]

KINDS: dict[str, type[ApiObject]] = {
    "nodes": Node,
    "persistentVolumes": PersistentVolume,
    "persistentVolumeClaims": PersistentVolumeClaim,
    "storageClasses": StorageClass,
    "csiNodes": CSINode,
    "csiDrivers": CSIDriver,
    "csiStorageCapacities": CSIStorageCapacity,
    "volumeAttachments": VolumeAttachment,
    "pods": Pod,
    "namespaces": Namespace,
    "services": Service,
    "replicationControllers": ReplicationController,
    "replicaSets": ReplicaSet,
    "statefulSets": StatefulSet,
}


def cluster_of(case: Document) -> Cluster:
    return Cluster.of(objects_of(case))


def objects_of(case: Document) -> Iterator[ApiObject]:
    for name, type_ in KINDS.items():
        for document in case.get(name) or ():
            yield from_document(type_, document)


def shown(judgement: Judgement) -> Answer:
    answer: Answer = {"code": judgement.verdict.value}
    return answer | ({"reasons": list(judgement.sentences)} if judgement.findings else {})
