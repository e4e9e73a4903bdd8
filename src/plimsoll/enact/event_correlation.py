"""Which events are worth writing: repeats are counted, similar ones combined, floods cut short.

Pure but for its own memory; time is an argument. Three rules, in this order:

- An object may cause a burst of events, then one every few minutes; what exceeds that is dropped.
- Many events about an object with one reason but different texts become one, marked as combined.
- The same text again within the window raises the count of the event that is already there.
"""

from collections import OrderedDict
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from msgspec import structs

from plimsoll.api.meta import ObjectReference
from plimsoll.decide.plan import EventType

MESSAGE_LIMIT = 1024
COMBINED = "(combined from similar events): "


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What a process wants to tell the users of an object."""

    regarding: ObjectReference
    type: EventType
    reason: str
    message: str
    at: datetime
    component: str = ""
    """Who reports it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fresh:
    """Write a new event; tell `remember` what it was called."""

    notice: Notice
    subject: "Subject"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """Raise the count of an event that was written before."""

    notice: Notice
    subject: "Subject"
    name: str
    count: int


@dataclass(frozen=True, slots=True)
class Flood:
    """Not worth writing: this object has been the subject of too many."""

    notice: Notice


Verdict = Fresh | Repeat | Flood

Group = tuple[ObjectReference, EventType, str]
Subject = tuple[ObjectReference, EventType, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrelationSettings:
    burst: int = 25
    refill_every: timedelta = timedelta(minutes=5)
    similar_limit: int = 10
    """Different texts with one reason, from which on they are combined."""
    window: timedelta = timedelta(minutes=10)
    memory: int = 4096
    """Objects, groups and events remembered, of each the most recent ones."""


K = TypeVar("K")
V = TypeVar("V")


class _Recent(Generic[K, V]):
    """The entries used last; the others are forgotten."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._entries: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        return self._entries.get(key)

    def put(self, key: K, value: V) -> None:
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._limit:
            self._entries.popitem(last=False)

    def drop(self, key: K) -> None:
        self._entries.pop(key, None)


@dataclass(frozen=True, slots=True)
class _Allowance:
    left: float
    at: datetime


@dataclass(frozen=True, slots=True)
class _Similar:
    messages: frozenset[str]
    at: datetime


@dataclass(frozen=True, slots=True)
class _Known:
    name: str
    count: int
    at: datetime


class Correlator:
    def __init__(self, settings: CorrelationSettings) -> None:
        self._settings = settings
        self._allowances: _Recent[ObjectReference, _Allowance] = _Recent(settings.memory)
        self._similar: _Recent[Group, _Similar] = _Recent(settings.memory)
        self._known: _Recent[Subject, _Known] = _Recent(settings.memory)

    def judge(self, notice: Notice) -> Verdict:
        notice = replace(notice, message=notice.message[:MESSAGE_LIMIT])
        if not self._is_allowed(notice):
            return Flood(notice)
        if self._is_one_of_many(notice):
            # All of them are one subject from here on: its text is that of the latest.
            subject = (*_group(notice), COMBINED)
            combined = (COMBINED + notice.message)[:MESSAGE_LIMIT]
            notice = replace(notice, message=combined)
        else:
            subject = (*_group(notice), notice.message)
        known = self._known.get(subject)
        if known is None or notice.at - known.at > self._settings.window:
            return Fresh(notice=notice, subject=subject)
        return Repeat(notice=notice, subject=subject, name=known.name, count=known.count + 1)

    def remember(self, verdict: Fresh | Repeat, name: str) -> None:
        """The event was written under this name."""
        count = verdict.count if isinstance(verdict, Repeat) else 1
        self._known.put(verdict.subject, _Known(name, count, verdict.notice.at))

    def forget(self, verdict: Fresh | Repeat) -> None:
        """The event is not on the server any more: events are kept for an hour or so."""
        self._known.drop(verdict.subject)

    def _is_allowed(self, notice: Notice) -> bool:
        """A bucket of tokens per object."""
        about = _group(notice)[0]
        known = self._allowances.get(about) or _Allowance(self._settings.burst, notice.at)
        earned = (notice.at - known.at) / self._settings.refill_every
        left = min(self._settings.burst, known.left + max(earned, 0.0))
        is_allowed = left >= 1
        self._allowances.put(about, _Allowance(left - is_allowed, notice.at))
        return is_allowed

    def _is_one_of_many(self, notice: Notice) -> bool:
        group = _group(notice)
        known = self._similar.get(group)
        if known is None or notice.at - known.at > self._settings.window:
            known = _Similar(frozenset(), notice.at)
        is_many = len(known.messages | {notice.message}) > self._settings.similar_limit
        messages = known.messages if is_many else known.messages | {notice.message}
        self._similar.put(group, _Similar(messages, notice.at))
        return is_many and notice.message not in known.messages


class Echoes:
    """What was said a moment ago and need not be said again.

    For processes that look at everything every few seconds and find the same each time: with many
    objects the repeats alone would be a flood, and push out what is new.
    """

    def __init__(self, quiet: timedelta, memory: int = 65_536) -> None:
        self._quiet = quiet
        self._memory = memory
        self._said: OrderedDict[Subject, datetime] = OrderedDict()
        """The oldest first."""

    def is_echo(self, notice: Notice) -> bool:
        said = self._said.get((*_group(notice), notice.message))
        return said is not None and notice.at - said < self._quiet

    def remember(self, notice: Notice) -> None:
        subject = (*_group(notice), notice.message)
        self._said[subject] = notice.at
        self._said.move_to_end(subject)
        while self._said and self._is_over(next(iter(self._said.values())), notice.at):
            self._said.popitem(last=False)

    def _is_over(self, said: datetime, now: datetime) -> bool:
        return len(self._said) > self._memory or now - said >= self._quiet


def _group(notice: Notice) -> Group:
    """An object stays the same while its version changes."""
    return structs.replace(notice.regarding, resource_version=""), notice.type, notice.reason
