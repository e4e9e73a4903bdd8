"""The Jobs of a CronJob: how they are called and created, and what they tell.

The name of a Job tells the minute that it was scheduled for. The annotation tells it exactly.
"""

from copy import deepcopy
from datetime import datetime, tzinfo

from plimsoll.api.meta import ObjectReference
from plimsoll.api.registry import Document
from plimsoll.api.workloads import CronJob, Job
from plimsoll.decide.workloads.job.verdict import find_end
from plimsoll.decide.workloads.owned import CRON_JOB, JOB, controller_reference, reference_document

SCHEDULED_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp"
"""On a Job: the time that it was scheduled for."""


def has_ended(job: Job, end: str) -> bool:
    """`end` is Complete or Failed."""
    found = find_end(job)
    return found is not None and found.type == end


def scheduled_for(job: Job) -> datetime | None:
    """None: a user has started it."""
    text = job.annotations.get(SCHEDULED_AT)
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def job_name(cron_job: CronJob, due: datetime) -> str:
    return f"{cron_job.name}-{int(due.timestamp()) // 60}"


def job_document(cron_job: CronJob, due: datetime, zone: tzinfo) -> Document:
    template = cron_job.spec.job_template
    metadata = template.get("metadata") or {}
    at = due.astimezone(zone).isoformat(timespec="seconds").replace("+00:00", "Z")
    owner = controller_reference(CRON_JOB, cron_job)
    return {
        "apiVersion": JOB.api_version,
        "kind": JOB.kind,
        "metadata": {
            "namespace": cron_job.namespace,
            "name": job_name(cron_job, due),
            "labels": dict(metadata.get("labels") or {}),
            "annotations": {**(metadata.get("annotations") or {}), SCHEDULED_AT: at},
            "ownerReferences": [reference_document(owner)],
        },
        "spec": deepcopy(dict(template.get("spec") or {})),
    }


def active_reference(job: Job) -> ObjectReference:
    return ObjectReference(
        api_version=JOB.api_version,
        kind=JOB.kind,
        namespace=job.namespace,
        name=job.name,
        uid=job.uid,
        resource_version=job.metadata.resource_version,
    )


def active_document(reference: ObjectReference) -> Document:
    fields = {
        "apiVersion": reference.api_version,
        "kind": reference.kind,
        "namespace": reference.namespace,
        "name": reference.name,
        "uid": reference.uid,
        "resourceVersion": reference.resource_version,
    }
    return {name: text for name, text in fields.items() if text}
