"""Documents that stories put into their clusters, as short as the server takes them."""

from typing import Any

from plimsoll.api.registry import Document

CONTAINERS = [{"name": "main", "image": "web:1"}]


def pod(
    name: str = "web", *, volumes: list[Document] | None = None, node: str = "", **metadata: Any
) -> Document:
    spec: Document = {"containers": CONTAINERS, "volumes": volumes or []}
    if node:
        spec["nodeName"] = node
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"} | metadata,
        "spec": spec,
    }


def uses(claim: str, volume: str = "data") -> Document:
    """A pod's volume that is a claim."""
    return {"name": volume, "persistentVolumeClaim": {"claimName": claim}}


def claim(
    name: str = "data", *, class_name: str = "fast", volume: str = "", **metadata: Any
) -> Document:
    spec: Document = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": class_name,
    }
    if volume:
        spec["volumeName"] = volume
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"} | metadata,
        "spec": spec,
    }


def volume(
    name: str = "volume-1",
    *,
    claim_ref: Document | None = None,
    affinity: Document | None = None,
    spec: Document | None = None,
    **metadata: Any,
) -> Document:
    whole: Document = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast",
        "persistentVolumeReclaimPolicy": "Delete",
        "csi": {"driver": "disk.example.com", "volumeHandle": f"handle-{name}"},
    }
    if claim_ref:
        whole["claimRef"] = claim_ref
    if affinity:
        whole["nodeAffinity"] = affinity
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name} | metadata,
        "spec": whole | (spec or {}),
    }


def config_map(name: str, **metadata: Any) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"} | metadata,
    }


def namespace(name: str, **metadata: Any) -> Document:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name} | metadata}
