"""Free volumes of a class, sorted for claims of one kind: by where they can be reached, then by
size."""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from plimsoll.api.selectors.label import LabelSelector
from plimsoll.api.volumes import FILESYSTEM, PersistentVolume
from plimsoll.decide.claims.match import Search


class FreeVolumePlace(NamedTuple):
    """How free volumes are sorted: by the rank of its size, then by name."""

    rank: int
    name: str


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


def want_of(search: Search) -> Want:
    kind = FreeVolumeKind(
        search.volume_mode, search.attributes_class, search.access_modes, search.selector
    )
    return Want(kind, search.requested.rank)


class FreeVolumes:
    """Volumes of one class that suit one kind of claim, by segment."""

    def __init__(self) -> None:
        self._places: dict[int, list[FreeVolumePlace]] = {}
        self._sizes: list[int] = []
        self._count: Counter[int] = Counter()

    def add(self, segment: int, place: FreeVolumePlace) -> None:
        insort(self._places.setdefault(segment, []), place)
        self._count[place.rank] += 1
        if self._count[place.rank] == 1:
            insort(self._sizes, place.rank)

    def take(self, segment: int, place: FreeVolumePlace) -> None:
        places = self._places[segment]
        del places[bisect_left(places, place)]
        if not places:
            del self._places[segment]
        self._count[place.rank] -= 1
        if not self._count[place.rank]:
            del self._count[place.rank], self._sizes[bisect_left(self._sizes, place.rank)]

    def next_size(self, rank: int) -> int | None:
        """The smallest size here that is large enough: all claims between two sizes get the same
        volumes."""
        position = bisect_left(self._sizes, rank)
        return self._sizes[position] if position < len(self._sizes) else None

    def fitting(self, segments: Iterable[int], rank: int) -> list[FreeVolumePlace]:
        """All that are large enough, smallest first."""
        found: list[FreeVolumePlace] = []
        for segment in segments:
            places = self._places.get(segment, [])
            found += places[bisect_left(places, FreeVolumePlace(rank, "")) :]
        return sorted(found)

    def find(self, segments: Iterable[int], rank: int, taken: set[str]) -> FreeVolumePlace | None:
        """The smallest that is large enough and not taken; of equal ones the first by name."""
        best: FreeVolumePlace | None = None
        for segment in segments:
            places = self._places.get(segment)
            if places is None:
                continue
            position = bisect_left(places, FreeVolumePlace(rank, ""))
            while position < len(places) and places[position].name in taken:
                position += 1
            if position < len(places) and (best is None or places[position] < best):
                best = places[position]
        return best

    def fork(self) -> "FreeVolumes":
        twin = FreeVolumes()
        twin._places = {segment: places.copy() for segment, places in self._places.items()}
        twin._sizes, twin._count = self._sizes.copy(), self._count.copy()
        return twin
