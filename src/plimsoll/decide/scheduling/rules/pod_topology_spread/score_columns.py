"""How well all nodes spread a pod, at once."""

import math
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

FEW = 64
"""Up to so many rows, counted once for each constraint, plain numbers are faster than arrays."""
MIDDLE = 0.5


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
        rows = self.places.limit + sum(len(pods.slots) for pods in self.pods)
        return self.of_few(is_feasible) if rows <= FEW else self.of_many(is_feasible)

    def of_few(self, is_feasible: NDArray[np.bool_]) -> Numbers:
        """With plain numbers: a place, and a node with pods, is a row each."""
        numbers, limit = self.places.numbers, self.places.limit
        population: list[int] = self._population(is_feasible).tolist()
        slots = self._single_slots()
        at: list[int] = numbers.take(slots).tolist()
        rows = [*range(limit), *at]
        totals = self._totals(population, slots, rows)
        raw = [math.floor(total) + (total % 1 >= MIDDLE) for total in totals]
        left, is_alone = [*population], is_feasible.take(slots).tolist()
        for place, is_met in zip(at, is_alone, strict=True):
            left[place] -= is_met
        found = [
            value
            for value, place, is_met in zip(raw, rows, (*left, *is_alone), strict=True)
            if is_met > 0 and place != NOWHERE
        ]
        lowest, highest = min(found, default=0), max(found, default=0)
        scores = [
            _score(value, lowest, highest) if place != NOWHERE else 0
            for value, place in zip(raw, rows, strict=True)
        ]
        spread = np.array(scores[:limit], np.int64).take(numbers)
        spread[slots] = scores[limit:]
        return spread

    def _totals(self, population: list[int], slots: Slots, rows: list[int]) -> list[float]:
        """By row, which are the places, followed by the place of each of these nodes."""
        totals, elsewhere = [0.0] * len(rows), [0] * self.places.limit
        for number, constraint in enumerate(self.soft.constraints):
            domains: list[int] = self.places.domains[constraint.topology_key].tolist()
            counts: list[int] = self.pods[number].counts.take(slots).tolist()
            if constraint.is_by_node:
                weight = weight_of(sum(population))
                pods = [*elsewhere, *counts]
            else:
                # No domain counts as one domain more.
                met = {domains[place] for place, nodes in enumerate(population) if nodes > 0}
                weight = weight_of(len(met))
                sums = self.soft.nodes[number].sums_by_domain(self.pods[number])
                pods = [sums.get(domains[place], 0) for place in rows]
            more = constraint.max_skew - 1
            for row, place in enumerate(rows):
                if domains[place] != NO_DOMAIN:
                    totals[row] += pods[row] * weight + more
        return totals

    def of_many(self, is_feasible: NDArray[np.bool_]) -> Numbers:
        """The same with arrays."""
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
        numbers, slots = self.places.numbers, self._single_slots()
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
        return (whole + (total - whole >= MIDDLE)).astype(np.int64)

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


def _score(raw: int, lowest: int, highest: int) -> int:
    """From 0 to 100 times the rule's weight, the larger the better."""
    return BEST * (highest + lowest - raw) // highest * WEIGHT if highest else WEIGHT * BEST


def _normalized(raw: Numbers, lowest: int, highest: int) -> Numbers:
    """The same for many."""
    if highest == 0:
        return np.full(len(raw), WEIGHT * BEST, np.int64)
    return BEST * (highest + lowest - raw) // highest * WEIGHT
