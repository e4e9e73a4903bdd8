"""How good nodes are for the delay-bound claims of a pod, where a class or the pod prefers it.

Each class counts by itself. If it is to be spread or packed, a node is scored by the free capacity
that is left there, compared with the node of all that will do where most is left. A claim that gets
a volume that exists takes nothing of it. A class without a direction is scored by the shape of the
profile. The score of a node is the mean over all classes of the pod, each with its weight; a class
whose capacity is not known at a node adds nothing there.

Where a new volume leaves less than the headroom, the node comes after all others that will do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.picking import HEADROOM_BITS, STATIC_BITS
from plimsoll.decide.scheduling.placement.preference import (
    NO_PREFERENCE,
    Headroom,
    PlacementDirection,
    PlacementPreference,
    StaticPreference,
    find_class_preference,
)
from plimsoll.decide.scheduling.rules.volume_binding.delayed_claims import DelayedClaims
from plimsoll.decide.scheduling.rules.volume_binding.score import BEST_SCORE, UsageColumns

Numbers = NDArray[np.int64]
UNKNOWN = -1
MOST_BYTES = 2**56
"""Nodes with more than this left are alike: a hundredfold has to fit into 64 bits."""


@dataclass(frozen=True, slots=True)
class PlacedClaim:
    """A delay-bound claim, and by slot what it would get."""

    class_name: str
    size_bytes: int
    matched: Numbers | None
    """The size of the volume that exists for it; negative: there is none."""
    capacities: Numbers | None
    """What is published where a new volume would be taken from; negative: it is not known."""

    def takes(self, length: int) -> Numbers:
        """By slot, the bytes of a new volume."""
        if self.matched is None:
            return np.full(length, self.size_bytes, np.int64)
        return (self.matched < 0) * np.int64(self.size_bytes)

    def is_static(self, length: int) -> Numbers:
        """By slot, 1 where it gets a volume that exists."""
        if self.matched is None:
            return np.zeros(length, np.int64)
        return (self.matched >= 0).astype(np.int64)


@dataclass(frozen=True, slots=True)
class PlacementFit:
    """By class of the pod, and by slot."""

    preferences: tuple[PlacementPreference, ...]
    values: Numbers
    """Free bytes that are left if the class has a direction, negative where that is not known; else
    the score by the shape."""

    def weighted(self, is_feasible: NDArray[np.bool_]) -> Numbers:
        """From 0 to 100, times the weights of the classes; see `RuleScore`."""
        number = len(self.preferences)
        total = np.zeros(len(is_feasible), np.int64)
        for preference, values in zip(self.preferences, self.values, strict=True):
            total += preference.weight * _scored(preference.direction, values, is_feasible)
        return total if number == 1 else (2 * total + number) // (2 * number)


def _scored(
    direction: PlacementDirection | None, values: Numbers, is_feasible: NDArray[np.bool_]
) -> Numbers:
    if direction is None:
        return values
    left = np.minimum(values, MOST_BYTES)
    most = max(int((left * is_feasible).max(initial=0)), 1)
    percent = left * BEST_SCORE // most
    scores = percent if direction is PlacementDirection.SPREAD else BEST_SCORE - percent
    return np.where(values >= 0, scores, 0)


class PlacementColumns:
    """The rule, with what it remembers of the classes."""

    def __init__(self, columns: Columns, usages: UsageColumns) -> None:
        self._columns = columns
        self._usages = usages
        self._stamp = -1
        self._by_class: dict[str, PlacementPreference] = {}

    def preferences(self, claims: DelayedClaims) -> Mapping[str, PlacementPreference] | None:
        """By class of the claims; None: neither the classes nor the pod prefer anything."""
        if self._stamp != self._columns.classes_stamp:
            self._read_classes()
        override = claims.override
        if not self._by_class and override is None:
            return None
        names = dict.fromkeys(delayed.request.class_name for delayed in claims.all)
        found = {name: self._by_class.get(name, NO_PREFERENCE) for name in names}
        if override is not None:
            found = {name: override.over(preference) for name, preference in found.items()}
        return found if any(each != NO_PREFERENCE for each in found.values()) else None

    def _read_classes(self) -> None:
        self._stamp = self._columns.classes_stamp
        self._by_class = {
            name: preference
            for name, class_ in self._columns.classes.items()
            if (preference := find_class_preference(class_.metadata.annotations)) is not None
        }

    def fit(
        self,
        placed: Sequence[PlacedClaim],
        preferences: Mapping[str, PlacementPreference],
        length: int,
    ) -> tuple[PlacementFit, Numbers]:
        """What is scored once it is known which nodes will do; and what is added to the keys of the
        nodes before that: static matches that count, and the headroom."""
        values = np.zeros((len(preferences), length), np.int64)
        keys, is_short = np.zeros(length, np.int64), np.zeros(length, np.bool_)
        for row, (name, preference) in enumerate(preferences.items()):
            own = [each for each in placed if each.class_name == name]
            capacity = _class_capacity(own, length)
            values[row] = capacity.left if preference.direction else self._shaped(own, length)
            if preference.headroom is not None:
                is_short |= capacity.is_below(preference.headroom)
            if preference.static_volumes is StaticPreference.PREFER:
                for each in own:
                    keys += each.is_static(length) << STATIC_BITS
        keys -= is_short.astype(np.int64) << HEADROOM_BITS
        return PlacementFit(tuple(preferences.values()), values), keys

    def _shaped(self, own: Sequence[PlacedClaim], length: int) -> Numbers:
        static = [(each.class_name, each.size_bytes, each.matched) for each in own]
        dynamic = [(each.class_name, each.size_bytes, each.capacities) for each in own]
        return self._usages.scores(static, dynamic, length)


class _ClassCapacity(NamedTuple):
    """Of a class, by slot, in bytes."""

    capacity: Numbers
    """Negative: it is not known."""
    taken: Numbers
    """By new volumes."""

    @property
    def left(self) -> Numbers:
        """Negative where that is not known."""
        left = np.maximum(self.capacity - self.taken, 0)
        return np.where(self.capacity >= 0, left, UNKNOWN)

    def is_below(self, headroom: Headroom) -> NDArray[np.bool_]:
        """Where new volumes leave less than the headroom."""
        is_known = (self.capacity >= 0) & (self.taken > 0)
        return is_known & (self.left < headroom.needed(self.capacity))


def _class_capacity(own: Sequence[PlacedClaim], length: int) -> _ClassCapacity:
    """The claims of a class share what is published for it; the last one's counts."""
    taken = np.zeros(length, np.int64)
    capacity = np.full(length, UNKNOWN, np.int64)
    for each in own:
        taken += each.takes(length)
        if each.capacities is not None:
            capacity = np.where(each.capacities >= 0, each.capacities, capacity)
    return _ClassCapacity(capacity, taken)
