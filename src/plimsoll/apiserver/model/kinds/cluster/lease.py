"""Leases: who holds a lock and until when."""

from collections.abc import Iterator
from datetime import datetime

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.rules import KindRules

COORDINATED = ("strategy", "preferredHolder")
"""Fields of coordinated leader election, which the server does not offer."""


def default(lease: Document) -> None:
    lease.setdefault("spec", {})


def prepare_create(lease: Document, _now: datetime) -> None:
    for field in COORDINATED:
        lease["spec"].pop(field, None)


def prepare_update(new: Document, old: Document, _now: datetime) -> None:
    for field in COORDINATED:
        if field not in old.get("spec", {}):
            new["spec"].pop(field, None)


def validate(lease: Document) -> Iterator[FieldError]:
    spec = lease.get("spec", {})
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        yield FieldError.invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")
    transitions = spec.get("leaseTransitions")
    if transitions is not None and transitions < 0:
        yield FieldError.invalid(
            "spec.leaseTransitions", transitions, "must be greater than or equal to 0"
        )


def validate_update(new: Document, _old: Document) -> Iterator[FieldError]:
    return validate(new)


RULES = KindRules(
    plain_finalizers=True,
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    validate=validate,
    validate_update=validate_update,
    unconditional_update=False,
    create_on_update=True,
)
