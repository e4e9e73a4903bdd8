"""The scheduler process: connection, leadership, signals."""

import asyncio
import contextlib
import logging
import signal
from collections.abc import Callable, Coroutine
from typing import Any

from plimsoll.enact.lease_store import KubeLeaseStore
from plimsoll.processes.scheduler.running import Scheduler, Setting
from plimsoll.processes.scheduler.settings import COMPONENT, Settings, lease_of
from plimsoll.runtime.clock import SystemClock
from plimsoll.runtime.config import environment
from plimsoll.runtime.ids import hostname, system_chance, system_ids
from plimsoll.runtime.leader import Election, ElectionSettings
from plimsoll.runtime.metrics import CONTENT_TYPE, Metrics
from plimsoll.wire.connect import connect
from plimsoll.wire.health import OK, Page, Pages, not_yet, serving
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.kubeconfig import Surroundings, Wish

log = logging.getLogger(__name__)


class LeadershipLostError(Exception):
    """Another copy may act by now: this process has to end, and be started again."""


class Process:
    """The whole process but its signals."""

    def __init__(self, settings: Settings, client: KubeClient) -> None:
        self._settings = settings
        self._client = client
        self._metrics = Metrics()
        self._ids = system_ids()
        self._identity = f"{hostname()}_{self._ids.uid()}"
        self._scheduler: Scheduler | None = None

    def pages(self) -> Pages:
        return {
            "/healthz": lambda: OK,
            "/livez": lambda: OK,
            "/readyz": self._ready,
            "/metrics": lambda: Page(self._metrics.exposition(), content_type=CONTENT_TYPE),
        }

    def _ready(self) -> Page:
        """A copy that waits for leadership has nothing to get ready for."""
        scheduler = self._scheduler
        is_ready = scheduler is None or scheduler.is_synced
        return OK if is_ready else not_yet("not everything was seen yet")

    async def run(self, on_begin: Callable[[], None]) -> None:
        """Until cancelled. Raises LeadershipLostError."""

        async def lead() -> None:
            setting = Setting(
                client=self._client,
                metrics=self._metrics,
                ids=self._ids,
                chance=self._client.chance,
                instance=self._identity,
            )
            self._scheduler = Scheduler(self._settings, setting)
            log.info("scheduling", extra={"scheduler": self._settings.scheduler_name})
            on_begin()
            await self._scheduler.run()

        if not self._settings.leader_elect:
            await lead()
            return
        await self._election().run(lead)
        raise LeadershipLostError("leadership was lost; another copy may act now")

    def _election(self) -> Election:
        return Election(
            ElectionSettings(identity=self._identity),
            KubeLeaseStore(self._client, lease_of(self._settings)),
            self._client.clock,
            self._client.chance,
        )


async def run(
    settings: Settings, on_serving: Callable[[int], None], on_begin: Callable[[], None]
) -> None:
    """Until SIGTERM or SIGINT; bindings under way are then left in a state that can be resumed."""
    around = Surroundings(environment=environment(), clock=SystemClock())
    wish = Wish(kubeconfig=settings.kubeconfig, context=settings.context)
    client = connect(wish, around, system_chance(), manager=COMPONENT)
    process = Process(settings, client)
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked.set)
    try:
        async with serving(settings.metrics_port, process.pages()) as port:
            on_serving(port)
            await _until(asked, process.run(on_begin))
    finally:
        await client.close()


async def _until(asked: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
    working, stopping = asyncio.ensure_future(work), asyncio.ensure_future(asked.wait())
    await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not working.done():
        log.info("scheduler stopping")
        working.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await working
