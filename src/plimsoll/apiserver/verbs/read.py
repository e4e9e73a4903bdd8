"""GET and LIST.

Readers see durable state only. A list is consistent at one revision, over all its pages.
"""

import base64
import binascii
from dataclasses import dataclass
from functools import partial

import msgspec

from plimsoll.api.registry import Document
from plimsoll.apiserver.http.answers import Answer
from plimsoll.apiserver.http.negotiation import AcceptedForm
from plimsoll.apiserver.http.requests import Query, Target
from plimsoll.apiserver.model.status import ApiError, bad_request, not_found
from plimsoll.apiserver.storage.cluster import StoredCluster
from plimsoll.apiserver.storage.collection import Collection, StoredRecord
from plimsoll.apiserver.storage.heavy_work import HEAVY_RECORDS
from plimsoll.apiserver.storage.resource_kinds import ResourceKind, kind_of
from plimsoll.apiserver.verbs.options.list_options import (
    EXACT,
    check_list_options,
    check_numbers,
    gone,
    parse_revision,
    too_large,
)
from plimsoll.apiserver.verbs.options.selection import ObjectSelection
from plimsoll.apiserver.verbs.verb import check_part
from plimsoll.apiserver.verbs.views.requested import object_view
from plimsoll.apiserver.verbs.views.streaming import ListPage, is_large, list_answer
from plimsoll.apiserver.verbs.views.text_view import ObjectView


class ReadRequest:
    """A request that changes nothing, and what the handlers of all reading verbs need from it."""

    def __init__(
        self, cluster: StoredCluster, target: Target, query: Query, form: AcceptedForm
    ) -> None:
        self.cluster = cluster
        self.target = target
        self.query = query
        self.form = form
        self.kind = kind_of(target.resource)

    def view(self, kind: ResourceKind | None = None) -> ObjectView:
        """Shows objects as their own kind or as the one that is named."""
        return object_view(kind or self.kind, self.form, self.query)


async def answer_get(request: ReadRequest) -> Answer:
    view = request.view()
    check_part(request.target)
    return await record_answer(request, get(request), view)


async def record_answer(request: ReadRequest, record: StoredRecord, view: ObjectView) -> Answer:
    """An answer that shows the record; it is made beside the event loop if that takes long."""
    show = partial(view.object, record, request.cluster.clock.now())
    is_heavy = view.is_slow and is_large([record], view.heavy_bytes)
    body = await request.cluster.work.run(show) if is_heavy else show()
    return Answer(body=body, content_type=view.content_type)


async def answer_list(request: ReadRequest) -> Answer:
    view, cluster = request.view(), request.cluster
    listed = list_request(request)
    page = await cluster.work.run(listed.page) if listed.is_heavy else listed.page()
    return list_answer(cluster, view, page)


def get(request: ReadRequest) -> StoredRecord:
    """Raises 404, and 504 when the client has seen a revision that this server has not."""
    cluster, target = request.cluster, request.target
    revision = request.query.text("resourceVersion")
    if revision and parse_revision(revision) > cluster.revisions.committed:
        raise too_large(int(revision), cluster.revisions.committed)
    record = cluster.collection(request.kind).get(target.key)
    if record is None:
        raise not_found(target.resource, target.name)
    return record


def list_request(request: ReadRequest) -> "ListRequest":
    """Raises 410 when the wanted revision is forgotten."""
    cluster, query = request.cluster, request.query
    check_numbers(query)
    selection = ObjectSelection(request.kind, request.target, query)
    check_list_options(query, watch=False)
    limit = query.integer("limit") or 0
    token, revision = _position(cluster, query)
    exact = query.text("resourceVersionMatch") == EXACT
    if query.text("resourceVersion") == "0" and not token:
        limit = 0
    elif limit > 0 and query.text("resourceVersion") and not query.text("resourceVersionMatch"):
        exact = True
    at = revision if token or exact else cluster.revisions.committed
    # A token from beyond what is known here was made by a server whose data are lost.
    if not cluster.revisions.compacted <= at <= cluster.revisions.committed:
        raise _expired(cluster, token)
    after = token.after if token else ""
    candidates = _state_at(cluster.collection(request.kind), selection.prefix, at, after)
    return ListRequest(candidates=candidates, selection=selection, revision=at, limit=max(limit, 0))


