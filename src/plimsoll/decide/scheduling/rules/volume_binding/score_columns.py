"""How good nodes are for a pod's volumes, all at once: `score` in columns."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from plimsoll.decide.scheduling.rules.volume_binding.score import FULL, ScoringShape

Numbers = NDArray[np.int64]
Part = tuple[str, int, Numbers | None]
"""A class, what is asked for, and by node how large the volume or the capacity is that it would be
taken from; negative: it would not, or nobody knows."""


class Usages:
    def __init__(self, shape: ScoringShape | None) -> None:
        points = [shape.score(percent) if shape else 0 for percent in range(FULL + 1)]
        self._points = np.array(points, np.int64)

    def scores(self, static: Sequence[Part], made: Sequence[Part], length: int) -> Numbers:
        """Where a claim gets a volume that exists only such volumes count."""
        existing, new = _summed(static), _shared(made)
        if not existing:
            return self._mean(new, length)[0]
        scores, number = self._mean(existing, length)
        return np.where(number > 0, scores, self._mean(new, length)[0]) if new else scores

    def _mean(
        self, usage: dict[str, tuple[Numbers, Numbers]], length: int
    ) -> tuple[Numbers, Numbers]:
        """Over all classes that are used at a node, and how many these are."""
        total = number = np.zeros(length, np.int64)
        for requested, capacity in usage.values():
            is_used = capacity >= 0
            total = total + self._class_score(requested, capacity) * is_used
            number = number + is_used
        if len(usage) > 1:
            total = (2 * total + number) // (2 * np.maximum(number, 1))
        return total, number

    def _class_score(self, requested: Numbers, capacity: Numbers) -> Numbers:
        percent = requested * FULL // np.maximum(capacity, 1)
        is_full = (requested > capacity) | (capacity == 0)
        # A product that wrapped around is anything, as it is for kube-scheduler: the shape ends at
        # both sides with its first and its last score.
        scores: Numbers = self._points[np.where(is_full, FULL, percent.clip(0, FULL))]
        return scores


def _summed(parts: Sequence[Part]) -> dict[str, tuple[Numbers, Numbers]]:
    """Static volumes of a class count together."""
    usage: dict[str, tuple[Numbers, Numbers]] = {}
    for name, wanted, sizes in parts:
        if sizes is None:
            continue
        is_used = sizes >= 0
        requested = is_used * np.int64(wanted)
        if name not in usage:
            usage[name] = (requested, sizes)
            continue
        before, capacity = usage[name]
        both = np.where(capacity >= 0, capacity, 0) + np.where(is_used, sizes, 0)
        usage[name] = (requested + before, np.where(is_used | (capacity >= 0), both, -1))
    return usage


def _shared(parts: Sequence[Part]) -> dict[str, tuple[Numbers, Numbers]]:
    """Volumes to be made of a class share its capacity: the last one's counts."""
    usage: dict[str, tuple[Numbers, Numbers]] = {}
    for name, wanted, capacities in parts:
        if capacities is None:
            continue
        is_used = capacities >= 0
        requested = is_used * np.int64(wanted)
        if name not in usage:
            usage[name] = (requested, capacities)
            continue
        before, capacity = usage[name]
        usage[name] = (requested + before, np.where(is_used, capacities, capacity))
    return usage
