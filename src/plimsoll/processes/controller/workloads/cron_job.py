"""The control loop of CronJobs; its decisions are in `decide/workloads/cron_job/`."""

from datetime import timedelta

from plimsoll.api.meta import ObjectKey
from plimsoll.api.workloads import CronJob, Job
from plimsoll.cache.store import StoreChange
from plimsoll.decide.plan import Create, Plan
from plimsoll.decide.workloads.cron_job.cron_job import decide_cron_job
from plimsoll.decide.workloads.owned import CRON_JOB, warned
from plimsoll.enact.enactor import Done, Obstacle
from plimsoll.processes.controller.workloads.owners import BY_CONTROLLER, controller_of
from plimsoll.reconcile.loop import Loop, Tools

WATCH_LAG = timedelta(seconds=1)


class CronJobs(Loop):
    name = "cronjob"

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._cron_jobs = tools.observed.of(CronJob)
        self._cron_jobs.on_change(self.add_changed)
        self._jobs = tools.observed.of(Job)
        self._jobs.index(BY_CONTROLLER, controller_of)
        self._jobs.on_change(self._job_changed)

    def _job_changed(self, change: StoreChange[Job]) -> None:
        for job in (change.before, change.after):
            controller = job.metadata.controller if job is not None else None
            if controller is not None and CRON_JOB.owns(controller):
                self.queue.add(ObjectKey(change.key.namespace, controller.name))

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        cron_job = self._cron_jobs.view().get(key)
        if cron_job is None:
            return None
        jobs = list(self._jobs.view().by(BY_CONTROLLER, cron_job.uid).values())
        if await self._has_unseen_job(cron_job, jobs):
            return WATCH_LAG
        plan = decide_cron_job(cron_job, jobs, self.tools.clock.now())
        outcome = await self.enact(key, plan)
        if isinstance(outcome, Obstacle) and isinstance(outcome.write, Create):
            await self._complain(cron_job, outcome)
        if isinstance(outcome, Done) and any(isinstance(w, Create) for w in plan.writes):
            # The new job is seen already; that it was started must be in the status soon.
            self.queue.add(key)
        return None

    async def _has_unseen_job(self, cron_job: CronJob, jobs: list[Job]) -> bool:
        """A running job may be missing only because the watch lags. To take it for gone would start
        a second one where that is forbidden."""
        seen = {job.uid for job in jobs}
        for reference in cron_job.status.active:
            if reference.uid not in seen:
                found = await self.tools.client.find(self._jobs.kind, reference.key)
                if found is not None and found.uid == reference.uid:
                    return True
        return False

    async def _complain(self, cron_job: CronJob, outcome: Obstacle) -> None:
        message = f"Error creating job: {outcome.error.message}"
        event = warned(CRON_JOB, cron_job, "FailedCreate", message)
        await self.tools.enactor.enact(Plan(reason=event.reason, writes=(event,)))