def _expired(cluster: StoredCluster, token: "_ContinueToken | None") -> ApiError:
    if token is None:
        return gone("The resourceVersion for the provided list is too old.")
    # A client that accepts an inconsistent list may go on from where it was.
    fresh = _ContinueToken(cluster.revisions.committed, token.after).encode()
    return gone(
        "The provided continue parameter is too old to display a consistent list result. "
        "You can start a new list without the continue parameter, or use the continue token in "
        "this response to retrieve the remainder of the results.",
        fresh_token=fresh,
    )


def _position(cluster: StoredCluster, query: Query) -> "tuple[_ContinueToken | None, int]":
    text = query.text("continue")
    revision = query.text("resourceVersion")
    if text:
        if revision not in ("", "0"):
            raise bad_request("specifying resource version is not allowed when using continue")
        token = _parse_continue_token(text)
        return token, token.revision
    wanted = _revision_of_list(revision) if revision else 0
    if wanted > cluster.revisions.committed:
        raise too_large(wanted, cluster.revisions.committed)
    return None, wanted


def _revision_of_list(text: str) -> int:
    """A list says in front of the refusal what it is about, as in the real server."""
    try:
        return parse_revision(text)
    except ApiError as error:
        raise bad_request(f"invalid resource version: {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRequest:
    """All objects of the wanted range as they were at the revision, in order."""

    candidates: list[StoredRecord]
    selection: ObjectSelection
    revision: int
    limit: int

    @property
    def is_heavy(self) -> bool:
        return len(self.candidates) * self.selection.terms > HEAVY_RECORDS

    def page(self) -> ListPage:
        """Another page is promised when objects remain, whether or not the selector wants them."""
        records, remaining = self._chosen()
        meta: Document = {"resourceVersion": str(self.revision)}
        if remaining:
            meta["continue"] = _ContinueToken(self.revision, records[-1].key).encode()
            if self.selection.is_everything:
                meta["remainingItemCount"] = remaining
        return ListPage(records=records, meta=meta)

    def _chosen(self) -> tuple[list[StoredRecord], int]:
        """The objects of the page, and how many candidates come after the last of them."""
        if self.selection.is_everything:
            end = self.limit or len(self.candidates)
            return self.candidates[:end], max(len(self.candidates) - end, 0)
        records: list[StoredRecord] = []
        for place, record in enumerate(self.candidates, start=1):
            if self.selection.matches(record):
                records.append(record)
                if len(records) == self.limit:
                    return records, len(self.candidates) - place
        return records, 0


def _state_at(collection: Collection, prefix: str, revision: int, after: str) -> list[StoredRecord]:
    """The records of then, in the order of their keys."""
    then = collection.at(revision)
    if not then:
        return list(collection.records(prefix, after))
    keys = collection.keys(prefix, after)
    vanished = {
        key
        for key, record in then.items()
        if record is not None and key.startswith(prefix) and key > after
    }
    found = (
        then[key] if key in then else collection.get(key) for key in sorted(vanished.union(keys))
    )
    return [record for record in found if record is not None]


class _ContinueToken(msgspec.Struct, frozen=True):
    """Where a list goes on: at which revision, after which key."""

    revision: int = msgspec.field(name="plimsoll/1")
    after: str

    def encode(self) -> str:
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip("=")


def _parse_continue_token(text: str) -> _ContinueToken:
    try:
        padded = text + "=" * (-len(text) % 4)
        packed = base64.b64decode(padded, altchars=b"-_", validate=True)
        return msgspec.json.decode(packed, type=_ContinueToken)
    except (binascii.Error, msgspec.DecodeError, ValueError) as error:
        raise bad_request("invalid continue token: start the list again") from error
