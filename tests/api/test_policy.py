from plimsoll.api.policy import PodDisruptionBudget
from plimsoll.api.typed import decode


def test_a_budget_counts_pods_or_percents() -> None:
    raw = b'{"spec":{"minAvailable":2,"maxUnavailable":"30%"},"status":{"disruptionsAllowed":1}}'
    budget = decode(PodDisruptionBudget, raw)
    assert (budget.spec.min_available, budget.spec.max_unavailable) == (2, "30%")
    assert budget.status.disruptions_allowed == 1


def test_a_pod_that_is_being_disrupted_is_remembered_with_its_time() -> None:
    raw = b'{"status":{"disruptedPods":{"web-0":"2030-01-01T00:00:00Z","web-1":null}}}'
    assert set(decode(PodDisruptionBudget, raw).status.disrupted_pods) == {"web-0", "web-1"}
