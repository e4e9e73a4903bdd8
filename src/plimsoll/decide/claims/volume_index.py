"""Volumes sorted so that the best one for a claim is found without looking at all of them.

Volumes with the same set of access modes form a group. A claim looks into the groups that offer
what it asks for, those with the fewest modes first, so that a volume with rare modes is not spent
on a claim without need of them. In a group come first the volumes kept for the claim, then the free
ones of its class from the smallest that is large enough.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from plimsoll.api.meta import ObjectKey
from plimsoll.api.volumes import FILESYSTEM, PersistentVolume
from plimsoll.decide.claims.match import AVAILABLE, Search, size_of
from plimsoll.decide.claims.volumes_by_size import SizedVolume, VolumesBySize

Modes = frozenset[str]


class VolumeKind(NamedTuple):
    """What free volumes have to agree in for one to stand in for the other."""

    storage_class: str
    volume_mode: str
    attributes_class: str


@dataclass(slots=True)
class _Group:
    kept: dict[ObjectKey, set[str]] = field(default_factory=dict)
    free: dict[VolumeKind, VolumesBySize] = field(default_factory=dict)


class VolumeIndex:
    """Kept up to date change by change; an update costs no more than finding the place does."""

    def __init__(self) -> None:
        self._volumes: dict[str, PersistentVolume] = {}
        self._groups: dict[Modes, _Group] = {}
        self._offered: Counter[Modes] = Counter()
        """How many volumes have these access modes, those included that cannot be had."""

    def __len__(self) -> int:
        return len(self._volumes)

    def get(self, name: str) -> PersistentVolume | None:
        return self._volumes.get(name)

    def put(self, volume: PersistentVolume) -> None:
        """Add a volume, or replace the one of its name."""
        self.remove(volume.name)
        self._volumes[volume.name] = volume
        self._offered[_modes(volume)] += 1
        if not _can_be_had(volume):
            return
        group = self._groups.setdefault(_modes(volume), _Group())
        if claim := volume.spec.claim:
            group.kept.setdefault(claim, set()).add(volume.name)
        else:
            group.free.setdefault(_kind(volume), VolumesBySize()).add(_sized(volume))

    def remove(self, name: str) -> None:
        volume = self._volumes.pop(name, None)
        if volume is None:
            return
        modes = _modes(volume)
        self._offered[modes] -= 1
        if not self._offered[modes]:
            del self._offered[modes]
        if not _can_be_had(volume):
            return
        group = self._groups[modes]
        if claim := volume.spec.claim:
            _drop_name(group.kept, claim, name)
        else:
            _drop_volume(group.free, _kind(volume), _sized(volume))
        if not group.kept and not group.free:
            del self._groups[modes]

    def offers(self, access_modes: Iterable[str]) -> bool:
        """Whether any volume, free or not and of any class, has all of these access modes."""
        wanted = frozenset(access_modes)
        return any(wanted <= modes for modes in self._offered)

    def candidates(self, search: Search) -> Iterator[PersistentVolume]:
        """The volumes that may suit, best first. Whether one does is still to be checked."""
        for modes in sorted(self._groups, key=_by_number):
            if search.access_modes <= modes:
                yield from map(self._volumes.__getitem__, _names(self._groups[modes], search))


def _names(group: _Group, search: Search) -> Iterator[str]:
    yield from sorted(group.kept.get(search.claim, ()))
    if search.waits_for_scheduler:
        return
    kind = VolumeKind(search.storage_class, search.volume_mode, search.attributes_class)
    if volumes := group.free.get(kind):
        yield from (volume.name for volume in volumes.from_size(search.requested.rank))


def _modes(volume: PersistentVolume) -> Modes:
    return frozenset(volume.spec.access_modes)


def _by_number(modes: Modes) -> tuple[int, list[str]]:
    return len(modes), sorted(modes)


def _can_be_had(volume: PersistentVolume) -> bool:
    """By the claim that it is kept for, or by any; no other volume has a place in a group."""
    is_free = volume.status.phase == AVAILABLE and not volume.is_being_deleted
    return is_free or volume.spec.claim_ref is not None


def _kind(volume: PersistentVolume) -> VolumeKind:
    spec = volume.spec
    return VolumeKind(
        volume.storage_class,
        spec.volume_mode or FILESYSTEM,
        spec.volume_attributes_class_name or "",
    )


def _sized(volume: PersistentVolume) -> SizedVolume:
    return SizedVolume(size_of(volume.spec.capacity).rank, volume.name)


def _drop_name(kept: dict[ObjectKey, set[str]], claim: ObjectKey, name: str) -> None:
    kept[claim].discard(name)
    if not kept[claim]:
        del kept[claim]


def _drop_volume(
    free: dict[VolumeKind, VolumesBySize], kind: VolumeKind, volume: SizedVolume
) -> None:
    free[kind].remove(volume)
    if not free[kind]:
        del free[kind]
