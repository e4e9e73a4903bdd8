"""Rules for CertificateSigningRequests: what was decided about one stays decided.

The request itself never changes. Its conditions Approved and Denied are written through the
subresource `approval` alone, the certificate through `status` alone, and only once.
"""

from collections.abc import Iterator
from datetime import datetime

from plimsoll.api.meta import wire_time
from plimsoll.api.names import name_is_path_segment
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.access.certificate_request import request_errors
from plimsoll.apiserver.model.kinds.rules import KindRules, keep_all_but_status, keep_status

VERDICTS = ("Approved", "Denied")
LASTING = (*VERDICTS, "Failed")
REQUESTER = ("username", "uid", "groups", "extra")
"""Fields of the spec that only the server writes."""
CONDITIONS = "status.conditions"
CERTIFICATE = "status.certificate"


def begin_status(request: Document, _now: datetime) -> None:
    """No client can create a request that is approved already."""
    request["status"] = {}


def record_requester(request: Document, requester: Document) -> None:
    """Write who asks into a new request, whatever the client says about that."""
    spec = {name: value for name, value in request.get("spec", {}).items() if name not in REQUESTER}
    request["spec"] = spec | requester


def keep_request_and_status(new: Document, old: Document, now: datetime) -> None:
    keep_all_but_status(new, old, now)
    keep_status(new, old, now)


def prepare_status(new: Document, old: Document, now: datetime) -> None:
    """A write to the status takes the verdicts as they are, whatever it says about them."""
    keep_all_but_status(new, old, now)
    for verdict in VERDICTS:
        _keep_verdict(new, old, verdict)
    _date(new, old, now)


def prepare_approval(new: Document, old: Document, now: datetime) -> None:
    """A write to the approval changes the conditions alone."""
    _date(new, old, now)
    conditions = (new.get("status") or {}).get("conditions")
    keep_request_and_status(new, old, now)
    status = dict(new.get("status") or {})
    status.pop("conditions", None)
    new["status"] = status if conditions is None else status | {"conditions": conditions}


def status_errors(new: Document, old: Document) -> Iterator[FieldError]:
    yield from condition_errors(new, old)
    for verdict in VERDICTS:
        if len(_found(new, verdict)) > len(_found(old, verdict)):
            yield FieldError.forbidden(
                CONDITIONS, f'updates may not add a condition of type "{verdict}"'
            )
    held = _certificate(old)
    if held and _certificate(new) != held:
        yield FieldError.forbidden(
            CERTIFICATE, "updates may not modify existing certificate content"
        )


def condition_errors(new: Document, old: Document) -> Iterator[FieldError]:
    """What holds for conditions however they are written."""
    for i, condition in enumerate(_conditions(new)):
        yield from _one_condition(condition, f"{CONDITIONS}[{i}]")
    contradicts = all(_found(new, verdict) for verdict in VERDICTS)
    if contradicts and not all(_found(old, verdict) for verdict in VERDICTS):
        last = next(c for c in reversed(_conditions(new)) if c.get("type") in VERDICTS)
        yield FieldError.invalid(
            CONDITIONS, last["type"], "Approved and Denied conditions are mutually exclusive"
        )
    for kind in LASTING:
        if len(_found(new, kind)) < len(_found(old, kind)):
            yield FieldError.forbidden(
                CONDITIONS, f'updates may not remove a condition of type "{kind}"'
            )


def _one_condition(condition: Document, path: str) -> Iterator[FieldError]:
    if not condition.get("type"):
        yield FieldError.required(f"{path}.type")
    allowed = ("True",) if condition.get("type") in LASTING else ("True", "False", "Unknown")
    status = condition.get("status")
    if not status:
        yield FieldError.required(f"{path}.status")
    elif status not in allowed:
        yield FieldError.not_supported(f"{path}.status", status, allowed)


def _keep_verdict(new: Document, old: Document, verdict: str) -> None:
    held, given = _found(old, verdict), _found(new, verdict)
    if len(held) == len(given):
        for before, after in zip(held, given, strict=True):
            after.clear()
            after.update(before)


def _date(new: Document, old: Document, now: datetime) -> None:
    for condition in _conditions(new):
        condition.setdefault("lastUpdateTime", wire_time(now))
        if "lastTransitionTime" not in condition:
            before = [c for c in _conditions(old) if _is_same(c, condition)]
            since = before[0].get("lastTransitionTime") if before else None
            condition["lastTransitionTime"] = since or wire_time(now)


def _is_same(one: Document, other: Document) -> bool:
    return all(one.get(field) == other.get(field) for field in ("type", "status"))


def _conditions(request: Document) -> list[Document]:
    conditions: list[Document] = (request.get("status") or {}).get("conditions") or []
    return conditions


def _found(request: Document, kind: str) -> list[Document]:
    return [condition for condition in _conditions(request) if condition.get("type") == kind]


def _certificate(request: Document) -> str:
    certificate: str = (request.get("status") or {}).get("certificate") or ""
    return certificate


def signer_field(request: Document) -> dict[str, str]:
    return {"spec.signerName": request.get("spec", {}).get("signerName", "")}


RULES = KindRules(
    prepare_create=begin_status,
    validate=request_errors,
    prepare_update=keep_request_and_status,
    prepare_status=prepare_status,
    validate_status=status_errors,
    prepare_approval=prepare_approval,
    validate_approval=condition_errors,
    name_errors=name_is_path_segment,
    selectable_fields=signer_field,
)
