"""Nodes that are in the same domains by several labels are in one place, and spread pods alike.

There are far fewer places than nodes, so that scores are worked out for places, and for the few
nodes that have matching pods.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from plimsoll.decide.scheduling.columns.changes import KeptResults
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.domains import NO_DOMAIN
from plimsoll.decide.scheduling.columns.nodes import Slots, mask_of
from plimsoll.decide.scheduling.rules.pod_topology_spread.constraints import HOSTNAME

NOWHERE = 0
KEPT_PLACES = 64

PlaceKeys = tuple[tuple[str, ...], bool]
"""The labels, and whether a node needs all of them."""


@dataclass(frozen=True, slots=True)
class SpreadPlaces:
    numbers: NDArray[np.int64]
    """By slot; NOWHERE where there is no node, or one that lacks a label that it needs."""
    limit: int
    """All numbers are smaller."""
    population: NDArray[np.int64]
    """By place, how many nodes are there; none are NOWHERE."""
    domains: dict[str, NDArray[np.int64]]
    """By label: by place, the number of the domain that it is in, or NO_DOMAIN. For the hostname
    only whether nodes of the place have one is worth something."""

    def count(self, slots: Slots) -> NDArray[np.int64]:
        """By place, how many of these slots are there."""
        return np.bincount(self.numbers[slots], minlength=self.limit)

    @classmethod
    def of(cls, keys: Sequence[str], needed: int, columns: Columns) -> Self:
        """`needed` are the nodes that have all labels that they need, as bits."""
        found = {key: _domain_numbers(key, columns) for key in dict.fromkeys(keys)}
        combined = (~mask_of(needed, columns.index.size)).astype(np.int64)
        for numbers in found.values():
            base = int(numbers.max(initial=NO_DOMAIN)) + 2
            combined = np.unique(combined, return_inverse=True)[1] * base + numbers + 1
        _, examples, places = np.unique(combined, return_index=True, return_inverse=True)
        numbers = np.where(mask_of(needed, columns.index.size), places + 1, NOWHERE)
        return cls(
            numbers,
            len(examples) + 1,
            _population(numbers, len(examples) + 1),
            {key: np.append(NO_DOMAIN, each[examples]) for key, each in found.items()},
        )


def _population(numbers: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    found = np.bincount(numbers, minlength=limit)
    found[NOWHERE] = 0
    return found


def _domain_numbers(key: str, columns: Columns) -> NDArray[np.int64]:
    if key == HOSTNAME:
        return np.where(columns.domains.of(key).numbers == NO_DOMAIN, NO_DOMAIN, 0)
    return columns.domains.of(key).numbers


class KeptPlaces:
    """For all pods that are spread by the same labels."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._kept: KeptResults[PlaceKeys, tuple[int, SpreadPlaces]] = KeptResults(KEPT_PLACES)

    def of(self, keys: tuple[str, ...], *, needs_all: bool) -> SpreadPlaces:
        columns = self._columns
        stamp, places = self._kept.get((keys, needs_all), (-1, None))
        if places is None or stamp != columns.stamp or len(places.numbers) != columns.index.size:
            needed = columns.index.alive
            for key in keys if needs_all else ():
                needed &= columns.labels.having(key)
            places = SpreadPlaces.of(keys, needed, columns)
            self._kept.keep((keys, needs_all), (columns.stamp, places))
        return places
