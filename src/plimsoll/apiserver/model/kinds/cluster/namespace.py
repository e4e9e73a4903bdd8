"""Namespaces: a phase, a label with the name, and finalizers of their own in `spec`."""

import re
from collections.abc import Iterator
from datetime import datetime

from plimsoll.api.names import name_is_dns_label, qualified_name_errors
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.object_meta import STANDARD_FINALIZERS
from plimsoll.apiserver.model.kinds.rules import KindRules, keep_status

NAME_LABEL = "kubernetes.io/metadata.name"
FINALIZER = "kubernetes"
SECURITY_VERSION = re.compile(r"v1\.(0|[1-9][0-9]*)")
SECURITY_PREFIX = "pod-security.kubernetes.io/"
SECURITY_LEVELS = ("privileged", "baseline", "restricted")
SECURITY_MODES = ("enforce", "audit", "warn")


def default(namespace: Document) -> None:
    name = namespace.get("metadata", {}).get("name")
    if name:
        namespace["metadata"].setdefault("labels", {})[NAME_LABEL] = name
    namespace.setdefault("spec", {})
    status = namespace.setdefault("status", {})
    if not status.get("phase"):
        status["phase"] = "Active"


def prepare_create(namespace: Document, _now: datetime) -> None:
    default(namespace)
    namespace["status"] = {"phase": "Active"}
    finalizers = namespace["spec"].setdefault("finalizers", [])
    if FINALIZER not in finalizers:
        finalizers.append(FINALIZER)


def prepare_update(new: Document, old: Document, now: datetime) -> None:
    """Finalizers of a namespace change through its own subresource alone."""
    keep_status(new, old, now)
    new["spec"].pop("finalizers", None)
    if "finalizers" in old.get("spec", {}):
        new["spec"]["finalizers"] = old["spec"]["finalizers"]


def validate(namespace: Document) -> Iterator[FieldError]:
    finalizers = namespace.get("spec", {}).get("finalizers", ())
    errors = [error for name in finalizers for error in _finalizer_errors(name, "spec.finalizers")]
    yield from errors or security_label_errors(namespace)


def validate_update(new: Document, old: Document) -> Iterator[FieldError]:
    finalizers = new.get("spec", {}).get("finalizers", ())
    errors = [error for name in finalizers for error in _finalizer_errors(name, "spec.finalizers")]
    old_errors = list(security_label_errors(old))
    yield from errors or (e for e in security_label_errors(new) if e not in old_errors)


def validate_status(new: Document, _old: Document) -> Iterator[FieldError]:
    phase = new.get("status", {}).get("phase", "")
    terminating = "deletionTimestamp" in new["metadata"]
    if terminating and phase != "Terminating":
        yield FieldError.invalid(
            "status.Phase", phase, "may only be 'Terminating' if `deletionTimestamp` is not empty"
        )
    if not terminating and phase != "Active":
        yield FieldError.invalid(
            "status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty"
        )


def validate_finalize(new: Document) -> Iterator[FieldError]:
    for index, name in enumerate(new.get("spec", {}).get("finalizers", ())):
        yield from _finalizer_errors(name, f"spec.finalizers[{index}]")


def _finalizer_errors(name: str, path: str) -> Iterator[FieldError]:
    for error in qualified_name_errors(name):
        yield FieldError.invalid(path, name, error)
    if "/" not in name and name not in STANDARD_FINALIZERS:
        yield FieldError.invalid(
            path, name, "name is neither a standard finalizer name nor is it fully qualified"
        )


def security_label_errors(namespace: Document) -> Iterator[FieldError]:
    """Labels that choose how strictly pods are checked: a level and a version for each mode."""
    labels = namespace.get("metadata", {}).get("labels", {})
    for mode in SECURITY_MODES:
        label = f"{SECURITY_PREFIX}{mode}"
        if label in labels and labels[label] not in SECURITY_LEVELS:
            yield FieldError.invalid(
                f"metadata.labels[{label}]",
                labels[label],
                f"must be one of {', '.join(SECURITY_LEVELS)}",
            )
        version = f"{label}-version"
        if version in labels and not _is_security_version(labels[version]):
            yield FieldError.invalid(
                f"metadata.labels[{version}]", labels[version], 'must be "latest" or "v1.x"'
            )


def _is_security_version(text: str) -> bool:
    return text == "latest" or SECURITY_VERSION.fullmatch(text) is not None


def selectable_fields(namespace: Document) -> dict[str, str]:
    return {"status.phase": namespace.get("status", {}).get("phase", "")}


RULES = KindRules(
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    validate=validate,
    validate_update=validate_update,
    validate_status=validate_status,
    name_errors=name_is_dns_label,
    selectable_fields=selectable_fields,
    returns_deleted=True,
    name_checked_on_update=True,
)
