from datetime import UTC, datetime, timedelta

import pytest

from plimsoll.decide.scheduling.preemption.choice import PreemptionCriterion, best_of
from plimsoll.decide.scheduling.preemption.victims import Candidate
from tests.builders import a_pod
from tests.decide.scheduling.builders import ranked

START = datetime(2026, 1, 1, tzinfo=UTC)


def candidate(
    node: str, *priorities: int, violations: int = 0, minutes: int | None = 0
) -> Candidate:
    started = None if minutes is None else START + timedelta(minutes=minutes)
    pods = [
        ranked(a_pod(f"{node}-{number}"), priority, started=started)
        for number, priority in enumerate(priorities)
    ]
    return Candidate(node, tuple(pods), violations)


@pytest.mark.parametrize(
    ("better", "worse", "criterion"),
    [
        pytest.param(
            candidate("z", 9, 9),
            candidate("a", 1, violations=1),
            PreemptionCriterion.VIOLATIONS,
            id="fewest-protected-pods",
        ),
        pytest.param(
            candidate("z", 1, 1),
            candidate("a", 2),
            PreemptionCriterion.HIGHEST_PRIORITY,
            id="lowest-first-victim",
        ),
        pytest.param(
            candidate("z", 2, 1),
            candidate("a", 2, 2),
            PreemptionCriterion.SUM_OF_PRIORITIES,
            id="smallest-sum",
        ),
        pytest.param(
            candidate("z", 0),
            candidate("a", 0, -(2**31)),
            PreemptionCriterion.NUMBER_OF_VICTIMS,
            id="fewest-victims",
        ),
        pytest.param(
            candidate("z", 1, minutes=5),
            candidate("a", 1, minutes=0),
            PreemptionCriterion.LATEST_START,
            id="youngest-victims",
        ),
        pytest.param(
            candidate("z", 1, minutes=None),
            candidate("a", 1, minutes=0),
            PreemptionCriterion.LATEST_START,
            id="not-started",
        ),
    ],
)
def test_the_node_is_taken_where_preemption_hurts_least(
    better: Candidate, worse: Candidate, criterion: PreemptionCriterion
) -> None:
    best = best_of([worse, better])

    assert best.equal == (better,)
    assert best.decided_by is criterion


def test_of_equal_nodes_each_attempt_takes_another() -> None:
    best = best_of([candidate("b", 1), candidate("a", 1)])

    assert best.decided_by is None
    assert [best.at_turn(turn).node for turn in (0, 1, 2)] == ["a", "b", "a"]
