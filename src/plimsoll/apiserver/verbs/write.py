"""POST, PUT and PATCH: from a body to a staged change.

Everything between reading the newest version and staging the next one happens without waiting, so
no other request can come in between. The caller then waits until the change is durable.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.attributes import Attributes, Operation
from plimsoll.apiserver.admission.not_enforced import not_enforced
from plimsoll.apiserver.http.requests import Target
from plimsoll.apiserver.model import schema
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds import object_meta
from plimsoll.apiserver.model.ownership import tracking
from plimsoll.apiserver.model.ownership.endpoint import Endpoint, endpoint
from plimsoll.apiserver.model.ownership.reset_fields import reset_metadata
from plimsoll.apiserver.model.ownership.tracking import Manager
from plimsoll.apiserver.model.status import (
    MODIFIED,
    ApiError,
    already_exists,
    bad_request,
    conflict,
    invalid,
    not_found,
)
from plimsoll.apiserver.storage.cluster import StoredCluster, timestamp
from plimsoll.apiserver.storage.collection import StoredRecord
from plimsoll.apiserver.storage.kinds_of import KindOf, stored_kind
from plimsoll.apiserver.verbs import delete as deletes
from plimsoll.apiserver.verbs.options.write_options import RequestWriteOptions

GENERATED_NAME_TRIES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One write request, its options parsed, its body not yet looked at."""

    cluster: StoredCluster
    kind: KindOf
    target: Target
    options: RequestWriteOptions
    user: str

    @property
    def now(self) -> datetime:
        return self.cluster.clock.now()

    @property
    def endpoint(self) -> Endpoint:
        return endpoint(self.kind.resource, self.target.subresource)

    @property
    def manager(self) -> Manager:
        return Manager(self.options.manager, timestamp(self.now))

    def attributes(
        self, operation: Operation, document: Document, old: Document | None
    ) -> Attributes:
        return Attributes(
            operation=operation,
            resource=self.kind.resource,
            subresource=self.target.subresource,
            namespace=self.target.namespace,
            name=document["metadata"].get("name", ""),
            document=document,
            old=old,
            user=self.user,
            now=self.now,
            dry_run=self.options.dry_run,
            reader=self.cluster.reader,
            warnings=self.options.warnings,
        )


class UnreadableError(ApiError):
    """A body whose values are not of the types that the kind has."""

    def __init__(self, message: str) -> None:
        super().__init__(400, "BadRequest", message)


def typed(kind: KindOf, body: Any, *, complaints: list[str] | None = None) -> Document:
    """The body as the kind's schema knows it, with its defaults.

    Unknown and repeated fields are added to the complaints.
    """
    if body is None:
        body = {}
    if not isinstance(body, dict):
        raise bad_request("the body must be an object")
    _check_type(kind, body)
    try:
        result = schema.round_trip(kind.schema, body)
    except schema.SchemaError as error:
        raise UnreadableError(
            f'{kind.resource.kind} in version "{kind.resource.version}" cannot be handled as a '
            f"{kind.resource.kind}: {error}"
        ) from error
    if complaints is not None:
        complaints.extend(result.unknown)
    document = result.document
    document["kind"] = kind.resource.kind
    document["apiVersion"] = kind.resource.api_version
    meta = document.setdefault("metadata", {})
    if "managedFields" not in meta and (body.get("metadata") or {}).get("managedFields") == []:
        # An empty list is not the same as none: it asks to forget all owners.
        meta["managedFields"] = []
    kind.rules.default(document)
    return document


def _check_type(kind: KindOf, body: Document) -> None:
    """Kind and version may be missing, but not be something else."""
    found_kind, found_version = body.get("kind"), body.get("apiVersion")
    if found_kind and found_kind != kind.resource.kind:
        raise bad_request(
            f"{found_kind} in version {found_version!r} cannot be handled as a "
            f"{kind.resource.kind}: kind does not match"
        )
    if found_version and found_version != kind.resource.api_version:
        raise bad_request(
            f"the API version in the data ({found_version}) does not match the expected API "
            f"version ({kind.resource.api_version})"
        )


