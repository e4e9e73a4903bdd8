"""Of all nodes that could be freed, the one where that hurts least.

Five criteria are asked one after the other; each looks only at the nodes that the ones before it
left equal. Of nodes that all five leave equal each attempt takes another.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from plimsoll.decide.scheduling.preemption.victims import Candidate, started_at

LOWEST_PRIORITY = -(2**31)


class PreemptionCriterion(StrEnum):
    """What told the nodes apart, in the order in which they are asked."""

    VIOLATIONS = "pdbViolations"
    HIGHEST_PRIORITY = "highestPriority"
    SUM_OF_PRIORITIES = "sumPriorities"
    NUMBER_OF_VICTIMS = "numVictims"
    LATEST_START = "latestStart"


@dataclass(frozen=True, slots=True)
class BestCandidates:
    equal: tuple[Candidate, ...]
    """At least one, in the order of the nodes' names."""
    decided_by: PreemptionCriterion | None
    """The last criterion that told nodes apart; None: none did."""

    def at_turn(self, turn: int) -> Candidate:
        return self.equal[turn % len(self.equal)]


def sum_of_priorities(candidate: Candidate) -> int:
    """Priorities may be negative; here every victim counts for something."""
    return sum(pod.priority - LOWEST_PRIORITY for pod in candidate.victims)


def earliest_start(candidate: Candidate) -> datetime:
    """When the first of the most important victims started."""
    highest = max(pod.priority for pod in candidate.victims)
    return min(started_at(pod) for pod in candidate.victims if pod.priority == highest)


def _latest_first(candidate: Candidate) -> float:
    return -earliest_start(candidate).timestamp()


MEASURES: dict[PreemptionCriterion, Callable[[Candidate], float]] = {
    PreemptionCriterion.VIOLATIONS: lambda candidate: candidate.violations,
    PreemptionCriterion.HIGHEST_PRIORITY: lambda candidate: candidate.victims[0].priority,
    PreemptionCriterion.SUM_OF_PRIORITIES: sum_of_priorities,
    PreemptionCriterion.NUMBER_OF_VICTIMS: lambda candidate: len(candidate.victims),
    PreemptionCriterion.LATEST_START: _latest_first,
}
"""The least is best."""


def best_of(candidates: Sequence[Candidate]) -> BestCandidates:
    """There must be one."""
    left, decided_by = sorted(candidates, key=lambda each: each.node), None
    for criterion, measure in MEASURES.items():
        measured = [(measure(each), each) for each in left]
        least = min(value for value, _ in measured)
        remaining = [each for value, each in measured if value == least]
        if len(remaining) < len(left):
            left, decided_by = remaining, criterion
        if len(left) == 1:
            break
    return BestCandidates(tuple(left), decided_by)
