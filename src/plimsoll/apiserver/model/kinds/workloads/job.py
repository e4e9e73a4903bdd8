"""Job: pods that run until they have succeeded often enough."""

from collections.abc import Iterable, Iterator
from copy import deepcopy
from datetime import datetime

from plimsoll.api.names import dns_label_errors
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.defaults import default_template
from plimsoll.apiserver.model.kinds.pods.values import MAX_INT32, distinct
from plimsoll.apiserver.model.kinds.rules import KindRules, keep_status
from plimsoll.apiserver.model.kinds.selectors import label_selector_errors
from plimsoll.apiserver.model.kinds.workloads.job_spec import job_spec_errors
from plimsoll.apiserver.model.kinds.workloads.replicated import (
    IMMUTABLE,
    MISMATCH,
    changed_template_warnings,
    count_errors,
    immutable_errors,
    is_readable,
    matches,
    template_labels,
)

OWNER_LABELS = {
    "controller-uid": "uid",
    "batch.kubernetes.io/controller-uid": "uid",
    "job-name": "name",
    "batch.kubernetes.io/job-name": "name",
}
SELECTED_LABEL = "batch.kubernetes.io/controller-uid"
IMMUTABLE_FIELDS = (
    "selector",
    "completionMode",
    "podFailurePolicy",
    "backoffLimitPerIndex",
    "managedBy",
    "successPolicy",
)
FREE_WHILE_SUSPENDED = ("nodeSelector", "tolerations", "schedulingGates")
FINAL_CONDITIONS = ("Failed", "Complete", "FailureTarget")
BACKOFF_LIMIT = 6
PODS_STAY = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background "
    "to remove them or set propagationPolicy=Orphan to suppress this warning"
)


def default(document: Document) -> None:
    spec = document.setdefault("spec", {})
    _default_spec(spec)
    default_pods_of_job(spec)
    _default_labels(document.setdefault("metadata", {}), spec)


def _default_labels(meta: Document, spec: Document) -> None:
    """A job without labels has those of its pods."""
    labels = template_labels(spec["template"])
    if labels and not meta.get("labels"):
        meta["labels"] = dict(labels)


def _default_spec(spec: Document) -> None:
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", MAX_INT32 if "backoffLimitPerIndex" in spec else BACKOFF_LIMIT)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    by_failure = "podFailurePolicy" in spec
    spec.setdefault("podReplacementPolicy", "Failed" if by_failure else "TerminatingOrFailed")
    spec.setdefault("manualSelector", False)


def default_pods_of_job(spec: Document) -> None:
    default_template(spec.setdefault("template", {}))
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or []:
        for pattern in rule.get("onPodConditions") or []:
            pattern["status"] = pattern.get("status") or "True"


def prepare_create(document: Document, _now: datetime) -> None:
    """Unless told otherwise, a job finds its pods by its own uid."""
    document["status"] = {}
    meta, spec = document["metadata"], document["spec"]
    if spec.get("manualSelector"):
        return
    template = spec["template"].setdefault("metadata", {})
    own = {label: meta.get(field, "") for label, field in OWNER_LABELS.items()}
    template["labels"] = own | (template.get("labels") or {})
    selector = spec.setdefault("selector", {})
    selector["matchLabels"] = {SELECTED_LABEL: own[SELECTED_LABEL]} | (
        selector.get("matchLabels") or {}
    )
    _default_labels(meta, spec)


def validate(document: Document) -> Iterable[FieldError]:
    return distinct(_errors(document))


def _errors(document: Document) -> Iterator[FieldError]:
    meta, spec = document.get("metadata") or {}, document.get("spec") or {}
    selector, labels = spec.get("selector"), template_labels(spec.get("template") or {})
    if not spec.get("manualSelector") and selector is not None:
        yield from _generated_errors(meta, selector, labels)
    yield from job_spec_errors(spec, "spec")
    if selector is None:
        yield FieldError.required("spec.selector")
    yield from label_selector_errors(selector or {}, "spec.selector")
    if (selector is None or is_readable(selector)) and not matches(selector, labels):
        yield FieldError.invalid("spec.template.metadata.labels", labels or None, MISMATCH)
    last = spec.get("completions", 0) - 1
    is_indexed = spec.get("completionMode") == "Indexed"
    if is_indexed and last >= 0 and dns_label_errors(f"{meta.get('name', '')}-{last}"):
        yield FieldError.invalid(
            "metadata.name", meta.get("name", ""), "does not make a DNS label with an index"
        )


