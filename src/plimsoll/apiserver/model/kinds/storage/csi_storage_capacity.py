"""CSIStorageCapacity: the question (class, topology) is fixed, the answer (bytes) may change."""

from collections.abc import Iterator

from plimsoll.api.names import dns_subdomain_errors
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.quantities import quantity_errors
from plimsoll.apiserver.model.kinds.rules import KindRules
from plimsoll.apiserver.model.kinds.selectors import (
    DEPRECATED_NODE_LABELS,
    deprecated_key_warnings,
    label_selector_errors,
)


def validate(capacity: Document) -> Iterator[FieldError]:
    yield from _errors(capacity, any_value=False)


def _errors(capacity: Document, *, any_value: bool) -> Iterator[FieldError]:
    topology = capacity.get("nodeTopology")
    if topology is not None:
        yield from label_selector_errors(topology, "nodeTopology", any_value=any_value)
    storage_class = capacity.get("storageClassName", "")
    for error in dns_subdomain_errors(storage_class):
        yield FieldError.invalid("storageClassName", storage_class, error)
    if capacity.get("capacity") is not None:
        yield from quantity_errors(capacity["capacity"], "capacity")


def validate_update(new: Document, old: Document) -> Iterator[FieldError]:
    was_odd = any(label_selector_errors(old.get("nodeTopology") or {}, ""))
    yield from _errors(new, any_value=was_odd)
    for field in ("nodeTopology", "storageClassName"):
        if new.get(field) != old.get(field):
            yield FieldError.invalid(field, new.get(field), "field is immutable")


def warnings(new: Document, _old: Document | None) -> list[str]:
    topology = new.get("nodeTopology") or {}
    expressions = topology.get("matchExpressions") or []
    return [
        *deprecated_key_warnings(expressions, "nodeTopology.matchExpressions"),
        *(
            f"nodeTopology.matchLabels.{label}: {DEPRECATED_NODE_LABELS[label]}"
            for label in topology.get("matchLabels") or {}
            if label in DEPRECATED_NODE_LABELS
        ),
    ]


RULES = KindRules(
    validate=validate,
    validate_update=validate_update,
    warnings=warnings,
    unconditional_update=False,
    name_checked_on_update=True,
)
