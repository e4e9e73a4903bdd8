"""ReplicaSet: a number of equal pods."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.defaults import default_template
from plimsoll.apiserver.model.kinds.pods.values import distinct
from plimsoll.apiserver.model.kinds.rules import KindRules, keep_status
from plimsoll.apiserver.model.kinds.workloads.replicated import (
    at_most_errors,
    changed_template_warnings,
    count_errors,
    immutable_errors,
    replicated_template_errors,
    selector_errors,
)

PARTS = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")


def default(document: Document) -> None:
    spec = document.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    default_template(spec.setdefault("template", {}))


def prepare_create(document: Document, _now: datetime) -> None:
    document["status"] = {"replicas": 0}


def validate(document: Document) -> Iterable[FieldError]:
    return distinct(_spec_errors(document.get("spec") or {}))


def validate_update(new: Document, old: Document) -> Iterable[FieldError]:
    return distinct([*_spec_errors(new.get("spec") or {}), *immutable_errors(new, old, "selector")])


def _spec_errors(spec: Document) -> Iterator[FieldError]:
    yield from count_errors(spec, ("replicas", "minReadySeconds"), "spec")
    yield from selector_errors(spec, "spec", "deployment")
    yield from replicated_template_errors(spec, "spec", "ReplicaSet")


def validate_status(new: Document, _old: Document) -> Iterable[FieldError]:
    status = new.get("status") or {}
    counts = ("replicas", *PARTS, "observedGeneration", "terminatingReplicas")
    return distinct(
        [
            *count_errors(status, counts, "status"),
            *at_most_errors(status, PARTS),
            *at_most_errors(status, ("availableReplicas",), "readyReplicas"),
        ]
    )


def selectable_fields(document: Document) -> dict[str, str]:
    return {"status.replicas": str((document.get("status") or {}).get("replicas", 0))}


RULES = KindRules(
    default=default,
    prepare_create=prepare_create,
    prepare_update=keep_status,
    validate=validate,
    validate_update=validate_update,
    validate_status=validate_status,
    warnings=changed_template_warnings,
    selectable_fields=selectable_fields,
    has_generation=True,
)
