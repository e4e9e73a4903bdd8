"""Which of the nodes that would do is best for a pod's volumes: by how full their storage gets.

The shape says how good it is to fill storage to some percentage; between its points the value is
interpolated. By default the emptier the better. Where a static volume was found it alone counts,
as part of what the volume holds; what would have to be provisioned counts as part of the capacity
that was published for the class. All numbers are kube-scheduler's, cut off and wrapped around where
its 64-bit arithmetic is.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from plimsoll.api.quantity import parse_quantity
from plimsoll.api.storage import CSIStorageCapacity
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.claims.match import size_of
from plimsoll.decide.scheduling.rules.volume_binding.static_matching import PodVolumes

FULL = 100
BEST_SCORE = 100
BEST_SHAPE_SCORE = 10


@dataclass(frozen=True, slots=True)
class Point:
    utilization: int
    """In percent."""
    score: int
    """From 0 to 10."""


@dataclass(frozen=True, slots=True)
class Usage:
    requested: int
    capacity: int


@dataclass(frozen=True, slots=True)
class ScoringShape:
    points: tuple[Point, ...] = (Point(0, BEST_SHAPE_SCORE), Point(FULL, 0))

    @classmethod
    def parse(cls, points: Sequence[Point]) -> Self:
        """Raises ValueError in the words of kube-scheduler's configuration."""
        if not points:
            raise ValueError("shape: Required value: at least one point must be specified")
        for index, point in enumerate(points):
            _check_range(f"shape[{index}].utilization", point.utilization, FULL)
            if index and point.utilization <= points[index - 1].utilization:
                raise ValueError(
                    f"shape[{index}].utilization: Invalid value: {point.utilization}: "
                    "values must be sorted in increasing order"
                )
            _check_range(f"shape[{index}].score", point.score, BEST_SHAPE_SCORE)
        return cls(tuple(points))

    def score(self, utilization: int) -> int:
        """From 0 to 100."""
        factor = BEST_SCORE // BEST_SHAPE_SCORE
        before: Point | None = None
        for point in self.points:
            if utilization <= point.utilization:
                if before is None:
                    return point.score * factor
                rise = (point.score - before.score) * factor
                part = rise * (utilization - before.utilization)
                return before.score * factor + _divided(
                    part, point.utilization - before.utilization
                )
            before = point
        return self.points[-1].score * factor


DEFAULT_SHAPE = ScoringShape()


def _check_range(path: str, value: int, highest: int) -> None:
    if not 0 <= value <= highest:
        raise ValueError(f"{path}: Invalid value: {value}: not in valid range [0, {highest}]")


def score(volumes: PodVolumes, shape: ScoringShape = DEFAULT_SHAPE) -> int:
    """From 0 to 100. Where there are static volumes they alone count."""
    if volumes.static:
        usage = static_usage((binding.claim, binding.volume) for binding in volumes.static)
    else:
        usage = dynamic_usage((new.claim, new.capacity) for new in volumes.provisions)
    return score_usage(usage, shape)


def score_usage(usage_by_class: Mapping[str, Usage], shape: ScoringShape = DEFAULT_SHAPE) -> int:
    """The mean over all classes, halves rounded up; zero where nothing is known."""
    if not usage_by_class:
        return 0
    total = sum(_class_score(usage, shape) for usage in usage_by_class.values())
    return (2 * total + len(usage_by_class)) // (2 * len(usage_by_class))


def _class_score(usage: Usage, shape: ScoringShape) -> int:
    if usage.capacity == 0 or usage.requested > usage.capacity:
        return shape.score(FULL)
    return shape.score(_divided(_wrapped(usage.requested * FULL), usage.capacity))


def static_usage(
    bindings: Iterable[tuple[PersistentVolumeClaim, PersistentVolume]],
) -> dict[str, Usage]:
    """By class. The volume's field alone says which: the older annotation is not looked at."""
    usage: dict[str, Usage] = {}
    for claim, volume in bindings:
        name = volume.spec.storage_class_name
        so_far = usage.get(name, Usage(0, 0))
        usage[name] = Usage(
            _wrapped(so_far.requested + size_of(claim.spec.resources.requests).value),
            _wrapped(so_far.capacity + size_of(volume.spec.capacity).value),
        )
    return usage


def dynamic_usage(
    provisions: Iterable[tuple[PersistentVolumeClaim, CSIStorageCapacity | None]],
) -> dict[str, Usage]:
    """By class; claims of one class share its capacity. Claims without one are left out."""
    usage: dict[str, Usage] = {}
    for claim, capacity in provisions:
        if capacity is None or capacity.capacity is None:
            continue
        name = claim.spec.storage_class_name or claim.storage_class
        so_far = usage.get(name, Usage(0, 0))
        usage[name] = Usage(
            _wrapped(so_far.requested + size_of(claim.spec.resources.requests).value),
            parse_quantity(capacity.capacity).value,
        )
    return usage


def _divided(number: int, divisor: int) -> int:
    """Cut off towards zero."""
    quotient = abs(number) // abs(divisor)
    return quotient if (number < 0) == (divisor < 0) else -quotient


def _wrapped(number: int) -> int:
    """What 64 bits keep of a number."""
    return (number + 2**63) % 2**64 - 2**63


# All nodes at once

Numbers = NDArray[np.int64]
Part = tuple[str, int, Numbers | None]
"""A class, what is asked for, and by node how large the volume or the capacity is that it would be
taken from; negative: it would not, or that is not known."""


class UsageColumns:
    """The same for all nodes, by the shape."""

    def __init__(self, shape: ScoringShape | None) -> None:
        points = [shape.score(percent) if shape else 0 for percent in range(FULL + 1)]
        self._points = np.array(points, np.int64)

    def scores(self, static: Sequence[Part], dynamic: Sequence[Part], length: int) -> Numbers:
        """Where a claim gets a volume that exists only such volumes count."""
        existing = _summed(static)
        if not existing:
            return self._mean(_shared(dynamic), length)[0]
        scores, number = self._mean(existing, length)
        if np.logical_and.reduce(number):
            return scores
        return np.where(number > 0, scores, self._mean(_shared(dynamic), length)[0])

    def _mean(
        self, usage: dict[str, tuple[Numbers, Numbers]], length: int
    ) -> tuple[Numbers, Numbers]:
        """Over all classes that are used at a node, and how many these are."""
        if not usage:
            nothing = np.zeros(length, np.int64)
            return nothing, nothing
        if len(usage) == 1:
            requested, capacity = next(iter(usage.values()))
            number = (capacity >= 0).astype(np.int64)
            scores = self._class_score(requested, capacity)
            scores *= number
            return scores, number
        total, number = np.zeros(length, np.int64), np.zeros(length, np.int64)
        for requested, capacity in usage.values():
            is_used = capacity >= 0
            total += self._class_score(requested, capacity) * is_used
            number += is_used
        return (2 * total + number) // (2 * np.maximum(number, 1)), number

    def _class_score(self, requested: Numbers, capacity: Numbers) -> Numbers:
        # In place: for few nodes every array that is made takes as long as the sum.
        percent = requested * FULL
        percent //= np.maximum(capacity, 1)
        # A product that wrapped around is anything, as it is for kube-scheduler: the shape ends at
        # both sides with its first and its last score.
        np.maximum(percent, 0, out=percent)
        np.minimum(percent, FULL, out=percent)
        is_full = requested > capacity
        is_full |= capacity == 0
        percent[is_full] = FULL
        return self._points.take(percent)


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
    """New volumes of a class share its capacity: the last one's counts."""
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
