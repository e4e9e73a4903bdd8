"""How well all nodes spread a pod, at once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plimsoll.decide.scheduling.columns.domains import NO_DOMAIN
from plimsoll.decide.scheduling.columns.nodes import Slots
from plimsoll.decide.scheduling.rules.pod_topology_spread.constraints import SpreadConstraint
from plimsoll.decide.scheduling.rules.pod_topology_spread.counted_nodes import (
    NO_SLOTS,
    ConstraintColumns,
    MatchingPods,
)
from plimsoll.decide.scheduling.rules.pod_topology_spread.places import NOWHERE, SpreadPlaces
from plimsoll.decide.scheduling.rules.pod_topology_spread.score import BEST, WEIGHT, weight_of

Numbers = NDArray[np.int64]
Parts = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ScoreRows:
    """A row for each place, about its nodes without matching pods, and then one for each node that
    has some."""

    places: Numbers
    """By row, the number of the place."""
    slots: Slots
    """Those of the nodes that have rows of their own."""

    @property
    def first_slot(self) -> int:
        """All rows before are about places."""
        return len(self.places) - len(self.slots)

    def spread(self, by_place: Numbers, at_slots: Numbers, numbers: Numbers) -> Numbers:
        """By slot, given what holds for each place and for each node with a row of its own."""
        found = by_place.take(numbers)
        found[self.slots] = at_slots
        return found


@dataclass(frozen=True, slots=True)
class SpreadScore:
    """Implements RuleScore."""

    soft: ConstraintColumns
    pods: Sequence[MatchingPods]
    """For each constraint."""
    places: SpreadPlaces

    def weighted(self, is_feasible: NDArray[np.bool_]) -> Numbers:
        population, rows = self._population(is_feasible), self._rows()
        raw = self._raw(rows, population)
        lowest, highest = self._range(rows, raw, population, is_feasible)
        scores = _normalized(raw, lowest, highest)
        scores[NOWHERE] = 0
        return rows.spread(
            scores[: rows.first_slot], scores[rows.first_slot :], self.places.numbers
        )

    def _population(self, is_feasible: NDArray[np.bool_]) -> Numbers:
        """By place, how many nodes of it will do."""
        places = self.places
        if 2 * np.count_nonzero(is_feasible) < len(is_feasible):
            population = places.count(is_feasible.nonzero()[0])
        else:
            population = places.population - places.count((~is_feasible).nonzero()[0])
        population[NOWHERE] = 0
        return population

    def _rows(self) -> ScoreRows:
        numbers = self.places.numbers
        slots = self._single_slots()
        slots = slots[numbers[slots] != NOWHERE]
        return ScoreRows(np.concatenate((np.arange(self.places.limit), numbers[slots])), slots)

    def _single_slots(self) -> Slots:
        """The nodes that matter one by one: the others of a place are alike."""
        found = NO_SLOTS
        for constraint, pods in zip(self.soft.constraints, self.pods, strict=True):
            if constraint.is_by_node and pods.slots is not found:
                found = np.union1d(found, pods.slots) if len(found) else pods.slots
        return found

    def _raw(self, rows: ScoreRows, population: Numbers) -> Numbers:
        """By row, the smaller, the better."""
        total = np.zeros(len(rows.places))
        for number, constraint in enumerate(self.soft.constraints):
            if constraint.is_by_node:
                total += self._by_node(number, constraint, rows, population)
            else:
                total += self._by_domain(number, constraint, rows, population)
        whole = np.floor(total)
        # To the nearest whole number, upwards from the middle.
        return (whole + (total - whole >= 0.5)).astype(np.int64)  # noqa: PLR2004  the middle

    def _by_node(
        self, number: int, constraint: SpreadConstraint, rows: ScoreRows, population: Numbers
    ) -> Parts:
        parts = np.zeros(len(rows.places))
        parts[rows.first_slot :] = self.pods[number].counts[rows.slots]
        parts *= weight_of(int(population.sum()))
        parts += constraint.max_skew - 1
        domains = self.places.domains[constraint.topology_key]
        return np.where(domains[rows.places] == NO_DOMAIN, 0.0, parts)

    def _by_domain(
        self, number: int, constraint: SpreadConstraint, rows: ScoreRows, population: Numbers
    ) -> Parts:
        domains = self.places.domains[constraint.topology_key]
        # No domain counts as one domain more.
        weight = weight_of(len(set(domains[population > 0].tolist())))
        parts = np.zeros(self.soft.nodes[number].domains.limit + 1)
        parts[:NO_DOMAIN] = self.soft.nodes[number].sums(self.pods[number])
        parts[:NO_DOMAIN] *= weight
        parts[:NO_DOMAIN] += constraint.max_skew - 1
        # The number of no domain is -1, which finds the last value.
        found: Parts = parts[domains[rows.places]]
        return found

    def _range(
        self, rows: ScoreRows, raw: Numbers, population: Numbers, is_feasible: NDArray[np.bool_]
    ) -> tuple[int, int]:
        """The best and the worst of nodes that will do and are scored."""
        is_single = is_feasible[rows.slots]
        at = rows.places[rows.first_slot :][is_single]
        is_met = population > np.bincount(at, minlength=len(population))
        found = raw[np.concatenate((is_met, is_single))]
        return (int(found.min()), int(found.max())) if len(found) else (0, 0)


def _normalized(raw: Numbers, lowest: int, highest: int) -> Numbers:
    """From 0 to 100 times the rule's weight, the larger the better."""
    if highest == 0:
        return np.full(len(raw), WEIGHT * BEST, np.int64)
    return BEST * (highest + lowest - raw) // highest * WEIGHT