def _check_namespace(write: Write, meta: Document) -> None:
    given = meta.get("namespace", "")
    if write.kind.resource.namespaced and given and given != write.target.namespace:
        raise bad_request(
            f"the namespace of the provided object does not match the namespace sent on the "
            f"request: {given}, {write.target.namespace}"
        )


def _refuse(write: Write, document: Document, errors: list[FieldError]) -> None:
    if errors:
        stored = stored_kind(write.kind.collection).resource
        raise invalid(stored.group, stored.kind, document["metadata"].get("name", ""), errors)


def create(
    write: Write, document: Document, *, managed_fields: list[Document] | None = None
) -> StoredRecord:
    """Stage a new object; `document` is typed. Raises ApiError.

    `managed_fields` come with an applied document; for others they are found out.
    """
    meta = document["metadata"]
    _check_namespace(write, meta)
    if meta.get("resourceVersion"):
        raise bad_request("resourceVersion should not be set on objects to be created")
    meta.pop("resourceVersion", None)
    key = _identify(write, document)
    write.options.warnings.extend(object_meta.drop_repeated_owners(meta))
    if managed_fields is None:
        managed_fields = tracking.track_create(write.endpoint, document, write.manager)
    _set_managed_fields(meta, managed_fields)
    _admit_create(write, document)
    existing = write.cluster.collection(write.kind).newest(key)
    if existing is not None:
        deleting = "deletionTimestamp" in existing.document()["metadata"]
        raise already_exists(write.kind.resource, meta["name"], deleting=deleting)
    return store(write, key, document, None)


def _set_managed_fields(meta: Document, managed_fields: list[Document]) -> None:
    meta.pop("managedFields", None)
    if managed_fields:
        meta["managedFields"] = managed_fields


def _key(write: Write, meta: Document) -> str:
    name: str = meta.get("name", "")
    return f"{write.target.namespace}/{name}" if write.kind.resource.namespaced else name


def _identify(write: Write, document: Document) -> str:
    """Uid, time and, where only a prefix is given, a name that nobody has; the new key."""
    meta = document["metadata"]
    given = meta.get("name", "")
    for _ in range(GENERATED_NAME_TRIES):
        if not given:
            meta.pop("name", None)
        object_meta.prepare_meta_create(
            meta,
            uid=write.cluster.ids.uid(),
            created=timestamp(write.now),
            suffix=write.cluster.ids.suffix(),
            namespace=write.target.namespace,
        )
        taken = write.cluster.collection(write.kind).newest(_key(write, meta)) is not None
        if given or not taken:
            break
    return _key(write, meta)


def _admit_create(write: Write, document: Document) -> None:
    rules, meta = write.kind.rules, document["metadata"]
    attributes = write.attributes(Operation.CREATE, document, None)
    write.cluster.admission.admit(attributes)
    if rules.has_generation:
        meta["generation"] = 1
    rules.prepare_create(document, write.now)
    errors = [
        *object_meta.object_meta_errors(
            meta,
            "metadata",
            namespaced=write.kind.resource.namespaced,
            name_errors=rules.name_errors,
            plain_finalizers=rules.plain_finalizers,
        ),
        *rules.validate(document),
    ]
    _refuse(write, document, errors)
    write.options.warnings.extend(rules.warnings(document, None))
    write.options.warnings.extend(not_enforced(write.kind.resource, document, None))
    write.cluster.admission.check(attributes)


def replace(write: Write, body: Document) -> tuple[StoredRecord, bool]:
    """PUT: the record, and whether it is new."""
    meta = body["metadata"]
    _check_namespace(write, meta)
    _check_name(write, meta)
    old = write.cluster.collection(write.kind).newest(write.target.key)
    if old is None:
        return _create_by_put(write, body), True
    return update(write, body, old), False


