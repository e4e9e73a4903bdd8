"""PersistentVolumeClaim: a pending claim is fixed; a bound one may grow and change attributes."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from plimsoll.api.names import qualified_name_errors
from plimsoll.api.patch.documents import clone
from plimsoll.api.quantity import parse_quantity
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.quantities import (
    basic_resource_errors,
    quantity_errors,
    round_up_resources,
)
from plimsoll.apiserver.model.kinds.rules import KindRules, keep_status
from plimsoll.apiserver.model.kinds.selectors import label_selector_errors
from plimsoll.apiserver.model.kinds.storage.claim_spec import (
    claim_spec_errors,
    claim_spec_warnings,
    default_claim_spec,
    requested_storage,
)
from plimsoll.apiserver.model.kinds.storage.data_sources import (
    align_data_sources,
    prepare_data_sources,
)

CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
CLASS_ANNOTATION_DEPRECATED = (
    f"metadata.annotations[{CLASS_ANNOTATION}]: "
    'deprecated since v1.8; use "storageClassName" attribute instead'
)
RESIZE_STATUSES = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizePending",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
)
SPEC_IS_FIXED = (
    "spec is immutable after creation except resources.requests and "
    "volumeAttributesClassName for bound claims"
)


def default(claim: Document) -> None:
    default_claim_spec(claim.setdefault("spec", {}))
    status = claim.setdefault("status", {})
    if not status.get("phase"):
        status["phase"] = "Pending"
    for amounts in ("capacity", "allocatedResources"):
        round_up_resources(status.get(amounts))


def prepare_create(claim: Document, _now: datetime) -> None:
    claim["status"] = {"phase": "Pending"}
    prepare_data_sources(claim.setdefault("spec", {}), {})


def prepare_update(new: Document, old: Document, now: datetime) -> None:
    keep_status(new, old, now)
    prepare_data_sources(new.setdefault("spec", {}), old.get("spec") or {})


def validate(claim: Document) -> Iterator[FieldError]:
    yield from claim_spec_errors(claim.get("spec") or {}, "spec")


def validate_update(new: Document, old: Document) -> Iterator[FieldError]:
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    yield from claim_spec_errors(
        spec,
        "spec",
        any_label_value=any(label_selector_errors(before.get("selector") or {}, "")),
        any_group=any(
            (before.get(field) or {}).get("apiGroup") is not None
            for field in ("dataSource", "dataSourceRef")
        ),
    )
    yield from _class_annotation_errors(new, old)
    if spec != before and _allowed(new, old) != _comparable(before):
        yield FieldError.forbidden("spec", SPEC_IS_FIXED)
    yield from _shrink_errors(new, old)
    if spec.get("volumeMode") != before.get("volumeMode"):
        yield FieldError.invalid("volumeMode", spec.get("volumeMode"), "field is immutable")
    yield from _attributes_class_errors(new, old)


def claim_class(claim: Document) -> str:
    """The class a claim asks for; the annotation is older than the field and wins."""
    annotated = _annotated_class(claim)
    if annotated is not None:
        return annotated
    return (claim.get("spec") or {}).get("storageClassName") or ""


def _annotated_class(claim: Document) -> str | None:
    annotations: Mapping[str, str] = (claim.get("metadata") or {}).get("annotations") or {}
    return annotations.get(CLASS_ANNOTATION)


def _moves_class_from_annotation(new: Document, old: Document) -> bool:
    """The class of an old claim may move from the annotation to the field that replaced it."""
    named = _annotated_class(old)
    return (
        named is not None
        and "storageClassName" not in old.get("spec", {})
        and new.get("spec", {}).get("storageClassName") == named
        and _annotated_class(new) in (None, named)
    )


def _class_annotation_errors(new: Document, old: Document) -> Iterator[FieldError]:
    if _moves_class_from_annotation(new, old):
        return
    named = _annotated_class(new) or ""
    if named != (_annotated_class(old) or ""):
        yield FieldError.invalid(
            f"metadata.annotations.{CLASS_ANNOTATION}", named, "field is immutable"
        )


def _may_set_class(new: Document, old: Document) -> bool:
    """A claim made before there was a default class may be given one later."""
    wanted = new.get("spec", {}).get("storageClassName")
    if wanted is None or "storageClassName" in old.get("spec", {}):
        return False
    return _annotated_class(old) in (None, wanted)


def _allowed(new: Document, old: Document) -> Document:
    """The new spec with every change that is allowed undone: equal to the old one, or refused."""
    spec, before = clone(new.get("spec") or {}), old.get("spec") or {}
    undone = {"volumeName"} if not before.get("volumeName") else set()
    if _moves_class_from_annotation(new, old) or _may_set_class(new, old):
        undone.add("storageClassName")
    if _is_bound(new):
        undone.add("volumeAttributesClassName")
        requests = (spec.get("resources") or {}).get("requests")
        if requests:
            requests["storage"] = requested_storage(before) or "0"
    for field in undone:
        spec.pop(field, None)
        if field in before:
            spec[field] = before[field]
    return _comparable(spec)


def _is_bound(claim: Document) -> bool:
    return bool((claim.get("status") or {}).get("phase") == "Bound")


def _comparable(spec: Document) -> Document:
    """Sizes as numbers; data sources as if the claim had been written today."""
    plain = clone(spec)
    align_data_sources(plain)
    resources = plain.pop("resources", None) or {}
    amounts = {
        (field, name): parse_quantity(text)
        for field in ("requests", "limits")
        for name, text in (resources.get(field) or {}).items()
    }
    return {key: value for key, value in plain.items() if value not in ([], None)} | {
        "amounts": amounts
    }


def _shrink_errors(new: Document, old: Document) -> Iterator[FieldError]:
    """A size that was asked for in vain may be taken back, but not below what there is."""
    wanted = parse_quantity(requested_storage(new.get("spec") or {}) or "0")
    before = parse_quantity(requested_storage(old.get("spec") or {}) or "0")
    capacity = (old.get("status") or {}).get("capacity") or {}
    actual = parse_quantity(capacity.get("storage", "0"))
    if wanted < before and not actual < wanted:
        yield FieldError.forbidden(
            "spec.resources.requests.storage", "field can not be less than status.capacity"
        )


def _attributes_class_errors(new: Document, old: Document) -> Iterator[FieldError]:
    wanted = (new.get("spec") or {}).get("volumeAttributesClassName")
    before = (old.get("spec") or {}).get("volumeAttributesClassName")
    if wanted == before or "currentVolumeAttributesClassName" not in (old.get("status") or {}):
        return
    if not wanted:
        said = "nil" if wanted is None else "empty string"
        why = "is forbidden when status.currentVolumeAttributesClassName is not nil"
        yield FieldError.forbidden("spec.volumeAttributesClassName", f"update to {said} {why}")


def validate_status(new: Document, _old: Document) -> Iterator[FieldError]:
    status = new.get("status") or {}
    if not (new.get("spec") or {}).get("accessModes"):
        yield FieldError.required("Spec.accessModes")
    for resource, quantity in (status.get("capacity") or {}).items():
        yield from basic_resource_errors(quantity, f"status.capacity[{resource}]")
    path = "status.allocatedResourceStatuses"
    for resource, resizing in (status.get("allocatedResourceStatuses") or {}).items():
        yield from _resource_key_errors(resource, path)
        if resizing not in RESIZE_STATUSES:
            yield FieldError.not_supported(path, resource, RESIZE_STATUSES)
    path = "status.allocatedResources"
    for resource, quantity in (status.get("allocatedResources") or {}).items():
        yield from (
            list(_resource_key_errors(resource, path))
            or list(basic_resource_errors(quantity, f"{path}[{resource}]"))
            or quantity_errors(quantity, f"{path}[{resource}]")
        )


def _resource_key_errors(key: str, path: str) -> Iterator[FieldError]:
    """Drivers may count resources of their own; of those of Kubernetes a claim has one."""
    errors = qualified_name_errors(key)
    for error in errors:
        yield FieldError.invalid(path, key, error)
    is_native = "/" not in key or "kubernetes.io/" in key
    if not errors and is_native and key != "storage":
        yield FieldError.not_supported(path, key, ("storage",))


def warnings(new: Document, _old: Document | None) -> list[str]:
    annotated = [CLASS_ANNOTATION_DEPRECATED] if _annotated_class(new) is not None else []
    return [*annotated, *claim_spec_warnings(new.get("spec") or {}, "spec")]


RULES = KindRules(
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    validate=validate,
    validate_update=validate_update,
    validate_status=validate_status,
    warnings=warnings,
    completed_by_update=True,
    returns_deleted=True,
    name_checked_on_update=True,
)
