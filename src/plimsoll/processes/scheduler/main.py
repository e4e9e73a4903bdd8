"""The scheduler process: connection, leadership, signals."""

import asyncio
import logging
from collections.abc import Callable

from plimsoll.enact.leading import lead_alone
from plimsoll.processes.scheduler.identity import SchedulerIdentity
from plimsoll.processes.scheduler.running import Scheduler, SchedulerEnvironment
from plimsoll.processes.scheduler.settings import COMPONENT, SchedulerSettings, lease_of
from plimsoll.runtime.clock import SystemClock
from plimsoll.runtime.config import environment
from plimsoll.runtime.fence import Fence
from plimsoll.runtime.ids import hostname, system_chance, system_ids
from plimsoll.runtime.metrics import Metrics
from plimsoll.runtime.signals import until_signalled
from plimsoll.runtime.supervise import Supervision, supervise
from plimsoll.wire.connect import connect
from plimsoll.wire.health import OK, Pages, ServedPage, not_yet, serving, usual_pages
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.kubeconfig import ConnectionOptions, KubeconfigEnvironment

log = logging.getLogger(__name__)


class SchedulerProcess:
    """The whole process but its signals."""

    def __init__(self, settings: SchedulerSettings, client: KubeClient) -> None:
        self._settings = settings
        self._client = client
        self._metrics = Metrics()
        self._ids = system_ids()
        self._identity = f"{hostname()}_{self._ids.uid()}"
        self._scheduler: Scheduler | None = None

    def pages(self) -> Pages:
        return usual_pages(self._metrics, self._ready)

    def _ready(self) -> ServedPage:
        """A copy that waits for leadership has nothing to get ready for."""
        scheduler = self._scheduler
        is_ready = scheduler is None or scheduler.is_synced
        return OK if is_ready else not_yet("not everything was seen yet")

    async def run(self, on_begin: Callable[[], None]) -> None:
        """Until cancelled. Raises LeadershipLostError."""
        fence = Fence(self._client.clock) if self._settings.leader_elect else None

        async def lead() -> None:
            setting = SchedulerEnvironment(
                client=self._client,
                metrics=self._metrics,
                ids=self._ids,
                chance=self._client.chance,
                instance=self._identity,
                fence=fence,
            )
            self._scheduler = Scheduler(self._settings, setting)
            log.info("scheduling", extra={"scheduler": self._settings.scheduler_name})
            on_begin()
            await self._run(self._scheduler)

        if fence is None:
            await lead()
            return
        identity = self._settings.leader_elect_identity or self._identity
        lease = lease_of(self._settings)
        await lead_alone(self._client, lease, identity, lead, fence=fence)

    async def _run(self, scheduler: Scheduler) -> None:
        identity = SchedulerIdentity(self._settings, self._client, self._identity)
        supervision = Supervision(
            clock=self._client.clock, chance=self._client.chance, metrics=self._metrics
        )
        beside = supervise({"identity": identity.run}, supervision)
        announcing = asyncio.ensure_future(beside)
        try:
            await scheduler.run()
        finally:
            announcing.cancel()
            await asyncio.gather(announcing, return_exceptions=True)


async def run(
    settings: SchedulerSettings, on_serving: Callable[[int], None], on_begin: Callable[[], None]
) -> None:
    """Until SIGTERM or SIGINT; bindings under way are then left in a state that can be resumed."""
    around = KubeconfigEnvironment(environment=environment(), clock=SystemClock())
    wish = ConnectionOptions(kubeconfig=settings.kubeconfig, context=settings.context)
    client = connect(wish, around, system_chance(), manager=COMPONENT)
    process = SchedulerProcess(settings, client)
    try:
        async with serving(settings.metrics_port, process.pages()) as port:
            on_serving(port)
            await until_signalled(process.run(on_begin))
    finally:
        await client.close()
