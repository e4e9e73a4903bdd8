"""Pools of several clusters by one name each: `east/rbd-zone-a`, those of the first as they are.

In the records of a cluster pools are called what the cluster calls them, so that a driver that
serves it alone reads the same records.
"""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from plimsoll.processes.driver.records import (
    Part,
    SnapshotRecord,
    VolumePlacement,
    VolumeRecord,
)

SEPARATOR = "/"

Entry = TypeVar("Entry", VolumeRecord, SnapshotRecord)


def full_name(cluster: str, pool: str) -> str:
    """Without a cluster: of the first one."""
    return f"{cluster}{SEPARATOR}{pool}" if cluster else pool


def split_name(name: str) -> tuple[str, str]:
    """The cluster, empty for the first one, and the pool."""
    cluster, separator, pool = name.partition(SEPARATOR)
    return (cluster, pool) if separator else ("", name)


def named_in_full(entry: Entry, cluster: str) -> Entry:
    """As the services see it."""
    place = _renamed(entry.placement, lambda name: full_name(cluster, name))
    return msgspec.structs.replace(entry, placement=place)


def named_in_cluster(entry: Entry) -> Entry:
    """As its cluster has it."""
    return msgspec.structs.replace(entry, placement=place_in_cluster(entry.placement))


def origin_in_cluster(
    entry: VolumeRecord | SnapshotRecord | None,
) -> VolumeRecord | SnapshotRecord | None:
    """The same of what is copied, if anything is."""
    match entry:
        case None:
            return None
        case VolumeRecord():
            return named_in_cluster(entry)
        case SnapshotRecord():
            return named_in_cluster(entry)


def place_in_cluster(place: VolumePlacement) -> VolumePlacement:
    return _renamed(place, lambda name: split_name(name)[1])


def _renamed(place: VolumePlacement, rename: Callable[[str], str]) -> VolumePlacement:
    return msgspec.structs.replace(
        place,
        pools=tuple(map(rename, place.pools)),
        parts=tuple(Part(extent=rename(part.extent), bytes=part.bytes) for part in place.parts),
    )
