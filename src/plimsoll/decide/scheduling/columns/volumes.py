"""Volumes that are there to be had, by class and by the nodes that can reach them, smallest first.

What claims would get is worked out per cell of nodes that reach the same volumes, kept, and worked
out again only for cells in which a volume came or went.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plimsoll.api.meta import ObjectKey
from plimsoll.api.volumes import PersistentVolume
from plimsoll.decide.annotations import PREFERRED_TOPOLOGY
from plimsoll.decide.claims.match import AVAILABLE, Mismatch, Search, mismatches, size_of
from plimsoll.decide.claims.volumes_by_size import SizedVolume
from plimsoll.decide.preferred_topology import PreferredTopology, find_preferred
from plimsoll.decide.scheduling.columns.changes import KeptResults
from plimsoll.decide.scheduling.columns.free_volumes import (
    FreeVolumeKind,
    FreeVolumes,
    Want,
    Wants,
)
from plimsoll.decide.scheduling.columns.labels import volume_terms
from plimsoll.decide.scheduling.columns.nodes import NodeIndex
from plimsoll.decide.scheduling.columns.segments import Cells, Segments

NOT_MATCHED = -1
KEPT_FITS = 256
KEPT_KINDS = 64


def is_free(volume: PersistentVolume) -> bool:
    """Any claim that it suits may have it."""
    return (
        volume.spec.claim_ref is None
        and volume.status.phase == AVAILABLE
        and not volume.is_being_deleted
    )


@dataclass(slots=True)
class Fits:
    """By claim and cell the size of the volume that the claim would get, or NOT_MATCHED."""

    sizes: NDArray[np.int64]
    position: int


class _Free(NamedTuple):
    volume: PersistentVolume
    place: SizedVolume
    segment: int
    size: int


class ClassVolumes:
    """The volumes of one class."""

    def __init__(self, index: NodeIndex, segments: Segments) -> None:
        self._segments = segments
        self._volumes: dict[str, PersistentVolume] = {}
        self._in_order: list[PersistentVolume] | None = None
        self._free: dict[str, _Free] = {}
        self._by_segment: dict[int, set[str]] = {}
        self._kept_for: dict[ObjectKey, set[str]] = {}
        self._by_kind: dict[FreeVolumeKind, FreeVolumes] = {}
        self._fits: KeptResults[Wants, Fits] = KeptResults(KEPT_FITS)
        self.cells = Cells(index)

    def __len__(self) -> int:
        return len(self._volumes)

    def all(self) -> list[PersistentVolume]:
        """By name."""
        if self._in_order is None:
            self._in_order = [self._volumes[name] for name in sorted(self._volumes)]
        return self._in_order

    def uses(self, segment: int) -> bool:
        return segment in self._by_segment

    def put(self, volume: PersistentVolume) -> None:
        self.remove(volume.name)
        self._volumes[volume.name] = volume
        self._in_order = None
        if claim := volume.spec.claim:
            self._kept_for.setdefault(claim, set()).add(volume.name)
        elif is_free(volume):
            self._offer(volume)

    def remove(self, name: str) -> None:
        volume = self._volumes.pop(name, None)
        if volume is None:
            return
        self._in_order = None
        if claim := volume.spec.claim:
            self._kept_for[claim].discard(name)
            if not self._kept_for[claim]:
                del self._kept_for[claim]
        if free := self._free.pop(name, None):
            self._withdraw(free)

    def _offer(self, volume: PersistentVolume) -> None:
        size = size_of(volume.spec.capacity)
        segment = self._segments.acquire(volume_terms(volume.spec.required_nodes))
        free = _Free(volume, SizedVolume(size.rank, volume.name), segment, size.value)
        self._free[volume.name] = free
        if segment not in self._by_segment:
            self._by_segment[segment] = set()
            self.cells.add(segment, self._segments.members(segment))
        self._by_segment[segment].add(volume.name)
        for kind, free_volumes in self._by_kind.items():
            if kind.suits(volume):
                free_volumes.add(segment, free.place)
        self.cells.touch(segment)

    def _withdraw(self, free: _Free) -> None:
        segment = free.segment
        for kind, free_volumes in self._by_kind.items():
            if kind.suits(free.volume):
                free_volumes.take(segment, free.place)
        self.cells.touch(segment)
        self._by_segment[segment].discard(free.volume.name)
        if not self._by_segment[segment]:
            del self._by_segment[segment]
            self.cells.drop(segment, self._segments.members(segment))
        self._segments.release(segment)

    def keeps_any_for(self, claim: ObjectKey) -> bool:
        """Whether a volume names the claim."""
        return claim in self._kept_for

    def find_kept(self, search: Search) -> PersistentVolume | None:
        """The volume that is kept for a claim and suits it. Where that cannot be reached the
        claim gets no other. `search` must name a node's labels; which, does not matter."""
        for name in sorted(self._kept_for.get(search.claim, ())):
            against = mismatches(search, self._volumes[name])
            if against <= {Mismatch.UNREACHABLE}:
                return self._volumes[name]
        return None

    def kept_for(self, claim: ObjectKey) -> list[PersistentVolume]:
        return [self._volumes[name] for name in sorted(self._kept_for.get(claim, ()))]

    def reaching(self, slot: int) -> list[PersistentVolume]:
        """The free ones that a node can reach, by name."""
        segments = self.cells.segments[self.cells.of.values[slot]]
        names = (self._by_segment[segment] for segment in segments)
        return [self._volumes[name] for name in sorted(set().union(*names))]

    def fits(self, wants: Wants) -> Fits | None:
        """What claims would get, one after the other, in each cell; None: nothing anywhere."""
        rounded = tuple(
            Want(want.kind, -1 if size is None else size)
            for want in wants
            for size in [self._free_of_kind(want.kind).next_size(want.rank)]
        )
        if all(want.rank < 0 for want in rounded):
            return None
        fits = self._fits.get(rounded)
        if fits is None:
            fits = self._fits.keep(rounded, Fits(np.empty((len(wants), 0), np.int64), -1))
        self._refresh(fits, rounded)
        return fits

    def choose(self, slot: int, wants: Wants) -> list[PersistentVolume | None]:
        """What claims get, one after the other, on a node."""
        places = self._places(int(self.cells.of.values[slot]), wants)
        return [None if place is None else self._volumes[place.name] for place in places]

    def choices(self, slot: int, want: Want) -> list[PersistentVolume]:
        """All that a claim could have on a node, smallest first."""
        segments = self.cells.segments[self.cells.of.values[slot]]
        places = self._free_of_kind(want.kind).fitting(segments, want.rank)
        return [self._volumes[place.name] for place in places]

    def _places(self, cell: int, wants: Sequence[Want]) -> list[SizedVolume | None]:
        taken: set[str] = set()
        segments = self.cells.segments[cell]
        found: list[SizedVolume | None] = []
        for want in wants:
            place = None
            if want.rank >= 0:
                place = self._free_of_kind(want.kind).find(segments, want.rank, taken)
            if place is not None:
                taken.add(place.name)
            found.append(place)
        return found

    def _free_of_kind(self, kind: FreeVolumeKind) -> FreeVolumes:
        free_volumes = self._by_kind.get(kind)
        if free_volumes is None:
            if len(self._by_kind) >= KEPT_KINDS:
                del self._by_kind[next(iter(self._by_kind))]
            free_volumes = self._by_kind[kind] = FreeVolumes()
            for free in self._free.values():
                if kind.suits(free.volume):
                    free_volumes.add(free.segment, free.place)
        return free_volumes

    def _refresh(self, fits: Fits, wants: Wants) -> None:
        changed = self.cells.log.since(fits.position) if fits.position >= 0 else None
        fits.position = self.cells.log.position
        missing = len(self.cells) - fits.sizes.shape[1]
        if missing:
            more = np.full((len(wants), missing), NOT_MATCHED, np.int64)
            fits.sizes = np.concatenate([fits.sizes, more], axis=1)
        for cell in range(len(self.cells)) if changed is None else changed:
            places = self._places(cell, wants)
            for row, place in enumerate(places):
                fits.sizes[row, cell] = NOT_MATCHED if place is None else self._size(place)

    def _size(self, place: SizedVolume) -> int:
        return self._free[place.name].size

    def fork(self, index: NodeIndex, segments: Segments) -> "ClassVolumes":
        twin = ClassVolumes(index, segments)
        twin._volumes, twin._free = self._volumes.copy(), self._free.copy()
        twin._by_segment = {segment: names.copy() for segment, names in self._by_segment.items()}
        twin._kept_for = {claim: names.copy() for claim, names in self._kept_for.items()}
        twin._by_kind = {kind: free_volumes.fork() for kind, free_volumes in self._by_kind.items()}
        twin.cells = self.cells.fork(index)
        return twin


