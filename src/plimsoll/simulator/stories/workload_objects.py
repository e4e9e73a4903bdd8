"""Workloads that stories put into their clusters, as short as the server takes them."""

from typing import Any

from plimsoll.api.registry import Document

NAMESPACE = "default"
LABELS = {"app": "web"}


def template(image: str = "web:1", **spec: Any) -> Document:
    containers = [{"name": "main", "image": image}]
    return {"metadata": {"labels": dict(LABELS)}, "spec": {"containers": containers} | spec}


def _workload(api_version: str, kind: str, name: str, spec: Document) -> Document:
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def _selecting(spec: Document) -> Document:
    return {"selector": {"matchLabels": dict(LABELS)}, "template": template()} | spec


def stateful_set(
    name: str = "web", *, claims: tuple[str, ...] = ("data",), **spec: Any
) -> Document:
    templates = [
        {
            "metadata": {"name": claim, "labels": {"kind": claim}},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
                "storageClassName": "fast",
            },
        }
        for claim in claims
    ]
    whole = {"replicas": 3, "serviceName": "web", "volumeClaimTemplates": templates} | spec
    return _workload("apps/v1", "StatefulSet", name, _selecting(whole))


def replica_set(name: str = "web", **spec: Any) -> Document:
    return _workload("apps/v1", "ReplicaSet", name, _selecting({"replicas": 3} | spec))


def deployment(name: str = "web", **spec: Any) -> Document:
    return _workload("apps/v1", "Deployment", name, _selecting({"replicas": 3} | spec))


def daemon_set(name: str = "agent", **spec: Any) -> Document:
    return _workload("apps/v1", "DaemonSet", name, _selecting(spec))


def job(name: str = "work", **spec: Any) -> Document:
    pod = {"containers": [{"name": "main", "image": "work:1"}], "restartPolicy": "Never"}
    return _workload("batch/v1", "Job", name, {"template": {"spec": pod}} | spec)


def cron_job(name: str = "nightly", schedule: str = "*/10 * * * *", **spec: Any) -> Document:
    template = {"metadata": {"labels": {"app": name}}, "spec": job()["spec"]}
    whole = {"schedule": schedule, "jobTemplate": template} | spec
    return _workload("batch/v1", "CronJob", name, whole)


def new_image(image: str) -> Document:
    """A patch that changes what the pods of a workload run."""
    return {"spec": {"template": template(image)}}


def pod_quota(most: int) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "pods", "namespace": NAMESPACE},
        "spec": {"hard": {"pods": str(most)}},
    }


def image_of(pod: Document) -> str:
    image: str = pod["spec"]["containers"][0]["image"]
    return image
