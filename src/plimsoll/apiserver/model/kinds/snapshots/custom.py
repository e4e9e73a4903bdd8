"""What custom resources have in common: how their schemas are checked, what their status keeps.

A definition's own rules look only at objects that have what the schema requires; while something is
missing, one more complaint says that they were not looked at.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import partial

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.object_meta import keep_meta
from plimsoll.apiserver.model.kinds.rules import KindRules, keep_all_but_status, keep_status
from plimsoll.apiserver.model.ownership.reset_fields import METADATA

NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)
DELETION_POLICIES = ("Delete", "Retain")

Rules = Callable[[Document, Document | None], Iterable[FieldError]]
"""(new, old or None on create): what the definition asks for beyond its schema."""


def without_status(document: Document, _now: datetime) -> None:
    document.pop("status", None)


def prepare_status(new: Document, old: Document, now: datetime) -> None:
    """The status endpoint takes nothing of the metadata but the version it is checked against."""
    keep_all_but_status(new, old, now)
    keep_meta(new.setdefault("metadata", {}), old.get("metadata") or {}, METADATA)


def missing(document: Document, path: str, *fields: str) -> Iterator[FieldError]:
    for field in fields:
        if field not in document:
            yield FieldError.required(f"{path}.{field}" if path else field)


def policy_errors(holder: Document, path: str) -> Iterator[FieldError]:
    policy = holder.get("deletionPolicy")
    if policy is not None and policy not in DELETION_POLICIES:
        yield FieldError.not_supported(path, policy, DELETION_POLICIES)


def once_set(
    new: Document, old: Document | None, fields: tuple[str, ...], path: str
) -> Iterator[FieldError]:
    """Fields that may neither change nor go once they are there."""
    for field in fields:
        before, after = (old or {}).get(field), new.get(field)
        if before is not None and after is None:
            yield FieldError.broken_rule(path, f"{field} is required once set")
        elif before is not None and after != before:
            yield FieldError.invalid(f"{path}.{field}", after, f"{field} is immutable")


def exactly_one(document: Document, fields: tuple[str, str], path: str) -> Iterator[FieldError]:
    if sum(field in document for field in fields) != 1:
        said = f"exactly one of {fields[0]} and {fields[1]} must be set"
        yield FieldError.broken_rule(path, said)


def with_status(
    schema_errors: Callable[[Document], Iterable[FieldError]], rules: Rules
) -> KindRules:
    """A kind with a spec, a status endpoint and rules of its own."""

    def errors(new: Document, old: Document | None = None) -> Iterator[FieldError]:
        found = list(schema_errors(new))
        yield from found
        if found:
            yield FieldError.invalid("<nil>", None, NOT_CHECKED)
        else:
            yield from rules(new, old)

    return KindRules(
        prepare_create=without_status,
        prepare_update=keep_status,
        prepare_status=prepare_status,
        validate=partial(errors, old=None),
        validate_update=errors,
        validate_status=errors,
        has_generation=True,
        unconditional_update=False,
        is_custom=True,
    )
