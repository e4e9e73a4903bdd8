"""ControllerRevision: a state that a workload was in, kept so that it can go back."""

from collections.abc import Iterator

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.values import not_negative
from plimsoll.apiserver.model.kinds.rules import KindRules


def validate(document: Document) -> Iterator[FieldError]:
    yield from not_negative(document.get("revision", 0), "revision")
    if not isinstance(document.get("data"), dict):
        yield FieldError.required("data", "data must be a JSON object")


def validate_update(new: Document, old: Document) -> Iterator[FieldError]:
    yield from not_negative(new.get("revision", 0), "revision")
    if new.get("data") != old.get("data"):
        yield FieldError.invalid("data", new.get("data"), "field is immutable")


RULES = KindRules(validate=validate, validate_update=validate_update, name_checked_on_update=True)
