"""Short workloads and pods for the decisions about them."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from msgspec import structs

from plimsoll.api.meta import ApiObject, Condition, ObjectMeta, OwnerReference
from plimsoll.api.pods import Pod, PodSpec, PodStatus
from plimsoll.api.registry import Document
from plimsoll.api.selectors.label import LabelSelectorSpec
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.api.workloads import (
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    ReplicaStatus,
    StatefulSet,
)
from plimsoll.decide.plan import Create, Delete, Emit, Patch, Plan
from plimsoll.decide.workloads.owned import (
    STATEFUL_SET,
    Workload,
    controller_reference,
)

NOW = datetime(2024, 1, 1, 12, tzinfo=UTC)
LABELS = {"app": "web"}
SELECTOR = LabelSelectorSpec(match_labels=LABELS)


def template(image: str = "web:1", **spec: Any) -> Document:
    containers = [{"name": "main", "image": image}]
    return {"metadata": {"labels": dict(LABELS)}, "spec": {"containers": containers} | spec}


def claim_template(name: str = "data") -> Document:
    request = {"requests": {"storage": "1Gi"}}
    return {"metadata": {"name": name}, "spec": {"resources": request}}


def meta(name: str, **more: Any) -> ObjectMeta:
    fields: dict[str, Any] = {
        "name": name,
        "namespace": "default",
        "uid": f"uid-{name}",
        "generation": 1,
    }
    return ObjectMeta(**(fields | {"resource_version": "7"} | more))


def a_stateful_set(name: str = "web", status: Document | None = None, **spec: Any) -> StatefulSet:
    """Of one claim template unless told otherwise; fields as in documents."""
    whole = {
        "replicas": 3,
        "serviceName": "web",
        "selector": {"matchLabels": LABELS},
        "template": template(),
        "volumeClaimTemplates": [claim_template()],
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
    }
    made = from_document(StatefulSet, {"spec": whole | spec, "status": status or {}})
    return structs.replace(made, metadata=meta(name))


def a_replica_set(
    name: str = "web-1", *, replicas: int = 3, available: int = 0, **metadata: Any
) -> ReplicaSet:
    made = from_document(
        ReplicaSet,
        {
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": LABELS},
                "template": template(),
            }
        },
    )
    counts = ReplicaStatus(
        observed_generation=1,
        replicas=replicas,
        ready_replicas=available,
        available_replicas=available,
        terminating_replicas=0,
    )
    return structs.replace(made, metadata=meta(name, **metadata), status=counts)


def a_deployment(
    name: str = "web", annotations: dict[str, str] | None = None, **spec: Any
) -> Deployment:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}
    whole = {
        "replicas": 3,
        "selector": {"matchLabels": LABELS},
        "template": template(),
        "strategy": rolling,
        "progressDeadlineSeconds": 600,
    }
    made = from_document(Deployment, {"spec": whole | spec})
    return structs.replace(made, metadata=meta(name, annotations=annotations or {}))


def a_daemon_set(name: str = "agent", **spec: Any) -> DaemonSet:
    whole = {
        "selector": {"matchLabels": LABELS},
        "template": template(),
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
    }
    made = from_document(DaemonSet, {"spec": whole | spec})
    return structs.replace(made, metadata=meta(name))


def a_job(name: str = "work", status: Document | None = None, **spec: Any) -> Job:
    whole = {"completions": 1, "parallelism": 1, "backoffLimit": 6, "template": template()}
    made = from_document(Job, {"spec": whole | spec, "status": status or {}})
    return structs.replace(made, metadata=meta(name))


def a_pod(
    name: str = "web-0",
    *,
    phase: str = "Running",
    ready: bool | None = None,
    since: datetime = NOW - timedelta(hours=1),
    node: str = "node-1",
    **metadata: Any,
) -> Pod:
    """Ready if it runs, unless told otherwise."""
    is_ready = phase == "Running" if ready is None else ready
    condition = Condition(
        type="Ready", status="True" if is_ready else "False", last_transition_time=since
    )
    fields = {"labels": LABELS, "creation_timestamp": since}
    return Pod(
        metadata=meta(name, **(fields | metadata)),
        spec=PodSpec(node_name=node),
        status=PodStatus(phase=phase, conditions=(condition,)),
    )


def a_stateful_pod(set_: StatefulSet, ordinal: int, revision: str, **pod: Any) -> Pod:
    name = f"{set_.name}-{ordinal}"
    labels = LABELS | {
        "statefulset.kubernetes.io/pod-name": name,
        "controller-revision-hash": revision,
    }
    made = a_pod(name, labels=labels, owner_references=owned_by(STATEFUL_SET, set_), **pod)
    volumes = [
        {
            "name": t["metadata"]["name"],
            "persistentVolumeClaim": {"claimName": f"{t['metadata']['name']}-{name}"},
        }
        for t in set_.spec.volume_claim_templates
    ]
    spec = from_document(PodSpec, {"volumes": volumes, "nodeName": made.spec.node_name})
    return structs.replace(made, spec=spec)


def a_claim(name: str, *owners: OwnerReference, **metadata: Any) -> PersistentVolumeClaim:
    return PersistentVolumeClaim(metadata=meta(name, owner_references=owners, **metadata))


def owned_by(workload: Workload, owner: ApiObject) -> tuple[OwnerReference, ...]:
    return (controller_reference(workload, owner),)


def suffixes() -> Iterator[str]:
    return (f"{number:05d}" for number in count())


def made(plan: Plan) -> list[str]:
    """What the plan does, in order: `create pods web-0`."""
    words = {Create: "create", Patch: "patch", Delete: "delete"}
    return [
        f"{words[type(write)]} {write.resource.plural} {write.key.name}"
        for write in plan.writes
        if not isinstance(write, Emit)
    ]


def told(plan: Plan) -> list[str]:
    return [write.reason for write in plan.writes if isinstance(write, Emit)]


def status_in(plan: Plan) -> Document:
    """The status that the plan writes; empty if it writes none."""
    patches = [w for w in plan.writes if isinstance(w, Patch) and w.subresource == "status"]
    status: Document = patches[0].patch["status"] if patches else {}
    return status
