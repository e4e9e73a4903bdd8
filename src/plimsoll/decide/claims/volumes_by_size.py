"""Volumes sorted by size, so that the smallest that is large enough is found at once.

The controller and the scheduler both look for volumes so, each among those that suit otherwise.
"""

from bisect import bisect_left, insort
from collections.abc import Collection, Iterator
from typing import NamedTuple


class SizedVolume(NamedTuple):
    """How volumes are sorted: by the rank of their size, then by name."""

    rank: int
    name: str


class VolumesBySize:
    """Kept up to date change by change; a change costs no more than finding the place does."""

    def __init__(self) -> None:
        self._sorted: list[SizedVolume] = []

    def __len__(self) -> int:
        return len(self._sorted)

    def add(self, volume: SizedVolume) -> None:
        insort(self._sorted, volume)

    def remove(self, volume: SizedVolume) -> None:
        """Of a volume that was added."""
        del self._sorted[bisect_left(self._sorted, volume)]

    def from_size(self, rank: int) -> Iterator[SizedVolume]:
        """All that are large enough, the smallest first; of equal ones the first by name."""
        for position in range(bisect_left(self._sorted, (rank, "")), len(self._sorted)):
            yield self._sorted[position]

    def find(self, rank: int, taken: Collection[str] = ()) -> SizedVolume | None:
        """The smallest that is large enough and not taken."""
        position = bisect_left(self._sorted, (rank, ""))
        while position < len(self._sorted) and self._sorted[position].name in taken:
            position += 1
        return self._sorted[position] if position < len(self._sorted) else None

    def fork(self) -> "VolumesBySize":
        twin = VolumesBySize()
        twin._sorted = self._sorted.copy()
        return twin
