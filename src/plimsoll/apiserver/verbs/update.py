"""PUT, and the step that all changes of an object share: from the wanted document to a staged one.

The new version is compared with the newest stored one, passes admission and validation, and is
staged if anything changes. An update that takes the last finalizer from an object that is being
deleted removes the object.
"""

from collections.abc import Callable
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.attributes import Operation
from plimsoll.apiserver.admission.warnings.not_enforced import not_enforced
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds import object_meta
from plimsoll.apiserver.model.kinds.cluster import lease_renewal
from plimsoll.apiserver.model.kinds.cluster.lease import RULES as LEASES
from plimsoll.apiserver.model.ownership import tracking
from plimsoll.apiserver.model.ownership.reset_fields import METADATA, reset_metadata
from plimsoll.apiserver.model.status import MODIFIED, bad_request, conflict, invalid, not_found
from plimsoll.apiserver.storage.collection import StoredRecord
from plimsoll.apiserver.storage.resource_kinds import ResourceKind
from plimsoll.apiserver.verbs.create import create
from plimsoll.apiserver.verbs.rights.creating import check_creation
from plimsoll.apiserver.verbs.rights.granting import check_grants
from plimsoll.apiserver.verbs.service_addresses import give_addresses
from plimsoll.apiserver.verbs.verb import PARTS, check_part
from plimsoll.apiserver.verbs.write import (
    Write,
    check_place,
    refuse,
    set_managed_fields,
    shown,
    store,
)
from plimsoll.apiserver.verbs.write_request import AnswerWhenDurable, WriteRequest

REPORTS = ("status", "approval")
REVISION_DIGITS = 20
"""No number of 64 bits has more."""
"""Parts whose changes are not counted as another generation."""

Renewed = Callable[[Document, bytes, Any], Document | None]
"""Of the stored lease and the body of a request, raw and decoded: the renewed one."""


def answer_update(request: WriteRequest) -> AnswerWhenDurable:
    """Answers with the object: 201 if the update created it, otherwise 200."""
    write = request.write("UpdateOptions")
    renewed = renew(write, request, lease_renewal.renewed_by_update)
    if renewed is not None:
        return request.shown(renewed, write.options)
    document = request.body(write.options)
    check_part(request.target)
    record, is_new = replace(write, document)
    return request.shown(record, write.options, 201 if is_new else 200)


def renew(write: Write, request: WriteRequest, renewed: Renewed) -> StoredRecord | None:
    """Stage a lease of which nothing but the time of its renewal changes; None: it is something
    else, and goes the way of all writes."""
    if write.kind.rules is not LEASES or write.target.subresource or write.options.dry_run:
        return None
    record = write.cluster.collection(write.kind).newest(write.target.key)
    body = request.json_body()
    if record is None or body is None:
        return None
    old = shown(write.kind, record)
    new = renewed(old, request.request.body, body)
    held = old["metadata"].get("managedFields", [])
    owners = lease_renewal.renewed_owners(held, old["apiVersion"], write.manager)
    if new is None or owners is None:
        return None
    new["metadata"] = old["metadata"] | {"managedFields": owners}
    attributes = write.attributes(Operation.UPDATE, new, old)
    write.cluster.admission.admit(attributes)
    write.cluster.admission.check(attributes)
    return store(write, record.key, new, record)


def replace(write: Write, body: Document) -> tuple[StoredRecord, bool]:
    """PUT: the record, and whether it is new."""
    check_place(write, body["metadata"])
    old = write.cluster.collection(write.kind).newest(write.target.key)
    if old is None:
        return _create_by_put(write, body), True
    return update(write, body, old), False


def _create_by_put(write: Write, body: Document) -> StoredRecord:
    resource, meta = write.kind.resource, body["metadata"]
    if not write.kind.rules.create_on_update or write.target.subresource:
        raise not_found(resource, write.target.name)
    if meta.get("uid"):
        raise conflict(resource, write.target.name, f"Precondition failed: UID {meta['uid']}")
    meta.pop("resourceVersion", None)
    check_creation(write)
    return create(write, body)


def update(
    write: Write,
    new: Document,
    old_record: StoredRecord,
    *,
    patched: bool = False,
    managed_fields: list[Document] | None = None,
) -> StoredRecord:
    """Stage the next version; the old record when nothing changes."""
    old = shown(write.kind, old_record)
    is_applied = managed_fields is not None
    check_version(write, new, old_record)
    _check_uid(write, new, old, patched=patched)
    if managed_fields is None:
        managed_fields = tracking.track_update(write.endpoint, new, old, write.manager)
    attributes = write.attributes(Operation.UPDATE, new, old)
    write.cluster.admission.admit(attributes)
    check_grants(write, new, old)
    _prepare(write, new, old)
    set_managed_fields(new["metadata"], managed_fields)
    _validate(write, new, old)
    write.cluster.admission.check(attributes)
    new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
    if is_finished(write.kind, new, old):
        return finish(write, new, old_record)
    if tracking.is_unchanged(new, old) and not _is_incomplete(write, old_record):
        return old_record
    return store(write, write.target.key, new, old_record, keeps_owners=is_applied)


