"""The objects that the tour creates in its cluster."""

from plimsoll.api.registry import Document

NAMESPACE = "demo"
SNAPSHOTS = "snapshot.storage.k8s.io"
HOSTNAME = "kubernetes.io/hostname"


def namespace() -> Document:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}


def claim(
    name: str, size: str, *, class_: str = "local", source: Document | None = None
) -> Document:
    spec: Document = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": class_,
        "resources": {"requests": {"storage": size}},
    }
    if source is not None:
        spec["dataSource"] = source
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    }


def pod(name: str, *claimed: str) -> Document:
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claimed]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"containers": [_container(*claimed)], "volumes": volumes},
    }


def only_on(node: str, pod: Document) -> Document:
    pod["spec"]["nodeSelector"] = {HOSTNAME: node}
    return pod


def rather_on(node: str, pod: Document) -> Document:
    """Another node will do as well."""
    wanted = {"key": HOSTNAME, "operator": "In", "values": [node]}
    preference = {"weight": 100, "preference": {"matchExpressions": [wanted]}}
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [preference]}
    pod["spec"]["affinity"] = {"nodeAffinity": preferred}
    return pod


def database() -> Document:
    """Three pods, each with a claim of its own that waits for its pod's node."""
    labels = {"app": "db"}
    wanted = claim("data", "64Mi")
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
                "spec": {"containers": [_container("data")]},
            },
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": wanted["spec"]}],
        },
    }


def snapshot(name: str, claimed: str) -> Document:
    return {
        "apiVersion": f"{SNAPSHOTS}/v1",
        "kind": "VolumeSnapshot",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"source": {"persistentVolumeClaimName": claimed}},
    }


def of_snapshot(name: str) -> Document:
    return {"apiGroup": SNAPSHOTS, "kind": "VolumeSnapshot", "name": name}


def of_claim(name: str) -> Document:
    return {"kind": "PersistentVolumeClaim", "name": name}


def _container(*volumes: str) -> Document:
    return {
        "name": "main",
        "image": "none",
        "resources": {"requests": {"cpu": "100m"}},
        "volumeMounts": [{"name": each, "mountPath": f"/{each}"} for each in volumes],
    }
