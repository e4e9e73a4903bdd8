"""Controllers of pods, and the objects that surround them."""

from datetime import datetime
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.printing.ages import human_duration, parse_time, since
from plimsoll.apiserver.model.printing.phrases import (
    NONE,
    condition_status,
    container_cells,
    labels_phrase,
    selector_phrase,
)


def stateful_set_cells(stateful_set: Document, now: datetime) -> list[Any]:
    meta, spec, status = _parts(stateful_set)
    return [
        meta.get("name", ""),
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        since(meta.get("creationTimestamp"), now),
        *container_cells(spec.get("template")),
    ]


def replica_set_cells(replica_set: Document, now: datetime) -> list[Any]:
    _, spec, _ = _parts(replica_set)
    return [*_replica_counts(replica_set, now), selector_phrase(spec.get("selector")) or NONE]


def replication_controller_cells(controller: Document, now: datetime) -> list[Any]:
    _, spec, _ = _parts(controller)
    return [*_replica_counts(controller, now), labels_phrase(spec.get("selector"))]


def deployment_cells(deployment: Document, now: datetime) -> list[Any]:
    meta, spec, status = _parts(deployment)
    return [
        meta.get("name", ""),
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        since(meta.get("creationTimestamp"), now),
        *container_cells(spec.get("template")),
        selector_phrase(spec.get("selector")),
    ]


def daemon_set_cells(daemon_set: Document, now: datetime) -> list[Any]:
    meta, spec, status = _parts(daemon_set)
    node_selector = spec.get("template", {}).get("spec", {}).get("nodeSelector")
    return [
        meta.get("name", ""),
        status.get("desiredNumberScheduled", 0),
        status.get("currentNumberScheduled", 0),
        status.get("numberReady", 0),
        status.get("updatedNumberScheduled", 0),
        status.get("numberAvailable", 0),
        labels_phrase(node_selector),
        since(meta.get("creationTimestamp"), now),
        *container_cells(spec.get("template")),
        selector_phrase(spec.get("selector")) or NONE,
    ]


def job_cells(job: Document, now: datetime) -> list[Any]:
    meta, spec, _ = _parts(job)
    return [
        meta.get("name", ""),
        _job_status(job),
        _completions(job),
        _job_duration(job, now),
        since(meta.get("creationTimestamp"), now),
        *container_cells(spec.get("template")),
        selector_phrase(spec.get("selector")) or NONE,
    ]


def cron_job_cells(cron_job: Document, now: datetime) -> list[Any]:
    meta, spec, status = _parts(cron_job)
    job = spec.get("jobTemplate", {}).get("spec", {})
    scheduled_at = status.get("lastScheduleTime")
    suspended = spec.get("suspend")
    return [
        meta.get("name", ""),
        spec.get("schedule", ""),
        spec.get("timeZone", NONE),
        "<unset>" if suspended is None else str(suspended),
        len(status.get("active", ())),
        since(scheduled_at, now) if scheduled_at else NONE,
        since(meta.get("creationTimestamp"), now),
        *container_cells(job.get("template")),
        selector_phrase(job.get("selector")) or NONE,
    ]


def controller_revision_cells(revision: Document, now: datetime) -> list[Any]:
    meta = revision["metadata"]
    return [
        meta.get("name", ""),
        _controller(meta),
        revision.get("revision", 0),
        since(meta.get("creationTimestamp"), now),
    ]


def pod_template_cells(pod_template: Document, _now: datetime) -> list[Any]:
    template = pod_template.get("template", {})
    labels = template.get("metadata", {}).get("labels")
    return [
        pod_template["metadata"].get("name", ""),
        *container_cells(template),
        labels_phrase(labels),
    ]


def disruption_budget_cells(budget: Document, now: datetime) -> list[Any]:
    meta, spec, status = _parts(budget)
    return [
        meta.get("name", ""),
        str(spec.get("minAvailable", "N/A")),
        str(spec.get("maxUnavailable", "N/A")),
        status.get("disruptionsAllowed", 0),
        since(meta.get("creationTimestamp"), now),
    ]


def _parts(document: Document) -> tuple[Document, Document, Document]:
    return document["metadata"], document.get("spec", {}), document.get("status", {})


def _replica_counts(document: Document, now: datetime) -> list[Any]:
    meta, spec, status = _parts(document)
    return [
        meta.get("name", ""),
        spec.get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        since(meta.get("creationTimestamp"), now),
        *container_cells(spec.get("template")),
    ]


def _job_status(job: Document) -> str:
    conditions = job.get("status", {}).get("conditions", ())
    true = {
        c.get("type")
        for c in conditions
        if condition_status(conditions, c.get("type", "")) == "True"
    }
    if "Complete" in true:
        return "Complete"
    if "Failed" in true:
        return "Failed"
    if job["metadata"].get("deletionTimestamp"):
        return "Terminating"
    lesser = ("Suspended", "FailureTarget", "SuccessCriteriaMet")
    return next((name for name in lesser if name in true), "Running")


def _completions(job: Document) -> str:
    _, spec, status = _parts(job)
    succeeded = status.get("succeeded", 0)
    if "completions" in spec:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism", 0)
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _job_duration(job: Document, now: datetime) -> str:
    status = job.get("status", {})
    started_at = parse_time(status.get("startTime"))
    if started_at is None:
        return ""
    return human_duration((parse_time(status.get("completionTime")) or now) - started_at)


def _controller(meta: Document) -> str:
    """The controlling owner as `statefulset.apps/web`."""
    owner = next((o for o in meta.get("ownerReferences", ()) if o.get("controller")), None)
    if owner is None:
        return NONE
    group, slash, _ = owner.get("apiVersion", "").partition("/")
    kind = f"{owner.get('kind', '')}.{group}" if slash else owner.get("kind", "")
    return f"{kind.lower()}/{owner.get('name', '')}"
