"""Free volumes of a class, sorted for claims of one kind: by where they can be reached, then by
size."""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from plimsoll.api.selectors.label import EVERYTHING, LabelSelector
from plimsoll.api.volumes import FILESYSTEM, PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.claims.match import claim_selector
from plimsoll.decide.claims.volumes_by_size import SizedVolume, VolumesBySize


class FreeVolumeKind(NamedTuple):
    """What a claim asks for beside its class and size."""

    volume_mode: str
    attributes_class: str
    access_modes: frozenset[str]
    selector: LabelSelector

    def suits(self, volume: PersistentVolume) -> bool:
        spec = volume.spec
        return (
            (spec.volume_mode or FILESYSTEM) == self.volume_mode
            and (spec.volume_attributes_class_name or "") == self.attributes_class
            and self.access_modes.issubset(spec.access_modes)
            and self.selector.matches(volume.labels)
        )


class Want(NamedTuple):
    """What one claim asks of free volumes."""

    kind: FreeVolumeKind
    rank: int


Wants = tuple[Want, ...]


def want_of(claim: PersistentVolumeClaim, rank: int) -> Want:
    """`rank` is that of the size. Raises ValueError if the claim's selector cannot be read."""
    spec = claim.spec
    kind = FreeVolumeKind(
        spec.volume_mode or FILESYSTEM,
        spec.volume_attributes_class_name or "",
        frozenset(spec.access_modes),
        EVERYTHING if spec.selector is None else claim_selector(claim),
    )
    return Want(kind, rank)


class FreeVolumes:
    """Volumes of one class that suit one kind of claim, by segment."""

    def __init__(self) -> None:
        self._by_segment: dict[int, VolumesBySize] = {}
        self._sizes: list[int] = []
        self._count: Counter[int] = Counter()

    def add(self, segment: int, volume: SizedVolume) -> None:
        self._by_segment.setdefault(segment, VolumesBySize()).add(volume)
        self._count[volume.rank] += 1
        if self._count[volume.rank] == 1:
            insort(self._sizes, volume.rank)

    def take(self, segment: int, volume: SizedVolume) -> None:
        volumes = self._by_segment[segment]
        volumes.remove(volume)
        if not volumes:
            del self._by_segment[segment]
        self._count[volume.rank] -= 1
        if not self._count[volume.rank]:
            del self._count[volume.rank], self._sizes[bisect_left(self._sizes, volume.rank)]

    def next_size(self, rank: int) -> int | None:
        """The smallest size here that is large enough: all claims between two sizes get the same
        volumes."""
        position = bisect_left(self._sizes, rank)
        return self._sizes[position] if position < len(self._sizes) else None

    def fitting(self, segments: Iterable[int], rank: int) -> list[SizedVolume]:
        """All that are large enough, smallest first."""
        reached = [found for segment in segments if (found := self._by_segment.get(segment))]
        return sorted(volume for volumes in reached for volume in volumes.from_size(rank))

    def find(self, segments: Iterable[int], rank: int, taken: set[str]) -> SizedVolume | None:
        """The smallest that is large enough and not taken; of equal ones the first by name."""
        best: SizedVolume | None = None
        for segment in segments:
            volumes = self._by_segment.get(segment)
            found = None if volumes is None else volumes.find(rank, taken)
            if found is not None and (best is None or found < best):
                best = found
        return best

    def fork(self) -> "FreeVolumes":
        twin = FreeVolumes()
        twin._by_segment = {segment: each.fork() for segment, each in self._by_segment.items()}
        twin._sizes, twin._count = self._sizes.copy(), self._count.copy()
        return twin
