"""Sends durable changes to all watchers, each through a buffer of its own.

The server waits for no watcher: one whose buffer overflows is cut off and has to list again.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable

from plimsoll.apiserver.storage.collection import Change, ChangeKind, Collection, StoredRecord
from plimsoll.wire.transport import SharedLine

BUFFER_EVENTS = 50_000
BUFFER_BYTES = 64 * 1024 * 1024
CONDITIONS_OF_A_TELLING = 10
"""So many conditions of a selector take as long as to tell one watcher of a change."""
MOST_LADEN = 10_000
"""Of all watchers of a collection whose selectors are long: what one change costs for them."""
SHARED_LINES = 64
"""How many lines are kept for watches that have yet to send them."""

Matches = Callable[[StoredRecord], bool]
Event = tuple[ChangeKind, StoredRecord]


_BEGINNINGS = {kind: f'{{"type":"{kind}","object":'.encode() for kind in ChangeKind}


def event_line(kind: ChangeKind, document: bytes) -> bytes:
    """One line of a watch, without its end."""
    return b"%s%s}" % (_BEGINNINGS[kind], document)


def event_for(change: Change, matches: Matches) -> Event | None:
    """What a watcher with a selector sees of a change, if anything.

    An object that stops matching is gone for this watcher: it gets the last version that did
    match, at the revision of the change.
    """
    previous = change.previous
    matched_before = previous is not None and matches(previous)
    if change.kind is ChangeKind.DELETED:
        return (ChangeKind.DELETED, change.record) if matched_before else None
    if matches(change.record):
        return (ChangeKind.MODIFIED if matched_before else ChangeKind.ADDED, change.record)
    if previous is not None and matched_before:
        last = StoredRecord(
            previous.key, change.revision, previous.raw, previous.labels, previous.fields
        )
        return ChangeKind.DELETED, last
    return None


class Watcher:
    """One open watch: events to send, in order."""

    def __init__(self, matches: Matches | None, weight: int = 1) -> None:
        """`matches` is None if the watch is about everything in the collection."""
        self._matches = matches
        self.weight = weight
        """What a change costs for this watcher; 1: there is little to compare it with."""
        self.on_ready: Callable[[], None] | None = None
        """Called instead of waking the reader: for one that takes everything at once."""
        self.on_events: Callable[[list[Event]], None] | None = None
        """Given the events of such a reader, which need no buffer then."""
        self._events: deque[Event] = deque()
        self._bytes = 0
        self._wake = asyncio.Event()
        self.overflow = asyncio.Event()
        """Set when events were lost because the client did not take them."""

    def offer(self, changes: list[Change]) -> None:
        if self.overflow.is_set():
            return
        events = self._events_of(changes)
        if self.on_events is not None:
            if events:
                self.on_events(events)
            return
        for event in events:
            self._events.append(event)
            self._bytes += len(event[1].raw)
        if len(self._events) > BUFFER_EVENTS or self._bytes > BUFFER_BYTES:
            self.overflow.set()
            self._events.clear()
            self.wake()
        elif self._events:
            self.wake()

    def _events_of(self, changes: list[Change]) -> list[Event]:
        matches = self._matches
        if matches is None:
            return [(change.kind, change.record) for change in changes]
        found = [event_for(change, matches) for change in changes]
        return [event for event in found if event is not None]

    def take(self) -> list[Event]:
        events = list(self._events)
        self._events.clear()
        self._bytes = 0
        self._wake.clear()
        return events

    async def ready(self) -> None:
        """Return when there is something to take, or `wake` was called."""
        await self._wake.wait()

    def wake(self) -> None:
        """Let the reader look again: there are events, or something else to do."""
        if self.on_ready is not None:
            self.on_ready()
        else:
            self._wake.set()


def _weight(conditions: int) -> int:
    return 1 + conditions // CONDITIONS_OF_A_TELLING


class WatchHub:
    def __init__(self) -> None:
        self._watchers: dict[str, dict[Watcher, None]] = {}
        """Of each collection, in the order in which they came."""
        self._weights: Counter[str] = Counter()
        self._laden: Counter[str] = Counter()
        """Of each collection: what a change costs for all watchers, and for those with long
        selectors."""
        self.stopping = False
        self._lines: dict[tuple[int, ChangeKind, bytes], SharedLine] = {}
        """What was sent last, by revision, kind of change and beginning of the document."""
        self._frames: dict[tuple[int, ChangeKind, str], bytes] = {}
        """The same by form."""

    def line(self, event: Event, type_head: bytes) -> SharedLine:
        """The event with the whole object, made once for all who watch it."""
        kind, record = event
        named = (record.revision, kind, type_head)
        found = self._lines.get(named)
        if found is None:
            if len(self._lines) >= SHARED_LINES:
                self._lines.clear()
            found = self._lines[named] = SharedLine(event_line(kind, record.render(type_head)))
        return found

    def frame(self, event: Event, form: str, make: Callable[[], bytes]) -> bytes:
        """The event in a form that takes long to make, made once for all who watch it so."""
        kind, record = event
        named = (record.revision, kind, form)
        found = self._frames.get(named)
        if found is None:
            if len(self._frames) >= SHARED_LINES:
                self._frames.clear()
            found = self._frames[named] = make()
        return found

    def open(self, collection: Collection, matches: Matches | None, conditions: int = 1) -> Watcher:
        watcher = Watcher(matches, _weight(conditions))
        self._watchers.setdefault(collection.name, {})[watcher] = None
        self._count(collection, watcher, watcher.weight)
        return watcher

    def close(self, collection: Collection, watcher: Watcher) -> None:
        watchers = self._watchers.get(collection.name, {})
        if watcher in watchers:
            del watchers[watcher]
            self._count(collection, watcher, -watcher.weight)

    def _count(self, collection: Collection, watcher: Watcher, weight: int) -> None:
        self._weights[collection.name] += weight
        if watcher.weight > 1:
            self._laden[collection.name] += weight

    def weight(self, collection: str) -> int:
        """What it costs to tell all its watchers of one change."""
        return self._weights[collection]

    def has_room(self, collection: Collection, conditions: int) -> bool:
        """Whether one more selector with so many conditions leaves the event loop to others."""
        weight = _weight(conditions)
        return weight == 1 or self._laden[collection.name] + weight <= MOST_LADEN

    def publish(self, collection: Collection, changes: list[Change]) -> None:
        for watcher in self._watchers.get(collection.name, ()):
            watcher.offer(changes)

    def number(self) -> int:
        return sum(self.number_by_collection().values())

    def number_by_collection(self) -> dict[str, int]:
        return {name: len(watchers) for name, watchers in self._watchers.items()}

    def stop(self) -> None:
        """End all watches: the server is going away."""
        self.stopping = True
        for watchers in self._watchers.values():
            for watcher in watchers:
                watcher.wake()
