"""Keeps the status of PodDisruptionBudgets: `decide.cluster.disruption` for each."""

from collections.abc import Iterable
from datetime import timedelta
from typing import TypeVar

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.policy import PodDisruptionBudget
from plimsoll.api.workloads import Deployment, ReplicaSet, ReplicationController, StatefulSet
from plimsoll.cache.store import StoreChange
from plimsoll.decide.cluster.disruption import Controllers, decide_budget
from plimsoll.processes.controller.workloads.owners import (
    BY_NAMESPACE,
    namespace_of,
    readable_selector,
)
from plimsoll.reconcile.loop import Loop, Tools

R = TypeVar("R", Deployment, ReplicaSet, StatefulSet, ReplicationController)


class Disruption(Loop):
    name = "disruption"

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        observed = tools.observed
        self._budgets = observed.of(PodDisruptionBudget)
        self._budgets.index(BY_NAMESPACE, namespace_of)
        self._budgets.on_change(self.add_changed)
        self._pods = observed.of(Pod)
        self._pods.index(BY_NAMESPACE, namespace_of)
        self._pods.on_change(self._pod_changed)
        self._deployments = observed.of(Deployment)
        self._replica_sets = observed.of(ReplicaSet)
        self._stateful_sets = observed.of(StatefulSet)
        self._replication_controllers = observed.of(ReplicationController)
        self._deployments.on_change(self._workload_changed)
        self._replica_sets.on_change(self._workload_changed)
        self._stateful_sets.on_change(self._workload_changed)
        self._replication_controllers.on_change(self._workload_changed)

    # Which budgets have to be looked at

    def _pod_changed(self, change: StoreChange[Pod]) -> None:
        pods = [pod for pod in (change.before, change.after) if pod is not None]
        for budget in self._budgets_in(change.key.namespace):
            selector = readable_selector(budget.spec.selector)
            if any(selector.matches(pod.labels) for pod in pods):
                self.queue.add(budget.key)

    def _workload_changed(self, change: StoreChange[R]) -> None:
        """Percentages are of the pods that should be there."""
        before = change.before.spec.replicas if change.before is not None else None
        after = change.after.spec.replicas if change.after is not None else None
        if before != after:
            for budget in self._budgets_in(change.key.namespace):
                self.queue.add(budget.key)

    def _budgets_in(self, namespace: str) -> Iterable[PodDisruptionBudget]:
        return self._budgets.view().by(BY_NAMESPACE, namespace).values()

    # One budget

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        budget = self._budgets.view().get(key)
        if budget is None or budget.is_being_deleted:
            return None
        selector = readable_selector(budget.spec.selector)
        pods = self._pods.view().by(BY_NAMESPACE, key.namespace).values()
        selected = [pod for pod in pods if selector.matches(pod.labels)]
        controllers = Controllers(
            deployments=self._deployments.view().objects,
            replica_sets=self._replica_sets.view().objects,
            stateful_sets=self._stateful_sets.view().objects,
            replication_controllers=self._replication_controllers.view().objects,
        )
        now = self.tools.clock.now()
        await self.enact(key, decide_budget(budget, selected, controllers, now))
        return None
