"""PATCH with a document to apply: the object is created or changed to agree with it."""

from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.ownership import apply as ownership
from plimsoll.apiserver.model.ownership.conflicts import ApplyConflictError
from plimsoll.apiserver.model.ownership.endpoint import Endpoint
from plimsoll.apiserver.model.ownership.merging import RepeatedError
from plimsoll.apiserver.model.ownership.typed_paths import ShapeError
from plimsoll.apiserver.model.status import bad_request, conflict, not_found
from plimsoll.apiserver.storage.collection import StoredRecord
from plimsoll.apiserver.storage.resource_kinds import ResourceKind
from plimsoll.apiserver.verbs.create import create
from plimsoll.apiserver.verbs.rights.creating import check_creation
from plimsoll.apiserver.verbs.update import update
from plimsoll.apiserver.verbs.verb import check_part
from plimsoll.apiserver.verbs.write import Write, check_place, shown, typed
from plimsoll.apiserver.verbs.write_request import AnswerWhenDurable, WriteRequest


def answer_apply(request: WriteRequest, write: Write) -> AnswerWhenDurable:
    """Answers with the object: 201 if it is new, otherwise 200."""
    check_part(request.target)
    record, is_new = apply(write, request.applied_body(write.options, request.kind))
    return request.shown(record, write.options, 201 if is_new else 200)


def apply(write: Write, wanted: Any) -> tuple[StoredRecord, bool]:
    """The record, and whether it is new. Raises ApiError."""
    check(write.kind, wanted)
    record = write.cluster.collection(write.kind).newest(write.target.key)
    live = None if record is None else shown(write.kind, record)
    result = applied(write, write.endpoint, live, wanted)
    new = typed(write.kind, result.document)
    check_place(write, new["metadata"])
    if record is not None:
        managed = result.managed_fields
        return update(write, new, record, patched=True, managed_fields=managed), False
    return _create(write, new, result.managed_fields), True


def check(kind: ResourceKind, wanted: Any) -> None:
    """What is applied has a type and no unknown fields; who owns what is not its to say."""
    resource = kind.resource
    if not isinstance(wanted, dict):
        raise bad_request("the body must be an object")
    found = wanted.get("apiVersion", ""), wanted.get("kind", "")
    if found != (resource.api_version, resource.kind):
        version = found[0] if "/" in found[0] else f"/{found[0]}"
        raise bad_request(f"invalid object type: {version}, Kind={found[1]}")
    unknown: list[str] = []
    typed(kind, wanted, complaints=unknown)
    if unknown:
        raise bad_request(f"failed to create typed patch object: {', '.join(unknown)}")
    if (wanted.get("metadata") or {}).get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")


def applied(
    write: Write, at: Endpoint, live: Document | None, wanted: Document
) -> ownership.Applied:
    """What the document makes of the live one, and of its owners. Raises ApiError."""
    try:
        return ownership.apply(at, live, wanted, write.manager, force=write.options.force)
    except ApplyConflictError as error:
        raise error.answer from error
    except (ShapeError, RepeatedError) as error:
        raise bad_request(f"failed to create typed patch object: {error}") from error


def _create(write: Write, new: Document, managed_fields: list[Document]) -> StoredRecord:
    meta, resource = new["metadata"], write.kind.resource
    if write.target.subresource:
        raise not_found(resource, write.target.name)
    if meta.get("uid"):
        why = f"uid mismatch: the provided object specified uid {meta['uid']}, and no existing"
        raise conflict(resource, write.target.name, f"{why} object was found")
    meta.pop("resourceVersion", None)
    check_creation(write)
    return create(write, new, managed_fields=managed_fields)
