"""ReplicationController: what ReplicaSet was before selectors had operators."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.defaults import default_template
from plimsoll.apiserver.model.kinds.pods.spec import template_errors
from plimsoll.apiserver.model.kinds.pods.values import distinct
from plimsoll.apiserver.model.kinds.workloads import replica_set
from plimsoll.apiserver.model.kinds.workloads.replicated import (
    MISMATCH,
    count_errors,
    long_running_errors,
    template_labels,
)


def default(document: Document) -> None:
    spec = document.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    template = spec.get("template")
    if template is None:
        return
    default_template(template)
    labels = template_labels(template)
    if labels and not spec.get("selector"):
        spec["selector"] = dict(labels)
    meta = document.setdefault("metadata", {})
    if labels and not meta.get("labels"):
        meta["labels"] = dict(labels)


def validate(document: Document) -> Iterable[FieldError]:
    return distinct(_spec_errors(document.get("spec") or {}))


def validate_update(new: Document, _old: Document) -> Iterable[FieldError]:
    return validate(new)


def _spec_errors(spec: Document) -> Iterator[FieldError]:
    yield from count_errors(spec, ("replicas", "minReadySeconds"), "spec")
    selector, template = spec.get("selector") or {}, spec.get("template")
    if not selector:
        yield FieldError.required("spec.selector")
    if template is None:
        yield FieldError.required("spec.template")
        return
    labels = template_labels(template)
    if not selector.items() <= labels.items():
        yield FieldError.invalid("spec.template.metadata.labels", labels or None, MISMATCH)
    yield from template_errors(template, "spec.template")
    yield from long_running_errors(template, "spec.template", "ReplicationController")


RULES = replace(
    replica_set.RULES,
    default=default,
    validate=validate,
    validate_update=validate_update,
    orphans_by_default=True,
)
