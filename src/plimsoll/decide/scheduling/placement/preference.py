"""What the annotations of a class, or of a pod, say about where new volumes should be placed.

An annotation that cannot be read counts as missing; `complaints` tells users which and why.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from plimsoll.api.sizes import parse_size
from plimsoll.decide.annotations import (
    HEADROOM,
    PLACEMENT,
    PLACEMENT_WEIGHT,
    STATIC_VOLUMES,
)

FULL = 100
MOST_WEIGHT = 10
MOST_SHOWN = 64
"""Characters of a value that cannot be read."""

T = TypeVar("T")


class PlacementDirection(StrEnum):
    SPREAD = "spread"
    """Where more free capacity is left, it is better."""
    PACK = "pack"
    """Where less is left."""


class StaticPreference(StrEnum):
    PREFER = "prefer"
    """A node where a volume exists for the claim comes before one where it has to be made."""
    SCORE = "score"
    """Only the scores count."""


@dataclass(frozen=True, slots=True)
class Headroom:
    """What new volumes should leave free: the larger of two numbers."""

    fixed_bytes: int = 0
    percent: int = 0
    """Of the capacity that is published before the volume."""

    def needed(self, capacity: NDArray[np.int64]) -> NDArray[np.int64]:
        """By slot, in bytes."""
        return np.maximum(capacity // FULL * self.percent, self.fixed_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementPreference:
    """Of one class, for one pod."""

    direction: PlacementDirection | None = None
    """None: as the shape of the profile says."""
    weight: int = 1
    """Of the capacity score, from 0 to 10."""
    headroom: Headroom | None = None
    static_volumes: StaticPreference = StaticPreference.PREFER


@dataclass(frozen=True, slots=True)
class PlacementOverride:
    """What a pod says in place of its classes."""

    direction: PlacementDirection | None = None
    weight: int | None = None

    def over(self, preference: PlacementPreference) -> PlacementPreference:
        return replace(
            preference,
            direction=preference.direction if self.direction is None else self.direction,
            weight=preference.weight if self.weight is None else self.weight,
        )


NO_PREFERENCE = PlacementPreference()


def parse_weight(text: str) -> int:
    """Raises ValueError."""
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(MOST_WEIGHT))
    if not is_number or int(text) > MOST_WEIGHT:
        raise ValueError(f"{text!r} is no whole number from 0 to {MOST_WEIGHT}")
    return int(text)


def parse_headroom(text: str) -> Headroom:
    """Raises ValueError."""
    number = text.removesuffix("%")
    if number == text:
        fixed_bytes = parse_size(text)
        if fixed_bytes < 0:
            raise ValueError(f"{text!r} is less than nothing")
        return Headroom(fixed_bytes=fixed_bytes)
    is_number = number.isascii() and number.isdigit() and len(number) <= len(str(FULL))
    if not is_number or int(number) > FULL:
        raise ValueError(f"{text!r} is no percentage from 0% to {FULL}%")
    return Headroom(percent=int(number))


class _Readable(NamedTuple):
    parse: Callable[[str], object]
    expected: str


FOR_PODS = {
    PLACEMENT: _Readable(PlacementDirection, "spread or pack"),
    PLACEMENT_WEIGHT: _Readable(parse_weight, f"a whole number from 0 to {MOST_WEIGHT}"),
}
FOR_CLASSES = {
    **FOR_PODS,
    HEADROOM: _Readable(parse_headroom, "a percentage such as 10%, or a size such as 20Gi"),
    STATIC_VOLUMES: _Readable(StaticPreference, "prefer or score"),
}


def find_class_preference(annotations: Mapping[str, str]) -> PlacementPreference | None:
    """None: the class prefers nothing in particular."""
    if annotations.keys().isdisjoint(FOR_CLASSES):
        return None
    static = _find(annotations, STATIC_VOLUMES, StaticPreference)
    weight = _find(annotations, PLACEMENT_WEIGHT, parse_weight)
    found = PlacementPreference(
        direction=_find(annotations, PLACEMENT, PlacementDirection),
        weight=NO_PREFERENCE.weight if weight is None else weight,
        headroom=_find(annotations, HEADROOM, parse_headroom),
        static_volumes=static or NO_PREFERENCE.static_volumes,
    )
    return None if found == NO_PREFERENCE else found


def find_override(annotations: Mapping[str, str]) -> PlacementOverride | None:
    """Of a pod; None: what its classes say counts."""
    if PLACEMENT not in annotations and PLACEMENT_WEIGHT not in annotations:
        return None
    direction = _find(annotations, PLACEMENT, PlacementDirection)
    weight = _find(annotations, PLACEMENT_WEIGHT, parse_weight)
    return None if direction is None and weight is None else PlacementOverride(direction, weight)


def class_complaints(annotations: Mapping[str, str]) -> tuple[str, ...]:
    """One sentence for each annotation of a class that cannot be read."""
    return _complaints(annotations, FOR_CLASSES)


def pod_complaints(annotations: Mapping[str, str]) -> tuple[str, ...]:
    """One sentence for each annotation of a pod that cannot be read."""
    return _complaints(annotations, FOR_PODS)


def _find(annotations: Mapping[str, str], name: str, parse: Callable[[str], T]) -> T | None:
    text = annotations.get(name)
    try:
        return None if text is None else parse(text)
    except ValueError:
        return None


def _complaints(
    annotations: Mapping[str, str], readable: Mapping[str, _Readable]
) -> tuple[str, ...]:
    return tuple(
        f"annotation {name} must be {each.expected}, not {annotations[name][:MOST_SHOWN]!r}; "
        "it is ignored"
        for name, each in readable.items()
        if name in annotations and _find(annotations, name, each.parse) is None
    )
