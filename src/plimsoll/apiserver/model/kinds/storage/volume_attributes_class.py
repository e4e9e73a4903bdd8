"""VolumeAttributesClass: a driver and at least one parameter, fixed for life."""

from collections.abc import Iterator

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.rules import KindRules
from plimsoll.apiserver.model.kinds.storage.driver_names import (
    parameters_errors,
    provisioner_errors,
)


def validate(attributes_class: Document) -> Iterator[FieldError]:
    yield from provisioner_errors(attributes_class.get("driverName", ""), "driverName")
    parameters = attributes_class.get("parameters") or {}
    yield from parameters_errors(parameters, "parameters")
    if not parameters:
        yield FieldError.required("parameters", "must contain at least one key/value pair")


def validate_update(new: Document, old: Document) -> Iterator[FieldError]:
    if new.get("driverName", "") != old.get("driverName", ""):
        yield FieldError.forbidden("driverName", "updates to driverName are forbidden.")
    if (new.get("parameters") or {}) != (old.get("parameters") or {}):
        yield FieldError.forbidden("parameters", "updates to parameters are forbidden.")
    yield from validate(new)


RULES = KindRules(
    validate=validate,
    validate_update=validate_update,
    returns_deleted=True,
    name_checked_on_update=True,
)
