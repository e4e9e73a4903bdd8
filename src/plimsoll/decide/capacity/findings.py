"""What is wrong with published capacity: numbers that no publisher looks after, that are about
nothing, or that say different things about the same segment.

Nothing is changed by this; the repair rule `orphaned-capacity` asks for more proof before it
deletes. Findings are about objects as they are, so a driver that is just being installed, or a
node that is just leaving, shows up here for a moment.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from plimsoll.api.core import Lease
from plimsoll.api.meta import ObjectKey
from plimsoll.api.quantity import parse_quantity
from plimsoll.api.storage import CSIStorageCapacity
from plimsoll.decide.capacity.overview import CapacityEntry, Overview
from plimsoll.decide.capacity.pools import POOLS, parse_class_pool, parse_pools
from plimsoll.decide.capacity.segments import Segment

LEADER_IS_LATE = timedelta(minutes=1)
"""Clocks differ, and a new leader is not found at once."""


class CapacityFinding(StrEnum):
    """What is wrong with a capacity object."""

    STALE = "CapacityStale"
    """Its publisher has not looked for longer than it promised to. The number may be anything."""
    UNANSWERED = "CapacityUnanswered"
    """Its publisher looks, but gets no answer from the driver for some of its numbers."""
    NODES_GONE = "CapacityNodesGone"
    """No node has its topology; it cannot help any pod."""
    OWNER_GONE = "CapacityOwnerGone"
    """All its owners are gone; it will be, too, if a garbage collector runs."""
    DRIVER_GONE = "CapacityDriverGone"
    """Its driver has no CSIDriver object and is listed by no node."""
    CLASS_GONE = "CapacityClassGone"
    """Its storage class does not exist."""
    OVERLAPS = "CapacityOverlaps"
    """Another object of the class is about some of the same nodes. Schedulers go by either."""
    DUPLICATED = "CapacityDuplicated"
    """Another object says the same about the same segment and class."""
    CONTRADICTED = "CapacityContradicted"
    """Another object says something else about the same segment and class."""
    MAXIMUM_TOO_LARGE = "CapacityMaximumTooLarge"
    """Its largest volume is larger than all its capacity. Schedulers believe the former."""
    NO_NUMBER = "CapacityWithoutNumber"
    """It names neither a capacity nor a largest volume: nothing fits."""
    UNREADABLE = "CapacityUnreadable"
    """Its topology or its numbers make no sense."""
    POOLS_UNREADABLE = "CapacityPoolsUnreadable"
    """What it, or its class, says about pools makes no sense: it counts as having its own bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    finding: CapacityFinding
    about: ObjectKey
    sentence: str
    others: tuple[ObjectKey, ...] = ()
    """Other objects that have to do with it."""


def findings(overview: Overview) -> list[Found]:
    """In the order of the objects."""
    found = [each for entry in overview.entries for each in _alone(entry, overview)]
    found += _repeated(overview.entries)
    found += _overlapping(overview.entries)
    order = {entry.capacity.key: place for place, entry in enumerate(overview.entries)}
    return sorted(found, key=lambda each: order[each.about])


def stale_sentence(entry: CapacityEntry, now: datetime) -> str | None:
    """Why the numbers of an object are not to be believed; None: nothing says that they are old."""
    said = (
        sentence for finding, sentence in _stale(entry, now) if finding is CapacityFinding.STALE
    )
    return next(said, None)


def _alone(entry: CapacityEntry, overview: Overview) -> Iterator[Found]:
    """What can be said of an object without looking at others."""
    key = entry.capacity.key
    sentences = [*_stale(entry, overview.now), *_orphaned(entry, overview), *_numbers(entry)]
    sentences += _pools(entry)
    for finding, sentence in sentences:
        yield Found(finding=finding, about=key, sentence=sentence)


Said = tuple[CapacityFinding, str]


def _stale(entry: CapacityEntry, now: datetime) -> Iterator[Said]:
    fresh, leader = entry.freshness, entry.leader
    if fresh is not None:
        if fresh.is_stale(now):
            ago = _whole(now - fresh.looked_at)
            yield (
                CapacityFinding.STALE,
                f"its publisher last looked {ago} ago, not within {fresh.lasts}",
            )
        elif fresh.unanswered and _is_old(fresh.oldest_report_at, now - 2 * fresh.lasts):
            sentence = f"the driver does not answer for {fresh.unanswered} of its publisher's pairs"
            yield CapacityFinding.UNANSWERED, sentence
    elif leader is not None and (late := overdue_by(leader, now)) is not None:
        yield CapacityFinding.STALE, f"its publisher has had no leader for {_whole(late)}"


def _is_old(at: datetime | None, limit: datetime) -> bool:
    return at is not None and at < limit


def overdue_by(lease: Lease, now: datetime) -> timedelta | None:
    """For how long the lease of a leader has been overdue; None: it is not, or it is unknown."""
    if lease.spec.renew_time is None:
        return None
    due = lease.spec.renew_time + timedelta(seconds=lease.spec.lease_duration_seconds or 0)
    return now - due if now - due > LEADER_IS_LATE else None


