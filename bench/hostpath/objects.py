"""What a client creates in the cluster, as documents."""

from collections.abc import Iterator

from bench.hostpath.cluster import DRIVER, NAMESPACE
from bench.hostpath.workload import Load, Setting
from plimsoll.api.registry import Document

CLASS = "hostpath"


def storage_objects(setting: Setting) -> list[Document]:
    return [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIDriver",
            "metadata": {"name": DRIVER},
            "spec": {"attachRequired": True, "storageCapacity": setting.is_tracked},
        },
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": CLASS},
            "provisioner": DRIVER,
            "volumeBindingMode": "WaitForFirstConsumer",
        },
    ]


def pods_with_claims(load: Load) -> Iterator[list[Document]]:
    """For each pod its claims, and then the pod."""
    for number in range(load.pods):
        name = f"pod-{number}"
        claims = [f"{name}-{each}" for each in range(load.claims_per_pod)]
        yield [*(_claim(each, load.volume_mib) for each in claims), _pod(name, claims)]


def _claim(name: str, mib: int) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": CLASS,
            "resources": {"requests": {"storage": f"{mib}Mi"}},
        },
    }


def _pod(name: str, claims: list[str]) -> Document:
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
    mounts = [{"name": each, "mountPath": f"/{each}"} for each in claims]
    container = {"name": "main", "image": "none", "volumeMounts": mounts}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"containers": [container], "volumes": volumes},
    }
