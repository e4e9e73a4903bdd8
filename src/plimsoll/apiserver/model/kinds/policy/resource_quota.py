"""Resource quotas: how much of what a namespace may have, and of which objects."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from plimsoll.api.quantity import parse_quantity
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.object_meta import IMMUTABLE
from plimsoll.apiserver.model.kinds.resource_names import (
    is_quota_resource,
    quota_amounts_errors,
)
from plimsoll.apiserver.model.kinds.rules import KindRules, keep_status

POD_RESOURCES = frozenset({"pods", "cpu", "memory"}) | {
    f"{side}.{name}" for side in ("requests", "limits") for name in ("cpu", "memory")
}
CLAIM_RESOURCES = frozenset({"persistentvolumeclaims", "requests.storage"})
RESOURCES_BY_SCOPE = {
    "Terminating": POD_RESOURCES,
    "NotTerminating": POD_RESOURCES,
    "NotBestEffort": POD_RESOURCES,
    "PriorityClass": POD_RESOURCES,
    "CrossNamespacePodAffinity": POD_RESOURCES,
    "BestEffort": frozenset({"pods"}),
    "VolumeAttributesClass": CLAIM_RESOURCES,
}
BARE_SCOPES = frozenset(RESOURCES_BY_SCOPE) - {"PriorityClass", "VolumeAttributesClass"}
"""Scopes that a pod is in or not, without a value to compare."""
UNSUITABLE = "unsupported scope applied to resource"
CONTRARY = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})


def prepare_create(quota: Document, _now: datetime) -> None:
    quota["status"] = {}


def validate(quota: Document) -> Iterator[FieldError]:
    spec = quota.get("spec", {})
    hard = spec.get("hard", {})
    yield from quota_amounts_errors(hard, "spec.hard")
    yield from _scope_errors(spec.get("scopes") or [], hard)
    if "scopeSelector" in spec:
        expressions = spec["scopeSelector"].get("matchExpressions") or []
        yield from _selector_errors(expressions, hard)


def validate_update(new: Document, old: Document) -> Iterator[FieldError]:
    yield from validate(new)
    scopes = new.get("spec", {}).get("scopes") or []
    if set(scopes) != set(old.get("spec", {}).get("scopes") or []):
        yield FieldError.invalid("spec.scopes", scopes, IMMUTABLE)


def validate_status(new: Document, _old: Document) -> Iterator[FieldError]:
    for field in ("hard", "used"):
        yield from quota_amounts_errors(new.get("status", {}).get(field, {}), f"status.{field}")


def _limited(hard: Document) -> set[str]:
    """Resources that scopes say something about, or nothing."""
    return {name for name in hard if is_quota_resource(name)}


def _scope_errors(scopes: Sequence[str], hard: Document) -> Iterator[FieldError]:
    path = "spec.scopes"
    limited = _limited(hard)
    # Every complaint shows all scopes: each is made once.
    details: dict[str, None] = {}
    for scope in scopes:
        if scope not in RESOURCES_BY_SCOPE:
            details["unsupported scope"] = None
        elif not limited <= RESOURCES_BY_SCOPE[scope]:
            details[UNSUITABLE] = None
    for detail in details:
        yield FieldError.invalid(path, scopes, detail)
    if any(pair <= set(scopes) for pair in CONTRARY):
        yield FieldError.invalid(path, scopes, "conflicting scopes")


def _selector_errors(expressions: Sequence[Document], hard: Document) -> Iterator[FieldError]:
    path = "spec.scopeSelector.matchExpressions"
    limited, is_told = _limited(hard), False
    for expression in expressions:
        scope = expression.get("scopeName", "")
        if scope not in RESOURCES_BY_SCOPE:
            yield FieldError.invalid(f"{path}.scopeName", scope, "unsupported scope")
        elif not limited <= RESOURCES_BY_SCOPE[scope] and not is_told:
            is_told = True
            yield FieldError.invalid(path, expressions, UNSUITABLE)
        yield from _operator_errors(expression, path)
    scopes = {expression.get("scopeName", "") for expression in expressions}
    if any(pair <= scopes for pair in CONTRARY):
        yield FieldError.invalid(path, expressions, "conflicting scopes")


def _operator_errors(expression: Document, path: str) -> Iterator[FieldError]:
    operator = expression.get("operator", "")
    values = expression.get("values") or []
    if expression.get("scopeName") in BARE_SCOPES and operator != "Exists":
        yield FieldError.invalid(
            f"{path}.operator", operator, "must be 'Exists' when the scope has no values"
        )
    match operator:
        case "In" | "NotIn":
            if not values:
                yield FieldError.required(
                    f"{path}.values",
                    "must be at least one value when `operator` is 'In' or 'NotIn' "
                    "for scope selector",
                )
        case "Exists" | "DoesNotExist":
            if values:
                yield FieldError.invalid(
                    f"{path}.values",
                    values,
                    "must be no value when `operator` is 'Exist' or 'DoesNotExist' "
                    "for scope selector",
                )
        case _:
            yield FieldError.invalid(f"{path}.operator", operator, "not a valid selector operator")


def warnings(quota: Document, old: Document | None) -> list[str]:
    """Said on create only: requests that may exceed the limits can never be used in full."""
    hard = quota.get("spec", {}).get("hard", {})
    found = []
    for name in ("cpu", "memory", "ephemeral-storage"):
        request, limit = f"requests.{name}", f"limits.{name}"
        if request not in hard and name in ("cpu", "memory"):
            request = name
        if old is None and {request, limit} <= set(hard):
            asked, most = parse_quantity(hard[request]), parse_quantity(hard[limit])
            if asked > most:
                found.append(
                    f"ResourceQuota {request} ({asked}) should be less than {limit} ({most})"
                )
    return found


RULES = KindRules(
    prepare_create=prepare_create,
    prepare_update=keep_status,
    validate=validate,
    validate_update=validate_update,
    validate_status=validate_status,
    warnings=warnings,
    returns_deleted=True,
)
