"""Which of the nodes that would do is best for a pod's volumes: the one that is used least full.

The shape says how good it is to fill storage to some percentage; between its points the value is
interpolated. By default the emptier the better. Where a static volume was found it alone counts,
as part of what the volume holds; what would have to be provisioned counts as part of the capacity
that was published for the class. All numbers are kube-scheduler's, cut off and wrapped around where
its 64-bit arithmetic is.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from plimsoll.api.quantity import parse_quantity
from plimsoll.api.storage import CSIStorageCapacity
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.claims.match import size_of

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
