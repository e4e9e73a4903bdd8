"""What all writes share: the request with its options, the typed body, the staged change.

Everything between reading the newest version and staging the next one happens without waiting, so
no other request can come in between. The caller then waits until the change is durable.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Any

import msgspec

from plimsoll.api.registry import Document
from plimsoll.apiserver.access.users import User
from plimsoll.apiserver.admission.attributes import Attributes, Operation
from plimsoll.apiserver.http.requests import Target
from plimsoll.apiserver.model import schema
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.ownership.endpoint import Endpoint
from plimsoll.apiserver.model.ownership.tracking import Manager
from plimsoll.apiserver.model.status import ApiError, bad_request, invalid, not_found
from plimsoll.apiserver.storage.cluster import StoredCluster, timestamp
from plimsoll.apiserver.storage.collection import StoredRecord
from plimsoll.apiserver.storage.resource_kinds import ResourceKind
from plimsoll.apiserver.verbs.options.write_options import RequestWriteOptions

OBJECT_LIMIT = 1536 * 1024
"""Of a stored object, in bytes of JSON: as many as etcd takes with one request at its defaults.
Patches cannot make an object larger than that either, however many of them there are."""


class Write(msgspec.Struct, frozen=True, kw_only=True):
    """One write request, its options parsed, its body not yet looked at."""

    cluster: StoredCluster
    kind: ResourceKind
    target: Target
    options: RequestWriteOptions
    user: User

    @property
    def now(self) -> datetime:
        return self.cluster.clock.now()

    @property
    def endpoint(self) -> Endpoint:
        return self.kind.endpoint(self.target.subresource)

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
            # What the path names, never what a body below it says: an eviction's may differ.
            name=self.target.name or document["metadata"].get("name", ""),
            document=document,
            old=old,
            user=self.user.name,
            now=self.now,
            dry_run=self.options.dry_run,
            options=self.options.said,
            reader=self.cluster.reader,
            warnings=self.options.warnings,
            groups=self.user.groups,
            calls=self.cluster.calls,
            policies=self.cluster.policies,
            requester=self.user,
            access=self.cluster.access,
        )


class UnreadableError(ApiError):
    """A body whose values are not of the types that the kind has."""

    def __init__(self, message: str) -> None:
        super().__init__(400, "BadRequest", message)


def typed(
    kind: ResourceKind,
    body: Any,
    *,
    complaints: list[str] | None = None,
    kept: Collection[str] = frozenset(),
) -> Document:
    """The body as the kind's schema knows it, with its defaults.

    Unknown and repeated fields are added to the complaints. `kept` names the members of the body
    that come from the stored object as they are.
    """
    if body is None:
        body = {}
    if not isinstance(body, dict):
        raise bad_request("the body must be an object")
    _check_type(kind, body)
    try:
        result = _read(kind, body, kept)
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


def _read(kind: ResourceKind, body: Document, kept: Collection[str]) -> schema.SchemaResult:
    if kind.custom is not None:
        return kind.custom.read(body)
    return schema.round_trip(kind.schema, body, kept)


def _check_type(kind: ResourceKind, body: Document) -> None:
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


def newest(write: Write) -> StoredRecord:
    """The newest version of the target, durable or not. Raises 404."""
    record = write.cluster.collection(write.kind).newest(write.target.key)
    if record is None:
        raise not_found(write.kind.resource, write.target.name)
    return record


def shown(kind: ResourceKind, record: StoredRecord) -> Document:
    """The stored document as the resource shows it, with its kind and version."""
    head = {"kind": kind.resource.kind, "apiVersion": kind.resource.api_version}
    return head | kind.read_stored(record.document()) | head


def check_place(write: Write, meta: Document) -> None:
    """The document is about the object that the request is about."""
    check_namespace(write, meta)
    _check_name(write, meta)


def check_namespace(write: Write, meta: Document) -> None:
    given = meta.get("namespace", "")
    if write.kind.resource.namespaced and given and given != write.target.namespace:
        raise bad_request(
            f"the namespace of the provided object does not match the namespace sent on the "
            f"request: {given}, {write.target.namespace}"
        )


def _check_name(write: Write, meta: Document) -> None:
    name = meta.get("name", "")
    if not name:
        raise bad_request("name must be provided")
    if name != write.target.name:
        raise bad_request(
            f"the name of the object ({name}) does not match the name on the URL "
            f"({write.target.name})"
        )


def refuse(write: Write, document: Document, errors: list[FieldError]) -> None:
    """Raises 422 if there are errors."""
    if errors:
        stored = write.kind.stored.resource
        raise invalid(stored.group, stored.kind, document["metadata"].get("name", ""), errors)


def set_managed_fields(meta: Document, managed_fields: list[Document]) -> None:
    meta.pop("managedFields", None)
    if managed_fields:
        meta["managedFields"] = managed_fields


def store(
    write: Write,
    key: str,
    document: Document,
    old: StoredRecord | None,
    *,
    keeps_owners: bool = False,
) -> StoredRecord:
    """Stage the document under its key; of a dry run, only show what would be stored.

    Who owns its fields is left out if the object would be too large otherwise, unless it
    `keeps_owners`. Raises ApiError if it is too large all the same.
    """
    stored = write.kind.to_stored(document)
    if write.options.dry_run:
        revision = old.revision if old is not None else 0
        return write.cluster.record(write.kind, key, stored, revision)
    revision = write.cluster.versions.next_revision
    record = write.cluster.record(write.kind, key, stored, revision)
    if len(record.raw) > OBJECT_LIMIT and not keeps_owners:
        stored["metadata"].pop("managedFields", None)
        record = write.cluster.record(write.kind, key, stored, revision)
    check_size(record)
    return write.cluster.stage(write.kind, record)


def check_size(record: StoredRecord) -> None:
    """Raises 413 if the object is too large to be stored."""
    if len(record.raw) > OBJECT_LIMIT:
        raise ApiError(
            413,
            "RequestEntityTooLarge",
            f"the object would have {len(record.raw)} bytes; it may have at most {OBJECT_LIMIT}",
            {},
        )
