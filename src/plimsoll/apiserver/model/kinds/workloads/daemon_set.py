"""DaemonSet: one pod on every node that suits it."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.defaults import default_template
from plimsoll.apiserver.model.kinds.pods.spec import template_errors
from plimsoll.apiserver.model.kinds.pods.values import distinct
from plimsoll.apiserver.model.kinds.rules import KindRules, keep_status
from plimsoll.apiserver.model.kinds.selectors import label_selector_errors
from plimsoll.apiserver.model.kinds.workloads.int_or_percent import (
    amount,
    int_or_percent_errors,
    over_whole_errors,
)
from plimsoll.apiserver.model.kinds.workloads.replicated import (
    MISMATCH,
    changed_template_warnings,
    count_errors,
    decrement_errors,
    immutable_errors,
    is_readable,
    long_running_errors,
    matches,
    template_labels,
)

REVISIONS_KEPT = 10
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
STRATEGIES = ("OnDelete", "RollingUpdate")
ALWAYS_COUNTED = (
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
)
COUNTED = (
    *ALWAYS_COUNTED,
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
)


def default(document: Document) -> None:
    annotations = (document.get("metadata") or {}).get("annotations") or {}
    if TEMPLATE_GENERATION not in annotations:
        # Before it is counted: who writes the set is told to own it.
        _count_templates(document, 0)
    spec = document.setdefault("spec", {})
    strategy = spec.setdefault("updateStrategy", {})
    strategy["type"] = strategy.get("type") or "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", REVISIONS_KEPT)
    default_template(spec.setdefault("template", {}))


def prepare_create(document: Document, _now: datetime) -> None:
    document["status"] = dict.fromkeys(ALWAYS_COUNTED, 0)
    _count_templates(document, 1)


def prepare_update(new: Document, old: Document, now: datetime) -> None:
    keep_status(new, old, now)
    annotations = (old.get("metadata") or {}).get("annotations") or {}
    generation = annotations.get(TEMPLATE_GENERATION, "1")
    count = int(generation) if generation.isdecimal() else 1
    is_changed = (new.get("spec") or {}).get("template") != (old.get("spec") or {}).get("template")
    _count_templates(new, count + is_changed)


def _count_templates(document: Document, count: int) -> None:
    """Once a field of the spec; old clients still look for it among the annotations."""
    meta = document.setdefault("metadata", {})
    meta["annotations"] = (meta.get("annotations") or {}) | {TEMPLATE_GENERATION: str(count)}


def validate(document: Document) -> Iterable[FieldError]:
    return distinct(_spec_errors(document.get("spec") or {}))


def validate_update(new: Document, old: Document) -> Iterable[FieldError]:
    return distinct([*_spec_errors(new.get("spec") or {}), *immutable_errors(new, old, "selector")])


def _spec_errors(spec: Document) -> Iterator[FieldError]:
    selector, template = spec.get("selector"), spec.get("template") or {}
    yield from label_selector_errors(selector or {}, "spec.selector")
    labels = template_labels(template)
    if (selector is None or is_readable(selector)) and not matches(selector, labels):
        yield FieldError.invalid("spec.template.metadata.labels", labels or None, MISMATCH)
    if selector is not None and not any(selector.values()):
        yield FieldError.invalid(
            "spec.selector", selector, "empty selector is invalid for daemonset"
        )
    yield from template_errors(template, "spec.template")
    yield from long_running_errors(template, "spec.template", "DaemonSet")
    yield from count_errors(spec, ("minReadySeconds", "revisionHistoryLimit"), "spec")
    strategy = spec.get("updateStrategy") or {}
    if strategy.get("type") == "RollingUpdate":
        yield from _rolling_errors(
            strategy.get("rollingUpdate") or {}, "spec.updateStrategy.rollingUpdate"
        )
    elif strategy.get("type") != "OnDelete":
        yield FieldError.not_supported("spec.updateStrategy", strategy, STRATEGIES)


def _rolling_errors(rolling: Document, path: str) -> Iterator[FieldError]:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    for name, value in (("maxUnavailable", unavailable), ("maxSurge", surge)):
        yield from int_or_percent_errors(value, f"{path}.{name}")
        yield from over_whole_errors(value, f"{path}.{name}")
    if amount(unavailable) and amount(surge):
        yield FieldError.invalid(
            f"{path}.maxSurge", surge, "may not be set when maxUnavailable is non-zero"
        )
    if not amount(unavailable) and not amount(surge):
        yield FieldError.required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0")


def validate_status(new: Document, old: Document) -> Iterable[FieldError]:
    status, old_status = new.get("status") or {}, old.get("status") or {}
    return distinct(
        [*count_errors(status, COUNTED, "status"), *decrement_errors(status, old_status)]
    )


RULES = KindRules(
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    validate=validate,
    validate_update=validate_update,
    validate_status=validate_status,
    warnings=changed_template_warnings,
    has_generation=True,
)
