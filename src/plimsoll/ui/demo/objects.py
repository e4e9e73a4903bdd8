"""What the demo puts into its cluster: three zones, one class of storage, one waiting claim."""

from plimsoll.api.registry import Document

DRIVER = "disk.demo.plimsoll.dev"
CLASS = "fast"
NAMESPACE = "demo"
ZONE = "topology.kubernetes.io/zone"
FREE = {"a": "120Gi", "b": "40Gi", "c": "8Gi"}


def _node(zone: str) -> Document:
    name = f"node-{zone}"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {ZONE: zone, "kubernetes.io/hostname": name}},
        "status": {
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _capacity(zone: str, free: str) -> Document:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": f"{CLASS}-{zone}", "namespace": NAMESPACE},
        "storageClassName": CLASS,
        "nodeTopology": {"matchLabels": {ZONE: zone}},
        "capacity": free,
        "maximumVolumeSize": free,
    }


def demo_objects() -> list[Document]:
    """In the order in which they can be created."""
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        *(_node(zone) for zone in FREE),
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIDriver",
            "metadata": {"name": DRIVER},
            "spec": {"attachRequired": False, "storageCapacity": True},
        },
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {
                "name": CLASS,
                "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
            },
            "provisioner": DRIVER,
            "volumeBindingMode": "WaitForFirstConsumer",
        },
        *(_capacity(zone, free) for zone, free in FREE.items()),
        claim("data", "20Gi"),
    ]


def zonal_class() -> Document:
    """Disks that are made at once, by the controller itself, in two zones each."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "replicated"},
        "provisioner": "plimsoll.dev/zonal-disk",
        "parameters": {"replication": "two-zones"},
        "volumeBindingMode": "Immediate",
        "allowedTopologies": [
            {"matchLabelExpressions": [{"key": ZONE, "values": list(FREE)}]},
        ],
    }


def late_class() -> Document:
    """Disks that are made where the first pod goes that needs them."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "zonal"},
        "provisioner": "plimsoll.dev/zonal-disk",
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def database() -> Document:
    """Three pods with a claim each, all for Plimsoll's scheduler."""
    labels = {"app": "db"}
    wanted = claim("data", "2Gi")
    wanted["spec"]["storageClassName"] = "zonal"
    container = {
        "name": "db",
        "image": "db",
        "resources": {"requests": {"cpu": "500m"}},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": NAMESPACE},
        "spec": {
            "replicas": 3,
            "podManagementPolicy": "Parallel",
            "serviceName": "db",
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"schedulerName": "plimsoll", "containers": [container]},
            },
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": wanted["spec"]}],
        },
    }


def claim(name: str, size: str) -> Document:
    """Without a class: the server fills in the default one."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}},
    }