def _whole(duration: timedelta) -> timedelta:
    return timedelta(seconds=int(duration.total_seconds()))


def _orphaned(entry: CapacityEntry, overview: Overview) -> Iterator[Said]:
    if entry.nodes is not None and not entry.nodes and not entry.is_template:
        yield CapacityFinding.NODES_GONE, "no node has its topology"
    if not entry.is_owned:
        yield CapacityFinding.OWNER_GONE, "what it belongs to is gone"
    if entry.driver and entry.driver not in overview.installed:
        yield CapacityFinding.DRIVER_GONE, f"driver {entry.driver} is not installed"
    if entry.storage_class is None:
        name = entry.capacity.storage_class_name
        yield CapacityFinding.CLASS_GONE, f"class {name} does not exist"


def _numbers(entry: CapacityEntry) -> Iterator[Said]:
    numbers = find_numbers(entry.capacity)
    if numbers is None or entry.nodes is None:
        yield CapacityFinding.UNREADABLE, "its topology or its numbers make no sense"
    if numbers is None:
        return
    size, largest = numbers
    if size is None and largest is None:
        yield CapacityFinding.NO_NUMBER, "it has neither a capacity nor a largest volume"
    if size is not None and largest is not None and largest > size:
        capacity = entry.capacity
        sentence = f"volumes of {capacity.maximum_volume_size} cannot be made of"
        yield CapacityFinding.MAXIMUM_TOO_LARGE, f"{sentence} {capacity.capacity}"


def _pools(entry: CapacityEntry) -> Iterator[Said]:
    try:
        if (text := entry.capacity.annotations.get(POOLS)) is not None:
            parse_pools(text)
        if entry.storage_class is not None:
            parse_class_pool(entry.storage_class)
    except ValueError as error:
        yield CapacityFinding.POOLS_UNREADABLE, str(error)


Numbers = tuple[int | None, int | None]


def find_numbers(capacity: CSIStorageCapacity) -> Numbers | None:
    """Capacity and largest volume; None: they make no sense."""
    try:
        size, largest = (
            None if text is None else parse_quantity(text).value
            for text in (capacity.capacity, capacity.maximum_volume_size)
        )
    except ValueError:
        return None
    return size, largest


def _repeated(entries: Iterable[CapacityEntry]) -> Iterator[Found]:
    """Objects about the same class and the same segment."""
    groups: defaultdict[tuple[str, Segment], list[CapacityEntry]] = defaultdict(list)
    for entry in entries:
        if entry.segment is not None:
            groups[entry.capacity.storage_class_name, entry.segment].append(entry)
    for group in groups.values():
        if len(group) == 1:
            continue
        agree = len({find_numbers(entry.capacity) for entry in group}) == 1
        finding = CapacityFinding.DUPLICATED if agree else CapacityFinding.CONTRADICTED
        what = "the same" if agree else "something else"
        for entry in group:
            others = tuple(e.capacity.key for e in group if e is not entry)
            sentence = f"{_listed(others)} says {what} about this segment"
            key = entry.capacity.key
            yield Found(finding=finding, about=key, sentence=sentence, others=others)


def _overlapping(entries: Iterable[CapacityEntry]) -> Iterator[Found]:
    """Objects about different segments of the same class that some node lies in all of.

    Nodes that lie in the same segments are looked at together.
    """
    by_key = {entry.capacity.key: entry for entry in entries}
    covering: defaultdict[tuple[str, str], list[ObjectKey]] = defaultdict(list)
    for key, entry in by_key.items():
        for node in entry.nodes or ():
            covering[entry.capacity.storage_class_name, node].append(key)
    crowds: defaultdict[tuple[ObjectKey, ...], list[str]] = defaultdict(list)
    for (_, node), keys in sorted(covering.items()):
        if len(keys) > 1:
            crowds[tuple(keys)].append(node)
    others: defaultdict[ObjectKey, set[ObjectKey]] = defaultdict(set)
    nodes: defaultdict[ObjectKey, list[str]] = defaultdict(list)
    for crowd, names in crowds.items():
        for key in crowd:
            if strangers := {other for other in crowd if _differ(by_key[key], by_key[other])}:
                others[key] |= strangers
                nodes[key] += names
    for key, found in others.items():
        more = f" and {len(nodes[key]) - 1} more nodes" if len(nodes[key]) > 1 else ""
        sentence = f"{_listed(sorted(found))} is about {nodes[key][0]}{more}, too"
        yield Found(
            finding=CapacityFinding.OVERLAPS,
            about=key,
            sentence=sentence,
            others=tuple(sorted(found)),
        )


def _differ(one: CapacityEntry, other: CapacityEntry) -> bool:
    """Whether they are different objects about different segments. Two that do not name theirs
    plainly count as such."""
    is_plain = one.segment is not None
    return one is not other and not (is_plain and one.segment == other.segment)


def _listed(keys: Iterable[ObjectKey]) -> str:
    first, *rest = keys
    return f"{first} and {len(rest)} more" if rest else str(first)
