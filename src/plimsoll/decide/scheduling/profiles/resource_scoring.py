"""How good it is to fill nodes, by which of their resources: NodeResourcesFit's scoring strategy.

The emptier the better, the fuller the better, or by a shape. Each resource has a weight. What a
node has none of is left out, and so are devices that the pod does not ask for.
"""

from dataclasses import dataclass
from enum import StrEnum

from plimsoll.decide.scheduling.pod_requests import CPU, MEMORY
from plimsoll.decide.scheduling.rules.volume_binding.score import FULL, ScoringShape

BALANCED = (CPU, MEMORY)


class Strategy(StrEnum):
    """Under kube-scheduler's names."""

    LEAST_ALLOCATED = "LeastAllocated"
    MOST_ALLOCATED = "MostAllocated"
    REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """Of one resource, after the pod has come."""

    name: str
    used: int
    all: int


@dataclass(frozen=True, slots=True)
class ResourceScoring:
    strategy: Strategy = Strategy.LEAST_ALLOCATED
    weights: tuple[tuple[str, int], ...] = ((CPU, 1), (MEMORY, 1))
    """By resource."""
    shape: ScoringShape | None = None
    """Only for the ratio."""

    def score(self, uses: list[ResourceUse]) -> int:
        """From 0 to 100."""
        weights = dict(self.weights)
        total = weight = 0
        for use in (use for use in uses if use.all):
            part = self._part(use)
            # By a shape, a resource that is worth nothing is left out of the mean.
            if part > 0 or self.shape is None:
                total += part * weights[use.name]
                weight += weights[use.name]
        if not weight:
            return 0
        # kube-scheduler rounds only here.
        return total // weight if self.shape is None else (2 * total + weight) // (2 * weight)

    def _part(self, use: ResourceUse) -> int:
        match self.strategy:
            case Strategy.LEAST_ALLOCATED:
                return 0 if use.used > use.all else (use.all - use.used) * FULL // use.all
            case Strategy.MOST_ALLOCATED:
                return min(use.used, use.all) * FULL // use.all
            case Strategy.REQUESTED_TO_CAPACITY_RATIO:
                percent = FULL if use.used > use.all else use.used * FULL // use.all
                return self.shape.score(percent) if self.shape else 0


LEAST_ALLOCATED = ResourceScoring()
