"""WATCH: every change after a revision, once and in order, or the answer that this cannot be (410).

Watchers see durable state only.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from http import HTTPStatus

from plimsoll.apiserver.http.answers import Answer, Stream
from plimsoll.apiserver.model.status import ApiError
from plimsoll.apiserver.storage.cluster import StoredCluster
from plimsoll.apiserver.storage.collection import Change, ChangeKind, StoredRecord
from plimsoll.apiserver.storage.resource_kinds import ResourceKind
from plimsoll.apiserver.storage.watch_hub import Event, Matches, Watcher, event_for
from plimsoll.apiserver.verbs.options.list_options import (
    check_list_options,
    check_numbers,
    gone,
    is_legacy_watch,
    parse_revision,
    too_large,
)
from plimsoll.apiserver.verbs.options.selection import ObjectSelection
from plimsoll.apiserver.verbs.read import ReadRequest
from plimsoll.apiserver.verbs.views.streaming import in_groups, is_large, nothing_to_close
from plimsoll.apiserver.verbs.views.text_view import ObjectView
from plimsoll.runtime.clock import NO_TIME, Alarm

Encode = Callable[[list[Event], datetime], bytes]

LOOKED_AT_ONCE = 200
"""How many objects a watch looks at before others have their turn."""
WATCH_LIMIT = timedelta(minutes=45)
"""How long a watch lives whose client names no limit."""
IN_STREAM = (HTTPStatus.GONE, HTTPStatus.GATEWAY_TIMEOUT)
"""Watches from a revision that is forgotten, or not there yet."""


async def answer_watch(request: ReadRequest) -> Answer:
    """Answers with a stream; it ends with the limit, with the server, or when the client leaves."""
    view = request.view()
    check_numbers(request.query)
    selection = ObjectSelection(request.kind, request.target, request.query)
    try:
        wanted = watch_request(request, selection, view)
    except ApiError as error:
        if error.code not in IN_STREAM:
            raise
        # Clients look for these in the stream; as the answer itself, some of them take it for a
        # mishap and ask again for ever.
        request.cluster.count_sent(request.kind.resource, 1)
        stream = Stream(
            chunks=_only(view.error_event(error)),
            close=nothing_to_close,
            overflow=asyncio.Event(),
            has_frames=bool(view.shared_form),
        )
    else:
        watch = OpenWatch(request.cluster, wanted)
        stream = Stream(
            chunks=watch.chunks(),
            close=watch.close,
            overflow=watch.watcher.overflow,
            pour=None if view.shared_form else watch.pour,
            has_frames=bool(view.shared_form),
        )
    return Answer(stream=stream, content_type=view.watch_type)


def _too_many_conditions() -> ApiError:
    return ApiError(
        429,
        "TooManyRequests",
        "other watches of this resource have long selectors already, and each change is compared "
        "with all of them: watch with a shorter selector, or try again later",
        {"retryAfterSeconds": 10},
    )


async def _only(chunk: bytes) -> AsyncIterator[bytes]:
    yield chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRequest:
    kind: ResourceKind
    selection: ObjectSelection
    view: ObjectView
    start: int | None
    """Changes after this revision; None begins with the current state as ADDED events."""
    bookmarks: bool
    announce_end: bool
    """A bookmark says when the current state has been sent completely."""
    limit: timedelta


def watch_request(
    request: ReadRequest, selection: ObjectSelection, view: ObjectView
) -> WatchRequest:
    """Raises 410 when the start is forgotten; what else is wrong with the options, 4xx."""
    cluster, query = request.cluster, request.query
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
        kind=request.kind,
        selection=selection,
        view=view,
        start=None if starts_now else position or cluster.revisions.committed,
        bookmarks=bookmarks,
        announce_end=(bool(initial) or is_legacy_watch(query)) and bookmarks,
        limit=_limit(query.integer("timeoutSeconds") or 0),
    )


def _limit(seconds: int) -> timedelta:
    """Compared as numbers: not every number of seconds is a timedelta. A time that is over before
    it begins ends the watch at once; none at all is the longest."""
    if seconds < 0:
        return timedelta()
    if 0 < seconds < WATCH_LIMIT.total_seconds():
        return timedelta(seconds=seconds)
    return WATCH_LIMIT


class OpenWatch:
    """A running watch; iterate over its chunks, each of them whole lines, then `close` it.

    Raises 429 where there are too many long selectors already.

    It is subscribed when it is made: no change after that is missed, however long the client
    takes to ask for the first chunk.
    """

    def __init__(self, cluster: StoredCluster, request: WatchRequest) -> None:
        self._cluster = cluster
        self._request = request
        self._collection = cluster.collection(request.kind)
        conditions = request.selection.terms
        if not cluster.hub.has_room(self._collection, conditions):
            raise _too_many_conditions()
        self._watcher = cluster.hub.open(self._collection, self._matches(), conditions)
        self._first = self._first_events()
        self._began_at = cluster.revisions.committed
        self._is_slow = request.view.is_slow
        self._ending = False
        self._bookmark_due = False
        self._alarm = cluster.clock.call_later(request.limit, self._end)
        self._bookmark_alarm = self._next_bookmark() if request.bookmarks else None

    def _matches(self) -> Matches | None:
        floor = self._request.start or 0
        selection = self._request.selection
        if floor <= self._cluster.revisions.committed:
            return None if selection.is_unconditional else selection.matches
        # The client is ahead of us: what it has seen already is not sent again.
        return lambda record: record.revision > floor and selection.matches(record)

    def _end(self) -> None:
        self._ending = True
        self._bookmark_due = self._request.bookmarks
        self._watcher.wake()

    def _next_bookmark(self) -> Alarm:
        return self._cluster.clock.call_later(self._cluster.bookmark_every, self._ask_for_bookmark)

    def _ask_for_bookmark(self) -> None:
        self._bookmark_due = True
        self._bookmark_alarm = self._next_bookmark()
        self._watcher.wake()

    @property
    def watcher(self) -> Watcher:
        return self._watcher

    def close(self) -> None:
        self._alarm.cancel()
        if self._bookmark_alarm is not None:
            self._bookmark_alarm.cancel()
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
            async for chunk in self._encoded(events, self._encode):
                yield chunk
            await self._cluster.clock.sleep(NO_TIME)
        if self._request.announce_end:
            self._count_sent(1)
            yield self._request.view.bookmark(self._began_at, ends_initial_events=True)

    async def _encoded(self, events: list[Event], encode: Encode) -> AsyncIterator[bytes]:
        """In chunks that are made quickly, or else beside the event loop."""
        for group in in_groups(events, lambda event: event[1]):
            is_heavy = self._is_slow and is_large([record for _, record in group])
            self._count_sent(len(group))
            now = self._cluster.clock.now()
            work = self._cluster.work
            yield await work.run(partial(encode, group, now)) if is_heavy else encode(group, now)

    def _encode(self, events: list[Event], now: datetime) -> bytes:
        event = self._request.view.event
        return b"".join([event(kind, record, now) for kind, record in events])

    def _encode_live(self, events: list[Event], now: datetime) -> bytes:
        """The same for events that others may watch as well."""
        view, frame = self._request.view, self._cluster.hub.frame
        if not view.shared_form:
            return self._encode(events, now)
        return b"".join(
            [frame(event, view.shared_form, partial(view.event, *event, now)) for event in events]
        )

    def _count_sent(self, number: int) -> None:
        self._cluster.count_sent(self._request.kind.resource, number)

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._first_chunks():
            yield chunk
        while not (self._watcher.overflow.is_set() or self._cluster.hub.stopping):
            events = self._watcher.take()
            if len(events) == 1 and not self._is_slow:  # as most of the time
                self._count_sent(1)
                yield self._encode(events, self._cluster.clock.now())
                continue
            if events:
                async for chunk in self._encoded(events, self._encode_live):
                    yield chunk
                continue
            # Only now that nothing waits to be sent is it true what a bookmark says.
            if self._bookmark_due:
                self._bookmark_due = False
                self._count_sent(1)
                yield self._request.view.bookmark(self._cluster.revisions.committed)
            if self._ending:
                return
            await self._watcher.ready()

    async def pour(self, send: Callable[[bytes], None]) -> None:
        """The same lines, each of them sent when there is one, until the watch ends.

        For a receiver in this event loop that takes whatever it is given: neither side has a task
        that wakes up for each event.
        """
        if self._is_slow:
            await _split(self.chunks(), send)
            return
        await _split(self._first_chunks(), send)
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._watcher.on_ready = partial(self._pour_ready, send, ended)
        self._pour_ready(send, ended)
        self._watcher.on_events = partial(self._pour_events, send, ended)
        await ended

    def _pour_ready(self, send: Callable[[bytes], None], ended: "asyncio.Future[None]") -> None:
        if ended.done():
            return
        hub = self._cluster.hub
        if self._watcher.overflow.is_set() or hub.stopping:
            ended.set_result(None)
            return
        self._pour_events(send, ended, self._watcher.take())
        if self._bookmark_due:
            self._bookmark_due = False
            send(self._request.view.bookmark(self._cluster.revisions.committed)[:-1])
            self._count_sent(1)
        if self._ending:
            ended.set_result(None)

    def _pour_events(
        self, send: Callable[[bytes], None], ended: "asyncio.Future[None]", events: list[Event]
    ) -> None:
        """Nothing once the watch has ended: the reader goes on from where it was."""
        if ended.done() or not events:
            return
        hub, head = self._cluster.hub, self._request.view.head
        for event in events:
            send(hub.line(event, head))
        self._count_sent(len(events))


async def _split(chunks: AsyncIterator[bytes], send: Callable[[bytes], None]) -> None:
    async for chunk in chunks:
        for line in chunk.splitlines():
            send(line)
