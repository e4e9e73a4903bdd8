"""CronJob: jobs that start at certain times."""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from plimsoll.api.cron_schedules import is_schedule
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.values import distinct, required_one_of
from plimsoll.apiserver.model.kinds.pods.warnings import template_warnings
from plimsoll.apiserver.model.kinds.rules import KindRules, keep_status
from plimsoll.apiserver.model.kinds.workloads.job import default_pods_of_job
from plimsoll.apiserver.model.kinds.workloads.job_spec import job_spec_errors
from plimsoll.apiserver.model.kinds.workloads.replicated import count_errors

CONCURRENCY = ("Allow", "Forbid", "Replace")
NAME_LIMIT = 52
"""A job's name without the time that is appended to it."""
SUCCESSFUL_KEPT = 3
FAILED_KEPT = 1
COUNTS = ("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")

ZONE_PART = re.compile(r"(?!-)[A-Za-z._0-9+-]{1,14}")


def default(document: Document) -> None:
    spec = document.setdefault("spec", {})
    spec["concurrencyPolicy"] = spec.get("concurrencyPolicy") or "Allow"
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", SUCCESSFUL_KEPT)
    spec.setdefault("failedJobsHistoryLimit", FAILED_KEPT)
    # The rest of a job's defaults is filled in when a job is made.
    default_pods_of_job(spec.setdefault("jobTemplate", {}).setdefault("spec", {}))


def prepare_create(document: Document, _now: datetime) -> None:
    document["status"] = {}


def validate(document: Document) -> Iterable[FieldError]:
    name = (document.get("metadata") or {}).get("name", "")
    errors = [*_spec_errors(document.get("spec") or {}, {})]
    if len(name) > NAME_LIMIT:
        errors.append(
            FieldError.invalid(
                "metadata.name", name, f"must be no more than {NAME_LIMIT} characters"
            )
        )
    return distinct(errors)


def validate_update(new: Document, old: Document) -> Iterable[FieldError]:
    return distinct(_spec_errors(new.get("spec") or {}, old.get("spec") or {}))


def _spec_errors(spec: Document, old: Document) -> Iterator[FieldError]:
    schedule = spec.get("schedule", "")
    if not schedule:
        yield FieldError.required("spec.schedule")
    elif "TZ" in schedule:
        yield FieldError.invalid("spec.schedule", schedule, "use the timeZone field instead")
    elif not is_schedule(schedule):
        yield FieldError.invalid("spec.schedule", schedule, "is not a schedule")
    yield from count_errors(spec, COUNTS, "spec")
    zone = spec.get("timeZone")
    if zone is not None and zone != old.get("timeZone"):
        yield from _zone_errors(zone, "spec.timeZone")
    yield from required_one_of(
        spec.get("concurrencyPolicy", ""), "spec.concurrencyPolicy", CONCURRENCY
    )
    job = (spec.get("jobTemplate") or {}).get("spec") or {}
    yield from job_spec_errors(job, "spec.jobTemplate.spec")
    if "selector" in job:
        yield FieldError.invalid(
            "spec.jobTemplate.spec.selector", job["selector"], "`selector` will be auto-generated"
        )
    if job.get("manualSelector"):
        yield FieldError.not_supported(
            "spec.jobTemplate.spec.manualSelector", True, ("nil", "false")
        )


def _zone_errors(zone: str, path: str) -> Iterator[FieldError]:
    """Only the form: which zones exist is a matter of the machine's tables."""
    parts = zone.split("/")
    if not all(ZONE_PART.fullmatch(part) and part not in (".", "..") for part in parts):
        yield FieldError.invalid(path, zone, f"unknown time zone {zone}")
    elif zone.lower() == "local":
        yield FieldError.invalid(path, zone, "must be an explicit time zone")


def warnings(new: Document, old: Document | None) -> list[str]:
    spec = new.get("spec") or {}
    if old is not None and spec == old.get("spec"):
        return []
    template = ((spec.get("jobTemplate") or {}).get("spec") or {}).get("template") or {}
    return template_warnings(template, "spec.jobTemplate.spec.template")


RULES = KindRules(
    default=default,
    prepare_create=prepare_create,
    prepare_update=keep_status,
    validate=validate,
    validate_update=validate_update,
    warnings=warnings,
    has_generation=True,
)
