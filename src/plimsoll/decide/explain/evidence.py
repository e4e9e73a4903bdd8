"""What was read beside the objects that decisions look at: events, leases, snapshots, attachments.

Reading them may be forbidden. What could not be read is None, and nothing is concluded from it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property

from plimsoll.api.core import Event, Lease
from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.snapshots import VolumeSnapshot
from plimsoll.api.storage import VolumeAttachment
from plimsoll.decide.capacity.overview import Overview
from plimsoll.decide.provisioning.intents import INTENT, Intent, intent_in
from plimsoll.decide.records import RECORD
from plimsoll.decide.scheduling.binding.groups import GROUP, Group, group_in
from plimsoll.decide.scheduling.policy import (
    SYSTEM_NAMESPACE,
    is_about_scheduler,
    record_namespaces,
)

WARNING = "Warning"
LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class RecordedGroup:
    lease: Lease
    group: Group


@dataclass(frozen=True, slots=True)
class RecordedIntent:
    lease: Lease
    intent: Intent


@dataclass(frozen=True, kw_only=True)
class Evidence:
    now: datetime
    events: tuple[Event, ...] | None = None
    """Of the namespace of what is explained."""
    leases: tuple[Lease, ...] | None = None
    """Of all namespaces."""
    snapshots: Mapping[ObjectKey, VolumeSnapshot] | None = None
    attachments: tuple[VolumeAttachment, ...] = ()
    capacity: Overview | None = None
    handed_over_at: Mapping[ObjectKey, datetime] = field(default_factory=dict)
    """When claims were given to an external provisioner, where the server kept account of it."""
    asked_namespaces: frozenset[str] = frozenset()
    """Where records are believed; empty: where the scheduler says that it believes them."""

    @cached_property
    def events_by_uid(self) -> Mapping[str, tuple[Event, ...]]:
        """By the uid of the object that they are about, the newest first."""
        found: dict[str, list[Event]] = {}
        for event in sorted(self.events or (), key=last_seen_at, reverse=True):
            found.setdefault(event.involved_object.uid, []).append(event)
        return {uid: tuple(events) for uid, events in found.items()}

    def events_about(self, object_: ApiObject, *reasons: str) -> Iterator[Event]:
        """The newest first. Events about an earlier object of the same name do not count."""
        for event in self.events_by_uid.get(object_.uid, ()):
            if event.reason in reasons:
                yield event

    @cached_property
    def record_namespaces(self) -> frozenset[str]:
        """Where groups and intents are believed. A tenant could write records about any pod and
        claim into a namespace of their own."""
        return self.asked_namespaces or record_namespaces(self.leases or ())

    @cached_property
    def unbelieved_namespaces(self) -> frozenset[str]:
        """Where there are records that are not believed, or leases of schedulers."""
        leases = self.leases or ()
        records = {lease.namespace for lease in leases if lease.labels.get(RECORD)}
        schedulers = {lease.namespace for lease in leases if is_about_scheduler(lease)}
        return frozenset(records - self.record_namespaces | schedulers - self._scheduler_namespaces)

    @property
    def _scheduler_namespaces(self) -> frozenset[str]:
        return self.record_namespaces | {SYSTEM_NAMESPACE}

    @cached_property
    def believed_leases(self) -> tuple[Lease, ...] | None:
        """Without what schedulers are said to tell about themselves in other namespaces than those
        of records and of the system: a tenant could publish a policy for a scheduler that has none,
        or say that one runs which has stopped."""
        if self.leases is None:
            return None
        return tuple(
            lease
            for lease in self.leases
            if lease.namespace in self._scheduler_namespaces or not is_about_scheduler(lease)
        )

    @cached_property
    def groups(self) -> tuple[RecordedGroup, ...]:
        """What schedulers have noted about volumes that are made together."""
        found = ((lease, group_in(lease.annotations)) for lease in self._records(GROUP))
        return tuple(
            RecordedGroup(lease, group)
            for lease, group in found
            if group is not None and group.name == lease.name
        )

    @cached_property
    def intents(self) -> Mapping[str, tuple[RecordedIntent, ...]]:
        """By the uid of the claim, those with the highest number first. Provisioners that serve one
        node each number theirs by themselves."""
        found: dict[str, list[RecordedIntent]] = {}
        for lease in self._records(INTENT):
            intent = intent_in(lease.annotations)
            if intent is not None and intent.name == lease.name:
                found.setdefault(intent.uid, []).append(RecordedIntent(lease, intent))
        return {
            uid: tuple(sorted(noted, key=lambda each: each.intent.number, reverse=True))
            for uid, noted in found.items()
        }

    def _records(self, kind: str) -> Iterator[Lease]:
        return (
            lease
            for lease in self.leases or ()
            if lease.labels.get(RECORD) == kind and lease.namespace in self.record_namespaces
        )


def last_seen_at(event: Event) -> datetime:
    """Two generations of clients write it into different fields."""
    series = event.series.last_observed_time if event.series else None
    times = (series, event.last_timestamp, event.event_time, event.first_timestamp)
    made_at = event.metadata.creation_timestamp or LONG_AGO
    return max((time for time in times if time), default=made_at)


def first_seen_at(event: Event) -> datetime:
    times = (event.first_timestamp, event.event_time)
    return min((time for time in times if time), default=last_seen_at(event))


def count_of(event: Event) -> int:
    return max(event.count, event.series.count if event.series else 0, 1)


def newest_by_message(events: Iterable[Event]) -> list[Event]:
    """Of events that say the same only the newest; the order is kept."""
    found: dict[tuple[str, str], Event] = {}
    for event in events:
        found.setdefault((event.reason, event.message), event)
    return [*found.values()]
