"""A write request on its way through: its options and its body are read, its answer is made."""

from collections.abc import Callable
from functools import partial

from plimsoll.api.registry import Document
from plimsoll.apiserver.access.users import User
from plimsoll.apiserver.http.answers import Answer
from plimsoll.apiserver.http.negotiation import (
    body_type,
    decode_applied,
    decode_body,
    decode_json,
    object_types,
    wanted_of,
)
from plimsoll.apiserver.http.requests import Query, Target
from plimsoll.apiserver.model import schema
from plimsoll.apiserver.model.custom.served_kind import CustomResource
from plimsoll.apiserver.model.status import ApiError
from plimsoll.apiserver.storage.cluster import StoredCluster
from plimsoll.apiserver.storage.collection import StoredRecord
from plimsoll.apiserver.storage.definitions import definition_status
from plimsoll.apiserver.storage.heavy_work import too_busy
from plimsoll.apiserver.storage.quotas import quota_status
from plimsoll.apiserver.storage.resource_kinds import ResourceKind, kind_of
from plimsoll.apiserver.verbs.options.write_options import RequestWriteOptions, options_of_write
from plimsoll.apiserver.verbs.views.requested import object_view
from plimsoll.apiserver.verbs.views.text_view import ObjectView
from plimsoll.apiserver.verbs.write import Write, typed
from plimsoll.wire.transport import Request

JSON_TYPES = frozenset({"", "application/json", "application/merge-patch+json"})

AnswerWhenDurable = Callable[[], Answer]
"""Makes the answer once the change is durable."""


class WriteRequest:
    """The request, and what the handlers of all verbs need from it."""

    def __init__(
        self, cluster: StoredCluster, request: Request, target: Target, user: User
    ) -> None:
        self.cluster = cluster
        self.request = request
        self.target = target
        self.user = user
        self.query = Query(request)
        self.kind = kind_of(target.resource)
        self.warnings: list[str] = []

    def need_definition(self) -> None:
        """What is decided of a custom resource counts as long as its definition does not change:
        who deletes a definition deletes all of its objects. Raises 429."""
        resource, custom = self.target.resource, self.cluster.custom
        if not isinstance(resource, CustomResource):
            return
        if self.cluster.draft is not None:
            self.cluster.draft.need(partial(custom.serves, resource))
        elif not custom.serves(resource):
            raise too_busy()

    def refresh_quotas(self) -> None:
        quota_status.refresh(self.cluster, self.target.namespace)

    def refresh_definitions(self) -> None:
        if self.kind is definition_status.definitions_kind():
            definition_status.refresh(self.cluster)

    def write(self, options_kind: str) -> Write:
        """The write with the options of the query, whose warnings become those of the request."""
        options = options_of_write(self.request, options_kind, body_type(self.request))
        self.warnings = options.warnings
        return self.write_with(options)

    def write_with(self, options: RequestWriteOptions) -> Write:
        return Write(
            cluster=self.cluster,
            kind=self.kind,
            target=self.target,
            options=options,
            user=self.user,
        )

    def json_body(self) -> object:
        """The body as JSON values, not yet typed; None: it is none that can be read so."""
        if body_type(self.request) not in JSON_TYPES:
            return None
        try:
            return decode_json(self.request.body)
        except ApiError:
            return None

    def body(self, options: RequestWriteOptions, kind: ResourceKind | None = None) -> Document:
        """The typed body; complaints about it go where the options say."""
        kind = kind or self.kind
        complaints: list[str] = []
        raw = decode_body(self.request, object_types(kind.resource), complaints)
        if body_type(self.request) in ("", "application/json"):
            complaints += schema.duplicate_fields(self.request.body, kind.schema)
        document = typed(kind, raw, complaints=complaints)
        options.complain(complaints)
        return document

    def applied_body(self, options: RequestWriteOptions, kind: ResourceKind) -> object:
        """The body of an apply patch, not yet typed: JSON or YAML."""
        body = self.request.body
        repeated: list[str] = []
        applied = decode_applied(body, repeated)
        if body.lstrip().startswith(b"{"):
            repeated = schema.duplicate_fields(body, kind.schema) or repeated
        options.complain(repeated)
        return applied

    def view(self, kind: ResourceKind | None = None) -> ObjectView:
        return object_view(
            kind or self.kind, wanted_of(self.request, self.target.resource), self.query
        )

    def shown(
        self,
        record: StoredRecord,
        options: RequestWriteOptions,
        status: int = 200,
        kind: ResourceKind | None = None,
    ) -> AnswerWhenDurable:
        """An answer that shows the record, as its own kind or as the one that is named."""
        view, now = self.view(kind), self.cluster.clock.now()
        return lambda: Answer(
            status=status,
            body=view.object(record, now),
            content_type=view.content_type,
            warnings=tuple(dict.fromkeys(options.warnings)),
        )
