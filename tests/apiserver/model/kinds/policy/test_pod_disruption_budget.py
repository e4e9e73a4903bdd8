from typing import Any

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.policy.pod_disruption_budget import RULES
from tests.apiserver.model.kinds.pods.objects import NOW, causes


def a_budget(**spec: Any) -> Document:
    return {"metadata": {"name": "b"}, "spec": spec}


def test_a_new_budget_allows_nothing_yet() -> None:
    budget = a_budget(minAvailable=1) | {"status": {"disruptionsAllowed": 5}}

    RULES.prepare_create(budget, NOW)

    assert budget["status"] == {
        "currentHealthy": 0,
        "desiredHealthy": 0,
        "disruptionsAllowed": 0,
        "expectedPods": 0,
    }


@pytest.mark.parametrize(
    ("spec", "refused"),
    [
        pytest.param({"minAvailable": 1, "maxUnavailable": 1}, ("Invalid", "spec"), id="both"),
        pytest.param({"minAvailable": -1}, ("Invalid", "spec.minAvailable"), id="negative"),
        pytest.param({"maxUnavailable": "101%"}, ("Invalid", "spec.maxUnavailable"), id="share"),
        pytest.param(
            {"unhealthyPodEvictionPolicy": "X"},
            ("NotSupported", "spec.unhealthyPodEvictionPolicy"),
            id="policy",
        ),
        pytest.param(
            {"selector": {"matchLabels": {"a": "b c"}}},
            ("Invalid", "spec.selector.matchLabels"),
            id="selector",
        ),
    ],
)
def test_a_budget_with_one_fault_is_refused_for_it_alone(
    spec: dict[str, Any], refused: tuple[str, str]
) -> None:
    assert causes(RULES.validate(a_budget(**spec))) == {refused: 1}


def test_an_empty_budget_is_accepted() -> None:
    assert not causes(RULES.validate({"metadata": {"name": "b"}}))


def test_conditions_say_since_when_and_why() -> None:
    new = a_budget() | {"status": {"disruptionsAllowed": -1, "conditions": [{"type": "A"}]}}
    where = "status.conditions[0]"

    assert causes(RULES.validate_status(new, a_budget())) == {
        ("Invalid", "status.disruptionsAllowed"): 1,
        ("NotSupported", f"{where}.status"): 1,
        ("Required", f"{where}.lastTransitionTime"): 1,
        ("Required", f"{where}.reason"): 1,
    }
