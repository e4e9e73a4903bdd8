"""The driver process: one driver, and the sockets on which it answers.

Nothing is answered before the records of the last run are settled. When asked to end, the sockets
close first, then what is under way may finish.
"""

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, closing
from importlib.metadata import version
from pathlib import Path

from plimsoll.processes.driver.backends.protocol import ShutsDown
from plimsoll.processes.driver.backends.registry import make_backend
from plimsoll.processes.driver.calls import Calls
from plimsoll.processes.driver.configuration import Configuration, DriverSettings, configured
from plimsoll.processes.driver.controller.service import ControllerService
from plimsoll.processes.driver.core import Driver, DriverIdentity, DriverParts
from plimsoll.processes.driver.domains.service import domain_handlers
from plimsoll.processes.driver.epochs import EpochGate
from plimsoll.processes.driver.identity import IdentityService
from plimsoll.processes.driver.inventory import Inventory
from plimsoll.processes.driver.ledger import Ledger
from plimsoll.processes.driver.node.domain_follower import COMPONENT, FollowedNode, following
from plimsoll.processes.driver.node.mounting.choice import clear_leftovers, missing_without_root
from plimsoll.processes.driver.node.registration import (
    Registration,
    registration_endpoint,
    registration_handlers,
)
from plimsoll.processes.driver.node.service import NodeService
from plimsoll.processes.driver.record_tables import KeepsRecords, LedgerRecords
from plimsoll.processes.driver.settings import BackendSettings, NodeSettings
from plimsoll.reconcile.process import OnReady, PagesAddress, connected, run_until_signalled
from plimsoll.runtime.clock import Clock, SystemClock
from plimsoll.runtime.metrics import Metrics
from plimsoll.wire.csi.inprocess import Handler
from plimsoll.wire.csi.server import fail_when_removed, listening
from plimsoll.wire.health import OK, Pages, ServedPage, not_yet, usual_pages

log = logging.getLogger(__name__)


@asynccontextmanager
async def running(backend: str, settings: BackendSettings, ledger: Ledger) -> AsyncIterator[Driver]:
    """A driver that is settled and can be asked, for as long as the block lasts.

    The ledger is closed after that. Raises SetupError.
    """
    identity = DriverIdentity(
        name=settings.driver_name,
        backend=backend,
        version=version("plimsoll"),
        nodes=settings.nodes,
        homes=settings.homes,
    )
    with closing(ledger):
        made = make_backend(backend, settings)
        records = (
            made.records
            if isinstance(made, KeepsRecords)
            else LedgerRecords(
                ledger, backend=backend, ids=settings.ids, ids_from_names=settings.ids_from_names
            )
        )
        parts = DriverParts(backend=made, ledger=ledger, records=records, clock=settings.clock)
        driver = Driver(identity, parts)
        try:
            await clear_leftovers(settings.data_dir)
            await driver.start()
            yield driver
        finally:
            await driver.stop()
            if isinstance(made, ShutsDown):
                await made.shut_down()


def handlers(
    driver: Driver, node: NodeSettings, settings: BackendSettings
) -> Mapping[str, Handler]:
    """Everything that is answered on the socket of one node."""
    services = {
        **IdentityService(driver).handlers(),
        **ControllerService(driver).handlers(),
        **domain_handlers(driver),
        **NodeService(driver, node, settings).handlers(),
    }
    return EpochGate(driver.ledger).guarded(services)


class DriverProcess:
    """The whole process but its signals."""

    def __init__(self, settings: DriverSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._configuration = configured(settings)
        self._metrics = Metrics()
        self._calls = Calls(self._metrics, clock)
        self._driver: Driver | None = None
        self._metrics.registry.register(Inventory(lambda: self._driver))

    def pages(self) -> Pages:
        return usual_pages(self._metrics, self._ready)

    def _ready(self) -> ServedPage:
        if self._driver is None or not self._driver.is_ready:
            return not_yet("the last run is not settled yet")
        homes = self._driver.identity.homes
        unknown = (homes.why_unknown(node.id) for node in self._driver.identity.nodes)
        status = " ".join(filter(None, unknown))
        return not_yet(status) if status else OK

    async def run(self, on_ready: Callable[[Configuration], None]) -> None:
        """Until cancelled. Raises what `ui.cli.driver` turns into messages."""
        configuration = self._configuration
        settings = configuration.backend_settings(self._clock)
        ledger = Ledger(configuration.data_dir)
        async with (
            running(configuration.backend, settings, ledger) as self._driver,
            AsyncExitStack() as sockets,
        ):
            for node in settings.nodes:
                answers = self._calls.counted(handlers(self._driver, node, settings))
                for socket in self._sockets(node, settings, answers):
                    await sockets.enter_async_context(socket)
            if missing := missing_without_root(settings.mounts):
                log.warning("driver without root", extra={"missing": missing})
            log.info("driver started", extra={"driver": settings.driver_name})
            on_ready(configuration)
            await fail_when_removed(self._own_sockets(settings), self._clock)

    def _sockets(
        self, node: NodeSettings, settings: BackendSettings, answers: Mapping[str, Handler]
    ) -> list[AbstractAsyncContextManager[None]]:
        """The driver's own, and after it the one by which it is found."""
        if not node.endpoint:
            return []
        found: list[AbstractAsyncContextManager[None]] = [listening(node.endpoint, answers)]
        if self._configuration.domains.labels:
            found.append(self._located(node, settings))
        elif node.plugin_registration_dir:
            where = registration_endpoint(Path(node.plugin_registration_dir), settings.driver_name)
            found.append(
                listening(where, registration_handlers(settings.driver_name, node.endpoint))
            )
        return found

    def _own_sockets(self, settings: BackendSettings) -> Iterator[str]:
        """Those that stay the same until the process ends."""
        for node in settings.nodes:
            if not node.endpoint:
                continue
            yield node.endpoint
            if node.plugin_registration_dir and not self._configuration.domains.labels:
                where = Path(node.plugin_registration_dir)
                yield registration_endpoint(where, settings.driver_name)

    @asynccontextmanager
    async def _located(self, node: NodeSettings, settings: BackendSettings) -> AsyncIterator[None]:
        """The node is found once its labels tell where it is. Raises KubeconfigError."""
        followed = FollowedNode(
            node=node,
            wanted=self._configuration.domains,
            homes=settings.homes,
            registration=Registration(
                node.plugin_registration_dir, settings.driver_name, node.endpoint
            ),
        )
        async with (
            connected(self._settings, COMPONENT) as client,
            following(followed, client, self._metrics),
        ):
            yield


async def run(settings: DriverSettings, on_ready: OnReady) -> None:
    """Until SIGTERM or SIGINT."""
    process = DriverProcess(settings, SystemClock())

    async def work(url: str) -> None:
        metrics = f"; metrics {url}/metrics" if url else ""

        def ready(made: Configuration) -> None:
            where = ", ".join(node.endpoint for node in made.nodes if node.endpoint)
            on_ready(f"plimsoll driver ready; {made.driver_name} on {where}{metrics}")

        await process.run(ready)

    port = settings.metrics_port
    address = None if port is None else PagesAddress(port=port)
    await run_until_signalled(work, process.pages(), address)
