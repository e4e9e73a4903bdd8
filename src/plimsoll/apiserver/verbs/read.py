"""GET, LIST and WATCH.

Readers see durable state only. A list is consistent at one revision, over all its pages; a watch
shows every change after its revision, once and in order, or says that it cannot (410).
"""

import base64
import binascii
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import msgspec

from plimsoll.api.registry import Document
from plimsoll.apiserver.http.requests import Query, Target
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.status import ApiError, bad_request, invalid, not_found
from plimsoll.apiserver.storage.cluster import StoredCluster
from plimsoll.apiserver.storage.collection import Change, ChangeKind, Collection, StoredRecord
from plimsoll.apiserver.storage.heavy_work import HEAVY_RECORDS
from plimsoll.apiserver.storage.kinds_of import KindOf
from plimsoll.apiserver.storage.watch_hub import Event, Watcher, event_for
from plimsoll.apiserver.verbs.options.selection import ObjectSelection
from plimsoll.apiserver.verbs.streaming import ListPage, in_groups, is_large
from plimsoll.apiserver.verbs.views import ObjectView
from plimsoll.runtime.clock import NO_TIME

EXACT = "Exact"
NOT_OLDER_THAN = "NotOlderThan"
BOOKMARK_EVERY = timedelta(seconds=30)
LOOKED_AT_ONCE = 200
"""How many objects a watch looks at before others have their turn."""
WATCH_LIMIT = timedelta(minutes=45)
"""How long a watch lives whose client names no limit."""


def gone(message: str, *, fresh_token: str = "") -> ApiError:
    error = ApiError(410, "Expired", message)
    error.metadata = {"continue": fresh_token} if fresh_token else {}
    return error


