"""StorageClass: only its metadata, mount options, topologies and expansion flag may change."""

from collections.abc import Iterator

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.rules import KindRules
from plimsoll.apiserver.model.kinds.selectors import (
    DEPRECATED_NODE_LABELS,
    topology_selector_terms_errors,
)
from plimsoll.apiserver.model.kinds.storage.driver_names import (
    parameters_errors,
    provisioner_errors,
)

RECLAIM_POLICIES = ("Delete", "Retain")
BINDING_MODES = ("Immediate", "WaitForFirstConsumer")
IMMUTABLE = ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode")


def default(storage_class: Document) -> None:
    storage_class.setdefault("reclaimPolicy", "Delete")
    storage_class.setdefault("volumeBindingMode", "Immediate")


def validate(storage_class: Document) -> Iterator[FieldError]:
    yield from provisioner_errors(storage_class.get("provisioner", ""), "provisioner")
    yield from parameters_errors(storage_class.get("parameters") or {}, "parameters")
    policy = storage_class.get("reclaimPolicy")
    if policy and policy not in RECLAIM_POLICIES:
        yield FieldError.not_supported("reclaimPolicy", policy, RECLAIM_POLICIES)
    mode = storage_class.get("volumeBindingMode")
    if mode is None:
        yield FieldError.required("volumeBindingMode")
    elif mode not in BINDING_MODES:
        yield FieldError.not_supported("volumeBindingMode", mode, BINDING_MODES)
    topologies = storage_class.get("allowedTopologies") or []
    yield from topology_selector_terms_errors(topologies, "allowedTopologies")


def validate_update(new: Document, old: Document) -> Iterator[FieldError]:
    yield from validate(new)
    for field in IMMUTABLE:
        if (new.get(field) or None) != (old.get(field) or None):
            yield FieldError.invalid(field, new.get(field), "field is immutable")


def warnings(new: Document, _old: Document | None) -> list[str]:
    return [
        f"allowedTopologies[{i}].matchLabelExpressions[{j}].key: {DEPRECATED_NODE_LABELS[key]}"
        for i, term in enumerate(new.get("allowedTopologies") or [])
        for j, expression in enumerate(term.get("matchLabelExpressions") or [])
        if (key := expression.get("key", "")) in DEPRECATED_NODE_LABELS
    ]


RULES = KindRules(
    default=default,
    validate=validate,
    validate_update=validate_update,
    warnings=warnings,
    returns_deleted=True,
    name_checked_on_update=True,
)
