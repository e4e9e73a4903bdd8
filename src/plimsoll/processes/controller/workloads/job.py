"""The control loop of Jobs; its decisions are in `decide/workloads/job/`.

Pods whose job is gone are let go of: only the finalizer that waits to be counted would keep them.
"""

from collections.abc import Iterable
from datetime import timedelta

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.selectors.label import LabelSelector
from plimsoll.api.workloads import Job
from plimsoll.cache.store import StoreChange
from plimsoll.decide.plan import Plan
from plimsoll.decide.workloads.job.job import decide_job
from plimsoll.decide.workloads.job.pods import is_tracked, without_finalizer
from plimsoll.decide.workloads.owned import JOB
from plimsoll.processes.controller.workloads.owners import OwnerLoop, readable_selector
from plimsoll.processes.controller.workloads.replica_set import suffixes
from plimsoll.reconcile.loop import Tools

BY_JOB = "job"
NAME_LABELS = ("batch.kubernetes.io/job-name", "job-name")


def job_of(pod: Pod) -> Iterable[str]:
    """The name of the job that a pod was made for, as long as it waits to be counted."""
    name = _job_name(pod) if is_tracked(pod) else ""
    return (str(ObjectKey(pod.namespace, name)),) if name else ()


def _job_name(pod: Pod) -> str:
    controller = pod.metadata.controller
    if controller is not None:
        return controller.name if JOB.owns(controller) else ""
    return next((pod.labels[label] for label in NAME_LABELS if label in pod.labels), "")


class Jobs(OwnerLoop[Job, Pod]):
    name = "job"
    workload = JOB

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools, Job, Pod)
        self._owned.index(BY_JOB, job_of)
        self._owned.on_change(self._pod_changed)

    def _pod_changed(self, change: StoreChange[Pod]) -> None:
        if change.after is not None and is_tracked(change.after):
            name = _job_name(change.after)
            if name:
                self.queue.add(ObjectKey(change.key.namespace, name))

    def selector(self, owner: Job) -> LabelSelector:
        return readable_selector(owner.spec.selector)

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        job = self._owners.view().get(key)
        left = self._left_behind(key, job)
        if left:
            await self._let_go(key, left)
        return None if job is None else await self.tend(job)

    def _left_behind(self, key: ObjectKey, job: Job | None) -> list[Pod]:
        pods = self._owned.view().by(BY_JOB, str(key)).values()
        return [pod for pod in pods if job is None or not self._belongs(job, pod)]

    def _belongs(self, job: Job, pod: Pod) -> bool:
        controller = pod.metadata.controller
        if controller is not None:
            return controller.uid == job.uid
        return self.selector(job).matches(pod.labels)

    async def _let_go(self, key: ObjectKey, pods: list[Pod]) -> None:
        """The watch may lag: a pod is given up only after asking the server."""
        fresh = await self.tools.client.find(self._owners.kind, key)
        lost = [pod for pod in pods if fresh is None or not self._belongs(fresh, pod)]
        plan = Plan(reason="JobIsGone", writes=tuple(map(without_finalizer, lost)))
        await self.enact(key, plan)

    async def tend(self, owner: Job) -> timedelta | None:
        members = self.members_of(owner)
        if not await self.settle_ownership(owner, members):
            return None
        now = self.tools.clock.now()
        steps = decide_job(owner, members.members, suffixes(self.tools.ids), now)
        failure = await self.carry_out(owner, steps.act)
        failure = await self.carry_out(owner, steps.report) or failure
        self.finish(owner, failure)
        return steps.report.recheck_after
