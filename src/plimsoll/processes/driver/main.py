"""The driver process: one driver, and the sockets on which it answers.

Nothing is answered before the records of the last run are settled. When asked to end, the sockets
close first, then what is under way may finish.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, closing
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.processes.driver.backends.registry import make_backend
from plimsoll.processes.driver.calls import Calls
from plimsoll.processes.driver.configuration import (
    Configuration,
    DriverSettings,
    configured,
    segment,
)
from plimsoll.processes.driver.controller.service import ControllerService
from plimsoll.processes.driver.core import Driver, DriverIdentity, DriverParts
from plimsoll.processes.driver.epochs import EpochGate
from plimsoll.processes.driver.identity import IdentityService
from plimsoll.processes.driver.inventory import Inventory
from plimsoll.processes.driver.ledger import Ledger
from plimsoll.processes.driver.node.mounting.choice import clear_leftovers, missing_without_root
from plimsoll.processes.driver.node.registration import (
    registration_endpoint,
    registration_handlers,
)
from plimsoll.processes.driver.node.service import NodeService
from plimsoll.processes.driver.record_tables import KeepsRecords, LedgerRecords
from plimsoll.processes.driver.settings import BackendSettings, NodeSettings
from plimsoll.reconcile.process import OnReady, PagesAddress, connected, run_until_signalled
from plimsoll.runtime.clock import Clock, SystemClock
from plimsoll.runtime.config import ConfigError
from plimsoll.runtime.metrics import Metrics
from plimsoll.wire.csi.inprocess import Handler
from plimsoll.wire.csi.server import listening
from plimsoll.wire.health import OK, Pages, ServedPage, not_yet, usual_pages
from plimsoll.wire.kind import typed

log = logging.getLogger(__name__)

COMPONENT = "plimsoll-driver"


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


def handlers(
    driver: Driver, node: NodeSettings, settings: BackendSettings
) -> Mapping[str, Handler]:
    """Everything that is answered on the socket of one node."""
    services = {
        **IdentityService(driver).handlers(),
        **ControllerService(driver).handlers(),
        **NodeService(driver, node, settings).handlers(),
    }
    return EpochGate(driver.ledger).guarded(services)


async def with_labels(settings: DriverSettings, configuration: Configuration) -> Configuration:
    """The topology of the node as its labels tell it. Raises ConfigError and KubeError."""
    if not settings.domain_labels:
        return configuration
    (known,) = configuration.nodes
    async with connected(settings, COMPONENT) as client:
        node = await client.find(typed(Node), ObjectKey("", known.id))
    if node is None:
        raise ConfigError(f"--domain-labels: there is no node {known.id}; set --node-id")
    found: dict[str, str] = {}
    for label in settings.domain_labels:
        name = label.rpartition("/")[2]
        if label not in node.metadata.labels:
            raise ConfigError(f"--domain-labels: node {known.id} has no label {label}; set it")
        if name in found:
            raise ConfigError(f"--domain-labels: several labels are called {name}")
        found[name] = node.metadata.labels[label]
    own = segment(configuration.driver_name, found, "--domain-labels")
    located = replace(known, topology={**known.topology, **own})
    return replace(configuration, nodes=(located,))


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
        is_ready = self._driver is not None and self._driver.is_ready
        return OK if is_ready else not_yet("the last run is not settled yet")

    async def run(self, on_ready: Callable[[Configuration], None]) -> None:
        """Until cancelled. Raises what `ui.cli.driver` turns into messages."""
        configuration = await with_labels(self._settings, self._configuration)
        settings = configuration.backend_settings(self._clock)
        ledger = Ledger(configuration.data_dir)
        async with (
            running(configuration.backend, settings, ledger) as self._driver,
            AsyncExitStack() as sockets,
        ):
            for node in settings.nodes:
                answers = self._calls.counted(handlers(self._driver, node, settings))
                for socket in _sockets(node, settings.driver_name, answers):
                    await sockets.enter_async_context(socket)
            if missing := missing_without_root(settings.mounts):
                log.warning("driver without root", extra={"missing": missing})
            log.info("driver started", extra={"driver": settings.driver_name})
            on_ready(configuration)
            await asyncio.Event().wait()


def _sockets(
    node: NodeSettings, driver_name: str, answers: Mapping[str, Handler]
) -> list[AbstractAsyncContextManager[None]]:
    """The driver's own, and after it the one by which it is found."""
    if not node.endpoint:
        return []
    found: list[AbstractAsyncContextManager[None]] = [listening(node.endpoint, answers)]
    if node.plugin_registration_dir:
        where = registration_endpoint(Path(node.plugin_registration_dir), driver_name)
        found.append(listening(where, registration_handlers(driver_name, node.endpoint)))
    return found


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
