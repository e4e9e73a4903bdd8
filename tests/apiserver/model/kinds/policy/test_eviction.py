from datetime import UTC, datetime

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.policy.eviction import spent_budget
from plimsoll.apiserver.model.status import ApiError

NOW = datetime(2024, 1, 1, tzinfo=UTC)
POD: Document = {
    "metadata": {"name": "web", "labels": {"app": "web"}},
    "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
}


def a_budget(selector: Document | None, **status: object) -> Document:
    counted = {"disruptionsAllowed": 2, "observedGeneration": 1} | status
    spec = {} if selector is None else {"selector": selector}
    return {"metadata": {"name": "b", "generation": 1}, "spec": spec, "status": counted}


def test_a_budget_is_spent_and_its_condition_stays_while_some_is_left() -> None:
    spent = spent_budget(POD, [a_budget({})], NOW)

    assert spent is not None
    assert spent["status"]["disruptionsAllowed"] == 1
    assert spent["status"]["disruptedPods"] == {"web": "2024-01-01T00:00:00Z"}
    assert "conditions" not in spent["status"]


def test_a_budget_without_a_selector_guards_nothing() -> None:
    assert spent_budget(POD, [a_budget(None)], NOW) is None
    assert spent_budget(POD, [a_budget({"matchLabels": {"app": "db"}})], NOW) is None


def test_too_many_evictions_that_nothing_counted_are_refused() -> None:
    waiting = {f"pod-{number}": "2024-01-01T00:00:00Z" for number in range(2001)}
    with pytest.raises(ApiError, match="DisruptedPods map too big"):
        spent_budget(POD, [a_budget({}, disruptedPods=waiting)], NOW)
