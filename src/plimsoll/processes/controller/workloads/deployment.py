"""The control loop of Deployments; its decisions are in `decide/workloads/deployment/`."""

from datetime import timedelta

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.selectors.label import LabelSelector
from plimsoll.api.workloads import Deployment, ReplicaSet
from plimsoll.cache.store import StoreChange
from plimsoll.decide.plan import Create, Emit, Write
from plimsoll.decide.workloads.deployment.deployment import (
    DeploymentView,
    decide_deployment,
    decide_failed_set,
)
from plimsoll.decide.workloads.owned import DEPLOYMENT, REPLICA_SET, REPLICA_SETS
from plimsoll.enact.enactor import Obstacle, Overtaken
from plimsoll.processes.controller.workloads.owners import (
    BY_CONTROLLER,
    OwnerLoop,
    controller_of,
    readable_selector,
)
from plimsoll.reconcile.loop import Tools


class Deployments(OwnerLoop[Deployment, ReplicaSet]):
    name = "deployment"
    workload = DEPLOYMENT
    owned = REPLICA_SETS

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools, Deployment, ReplicaSet)
        self._pods = tools.observed.of(Pod)
        self._pods.index(BY_CONTROLLER, controller_of)
        self._pods.on_change(self._pod_changed)

    def _pod_changed(self, change: StoreChange[Pod]) -> None:
        """One that is gone may have been the last that a new one had to wait for."""
        before, after = change.before, change.after
        if before is None or (after is not None and not after.is_finished):
            return
        controller = before.metadata.controller
        if controller is None or not REPLICA_SET.owns(controller):
            return
        set_ = self._owned.view().get(ObjectKey(change.key.namespace, controller.name))
        owner = set_.metadata.controller if set_ is not None else None
        if owner is not None and DEPLOYMENT.owns(owner):
            self.queue.add(ObjectKey(change.key.namespace, owner.name))

    def selector(self, owner: Deployment) -> LabelSelector:
        return readable_selector(owner.spec.selector)

    async def tend(self, owner: Deployment) -> timedelta | None:
        members = self.members_of(owner)
        if not await self.settle_ownership(owner, members):
            return None
        pods = self._pods.view()
        seen = DeploymentView(
            sets=members.members,
            named=self._owned.view().objects,
            pods={s.uid: tuple(pods.by(BY_CONTROLLER, s.uid).values()) for s in members.members},
            now=self.tools.clock.now(),
        )
        steps = decide_deployment(owner, seen)
        failure = await self.carry_out(owner, steps.act)
        if failure is None:
            failure = await self.carry_out(owner, steps.report)
        else:
            await self._report_failure(owner, failure)
        self.finish(owner, failure)
        return steps.report.recheck_after

    async def _report_failure(self, owner: Deployment, failure: Overtaken | Obstacle) -> None:
        if not isinstance(failure, Obstacle) or not isinstance(failure.write, Create):
            return
        name, now = failure.write.key.name, self.tools.clock.now()
        plan = decide_failed_set(owner, name, failure.error.message, now)
        await self.carry_out(owner, plan)

    def complaint(self, owner: Deployment, write: Write, problem: str) -> Emit | None:  # noqa: ARG002 - the report of the failure says it
        return None
