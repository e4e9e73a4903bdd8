"""Numbers as kube-scheduler works them out."""

import pytest

from plimsoll.decide.scheduling.profiles.resource_scoring import (
    ResourceScoring,
    ResourceUse,
    Strategy,
)
from plimsoll.decide.scheduling.rules.volume_binding.score import Point, ScoringShape

TWICE_CPU = (("cpu", 2), ("memory", 1))
FULLER = ScoringShape((Point(0, 0), Point(100, 10)))


@pytest.mark.parametrize(
    ("scoring", "expected"),
    [
        pytest.param(ResourceScoring(), (75 + 50) // 2, id="the-emptier-the-better"),
        pytest.param(
            ResourceScoring(Strategy.MOST_ALLOCATED), (25 + 50) // 2, id="the-fuller-the-better"
        ),
        pytest.param(ResourceScoring(weights=TWICE_CPU), (2 * 75 + 50) // 3, id="one-counts-twice"),
        pytest.param(
            ResourceScoring(Strategy.REQUESTED_TO_CAPACITY_RATIO, TWICE_CPU, FULLER),
            round((2 * 25 + 50) / 3),
            id="by-a-shape",
        ),
    ],
)
def test_strategies_of_kube_scheduler(scoring: ResourceScoring, expected: int) -> None:
    assert scoring.score([ResourceUse("cpu", 1, 4), ResourceUse("memory", 2, 4)]) == expected


def test_what_a_node_has_none_of_is_left_out() -> None:
    uses = [ResourceUse("cpu", 1, 0), ResourceUse("memory", 1, 4)]
    assert ResourceScoring().score(uses) == 75
    assert ResourceScoring().score(uses[:1]) == 0


def test_by_a_shape_a_resource_that_is_worth_nothing_is_left_out() -> None:
    scoring = ResourceScoring(Strategy.REQUESTED_TO_CAPACITY_RATIO, TWICE_CPU, FULLER)
    assert scoring.score([ResourceUse("cpu", 0, 4), ResourceUse("memory", 2, 4)]) == 50
