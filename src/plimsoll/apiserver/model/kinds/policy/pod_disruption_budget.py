"""PodDisruptionBudget: how many pods of a group an eviction may leave missing."""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from plimsoll.api.names import name_is_path_segment
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.values import (
    distinct,
    not_negative,
    one_of,
    qualified_name,
    required,
)
from plimsoll.apiserver.model.kinds.rules import KindRules, keep_status
from plimsoll.apiserver.model.kinds.selectors import label_selector_errors
from plimsoll.apiserver.model.kinds.workloads.int_or_percent import (
    int_or_percent_errors,
    over_whole_errors,
)

COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")
CONDITION_STATUSES = ("False", "True", "Unknown")
REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
REASON_LIMIT = 1024
MESSAGE_LIMIT = 32 * 1024


def prepare_create(document: Document, _now: datetime) -> None:
    document["status"] = dict.fromkeys(COUNTS, 0)


def validate(document: Document) -> Iterable[FieldError]:
    return distinct(_spec_errors(document.get("spec") or {}))


def validate_update(new: Document, _old: Document) -> Iterable[FieldError]:
    return validate(new)


def _spec_errors(spec: Document) -> Iterator[FieldError]:
    given = [name for name in ("minAvailable", "maxUnavailable") if name in spec]
    if len(given) > 1:
        yield FieldError.invalid("spec", spec, f"{' and '.join(given)} cannot be both set")
    for name in given:
        yield from int_or_percent_errors(spec[name], f"spec.{name}")
        yield from over_whole_errors(spec[name], f"spec.{name}")
    yield from label_selector_errors(spec.get("selector") or {}, "spec.selector")
    if "unhealthyPodEvictionPolicy" in spec:
        yield from one_of(
            spec["unhealthyPodEvictionPolicy"],
            "spec.unhealthyPodEvictionPolicy",
            EVICTION_POLICIES,
        )


def validate_status(new: Document, _old: Document) -> Iterable[FieldError]:
    status = new.get("status") or {}
    errors = [*_condition_errors(status.get("conditions") or [])]
    for name in COUNTS:
        errors += not_negative(status.get(name, 0), f"status.{name}")
    return distinct(errors)


def _condition_errors(conditions: list[Document]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        where = f"status.conditions[{index}]"
        if condition.get("type"):
            yield from qualified_name(condition["type"], f"{where}.type")
        else:
            yield FieldError.required(f"{where}.type", "must be set")
        if condition.get("type", "") in seen:
            yield FieldError.duplicate(f"{where}.type", condition.get("type", ""))
        seen.add(condition.get("type", ""))
        yield from one_of(condition.get("status", ""), f"{where}.status", CONDITION_STATUSES)
        yield from not_negative(
            condition.get("observedGeneration", 0), f"{where}.observedGeneration"
        )
        yield from required(
            condition.get("lastTransitionTime"), f"{where}.lastTransitionTime", "must be set"
        )
        yield from _reason_errors(condition, where)


def _reason_errors(condition: Document, path: str) -> Iterator[FieldError]:
    reason = condition.get("reason", "")
    if not reason:
        yield FieldError.required(f"{path}.reason", "must be set")
    else:
        if not REASON.fullmatch(reason):
            yield FieldError.invalid(f"{path}.reason", reason, f"must match {REASON.pattern}")
        if len(reason) > REASON_LIMIT:
            yield FieldError.too_long(f"{path}.reason", REASON_LIMIT)
    if len(condition.get("message", "")) > MESSAGE_LIMIT:
        yield FieldError.too_long(f"{path}.message", MESSAGE_LIMIT)


RULES = KindRules(
    prepare_create=prepare_create,
    prepare_update=keep_status,
    validate=validate,
    validate_update=validate_update,
    validate_status=validate_status,
    name_errors=name_is_path_segment,
    has_generation=True,
    plain_finalizers=True,
    unconditional_update=False,
)
