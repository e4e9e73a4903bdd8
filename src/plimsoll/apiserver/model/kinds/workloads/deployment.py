"""Deployment: replica sets that take the place of each other."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.defaults import default_template
from plimsoll.apiserver.model.kinds.pods.values import distinct
from plimsoll.apiserver.model.kinds.rules import KindRules, keep_status
from plimsoll.apiserver.model.kinds.workloads.int_or_percent import (
    amount,
    int_or_percent_errors,
    over_whole_errors,
)
from plimsoll.apiserver.model.kinds.workloads.replicated import (
    at_most_errors,
    changed_template_warnings,
    count_errors,
    decrement_errors,
    immutable_errors,
    replicated_template_errors,
    selector_errors,
)

REVISIONS_KEPT = 10
PROGRESS_SECONDS = 600
STRATEGIES = ("Recreate", "RollingUpdate")


def default(document: Document) -> None:
    spec = document.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    strategy = spec.setdefault("strategy", {})
    strategy["type"] = strategy.get("type") or "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", REVISIONS_KEPT)
    spec.setdefault("progressDeadlineSeconds", PROGRESS_SECONDS)
    default_template(spec.setdefault("template", {}))


def prepare_create(document: Document, _now: datetime) -> None:
    document["status"] = {}


def validate(document: Document) -> Iterable[FieldError]:
    return distinct(_spec_errors(document.get("spec") or {}))


def validate_update(new: Document, old: Document) -> Iterable[FieldError]:
    return distinct([*_spec_errors(new.get("spec") or {}), *immutable_errors(new, old, "selector")])


def _spec_errors(spec: Document) -> Iterator[FieldError]:
    counts = ("replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    yield from count_errors(spec, counts, "spec")
    yield from selector_errors(spec, "spec", "deployment")
    yield from replicated_template_errors(spec, "spec", "ReplicaSet")
    yield from _strategy_errors(spec.get("strategy") or {}, "spec.strategy")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
        yield FieldError.invalid(
            "spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"
        )


def _strategy_errors(strategy: Document, path: str) -> Iterator[FieldError]:
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type"):
        case "Recreate":
            if rolling is not None:
                yield FieldError.forbidden(
                    f"{path}.rollingUpdate", "may not be specified when strategy is 'Recreate'"
                )
        case "RollingUpdate":
            yield from _rolling_errors(rolling or {}, f"{path}.rollingUpdate")
        case _:
            yield FieldError.not_supported(path, strategy, STRATEGIES)


def _rolling_errors(rolling: Document, path: str) -> Iterator[FieldError]:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    yield from int_or_percent_errors(unavailable, f"{path}.maxUnavailable")
    yield from int_or_percent_errors(surge, f"{path}.maxSurge")
    if amount(unavailable) == 0 and amount(surge) == 0:
        yield FieldError.invalid(
            f"{path}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0"
        )
    yield from over_whole_errors(unavailable, f"{path}.maxUnavailable")


def validate_status(new: Document, old: Document) -> Iterable[FieldError]:
    status, old_status = new.get("status") or {}, old.get("status") or {}
    parts = ("updatedReplicas", "readyReplicas", "availableReplicas")
    counts = (
        "observedGeneration",
        "replicas",
        *parts,
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    )
    return distinct(
        [
            *count_errors(status, counts, "status"),
            *at_most_errors(status, parts),
            *at_most_errors(status, ("availableReplicas",), "readyReplicas"),
            *decrement_errors(status, old_status),
        ]
    )


RULES = KindRules(
    default=default,
    prepare_create=prepare_create,
    prepare_update=keep_status,
    validate=validate,
    validate_update=validate_update,
    validate_status=validate_status,
    warnings=changed_template_warnings,
    has_generation=True,
    # They are copied to the replica sets.
    counts_annotations=True,
)
