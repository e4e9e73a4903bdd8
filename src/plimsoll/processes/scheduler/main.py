"""The scheduler process: the scheduler itself, and the lease that tells its policy."""

import logging
from collections.abc import Callable

from plimsoll.processes.scheduler.identity import SchedulerIdentity
from plimsoll.processes.scheduler.running import Scheduler
from plimsoll.processes.scheduler.settings import (
    COMPONENT,
    SchedulerSettings,
    lease_of,
    profiles_of,
)
from plimsoll.reconcile.process import (
    LoopProcess,
    OnReady,
    PagesAddress,
    ProcessIdentity,
    connected,
    run_until_signalled,
)
from plimsoll.wire.kube import KubeClient

log = logging.getLogger(__name__)


class SchedulerProcess:
    """The whole process but its signals."""

    def __init__(
        self,
        settings: SchedulerSettings,
        client: KubeClient,
        identity: ProcessIdentity | None = None,
    ) -> None:
        self._settings = settings
        self._process = LoopProcess(client, elects=settings.leader_elect, identity=identity)
        self.pages = self._process.pages

    @property
    def scheduler(self) -> Scheduler | None:
        """None while another copy leads."""
        work = self._process.work
        return work if isinstance(work, Scheduler) else None

    async def run(self, on_begin: Callable[[], None]) -> None:
        """Until cancelled. Raises LeadershipLostError."""
        settings, process = self._settings, self._process
        client = process.client.fenced(process.fence)
        identity = SchedulerIdentity(settings, client, process.instance)

        def begin() -> Scheduler:
            # Users look for events of the scheduler that their pods name.
            environment = process.environment(component=settings.scheduler_name)
            scheduler = Scheduler(settings, environment, beside={"identity": identity.run})
            log.info("scheduling", extra={"scheduler": settings.scheduler_name})
            on_begin()
            return scheduler

        candidacy = process.candidacy(lease_of(settings), settings)
        await process.lead(begin, candidacy)


async def run(settings: SchedulerSettings, on_ready: OnReady) -> None:
    """Until SIGTERM or SIGINT; bindings under way are then left in a state that can be resumed."""
    async with connected(settings, COMPONENT) as client:
        process = SchedulerProcess(settings, client)

        async def work(url: str) -> None:
            names = ", ".join(each.name for each in profiles_of(settings))
            pods = f"pods of {names}, policy {settings.policy}"
            ready = f"plimsoll scheduler ready; metrics {url}/metrics; {pods}"
            await process.run(lambda: on_ready(ready))

        address = PagesAddress(port=settings.metrics_port)
        await run_until_signalled(work, process.pages(), address)
