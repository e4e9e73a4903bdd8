"""The spec of a claim, in a PersistentVolumeClaim or as a template in a pod or StatefulSet."""

from collections.abc import Iterator

from plimsoll.api.names import dns_subdomain_errors
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.quantities import (
    has_fraction,
    positive_errors,
    round_up_resources,
)
from plimsoll.apiserver.model.kinds.selectors import label_selector_errors
from plimsoll.apiserver.model.kinds.storage.data_sources import data_source_errors
from plimsoll.apiserver.model.kinds.storage.volume_spec import (
    access_mode_errors,
    volume_mode_errors,
)


def default_claim_spec(spec: Document) -> None:
    spec.setdefault("volumeMode", "Filesystem")
    for amounts in ("requests", "limits"):
        round_up_resources((spec.get("resources") or {}).get(amounts))


def claim_spec_errors(
    spec: Document, path: str, *, any_label_value: bool = False, any_group: bool = False
) -> Iterator[FieldError]:
    """`any_label_value`, `any_group`: tolerate what the stored claim has already."""
    modes = spec.get("accessModes") or []
    if not modes:
        yield FieldError.required(f"{path}.accessModes", "at least 1 access mode is required")
    if "selector" in spec:
        yield from label_selector_errors(
            spec["selector"], f"{path}.selector", any_value=any_label_value
        )
    yield from access_mode_errors(modes, f"{path}.accessModes")
    yield from _request_errors(spec, f"{path}.resources[storage]")
    yield from volume_mode_errors(spec.get("volumeMode"), f"{path}.volumeMode")
    yield from data_source_errors(spec, path, any_group=any_group)
    for field in ("storageClassName", "volumeAttributesClassName"):
        name = spec.get(field)
        for error in dns_subdomain_errors(name) if name else ():
            yield FieldError.invalid(f"{path}.{field}", name, error)


def _request_errors(spec: Document, path: str) -> Iterator[FieldError]:
    requested = requested_storage(spec)
    if requested is None:
        yield FieldError.required(path)
    else:
        yield from positive_errors(requested, path)


def requested_storage(spec: Document) -> str | None:
    """The size asked for, as a quantity."""
    requests: dict[str, str] = (spec.get("resources") or {}).get("requests") or {}
    return requests.get("storage")


def claim_spec_warnings(spec: Document, path: str) -> Iterator[str]:
    resources = spec.get("resources") or {}
    for amounts in ("requests", "limits"):
        quantity = (resources.get(amounts) or {}).get("storage")
        if quantity is not None and has_fraction(quantity):
            yield (
                f"{path}.resources.{amounts}[storage]: "
                f'fractional byte value "{quantity}" is invalid, must be an integer'
            )
