"""The control loop of ReplicaSets; its decisions are in `decide/workloads/replica_set.py`."""

from collections.abc import Iterator
from datetime import timedelta

from plimsoll.api.pods import Pod
from plimsoll.api.selectors.label import LabelSelector
from plimsoll.api.workloads import ReplicaSet
from plimsoll.decide.workloads.availability import is_active
from plimsoll.decide.workloads.owned import REPLICA_SET
from plimsoll.decide.workloads.replica_set import (
    ReplicaSetView,
    decide_replica_set,
    decide_replica_set_report,
)
from plimsoll.enact.enactor import Obstacle
from plimsoll.processes.controller.workloads.owners import (
    BY_CONTROLLER,
    OwnerLoop,
    controller_of,
    readable_selector,
)
from plimsoll.reconcile.loop import Tools
from plimsoll.runtime.ids import Ids


def suffixes(ids: Ids) -> Iterator[str]:
    """Endings for the names of new pods."""
    while True:
        yield ids.suffix()


class ReplicaSets(OwnerLoop[ReplicaSet, Pod]):
    name = "replicaset"
    workload = REPLICA_SET

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools, ReplicaSet, Pod)
        self._owners.index(BY_CONTROLLER, controller_of)

    def selector(self, owner: ReplicaSet) -> LabelSelector:
        return readable_selector(owner.spec.selector)

    def is_candidate(self, object_: Pod) -> bool:
        return is_active(object_)

    async def tend(self, owner: ReplicaSet) -> timedelta | None:
        members = self.members_of(owner)
        if not await self.settle_ownership(owner, members):
            return None
        seen = ReplicaSetView(
            active=members.members,
            leaving=self._leaving(owner),
            related=self._related(owner),
            now=self.tools.clock.now(),
        )
        plan = decide_replica_set(owner, seen, suffixes(self.tools.ids))
        failure = await self.carry_out(owner, plan)
        problem = failure.error.message if isinstance(failure, Obstacle) else ""
        report = decide_replica_set_report(owner, seen, problem=problem)
        failure = await self.carry_out(owner, report) or failure
        self.finish(owner, failure)
        return report.recheck_after

    def _own(self, owner: ReplicaSet) -> tuple[Pod, ...]:
        found = self._owned.view().by(BY_CONTROLLER, owner.uid).values()
        return tuple(map(self._deletions.applied, found))

    def _leaving(self, owner: ReplicaSet) -> tuple[Pod, ...]:
        selector = self.selector(owner)
        return tuple(
            pod
            for pod in self._own(owner)
            if pod.is_being_deleted and not pod.is_finished and selector.matches(pod.labels)
        )

    def _related(self, owner: ReplicaSet) -> tuple[Pod, ...]:
        """The pods of all sets that have the same owner: those of a Deployment are one group."""
        controller = owner.metadata.controller
        if controller is None:
            return self._own(owner)
        siblings = self._owners.view().by(BY_CONTROLLER, controller.uid).values()
        return tuple(pod for sibling in siblings for pod in self._own(sibling))
