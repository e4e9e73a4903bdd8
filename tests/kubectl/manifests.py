"""One plain manifest per kind that users of storage write, and what may be changed in it."""

from dataclasses import dataclass
from typing import Any

NAMESPACED = frozenset({"PersistentVolumeClaim", "CSIStorageCapacity", "Pod", "StatefulSet"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    plural: str
    manifest: dict[str, Any]
    columns: tuple[str, ...]
    """Headings that `get -o wide` must show."""
    described: tuple[str, ...]
    """Words that `describe` must say about it."""
    applied_again: str = "unchanged"
    """What kubectl says when the same manifest is applied twice."""
    described_since: int = 0
    """Minor version of the first kubectl whose `describe` asks for the stable API."""

    @property
    def namespaced(self) -> bool:
        return self.kind in NAMESPACED

    @property
    def kind(self) -> str:
        kind: str = self.manifest["kind"]
        return kind

    def named(self, name: str) -> dict[str, Any]:
        return {**self.manifest, "metadata": {"name": name, "labels": {"app": "storage"}}}


def claim(**spec: Any) -> dict[str, Any]:
    request = {"resources": {"requests": {"storage": "1Gi"}}}
    wanted = {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", **request, **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": wanted}


def pod(**spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "registry.k8s.io/pause:3.10"}
    return {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [container], **spec}}


def stateful_set(**spec: Any) -> dict[str, Any]:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": pod()["spec"]}
    templates = [{"metadata": {"name": "data"}, "spec": claim()["spec"]}]
    wanted = {
        "serviceName": "web",
        "replicas": 2,
        "selector": {"matchLabels": labels},
        "template": template,
        "volumeClaimTemplates": templates,
    }
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": {**wanted, **spec}}


def _storage(kind: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "storage.k8s.io/v1", "kind": kind, **fields}


VOLUME = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "spec": {
        "capacity": {"storage": "10Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast",
        "csi": {"driver": "disks.example.com", "volumeHandle": "volume-1"},
    },
}
CLASS = _storage(
    "StorageClass",
    provisioner="disks.example.com",
    volumeBindingMode="WaitForFirstConsumer",
    allowVolumeExpansion=True,
)
DRIVER = _storage("CSIDriver", spec={"attachRequired": False, "storageCapacity": True})
CSI_NODE = _storage(
    "CSINode",
    spec={
        "drivers": [
            {"name": "disks.example.com", "nodeID": "n1", "topologyKeys": ["example.com/zone"]}
        ]
    },
)
CAPACITY = _storage(
    "CSIStorageCapacity",
    storageClassName="fast",
    capacity="100Gi",
    nodeTopology={"matchLabels": {"example.com/zone": "a"}},
)
ATTACHMENT = _storage(
    "VolumeAttachment",
    spec={
        "attacher": "disks.example.com",
        "nodeName": "n1",
        "source": {"persistentVolumeName": "volume-1"},
    },
)
ATTRIBUTES_CLASS = _storage(
    "VolumeAttributesClass", driverName="disks.example.com", parameters={"iops": "1000"}
)

EXAMPLES = (
    Example(
        plural="persistentvolumes",
        manifest=VOLUME,
        columns=("CAPACITY", "RECLAIM POLICY", "STORAGECLASS", "VOLUMEMODE"),
        described=("10Gi", "disks.example.com", "RWO"),
    ),
    Example(
        plural="persistentvolumeclaims",
        manifest=claim(),
        columns=("STATUS", "VOLUME", "CAPACITY", "STORAGECLASS", "VOLUMEMODE"),
        described=("StorageClass:", "fast", "Filesystem"),
    ),
    Example(
        plural="storageclasses",
        manifest=CLASS,
        columns=("PROVISIONER", "VOLUMEBINDINGMODE", "ALLOWVOLUMEEXPANSION"),
        described=("disks.example.com", "WaitForFirstConsumer"),
    ),
    Example(
        plural="csidrivers",
        manifest=DRIVER,
        columns=("ATTACHREQUIRED", "STORAGECAPACITY", "MODES"),
        described=("Storage Capacity", "true"),
    ),
    Example(
        plural="csinodes",
        manifest=CSI_NODE,
        columns=("DRIVERS", "AGE"),
        described=("disks.example.com", "example.com/zone"),
    ),
    Example(
        plural="csistoragecapacities",
        manifest=CAPACITY,
        columns=("NAME", "CREATED AT"),
        described=("fast", "100Gi"),
    ),
    Example(
        plural="volumeattachments",
        manifest=ATTACHMENT,
        columns=("ATTACHER", "PV", "NODE", "ATTACHED"),
        described=("disks.example.com", "n1"),
    ),
    Example(
        plural="volumeattributesclasses",
        manifest=ATTRIBUTES_CLASS,
        columns=("DRIVERNAME",),
        described=("disks.example.com", "iops=1000"),
        described_since=34,
    ),
    Example(
        plural="pods",
        manifest=pod(),
        columns=("READY", "STATUS", "RESTARTS", "NOMINATED NODE"),
        described=("pause:3.10", "Pending"),
    ),
    Example(
        plural="statefulsets",
        manifest=stateful_set(),
        columns=("READY", "CONTAINERS", "IMAGES"),
        described=("Replicas:", "Volume Claims:", "pause:3.10"),
        # Claim templates are one list to kubectl, and the server adds defaults to its members.
        applied_again="configured",
    ),
)
