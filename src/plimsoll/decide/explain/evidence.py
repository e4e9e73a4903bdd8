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

WARNING = "Warning"
LONG_AGO = datetime.min.replace(tzinfo=UTC)


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
