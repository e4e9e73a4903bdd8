"""StatefulSet: pods with names and volumes that stay theirs."""

from collections.abc import Iterable, Iterator
from copy import deepcopy
from datetime import datetime

from plimsoll.api.names import name_is_dns_label
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.defaults import default_template
from plimsoll.apiserver.model.kinds.pods.spec import template_errors
from plimsoll.apiserver.model.kinds.pods.values import distinct, dns_label, not_negative, one_of
from plimsoll.apiserver.model.kinds.rules import KindRules, keep_status
from plimsoll.apiserver.model.kinds.storage.claim_spec import (
    claim_spec_errors,
    claim_spec_warnings,
    default_claim_spec,
)
from plimsoll.apiserver.model.kinds.workloads.int_or_percent import (
    amount,
    int_or_percent_errors,
    over_whole_errors,
)
from plimsoll.apiserver.model.kinds.workloads.replicated import (
    MISMATCH,
    at_most_errors,
    changed_template_warnings,
    count_errors,
    decrement_errors,
    immutable_errors,
    is_readable,
    long_running_errors,
    matches,
    selector_errors,
    template_labels,
)

RETENTION = ("Retain", "Delete")
REVISIONS_KEPT = 10
MAY_CHANGE = frozenset(
    {
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    }
)


def default(document: Document) -> None:
    spec = document.setdefault("spec", {})
    spec["podManagementPolicy"] = spec.get("podManagementPolicy") or "OrderedReady"
    _default_strategy(spec.setdefault("updateStrategy", {}))
    policy = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    for moment in ("whenDeleted", "whenScaled"):
        policy[moment] = policy.get(moment) or "Retain"
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", REVISIONS_KEPT)
    spec.setdefault("serviceName", "")
    default_template(spec.setdefault("template", {}))
    for claim in spec.get("volumeClaimTemplates") or []:
        claim.update(apiVersion="v1", kind="PersistentVolumeClaim")
        default_claim_spec(claim.setdefault("spec", {}))
        status = claim.setdefault("status", {})
        status["phase"] = status.get("phase") or "Pending"


def _default_strategy(strategy: Document) -> None:
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("partition", 0)
        strategy["rollingUpdate"].setdefault("maxUnavailable", 1)


def prepare_create(document: Document, _now: datetime) -> None:
    document["status"] = {"replicas": 0, "availableReplicas": 0}


def validate(document: Document) -> Iterable[FieldError]:
    spec = document.get("spec") or {}
    errors = [*_spec_errors(spec)]
    for index, claim in enumerate(spec.get("volumeClaimTemplates") or []):
        where = f"spec.volumeClaimTemplates[{index}].spec"
        errors += claim_spec_errors(claim.get("spec") or {}, where)
    if spec.get("serviceName"):
        errors += dns_label(spec["serviceName"], "spec.serviceName")
    return distinct(errors)


def validate_update(new: Document, old: Document) -> Iterable[FieldError]:
    """Claims and the service's name are not looked at again: they cannot have changed."""
    spec, old_spec = new.get("spec") or {}, old.get("spec") or {}
    errors = [*_spec_errors(spec)]
    for name in sorted({*spec, *old_spec} - MAY_CHANGE):
        errors += immutable_errors(new, old, name)
    return distinct(errors)


def _spec_errors(spec: Document) -> Iterator[FieldError]:
    policy = spec.get("podManagementPolicy", "")
    if policy not in ("OrderedReady", "Parallel"):
        yield FieldError.invalid(
            "spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'"
        )
    yield from _strategy_errors(spec.get("updateStrategy") or {}, "spec.updateStrategy")
    retention = spec.get("persistentVolumeClaimRetentionPolicy") or {}
    for moment in ("whenDeleted", "whenScaled"):
        where = f"spec.persistentVolumeClaimRetentionPolicy.{moment}"
        yield from one_of(retention.get(moment, ""), where, RETENTION)
    yield from count_errors(spec, ("replicas", "minReadySeconds"), "spec")
    start = (spec.get("ordinals") or {}).get("start", 0)
    yield from not_negative(start, "spec.ordinals.start")
    yield from selector_errors(spec, "spec", "statefulset")
    yield from _template_errors(spec)
    yield from long_running_errors(spec.get("template") or {}, "spec.template", "StatefulSet")


def _strategy_errors(strategy: Document, path: str) -> Iterator[FieldError]:
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type"):
        case "OnDelete":
            if rolling is not None:
                yield FieldError.invalid(
                    f"{path}.rollingUpdate",
                    rolling,
                    "only allowed for updateStrategy 'RollingUpdate'",
                )
        case "RollingUpdate":
            yield from _rolling_errors(rolling or {}, f"{path}.rollingUpdate")
        case _:
            yield FieldError.invalid(path, strategy, "must be 'RollingUpdate' or 'OnDelete'")


def _rolling_errors(rolling: Document, path: str) -> Iterator[FieldError]:
    yield from not_negative(rolling.get("partition", 0), f"{path}.partition")
    unavailable = rolling.get("maxUnavailable")
    if unavailable is None:
        return
    where = f"{path}.maxUnavailable"
    yield from int_or_percent_errors(unavailable, where)
    if amount(unavailable) == 0:
        yield FieldError.invalid(where, unavailable, "cannot be 0")
    yield from over_whole_errors(unavailable, where)


def _template_errors(spec: Document) -> Iterator[FieldError]:
    selector, template = spec.get("selector"), spec.get("template") or {}
    if selector is not None and not is_readable(selector):
        yield FieldError.invalid("spec.selector", selector, "")
        return
    labels = template_labels(template)
    if not matches(selector, labels):
        yield FieldError.invalid("spec.template.metadata.labels", labels or None, MISMATCH)
    yield from template_errors(_template_as_run(template, spec), "spec.template")


def _template_as_run(template: Document, spec: Document) -> Document:
    """The template with the volumes of the claims, and without names that each pod gets anew."""
    claims = [
        (claim.get("metadata") or {}).get("name", "")
        for claim in spec.get("volumeClaimTemplates") or []
    ]
    as_run = deepcopy(template)
    pod = as_run.setdefault("spec", {})
    pod.pop("subdomain", None)
    pod.pop("hostname", None)
    own = [v for v in pod.get("volumes") or [] if v.get("name", "") not in claims]
    pod["volumes"] = [
        {"name": name, "persistentVolumeClaim": {"claimName": name}}
        for name in dict.fromkeys(claims)
    ] + own
    return as_run


def validate_status(new: Document, old: Document) -> Iterable[FieldError]:
    status, old_status = new.get("status") or {}, old.get("status") or {}
    parts = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    return distinct(
        [
            *count_errors(
                status, ("replicas", *parts, "observedGeneration", "collisionCount"), "status"
            ),
            *at_most_errors(status, parts),
            *at_most_errors(status, ("availableReplicas",), "readyReplicas"),
            *decrement_errors(status, old_status),
        ]
    )


def warnings(new: Document, old: Document | None) -> list[str]:
    spec = new.get("spec") or {}
    found = changed_template_warnings(new, old)
    for index, claim in enumerate(spec.get("volumeClaimTemplates") or []):
        found += claim_spec_warnings(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{index}]")
    if spec.get("revisionHistoryLimit", 0) < 0:
        found.append(
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; "
            "a value >= 0 is recommended"
        )
    return found


RULES = KindRules(
    default=default,
    prepare_create=prepare_create,
    prepare_update=keep_status,
    validate=validate,
    validate_update=validate_update,
    validate_status=validate_status,
    warnings=warnings,
    name_errors=name_is_dns_label,
    has_generation=True,
)