def check_place(write: Write, meta: Document) -> None:
    """The document is about the object that the request is about."""
    _check_namespace(write, meta)
    _check_name(write, meta)


def _check_name(write: Write, meta: Document) -> None:
    name = meta.get("name", "")
    if not name:
        raise bad_request("name must be provided")
    if name != write.target.name:
        raise bad_request(
            f"the name of the object ({name}) does not match the name on the URL "
            f"({write.target.name})"
        )


def _create_by_put(write: Write, body: Document) -> StoredRecord:
    resource, meta = write.kind.resource, body["metadata"]
    if not write.kind.rules.create_on_update or write.target.subresource:
        raise not_found(resource, write.target.name)
    if meta.get("uid"):
        raise conflict(resource, write.target.name, f"Precondition failed: UID {meta['uid']}")
    meta.pop("resourceVersion", None)
    return create(write, body)


def patch(write: Write, apply: Callable[[Document], Document]) -> StoredRecord:
    """`apply` makes the wanted document from the current one, as the resource shows it."""
    old = write.cluster.collection(write.kind).newest(write.target.key)
    if old is None:
        raise not_found(write.kind.resource, write.target.name)
    new = apply(shown(write.kind, old))
    check_place(write, new["metadata"])
    return update(write, new, old, patched=True)


def shown(kind: KindOf, record: StoredRecord) -> Document:
    head = {"kind": kind.resource.kind, "apiVersion": kind.resource.api_version}
    return head | kind.from_stored(record.document()) | head


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
    check_version(write, new, old_record)
    _check_uid(write, new, old, patched=patched)
    if managed_fields is None:
        managed_fields = tracking.track_update(write.endpoint, new, old, write.manager)
    attributes = write.attributes(Operation.UPDATE, new, old)
    write.cluster.admission.admit(attributes)
    _prepare(write, new, old)
    _set_managed_fields(new["metadata"], managed_fields)
    _validate(write, new, old)
    write.cluster.admission.check(attributes)
    new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
    if deletes.is_finished(write.kind, new, old):
        return finish(write, new, old_record)
    if tracking.is_unchanged(new, old) and not _is_incomplete(write, old_record):
        return old_record
    return store(write, write.target.key, new, old_record)


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
    if not (given.isascii() and given.isdigit()):
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
    prepare, _ = rules.for_update(write.target.subresource)
    prepare(new, old, write.now)
    if write.target.subresource in ("status", "approval"):
        kept = reset_metadata(write.endpoint.reset)
        object_meta.keep_meta(new["metadata"], old["metadata"], kept)
    else:
        counted = rules.has_generation and not rules.generation_stays
        if counted and _spec(new) != _spec(old):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
    write.options.warnings.extend(object_meta.drop_repeated_owners(new["metadata"]))


def _spec(document: Document) -> Document:
    """What the generation counts changes of."""
    return {
        key: value
        for key, value in document.items()
        if key not in ("kind", "apiVersion", "metadata", "status")
    }


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
    _refuse(write, new, errors)
    if write.target.subresource not in ("status", "approval"):
        write.options.warnings.extend(rules.warnings(new, old))
        write.options.warnings.extend(not_enforced(write.kind.resource, new, old))


def finish(write: Write, new: Document, old: StoredRecord) -> StoredRecord:
    """The last finalizer is gone: the object goes, too. The client sees what it asked for."""
    shown = write.cluster.record(write.kind, old.key, write.kind.to_stored(new), old.revision)
    if not write.options.dry_run:
        write.cluster.remove(write.kind, old)
    return shown


def store(write: Write, key: str, document: Document, old: StoredRecord | None) -> StoredRecord:
    stored = write.kind.to_stored(document)
    if write.options.dry_run:
        revision = old.revision if old is not None else 0
        return write.cluster.record(write.kind, key, stored, revision)
    return write.cluster.put(write.kind, key, stored)
