"""How stored objects look to a client that takes protobuf: whole, or as metadata only.

Tables have no messages. A list is a message whose length comes first, so that all its members are
made before any of it is sent; the events of a watch are frames, each made once for all clients.
"""

from collections.abc import Sequence
from datetime import datetime

from plimsoll.api.registry import Document
from plimsoll.apiserver.http.negotiation import PROTOBUF
from plimsoll.apiserver.model import protobuf
from plimsoll.apiserver.model.printing.tables import partial_metadata
from plimsoll.apiserver.model.status import ApiError
from plimsoll.apiserver.storage.collection import ChangeKind, StoredRecord
from plimsoll.apiserver.storage.heavy_work import HEAVY_BYTES
from plimsoll.apiserver.verbs.views.text_view import ObjectView


class ProtobufView(ObjectView):
    @property
    def content_type(self) -> str:
        return PROTOBUF

    @property
    def watch_type(self) -> str:
        return f"{PROTOBUF};stream=watch"

    @property
    def shared_form(self) -> str:
        return " ".join(self._type)

    @property
    def is_slow(self) -> bool:
        return True

    @property
    def heavy_bytes(self) -> int:
        return HEAVY_BYTES

    def object(self, record: StoredRecord, now: datetime) -> bytes:  # noqa: ARG002 - no ages here
        self._wanted.check_object()
        return self._enveloped(self._message(record))

    def list(self, records: Sequence[StoredRecord], meta: Document, now: datetime) -> bytes:
        members = self.list_members(records, now, first=True)
        return self.list_start(meta, len(members)) + members + self.list_end()

    def list_start(self, meta: Document, size: int = 0) -> bytes:
        """`size` is that of all members together."""
        api_version, kind = self._type
        head = protobuf.encode_message(api_version, f"{kind}List", {"metadata": meta})
        return protobuf.envelope_start(api_version, f"{kind}List", len(head) + size) + head

    def list_members(
        self,
        records: Sequence[StoredRecord],
        now: datetime,  # noqa: ARG002 - no ages here
        *,
        first: bool,  # noqa: ARG002 - nothing stands between members
    ) -> bytes:
        api_version, kind = self._type
        members = [self._message(record) for record in records]
        return protobuf.list_members(api_version, f"{kind}List", members)

    def list_end(self) -> bytes:
        return protobuf.ENVELOPE_END

    def event(self, kind: ChangeKind, record: StoredRecord, now: datetime) -> bytes:  # noqa: ARG002
        return protobuf.watch_frame(kind, self._enveloped(self._message(record)))

    def bookmark(self, revision: int, *, ends_initial_events: bool = False) -> bytes:
        document = self._bookmarked(revision, ends_initial_events=ends_initial_events)
        return protobuf.watch_frame("BOOKMARK", protobuf.encode(document))

    def error_event(self, error: ApiError) -> bytes:
        return protobuf.watch_frame("ERROR", protobuf.encode(error.document))

    @property
    def _type(self) -> tuple[str, str]:
        """Version and kind of what is shown."""
        if self._wanted.is_metadata:
            return f"meta.k8s.io/{self._wanted.version}", "PartialObjectMetadata"
        resource = self._kind.resource
        return resource.api_version, resource.kind

    def _message(self, record: StoredRecord) -> bytes:
        if self._wanted.is_metadata:
            document = partial_metadata(record.document(), self._wanted.version)
        elif self._kind.is_view:
            document = self._served(record)
        else:
            document = record.document()
        return protobuf.encode_message(*self._type, document)

    def _enveloped(self, raw: bytes) -> bytes:
        return protobuf.enveloped(*self._type, raw)