def _generated_errors(
    meta: Document, selector: Document, labels: dict[str, str]
) -> Iterator[FieldError]:
    path = "spec.template.metadata.labels"
    own = {label: meta.get(field, "") for label, field in OWNER_LABELS.items()}
    for label, value in own.items():
        if label not in labels:
            yield FieldError.required(f"{path}[{label}]", f"must be '{value}'")
        elif labels[label] != value:
            yield FieldError.invalid(f"{path}[{label}]", labels, f"must be '{value}'")
    if is_readable(selector) and not matches(selector, own):
        yield FieldError.invalid("spec.selector", selector, "`selector` not auto-generated")


def validate_update(new: Document, old: Document) -> Iterable[FieldError]:
    errors = [*_errors(new), *_completions_errors(new["spec"], old["spec"])]
    for name in IMMUTABLE_FIELDS:
        errors += immutable_errors(new, old, name)
    return distinct([*errors, *_template_change_errors(new, old)])


def _completions_errors(spec: Document, old: Document) -> Iterator[FieldError]:
    after = spec.get("completions")
    if after == old.get("completions"):
        return
    if spec.get("completionMode") != "Indexed":
        yield FieldError.invalid("spec.completions", after, IMMUTABLE)
    elif after is not None and after != spec.get("parallelism"):
        yield FieldError.invalid(
            "spec.completions", after, "can only be modified in tandem with spec.parallelism"
        )


def _template_change_errors(new: Document, old: Document) -> Iterator[FieldError]:
    """While a job waits to start, it may still choose its nodes and what it needs."""
    after, before = new["spec"].get("template") or {}, old["spec"].get("template") or {}
    if not _may_adjust(old):
        if after != before:
            yield FieldError.invalid("spec.template", after, IMMUTABLE)
        return
    if _fixed(after.get("spec") or {}) != _fixed(before.get("spec") or {}):
        yield FieldError.invalid("spec.template.spec", after.get("spec"), IMMUTABLE)


def _may_adjust(job: Document) -> bool:
    status = job.get("status") or {}
    waits = "startTime" not in status or _holds(status, "Suspended")
    return bool(job["spec"].get("suspend")) and waits and not status.get("active")


def _fixed(spec: Document) -> Document:
    fixed = deepcopy({k: v for k, v in spec.items() if k not in FREE_WHILE_SUSPENDED})
    affinity = {k: v for k, v in (fixed.pop("affinity", None) or {}).items() if k != "nodeAffinity"}
    if affinity:
        fixed["affinity"] = affinity
    for kind in ("containers", "initContainers"):
        for container in fixed.get(kind) or []:
            container.pop("resources", None)
    return fixed


def _holds(status: Document, type_: str) -> bool:
    return any(
        condition.get("type") == type_ and condition.get("status") == "True"
        for condition in status.get("conditions") or []
    )


def validate_status(new: Document, old: Document) -> Iterable[FieldError]:
    status, old_status = new.get("status") or {}, old.get("status") or {}
    counts = ("active", "succeeded", "failed", "ready", "terminating")
    errors = [*count_errors(status, counts, "status")]
    errors += [
        FieldError.invalid(
            "status.conditions", None, f"cannot disable the terminal {type_}=True condition"
        )
        for type_ in FINAL_CONDITIONS
        if _holds(old_status, type_) and not _holds(status, type_)
    ]
    if status.get("failed", 0) < old_status.get("failed", 0):
        errors.append(
            FieldError.invalid("status.failed", status.get("failed", 0), "cannot decrease")
        )
    if _holds(status, "Complete") and _holds(status, "Failed"):
        errors.append(
            FieldError.invalid("status.conditions", None, "cannot be Complete and Failed")
        )
    return distinct(errors)


def warnings(new: Document, old: Document | None) -> list[str]:
    name = (new.get("metadata") or {}).get("name", "")
    found: list[str] = []
    if old is None and dns_label_errors(name):
        found.append(
            "metadata.name: this is used in Pod names and hostnames, which can result in "
            "surprising behavior; a DNS label is recommended"
        )
    return found + changed_template_warnings(new, old)


def selectable_fields(document: Document) -> dict[str, str]:
    return {"status.successful": str((document.get("status") or {}).get("succeeded", 0))}


RULES = KindRules(
    default=default,
    prepare_create=prepare_create,
    prepare_update=keep_status,
    validate=validate,
    validate_update=validate_update,
    validate_status=validate_status,
    warnings=warnings,
    selectable_fields=selectable_fields,
    has_generation=True,
    name_checked_on_update=True,
    orphans_by_default=True,
    deletion_warning=PODS_STAY,
)
