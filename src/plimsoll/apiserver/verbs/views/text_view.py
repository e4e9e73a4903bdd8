"""How stored objects look to a client: whole, as metadata only, or as a printed table."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache

import msgspec

from plimsoll.api.registry import Document
from plimsoll.apiserver.http.negotiation import AcceptedForm, MediaForm, encode_yaml
from plimsoll.apiserver.http.requests import Query
from plimsoll.apiserver.model import yaml_text
from plimsoll.apiserver.model.printing.tables import (
    IncludeObject,
    partial_metadata,
    partial_metadata_list,
    table,
    without_columns,
)
from plimsoll.apiserver.model.schema import round_trip
from plimsoll.apiserver.model.slices import decode_object
from plimsoll.apiserver.model.status import ApiError, bad_request
from plimsoll.apiserver.storage.collection import (
    UNTYPED_HEAD,
    ChangeKind,
    StoredRecord,
    type_head,
)
from plimsoll.apiserver.storage.heavy_work import SLOW_FORMAT_BYTES
from plimsoll.apiserver.storage.resource_kinds import ResourceKind
from plimsoll.apiserver.storage.watch_hub import event_line

EPOCH = datetime.fromtimestamp(0, UTC)
"""For tables without rows, which have no ages."""


class ObjectView:
    """The answers to one request: its kind, and the form that the client wants.

    In JSON or YAML; `ProtobufView` is the same for clients that take protobuf.
    """

    def __init__(
        self, kind: ResourceKind, wanted: AcceptedForm, include_object: IncludeObject = "Metadata"
    ) -> None:
        self._kind = kind
        self._wanted = wanted
        self._include_object: IncludeObject = include_object
        self._head = type_head(kind.resource.kind, kind.resource.api_version)
        self._columns_sent = False

    @property
    def content_type(self) -> str:
        return self._wanted.media_type

    @property
    def watch_type(self) -> str:
        """The content type of a watch."""
        return self.content_type

    @property
    def shared_form(self) -> str:
        """What all clients have in common to whom an event looks the same; empty: it is made for
        each, which takes little."""
        return ""

    @property
    def head(self) -> bytes:
        """How documents of the kind begin."""
        return self._head

    def object(self, record: StoredRecord, now: datetime) -> bytes:
        self._wanted.check_object()
        if self._wanted.form is MediaForm.OBJECT:
            whole = self._whole(record)
        elif self._wanted.is_metadata:
            whole = msgspec.json.encode(self._metadata(record))
        else:
            meta = {"resourceVersion": str(record.revision)}
            whole = msgspec.json.encode(self._table([record], meta, now))
        return self._encoded(whole)

    def list(self, records: Sequence[StoredRecord], meta: Document, now: datetime) -> bytes:
        resource = self._kind.resource
        if self._wanted.form is MediaForm.TABLE:
            return self._encoded(msgspec.json.encode(self._table(records, meta, now)))
        if self._wanted.is_metadata:
            shown = partial_metadata_list([r.document() for r in records], self._wanted.version)
            return self._encoded(msgspec.json.encode(shown | {"metadata": meta}))
        items = self._members(records)
        meta = {"continue": "", **meta} if resource_is_custom(self._kind) else meta
        head = {"kind": f"{resource.kind}List", "apiVersion": resource.api_version}
        start = msgspec.json.encode(head | {"metadata": meta})[:-1]
        return self._encoded(start + b',"items":[' + b",".join(items) + b"]}")

    def list_start(self, meta: Document) -> bytes:
        """How a list begins that is sent piece by piece and has at least one member."""
        resource, form = self._kind.resource, self._wanted.form
        if form is MediaForm.TABLE:
            envelope = self._table((), meta, EPOCH)
        elif self._wanted.is_metadata:
            envelope = partial_metadata_list((), self._wanted.version) | {"metadata": meta}
        else:
            head = {"kind": f"{resource.kind}List", "apiVersion": resource.api_version}
            meta = {"continue": "", **meta} if resource_is_custom(self._kind) else meta
            envelope = head | {"metadata": meta}
        members = "rows" if form is MediaForm.TABLE else "items"
        envelope.pop(members, None)
        if self._is_yaml:
            return yaml_text.write(envelope) + f"{members}:\n".encode()
        return msgspec.json.encode(envelope)[:-1] + f',"{members}":['.encode()

    def list_members(self, records: Sequence[StoredRecord], now: datetime, *, first: bool) -> bytes:
        """The next members of such a list."""
        if self._wanted.form is MediaForm.TABLE:
            rows = self._table(records, {}, now)["rows"]
            written: Sequence[bytes] = [msgspec.json.encode(row) for row in rows]
        elif self._wanted.is_metadata:
            written = [msgspec.json.encode(self._metadata(record)) for record in records]
        else:
            written = self._members(records)
        if self._is_yaml:
            return yaml_text.write([decode_object(member) for member in written])
        joined = b",".join(written)
        return joined if first else b"," + joined

    def list_end(self) -> bytes:
        return b"" if self._is_yaml else b"]}"

    @property
    def _is_yaml(self) -> bool:
        return self._wanted.media_type == "application/yaml"

    @property
    def is_slow(self) -> bool:
        """Answers are made of decoded documents, or may be; otherwise of the stored bytes."""
        is_read = self._kind.is_view or self._kind.custom is not None
        return self._is_yaml or self._wanted.form is not MediaForm.OBJECT or is_read

    @property
    def heavy_bytes(self) -> int:
        """More than this of one object takes the event loop too long."""
        return SLOW_FORMAT_BYTES

    def event(self, kind: ChangeKind, record: StoredRecord, now: datetime) -> bytes:
        """One line of a watch."""
        if self._wanted.form is MediaForm.OBJECT:
            document = self._whole(record)
        elif self._wanted.is_metadata:
            document = msgspec.json.encode(self._metadata(record))
        else:
            meta = {"resourceVersion": str(record.revision)}
            shown = self._table([record], meta, now)
            if self._columns_sent:
                shown = without_columns(shown)
            self._columns_sent = True
            document = msgspec.json.encode(shown)
        return event_line(kind, document) + b"\n"

    def bookmark(self, revision: int, *, ends_initial_events: bool = False) -> bytes:
        """An event without an object: everything up to the revision has been sent."""
        document = self._bookmarked(revision, ends_initial_events=ends_initial_events)
        return msgspec.json.encode({"type": "BOOKMARK", "object": document}) + b"\n"

    def error_event(self, error: ApiError) -> bytes:
        """A watch that cannot be served tells so in its stream, as clients expect."""
        return msgspec.json.encode({"type": "ERROR", "object": error.document}) + b"\n"

    def _bookmarked(self, revision: int, *, ends_initial_events: bool) -> Document:
        meta: Document = {"resourceVersion": str(revision)}
        if ends_initial_events:
            meta["annotations"] = {"k8s.io/initial-events-end": "true"}
        resource = self._kind.resource
        if self._wanted.form is MediaForm.OBJECT:
            return self._nothing() | {
                "kind": resource.kind,
                "apiVersion": resource.api_version,
                "metadata": meta,
            }
        if self._wanted.is_metadata:
            return partial_metadata({"metadata": meta}, self._wanted.version)
        row = {"cells": [], "object": partial_metadata({"metadata": meta}, self._wanted.version)}
        return table(resource, (), EPOCH, version=self._wanted.version) | {
            "metadata": {"resourceVersion": str(revision)},
            "rows": [row],
        }

    def _nothing(self) -> Document:
        return {} if self._kind.custom is not None else _empty(self._kind.schema)

    def _encoded(self, document: bytes) -> bytes:
        if self._is_yaml:
            return encode_yaml(document)
        return document

    def _whole(self, record: StoredRecord) -> bytes:
        if self._kind.is_view or self._kind.is_stale(record.revision):
            return msgspec.json.encode(self._served(record))
        return record.render(self._head)

    def _members(self, records: Sequence[StoredRecord]) -> Sequence[bytes]:
        if resource_is_custom(self._kind):
            return [self._whole(record) for record in records]
        if self._kind.is_view:
            return [self._viewed_member(record) for record in records]
        return [record.render(UNTYPED_HEAD) for record in records]

    def _viewed_member(self, record: StoredRecord) -> bytes:
        served = self._served(record)
        del served["kind"], served["apiVersion"]
        return msgspec.json.encode(served)

    def _served(self, record: StoredRecord) -> Document:
        """The document as this resource shows it."""
        resource = self._kind.resource
        shown = self._kind.read_stored(record.document())
        return {"kind": resource.kind, "apiVersion": resource.api_version} | {
            key: value for key, value in shown.items() if key not in ("kind", "apiVersion")
        }

    def _metadata(self, record: StoredRecord) -> Document:
        return partial_metadata(record.document(), self._wanted.version)

    def _table(self, records: Sequence[StoredRecord], meta: Document, now: datetime) -> Document:
        shown = table(
            self._kind.resource,
            [self._served(record) for record in records],
            now,
            self._include_object,
            version=self._wanted.version,
        )
        return shown | {"metadata": meta}


def resource_is_custom(kind: ResourceKind) -> bool:
    """Lists of custom resources say of each member what it is, and always where they go on."""
    return kind.custom is not None


@cache
def _empty(kind_schema: str) -> Document:
    """The fields that are shown of an object without any; not to be changed."""
    return round_trip(kind_schema, {}).document


def include_object(query: Query, form: AcceptedForm) -> IncludeObject:
    """How much of each object a table carries."""
    match query.text("includeObject"):
        case "":
            return "Metadata"
        case "Metadata" | "None" | "Object" as known:
            return known
        case other if form.form is MediaForm.TABLE:
            raise bad_request(
                f'includeObject: Invalid value: "{other}": must be Metadata, Object, None or empty'
            )
        case _:
            return "Metadata"
