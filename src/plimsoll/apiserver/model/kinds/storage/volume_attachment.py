"""VolumeAttachment: its spec is fixed, the attacher reports through the status."""

from collections.abc import Iterator
from datetime import datetime

from plimsoll.api.names import dns_subdomain_errors
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.quantities import round_up_resources
from plimsoll.apiserver.model.kinds.rules import KindRules, keep_status
from plimsoll.apiserver.model.kinds.storage.driver_names import driver_name_errors, size_bytes
from plimsoll.apiserver.model.kinds.storage.volume_sources import default_source
from plimsoll.apiserver.model.kinds.storage.volume_spec import inline_spec_errors

METADATA_LIMIT_BYTES = 256 * 1024
MESSAGE_LIMIT_BYTES = 1024
ONE_SOURCE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


def default(attachment: Document) -> None:
    inline = _source(attachment).get("inlineVolumeSpec")
    if inline is not None:
        round_up_resources(inline.get("capacity"))
        default_source(inline)


def _source(attachment: Document) -> Document:
    source: Document = (attachment.get("spec") or {}).get("source") or {}
    return source


def prepare_create(attachment: Document, _now: datetime) -> None:
    attachment["status"] = {"attached": False}


def validate(attachment: Document) -> Iterator[FieldError]:
    spec = attachment.get("spec") or {}
    yield from driver_name_errors(spec.get("attacher", ""), "spec.attacher")
    yield from _source_errors(spec.get("source") or {}, "spec.source")
    node = spec.get("nodeName", "")
    for error in dns_subdomain_errors(node):
        yield FieldError.invalid("spec.nodeName", node, error)
    yield from _status_errors(attachment.get("status") or {})


def _source_errors(source: Document, path: str) -> Iterator[FieldError]:
    inline, volume = source.get("inlineVolumeSpec"), source.get("persistentVolumeName")
    if inline is None and volume is None:
        yield FieldError.required(path, ONE_SOURCE)
    elif inline is not None and volume is not None:
        yield FieldError.forbidden(path, ONE_SOURCE)
    elif volume == "":
        yield FieldError.required(
            f"{path}.persistentVolumeName", "must specify non empty persistentVolumeName"
        )
    elif inline is not None:
        yield from inline_spec_errors(inline, f"{path}.inlineVolumeSpec")
    if volume is not None:
        for error in dns_subdomain_errors(volume):
            yield FieldError.invalid(f"{path}.persistentVolumeName", volume, error)


def _status_errors(status: Document) -> Iterator[FieldError]:
    if size_bytes(status.get("attachmentMetadata") or {}) > METADATA_LIMIT_BYTES:
        yield FieldError.too_long("status.attachmentMetadata", METADATA_LIMIT_BYTES)
    for field in ("attachError", "detachError"):
        error = status.get(field) or {}
        if len(error.get("message", "").encode()) > MESSAGE_LIMIT_BYTES:
            yield FieldError.too_long(f"status.{field}.message", METADATA_LIMIT_BYTES)
        code = error.get("errorCode")
        if code is not None and code < 0:
            yield FieldError.invalid(
                f"status.{field}.errorCode", code, "must be between 0 and 2147483647, inclusive"
            )


def validate_update(new: Document, old: Document) -> Iterator[FieldError]:
    yield from validate(new)
    if new.get("spec") != old.get("spec"):
        yield FieldError.invalid("spec", new.get("spec"), "field is immutable")


RULES = KindRules(
    default=default,
    prepare_create=prepare_create,
    prepare_update=keep_status,
    validate=validate,
    validate_update=validate_update,
    validate_status=validate_update,
    unconditional_update=False,
    returns_deleted=True,
    name_checked_on_update=True,
)