class VolumeColumns:
    """All volumes, by class."""

    def __init__(self, index: NodeIndex, segments: Segments) -> None:
        self._index = index
        self._segments = segments
        self.by_class: dict[str, ClassVolumes] = {}
        """Without classes that have no volume."""
        self._by_name: dict[str, PersistentVolume] = {}
        self.preferred: dict[str, PreferredTopology] = {}
        """Where volumes are cheap to use, by name; without those that say nothing about it."""

    def get(self, name: str) -> PersistentVolume | None:
        return self._by_name.get(name)

    def put(self, volume: PersistentVolume) -> None:
        old = self._by_name.get(volume.name)
        if old is not None and old.storage_class != volume.storage_class:
            self.remove(volume.name)
        self._by_name[volume.name] = volume
        self._put_preferred(volume)
        name = volume.storage_class
        if name not in self.by_class:
            self.by_class[name] = ClassVolumes(self._index, self._segments)
        self.by_class[name].put(volume)

    def _put_preferred(self, volume: PersistentVolume) -> None:
        text = volume.annotations.get(PREFERRED_TOPOLOGY)
        preferred = find_preferred(text) if text else None
        if preferred is None:
            self.preferred.pop(volume.name, None)
        else:
            self.preferred[volume.name] = preferred

    def remove(self, name: str) -> None:
        volume = self._by_name.pop(name, None)
        if volume is None:
            return
        self.preferred.pop(name, None)
        volumes = self.by_class[volume.storage_class]
        volumes.remove(name)
        if not len(volumes):
            del self.by_class[volume.storage_class]

    def cross(self, slot: int, crossings: list[tuple[int, bool]]) -> None:
        for volumes in self.by_class.values():
            for segment, enters in crossings:
                if volumes.uses(segment):
                    volumes.cells.cross(slot, segment, enters=enters)

    def fork(self, index: NodeIndex, segments: Segments) -> "VolumeColumns":
        twin = VolumeColumns(index, segments)
        twin._by_name, twin.preferred = self._by_name.copy(), self.preferred.copy()
        twin.by_class = {
            name: volumes.fork(index, segments) for name, volumes in self.by_class.items()
        }
        return twin
