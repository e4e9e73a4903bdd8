"""PodDisruptionBudgets, and which of the pods of a node their budgets do not allow to go."""

from collections.abc import Iterable
from dataclasses import dataclass

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.policy import PodDisruptionBudget
from plimsoll.api.selectors.label import NOTHING, LabelSelector
from plimsoll.decide.scheduling.columns.changes import Log


@dataclass(frozen=True, slots=True)
class PodBudget:
    """One PodDisruptionBudget, as preemption reads it."""

    key: ObjectKey
    selector: LabelSelector
    allowed: int
    disrupted: frozenset[str]
    """Pods that are counted as gone already, by name."""

    @classmethod
    def of(cls, budget: PodDisruptionBudget) -> "PodBudget":
        status = budget.status
        disrupted = frozenset(status.disrupted_pods)
        return cls(budget.key, _selector_of(budget), status.disruptions_allowed, disrupted)

    def covers(self, pod: Pod) -> bool:
        """Only a selector that asks for something covers pods, and only pods with labels."""
        is_selected = bool(pod.labels) and self.selector.matches(pod.labels)
        return is_selected and pod.name not in self.disrupted


def _selector_of(budget: PodDisruptionBudget) -> LabelSelector:
    try:
        selector = LabelSelector.of(budget.spec.selector)
    except ValueError:
        return NOTHING
    return NOTHING if selector.is_empty else selector


class DisruptionBudgets:
    def __init__(self) -> None:
        self._by_namespace: dict[str, dict[str, PodBudget]] = {}
        self.changes: Log[ObjectKey] = Log()
        """Budgets that allow another number of pods to go."""
        self.stamp = 0
        """Another number whenever budgets cover other pods."""

    def put(self, budget: PodDisruptionBudget) -> None:
        read, budgets = PodBudget.of(budget), self._by_namespace.setdefault(budget.namespace, {})
        old = budgets.get(budget.name)
        if old == read:
            return
        budgets[budget.name] = read
        self.changes.mark(budget.key)
        if old is None or old.selector != read.selector:
            self.stamp += 1

    def remove(self, key: ObjectKey) -> None:
        budgets = self._by_namespace.get(key.namespace, {})
        if budgets.pop(key.name, None) is not None:
            self.stamp += 1
        if not budgets:
            self._by_namespace.pop(key.namespace, None)

    @property
    def is_empty(self) -> bool:
        return not self._by_namespace

    def selecting(self, pod: Pod) -> list[ObjectKey]:
        """The budgets that are about the pod."""
        return [
            budget.key
            for budget in self._of(pod.namespace)
            if pod.labels and budget.selector.matches(pod.labels)
        ]

    def violated_by(self, pods: Iterable[Pod]) -> set[ObjectKey]:
        """Those that would go beyond a budget if all of these went, in this order.

        As in kube-scheduler a pod beyond one budget takes nothing of those that come after it, in
        the order of their names.
        """
        found: set[ObjectKey] = set()
        if self.is_empty:
            return found
        left: dict[ObjectKey, int] = {}
        for pod in pods:
            for budget in self._of(pod.namespace):
                if not budget.covers(pod):
                    continue
                left[budget.key] = left.get(budget.key, budget.allowed) - 1
                if left[budget.key] < 0:
                    found.add(pod.key)
                    break
        return found

    def _of(self, namespace: str) -> list[PodBudget]:
        return [budget for _, budget in sorted(self._by_namespace.get(namespace, {}).items())]

    def fork(self) -> "DisruptionBudgets":
        twin = DisruptionBudgets()
        twin._by_namespace = {name: each.copy() for name, each in self._by_namespace.items()}
        twin.stamp, twin.changes = self.stamp, self.changes.fork()
        return twin
