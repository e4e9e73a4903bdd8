import msgspec

from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.pods.budgets import DisruptionBudgets
from tests.builders import a_pod
from tests.decide.scheduling.builders import a_budget

WEB = {"app": "web"}


def names_beyond(budgets: DisruptionBudgets, *pods: Pod) -> set[str]:
    return {key.name for key in budgets.violated_by(pods)}


def two_pods() -> tuple[Pod, Pod]:
    return a_pod("web-0", labels=WEB), a_pod("web-1", labels=WEB)


def test_pods_go_beyond_a_budget_once_it_is_used_up() -> None:
    budgets = DisruptionBudgets()
    budgets.put(a_budget(labels=WEB, allowed=1))

    assert names_beyond(budgets, *two_pods()) == {"web-1"}


def test_pods_of_another_namespace_and_without_labels_are_not_covered() -> None:
    budgets = DisruptionBudgets()
    budgets.put(a_budget(labels=WEB))

    assert not names_beyond(budgets, a_pod(namespace="other", labels=WEB), a_pod())


def test_a_budget_whose_selector_asks_for_nothing_covers_no_pod() -> None:
    budgets = DisruptionBudgets()
    budgets.put(a_budget(labels={}))

    assert not names_beyond(budgets, *two_pods())


def test_a_pod_that_is_counted_as_gone_costs_nothing_more() -> None:
    budgets, budget = DisruptionBudgets(), a_budget(labels=WEB)
    status = msgspec.structs.replace(budget.status, disrupted_pods={"web-0": None})
    budgets.put(msgspec.structs.replace(budget, status=status))

    assert names_beyond(budgets, *two_pods()) == {"web-1"}


def test_a_pod_beyond_one_budget_takes_nothing_of_the_next() -> None:
    budgets = DisruptionBudgets()
    budgets.put(a_budget("a", labels={"app": "web", "tier": "front"}))
    budgets.put(a_budget("b", labels=WEB, allowed=1))
    front = a_pod("web-0", labels={"app": "web", "tier": "front"})

    assert names_beyond(budgets, front, a_pod("web-1", labels=WEB)) == {"web-0"}


def test_a_budget_that_is_gone_protects_no_pod() -> None:
    budgets, budget = DisruptionBudgets(), a_budget(labels=WEB)
    budgets.put(budget)
    stamp, twin = budgets.stamp, budgets.fork()

    budgets.remove(budget.key)

    assert not names_beyond(budgets, *two_pods())
    assert names_beyond(twin, *two_pods()) == {"web-0", "web-1"}
    assert budgets.stamp != stamp