def too_large(revision: int, current: int) -> ApiError:
    """The client has seen a version that this server has not."""
    return ApiError(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {revision}, current: {current}",
        {
            "causes": [
                {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
            ],
            "retryAfterSeconds": 1,
        },
    )


def parse_revision(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 20:  # noqa: PLR2004 64 bits
        raise bad_request(f'resourceVersion: Invalid value: "{text}": must be a number')
    return int(text)


def get(cluster: StoredCluster, kind: KindOf, target: Target, query: Query) -> StoredRecord:
    revision = query.text("resourceVersion")
    if revision and parse_revision(revision) > cluster.revisions.committed:
        raise too_large(int(revision), cluster.revisions.committed)
    record = cluster.collection(kind).get(target.key)
    if record is None:
        raise not_found(target.resource, target.name)
    return record


class _Token(msgspec.Struct, frozen=True):
    """Where a list goes on: at which revision, after which key."""

    revision: int = msgspec.field(name="plimsoll/1")
    after: str

    def encode(self) -> str:
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip("=")


def _parse_token(text: str) -> _Token:
    try:
        padded = text + "=" * (-len(text) % 4)
        packed = base64.b64decode(padded, altchars=b"-_", validate=True)
        return msgspec.json.decode(packed, type=_Token)
    except (binascii.Error, msgspec.DecodeError, ValueError) as error:
        raise bad_request("invalid continue token: start the list again") from error


def _list_option_errors(query: Query, *, watch: bool) -> Iterator[FieldError]:
    match = query.text("resourceVersionMatch")
    if query.has("sendInitialEvents"):
        if match != NOT_OLDER_THAN:
            yield FieldError.forbidden(
                "resourceVersionMatch",
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            )
        if not watch:
            yield FieldError.forbidden(
                "sendInitialEvents", "sendInitialEvents is forbidden for list"
            )
        elif match and match != NOT_OLDER_THAN:
            yield FieldError.not_supported("resourceVersionMatch", match, (NOT_OLDER_THAN,))
    elif match:
        yield from _match_errors(query, match, watch=watch)


def _match_errors(query: Query, match: str, *, watch: bool) -> Iterator[FieldError]:
    revision = query.text("resourceVersion")
    if watch:
        yield FieldError.forbidden(
            "resourceVersionMatch",
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        )
    elif not revision:
        yield FieldError.forbidden(
            "resourceVersionMatch",
            "resourceVersionMatch is forbidden unless resourceVersion is provided",
        )
    elif query.text("continue"):
        yield FieldError.forbidden(
            "resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided"
        )
    elif match not in (EXACT, NOT_OLDER_THAN):
        yield FieldError.not_supported("resourceVersionMatch", match, (EXACT, NOT_OLDER_THAN, ""))
    elif match == EXACT and revision == "0":
        yield FieldError.forbidden(
            "resourceVersionMatch",
            'resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
        )


def check_list_options(query: Query, *, watch: bool) -> None:
    errors = list(_list_option_errors(query, watch=watch))
    if errors:
        raise invalid("meta.k8s.io", "ListOptions", "", errors)


def list_request(
    cluster: StoredCluster, kind: KindOf, query: Query, selection: ObjectSelection
) -> "ListRequest":
    """Raises 410 when the wanted revision is forgotten."""
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
    candidates = _state_at(cluster.collection(kind), selection.prefix, at, after)
    return ListRequest(candidates=candidates, selection=selection, revision=at, limit=max(limit, 0))


def _expired(cluster: StoredCluster, token: _Token | None) -> ApiError:
    if token is None:
        return gone("The resourceVersion for the provided list is too old.")
    # A client that can live with an inconsistent list may go on from where it was.
    fresh = _Token(cluster.revisions.committed, token.after).encode()
    return gone(
        "The provided continue parameter is too old to display a consistent list result. "
        "You can start a new list without the continue parameter, or use the continue token in "
        "this response to retrieve the remainder of the results.",
        fresh_token=fresh,
    )


def _position(cluster: StoredCluster, query: Query) -> tuple[_Token | None, int]:
    text = query.text("continue")
    revision = query.text("resourceVersion")
    if text:
        if revision not in ("", "0"):
            raise bad_request("specifying resource version is not allowed when using continue")
        token = _parse_token(text)
        return token, token.revision
    wanted = parse_revision(revision) if revision else 0
    if wanted > cluster.revisions.committed:
        raise too_large(wanted, cluster.revisions.committed)
    return None, wanted


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
        records: list[StoredRecord] = []
        meta: Document = {"resourceVersion": str(self.revision)}
        for place, record in enumerate(self.candidates, start=1):
            if not self.selection.matches(record):
                continue
            records.append(record)
            if len(records) == self.limit:
                remaining = len(self.candidates) - place
                if remaining:
                    meta["continue"] = _Token(self.revision, record.key).encode()
                if remaining and self.selection.is_everything:
                    meta["remainingItemCount"] = remaining
                break
        return ListPage(records=records, meta=meta)


def _state_at(collection: Collection, prefix: str, revision: int, after: str) -> list[StoredRecord]:
    """The records of then, in the order of their keys."""
    then = collection.at(revision)
    keys = collection.keys(prefix, after)
    if not then:
        return [record for key in keys if (record := collection.get(key)) is not None]
    vanished = {
        key
        for key, record in then.items()
        if record is not None and key.startswith(prefix) and key > after
    }
    found = (
        then[key] if key in then else collection.get(key) for key in sorted(vanished.union(keys))
    )
    return [record for record in found if record is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRequest:
    kind: KindOf
    selection: ObjectSelection
    view: ObjectView
    start: int | None
    """Changes after this revision; None begins with the current state as ADDED events."""
    bookmarks: bool
    announce_end: bool
    """A bookmark says when the current state has been sent completely."""
    limit: timedelta


def watch_request(
    cluster: StoredCluster,
    query: Query,
    *,
    kind: KindOf,
    selection: ObjectSelection,
    view: ObjectView,
) -> WatchRequest:
    """Raises 410 when the start is forgotten; what else is wrong with the options, 4xx."""
    check_list_options(query, watch=True)
    revision = query.text("resourceVersion")
    position = parse_revision(revision) if revision else 0
    initial = query.boolean("sendInitialEvents")
    bookmarks = query.boolean("allowWatchBookmarks") or False
    starts_now = position == 0 if initial is None else bool(initial)
    if not starts_now and 0 < position < cluster.revisions.compacted:
        raise gone(f"too old resource version: {position} ({cluster.revisions.compacted})")
    if initial and position > cluster.revisions.committed:
        raise too_large(position, cluster.revisions.committed)
    return WatchRequest(
        kind=kind,
        selection=selection,
        view=view,
        start=None if starts_now else position or cluster.revisions.committed,
        bookmarks=bookmarks,
        announce_end=bool(initial) and bookmarks,
        limit=_limit(query.integer("timeoutSeconds") or 0),
    )


def _limit(seconds: int) -> timedelta:
    """Compared as numbers: not every number of seconds is a timedelta."""
    if 0 < seconds < WATCH_LIMIT.total_seconds():
        return timedelta(seconds=seconds)
    return WATCH_LIMIT


class OpenWatch:
    """A running watch; iterate over its chunks, each of them whole lines, then `close` it.

    It is subscribed when it is made: no change after that is missed, however late the first chunk
    is asked for.
    """

    def __init__(self, cluster: StoredCluster, request: WatchRequest) -> None:
        self._cluster = cluster
        self._request = request
        self._collection = cluster.collection(request.kind)
        self._watcher = cluster.hub.open(self._collection, self._matches())
        self._first = self._first_events()
        self._began_at = cluster.revisions.committed
        self._ending = False
        self._alarm = cluster.clock.call_later(request.limit, self._end)

    def _matches(self) -> Any:
        floor = self._request.start or 0
        matches = self._request.selection.matches
        if floor <= self._cluster.revisions.committed:
            return matches
        # The client is ahead of us: what it has seen already is not sent again.
        return lambda record: record.revision > floor and matches(record)

    def _end(self) -> None:
        self._ending = True
        self._watcher.stop()

    @property
    def watcher(self) -> Watcher:
        return self._watcher

    def close(self) -> None:
        self._alarm.cancel()
        self._cluster.hub.close(self._collection, self._watcher)

    def _first_events(self) -> list[StoredRecord] | list[Change]:
        """The current state, or the changes since the start; nothing is encoded before its turn."""
        if self._request.start is None:
            return list(self._collection.records(self._request.selection.prefix))
        return self._collection.since(self._request.start)

    def _event(self, source: StoredRecord | Change) -> Event | None:
        matches = self._request.selection.matches
        if isinstance(source, Change):
            return event_for(source, matches)
        return (ChangeKind.ADDED, source) if matches(source) else None

    async def _first_chunks(self) -> AsyncIterator[bytes]:
        first, self._first = self._first, []
        for start in range(0, len(first), LOOKED_AT_ONCE):
            looked_at = map(self._event, first[start : start + LOOKED_AT_ONCE])
            events = [event for event in looked_at if event is not None]
            async for chunk in self._encoded(events):
                yield chunk
            await self._cluster.clock.sleep(NO_TIME)
        if self._request.announce_end:
            yield self._request.view.bookmark(self._began_at, ends_initial_events=True)

    async def _encoded(self, events: list[Event]) -> AsyncIterator[bytes]:
        """In chunks that are made quickly, or else beside the event loop."""
        view, now = self._request.view, self._cluster.clock.now()
        for group in in_groups(events, lambda event: event[1]):

            def encode(group: list[Event] = group) -> bytes:
                return b"".join(view.event(kind, record, now) for kind, record in group)

            is_heavy = view.is_slow and is_large([record for _, record in group])
            yield await self._cluster.work.run(encode) if is_heavy else encode()

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._first_chunks():
            yield chunk
        view = self._request.view
        is_due = False
        while not (self._watcher.overflow.is_set() or self._cluster.hub.stopping):
            events = self._watcher.take()
            if events:
                async for chunk in self._encoded(events):
                    yield chunk
                continue
            # Only now that nothing waits to be sent is it true what a bookmark says.
            if self._request.bookmarks and (is_due or self._ending):
                yield view.bookmark(self._cluster.revisions.committed)
            if self._ending:
                return
            is_due = not await self._something_happens()

    async def _something_happens(self) -> bool:
        """False when nothing did for so long that a bookmark is due."""
        if self._ending:
            return True
        try:
            await self._cluster.clock.wait_for(self._watcher.ready(), BOOKMARK_EVERY)
        except TimeoutError:
            return False
        return True


def expired_event(error: ApiError) -> bytes:
    """A watch that cannot be served tells so in its stream, as clients expect."""
    return msgspec.json.encode({"type": "ERROR", "object": error.document}) + b"\n"