def _is_incomplete(write: Write, record: StoredRecord) -> bool:
    """The first update of some kinds stores more than what it changes."""
    if not write.kind.rules.completed_by_update:
        return False
    return write.cluster.collection(write.kind).is_first_version(record)


def check_version(write: Write, new: Document, old: StoredRecord) -> None:
    given = new["metadata"].get("resourceVersion", "")
    if given in ("", "0"):
        if not write.kind.rules.unconditional_update:
            error = FieldError.invalid(
                "metadata.resourceVersion", 0, "must be specified for an update"
            )
            resource = write.kind.resource
            raise invalid(resource.group, resource.plural, write.target.name, [error])
        return
    if not (given.isascii() and given.isdigit() and len(given) <= REVISION_DIGITS):
        raise bad_request(f'metadata.resourceVersion: "{given}" is not a number')
    if int(given) != old.revision:
        raise conflict(write.kind.resource, write.target.name, MODIFIED)


def _check_uid(write: Write, new: Document, old: Document, *, patched: bool) -> None:
    given, held = new["metadata"].get("uid"), old["metadata"]["uid"]
    if given and given != held and not patched:
        raise conflict(
            write.kind.resource,
            write.target.name,
            f"Precondition failed: UID in precondition: {given}, UID in object meta: {held}",
        )


def _prepare(write: Write, new: Document, old: Document) -> None:
    rules = write.kind.rules
    object_meta.prepare_meta_update(new["metadata"], old["metadata"])
    if not write.target.subresource:
        give_addresses(write.cluster, write.kind, new, old)
    prepare, _ = rules.for_update(write.target.subresource)
    prepare(new, old, write.now)
    if write.target.subresource in PARTS[1:]:
        kept = _kept_metadata(write)
        object_meta.keep_meta(new["metadata"], old["metadata"], kept)
    if write.target.subresource not in REPORTS:
        counted = rules.has_generation and not rules.generation_stays
        if counted and _counted(write, new) != _counted(write, old):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
    write.options.warnings.extend(object_meta.drop_repeated_owners(new["metadata"]))


def _kept_metadata(write: Write) -> tuple[str, ...]:
    if write.target.subresource in REPORTS:
        return reset_metadata(write.endpoint.reset)
    # As of the real server, writes through the other parts put back more than they tell owners.
    return METADATA


def _counted(write: Write, document: Document) -> Document:
    """What the generation counts changes of."""
    head, rules = ("kind", "apiVersion", "metadata"), write.kind.rules
    others = head if rules.counts_status else (*head, "status")
    counted = {key: value for key, value in document.items() if key not in others}
    if rules.counts_annotations:
        counted["annotations"] = document["metadata"].get("annotations") or {}
    return counted


def _validate(write: Write, new: Document, old: Document) -> None:
    rules = write.kind.rules
    _, validate = rules.for_update(write.target.subresource)
    errors = [
        *object_meta.object_meta_update_errors(
            new["metadata"],
            old["metadata"],
            "metadata",
            prefix_errors=rules.name_errors if rules.name_checked_on_update else None,
            plain_finalizers=rules.plain_finalizers,
        ),
        *validate(new, old),
    ]
    refuse(write, new, errors)
    if not write.target.subresource or write.target.subresource not in PARTS:
        write.options.warnings.extend(rules.warnings(new, old))
        write.options.warnings.extend(not_enforced(write.kind.resource, new, old))


def is_finished(kind: ResourceKind, new: Document, old: Document) -> bool:
    """The update takes the last finalizer from an object that only waited for that."""
    meta = new["metadata"]
    if "deletionTimestamp" not in meta or meta.get("finalizers"):
        return False
    if kind.resource.kind == "Namespace" and new.get("spec", {}).get("finalizers"):
        return False
    waited = bool(old["metadata"].get("finalizers")) or kind.resource.kind == "Namespace"
    return waited and not meta.get("deletionGracePeriodSeconds")


def finish(write: Write, new: Document, old: StoredRecord) -> StoredRecord:
    """The last finalizer is gone: the object goes, too. The client sees what it asked for."""
    shown = write.cluster.record(write.kind, old.key, write.kind.to_stored(new), old.revision)
    if not write.options.dry_run:
        write.cluster.remove(write.kind, old)
    return shown
